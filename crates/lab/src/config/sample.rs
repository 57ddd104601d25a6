//! The share of a run that is simulated in time: the key `run.sample`.

use options::{Values, text_setting};
use std::fmt;
use std::str::FromStr;

/// Share that `auto` times.
const AUTO: f64 = 0.05;

/// Share of the requests that are simulated in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sample {
    /// All.
    None,
    /// A twentieth, where that is enough for 3 %.
    Auto,
    /// This share.
    Share(f64),
}

impl Sample {
    /// Share of the requests in slices.
    pub(crate) fn share(self) -> Option<f64> {
        match self {
            Sample::None => None,
            Sample::Auto => Some(AUTO),
            Sample::Share(share) => Some(share),
        }
    }
}

impl FromStr for Sample {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => return Ok(Sample::None),
            "auto" => return Ok(Sample::Auto),
            _ => {}
        }
        let share = text.strip_suffix('%').and_then(|it| it.trim_end().parse::<f64>().ok());
        let share = share.map(|percent| percent / 100.0).filter(|it| *it > 0.0 && *it <= 0.5);
        share.map(Sample::Share).ok_or_else(|| {
            format!("\"{text}\" is not \"none\", \"auto\", or a share above 0 of at most 50%, such as \"2%\"")
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::None => f.write_str("none"),
            Sample::Auto => f.write_str("auto"),
            Sample::Share(share) => write!(f, "{}%", share * 100.0),
        }
    }
}

text_setting!(
    Sample: "\"none\", \"auto\", or a share of the requests such as \"2%\"",
    Values::words_or(&["none", "auto"], format!(r"{}\s*%", options::NUMBER))
);
