//! Runs random experiments and checks the laws on each: `cargo run --release -p ssdlab-lab --example fuzz
//! -- [SECONDS] [SEED]`, as in `make fuzz`. Every violation is a line with its seed. The first
//! violations of each law are followed by a smaller experiment that still violates it, as a
//! command.
//!
//! An experiment that takes longer than a few minutes is reported as a hang, and ends the search.

#[allow(dead_code, unreachable_pub, reason = "each program uses its part, and nothing is outside")]
#[path = "../tests/net/mod.rs"]
mod net;

use net::generate::experiment;
use net::laws::{Broken, Verdict, judge};
use net::mend::judge_mended;
use net::shrink::shrink;
use std::collections::BTreeMap;
use std::process::exit;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Upper bound on the duration of these experiments, even on a busy machine.
const HANG: Duration = Duration::from_secs(300);
/// Number of violations per law for which a smaller experiment is searched.
const EXAMPLES: u64 = 3;

/// State shared by the threads.
#[derive(Default)]
struct Search {
    next: u64,
    running: BTreeMap<u64, Duration>,
    refused: u64,
    held: u64,
    broken: BTreeMap<String, u64>,
    slowest: (Duration, u64),
}

fn locked(search: &Mutex<Search>) -> MutexGuard<'_, Search> {
    search.lock().expect("no thread fails while it holds the search")
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let seconds: u64 = arguments.next().unwrap_or(60);
    let first: u64 = arguments.next().unwrap_or(1);
    #[expect(clippy::disallowed_methods, reason = "searches for as long as it is told to")]
    let started = Instant::now();
    let search = Mutex::new(Search { next: first, ..Search::default() });
    let worker = || {
        while started.elapsed() < Duration::from_secs(seconds) {
            one(&search, started);
        }
    };
    std::thread::scope(|scope| {
        let workers = [scope.spawn(worker), scope.spawn(worker)];
        while workers.iter().any(|it| !it.is_finished()) {
            std::thread::park_timeout(Duration::from_millis(200));
            watch(&search, started);
        }
    });
    let search = locked(&search);
    let (took, slowest) = search.slowest;
    println!(
        "{} experiments from seed {first}: {} held, {} refused; the slowest, seed {slowest}, took {took:?}",
        search.next - first,
        search.held,
        search.refused
    );
    for (law, count) in &search.broken {
        println!("{count} times broken: {law}");
    }
    let _ = std::fs::remove_dir_all(net::samples());
    exit(i32::from(!search.broken.is_empty()));
}

/// Runs and judges the next experiment.
fn one(search: &Mutex<Search>, started: Instant) {
    let seed = {
        let mut search = locked(search);
        let seed = search.next;
        search.next += 1;
        search.running.insert(seed, started.elapsed());
        seed
    };
    // One in ten is judged as drawn, to cover error messages of refusals.
    let drawn = experiment(seed);
    let (config, verdict) = if seed % 10 == 0 {
        let verdict = judge(&drawn);
        (drawn, verdict)
    } else {
        judge_mended(drawn, seed)
    };
    let breaches = note(&mut locked(search), seed, verdict, started.elapsed());
    for (broken, number) in breaches {
        let what = format!("seed {seed}: {}: {}", broken.law, broken.detail);
        if number > EXAMPLES {
            println!("{what}");
            continue;
        }
        let (small, how) = shrink(&config, &broken);
        println!("{what}\n  smaller: {}\n  {small}\n", how.detail);
    }
}

/// Counts a verdict; returns the violations, each with the number of earlier ones of its law.
fn note(search: &mut Search, seed: u64, verdict: Verdict, now: Duration) -> Vec<(Broken, u64)> {
    let since = search.running.remove(&seed).unwrap_or_default();
    search.slowest = search.slowest.max((now.saturating_sub(since), seed));
    let laws = match verdict {
        Verdict::Refused => {
            search.refused += 1;
            return Vec::new();
        }
        Verdict::Holds => {
            search.held += 1;
            return Vec::new();
        }
        Verdict::Breaks(laws) => laws,
    };
    let counted = laws.into_iter().map(|broken| {
        let count = search.broken.entry(broken.law.to_owned()).or_default();
        *count += 1;
        (broken, *count)
    });
    counted.collect()
}

/// Ends the search if an experiment hangs.
fn watch(search: &Mutex<Search>, started: Instant) {
    for (seed, since) in &locked(search).running {
        if started.elapsed().saturating_sub(*since) > HANG {
            println!("seed {seed}: it hangs\n  {}", experiment(*seed));
            exit(1);
        }
    }
}
