//! What do threads gain in fast-forward? Uniform random overwrites of the baseline drive, whole and in two
//! and four parts. The jobs of the parts run one after the other here, so that neither the number of cores nor
//! what else they do matters: the longest path is the longest job of each stretch, and all that is
//! done between jobs.
//!
//! The last run (`cargo bench -p ssdlab-devices --bench parts`; 2 shared vCPUs of an Intel Xeon, best of five):
//!
//! ```text
//! 1 parts: longest path 3.99s, all work 3.99s
//! 2 parts: longest path 1.99s, all work 3.84s
//! 4 parts: longest path 1.13s, all work 3.90s
//! ```

use devices::ssd::{Ssd, SsdConfig};
use devices::{Instruction, Job, Model, Writes};
use engine::{Random, Xoshiro256};
use std::time::Duration;

struct Draws {
    random: Xoshiro256,
    pages: u64,
    count: u64,
}

impl Writes for Draws {
    fn each(&self, take: &mut dyn FnMut(&[u64])) {
        let mut random = self.random.clone();
        let mut batch = [0; 256];
        for _ in 0..self.count / 256 {
            batch.fill_with(|| random.below(self.pages));
            take(&batch);
        }
    }
}

/// How long this thread has had a core (Linux).
#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn on_core() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next().and_then(|it| it.parse().ok());
    Duration::from_nanos(first.expect("the kernel counts it"))
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = on_core();
    work();
    on_core().saturating_sub(started)
}

/// Overwrites a drive in `parts` parts: the critical path, and the total work.
fn path(ssd: &mut Ssd, parts: u32) -> (Duration, Duration) {
    const STRETCHES: u64 = 32;
    let pages = ssd.facts().pages;
    let count = pages / STRETCHES * 2 / 256 * 256;
    let (mut longest, mut jobs_took) = (Duration::ZERO, Duration::ZERO);
    let whole = timed(|| {
        if parts > 1 {
            ssd.divide(parts).expect("its pools are its units");
        }
        for stretch in 0..STRETCHES {
            let draws = Draws { random: Xoshiro256::new(stretch, 0), pages, count };
            if parts == 1 {
                draws.each(&mut |batch| ssd.overwrite_untimed(batch, 0));
                continue;
            }
            ssd.overwrite_divided(&draws, &mut |jobs: Vec<Job<'_>>| {
                let took: Vec<_> = jobs.into_iter().map(timed).collect();
                longest += took.iter().max().copied().unwrap_or_default();
                jobs_took += took.iter().sum::<Duration>();
            });
        }
        ssd.instruct(0, Instruction::Unite).expect("its parts are independent");
    });
    (whole.saturating_sub(jobs_took) + longest, whole)
}

fn main() {
    let blocks = std::env::var("BLOCKS").map_or(2048, |it| it.parse().expect("a number"));
    let config = SsdConfig { blocks_per_plane: blocks, ..SsdConfig::default() };
    let new = Ssd::new(&config, 1).expect("the baseline drive");
    let mut one = None;
    for parts in [1, 2, 4] {
        let mut best = (Duration::MAX, Duration::MAX);
        for _ in 0..5 {
            let mut ssd = new.clone();
            best = best.min(path(&mut ssd, parts));
            let kept = Model::save(&ssd);
            assert!(*one.get_or_insert_with(|| kept.clone()) == kept, "the same bits");
        }
        println!("{parts} parts: longest path {:.2?}, all work {:.2?}", best.0, best.1);
    }
}
