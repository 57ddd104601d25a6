//! Pace of untimed writes: the key `run.pace`.

use options::{Size, Values, text_setting};
use std::fmt;
use std::str::FromStr;

/// Nanoseconds of a day.
const DAY_NS: f64 = 86_400e9;

/// Pace of untimed writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Untimed.
    None,
    /// Drive writes per day.
    DriveWrites(f64),
    /// Bytes of the full-size drive per second.
    Rate(Size),
}

impl Pace {
    /// Time per byte written to a drive of this capacity, ns; one simulated byte stands for `scale`
    /// bytes.
    pub fn ns_per_byte(self, capacity_bytes: u64, scale: u32) -> Option<f64> {
        match self {
            Pace::None => None,
            Pace::DriveWrites(per_day) => Some(DAY_NS / (per_day * capacity_bytes as f64)),
            Pace::Rate(rate) => Some(1e9 * f64::from(scale) / rate.bytes() as f64),
        }
    }
}

impl FromStr for Pace {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        const MOST: f64 = 1e6;
        let trimmed = text.trim();
        if trimmed == "none" {
            return Ok(Pace::None);
        }
        let wrong = || {
            format!(
                "\"{text}\" is not \"none\", drive writes a day such as \"0.3 DWPD\", or a rate such as \"200MB/s\""
            )
        };
        if let Some(number) = trimmed.strip_suffix("DWPD") {
            let writes: f64 = number.trim_end().parse().map_err(|_| wrong())?;
            if !(writes > 0.0 && writes <= MOST) {
                return Err(format!("\"{text}\" is not above 0, and at most {MOST} DWPD"));
            }
            return Ok(Pace::DriveWrites(writes));
        }
        let size = trimmed.strip_suffix("/s").ok_or_else(wrong)?;
        let size: Size = size.parse().map_err(|_| wrong())?;
        if size.bytes() == 0 {
            return Err(format!("\"{text}\" is not a rate above 0"));
        }
        Ok(Pace::Rate(size))
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pace::None => f.write_str("none"),
            Pace::DriveWrites(writes) => write!(f, "{writes} DWPD"),
            Pace::Rate(rate) => write!(f, "{rate}/s"),
        }
    }
}

text_setting!(
    Pace: "\"none\", drive writes a day such as \"0.3 DWPD\", or a rate such as \"200MB/s\"",
    Values::words_or(&["none"], format!(r"\s*{}\s*DWPD\s*|{}/s\s*", options::NUMBER, Size::pattern()))
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces_are_read_back_as_written_and_say_what_a_byte_takes() {
        for text in ["none", "0.3 DWPD", "200MB/s", "3 DWPD"] {
            let pace: Pace = text.parse().unwrap();
            assert_eq!(pace.to_string().parse::<Pace>().unwrap(), pace, "{text}");
        }
        let of = |text: &str| text.parse::<Pace>().unwrap().ns_per_byte(86_400, 4);
        assert_eq!(of("none"), None);
        // At two drive writes per day, each takes half a day.
        assert!((of("2 DWPD").unwrap() - 0.5e9).abs() < 1e-3);
        // A scaled drive has the pace of the full-size drive.
        assert!((of("1kB/s").unwrap() - 4e6).abs() < 1e-6);
    }

    #[test]
    fn what_is_no_pace_is_refused_with_what_is_one() {
        for (text, part) in [
            ("0.3", "such as"),
            ("0 DWPD", "above 0"),
            ("-1 DWPD", "above 0"),
            ("x DWPD", "such as"),
            ("0MB/s", "above 0"),
            ("200MB", "such as"),
        ] {
            let refusal = text.parse::<Pace>().unwrap_err();
            assert!(refusal.contains(part), "{text}: {refusal}");
        }
    }
}
