//! What survives a power cut, and how the drive finds it again: the keys under `device.persistence`.

use options::{Duration, Values, choices, options, text_setting};
use std::fmt;
use std::str::FromStr;

choices! {
    /// How a drive finds its map again after a power cut.
    pub enum Recovery {
        /// Not at all: a power cut is refused.
        None = "none",
        /// By the spare area of every page.
        Spare = "spare",
        /// By the summary page of every block, and the spare areas of blocks that have none yet.
        Summary = "summary",
        /// By the last checkpoint of the map, and the summaries of blocks opened since.
        Checkpoint = "checkpoint",
    }

    /// Which trims survive a power cut.
    pub enum Trims {
        /// None: what was trimmed may be there again.
        Volatile = "volatile",
        /// Those before a flush, which writes a record of them.
        Flushed = "flushed",
        /// All: each is answered when its record is written.
        Logged = "logged",
    }
}

options! {
    /// What the flash keeps beyond the data, so that the map can be rebuilt from it, and how it is
    /// rebuilt after a power cut.
    pub struct Persistence as PersistencePartial {
        /// Keep a number with every page that orders all programs of the drive. The map can then be
        /// rebuilt from the flash alone whatever the other keys are, and an audit does that; without
        /// it, where a pool is one domain with one frontier. Takes 4 bytes of memory a page. A drive
        /// that recovers (`recovery`) keeps it in any case.
        order: bool = false,
        /// How the drive finds its map again after a power cut (`run.power_cut`). With it a domain keeps
        /// at least one erased block for each of its frontiers, and one more.
        recovery: Recovery = Recovery::None,
        /// From one checkpoint of the map to the next, with `recovery = "checkpoint"`.
        checkpoint: Duration = Duration::from_ns(10_000_000_000),
        /// Which trims survive a power cut.
        trims: Trims = Trims::Flushed,
        /// From power-on until the controller begins to read the flash.
        ready: Duration = Duration::from_ns(0),
        /// What becomes of a page whose programming is cut: the shares of those that look erased, that
        /// do not read, and that read now and perhaps not later. No source has such shares.
        tear: Tear = Tear::DEFAULT,
    }
}

impl Persistence {
    /// Whether the order of all programs is kept.
    pub fn is_ordered(&self) -> bool {
        self.order || self.recovers()
    }

    /// Whether the drive recovers from power cuts.
    pub fn recovers(&self) -> bool {
        self.recovery != Recovery::None
    }
}

/// What becomes of pages whose programming is cut, as shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tear {
    /// They look erased.
    pub erased: f64,
    /// They do not read.
    pub unreadable: f64,
    /// They read now and perhaps not later.
    pub unstable: f64,
}

impl Tear {
    /// A test parameter: there is no source.
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
