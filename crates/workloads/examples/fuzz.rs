//! Feeds mutated samples to every trace reader: `cargo run --release -p ssdlab-workloads --example fuzz --
//! [COUNT] [SEED]`. No reader may panic, hang or use unbounded memory, for any input.
//!
//! Each input is the sample of a format, repeated, spliced with another, with bytes changed, cut or
//! inserted; it is read with its format named, with another named, and with none. A failure prints
//! the seed and the number of the input, which together reproduce it.
//!
//! Run with 3,200,000 inputs of seed 1, 4,000,000 of seed 2 and 3,200,000 of seed 3: 19.5 million
//! records read, 6.1 million inputs refused, none panicked; the slowest took 0.13 s on a busy
//! machine, and no more than 5 MB were in use.

use engine::{Random, Xoshiro256};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use workloads::{BlockEvent, FORMATS, Format, Inputs, ReadOptions, Records, TimeUnit};

/// Upper bound on the time for an input of a few KiB, even on a busy machine.
const HANG: Duration = Duration::from_secs(5);

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let count: u64 = arguments.next().unwrap_or(100_000);
    let seed: u64 = arguments.next().unwrap_or(1);
    let (mut records, mut refused, mut slowest) = (0, 0, Duration::ZERO);
    let samples: Vec<Vec<u8>> = FORMATS.iter().map(|format| (format.sample)()).collect();
    // A library's panic that becomes an error need not be printed.
    std::panic::set_hook(Box::new(|_| {}));
    for number in 0..count {
        let mut random = Xoshiro256::new(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15), 0);
        let which = random.below(FORMATS.len() as u64) as usize;
        let input = changed(&samples, which, &mut random);
        let (format, options) = stated(&FORMATS[which], &mut random);
        #[expect(clippy::disallowed_methods, reason = "looks for hangs")]
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| read(&input, format, &options)));
        let took = started.elapsed();
        slowest = slowest.max(took);
        let name = FORMATS[which].name;
        match outcome {
            Ok((found, broken)) => {
                records += found;
                refused += u64::from(broken);
            }
            Err(_) => stop(&format!("PANIC: seed {seed}, input {number}, from {name}"), &input),
        }
        if took > HANG {
            stop(&format!("HANG: seed {seed}, input {number}, from {name}: {took:?}"), &input);
        }
    }
    println!(
        "{count} inputs, seed {seed}: {records} records read, {refused} inputs refused, the \
         slowest took {slowest:?}, {} MB at most",
        peak_mb()
    );
}

fn stop(problem: &str, input: &[u8]) {
    println!("{problem}\n{}", input.escape_ascii());
    std::process::exit(1);
}

/// Peak memory of this process, MB, if the system reports it.
fn peak_mb() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "asks the system, not for a trace")]
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) >> 10
}

fn read(input: &[u8], format: Option<&'static Format>, options: &ReadOptions) -> (u64, bool) {
    let Ok(mut reader) = Records::open(&Inputs::memory("t", input), "t", format, options) else {
        return (0, true);
    };
    let mut records = 0;
    loop {
        match reader.next_record() {
            Ok(Some(_)) => records += 1,
            Ok(None) => return (records, false),
            Err(_) => return (records, true),
        }
    }
}

/// A format, named two times out of three, mostly the right one, with its required and optional
/// keys.
fn stated(
    format: &'static Format,
    random: &mut Xoshiro256,
) -> (Option<&'static Format>, ReadOptions) {
    let format = match random.below(12) {
        0..4 => None,
        4 => Some(&FORMATS[random.below(FORMATS.len() as u64) as usize]),
        _ => Some(format),
    };
    let name = format.map_or("", |format| format.name);
    let unit = if name == "mqsim" { TimeUnit::Us } else { TimeUnit::Own };
    let event = [BlockEvent::Queue, BlockEvent::Issue, BlockEvent::Complete];
    let of_blocks = name.starts_with("blk") && random.below(3) == 0;
    let layout = name == "blkparse" && random.below(4) == 0;
    let columns = "time=1:us,op=3,offset=4:bytes,size=5,device=2";
    let options = ReadOptions {
        time_unit: unit,
        columns: (name == "csv").then(|| columns.parse().expect("columns")),
        pattern: None,
        layout: layout.then(|| "%D %2c %8s %5T.%9t %5p %2a %3d %S + %n [%C]".to_owned()),
        event: if of_blocks { event[random.below(3) as usize] } else { BlockEvent::Auto },
        read_share: (name == "oracle_general").then_some(0.5),
        seed: 1,
        skip_bad: random.below(4),
    };
    (format, options)
}

fn changed(samples: &[Vec<u8>], which: usize, random: &mut Xoshiro256) -> Vec<u8> {
    let mut input = samples[which].repeat(1 + random.below(3) as usize);
    if random.below(16) == 0 {
        let other = &samples[random.below(samples.len() as u64) as usize];
        let from = random.below(other.len() as u64) as usize;
        input.extend(&other[from..]);
    }
    for _ in 0..random.below(8) {
        let place = random.below(input.len() as u64) as usize;
        match random.below(7) {
            0 => input[place] = random.below(256) as u8,
            1 => input[place] ^= 1 << random.below(8),
            2 => {
                let bytes = b"0123456789.-,:x \t\n\0\xFF";
                input[place] = bytes[random.below(bytes.len() as u64) as usize];
            }
            3 => drop(input.splice(place..place, *b"18446744073709551615")),
            4 => drop(input.splice(place..place, [0xFF; 8])),
            5 => drop(input.drain(place..(place + 1 + random.below(9) as usize).min(input.len()))),
            _ => {
                input.truncate(place + 1);
            }
        }
        if input.is_empty() {
            break;
        }
    }
    input
}
