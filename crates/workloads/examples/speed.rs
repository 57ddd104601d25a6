//! Speed and memory of the readers: `cargo run --release -p ssdlab-workloads --example speed -- FORMAT
//! REQUESTS`, or `-- FORMAT FILE` for an existing trace.
//!
//! Without a file, requests are generated, written as the format (one that can be written, vscsi,
//! or blktrace with three events a request) into a temporary file and read back.
//!
//! Measured on 2 shared cores with uncompressed, cached files, in million requests per CPU second,
//! over 5 million requests: parquet 31, mqsim 19.7, disksim 19.0, blktrace 18.8, fio 18.2,
//! vscsi 18.1, msr 14.8. Memory at most 4 MB; parquet 17 MB, and 19 MB with 40 million, for its
//! index of row groups.

use engine::Op;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use workloads::{Inputs, ReadOptions, Record, Records, TimeUnit, format_named};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "disksim".to_owned());
    let what = arguments.next().unwrap_or_else(|| "5000000".to_owned());
    let format = format_named(&name).expect("a format");
    let temporary = std::env::temp_dir().join(format!("ssdlab-speed-{}", std::process::id()));
    let path = match what.parse() {
        Ok(count) => {
            write(&temporary, &name, count);
            temporary.clone()
        }
        Err(_) => what.into(),
    };
    let bytes = path.metadata().expect("a file").len();
    let inputs = Inputs {
        open: {
            let path = path.clone();
            #[expect(clippy::disallowed_methods, reason = "measures the reading of files")]
            Arc::new(move |_| Ok(Box::new(File::open(&path)?)))
        },
        is_repeatable: Arc::new(|_| true),
        open_seekable: {
            let path = path.clone();
            #[expect(clippy::disallowed_methods, reason = "measures the reading of files")]
            Arc::new(move |_| Ok(Box::new(File::open(&path)?)))
        },
        threads: std::env::var("THREADS").map_or(1, |threads| threads.parse().expect("a number")),
    };
    let time_unit = if name == "mqsim" { TimeUnit::Ns } else { TimeUnit::Own };
    let options = ReadOptions { time_unit, ..ReadOptions::default() };
    let before = peak_mb();
    let started = on_core_ns();
    let mut records = Records::open(&inputs, "t", Some(format), &options).expect("a trace");
    let (mut found, mut sum) = (0_u64, 0_u64);
    while let Some(record) = records.next_record().expect("a record") {
        found += 1;
        sum = sum.wrapping_add(record.at ^ record.sector);
    }
    let seconds = (on_core_ns() - started) / 1e9;
    println!(
        "{name}: {found} requests, {} lines or records, {} MB in {seconds:.2} CPU s: {:.2} million \
         requests a CPU second; {before} MB before, {} MB at most (checksum {sum:x})",
        records.number(),
        bytes >> 20,
        found as f64 / seconds / 1e6,
        peak_mb()
    );
    if path == temporary {
        std::fs::remove_file(&path).expect("a file");
    }
}

fn write(path: &std::path::Path, name: &str, count: u64) {
    let mut out = BufWriter::new(File::create(path).expect("a file"));
    let mut records = (0..count).map(|number| Record {
        at: number * 10_000 + number % 7 * 100,
        device: 0,
        op: if number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 0 {
            Op::Read
        } else {
            Op::Write
        },
        sector: (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 34) * 8,
        sectors: 8 << (number % 4),
        fua: false,
        handle: engine::Handle::NONE,
    });
    match (format_named(name).expect("a format").write, name) {
        (Some(write), _) => drop(write(&mut records, &mut out).expect("a written file")),
        (None, "vscsi") => {
            for record in records {
                let mut bytes = [0; 32];
                bytes[4..8].copy_from_slice(&(record.sectors * 512).to_le_bytes());
                bytes[12] = if record.op == Op::Read { 0x28 } else { 0x2A };
                bytes[15] = 1;
                bytes[16..24].copy_from_slice(&record.sector.to_le_bytes());
                bytes[24..].copy_from_slice(&(record.at / 1000).to_le_bytes());
                out.write_all(&bytes).expect("a written file");
            }
        }
        (None, "blktrace") => {
            // Queue, dispatch and completion events of each, as in a trace of a live system.
            for record in records {
                let direction = if record.op == Op::Read { 1 } else { 2 };
                for (action, category) in [(1_u32, 0x10), (7, 0x40), (8, 0x80)] {
                    let mut bytes = [0; 48];
                    bytes[..4].copy_from_slice(&0x6561_7407_u32.to_le_bytes());
                    bytes[8..16].copy_from_slice(&record.at.to_le_bytes());
                    bytes[16..24].copy_from_slice(&record.sector.to_le_bytes());
                    bytes[24..28].copy_from_slice(&(record.sectors * 512).to_le_bytes());
                    let action = action | (category | direction) << 16;
                    bytes[28..32].copy_from_slice(&action.to_le_bytes());
                    out.write_all(&bytes).expect("a written file");
                }
            }
        }
        _ => panic!("{name} cannot be written"),
    }
    out.flush().expect("a written file");
}

/// CPU time of this thread (Linux); a read-ahead thread is not counted.
fn on_core_ns() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "measures speed")]
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next().and_then(|it| it.parse().ok());
    first.expect("the kernel counts it")
}

/// Peak memory of this process, MB, if the system reports it.
fn peak_mb() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "asks the system, not for a trace")]
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) >> 10
}
