//! Flash failures other than wear: the options under `device.spares` and `device.health`.

use super::applies::AGES;
use options::{conditions, options};

conditions! {
    Spares:
    DEFECTIVE = "with device.spares.defects", |c| c.defects > 0.0;
}

options! {
    /// Failures of flash that are not wear.
    pub struct Spares as SparesPartial {
        /// Share of the blocks that are bad from the factory.
        factory_bad: f64 as Ratio = 0.0,
        /// Probability that a block becomes bad at its last rated erasure; before that it grows
        /// with the third power of wear. A guess.
        grown: f64 as Ratio = 0.0,
        /// Chance that the program of a group fails, or without a write buffer of a page, which is then programmed again
        /// elsewhere; the data of its block are moved, and a block of one plane is bad.
        program_fail: f64 as Ratio = 0.0,
        /// Chance that an erasure fails, which makes the block bad.
        erase_fail: f64 as Ratio = 0.0,
        /// Chance that a die fails within 4 years: 2 to 4 of its blocks within a month, then the
        /// whole die. Its data are lost, unless parity over the dies restores them; a drive that
        /// has lost more dies than its parity tolerates refuses writes.
        sick_dies: f64 as Ratio where AGES = 0.0,
        /// Mean defects of a drive per year: each destroys a page, or one time in five a word line,
        /// until it is rewritten.
        defects: f64 where AGES = 0.0,
        /// Shape of the gamma distribution of defects over drives: with 0.2, a few drives of a
        /// fleet have nearly all defects.
        defects_shape: f64 where DEFECTIVE = 0.2,
    }

    /// When a drive warns, or gives up.
    pub struct Health as HealthPartial {
        /// Share of unreadable pages among host reads above which the drive warns; never if not
        /// given.
        rate: Option<f64> as Ratio = None,
        /// Unreadable pages of the host after which the drive is read-only; none if not given.
        fail_at_uncorrectable: Option<u32> = None,
    }
}

impl Spares {
    /// True if blocks may be bad without wear, initially or later.
    pub fn go_bad(&self) -> bool {
        [self.factory_bad, self.grown, self.program_fail, self.erase_fail]
            .iter()
            .any(|it| *it > 0.0)
    }

    /// True with failures over time.
    pub fn fail(&self) -> bool {
        self.sick_dies > 0.0 || self.defects > 0.0
    }
}
