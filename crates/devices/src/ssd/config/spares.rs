//! Failures of flash that are not wear: the keys under `device.spares` and `device.health`.

use options::{conditions, options};

conditions! {
    Spares:
    DEFECTIVE = "with device.spares.defects", |c| c.defects > 0.0;
}

options! {
    /// Failures of flash that are not wear, by the clock by which data age.
    pub struct Spares as SparesPartial {
        /// Chance that a die fails within 4 years: 2 to 4 of its blocks within a month, then all of it. What lay there
        /// is lost, unless parity over the dies brings it back; a drive that has lost more dies than that bears takes
        /// no more writes.
        sick_dies: f64 as Ratio = 0.0,
        /// Defects of a drive and year, a mean over drives: each takes a page, or one time in five all pages of a word
        /// line, until that is written anew.
        defects: f64 = 0.0,
        /// How little drives differ in that: the shape of the gamma distribution of their means. Of a drive with a
        /// shape of 0.2, a few of a fleet have nearly all defects.
        defects_shape: f64 where DEFECTIVE = 0.2,
    }

    /// When a drive warns, or gives up.
    pub struct Health as HealthPartial {
        /// Pages that the host could not read, of those that it read, above which the drive warns; never if not given.
        rate: Option<f64> as Ratio = None,
        /// Pages that the host could not read after which the drive takes no more writes; none if not given.
        fail_at_uncorrectable: Option<u32> = None,
    }
}

impl Spares {
    /// Whether anything fails.
    pub fn fail(&self) -> bool {
        self.sick_dies > 0.0 || self.defects > 0.0
    }
}
