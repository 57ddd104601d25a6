//! Ageing of data before a run: the key `run.age`.

use devices::ssd::media::Age;
use options::{Values, text_setting};
use std::fmt;
use std::str::FromStr;

/// Age of the data, or none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunAge(pub Option<Age>);

impl RunAge {
    /// No age.
    pub const NONE: RunAge = RunAge(None);
}

impl FromStr for RunAge {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(RunAge::NONE),
            age => age.parse().map(|age| RunAge(Some(age))),
        }
    }
}

impl fmt::Display for RunAge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("none"),
            Some(age) => age.fmt(f),
        }
    }
}

text_setting!(
    RunAge: "\"none\", or a time and perhaps a temperature, such as \"90d at 40C\" or \"1y\"",
    Values::words_or(&["none"], Age::pattern())
);
