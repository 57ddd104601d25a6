//! Patrol reads of idle data, and refresh: the options under `device.scrub`.

use crate::media::Age;
use options::{Duration, Values, conditions, options, text_setting};
use std::fmt;
use std::str::FromStr;

conditions! {
    Scrub:
    PATROLS = "where blocks are read on patrol (device.scrub.period)", |c| c.period.0.is_some();
}

options! {
    /// Patrol reads of idle data, and their refresh.
    pub struct Scrub as ScrubPartial {
        /// Time in which every block is read once on patrol, a page of each group; with `"none"` there is no patrol.
        period: Every = Every(None),
        /// Raw bit error rate of a patrol read above which the block is refreshed (rewritten), as a
        /// share of the rate that hard decoding corrects (`device.ecc.hard`).
        limit: f64 as Ratio where PATROLS = 0.7,
        /// Drift of such a page, in steps of the table of references, above which its block is
        /// refreshed; no limit if not given.
        drift_limit: Option<f64> where PATROLS = None,
        /// After time without power, patrol reads every block along with requests, one with each.
        on_power: bool where PATROLS = true,
        /// Mean reads of a block since its erasure after which its data are moved (read reclaim);
        /// never if not given. A power cut resets these counts.
        reclaim_reads: Option<u32> = None,
    }
}

impl Scrub {
    /// True with patrol or read reclaim.
    pub fn is_used(&self) -> bool {
        self.period.0.is_some() || self.reclaim_reads.is_some()
    }
}

/// An interval, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Every(pub Option<Duration>);

/// Longest interval: a century.
const LONGEST_SECONDS: u64 = 100 * 31_557_600;
const NS: u64 = 1_000_000_000;

impl FromStr for Every {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Every(None));
        }
        if let Ok(time) = text.parse::<Duration>() {
            return Ok(Every(Some(time)));
        }
        let age = text.parse::<Age>().ok().filter(|age| age.at.is_none() && !age.is_off);
        match age.map(|age| age.seconds) {
            Some(seconds) if seconds <= LONGEST_SECONDS => {
                Ok(Every(Some(Duration::from_ns(seconds * NS))))
            }
            Some(_) => Err(format!("\"{text}\" is too long; at most 100y")),
            None => {
                Err(format!("\"{text}\" is not \"none\", or a time such as \"7d\" or \"500ms\""))
            }
        }
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("none"),
            Some(time) if time.ns() > 0 && time.ns().is_multiple_of(86_400 * NS) => {
                Age::of_seconds(time.ns() / NS).fmt(f)
            }
            Some(time) => time.fmt(f),
        }
    }
}

text_setting!(
    Every: "\"none\", or a time such as \"7d\" or \"500ms\"",
    Values::words_or(&["none"], format!("{}|{}", Duration::pattern(), Age::time_pattern()))
);
