//! What is written to a drive before a run, in no simulated time.

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
}

/// More overwrites than any drive needs to reach its steady state.
const MOST_OVERWRITES: f64 = 1000.0;

impl FromStr for Precondition {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || {
            format!(
                "\"{text}\" is not \"none\", \"sequential\" or \"random:N\" with N overwrites of the \
                 drive, such as \"random:2\" (more than 0, at most {MOST_OVERWRITES})"
            )
        };
        match text {
            "none" => Ok(Precondition::None),
            "sequential" => Ok(Precondition::Sequential),
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
            Precondition::Random(overwrites) => write!(f, "random:{overwrites}"),
        }
    }
}

text_setting!(
    Precondition: "\"none\", \"sequential\" or \"random:N\" with N overwrites of the drive"
);

impl Precondition {
    /// Applies it to a drive. `tick` is told the writes done and to do, now and then.
    pub(crate) fn apply(
        self,
        device: &mut dyn Model,
        seed: u64,
        tick: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        const TICK: u64 = 1 << 16;
        // Several at a time let the drive fetch what it will need.
        const BATCH: u64 = 64;
        let pages = u64::from(device.preparable_pages());
        let writes = match self {
            Precondition::None => 0,
            Precondition::Sequential => pages,
            Precondition::Random(overwrites) => (pages as f64 * overwrites) as u64,
        };
        if pages == 0 || writes == 0 {
            return ControlFlow::Continue(());
        }
        let mut random = Xoshiro256::new(seed, 8);
        let mut batch = Vec::with_capacity(BATCH as usize);
        for first in (0..writes).step_by(BATCH as usize) {
            if first % TICK == 0 {
                tick(first, writes)?;
            }
            let numbers = first..writes.min(first + BATCH);
            batch.clear();
            batch.extend(numbers.map(|write| match self {
                Precondition::Random(_) => random.below(pages) as u32,
                _ => write as u32,
            }));
            device.overwrite_untimed(&batch);
        }
        device.reset_counts();
        ControlFlow::Continue(())
    }
}
