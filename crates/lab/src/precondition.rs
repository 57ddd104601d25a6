//! Writing to a drive before a run, in no simulated time.

use crate::config::{Precondition, Steady};
use crate::steady::{Rounds, SteadyState};
use crate::threads::{Pace, Stretch, Threads, side_by_side};
use devices::Model;
use engine::{Random, Xoshiro256};
use std::ops::ControlFlow;
use std::sync::OnceLock;

/// Preconditions a drive. `tick` is called periodically with the writes done and to do. Returns how the
/// drive settled, if that decides when to stop.
pub(crate) fn precondition(
    device: &mut dyn Model,
    precondition: Precondition,
    seed: u64,
    steady: &Steady,
    threads: &mut Threads,
    tick: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> ControlFlow<(), Option<SteadyState>> {
    let pages = device.preparable_pages();
    let mut settled = None;
    if precondition != Precondition::None && pages > 0 {
        let mut write = Writer::new(device, seed, tick);
        write.divide(threads);
        match precondition {
            Precondition::None => {}
            Precondition::Sequential => write.pages(pages, pages, false)?,
            Precondition::Random(overwrites) => {
                let writes = (pages as f64 * overwrites) as u64;
                write.pages(writes, writes, true)?;
            }
            Precondition::Steady => {
                let round = ((pages as f64 * steady.round_writes) as u64).max(1);
                let mut rounds = Rounds::new(steady, "write_amplification");
                while !rounds.is_over() {
                    write.device.reset_counts();
                    write.pages(round, round * u64::from(steady.rounds), true)?;
                    let amplification =
                        write.device.report(0).and_then(|it| it.write_amplification_bytes);
                    // Only a drive that takes no more writes has none.
                    let Some(amplification) = amplification else { break };
                    rounds.add(amplification);
                }
                settled = Some(rounds.state());
            }
        }
        write.unite();
        threads.prepare(write.divided);
        device.reset_counts();
        // A steady state is that of the load, and so is its wear.
        if precondition != Precondition::Steady {
            device.begin_load();
        }
    }
    ControlFlow::Continue(settled)
}
/// Overwrites pages in order or at random.
struct Writer<'a> {
    device: &'a mut dyn Model,
    random: Xoshiro256,
    done: u64,
    tick: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    /// The parts of the device that are written side by side, or why it is in one piece.
    divided: Result<u32, &'static str>,
    pace: Pace,
}

impl<'a> Writer<'a> {
    fn new(
        device: &'a mut dyn Model,
        seed: u64,
        tick: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Writer<'a> {
        let random = Xoshiro256::new(seed, 8);
        Writer { device, random, done: 0, tick, divided: Ok(1), pace: Pace::new() }
    }

    /// Divides the device among threads, where that comes to the same.
    fn divide(&mut self, threads: &Threads) {
        if threads.asked > 1 {
            self.divided = self.device.divide(threads.asked);
        }
    }

    /// Makes one piece of the device again.
    fn unite(&mut self) {
        if self.is_divided() {
            self.device.unite();
        }
    }

    fn is_divided(&self) -> bool {
        self.divided.is_ok_and(|parts| parts > 1)
    }

    /// Writes pages side by side as long as that comes to the same as in one piece; how many.
    fn side_by_side(
        &mut self,
        writes: u64,
        expected: u64,
        at_random: bool,
    ) -> ControlFlow<(), u64> {
        // Below that, looking whether it still does is more work than writing.
        const FEWEST: u64 = 1 << 8;
        let pages = self.device.preparable_pages();
        let mut first = 0;
        while first < writes {
            (self.tick)(self.done, expected)?;
            let most = self.device.overwrites_divided();
            if most < FEWEST {
                self.unite();
                self.divided = Err("blocks are about to wear out");
                break;
            }
            let Writer { device, random, done, .. } = self;
            self.pace.stretch(most.min(writes - first), |count| {
                let stretch = Stretch {
                    random: at_random.then(|| random.clone()),
                    first,
                    count,
                    pages,
                    after: OnceLock::new(),
                };
                device.overwrite_divided(&stretch, &mut side_by_side);
                if let Some(after) = stretch.after.into_inner() {
                    *random = after;
                }
                *done += count;
                first += count;
            });
        }
        ControlFlow::Continue(first)
    }

    /// Writes `writes` pages more; there will be `expected` in all.
    fn pages(&mut self, writes: u64, expected: u64, at_random: bool) -> ControlFlow<()> {
        // Where cleaning finds little, a write can cost a third of a millisecond.
        const TICK: u64 = 1 << 8;
        // Several at a time let the drive fetch what it will need.
        const BATCH: u64 = 64;
        let begun =
            if self.is_divided() { self.side_by_side(writes, expected, at_random)? } else { 0 };
        let pages = self.device.preparable_pages();
        let mut batch = Vec::with_capacity(BATCH as usize);
        let mut until_tick = 0;
        for first in (begun..writes).step_by(BATCH as usize) {
            if until_tick == 0 {
                (self.tick)(self.done, expected)?;
                until_tick = TICK / BATCH;
            }
            until_tick -= 1;
            let numbers = first..writes.min(first + BATCH);
            self.done += numbers.end - numbers.start;
            batch.clear();
            if at_random {
                batch.extend(numbers.map(|_| self.random.below(pages)));
            } else {
                batch.extend(numbers);
            }
            self.device.overwrite_untimed(&batch);
        }
        ControlFlow::Continue(())
    }
}
