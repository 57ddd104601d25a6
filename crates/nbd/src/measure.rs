//! Measures the overhead: the round trip to a client of a device with known latency.
//!
//! The device takes as long as a flash read, because a client that waits for that long sleeps and
//! must be woken. With zero latency the measured round trip would be 5 to 10 us too short.

use crate::catalogue::Export;
use crate::clock::Scale;
use crate::control::Control;
use crate::error::{Error, reason};
use crate::listen::{Address, ClientStream};
use crate::mount::Mount;
use crate::nvme::{NvmeHost, NvmeTarget, NvmeTerms, SUBSYSTEM_NAME};
use crate::overhead::Overhead;
use crate::punctuality::Punctuality;
use crate::server::Server;
use crate::setup::{Setup, Witness};
use crate::store::Store;
use engine::{Completion, Device, Op, Request, Time};
use std::collections::{BTreeMap, VecDeque};
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// Measured request sizes, and requests per size.
const POINTS: [(u64, u32); 5] =
    [(512, 100), (4096, 100), (65_536, 50), (262_144, 40), (1 << 20, 30)];
const PAGE_BYTES: usize = 4096;
/// Latency of the measured device, ns.
const SERVICE_NS: Time = 200_000;
/// Distinguishes the sockets of measurements.
static MEASURED: AtomicU32 = AtomicU32::new(0);

impl Overhead {
    /// Measures the overhead of NBD, between this thread as server and another as client.
    ///
    /// # Errors
    /// When the system gives no sockets or thread.
    pub fn measure(tcp: bool) -> Result<Self, Error> {
        let system = |error: io::Error| Error::System(reason(&error));
        let (client, server) = ClientStream::pair(tcp).map_err(system)?;
        let (mut device, mut inside) = (Constant::default(), Inside::default());
        let control = Control::new().map_err(system)?;
        let mut serving = Server::new(&mut device, &mut inside, setup()?, &control)?;
        serving.connect(server).map_err(system)?;
        let client = start(|| ask(client))?;
        serving.run(None);
        drop(serving);
        Ok(Overhead::of(&finish(client)?, &inside))
    }

    /// Measures the overhead of a file in a directory that [`Mount`] can use.
    ///
    /// # Errors
    /// As [`Mount::new`], or when the system gives no thread.
    pub fn measure_mounted(path: &Path) -> Result<Self, Error> {
        let system = |error: io::Error| Error::System(reason(&error));
        let (mut device, mut inside) = (Constant::default(), Inside::default());
        let control = Control::new().map_err(system)?;
        let mut serving = Server::new(&mut device, &mut inside, setup()?, &control)?;
        let mount = Mount::unwatched(path, &serving.local(Overhead::none()))?;
        let (file, its_control) = (mount.file(), control.clone());
        let client = start(move || {
            let outcome = ask_file(&file);
            its_control.stop();
            outcome
        })?;
        serving.run(None);
        drop(serving);
        let rounds = finish(client);
        mount.end();
        Ok(Overhead::of(&rounds?, &inside))
    }

    /// Measures the overhead of NVMe/TCP, over TCP or a Unix socket.
    ///
    /// # Errors
    /// As [`NvmeTarget::new`], or when the system gives no thread.
    pub fn measure_nvme(address: &Address) -> Result<Self, Error> {
        let system = |error: io::Error| Error::System(reason(&error));
        // Another port or path than the device's, which opens once the device is ready.
        let address = match address {
            Address::Tcp(host, _) => Address::Tcp(*host, 0),
            Address::Unix(_) => {
                let count = MEASURED.fetch_add(1, Ordering::Relaxed);
                let name = format!("ssdlab-overhead-{}-{count}", std::process::id());
                Address::Unix(std::env::temp_dir().join(name))
            }
        };
        let (mut device, mut inside) = (Constant::default(), Inside::default());
        let control = Control::new().map_err(system)?;
        let mut serving = Server::new(&mut device, &mut inside, setup()?, &control)?;
        let namespaces = serving.namespaces("", &Overhead::none(), &[]);
        let target = NvmeTarget::new(&address, namespaces, None)?;
        let (place, its_control) = (target.address(), control.clone());
        let client = start(move || {
            let outcome = ask_nvme(&place);
            its_control.stop();
            outcome
        })?;
        serving.run(None);
        drop(serving);
        let rounds = finish(client);
        drop(target);
        Ok(Overhead::of(&rounds?, &inside))
    }

    /// The overhead: a client's round trips less the times inside the server.
    fn of(rounds: &Times, inside: &Inside) -> Self {
        let mut overhead = Overhead::none();
        for op in [Op::Read, Op::Write] {
            for (bytes, _) in POINTS {
                let key = (op.name(), bytes);
                // The kernel split these requests, so they are not comparable.
                let (Some(rounds), Some(inside)) = (rounds.get(&key), inside.0.get(&key)) else {
                    continue;
                };
                // Paired in order: each round trip with its time inside the server.
                let pairs = rounds.iter().zip(inside);
                let outside = typical(pairs.map(|(round, part)| round.saturating_sub(*part)));
                let rounds = rounds.iter().map(|round| round.saturating_sub(SERVICE_NS));
                overhead.add(op, bytes, outside, typical(rounds));
            }
        }
        overhead
    }
}

/// Setup of a measuring server.
fn setup() -> Result<Setup, Error> {
    Ok(Setup {
        store: Store::memory(),
        export: Export { bytes: POINTS[POINTS.len() - 1].0, read_only: false },
        scale: Scale::new(1.0)?,
        overhead: Overhead::none(),
        orders: None,
        recording: None,
    })
}

type Client = JoinHandle<io::Result<Times>>;

fn start(client: impl FnOnce() -> io::Result<Times> + Send + 'static) -> Result<Client, Error> {
    let thread = std::thread::Builder::new().name("overhead".to_owned());
    thread.spawn(client).map_err(|error| Error::System(reason(&error)))
}

fn finish(client: Client) -> Result<Times, Error> {
    let rounds = client.join().map_err(|_| Error::System("the measurement failed".to_owned()))?;
    rounds.map_err(|error| Error::System(reason(&error)))
}

/// Latency without contention: a low quantile, because on a busy machine half of all requests wait
/// for a processor.
fn typical(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 5).copied().unwrap_or(0)
}

/// Times by operation and bytes.
type Times = BTreeMap<(&'static str, u64), Vec<u64>>;

/// Times of requests inside the server.
#[derive(Default)]
struct Inside(Times);

impl Witness<Constant> for Inside {
    fn submitted(&mut self, _: Time, _: &Request, _: bool) {}

    fn completed(&mut self, _: &Completion) {}

    fn delivered(&mut self, completion: &Completion, measured: Time) {
        let key = (completion.request.op.name(), completion.request.bytes());
        self.0.entry(key).or_default().push(measured);
    }

    fn idle(&mut self, _: &mut Constant, _: Time, _: &Punctuality) {}
}

/// A device of constant latency.
#[derive(Default)]
struct Constant {
    asked: VecDeque<(Time, Request)>,
}

impl Device for Constant {
    fn submit(&mut self, now: Time, request: Request) {
        self.asked.push_back((now, request));
    }

    fn next_event(&self) -> Option<Time> {
        self.asked.front().map(|(now, _)| now + SERVICE_NS)
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(at) = self.next_event().filter(|at| *at <= to) {
            let Some((submitted, request)) = self.asked.pop_front() else { return };
            let breakdown = engine::Breakdown::of(engine::Part(0), SERVICE_NS);
            let status = engine::Status::Ok;
            completions.push(Completion { request, submitted, at, breakdown, status });
        }
    }

    fn capacity_sectors(&self) -> u64 {
        u64::MAX
    }
}

/// Measures an NBD client. Returns the latency of each request.
fn ask(mut stream: ClientStream) -> io::Result<Times> {
    let mut answer = vec![0; 1 << 21];
    // The greeting, then the oldest option that chooses an export; its reply has 10 bytes.
    stream.read_exact(&mut answer[..18])?;
    stream.write_all(&3u32.to_be_bytes())?;
    stream.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0")?;
    stream.read_exact(&mut answer[..10])?;
    let mut times = Times::new();
    for (bytes, rounds) in POINTS {
        for op in [Op::Read, Op::Write] {
            let (sent, received) = match op {
                Op::Read => (0, bytes as usize),
                _ => (bytes as usize, 0),
            };
            let mut message = vec![0; 28 + sent];
            message[..4].copy_from_slice(&0x2560_9513u32.to_be_bytes());
            message[7] = u8::from(op == Op::Write);
            message[24..28].copy_from_slice(&(bytes as u32).to_be_bytes());
            let times = times.entry((op.name(), bytes)).or_default();
            for _ in 0..rounds {
                let started = Instant::now();
                stream.write_all(&message)?;
                stream.read_exact(&mut answer[..16 + received])?;
                times.push(started.elapsed().as_nanos() as u64);
            }
        }
    }
    Ok(times)
}

/// Measures an NVMe/TCP client.
fn ask_nvme(address: &Address) -> io::Result<Times> {
    let mut admin = NvmeHost::new(ClientStream::connect(address)?, NvmeTerms::default())?;
    let controller = admin.admin(SUBSYSTEM_NAME, 0)?;
    let mut queue = NvmeHost::new(ClientStream::connect(address)?, NvmeTerms::default())?;
    queue.connect(SUBSYSTEM_NAME, (1, controller), 0)?;
    let mut times = Times::new();
    for (bytes, rounds) in POINTS {
        let data = vec![0; bytes as usize];
        for op in [Op::Read, Op::Write] {
            let times = times.entry((op.name(), bytes)).or_default();
            for _ in 0..rounds {
                let started = Instant::now();
                let done = match op {
                    Op::Read => queue.read(0, bytes as u32)?,
                    _ => queue.write(0, &data)?,
                };
                if !done.is_success() {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                times.push(started.elapsed().as_nanos() as u64);
            }
        }
    }
    Ok(times)
}

/// Measures reads and writes of a file.
fn ask_file(path: &Path) -> io::Result<Times> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut times = Times::new();
    for (bytes, rounds) in POINTS {
        // Page-aligned, because the kernel reads whole pages.
        let mut room = vec![0u8; bytes as usize + PAGE_BYTES];
        let from = room.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        let data = &mut room[from..from + bytes as usize];
        for op in [Op::Read, Op::Write] {
            let times = times.entry((op.name(), bytes)).or_default();
            for _ in 0..rounds {
                let started = Instant::now();
                match op {
                    Op::Read => file.read_exact_at(data, 0)?,
                    _ => file.write_all_at(data, 0)?,
                }
                times.push(started.elapsed().as_nanos() as u64);
            }
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transport_takes_longer_for_larger_requests() {
        for tcp in [false, true] {
            let overhead = Overhead::measure(tcp).unwrap();
            for op in [Op::Read, Op::Write] {
                assert!(overhead.outside(op, 4096) > 0);
                assert!(overhead.least(op, 4096) >= overhead.outside(op, 4096));
            }
            assert!(
                overhead.least(Op::Read, 1 << 20) > overhead.least(Op::Read, 512),
                "{overhead:?}"
            );
        }
    }
}
