//! The transport alone, and a target between real sockets.

use super::command::{ENTRY_BYTES, Status, admin, io, le16, le64};
use super::host::{NvmeHost, NvmeTerms, blocks, command};
use super::limits::{QUEUES_IN_ALL, SUBSYSTEM_NAME};
use super::target::NvmeTarget;
use super::wire::{Event, Fatal, MOST_IN_CAPSULE, MOST_IN_PDU, Wire};
use crate::catalogue::Export;
use crate::clock::Scale;
use crate::control::Control;
use crate::listen::{Address, ClientStream};
use crate::overhead::Overhead;
use crate::placement::{Naming, Placement, PlacementHandle};
use crate::punctuality::Punctuality;
use crate::server::Server;
use crate::setup::{Setup, Witness};
use crate::store::Store;
use engine::{Completion, Device, Handle, Op, Request, Time};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::channel;

const BYTES: u64 = 8 << 20;

/// A device that completes each request at once, in order.
#[derive(Default)]
struct Instant(Vec<(Time, Request)>);

impl Device for Instant {
    fn submit(&mut self, now: Time, request: Request) {
        self.0.push((now, request));
    }

    fn next_event(&self) -> Option<Time> {
        self.0.first().map(|(now, _)| *now)
    }

    fn advance(&mut self, _: Time, completions: &mut Vec<Completion>) {
        for (at, request) in self.0.drain(..) {
            let breakdown = engine::Breakdown::of(engine::Part(0), 0);
            let status = engine::Status::Ok;
            completions.push(Completion { request, submitted: at, at, breakdown, status });
        }
    }

    fn capacity_sectors(&self) -> u64 {
        BYTES / 512
    }
}

/// Requests that the device received, and the handles of its writes.
#[derive(Default)]
struct Seen(Vec<(Op, u64, u32, bool)>, Named);

impl Witness<Instant> for Seen {
    fn submitted(&mut self, _: Time, request: &Request, fua: bool) {
        self.0.push((request.op, request.lba.0, request.sectors, fua));
        self.1.0.push(request.handle.number());
    }

    fn placement(&mut self, _: &mut Instant) -> Option<Placement> {
        let handles =
            vec![PlacementHandle { persistent: true, left_bytes: 8192, left_seconds: 7 }; 4];
        let naming = Naming { handles: 4, groups: 1 };
        Some(Placement { handles, naming, ..Placement::default() })
    }

    fn next_unit(&mut self, _: &mut Instant, _: Time, handle: u32) -> bool {
        self.1.0.push(Some(100 + handle as u8));
        true
    }

    fn completed(&mut self, _: &Completion) {}

    fn delivered(&mut self, _: &Completion, _: Time) {}

    fn idle(&mut self, _: &mut Instant, _: Time, _: &Punctuality) {}
}

/// Serves a device to `NVMe` hosts at a Unix socket while they run. Returns the requests it
/// received.
fn serve(read_only: bool, hosts: impl FnOnce(&Path) + Send) -> Seen {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let (mut device, mut seen) = (Instant::default(), Seen::default());
    let control = Control::new().unwrap();
    let setup = Setup {
        store: Store::memory(),
        export: Export { bytes: BYTES, read_only },
        scale: Scale::new(1.0).unwrap(),
        overhead: Overhead::none(),
        orders: None,
        recording: None,
    };
    let mut server = Server::new(&mut device, &mut seen, setup, &control).unwrap();
    let namespaces = server.namespaces("a", &Overhead::none(), &[]);
    let target = NvmeTarget::new(&Address::Unix(path.clone()), namespaces, None).unwrap();
    std::thread::scope(|scope| {
        let control = &control;
        let thread = scope.spawn(move || {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hosts(&path)));
            control.stop();
            outcome
        });
        server.run(None);
        if let Err(panic) = thread.join().unwrap() {
            std::panic::resume_unwind(panic);
        }
    });
    drop(server);
    drop(target);
    seen
}

fn open(path: &Path, terms: NvmeTerms) -> NvmeHost {
    let stream = ClientStream::Unix(UnixStream::connect(path).unwrap());
    NvmeHost::new(stream, terms).unwrap()
}

/// Connects an admin queue and an I/O queue of one controller.
fn host(path: &Path, terms: NvmeTerms) -> (NvmeHost, NvmeHost) {
    let mut admin = open(path, terms);
    let controller = admin.admin(SUBSYSTEM_NAME, 0).unwrap();
    let mut queue = open(path, terms);
    let done = queue.connect(SUBSYSTEM_NAME, (1, controller), 0).unwrap();
    assert_eq!(done.status, Status::SUCCESS);
    (admin, queue)
}

fn all_terms() -> impl Iterator<Item = NvmeTerms> {
    let digests = [(false, false), (true, false), (false, true), (true, true)];
    digests.into_iter().flat_map(|(header_digest, data_digest)| {
        [0, 3, 31].map(|alignment| NvmeTerms { header_digest, data_digest, alignment })
    })
}

/// Handles of the writes.
#[derive(Default)]
struct Named(Vec<Option<u8>>);

#[test]
fn a_write_names_its_placement_handle_by_a_directive() {
    let seen = serve(false, |path| {
        let terms = all_terms().next().unwrap();
        let (_admin, mut queue) = host(path, terms);
        // Directive type and value: none, data placement, streams (from 1).
        let named = [(0, 5), (2, 0), (2, 3), (1, 1), (1, 0), (2, 9000)];
        for (kind, value, fits) in
            named.map(|(kind, value)| (kind, value, true)).into_iter().chain([(7, 2, false)])
        {
            let mut entry = blocks(io::WRITE, 4096, 512);
            entry[50] |= kind << 4;
            entry[54..56].copy_from_slice(&u16::to_le_bytes(value));
            let status = queue.ask(entry, &[7; 512], 0).unwrap().status;
            assert_eq!(status, if fits { Status::SUCCESS } else { Status::INVALID_FIELD });
        }
    });
    assert_eq!(seen.1.0, [None, Some(0), Some(3), Some(0), None, Some(Handle::LARGEST)]);
}

#[test]
fn handles_are_shown_and_begin_other_units() {
    let seen = serve(false, |path| {
        let (_admin, mut queue) = host(path, NvmeTerms::default());
        let mut status = command(io::MANAGEMENT_RECEIVE, 1);
        (status[40], status[44]) = (1, 35);
        let done = queue.ask(status, &[], 144).unwrap();
        assert!(done.is_success());
        let numbers = [0, 1].map(|at| le16(&done.data, 16 + 32 * at));
        assert_eq!((le16(&done.data, 14), numbers, le64(&done.data, 24)), (4, [0, 1], 16));
        // A part of the report suffices here.
        status[44] = 3;
        assert_eq!(queue.ask(status, &[], 16).unwrap().data, done.data[..16]);
        let mut update = command(io::MANAGEMENT_SEND, 1);
        (update[40], update[42]) = (1, 1);
        assert!(queue.ask(update, &[3, 0, 1, 0], 0).unwrap().is_success());
        for (operation, count, data) in
            [(2, 1, vec![0; 4]), (1, 1, vec![0, 0, 4, 0]), (1, 9, vec![0; 20])]
        {
            (update[40], update[42]) = (operation, count);
            assert_eq!(queue.ask(update, &data, 0).unwrap().status, Status::INVALID_FIELD);
        }
        status[40] = 7;
        assert_eq!(queue.ask(status, &[], 16).unwrap().status, Status::INVALID_FIELD);
    });
    assert_eq!(seen.1.0, [Some(103), Some(101)]);
}

#[test]
fn data_come_back_whatever_the_terms() {
    let data: Vec<u8> = (0..1u32 << 20).map(|it| (it * 7 / 3) as u8).collect();
    let seen = serve(false, |path| {
        for terms in all_terms() {
            let (_admin, mut queue) = host(path, terms);
            // Data in the capsule, by the transport, and in several PDUs.
            for bytes in [512, MOST_IN_CAPSULE, MOST_IN_CAPSULE + 512, 300_032, 1 << 20] {
                assert!(queue.write(4096, &data[..bytes]).unwrap().is_success());
                let done = queue.read(4096, bytes as u32).unwrap();
                assert!(done.is_success() && done.data == data[..bytes], "{terms:?} {bytes}");
            }
        }
    });
    let all = [1, 16, 17, 586, 2048].map(|sectors| [Op::Write, Op::Read].map(|op| (op, sectors)));
    let asked: Vec<_> = seen.0.iter().map(|(op, _, sectors, _)| (*op, *sectors)).collect();
    assert_eq!(asked, all.as_flattened().repeat(12));
}

#[test]
fn commands_reach_the_device_as_what_they_are() {
    let seen = serve(false, |path| {
        let (_admin, mut queue) = host(path, NvmeTerms::default());
        let ones = vec![1; 4096];
        let mut durable = blocks(io::WRITE, 8192, 4096);
        durable[51] = 0x40;
        assert!(queue.ask(durable, &ones, 0).unwrap().is_success());
        assert!(queue.ask(blocks(io::COMPARE, 8192, 4096), &ones, 0).unwrap().is_success());
        let differs = queue.ask(blocks(io::COMPARE, 8192, 4096), &vec![2; 4096], 0).unwrap();
        assert_eq!(differs.status, Status::COMPARE_FAILURE);
        assert!(queue.ask(blocks(io::VERIFY, 0, 2 << 20), &[], 0).unwrap().is_success());
        assert!(queue.ask(blocks(io::WRITE_ZEROES, 8192, 2048), &[], 0).unwrap().is_success());
        for namespace in [1, u32::MAX] {
            let flush = queue.ask(command(io::FLUSH, namespace), &[], 0).unwrap();
            assert!(flush.is_success());
        }
        // Two ranges, one of them empty, for deallocation; then both as a hint.
        let mut ranges = [0; 32];
        (ranges[4], ranges[8]) = (2, 20);
        let mut trim = command(io::DATASET_MANAGEMENT, 1);
        (trim[40], trim[44]) = (1, 4);
        assert!(queue.ask(trim, &ranges, 0).unwrap().is_success());
        trim[44] = 0;
        assert!(queue.ask(trim, &ranges, 0).unwrap().is_success());
        let done = queue.read(8192, 4096).unwrap().data;
        let expected = [[0; 2048].as_slice(), &[0; 1024], &[1; 1024]].concat();
        assert!(done == expected);
    });
    let expected = [
        (Op::Write, 16, 8, true),
        (Op::Read, 16, 8, false),
        (Op::Read, 16, 8, false),
        (Op::Read, 0, 2048, false),
        (Op::Read, 2048, 2048, false),
        (Op::Trim, 16, 4, false),
        (Op::Flush, 0, 0, false),
        (Op::Flush, 0, 0, false),
        (Op::Trim, 20, 2, false),
        (Op::Read, 16, 8, false),
    ];
    assert_eq!(seen.0, expected);
}

#[test]
fn each_status_is_provoked_once() {
    let status = |queue: &mut NvmeHost, entry: [u8; ENTRY_BYTES], data: &[u8], room: u32| {
        queue.ask(entry, data, room).unwrap().status
    };
    let seen = serve(false, |path| {
        let (mut admin, mut queue) = host(path, NvmeTerms::default());
        let it = &mut queue;
        assert_eq!(status(it, command(0x55, 1), &[], 0), Status::INVALID_OPCODE);
        assert_eq!(status(it, command(io::FLUSH, 2), &[], 0), Status::INVALID_NAMESPACE);
        assert_eq!(status(it, command(io::FLUSH, 0), &[], 0), Status::INVALID_NAMESPACE);
        let beyond = blocks(io::READ, BYTES, 512);
        assert_eq!(status(it, beyond, &[], 512), Status::LBA_OUT_OF_RANGE);
        let long = blocks(io::READ, 0, (1 << 20) + 512);
        assert_eq!(status(it, long, &[], (1 << 20) + 512), Status::INVALID_FIELD);
        let short = blocks(io::READ, 0, 1024);
        assert_eq!(status(it, short, &[], 512), Status::SGL_LENGTH_INVALID);
        assert_eq!(
            status(it, blocks(io::WRITE, 0, 1024), &[1; 512], 0),
            Status::SGL_LENGTH_INVALID
        );
        let mut trim = command(io::DATASET_MANAGEMENT, 1);
        trim[44] = 4;
        let mut range = [0; 16];
        range[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(status(it, trim, &range, 0), Status::LBA_OUT_OF_RANGE);
        let it = &mut admin;
        assert_eq!(status(it, command(admin::IDENTIFY, 9), &[], 4096), Status::INVALID_NAMESPACE);
        let mut unknown = command(admin::GET_LOG_PAGE, 0);
        unknown[40] = 0xcc;
        assert_eq!(status(it, unknown, &[], 4), Status::INVALID_LOG_PAGE);
        let mut cache = command(admin::SET_FEATURES, 0);
        cache[40] = 6;
        assert_eq!(status(it, cache, &[], 0), Status::FEATURE_NOT_CHANGEABLE);
        for _ in 0..4 {
            it.send(command(admin::ASYNC_EVENT_REQUEST, 0), &[], 0).unwrap();
        }
        let fifth = command(admin::ASYNC_EVENT_REQUEST, 0);
        assert_eq!(status(it, fifth, &[], 0), Status::EVENT_LIMIT_EXCEEDED);
    });
    assert!(seen.0.is_empty(), "{:?}", seen.0);
    serve(true, |path| {
        let (_admin, mut queue) = host(path, NvmeTerms::default());
        assert_eq!(queue.write(0, &[1; 512]).unwrap().status, Status::WRITE_PROTECTED);
        assert!(queue.read(0, 512).unwrap().is_success());
    });
}

#[test]
fn damaged_data_are_refused_and_damaged_headers_end_the_connection() {
    serve(false, |path| {
        let terms = NvmeTerms { header_digest: true, data_digest: true, alignment: 0 };
        let (_admin, mut queue) = host(path, terms);
        let mut entry = blocks(io::WRITE, 0, 512);
        (entry[1], entry[2], entry[33], entry[39]) = (0x40, 9, 2, 1);
        let mut words = queue.pdu(4, 0, &entry, &[5; 512]);
        let last = words.len() - 1;
        words[last] ^= 1;
        queue.stream.write_all(&words).unwrap();
        assert_eq!(queue.done(&[]).unwrap().status, Status::TRANSIENT_TRANSPORT_ERROR);
        assert!(queue.read(0, 512).unwrap().data == vec![0; 512]);
        words[73] ^= 1;
        queue.stream.write_all(&words).unwrap();
        let (kind, head, _) = queue.next_pdu().unwrap();
        assert_eq!((kind, head[8]), (3, Fatal::HeaderDigest as u8));
        assert_eq!(queue.stream.read(&mut [0; 64]).unwrap_or(0), 0);
    });
}

#[test]
fn queues_are_free_again_once_they_have_ended() {
    serve(false, |path| {
        for _ in 0..2 * QUEUES_IN_ALL {
            let (_admin, mut queue) = host(path, NvmeTerms::default());
            assert!(queue.write(0, &[1; 512]).unwrap().is_success());
        }
    });
}

/// Events and output of a wire for an input in pieces.
fn heard(input: &[u8], mut pieces: impl Iterator<Item = usize>) -> (Vec<Event>, Vec<u8>) {
    let (mut wire, mut out, mut events) = (Wire::new(), Vec::new(), Vec::new());
    let (mut from, mut to) = (0, 0);
    loop {
        let (count, event) = wire.next(&input[from..to], &mut out);
        from += count;
        match event {
            Event::More if to == input.len() => return (events, out),
            Event::More => to = input.len().min(to + pieces.next().unwrap_or(1)),
            Event::Close => {
                events.push(event);
                return (events, out);
            }
            // Consecutive data events count once, because pieces split them.
            Event::Data if events.last() == Some(&Event::Data) => {}
            // The range of a command's data in the input is independent of the pieces.
            event => events.push(event),
        }
        assert!(to - from <= MOST_IN_CAPSULE + 512 || to == input.len(), "it waits for too much");
    }
}

/// A valid conversation: connection options, commands with and without data, and data of a
/// transfer.
fn conversation(terms: NvmeTerms, kinds: &[u8]) -> Vec<u8> {
    let (one, other) = UnixStream::pair().unwrap();
    (&other)
        .write_all(&{
            let mut answer = [0; 128];
            answer[0] = 1;
            answer[11] = u8::from(terms.header_digest) | u8::from(terms.data_digest) << 1;
            answer
        })
        .unwrap();
    let host = NvmeHost::new(ClientStream::Unix(one), terms).unwrap();
    let mut words = vec![0; 128];
    (&other).read_exact(&mut words).unwrap();
    for kind in kinds {
        words.extend(match kind % 3 {
            0 => host.pdu(4, 0, &blocks(io::READ, 0, 512), &[]),
            1 => host.pdu(4, 0, &blocks(io::WRITE, 0, 512), &[*kind; 512]),
            _ => {
                let mut fields = [0; 16];
                fields[8..12].copy_from_slice(&700u32.to_le_bytes());
                host.pdu(6, 4, &fields, &[*kind; 700])
            }
        });
    }
    words
}

proptest! {
    #[test]
    fn input_means_the_same_however_it_is_split(
        kinds in prop::collection::vec(any::<u8>(), 0..6),
        sizes in prop::collection::vec(1usize..200, 1..20),
        (header_digest, data_digest) in any::<(bool, bool)>(),
    ) {
        let terms = NvmeTerms { header_digest, data_digest, alignment: 0 };
        let input = conversation(terms, &kinds);
        let whole = heard(&input, std::iter::repeat(input.len()));
        let split = heard(&input, sizes.iter().copied().cycle());
        prop_assert_eq!(&whole, &split);
        let commands = whole.0.iter().filter(|it| matches!(it, Event::Command(_, _, false)));
        prop_assert_eq!(commands.count(), kinds.iter().filter(|kind| *kind % 3 < 2).count());
    }

    #[test]
    fn a_host_may_send_what_it_likes(
        kinds in prop::collection::vec(any::<u8>(), 0..6),
        (header_digest, data_digest) in any::<(bool, bool)>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let terms = NvmeTerms { header_digest, data_digest, alignment: 0 };
        let mut input = conversation(terms, &kinds);
        for (place, byte) in changes {
            let place = place.index(input.len());
            input[place] = byte;
        }
        input.truncate(cut.index(input.len()) + 1);
        let (events, out) = heard(&input, std::iter::repeat(100));
        // One reply to the connection options, and one termination request.
        prop_assert!(out.len() <= 128 + 152, "{} bytes", out.len());
        for event in events {
            if let Event::Begins(_, _, _, length) = event {
                prop_assert!(length <= MOST_IN_PDU);
            }
        }
    }
}

#[test]
fn a_queue_that_is_not_read_delays_nobody() {
    serve(false, |path| {
        let (_admin, mut greedy) = host(path, NvmeTerms::default());
        // More data than the sockets hold, within the queue's size.
        for _ in 0..120 {
            greedy.send(blocks(io::READ, 0, 1 << 20), &[], 1 << 20).unwrap();
        }
        let (_other, mut good) = host(path, NvmeTerms::default());
        for _ in 0..50 {
            assert!(good.read(0, 4096).unwrap().is_success());
        }
        // Late but complete.
        for _ in 0..120 {
            let done = greedy.done(&[]).unwrap();
            assert!(done.is_success() && done.data.len() == 1 << 20);
        }
    });
}

#[test]
fn a_silent_host_loses_its_controller() {
    serve(false, |path| {
        let mut admin = open(path, NvmeTerms::default());
        // Longer than this thread may have to wait for a processor, and shorter than all of these commands take.
        admin.admin(SUBSYSTEM_NAME, 1500).unwrap();
        for _ in 0..16 {
            std::thread::sleep(std::time::Duration::from_millis(100));
            assert!(admin.ask(command(admin::KEEP_ALIVE, 0), &[], 0).unwrap().is_success());
        }
        let (sender, ended) = channel();
        let waiting = std::thread::spawn(move || {
            let _ = sender.send(admin.stream.read(&mut [0; 64]).unwrap_or(0));
        });
        let patience = std::time::Duration::from_secs(20);
        assert_eq!(ended.recv_timeout(patience), Ok(0));
        waiting.join().unwrap();
    });
}
