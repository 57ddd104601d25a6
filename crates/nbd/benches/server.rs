//! Overhead of the live device with a device of zero latency: one client on a socket reads and
//! writes 4 KiB at queue depths 1, 32 and 128. Prints the server thread's processor time per
//! request, and the client's rate and p99 latency.
//!
//! `cargo bench -p ssdlab-nbd`. On a busy machine only the processor time is meaningful. `cargo bench -p
//! nbd -- PATH [NS]` instead serves a device with a latency of NS nanoseconds to other clients at
//! the socket PATH, until it is killed.

#[allow(unreachable_pub, reason = "nothing is outside of a program")]
#[path = "../tests/common/mod.rs"]
mod common;

use common::{Client, READ, WRITE, device, message, serve};
use nbd::Store;
use std::collections::VecDeque;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const BYTES: u64 = 256 << 20;
const REQUESTS: u64 = 100_000;

/// Processor time of this thread, us.
fn own_us() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ran| ran.parse().ok()).map_or(0.0, |ran: f64| ran / 1e3)
}

/// Keeps the queue full, and reads replies in large pieces.
fn ask(path: &Path, command: u16, outstanding: u64) -> (f64, u64) {
    let client = Client::new(path).expect("the server is there").0;
    let mut answers = BufReader::with_capacity(1 << 20, client.try_clone().expect("a descriptor"));
    let mut asking = client;
    let data = vec![7; if command == WRITE { 4096 } else { 0 }];
    let mut answer = vec![0; 16 + if command == READ { 4096 } else { 0 }];
    let (mut asked, mut sent_at) = (0, VecDeque::new());
    let mut latencies = Vec::with_capacity(REQUESTS as usize);
    let started = Instant::now();
    for answered in 0..REQUESTS {
        while asked < REQUESTS && asked - answered < outstanding {
            let offset = asked * 40_961 % (BYTES / 4096) * 4096;
            let words = message(command, 0, asked, offset, 4096, &data);
            sent_at.push_back(Instant::now());
            asking.write_all(&words).expect("the server listens");
            asked += 1;
        }
        answers.read_exact(&mut answer).expect("the server answers");
        let sent_at = sent_at.pop_front().expect("it was asked");
        latencies.push(sent_at.elapsed().as_nanos() as u64);
    }
    latencies.sort_unstable();
    let rate = REQUESTS as f64 / started.elapsed().as_secs_f64();
    (rate, latencies[latencies.len() * 99 / 100])
}

fn main() {
    if let Some(path) = std::env::args_os().nth(1).filter(|it| it != "--bench") {
        let forever = || std::thread::sleep(Duration::from_secs(1 << 30));
        let ns = std::env::args().nth(2).map_or(0, |it| it.parse().expect("nanoseconds"));
        serve(device(ns), Store::memory(), BYTES, &PathBuf::from(path), forever);
        return;
    }
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("s");
    for (name, command) in [("read", READ), ("write", WRITE)] {
        for outstanding in [1, 32, 128] {
            let mut told = (0.0, 0);
            let before = own_us();
            serve(device(0), Store::memory(), BYTES, &path, || {
                told = ask(&path, command, outstanding);
            });
            let cost = (own_us() - before) / REQUESTS as f64;
            println!(
                "{name:5} {outstanding:3} outstanding: {cost:5.2} us of the server a request, \
                 {:9.0} requests/s, 99 % within {:6} us",
                told.0,
                told.1 / 1000
            );
        }
    }
}
