//! The linear model in pieces: a measured time for each of several request sizes, and straight lines
//! between them.
//!
//! For devices whose time does not grow evenly, such as those that do badly below a page or split
//! large requests. Requests are served one at a time.

use crate::served::{Access, LONGEST_NS, Law, Served, ServedEnergy, check_size, pairs};
use crate::{DeviceKind, Model, Supplied, Tick, Unbuilt};
use engine::Time;
use options::{Duration, Size, Values, options, text_setting};
use std::fmt;
use std::str::FromStr;

/// The service time at each of at least two sizes, which rise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Points(Vec<(Size, Duration)>);

text_setting!(
    Points: "times by size, such as \"512B: 240us, 4KiB: 250us, 1MiB: 4.3ms\"",
    Values::Pattern(Points::pattern())
);

impl Points {
    /// How they are written, as a regular expression.
    fn pattern() -> String {
        let pair = format!("{}:{}", Size::pattern(), Duration::pattern());
        format!("{pair}(?:,{pair})+")
    }

    fn time(&self, bytes: u64) -> Time {
        let points = &self.0;
        // Beyond the last size the last piece is extrapolated; nothing is faster than the first size.
        let above = points.partition_point(|(size, _)| size.bytes() <= bytes);
        let upper = above.clamp(1, points.len() - 1);
        let [(from, start), (to, end)] = [points[upper - 1], points[upper]];
        let [from, to, bytes] = [from.bytes(), to.bytes(), bytes.max(from.bytes())].map(i128::from);
        let [start, end] = [start.ns(), end.ns()].map(i128::from);
        let (rise, run) = ((end - start) * (bytes - from), to - from);
        // A last piece that falls is not followed below its end.
        let time = start + (rise + run.div_euclid(2)).div_euclid(run);
        time.max(start.min(end)) as Time
    }
}

impl FromStr for Points {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut points: Vec<(Size, Duration)> = Vec::new();
        for pair in pairs(text) {
            let (size, time) = pair?;
            let size: Size = size.parse().map_err(|error| format!("{error}"))?;
            let time: Duration = time.parse().map_err(|error| format!("{error}"))?;
            if time.ns() > LONGEST_NS {
                return Err(format!("{time} is too long; at most 1s"));
            }
            if points.last().is_some_and(|(last, _)| *last >= size) {
                return Err(format!(
                    "the sizes must rise, and {size} follows a larger or equal one"
                ));
            }
            points.push((size, time));
        }
        if points.len() < 2 {
            return Err("a line takes at least two sizes".to_owned());
        }
        Ok(Points(points))
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (size, time)) in self.0.iter().enumerate() {
            write!(f, "{}{size}: {time}", if number == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

options! {
    /// A device whose times are known at some sizes. The defaults lie on the lines of `linear`.
    pub struct PiecewiseConfig as PiecewisePartial {
        /// Exported capacity.
        size: Size = Size::from_bytes(64 << 30),
        /// Time of a read that starts where the previous read ended.
        sequential_read: Points = points(129_503, 4_228_620),
        /// Time of any other read.
        random_read: Points = points(232_594, 4_313_288),
        /// Time of a write that starts where the previous write ended.
        sequential_write: Points = points(2_169_480, 7_246_040),
        /// Time of any other write.
        random_write: Points = points(772_691, 6_281_168),
        /// Its power consumption.
        energy: ServedEnergy = ServedEnergy::default(),
    }
}

fn points(at_512_bytes_ns: u64, at_1_mib_ns: u64) -> Points {
    let point = |bytes, ns| (Size::from_bytes(bytes), Duration::from_ns(ns));
    Points(vec![point(512, at_512_bytes_ns), point(1 << 20, at_1_mib_ns)])
}

impl DeviceKind for PiecewiseConfig {
    const SUMMARY: &'static str =
        "The piecewise linear model: a time per request size, one request at a time.";

    fn build_watched(
        &self,
        _seed: u64,
        _: &Supplied,
        _: Tick<'_>,
    ) -> Result<Box<dyn Model>, Unbuilt> {
        check_size(self.size)?;
        self.energy.check()?;
        Ok(Box::new(Served::new(self.clone())))
    }
}

impl Law for PiecewiseConfig {
    fn energy(&self) -> &ServedEnergy {
        &self.energy
    }

    fn size(&self) -> Size {
        self.size
    }

    /// The time of the smallest size counts as fixed.
    fn cost(&self, access: Access, bytes: u64, _outstanding: usize) -> (Time, Time) {
        let points = match access {
            Access::SequentialRead => &self.sequential_read,
            Access::RandomRead => &self.random_read,
            Access::SequentialWrite => &self.sequential_write,
            Access::RandomWrite => &self.random_write,
        };
        let time = points.time(bytes);
        let fixed = points.0[0].1.ns().min(time);
        (fixed, time - fixed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::served::latencies;
    use engine::Op;

    #[test]
    fn times_between_two_sizes_are_interpolated() {
        let points: Points = "1KiB: 100us, 2KiB: 300us, 4KiB: 350us".parse().unwrap();
        let times = [512, 1024, 1536, 2048, 3072, 4096, 8192].map(|bytes| points.time(bytes));
        assert_eq!(times, [100, 100, 200, 300, 325, 350, 450].map(|us| us * 1000));
        let falling: Points = "1KiB: 100us, 2KiB: 50us".parse().unwrap();
        assert_eq!([1536, 2048, 4096].map(|bytes| falling.time(bytes)), [75_000, 50_000, 50_000]);
    }

    #[test]
    fn the_defaults_are_the_lines_of_the_linear_device() {
        let linear = crate::linear::LinearConfig::default();
        for access in [
            Access::SequentialRead,
            Access::RandomRead,
            Access::SequentialWrite,
            Access::RandomWrite,
        ] {
            for bytes in [512, 4096, 65_536, 1 << 20, 4 << 20] {
                let total = |law: &dyn Law| {
                    let (fixed, growing) = law.cost(access, bytes, 1);
                    fixed + growing
                };
                let (here, there) = (total(&PiecewiseConfig::default()), total(&linear));
                assert!(here.abs_diff(there) <= 4, "{access:?} {bytes}: {here} and {there}");
            }
        }
    }

    #[test]
    fn a_request_takes_the_time_that_the_table_has_for_its_size() {
        let random_read: Points = "512B: 10us, 8KiB: 40us".parse().unwrap();
        let config = PiecewiseConfig { random_read, ..PiecewiseConfig::default() };
        let mut device = config.build(0).unwrap();
        let times = latencies(device.as_mut(), &[(Op::Read, 64, 16), (Op::Read, 0, 1)]);
        assert_eq!(times, [40_000, 10_000]);
    }

    #[test]
    fn wrong_tables_are_refused() {
        for (text, expected) in [
            ("", "has no colon"),
            ("4KiB: 1us", "at least two"),
            ("4KiB: 1us, 4KiB: 2us", "must rise"),
            ("8KiB: 1us, 4KiB: 2us", "must rise"),
            ("4KiB: 1, 8KiB: 2us", "the unit is missing"),
            ("4: 1us, 8KiB: 2us", "the unit is missing"),
            ("4KiB: 1us, 8KiB: 2s", "at most 1s"),
        ] {
            let error = text.parse::<Points>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let tiny = PiecewiseConfig { size: Size::from_bytes(1), ..PiecewiseConfig::default() };
        assert_eq!(tiny.build(0).err().unwrap().keys, ["device.size"]);
    }
}
