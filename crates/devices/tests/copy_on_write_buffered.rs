//! Copy-on-write snapshots behind a write buffer: what they hold of the pages in it, and when they are made.

use crate::common::{Closed, configured, fill, run_closed};
use crate::copy_on_write::{ORDERS, handle_of, same_without_time};
use devices::ssd::config::SnapshotKeys;
use devices::ssd::{Geometry, Ssd, SsdConfig, SsdReport};
use devices::{DeviceConfig, Instruction, Model};
use engine::{Completion, Device, Handle, Lba, Op, Op::*, Random, Request, Time, Xoshiro256};
use options::Size;
use serde_json::{Value, json};

/// A snapshot after so many pages, on the drive with eight dies.
fn keeping(most: u32, every_pages: u64, space: f64) -> SsdConfig {
    with(&[
        ("device.spare_factor", json!(0.3)),
        ("device.blocks_per_plane", json!(24)),
        ("device.snapshots.most", json!(most)),
        ("device.snapshots.every", json!(Size::from_bytes(every_pages * 4096).to_string())),
        ("device.snapshots.space", json!(space)),
    ])
}

fn with(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut keys = crate::buffered::small();
    keys.extend(changes.iter().cloned());
    match configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

/// A drive without data whose snapshots are ordered, and which is asked one thing at a time.
struct Asked {
    ssd: Ssd,
    now: Time,
    count: u64,
}

impl Asked {
    fn new(change: impl Fn(&mut SsdConfig)) -> Asked {
        let mut config = keeping(3, 1 << 40, 0.1);
        config.fill = fill("empty");
        config.snapshots.queue = Some(3);
        config.snapshots.orders = "1: make, 2: drop, 4: drop-all".parse().unwrap();
        change(&mut config);
        Asked { ssd: Ssd::new(&config, 0).unwrap(), now: 0, count: 0 }
    }

    /// Asks for a page and more, and does not wait.
    fn submit(&mut self, op: Op, (page, pages): (u64, u32), queue: u16, handle: u64) {
        self.count += 1;
        let handle = Handle::new(handle);
        let request = Request::new(self.count, op, Lba(page * 8), pages * 8);
        self.ssd.submit(self.now, Request { queue, handle, ..request });
    }

    /// Whatever is under way ends.
    fn rest(&mut self) -> Vec<Completion> {
        let mut done = Vec::new();
        while let Some(at) = self.ssd.next_event() {
            self.ssd.advance(at, &mut done);
            self.now = at;
        }
        self.ssd.check().unwrap();
        done
    }

    fn report(&self) -> SsdReport {
        self.ssd.account(self.now.max(1))
    }

    /// Asks for one thing, alone: pages that were nowhere, in the buffer, and in the flash, and the snapshots that are
    /// there then.
    fn ask(&mut self, op: Op, page: u64, queue: u16, handle: u64) -> ([u64; 3], usize) {
        let counts = |it: &Asked| {
            let counts = it.report().counts;
            [counts.unmapped_pages_read, counts.read_hits, counts.host_pages_read]
        };
        let before = counts(self);
        self.submit(op, (page, u32::from(op != Flush)), queue, handle);
        assert!(self.rest().iter().all(|it| it.status.is_ok()));
        let after = counts(self);
        let kept = self.report().snapshots.unwrap().kept.len();
        ([0, 1, 2].map(|at| after[at] - before[at]), kept)
    }
}

const NOWHERE: [u64; 3] = [1, 0, 0];
const IN_BUFFER: [u64; 3] = [0, 1, 0];
const IN_FLASH: [u64; 3] = [0, 0, 1];

#[test]
fn what_is_in_the_buffer_is_read_under_the_number_of_the_snapshot() {
    let mut drive = Asked::new(|it| it.buffer.power_loss_protected = false);
    drive.ask(Write, 0, 0, 9);
    // The snapshot is of what there was before the write that orders it.
    assert_eq!(drive.ask(Write, 2, 0, 1).1, 1);
    assert_eq!(drive.ask(Read, 0, 3, 9).0, IN_BUFFER);
    assert_eq!(drive.ask(Read, 2, 3, 9).0, NOWHERE);
    assert_eq!(drive.ask(Read, 2, 0, 9).0, IN_BUFFER);
    // What the snapshot shares is not replaced in the buffer; what it does not share is.
    drive.ask(Write, 0, 0, 9);
    assert_eq!(drive.report().counts.replaced_pages, 0);
    assert_eq!(drive.report().snapshots.unwrap().pages_held, 1);
    drive.ask(Write, 2, 0, 9);
    drive.ask(Write, 0, 0, 9);
    assert_eq!(drive.report().counts.replaced_pages, 2);
    assert_eq!(drive.report().snapshots.unwrap().pages_held, 1);
    assert_eq!(drive.ask(Read, 0, 3, 9).0, IN_BUFFER);
    // Programmed, it lies in the flash under that number.
    drive.ask(Flush, 0, 0, 9);
    assert_eq!(drive.ask(Read, 0, 3, 9).0, IN_FLASH);
    assert_eq!(drive.ask(Read, 0, 0, 9).0, IN_FLASH);
    // What is trimmed is still of the snapshot.
    drive.ask(Trim, 0, 0, 9);
    assert_eq!(drive.ask(Read, 0, 0, 9).0, NOWHERE);
    assert_eq!(drive.ask(Read, 0, 3, 9).0, IN_FLASH);
    // Without one, the queue reads the drive.
    assert_eq!(drive.ask(Read, 0, 3, 2), (NOWHERE, 0));
    assert_eq!(drive.report().snapshots.unwrap().pages_held, 0);
}

#[test]
fn requests_order_snapshots_and_their_end() {
    let mut drive = Asked::new(|it| it.snapshots.back = 2);
    drive.ask(Write, 0, 0, 9);
    // A read orders one too.
    assert_eq!(drive.ask(Read, 0, 0, 1).1, 1);
    assert_eq!(drive.ask(Write, 2, 0, 1).1, 2);
    assert_eq!(drive.ask(Write, 4, 0, 1).1, 3);
    assert_eq!(drive.ask(Read, 2, 3, 9).0, NOWHERE);
    // The oldest of the three makes room, and the second newest is another.
    assert_eq!(drive.ask(Read, 0, 0, 1).1, 3);
    assert_eq!(drive.ask(Read, 2, 3, 9).0, IN_BUFFER);
    assert_eq!(drive.ask(Read, 4, 3, 9).0, NOWHERE);
    assert_eq!(drive.ask(Read, 0, 0, 2).1, 2);
    assert_eq!(drive.ask(Read, 0, 0, 4).1, 0);
    let it = drive.report().snapshots.unwrap();
    assert_eq!((it.made, it.dropped, it.pages_held), (4, 4, 0));
}

/// A write has its pages in the snapshots that are made once they came into the buffer, be it answered or not.
#[test]
fn a_page_that_waits_for_room_is_of_no_snapshot_yet() {
    let groups = 8;
    let mut drive = Asked::new(|it| {
        it.buffer.size = Size::from_bytes(groups * 96 * 1024);
        it.snapshots.space = 0.5;
        it.spare_factor = Some(0.6);
    });
    // One page of old content at the end of what is written next, programmed with what fills its group.
    let (pages, last) = (groups as u32 * 24 + 30, groups * 24 + 29);
    drive.submit(Write, (last, 24), 0, 9);
    drive.rest();
    drive.submit(Write, (0, pages), 0, 9);
    drive.submit(Read, (1000, 1), 0, 1);
    assert!(drive.rest().len() == 2);
    // The first page is of the snapshot; of the last it has what was there before.
    assert_eq!(drive.ask(Read, 0, 3, 9).0, drive.ask(Read, 0, 0, 9).0);
    let held = drive.report().snapshots.unwrap();
    assert_eq!((held.pages_held, held.kept[0].pages), (1, 24 + groups * 24));
    assert_eq!(drive.ask(Read, last - 1, 3, 9).0, NOWHERE);
    assert_eq!(drive.ask(Read, last, 3, 9).0, IN_FLASH);
}

/// Uniform random overwrites; the report.
fn overwritten(config: &SsdConfig) -> SsdReport {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let pages = ssd.facts().pages;
    let random = &mut Xoshiro256::new(5, 0);
    (0..2 * pages).for_each(|_| ssd.overwrite_untimed(&[random.below(pages)], 0));
    ssd.instruct(0, Instruction::ResetCounts).unwrap();
    let mut load =
        Closed::new(32, pages, |n| Request::new(n, Op::Write, Lba(random.below(pages) * 8), 8));
    let (end, _) = run_closed(&mut ssd, &mut load);
    ssd.account(end)
}

#[test]
fn what_a_snapshot_holds_is_spare_space_that_cleaning_lacks() {
    let none = SsdConfig { snapshots: SnapshotKeys::default(), ..keeping(1, 1, 0.1) };
    let none = overwritten(&none).write_amplification.unwrap();
    let mut last = none;
    for space in [0.03, 0.08, 0.15] {
        // One snapshot early on, which is dropped only where it takes more than its space.
        let report = overwritten(&keeping(1, 2_000, space));
        let amplification = report.write_amplification.unwrap();
        let snapshots = report.snapshots.unwrap();
        println!("space {space}: {amplification:.3} of {none:.3}, {snapshots:?}");
        assert!(amplification > 0.99 * none && snapshots.made > 0);
        last = last.max(amplification);
    }
    assert!(last > 1.05 * none, "{last} and {none}");
}

#[test]
fn snapshots_are_the_same_without_time() {
    let mut config = keeping(3, 300, 0.01);
    config.snapshots.queue = Some(3);
    config.snapshots.orders = ORDERS.parse().unwrap();
    let pages = Geometry::new(&config).unwrap().exported_pages();
    for range in [pages, 200] {
        let mut random = Xoshiro256::new(5, 0);
        let mut request = |n| {
            let op = match random.below(30) {
                0..10 => Read,
                10 => Trim,
                _ => Write,
            };
            let queue = if random.below(2) == 0 { 3 } else { 0 };
            let request = Request::new(n, op, Lba(random.below(range) * 8), 8);
            Request { queue, handle: handle_of(n), ..request }
        };
        let asked: Vec<Request> = (0..6_000).map(&mut request).collect();
        let reports = same_without_time(&config, &asked);
        let [timed, untimed] = reports.map(|it| it.counts.read_hits + it.counts.host_pages_read);
        assert_eq!(timed, untimed);
    }
}

#[test]
fn a_drive_is_saved_without_its_snapshots() {
    let config = keeping(3, 200, 0.1);
    let mut ssd = Ssd::new(&config, 1).unwrap();
    let pages = Geometry::new(&config).unwrap().exported_pages();
    let random = &mut Xoshiro256::new(5, 0);
    for n in 0..3_000 {
        let write = Request::new(n, Op::Write, Lba(random.below(pages) * 8), 8);
        assert!(ssd.serve_untimed(&write).is_ok());
    }
    assert!(ssd.account(1).snapshots.unwrap().pages_held > 0 && !ssd.condition().saves_all);
    let saved = ssd.save().unwrap();
    let mut other = Ssd::new(&config, 1).unwrap();
    other.restore(saved).unwrap();
    assert_eq!(other.account(1).snapshots.unwrap().pages_held, 0);
}

/// Of the blocks that a drive may lose those are none in which snapshots lie.
#[test]
fn a_drive_that_keeps_snapshots_wears_out() {
    crate::copy_on_write::wear_out(keeping(2, 2_000, 0.15));
}

#[test]
fn what_snapshots_need_behind_a_buffer_is_said() {
    let refusal = |change: fn(&mut SsdConfig)| {
        let mut config = keeping(2, 100, 0.1);
        change(&mut config);
        Geometry::new(&config).unwrap_err().to_string()
    };
    for (change, words) in [
        (
            (|it| it.persistence.recovery = devices::ssd::config::Recovery::Spare)
                as fn(&mut SsdConfig),
            "no recovery finds them",
        ),
        (|it| (it.fdp.handles, it.fdp.groups) = (2, 2), "no room set aside"),
        (
            |it| (it.fdp.handles, it.snapshots.orders) = (2, "1: make".parse().unwrap()),
            "orders snapshots or names a reclaim unit",
        ),
        (|it| it.map.memory = "64KiB".parse().unwrap(), "tables of snapshots are in memory"),
        (|it| it.snapshots.space = 0.9, "raise the spare space or lower the share"),
        (
            |it| {
                it.buffer.power_loss_protected = false;
                // Of eight groups a victim gains more than the padding, without snapshots.
                it.pages_per_block = 3;
                it.spare_factor = Some(0.6);
                it.snapshots.space = 0.7;
            },
            "a buffer that is not protected",
        ),
    ] {
        let said = refusal(change);
        assert!(said.contains(words), "{said}");
    }
}
