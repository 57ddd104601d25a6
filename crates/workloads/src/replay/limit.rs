//! A maximum time, or no limit.

use options::{Duration, Values};
use std::fmt;
use std::str::FromStr;

/// A time limit, or the word `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(Option<Duration>);

impl Limit {
    /// Form of a value.
    pub const EXPECTED: &'static str = "a time with its unit, such as \"1ms\", or \"none\"";

    /// No limit.
    pub const NONE: Limit = Limit(None);

    /// A limit of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Limit(Some(Duration::from_ns(ns)))
    }

    /// The limit in ns, if any.
    pub fn ns(self) -> Option<u64> {
        self.0.map(Duration::ns)
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "none" => Ok(Limit::NONE),
            time => match time.parse() {
                Ok(duration) => Ok(Limit(Some(duration))),
                Err(error) => Err(format!("{error}; expected {}", Limit::EXPECTED)),
            },
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(duration) => duration.fmt(f),
            None => f.write_str("none"),
        }
    }
}

options::text_setting!(
    Limit: Limit::EXPECTED,
    Values::words_or(&["none"], format!(r"\s*none\s*|{}", Duration::pattern()))
);
