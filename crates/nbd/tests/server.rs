//! The server between real sockets: replies, their order, and robustness.

use crate::common::{
    self, Client, DISCONNECT, FLUSH, READ, TRIM, WRITE, WRITE_ZEROES, device, message, serve,
};
use engine::{Op, Random, Xoshiro256};
use nbd::Store;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const BYTES: u64 = 4 << 20;

#[test]
fn the_device_is_asked_for_the_sectors_that_a_request_touches() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let (seen, punctuality) = serve(device(0), Store::memory(), BYTES, &path, || {
        let mut client = Client::new(&path).unwrap();
        for (command, flags, offset, length) in [
            (READ, 0, 1000, 100),
            (READ, 0, 512, 512),
            (TRIM, 0, 1000, 1000),
            // A trim without a whole sector has no effect.
            (TRIM, 0, 1000, 100),
            (FLUSH, 0, 0, 0),
            (WRITE_ZEROES, 0, 4096, 8192),
            (WRITE_ZEROES, 2, 4096, 8192),
            (WRITE_ZEROES, 0, 1, 1),
        ] {
            client.send(command, flags, offset, length, &[]).unwrap();
            let mut data = vec![0; if command == READ { length as usize } else { 0 }];
            assert_eq!(client.answer(&mut data).unwrap(), 0);
        }
        client.write(common::FUA, 511, b"ab").unwrap();
    });
    let asked: Vec<_> = seen
        .submitted
        .iter()
        .map(|(_, request, fua)| (request.op, request.lba.0, request.sectors, *fua))
        .collect();
    let expected = [
        (Op::Read, 1, 2, false),
        (Op::Read, 1, 1, false),
        (Op::Trim, 2, 1, false),
        (Op::Flush, 0, 0, false),
        (Op::Trim, 8, 16, false),
        (Op::Write, 8, 16, false),
        (Op::Write, 0, 1, false),
        (Op::Write, 0, 2, true),
    ];
    assert_eq!(asked, expected);
    // A client's FUA write is a FUA write of the drive.
    assert!(seen.submitted.iter().all(|(_, request, fua)| request.fua == *fua));
    assert_eq!((punctuality.requests, seen.completed.len()), (8, 8));
}

#[test]
fn answers_come_at_the_device_s_time_and_not_before() {
    const SERVICE_NS: u64 = 3_000_000;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let (seen, punctuality) = serve(device(SERVICE_NS), Store::memory(), BYTES, &path, || {
        let mut one = Client::new(&path).unwrap();
        let mut other = Client::new(&path).unwrap();
        let started = Instant::now();
        let mut all = message(READ, 0, 1, 0, 512, &[]);
        all.extend(message(READ, 0, 2, 8192, 512, &[]));
        one.0.write_all(&all).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        other.send(READ, 0, 4096, 512, &[]).unwrap();
        // The device serves one request at a time for all clients together.
        let mut data = [0; 512];
        one.answer(&mut data).unwrap();
        assert!(started.elapsed() >= Duration::from_nanos(SERVICE_NS));
        one.answer(&mut data).unwrap();
        assert!(started.elapsed() >= Duration::from_nanos(2 * SERVICE_NS));
        other.answer(&mut data).unwrap();
        assert!(started.elapsed() >= Duration::from_nanos(3 * SERVICE_NS));
    });
    let latencies: Vec<u64> = seen.completed.iter().map(|(it, _)| it.latency()).collect();
    let arrivals: Vec<u64> = seen.submitted.iter().map(|(at, ..)| *at).collect();
    // A request waits for the requests before it, from the instant at which the server read it.
    let mut free = 0;
    for (arrival, latency) in arrivals.iter().zip(&latencies) {
        free = free.max(*arrival) + SERVICE_NS;
        assert_eq!(arrival + latency, free, "{arrivals:?} {latencies:?}");
    }
    for (completion, measured) in seen.completed {
        assert!(measured.unwrap() >= completion.latency());
    }
    assert_eq!((punctuality.requests, punctuality.below_overhead), (3, 0));
}

#[test]
fn a_client_that_does_not_take_its_answers_holds_up_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    serve(device(0), Store::memory(), BYTES, &path, || {
        let mut greedy = Client::new(&path).unwrap();
        greedy.0.set_nonblocking(true).unwrap();
        // Until the server stops reading, because a client that receives nothing is at its limits.
        let request = message(READ, 0, 1, 0, BYTES as u32, &[]);
        let mut asked = 0;
        let until = Instant::now() + Duration::from_secs(20);
        let mut refused_since = None;
        while Instant::now() < until {
            if greedy.0.write_all(&request).is_ok() {
                (asked, refused_since) = (asked + 1, None);
                continue;
            }
            let since = *refused_since.get_or_insert_with(Instant::now);
            if since.elapsed() > Duration::from_millis(200) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(asked > 10 && refused_since.is_some(), "{asked} requests were taken");
        let mut modest = Client::new(&path).unwrap();
        modest.write(0, 0, b"here").unwrap();
        assert_eq!(modest.read(0, 4).unwrap(), b"here");
    });
}

/// A worn-out drive accepts writes until end of life, and refused data are never read.
#[test]
fn refused_writes_are_answered_so_and_leave_no_data() {
    const PAGE: u64 = 4096;
    const PERM: u32 = 1;
    let directory = tempfile::tempdir().unwrap();
    let (file, _) = Store::file(&directory.path().join("f"), Some(32 * PAGE), 0).unwrap();
    for (name, store) in [("memory", Store::memory()), ("file", file)] {
        let path = directory.path().join(name);
        let (seen, _) = serve(common::mortal(), store, 32 * PAGE, &path, || {
            let mut client = Client::new(&path).unwrap();
            let mut content = [0u8; 32];
            let mut refused = 0;
            for round in 0u64.. {
                // Several at once, some with FUA, so that end of life finds writes waiting.
                let first = round * 7 % 32;
                let places: Vec<u64> = (0..8).map(|number| (first + number) % 32).collect();
                let byte = (round % 250 + 1) as u8;
                for place in &places {
                    let flags = if place % 3 == 0 { common::FUA } else { 0 };
                    let words =
                        message(WRITE, flags, *place, place * PAGE, PAGE as u32, &[byte; 4096]);
                    client.0.write_all(&words).unwrap();
                }
                for _ in &places {
                    let mut header = [0; 16];
                    client.0.read_exact(&mut header).unwrap();
                    let cookie = u64::from_be_bytes(header[8..].try_into().unwrap());
                    match u32::from_be_bytes(header[4..8].try_into().unwrap()) {
                        0 => content[cookie as usize] = byte,
                        error => {
                            assert_eq!(error, PERM);
                            refused += 1;
                        }
                    }
                }
                if refused >= 16 {
                    break;
                }
            }
            for (command, flags) in [(TRIM, 0), (WRITE_ZEROES, 0), (WRITE_ZEROES, 2)] {
                client.send(command, flags, 0, 32 * PAGE as u32, &[]).unwrap();
                assert_eq!(client.answer(&mut []).unwrap(), PERM);
            }
            client.send(TRIM, 0, 100, 50, &[]).unwrap();
            assert_eq!(client.answer(&mut []).unwrap(), PERM);
            client.flush().unwrap();
            for (place, byte) in content.iter().enumerate() {
                let data = client.read(place as u64 * PAGE, PAGE as u32).unwrap();
                assert!(data.iter().all(|it| it == byte), "page {place}: {} {byte}", data[0]);
            }
        });
        let refused = seen.completed.iter().filter(|(it, _)| !it.status.is_ok()).count();
        assert!(refused >= 19, "{refused}");
    }
}

#[test]
fn many_requests_at_once_are_all_answered() {
    const COUNT: u64 = 3000;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let (seen, _) = serve(device(1000), Store::memory(), BYTES, &path, || {
        let client = Client::new(&path).unwrap();
        let mut sender = client.0.try_clone().unwrap();
        let sending = std::thread::spawn(move || {
            for cookie in 0..COUNT {
                let place = cookie % 1000 * 4096;
                let words = if cookie % 2 == 0 {
                    message(WRITE, 0, cookie, place, 4096, &[cookie as u8; 4096])
                } else {
                    message(READ, 0, cookie, place, 4096, &[])
                };
                sender.write_all(&words).unwrap();
            }
            sender.write_all(&message(DISCONNECT, 0, 0, 0, 0, &[])).unwrap();
        });
        let mut answered = vec![false; COUNT as usize];
        let mut receiver = client.0;
        let mut header = [0; 16];
        while receiver.read_exact(&mut header).is_ok() {
            let cookie = u64::from_be_bytes(header[8..].try_into().unwrap());
            assert!(!std::mem::replace(&mut answered[cookie as usize], true));
            if cookie % 2 == 1 {
                receiver.read_exact(&mut [0; 4096]).unwrap();
            }
        }
        sending.join().unwrap();
        assert!(answered.iter().all(|answered| *answered));
    });
    assert_eq!(seen.completed.len() as u64, COUNT);
    // The requests can be replayed: times never decrease.
    assert!(seen.submitted.is_sorted_by_key(|(at, ..)| *at));
}

/// Clients that send invalid messages and vanish anywhere, beside a well-served one.
#[test]
fn mad_clients_do_no_harm_to_a_good_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let seed = 20_080_622;
    println!("seed {seed}");
    let (file, _) = Store::file(&directory.path().join("f"), Some(BYTES), 0).unwrap();
    let (seen, _) = serve(device(10_000), file, BYTES, &path, || {
        // The good client connects first, because a full server would reject it.
        let mut client = Client::new(&path).unwrap();
        let good = std::thread::spawn(move || {
            for round in 0..300u64 {
                // The other clients use the rest of the device.
                let place = round * 37 % 64 * 4096;
                client.write(u16::from(round % 50 == 0), place, &[round as u8; 4096]).unwrap();
                assert_eq!(client.read(place, 4096).unwrap(), [round as u8; 4096]);
            }
        });
        let mut random = Xoshiro256::new(seed, 0);
        for _ in 0..200 {
            let mut stream = UnixStream::connect(&path).unwrap();
            if random.below(10) == 0 {
                continue;
            }
            let mut words = b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0".to_vec();
            for _ in 0..random.below(6) {
                let length = random.below(20_000) as u32;
                let offset = BYTES / 2 + random.below(BYTES);
                let command = random.below(8) as u16;
                let flags = random.below(4) as u16;
                words.extend(message(command, flags, 1, offset, length, &vec![1; length as usize]));
            }
            let place = random.below(words.len() as u64) as usize;
            match random.below(4) {
                0 | 1 => words.truncate(place),
                2 => words[place] = random.below(256) as u8,
                _ => {}
            }
            // The server may disconnect after any message.
            let _ = stream.write_all(&words);
        }
        good.join().unwrap();
    });
    assert!(seen.completed.len() >= 600);
}
