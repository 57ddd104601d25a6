//! The footprint of a workload: a share of the device or a size.
//!
//! The footprint begins at sector 0. Its number of sectors depends on the device's capacity; a
//! footprint that is empty or exceeds the capacity is an error with both numbers.

use crate::units::PAGE_SECTORS;
use engine::SECTOR_BYTES;
use options::{Invalid, NUMBER, PERCENT, Size, Values};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// The addresses that a workload accesses, starting at sector 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footprint(Extent);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Extent {
    Share(f64),
    Size(Size),
}

impl Footprint {
    /// Form of a value.
    pub const EXPECTED: &'static str =
        "a share of the device above 0 and up to 1, such as 0.5, or a size such as \"1GiB\"";

    /// The whole device.
    pub const WHOLE: Footprint = Footprint(Extent::Share(1.0));

    /// A large share of the device for a tree of files, leaving space for other data.
    pub(crate) const SHARE_OF_TREE: Footprint = Footprint(Extent::Share(0.6));

    /// A share of the device; `None` unless it is above 0 and at most 1.
    pub fn share(share: f64) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then_some(Footprint(Extent::Share(share)))
    }

    /// The footprint in sectors on a device of `capacity_sectors`; a share is rounded down to whole
    /// units of 4 KiB.
    ///
    /// # Errors
    /// When it exceeds the device, is not a whole number of sectors, or is empty.
    pub fn sectors(&self, capacity_sectors: u64) -> Result<u64, Invalid> {
        self.sectors_of("workload.footprint", capacity_sectors)
    }

    /// `sectors` for a key other than `workload.footprint`.
    pub(crate) fn sectors_of(&self, key: &str, capacity_sectors: u64) -> Result<u64, Invalid> {
        let refused = |problem: String| Invalid::new(&[key], problem);
        let device = || Size::from_bytes(capacity_sectors.saturating_mul(SECTOR_BYTES));
        let sectors = match self.0 {
            Extent::Share(share) => {
                let sectors = (capacity_sectors as f64 * share) as u64;
                // Avoids rounding errors of doubles for the whole device.
                let sectors = if share < 1.0 { sectors } else { capacity_sectors };
                sectors / PAGE_SECTORS * PAGE_SECTORS
            }
            Extent::Size(size) if !size.bytes().is_multiple_of(SECTOR_BYTES) => {
                return Err(refused(format!("{size} is no multiple of {SECTOR_BYTES}B")));
            }
            Extent::Size(size) => size.bytes() / SECTOR_BYTES,
        };
        if sectors > capacity_sectors {
            return Err(refused(format!("{self} is more than the device's {}", device())));
        }
        if sectors == 0 {
            return Err(refused(format!("{self} of a device of {} is nothing", device())));
        }
        Ok(sectors)
    }
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // The debug form keeps the ".0", which distinguishes a share from a size.
            Extent::Share(share) => write!(f, "{share:?}"),
            Extent::Size(size) => write!(f, "{size}"),
        }
    }
}

impl FromStr for Footprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match options::share(text).map_or_else(|| text.parse::<f64>(), Ok) {
            Ok(share) => Footprint::share(share)
                .ok_or_else(|| format!("{text} is not {}", Footprint::EXPECTED)),
            Err(_) => text
                .parse()
                .map(|size| Footprint(Extent::Size(size)))
                .map_err(|error: options::QuantityError| error.to_string()),
        }
    }
}

impl Serialize for Footprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Extent::Share(share) => serializer.serialize_f64(share),
            Extent::Size(size) => size.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Footprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Footprint;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Footprint::EXPECTED)
            }
            fn visit_f64<E: de::Error>(self, share: f64) -> Result<Footprint, E> {
                Footprint::share(share)
                    .ok_or_else(|| E::custom(format!("{share} is not {}", Footprint::EXPECTED)))
            }
            fn visit_u64<E: de::Error>(self, share: u64) -> Result<Footprint, E> {
                self.visit_f64(share as f64)
            }
            fn visit_i64<E: de::Error>(self, share: i64) -> Result<Footprint, E> {
                self.visit_f64(share as f64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Footprint, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Footprint {
    /// A number or text: a share or a size.
    fn values() -> Values {
        let text = format!(r"\s*{NUMBER}\s*|\s*{PERCENT}\s*|{}", Size::pattern());
        Values::Either(vec![Values::PositiveShare, Values::Pattern(text)])
    }
}

impl options::Setting for Footprint {
    options::leaf_body!(Self::EXPECTED, Self::values(), |value: &Self| value.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Footprint, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn shares_and_sizes_resolve() {
        let rows = [
            ("1", 7_018_904, 7_018_904),
            ("1.0", 1_000_001, 1_000_000),
            ("0.5", 1000, 496),
            ("\"0.5\"", 1000, 496),
            ("\"50%\"", 1000, 496),
            ("\"1MiB\"", 1 << 20, 2048),
            ("\"512B\"", 1, 1),
        ];
        for (json, capacity, sectors) in rows {
            let footprint = read(json).unwrap();
            assert_eq!(footprint.sectors(capacity), Ok(sectors), "{json}");
            let written = serde_json::to_string(&footprint).unwrap();
            assert_eq!(read(&written), Ok(footprint));
            assert_eq!(footprint.to_string().parse(), Ok(footprint));
        }
        assert_eq!(Footprint::WHOLE.to_string(), "1.0");
    }

    #[test]
    fn wrong_footprints_are_refused() {
        for json in ["0", "-1", "1.5", "0.0", "\"NaN\"", "\"2\"", "true"] {
            let error = read(json).unwrap_err();
            assert!(error.contains("a share of the device above 0 and up to 1"), "{error}");
        }
        assert!(read("\"1GB/s\"").unwrap_err().contains("the unit is unknown"));
    }

    #[test]
    fn a_footprint_larger_than_the_device_is_refused_with_both_sizes() {
        let rows = [
            ("\"1GiB\"", 2048, "1GiB is more than the device's 1MiB"),
            ("\"1000B\"", 2048, "1000B is no multiple of 512B"),
            ("0.001", 2048, "0.001 of a device of 1MiB is nothing"),
            ("\"0B\"", 2048, "0B of a device of 1MiB is nothing"),
        ];
        for (json, capacity, problem) in rows {
            let error = read(json).unwrap().sectors(capacity).unwrap_err();
            assert_eq!(error, Invalid::new(&["workload.footprint"], problem));
        }
    }
}
