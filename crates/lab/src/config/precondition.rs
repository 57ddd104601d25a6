//! Preconditioning: the key `run.precondition`.

use options::{NUMBER, Values, text_setting};
use std::fmt;
use std::str::FromStr;

/// Untimed writes that bring a drive into a state; garbage collection works as in timed runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Precondition {
    /// No preconditioning: the drive keeps its initial fill.
    None,
    /// Every page once, in ascending order.
    Sequential,
    /// Uniform random pages, this many times the number of pages.
    Random(f64),
    /// The workload itself, repeated until write amplification has settled.
    Steady,
}

/// Upper limit, above the need of any drive to reach steady state.
const MOST_OVERWRITES: f64 = 1000.0;

impl FromStr for Precondition {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || {
            format!(
                "\"{text}\" is not \"none\", \"sequential\", \"steady\" or \"random:N\" with N overwrites \
                 of the drive, such as \"random:2\" (more than 0, at most {MOST_OVERWRITES})"
            )
        };
        match text {
            "none" => Ok(Precondition::None),
            "sequential" => Ok(Precondition::Sequential),
            "steady" => Ok(Precondition::Steady),
            _ => {
                let number = text.strip_prefix("random:").ok_or_else(refused)?;
                let overwrites: f64 = number.parse().map_err(|_| refused())?;
                let possible = overwrites > 0.0 && overwrites <= MOST_OVERWRITES;
                possible.then_some(Precondition::Random(overwrites)).ok_or_else(refused)
            }
        }
    }
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Precondition::None => f.write_str("none"),
            Precondition::Sequential => f.write_str("sequential"),
            Precondition::Steady => f.write_str("steady"),
            Precondition::Random(overwrites) => write!(f, "random:{overwrites}"),
        }
    }
}

text_setting!(
    Precondition: "\"none\", \"sequential\", \"steady\" or \"random:N\" with N overwrites of the drive",
    Values::words_or(&["none", "sequential", "steady"], format!("random:{NUMBER}"))
);
