//! Options of an array with redundancy: words, lists of shares, lists of failures.

use options::{Bandwidth, Duration, Setting, Size, Values, choices, options, text_setting};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

choices! {
    /// Redundancy: how an array protects against the failure of a member.
    pub enum Redundancy {
        /// No redundancy: the data of a failed member are lost.
        None = "none",
        /// Every chunk is stored on several members (RAID-1; with more members than copies, RAID-10).
        Mirror = "mirror",
        /// One parity chunk per stripe, on the last member (RAID-4).
        ParityDisk = "parity-disk",
        /// One parity chunk per stripe, rotating over the members (RAID-5).
        Parity = "parity",
        /// Two parity chunks per stripe, rotating over the members (RAID-6).
        DoubleParity = "double-parity",
    }

    /// Copy of a mirror that serves reads.
    pub enum ReadCopy {
        /// The first available copy.
        Primary = "primary",
        /// A random copy.
        Random = "random",
        /// The copies in turn.
        RoundRobin = "round-robin",
        /// The copy whose member last accessed the nearest address.
        Nearest = "nearest",
        /// The copy on the member with the fewest requests; among equals the nearest.
        ShortestQueue = "shortest-queue",
    }

    /// Rotation of parity over the members from stripe to stripe. Left: from the last member down.
    /// Symmetric: data start after the parity chunk, so that consecutive chunks lie on all members.
    pub enum Rotation {
        /// Parity from the last member down, data starting after the parity (md's default).
        LeftSymmetric = "left-symmetric",
        /// Parity from the last member down, data from member 0.
        LeftAsymmetric = "left-asymmetric",
        /// Parity from member 0 up, data from member 0.
        RightAsymmetric = "right-asymmetric",
        /// Parity from member 0 up, data starting after the parity.
        RightSymmetric = "right-symmetric",
    }

    /// Handling of torn stripes, those being written at a power cut. Their parity may match neither
    /// the old nor the new data.
    pub enum HoleRule {
        /// Resynchronise: after a cut every stripe is read and its parity rewritten, in the background.
        Resync = "resync",
        /// Write journal: data and parity are first logged on their members, and replayed after a cut.
        Journal = "journal",
        /// Partial parity log (md's PPL): the parity of the unwritten part of the stripe is first logged on
        /// the parity member, as one chunk, so that the parity can be recomputed.
        PartialParity = "partial-parity",
    }

    /// Method of updating parity.
    pub enum WriteRule {
        /// Whichever needs fewer reads; read-modify-write if equal.
        Auto = "auto",
        /// Read the old data and the old parity.
        ReadModifyWrite = "read-modify-write",
        /// Read the rest of the stripe.
        Reconstruct = "reconstruct",
    }
}

options! {
    /// Rebuild of a failed member on a spare.
    pub struct Rebuild as RebuildPartial {
        /// Rebuild speed limit of a member.
        rate: Bandwidth = Bandwidth::UNLIMITED,
        /// Size of a rebuild step; host requests to the same range wait meanwhile.
        unit: Size = Size::from_bytes(512 << 10),
    }
}

impl HoleRule {
    /// True if members keep a log.
    pub(super) fn has_log(self) -> bool {
        self != HoleRule::Resync
    }
}

/// Parity share of each member, percent; `None` for equal shares.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shares(Vec<f64>);

text_setting!(
    Shares: "\"equal\", or the percentage of the parity on each member, such as \"80,5,5,5,5\"",
    Values::words_or(&["equal"], format!("{PERCENT}(?:,{PERCENT})*"))
);

const PERCENT: &str = r"\s*(?:[0-9]+\.?[0-9]*|\.[0-9]+)\s*";

impl Shares {
    /// Parity share of each member, percent; `None` for equal shares.
    pub fn percent(&self) -> Option<&[f64]> {
        (!self.0.is_empty()).then_some(&self.0[..])
    }
}

impl FromStr for Shares {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "equal" {
            return Ok(Shares::default());
        }
        let share = |word: &str| {
            let number = word.trim().parse::<f64>().ok().filter(|it| (0.0..=100.0).contains(it));
            number.ok_or_else(|| format!("\"{}\" is no percentage from 0 to 100", word.trim()))
        };
        text.split(',').map(share).collect::<Result<_, _>>().map(Shares)
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("equal");
        }
        let words: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&words.join(","))
    }
}

/// Failing members with their failure times; empty by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failures(pub Vec<(u32, Duration)>);

const FAILURES: &str =
    "\"none\", or members that fail, such as 2 from the start or \"2 at 10s, 4 at 60s\"";

impl Setting for Failures {
    options::leaf_body!(FAILURES, Failures::values(), |value: &Self| value.to_string());
}

impl Serialize for Failures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Failures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Failures;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FAILURES)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Failures, E> {
                text.parse().map_err(E::custom)
            }
            // One member that fails at the start.
            fn visit_u64<E: Error>(self, member: u64) -> Result<Failures, E> {
                self.visit_str(&member.to_string())
            }
            fn visit_i64<E: Error>(self, member: i64) -> Result<Failures, E> {
                self.visit_str(&member.to_string())
            }
        }
        deserializer.deserialize_any(Words)
    }
}

impl Failures {
    fn values() -> Values {
        let several = format!("{0}(?:,{0})*", Failures::one());
        let text = Values::words_or(&["none"], several);
        Values::Either(vec![text, Values::Whole(0, u64::from(u32::MAX))])
    }

    fn one() -> String {
        format!(r"\s*[0-9]+\s*(?:at{}\s*)?", Duration::pattern())
    }
}

impl FromStr for Failures {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Failures::default());
        }
        let failure = |words: &str| {
            let (member, at) = words.split_once("at").unwrap_or((words, "0ns"));
            let member = member.trim().parse().map_err(|_| {
                format!("\"{}\" is not of the form \"2\" or \"2 at 10s\"", words.trim())
            })?;
            let at = at.trim().parse().map_err(|error| format!("{error}"))?;
            Ok((member, at))
        };
        let failures: Vec<_> = text.split(',').map(failure).collect::<Result<_, String>>()?;
        let twice = |number: usize| failures[..number].iter().any(|it| it.0 == failures[number].0);
        match (0..failures.len()).find(|number| twice(*number)) {
            Some(number) => Err(format!("member {} fails twice", failures[number].0)),
            None => Ok(Failures(failures)),
        }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (number, (member, at)) in self.0.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { ", " })?;
            match at.ns() {
                0 => write!(f, "{member}")?,
                _ => write!(f, "{member} at {at}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_failures_are_read_as_they_are_written() {
        for text in ["equal", "80,5,5,5,5", "33.5,33.5,33"] {
            assert_eq!(text.parse::<Shares>().unwrap().to_string(), text);
        }
        for text in ["none", "2", "2 at 10s", "2, 4 at 1.5ms"] {
            assert_eq!(text.parse::<Failures>().unwrap().to_string(), text);
        }
        for (text, problem) in [
            ("a", "not of the form"),
            ("2 at", "not a time"),
            ("2 at 5", "unit is missing"),
            ("1, 2 at 5s, 1 at 9s", "member 1 fails twice"),
        ] {
            let error = text.parse::<Failures>().unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
        for text in ["80,x", "", "101,0", "-1,101"] {
            let error = text.parse::<Shares>().unwrap_err();
            assert!(error.contains("no percentage"), "{text}: {error}");
        }
    }
}
