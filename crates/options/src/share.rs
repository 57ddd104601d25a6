//! Shares as numbers or percentages: 0.28 is 28 %.

use crate::{KeyInfo, Values};
use serde::{Deserializer, de};
use std::fmt;

/// Syntax of the texts that [`share`] accepts.
pub const PERCENT: &str = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+) ?%";

/// Share for a percentage, to the nearest number; `None` if the text is not a percentage.
pub fn share(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?;
    let number = number.strip_suffix(' ').unwrap_or(number);
    let is_plain =
        number.trim_start_matches(['+', '-']).starts_with(|c: char| c == '.' || c.is_ascii_digit());
    format!("{number}e-2").parse().ok().filter(|_| is_plain)
}

/// Hint for a message about a share above 1: asks if a percentage was meant; empty if that is
/// unlikely.
pub fn percent_meant(number: f64) -> String {
    let is_likely = number > 1.0 && number <= 100.0;
    if !is_likely {
        return String::new();
    }
    format!(
        " (did you mean {} or \"{number}%\"?)",
        share(&format!("{number}%")).unwrap_or(number / 100.0)
    )
}

/// Type of a key declared as a share (`as Ratio`).
#[doc(hidden)]
pub fn read_share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    struct Visitor;
    impl de::Visitor<'_> for Visitor {
        type Value = f64;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number, or a share in percent such as \"28%\"")
        }
        fn visit_f64<E: de::Error>(self, number: f64) -> Result<f64, E> {
            Ok(number)
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<f64, E> {
            Ok(number as f64)
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<f64, E> {
            Ok(number as f64)
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
            share(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
        }
    }
    deserializer.deserialize_any(Visitor).map(Some)
}

/// Marks the key described last as a share.
#[doc(hidden)]
pub fn describe_share(rows: &mut [KeyInfo], values: Values) {
    let row = rows.last_mut().expect("a value has a row");
    row.takes(values, "a share, such as 0.28 or \"28%\"");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{self as options, Setting, options};

    options! {
        /// Shares.
        pub struct Shares as SharesPartial {
            /// Share of reads.
            reads: f64 as Ratio = 1.0,
            /// Share of spare space.
            spare: Option<f64> as Ratio = None,
            /// No share.
            rate: f64 = 0.0,
        }
    }

    #[test]
    fn percent_is_read_to_the_nearest_number() {
        for (text, number) in [
            ("28%", 0.28),
            ("7 %", 0.07),
            ("12.5%", 0.125),
            ("150%", 1.5),
            ("-5%", -0.05),
            (".5%", 0.005),
        ] {
            assert_eq!(share(text), Some(number), "{text}");
        }
        for text in ["28", "%", " %", "e%", "1e1%", "inf%", "nan%", "28  %", "28%%", "1_0%", ""] {
            assert_eq!(share(text), None, "{text}");
        }
    }

    /// The row of a key decides; the words of its description do not.
    #[test]
    fn a_key_that_is_a_share_takes_percent_and_others_refuse_it() {
        let read = |text: &str| toml::from_str::<SharesPartial>(text);
        let shares = read("reads = '70%'\nspare = '28%'").unwrap();
        assert_eq!((shares.reads, shares.spare), (Some(0.7), Some(0.28)));
        let shares = read("reads = 1\nspare = 0.5").unwrap();
        assert_eq!((shares.reads, shares.spare), (Some(1.0), Some(0.5)));
        assert_eq!(read("").unwrap().reads, None);
        assert!(read("rate = '28%'").is_err());
        let error = read("reads = 'half'").unwrap_err().to_string();
        assert!(error.contains("expected a number, or a share in percent"), "{error}");
        let mut rows = Vec::new();
        Shares::describe("it", "", &Shares::default(), &mut rows);
        let values: Vec<&Values> = rows.iter().map(|row| &row.values).collect();
        assert_eq!(values, [&Values::Ratio, &Values::Ratio, &Values::Number]);
    }
}
