//! How fast are the generators? Rounds of issue and completion a second, one core, requests that
//! complete at once: `cargo bench -p workloads --bench generators`.
//!
//! The last run (2 shared vCPUs of an Intel Xeon; a noisy machine, so the best of five):
//!
//! ```text
//! TABLE
//! ```

use engine::{Breakdown, Completion, Workload};
use std::io;
use workloads::{Context, WorkloadConfig};

const ROUNDS: u64 = 2_000_000;

/// The best of five runs, in millions of rounds a second.
fn best(kind: &str, text: &str) -> f64 {
    let layer: toml::Table = toml::from_str(text).expect("TOML");
    let config = WorkloadConfig::resolve(kind, [layer]).expect("a valid workload");
    let context = Context {
        capacity_sectors: 64 << 21,
        seed: 42,
        open: &|_| Err(io::ErrorKind::NotFound.into()),
    };
    let once = || {
        let mut workload = config.build(&context).expect("it can be built");
        #[expect(clippy::disallowed_methods, reason = "a bench measures time")]
        let started = std::time::Instant::now();
        let rounds = rounds(&mut *workload);
        rounds as f64 / started.elapsed().as_secs_f64() / 1e6
    };
    (0..5).map(|_| once()).fold(0.0, f64::max)
}

fn rounds(workload: &mut dyn Workload) -> u64 {
    let mut now = 0;
    let mut rounds = 0;
    while rounds < ROUNDS {
        let Some(arrival) = workload.next(now).expect("no input is behind it") else { break };
        now = arrival.at;
        let breakdown = Breakdown::default();
        workload.completed(&Completion {
            request: arrival.request,
            submitted: now,
            at: now,
            breakdown,
        });
        rounds += 1;
    }
    rounds
}

fn main() {
    let many = "requests = 100000000";
    let rows = [
        ("closed, uniform", "closed", many.to_owned()),
        (
            "closed, half reads, half sequential",
            "closed",
            format!("{many}\nread_share = 0.5\nrandom_share = 0.5"),
        ),
        (
            "closed, hot-cold(0.9, 0.1)",
            "closed",
            format!("{many}\nlocality = 'hot-cold(0.9, 0.1)'"),
        ),
        ("closed, zipf(0.99)", "closed", format!("{many}\nlocality = 'zipf(0.99)'")),
        ("closed, 4 threads", "closed", format!("{many}\nthreads = 4")),
        ("open", "open", many.to_owned()),
    ];
    for (what, kind, text) in rows {
        println!("{what:<40} {:7.1} M/s", best(kind, &text));
    }
}
