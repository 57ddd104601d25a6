//! A law of service times: the time of a request by access pattern, size, and number of requests in
//! service.
//!
//! The law of a pattern is a line, A + n B, of El Maghraoui et al., *Modeling and simulating flash
//! based solid-state disks for operating systems* (2010); or measured times by size with linear
//! interpolation; or one of these for each of some numbers of outstanding requests (`curves.rs`).
//! The device stores the previous request and the requests in service (`served.rs`).

mod curves;
mod served;

pub use curves::Curves;
pub use served::{Served, ServedEnergy, ServedEnergyPartial};

use engine::{SECTOR_BYTES, Time};
use options::{Duration, Idle, Invalid, KeyInfo, Setting, Size, Values, options};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ssd::clean::Supplied;
use ssd::device::kit::config::LONGEST_NS;
use ssd::device::{DeviceKind, Model, Tick, Unbuilt};
use std::any::Any;
use std::fmt;

/// The law that applies to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A read that continues the previous read.
    SequentialRead,
    /// Any other read.
    RandomRead,
    /// A write that continues the previous write.
    SequentialWrite,
    /// Any other write.
    RandomWrite,
}

options! {
    /// A device that is a law of service times. The defaults are the STEC Zeus drive of the paper.
    pub struct LawConfig as LawPartial {
        /// Exported capacity.
        size: Size = Size::from_bytes(64 << 30),
        /// Time of a read that starts where the previous read ended.
        sequential_read: Pattern = Pattern::line(127_500, 4_005),
        /// Time of any other read.
        random_read: Pattern = Pattern::line(230_600, 3_987),
        /// Time of a write that starts where the previous write ended.
        sequential_write: Pattern = Pattern::line(2_167_000, 4_960),
        /// Time of any other write.
        random_write: Pattern = Pattern::line(770_000, 5_382),
        /// Power consumption.
        energy: ServedEnergy = ServedEnergy::default(),
    }
}

impl LawConfig {
    /// Default law with times at two sizes.
    pub fn by_size() -> LawConfig {
        let points = |text: &str| Pattern::of(text.parse().expect("they are times by size"));
        LawConfig {
            sequential_read: points("512B: 129503ns, 1MiB: 4228620ns"),
            random_read: points("512B: 232594ns, 1MiB: 4313288ns"),
            sequential_write: points("512B: 2169480ns, 1MiB: 7246040ns"),
            random_write: points("512B: 772691ns, 1MiB: 6281168ns"),
            ..LawConfig::default()
        }
    }

    fn pattern(&self, access: Access) -> &Curves {
        match access {
            Access::SequentialRead => &self.sequential_read.curves,
            Access::RandomRead => &self.random_read.curves,
            Access::SequentialWrite => &self.sequential_write.curves,
            Access::RandomWrite => &self.random_write.curves,
        }
    }

    /// Maximum number of requests in service: the largest for which a pattern has a law.
    fn at_once(&self) -> usize {
        let [a, b, c, d] = self.patterns().map(|(_, pattern)| pattern.curves.largest());
        a.max(b).max(c).max(d) as usize
    }

    /// Smallest fixed part of all patterns, with one request in service.
    fn quickest_ns(&self) -> Time {
        let fixed = self.patterns().map(|(_, pattern)| pattern.curves.cost(0, 1).0);
        fixed.into_iter().min().unwrap_or_default()
    }

    fn patterns(&self) -> [(&'static str, &Pattern); 4] {
        [
            ("device.sequential_read", &self.sequential_read),
            ("device.random_read", &self.random_read),
            ("device.sequential_write", &self.sequential_write),
            ("device.random_write", &self.random_write),
        ]
    }

    /// Fixed and size-dependent part of the service time of `bytes`, ns, with `outstanding`
    /// requests in service, including this one.
    #[inline]
    fn cost(&self, access: Access, bytes: u64, outstanding: usize) -> (Time, Time) {
        self.pattern(access).cost(bytes, outstanding)
    }
}

impl DeviceKind for LawConfig {
    const SUMMARY: &'static str =
        "A law of service times: A + n B or times by size, per access pattern and queue depth.";

    /// As an inner device: a memory or drive known only by its law keeps completed writes.
    fn check_cuts_within(&self) -> Result<(), Invalid> {
        Ok(())
    }

    fn keeps_answers(&self) -> bool {
        true
    }

    fn takes_time(&self) -> bool {
        let most = |pattern: &Pattern| pattern.curves.cost(SECTOR_BYTES, 1);
        self.patterns().iter().any(|(_, pattern)| most(pattern) != (0, 0))
    }

    fn build_watched(
        &self,
        _seed: u64,
        _: &Supplied,
        _: Tick<'_>,
    ) -> Result<Box<dyn Model>, Unbuilt> {
        if self.size.bytes() < SECTOR_BYTES {
            let problem = format!("{} is less than a sector of 512B", self.size);
            return Err(Invalid::new(&["device.size"], problem).into());
        }
        self.energy.check()?;
        for (key, pattern) in self.patterns() {
            pattern.check(key)?;
        }
        Ok(Box::new(Served::new(self.clone())))
    }
}

/// The law of an access pattern: a text; a single line may also be a table of the keys `fixed` and
/// `per_kib`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    curves: Curves,
    /// Keys of a line beside a law that is not a line; rejected.
    stray: LineOf,
}

/// Keys of a line, in one layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LineOf {
    fixed: Option<Duration>,
    per_kib: Option<Duration>,
}

impl Pattern {
    /// A pattern of any law.
    pub fn of(curves: Curves) -> Pattern {
        Pattern { curves, stray: LineOf::default() }
    }

    /// Service time of n KiB: `fixed_ns` + n `per_kib_ns`, one request at a time.
    pub fn line(fixed_ns: u64, per_kib_ns: u64) -> Pattern {
        let (fixed, per_kib) = (Duration::from_ns(fixed_ns), Duration::from_ns(per_kib_ns));
        Pattern::of(Curves::line(fixed, per_kib))
    }

    /// Rejects laws that are invalid as text, and incomplete lines.
    fn check(&self, key: &str) -> Result<(), Invalid> {
        if let Some((fixed, per_kib)) = self.curves.as_line() {
            for (name, time) in [("fixed", fixed), ("per_kib", per_kib)] {
                if time.ns() > LONGEST_NS {
                    let problem = format!("{time} is too long; at most 1s");
                    return Err(Invalid::new(&[&format!("{key}.{name}")], problem));
                }
            }
        }
        let stray = [("fixed", self.stray.fixed), ("per_kib", self.stray.per_kib)];
        match stray.iter().find_map(|(name, time)| Some((name, (*time)?))) {
            None => Ok(()),
            Some((name, time)) => {
                let problem = format!(
                    "{time} belongs to a line, A + n B, and the law is \"{}\"; set both fixed and per_kib, \
                     or {key} itself",
                    self.curves
                );
                Err(Invalid::new(&[&format!("{key}.{name}")], problem))
            }
        }
    }
}

/// A line is serialised as a table, so that its keys can be set.
impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line {
            fixed: Duration,
            per_kib: Duration,
        }
        match self.curves.as_line() {
            Some((fixed, per_kib)) => Line { fixed, per_kib }.serialize(serializer),
            None => serializer.collect_str(&self.curves),
        }
    }
}

/// One layer of a [`Pattern`].
#[derive(Debug, Clone, Default)]
pub struct PatternPartial {
    curves: Option<Curves>,
    line: LineOf,
}

impl<'de> Deserialize<'de> for PatternPartial {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = PatternPartial;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(curves::EXPECTED)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<PatternPartial, E> {
                let curves = text.parse().map_err(E::custom)?;
                Ok(PatternPartial { curves: Some(curves), line: LineOf::default() })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PatternPartial, A::Error> {
                let line = LineOf::deserialize(MapAccessDeserializer::new(map))?;
                Ok(PatternPartial { curves: None, line })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Setting for Pattern {
    type Partial = PatternPartial;

    /// A text replaces the whole pattern; a table overrides its keys.
    fn overlay(under: &mut PatternPartial, over: PatternPartial) {
        if over.curves.is_some() {
            *under = over;
            return;
        }
        under.line.fixed = over.line.fixed.or(under.line.fixed);
        under.line.per_kib = over.line.per_kib.or(under.line.per_kib);
    }

    fn complete(partial: PatternPartial, default: Self) -> Self {
        let PatternPartial { curves, line } = partial;
        let curves = curves.unwrap_or(default.curves);
        let (fixed, per_kib) = match curves.as_line() {
            Some(own) => (line.fixed.or(Some(own.0)), line.per_kib.or(Some(own.1))),
            None => (line.fixed, line.per_kib),
        };
        match (fixed, per_kib) {
            (Some(fixed), Some(per_kib)) => Pattern::of(Curves::line(fixed, per_kib)),
            _ => Pattern { curves, stray: line },
        }
    }

    fn describe(path: &str, doc: &str, default: &Self, rows: &mut Vec<KeyInfo>) {
        rows.push(KeyInfo {
            path: path.to_owned(),
            doc: doc.trim().to_owned(),
            expected: curves::EXPECTED.to_owned(),
            values: Values::Pattern(Curves::pattern()),
            default: default.curves.to_string(),
            section: String::new(),
        });
        let line = default.curves.as_line();
        let (fixed, per_kib) = line.unwrap_or_default();
        Duration::describe(
            &format!("{path}.fixed"),
            "A of a line: fixed time per request.",
            &fixed,
            rows,
        );
        let doc = "B of a line: additional time per KiB.";
        Duration::describe(&format!("{path}.per_kib"), doc, &per_kib, rows);
    }

    fn idle(
        &self,
        default: &Self,
        path: &str,
        applies: Option<&'static str>,
        _whole: &dyn Any,
        found: &mut Vec<Idle>,
    ) {
        let is_default = self == default;
        found.extend(applies.map(|applies| Idle { path: path.to_owned(), applies, is_default }));
    }
}

#[cfg(test)]
mod tests;
