//! Selection of traced devices, and their combination into one address space.

use crate::record::device_number;
use options::{Setting, Values};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

options::choices! {
    /// Combination of several devices of a trace into one.
    pub enum Combine {
        /// Shared addresses.
        Overlay = "overlay",
        /// Concatenation in order of device numbers; reads the trace twice.
        Concatenate = "concatenate",
        /// Each on its own volume, a member of a concatenated array, in order of their numbers; reads the
        /// trace twice.
        Separate = "separate",
    }
}

/// Selection of traced devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Devices {
    /// All devices.
    All,
    /// The device of the first request.
    First,
    /// The listed devices.
    These(Vec<u32>),
}

impl Devices {
    /// Form of a value.
    pub const EXPECTED: &'static str =
        "all, first, or device numbers such as \"0,2\" (Linux devices also as \"8:16\")";
}

/// A device number; Linux devices as major and minor number.
fn number(text: &str) -> Option<u32> {
    match text.split_once(':') {
        None => text.parse().ok(),
        Some((major, minor)) => {
            let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
            (major < 1 << 12 && minor < 1 << 20).then(|| device_number(major, minor))
        }
    }
}

impl FromStr for Devices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "all" => Ok(Devices::All),
            "first" => Ok(Devices::First),
            list => list
                .split(',')
                .map(|part| number(part.trim()))
                .collect::<Option<Vec<_>>>()
                .map(Devices::These)
                .ok_or_else(|| format!("\"{text}\" is not {}", Devices::EXPECTED)),
        }
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Devices::All => f.write_str("all"),
            Devices::First => f.write_str("first"),
            Devices::These(list) => {
                let of_linux = |it: u32| format!("{}:{}", it >> 20, it & 0xF_FFFF);
                let text = |it: &u32| if *it >> 20 == 0 { it.to_string() } else { of_linux(*it) };
                f.write_str(&list.iter().map(text).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl Serialize for Devices {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Devices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Devices;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Devices::EXPECTED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Devices, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Devices, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Devices, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Devices, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = list.next_element()? {
                    numbers.push(number);
                }
                Ok(Devices::These(numbers))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Devices {
    /// A number, a list, or text.
    fn values() -> Values {
        let number = || Values::Whole(0, u64::from(u32::MAX));
        let one = r"\s*\+?[0-9]+(?::\+?[0-9]+)?\s*";
        let text =
            Values::words_or(&["all", "first"], format!(r"\s*(?:all|first)\s*|{one}(?:,{one})*"));
        Values::Either(vec![text, number(), Values::List(Box::new(number()))])
    }
}

impl Setting for Devices {
    options::leaf_body!(Self::EXPECTED, Self::values(), |value: &Self| value.to_string());
}

/// The selection while a trace is read.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    devices: Devices,
    first: Option<u32>,
}

impl Selection {
    /// A selection before the first request.
    pub(crate) fn new(devices: &Devices) -> Self {
        Selection { devices: devices.clone(), first: None }
    }

    /// True if a request of this device is replayed.
    pub(crate) fn takes(&mut self, device: u32) -> bool {
        let first = *self.first.get_or_insert(device);
        match &self.devices {
            Devices::All => true,
            Devices::First => device == first,
            Devices::These(list) => list.contains(&device),
        }
    }
}

/// The spans of devices, which determine the start of each if they are concatenated.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spans(BTreeMap<u32, u64>);

impl Spans {
    /// Maximum number of devices, which bounds memory.
    pub(crate) const LIMIT: usize = 1 << 16;

    /// Extends a device's span to the sector `end`; `false` if there are too many devices.
    pub(crate) fn note(&mut self, device: u32, end: u64) -> bool {
        if self.0.len() == Spans::LIMIT && !self.0.contains_key(&device) {
            return false;
        }
        let span = self.0.entry(device).or_default();
        *span = end.max(*span);
        true
    }

    /// The largest span.
    pub(crate) fn largest(&self) -> u64 {
        self.0.values().copied().max().unwrap_or(0)
    }

    /// Devices in order of their numbers.
    pub(crate) fn devices(&self) -> impl ExactSizeIterator<Item = u32> {
        self.0.keys().copied()
    }

    /// The sum of spans, each rounded up to a multiple of `unit`, and the start of each device.
    pub(crate) fn concatenated(&self, unit: u64) -> (u64, BTreeMap<u32, u64>) {
        let mut end: u64 = 0;
        let mut starts = BTreeMap::new();
        for (device, span) in &self.0 {
            starts.insert(*device, end);
            let whole = span.checked_next_multiple_of(unit).unwrap_or(u64::MAX);
            end = end.saturating_add(whole);
        }
        (end, starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_words_numbers_or_lists() {
        let read = |json: &str| serde_json::from_str::<Devices>(json).map_err(|e| e.to_string());
        assert_eq!(read("\"all\""), Ok(Devices::All));
        assert_eq!(read("\"first\""), Ok(Devices::First));
        assert_eq!(read("\"3, 1\""), Ok(Devices::These(vec![3, 1])));
        assert_eq!(read("[3, 1]"), Ok(Devices::These(vec![3, 1])));
        assert_eq!(read("7"), Ok(Devices::These(vec![7])));
        assert_eq!(read("\"8:16\""), Ok(Devices::These(vec![(8 << 20) + 16])));
        assert_eq!(read("[3, 8388624]").map(|it| it.to_string()), Ok("3,8:16".to_owned()));
        for wrong in ["\"\"", "\"one\"", "-1", "\"8:x\"", "\"5000:1\""] {
            assert!(read(wrong).unwrap_err().contains("is not all, first, or device"), "{wrong}");
        }
    }

    #[test]
    fn devices_follow_one_another_at_whole_pages() {
        let mut spans = Spans::default();
        for (device, end) in [(5, 9), (2, 16), (5, 3), (9, 1)] {
            assert!(spans.note(device, end));
        }
        let (end, starts) = spans.concatenated(8);
        assert_eq!((spans.largest(), end), (16, 40));
        assert_eq!(starts.into_iter().collect::<Vec<_>>(), [(2, 0), (5, 16), (9, 32)]);
        for device in 0..Spans::LIMIT as u32 {
            spans.note(device, 1);
        }
        assert!(!spans.note(u32::MAX, 1) && spans.note(5, 1));
    }
}
