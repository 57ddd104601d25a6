//! Speed of the generators: rounds of issue and completion per second on one core, with requests
//! that complete instantly: `cargo bench -p ssdlab-workloads --bench generators`.
//!
//! The last run (2 shared vCPUs of an Intel Xeon; a noisy machine, so the best of 80 short runs):
//!
//! ```text
//! closed, uniform                             90.0 M/s
//! closed, half reads, half sequential         83.8 M/s
//! closed, hot-cold(0.9, 0.1)                  48.0 M/s
//! closed, zipf(0.99)                          13.9 M/s
//! closed, 4 threads                           60.1 M/s
//! open                                        23.3 M/s
//! bursts                                      46.5 M/s
//! jesd219                                     51.2 M/s
//! mix of two by weight                        31.9 M/s
//! fio, sequential                             34.1 M/s
//! fio, every block once                       28.5 M/s
//! fio, bssplit with the map                   23.2 M/s
//! fio, zipf:1.2                               14.0 M/s
//! iozone                                      37.3 M/s
//! postmark                                    11.2 M/s
//! ```

use engine::{Breakdown, Completion, Workload};
use std::io;
use workloads::{Context, Inputs, WorkloadConfig};

const ROUNDS: u64 = 400_000;

/// The best of 80 short runs, in millions of rounds per second.
fn best(kind: &str, text: &str) -> f64 {
    let layer: toml::Table = toml::from_str(text).expect("TOML");
    let config = WorkloadConfig::resolve(kind, [layer]).expect("a valid workload");
    let context = Context {
        capacity_sectors: 64 << 21,
        scale: 1,
        volumes: 1,
        zones: None,
        seed: 42,
        pass: 0,
        inputs: Inputs::streams(|_| Err(io::ErrorKind::NotFound.into())),
    };
    let once = || {
        let mut workload = config.build(&context).expect("it can be built");
        #[expect(clippy::disallowed_methods, reason = "a bench measures time")]
        let started = std::time::Instant::now();
        let rounds = rounds(&mut *workload);
        rounds as f64 / started.elapsed().as_secs_f64() / 1e6
    };
    (0..80).map(|_| once()).fold(0.0, f64::max)
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
            status: engine::Status::Ok,
        });
        rounds += 1;
    }
    rounds
}

fn main() {
    let many = "requests = 100000000";
    let closed = |keys: &str| format!("{many}\n{keys}");
    let fio = |keys: &str| format!("job = \"[j]\\niodepth=32\\nloops=1000\\n{keys}\"");
    let mix = "[[streams]]\nkind = 'closed'\nrequests = 100000000\nweight = 3\n\
               [[streams]]\nkind = 'jesd219'\nrequests = 100000000\nweight = 1";
    let rows = [
        ("closed, uniform", "closed", many.to_owned()),
        (
            "closed, half reads, half sequential",
            "closed",
            closed("read_share = 0.5\nrandom_share = 0.5"),
        ),
        ("closed, hot-cold(0.9, 0.1)", "closed", closed("locality = 'hot-cold(0.9, 0.1)'")),
        ("closed, zipf(0.99)", "closed", closed("locality = 'zipf(0.99)'")),
        ("closed, 4 threads", "closed", closed("threads = 4")),
        ("open", "open", many.to_owned()),
        ("bursts", "bursts", many.to_owned()),
        ("jesd219", "jesd219", many.to_owned()),
        ("mix of two by weight", "mix", mix.to_owned()),
        ("fio, sequential", "fio", fio("rw=read")),
        ("fio, every block once", "fio", fio("rw=randread")),
        ("fio, bssplit with the map", "fio", fio("rw=randrw\\nbssplit=4k/50:8k/50\\nsize=4g")),
        ("fio, zipf:1.2", "fio", fio("rw=randread\\nrandom_distribution=zipf:1.2")),
        ("iozone", "iozone", "runs = 10000".to_owned()),
        ("postmark", "postmark", "files = 20000\ntransactions = 1000000".to_owned()),
    ];
    for (what, kind, text) in rows {
        println!("{what:<40} {:7.1} M/s", best(kind, &text));
    }
}
