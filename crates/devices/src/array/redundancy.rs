//! The keys of an array with redundancy: words, lists of shares and of failures.

use options::{Bandwidth, Duration, Setting, Size, Values, choices, options, text_setting};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

choices! {
    /// What of an array is there twice, so that it outlives a member.
    pub enum Redundancy {
        /// Nothing: what a member holds is lost with it.
        None = "none",
        /// Every chunk lies on several members (RAID-1; with more members than copies, RAID-10).
        Mirror = "mirror",
        /// A chunk of parity for each stripe, all on the last member (RAID-4).
        ParityDisk = "parity-disk",
        /// A chunk of parity for each stripe, on the members in turn (RAID-5).
        Parity = "parity",
        /// Two chunks of parity for each stripe, on the members in turn (RAID-6).
        DoubleParity = "double-parity",
    }

    /// Which copy a mirror reads.
    pub enum ReadCopy {
        /// The first that is there.
        Primary = "primary",
        /// Any, by lot.
        Random = "random",
        /// One after the other.
        RoundRobin = "round-robin",
        /// The one that last accessed the nearest address.
        Nearest = "nearest",
        /// The one with the fewest requests; of several the nearest.
        ShortestQueue = "shortest-queue",
    }

    /// How parity goes round the members from stripe to stripe. Left: from the last member down.
    /// Symmetric: data begin behind the parity, so that consecutive chunks lie on all members.
    pub enum Rotation {
        /// Parity from the last member down, data from behind it (md's default).
        LeftSymmetric = "left-symmetric",
        /// Parity from the last member down, data from member 0.
        LeftAsymmetric = "left-asymmetric",
        /// Parity from member 0 up, data from member 0.
        RightAsymmetric = "right-asymmetric",
        /// Parity from member 0 up, data from behind it.
        RightSymmetric = "right-symmetric",
    }

    /// What is done about stripes that were being written when the power went, whose parity may then fit
    /// neither what was there nor what was to be.
    pub enum HoleRule {
        /// Every stripe is read after a cut, and its parity written anew, beside the load.
        Resync = "resync",
        /// Data and parity go to a log on their members first, from which they are written again.
        Journal = "journal",
        /// What a write leaves of its stripe goes to a log on the parity's member first, as one chunk, so that
        /// the parity can be made anew (md's PPL).
        PartialParity = "partial-parity",
    }

    /// What is read before parity is written.
    pub enum WriteRule {
        /// Whatever takes fewer reads; the old values where both take as many.
        Auto = "auto",
        /// The old values of what is written, and the old parity.
        ReadModifyWrite = "read-modify-write",
        /// What the stripe holds beside what is written.
        Reconstruct = "reconstruct",
    }
}

options! {
    /// How a member that failed is made again on a spare.
    pub struct Rebuild as RebuildPartial {
        /// At most so much of the member in a second.
        rate: Bandwidth = Bandwidth::UNLIMITED,
        /// What is made again at a time; host requests to it wait meanwhile.
        unit: Size = Size::from_bytes(512 << 10),
    }
}

impl HoleRule {
    /// Whether members keep a log.
    pub(super) fn has_log(self) -> bool {
        self != HoleRule::Resync
    }
}

/// What share of the parity each member holds, percent; none where all hold as much.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shares(Vec<f64>);

text_setting!(
    Shares: "\"equal\", or the percentage of the parity on each member, such as \"80,5,5,5,5\"",
    Values::words_or(&["equal"], format!("{PERCENT}(?:,{PERCENT})*"))
);

const PERCENT: &str = r"\s*(?:[0-9]+\.?[0-9]*|\.[0-9]+)\s*";

impl Shares {
    /// The share of each member, percent; none where all are equal.
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

/// Which members fail, and when; none by default.
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
            // One member, from the start.
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
