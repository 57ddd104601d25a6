//! Quantities of flash: sensing times by page type, bus rates, and times of optional operations.

use crate::{Duration, QuantityError, Values};
use std::fmt;
use std::str::FromStr;

/// Maximum number of page types of a word line: five bits per cell.
pub const MOST_PAGE_TYPES: usize = 5;

crate::text_setting!(PageTimes: "a time with its unit, such as \"45us\", or one for each type of page, such as \"38us, 45us, 62us\"", PageTimes::values());
crate::text_setting!(BusRate: "transfers a second with the unit, such as \"1200MT/s\"", Values::Pattern(r"\s*[0-9]{1,6}\s*MT/s\s*".to_owned()));
crate::optional!(BusRate);
crate::text_setting!(Maybe: "a time with its unit, such as \"35us\", or \"none\"", Values::words_or(&["none"], Duration::pattern()));

/// One time for all page types, or one per type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageTimes {
    times: [Duration; MOST_PAGE_TYPES],
    count: usize,
}

impl PageTimes {
    /// One time for every type.
    pub const fn of(time: Duration) -> Self {
        PageTimes { times: [time; MOST_PAGE_TYPES], count: 1 }
    }

    /// One time per type, from one to five.
    pub fn each(times: &[Duration]) -> Option<Self> {
        if times.is_empty() || times.len() > MOST_PAGE_TYPES {
            return None;
        }
        let mut all = [times[0]; MOST_PAGE_TYPES];
        all[..times.len()].copy_from_slice(times);
        Some(PageTimes { times: all, count: times.len() })
    }

    /// Number of times; 1 if all types share one.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Time of a page type.
    #[inline]
    pub const fn of_type(&self, kind: usize) -> Duration {
        self.times[if self.count == 1 { 0 } else { kind }]
    }

    /// All times.
    pub fn all(&self) -> &[Duration] {
        &self.times[..self.count]
    }

    fn values() -> Values {
        let one = Duration::pattern();
        Values::Pattern(format!("{one}(?:,{one}){{0,{}}}", MOST_PAGE_TYPES - 1))
    }
}

impl FromStr for PageTimes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let times = text.split(',').map(str::parse).collect::<Result<Vec<Duration>, _>>()?;
        PageTimes::each(&times).ok_or_else(|| {
            QuantityError::new(format!("\"{text}\" has more than {MOST_PAGE_TYPES} times"))
        })
    }
}

impl fmt::Display for PageTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, time) in self.all().iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{time}")?;
        }
        Ok(())
    }
}

/// Rate of an 8-bit bus; each transfer moves a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BusRate(u32);

impl BusRate {
    /// A rate of `mega` million transfers per second.
    pub const fn of(mega: u32) -> Self {
        BusRate(mega)
    }

    /// Transfer time of `bytes`, rounded to the nearest nanosecond.
    pub fn time_ns(self, bytes: u64) -> u64 {
        let rate = u64::from(self.0);
        (bytes * 1000 + rate / 2) / rate
    }
}

impl FromStr for BusRate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let wrong = |problem: &str| {
            QuantityError::new(format!(
                "\"{text}\" is not a rate of a bus: {problem}, such as \"1200MT/s\""
            ))
        };
        let number = text.trim().strip_suffix("MT/s").ok_or_else(|| wrong("it ends in MT/s"))?;
        match number.trim().parse::<u32>() {
            Ok(rate) if (1..=100_000).contains(&rate) => Ok(BusRate(rate)),
            _ => Err(wrong("a whole number from 1 to 100000 comes before the unit")),
        }
    }
}

impl fmt::Display for BusRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}MT/s", self.0)
    }
}

/// A time, or none if the operation does not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maybe(pub Option<Duration>);

impl Maybe {
    /// The operation does not happen.
    pub const NONE: Maybe = Maybe(None);

    /// Time in nanoseconds, if the operation happens.
    pub fn ns(self) -> Option<u64> {
        self.0.map(Duration::ns)
    }
}

impl FromStr for Maybe {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text {
            "none" => Ok(Maybe(None)),
            time => time.parse().map(|time| Maybe(Some(time))),
        }
    }
}

impl fmt::Display for Maybe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(time) => time.fmt(f),
            None => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_by_page_type_survive_being_written() {
        for text in ["45us", "38us, 45us, 62us", "1us, 2us, 3us, 4us, 5us"] {
            assert_eq!(text.parse::<PageTimes>().unwrap().to_string(), text);
        }
        let three: PageTimes = "38us,45us,62us".parse().unwrap();
        assert_eq!((three.count(), three.of_type(2).ns()), (3, 62_000));
        assert_eq!("45us".parse::<PageTimes>().unwrap().of_type(2).ns(), 45_000);
        assert!("1us,2".parse::<PageTimes>().unwrap_err().to_string().contains("unit is missing"));
        assert!("1us,1us,1us,1us,1us,1us".parse::<PageTimes>().is_err());
    }

    #[test]
    fn a_bus_moves_a_byte_a_transfer() {
        let bus: BusRate = "1200MT/s".parse().unwrap();
        assert_eq!((bus.time_ns(16_384), bus.to_string()), (13_653, "1200MT/s".to_owned()));
        for wrong in ["1200", "1200MB/s", "0MT/s", "1.5MT/s"] {
            assert!(wrong.parse::<BusRate>().unwrap_err().to_string().contains("MT/s"), "{wrong}");
        }
        assert_eq!("none".parse::<Maybe>().unwrap().ns(), None);
        assert_eq!("35us".parse::<Maybe>().unwrap().ns(), Some(35_000));
    }
}
