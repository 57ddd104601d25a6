//! Measured seek times, in their textual form.

use options::{Duration, Values, text_setting};
use ssd::device::kit::config::LONGEST_NS;
use std::fmt;
use std::str::FromStr;

/// Measured seek times by ascending distance; may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SeekTable(pub(super) Vec<(u32, Duration)>);

text_setting!(
    SeekTable: "seek times by distance in cylinders, such as \"1: 0.831ms, 100: 2.145ms, 6894: 10.627ms\"; \
                or \"none\"",
    Values::Pattern(SeekTable::pattern())
);

impl SeekTable {
    /// Syntax of the value, as a regular expression.
    fn pattern() -> String {
        let pair = format!(r"\s*[0-9]+\s*:{}", Duration::pattern());
        format!("none|{pair}(?:,{pair})*")
    }
}

impl FromStr for SeekTable {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut points: Vec<(u32, Duration)> = Vec::new();
        if text == "none" {
            return Ok(SeekTable(points));
        }
        for entry in text.split(',') {
            let pair = entry.split_once(':').map(|(left, right)| (left.trim(), right.trim()));
            let (distance, time) =
                pair.ok_or_else(|| format!("\"{}\" has no colon", entry.trim()))?;
            let problem = |_| format!("\"{distance}\" is no distance: a whole number from 1 on");
            let cylinders: u32 = distance.parse().map_err(problem)?;
            let time: Duration = time.parse().map_err(|error| format!("{error}"))?;
            if time.ns() > LONGEST_NS {
                return Err(format!("{time} is too long; at most 1s"));
            }
            match points.last() {
                None if cylinders != 1 => {
                    return Err(format!("the first time is for 1 cylinder, not {cylinders}"));
                }
                Some((last, _)) if *last >= cylinders => {
                    return Err(format!("the distances must rise, and {cylinders} follows {last}"));
                }
                _ => points.push((cylinders, time)),
            }
        }
        Ok(SeekTable(points))
    }
}

impl fmt::Display for SeekTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (number, (cylinders, time)) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{cylinders}: {time}")?;
        }
        Ok(())
    }
}
