//! Requests a second of the live device, in front of a device that answers at once: one client on a
//! socket, reading 4 KiB with one request outstanding and with 32.
//!
//! `cargo bench -p nbd`. With two processors free it is above 50,000 a second either way; where
//! client and server share one, each request waits for the other's turn.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Client, READ, device, message, serve};
use nbd::Store;
use std::io::{Read, Write};
use std::time::Instant;

const BYTES: u64 = 64 << 20;
const REQUESTS: u64 = 100_000;

fn requests_per_second(outstanding: u64) -> f64 {
    let directory = tempfile::tempdir().expect("there is room");
    let path = directory.path().join("s");
    let mut rate = 0.0;
    serve(device(0), Store::memory(), BYTES, &path, || {
        let mut client = Client::new(&path).expect("the server is there").0;
        let ask = |client: &mut std::os::unix::net::UnixStream, number: u64| {
            let words = message(READ, 0, number, number * 40_961 % 16_384 * 4096, 4096, &[]);
            client.write_all(&words).expect("the server listens");
        };
        let started = Instant::now();
        for number in 0..outstanding {
            ask(&mut client, number);
        }
        let mut answer = [0; 16 + 4096];
        for number in 0..REQUESTS {
            client.read_exact(&mut answer).expect("the server answers");
            if number + outstanding < REQUESTS {
                ask(&mut client, number + outstanding);
            }
        }
        rate = REQUESTS as f64 / started.elapsed().as_secs_f64();
    });
    rate
}

fn main() {
    for outstanding in [1, 32] {
        let rate = requests_per_second(outstanding);
        println!("{outstanding:2} outstanding: {rate:9.0} requests/s");
    }
}
