//! Duration of ageing, in text form: "90d at 40C".

use crate::config::Celsius;
use std::fmt;
use std::str::FromStr;

/// Duration of ageing, with a temperature if it is not the drive's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Age {
    /// Duration, seconds.
    pub seconds: u64,
    /// Temperature.
    pub at: Option<Celsius>,
    /// True if the drive has no power, so that nothing is refreshed.
    pub is_off: bool,
}

/// Units in seconds, longest first; a year is 365.25 days, a month a twelfth of that.
const UNITS: [(&str, u64); 7] = [
    ("y", 31_557_600),
    ("mo", 2_629_800),
    ("w", 604_800),
    ("d", 86_400),
    ("h", 3_600),
    ("min", 60),
    ("s", 1),
];
/// Maximum duration: a thousand years.
const LONGEST: f64 = 1000.0 * 31_557_600.0;

/// Syntax of the value, for people.
pub const AGE_EXPECTED: &str = "a time and perhaps a temperature, such as \"90d at 40C\", \"1y\" or without \
                                power \"90d off\"";

impl Age {
    /// Syntax of the value, as a regular expression.
    pub fn pattern() -> String {
        format!(r"{}(?:\s+at\s+{})?(?:\s+off)?\s*", Self::time_pattern(), Celsius::pattern())
    }

    /// Syntax of the time alone.
    pub fn time_pattern() -> String {
        let units = UNITS.map(|(unit, _)| unit).join("|");
        format!(r"\s*{}\s*(?:{units})", options::NUMBER)
    }

    /// An age at the drive's temperature, with power.
    pub fn of_seconds(seconds: u64) -> Age {
        Age { seconds, at: None, is_off: false }
    }
}

impl FromStr for Age {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is not {AGE_EXPECTED}; units are y, mo, w, d, h, min, s");
        let (text, is_off) = match text.trim_end().strip_suffix(" off") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (time, at) = match text.split_once(" at ") {
            Some((time, at)) => (time, Some(at.parse::<Celsius>()?)),
            None => (text, None),
        };
        let time = time.trim();
        let digits = time.find(|it: char| it.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let (number, unit) = (time[..digits].trim(), &time[digits..]);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let (_, each) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let seconds = (number * *each as f64).round();
        if !(0.0..=LONGEST).contains(&seconds) {
            return Err(format!("\"{text}\" is not a time from 0s to 1000y"));
        }
        Ok(Age { seconds: seconds as u64, at, is_off })
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_whole = |(_, each): &&(&str, u64)| self.seconds.is_multiple_of(*each);
        let (unit, each) =
            UNITS.iter().find(is_whole).filter(|_| self.seconds > 0).unwrap_or(&UNITS[6]);
        write!(f, "{}{unit}", self.seconds / each)?;
        self.at.map_or(Ok(()), |at| write!(f, " at {at}"))?;
        if self.is_off { f.write_str(" off") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read_back_as_written() {
        for text in [
            "90d at 40C",
            "90d off",
            "2w at 25C off",
            "1y at 30C",
            "3mo at -5.5C",
            "13w",
            "36h at 85C",
            "1s",
            "0s",
        ] {
            let age: Age = text.parse().unwrap();
            assert_eq!(age.to_string().parse::<Age>().unwrap(), age, "{text}");
        }
        assert_eq!("1y".parse::<Age>().unwrap().to_string(), "1y");
        assert_eq!("0.5d".parse::<Age>().unwrap().to_string(), "12h");
    }

    #[test]
    fn what_is_no_age_is_refused_with_what_is_one() {
        for (text, part) in [
            ("90", "units are"),
            ("90 days", "units are"),
            ("d", "units are"),
            ("90d at 40", "with its unit"),
            ("90d at 200C", "from -40C to 125C"),
            ("-1d", "from 0s to 1000y"),
            ("2000y", "from 0s to 1000y"),
            ("90d at 40F", "with its unit"),
        ] {
            let refusal = text.parse::<Age>().unwrap_err();
            assert!(refusal.contains(part), "{text}: {refusal}");
        }
    }
}
