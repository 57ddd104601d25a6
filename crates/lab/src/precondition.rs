//! What is written to a drive before a run, in no simulated time.

use crate::steady::{Detector, Seen, Steady};
use devices::Model;
use engine::{Random, Xoshiro256};
use options::text_setting;
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

/// Writes that bring a drive into a state; the FTL cleans as it would in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Precondition {
    /// Nothing: the drive is as it was filled.
    None,
    /// Every page once, in ascending order.
    Sequential,
    /// Uniform random pages, this many times the number of pages.
    Random(f64),
    /// Uniform random pages until write amplification has settled.
    Steady,
}

/// More overwrites than any drive needs to reach its steady state.
const MOST_OVERWRITES: f64 = 1000.0;

impl FromStr for Precondition {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || {
            format!(
                "\"{text}\" is not \"none\", \"sequential\", \"steady\" or \"random:N\" with N overwrites \
                 of the drive, such as \"random:2\" (more than 0, at most {MOST_OVERWRITES})"
            )
        };
        match text {
            "none" => Ok(Precondition::None),
            "sequential" => Ok(Precondition::Sequential),
            "steady" => Ok(Precondition::Steady),
            _ => {
                let number = text.strip_prefix("random:").ok_or_else(refused)?;
                let overwrites: f64 = number.parse().map_err(|_| refused())?;
                let possible = overwrites > 0.0 && overwrites <= MOST_OVERWRITES;
                possible.then_some(Precondition::Random(overwrites)).ok_or_else(refused)
            }
        }
    }
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Precondition::None => f.write_str("none"),
            Precondition::Sequential => f.write_str("sequential"),
            Precondition::Steady => f.write_str("steady"),
            Precondition::Random(overwrites) => write!(f, "random:{overwrites}"),
        }
    }
}

text_setting!(
    Precondition: "\"none\", \"sequential\", \"steady\" or \"random:N\" with N overwrites of the drive"
);

impl Precondition {
    /// Applies it to a drive. `tick` is told the writes done and to do, now and then. Returns what
    /// was seen of the drive's settling, where that decides when to stop.
    pub(crate) fn apply(
        self,
        device: &mut dyn Model,
        seed: u64,
        steady: &Steady,
        tick: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<(), Option<Seen>> {
        let pages = u64::from(device.preparable_pages());
        let mut seen = None;
        if self != Precondition::None && pages > 0 {
            let mut write = Writer::new(device, seed, tick);
            match self {
                Precondition::None => {}
                Precondition::Sequential => write.pages(pages, pages, false)?,
                Precondition::Random(overwrites) => {
                    let writes = (pages as f64 * overwrites) as u64;
                    write.pages(writes, writes, true)?;
                }
                Precondition::Steady => {
                    let round = ((pages as f64 * steady.round_writes) as u64).max(1);
                    let mut detector = Detector::new(steady, "write_amplification");
                    while !detector.is_over() {
                        write.device.reset_counts();
                        write.pages(round, round * u64::from(steady.rounds), true)?;
                        let amplification =
                            write.device.report(0).and_then(|it| it.write_amplification_bytes);
                        // Only a drive that takes no more writes has none.
                        let Some(amplification) = amplification else { break };
                        detector.round(amplification);
                    }
                    seen = Some(detector.seen());
                }
            }
            device.reset_counts();
        }
        ControlFlow::Continue(seen)
    }
}

/// Overwrites pages in order or at random.
struct Writer<'a> {
    device: &'a mut dyn Model,
    random: Xoshiro256,
    done: u64,
    tick: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>,
}

impl<'a> Writer<'a> {
    fn new(
        device: &'a mut dyn Model,
        seed: u64,
        tick: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Writer<'a> {
        Writer { device, random: Xoshiro256::new(seed, 8), done: 0, tick }
    }

    /// Writes `writes` pages more; there will be `expected` in all.
    fn pages(&mut self, writes: u64, expected: u64, at_random: bool) -> ControlFlow<()> {
        // Where cleaning finds little, a write can cost a third of a millisecond.
        const TICK: u64 = 1 << 8;
        // Several at a time let the drive fetch what it will need.
        const BATCH: u64 = 64;
        let pages = u64::from(self.device.preparable_pages());
        let mut batch = Vec::with_capacity(BATCH as usize);
        let mut until_tick = 0;
        for first in (0..writes).step_by(BATCH as usize) {
            if until_tick == 0 {
                (self.tick)(self.done, expected)?;
                until_tick = TICK / BATCH;
            }
            until_tick -= 1;
            let numbers = first..writes.min(first + BATCH);
            self.done += numbers.end - numbers.start;
            batch.clear();
            if at_random {
                batch.extend(numbers.map(|_| self.random.below(pages) as u32));
            } else {
                batch.extend(numbers.map(|write| write as u32));
            }
            self.device.overwrite_untimed(&batch);
        }
        ControlFlow::Continue(())
    }
}
