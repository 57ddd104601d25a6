//! Durability and recovery from power cuts: the options under `device.persistence`.

use super::applies::{LOGS_TRIMS, RECOVERS};
use options::{Duration, Values, choices, conditions, options, text_setting};
use std::fmt;
use std::str::FromStr;

choices! {
    /// Recovery of the map after a power cut.
    pub enum Recovery {
        /// No recovery: a run with power cuts is refused.
        None = "none",
        /// Scan the spare area of every page.
        Spare = "spare",
        /// Read the summary page of every block, and the spare areas of blocks without one.
        Summary = "summary",
        /// Load the last checkpoint of the map and the summaries of blocks opened since.
        Checkpoint = "checkpoint",
        /// Keep the map in a non-volatile memory (phase-change or magnetoresistive RAM): nothing is read.
        Nvram = "nvram",
    }

    /// Trims that survive a power cut.
    pub enum Trims {
        /// None: trimmed data may reappear.
        Volatile = "volatile",
        /// Trims before a flush, which logs them.
        Flushed = "flushed",
        /// All: each trim is acknowledged when its log record is written.
        Logged = "logged",
    }
}

conditions! {
    Persistence:
    UNRECOVERED = "with device.persistence.recovery = \"none\"; it is always on with recovery",
        |c| !c.recovers();
    KEEPS_MAP = "with device.persistence.recovery = \"nvram\"", |c| c.recovery == Recovery::Nvram;
    CHECKPOINTS = "with device.persistence.recovery = \"checkpoint\"",
        |c| c.recovery == Recovery::Checkpoint;
}

options! {
    /// Metadata in the flash, and the recovery of the map after a power cut.
    pub struct Persistence as PersistencePartial {
        /// Store a sequence number with every page program. The map can then be rebuilt from the
        /// flash alone, as `--check` does. Takes 4 bytes of memory per page.
        order: bool where UNRECOVERED = false,
        /// Recovery of the map after a power cut (`run.power_cut`). A domain then keeps at least
        /// one free block per frontier, and one more.
        recovery: Recovery = Recovery::None,
        /// Interval between checkpoints of the map, with `recovery = "checkpoint"`.
        checkpoint: Duration where CHECKPOINTS = Duration::from_ns(10_000_000_000),
        /// Time to write the entry of a page in the non-volatile map, part of each program.
        map_write: Duration where KEEPS_MAP = Duration::from_ns(0),
        /// Trims that survive a power cut.
        trims: Trims where LOGS_TRIMS = Trims::Flushed,
        /// Time from power-on until the controller reads the flash.
        ready: Duration where RECOVERS = Duration::from_ns(0),
        /// Outcome of a page program that is cut: shares of pages that look erased, are unreadable,
        /// and are readable now but perhaps not later. A guess.
        tear: Tear where RECOVERS = Tear::DEFAULT,
    }
}

impl Persistence {
    /// True if the flash stores the order of all programs.
    pub fn is_ordered(&self) -> bool {
        self.order || self.recovers()
    }

    /// True if the map survives power cuts.
    pub fn keeps_map(&self) -> bool {
        self.recovery == Recovery::Nvram
    }

    /// Time to update a nonvolatile map after a program, if it takes time, ns.
    pub fn map_write_ns(&self) -> u64 {
        if self.keeps_map() { self.map_write.ns() } else { 0 }
    }

    /// True if the drive recovers from power cuts.
    pub fn recovers(&self) -> bool {
        self.recovery != Recovery::None
    }
}

/// Outcome of interrupted programs, as shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tear {
    /// The page appears erased.
    pub erased: f64,
    /// The page is unreadable.
    pub unreadable: f64,
    /// The page is readable now, but may not be later.
    pub unstable: f64,
}

impl Tear {
    /// Without a source: a test parameter.
    pub const DEFAULT: Tear = Tear { erased: 0.2, unreadable: 0.6, unstable: 0.2 };
}

impl fmt::Display for Tear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", self.erased, self.unreadable, self.unstable)
    }
}

impl FromStr for Tear {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("\"{text}\" is not three shares that add up to 1, such as \"0.2, 0.6, 0.2\"")
        };
        let shares = text.split(',').map(|share| share.trim().parse().ok());
        let shares = shares.collect::<Option<Vec<f64>>>().ok_or_else(wrong)?;
        let &[erased, unreadable, unstable] = &shares[..] else { return Err(wrong()) };
        let sum = erased + unreadable + unstable;
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        if !shares.iter().all(is_share) || (sum - 1.0).abs() > 1e-9 {
            return Err(wrong());
        }
        Ok(Tear { erased, unreadable, unstable })
    }
}

text_setting!(
    Tear: "three shares that add up to 1, such as \"0.2, 0.6, 0.2\"",
    Values::Pattern(format!("{0}, *{0}, *{0}", options::NUMBER))
);
