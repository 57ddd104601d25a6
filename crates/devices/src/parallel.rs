//! The linear model for several requests at once: an A and a B for each number outstanding.
//!
//! A request takes A + n B of the number that are being served when it begins, itself included;
//! between two numbers the times lie on straight lines. More than the largest number are not served
//! at once: they wait. A pattern with fewer lines than another does no more at once than at its last
//! one: its times grow in proportion. For devices that the linear model, which serves one at a time, makes too slow
//! under several requests.

use crate::linear::growing_ns;
use crate::served::{Access, LONGEST_NS, Law, Served, ServedEnergy, check_size, pairs};
use crate::{DeviceKind, Model, Supplied, Tick, Unbuilt};
use engine::Time;
use options::{Duration, Size, Values, options, text_setting};
use std::fmt;
use std::str::FromStr;

/// A and B of one number of outstanding requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    outstanding: u32,
    fixed: Duration,
    per_kib: Duration,
}

/// The service time for each of some numbers outstanding, which rise from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines(Vec<Line>);

text_setting!(
    Lines: "lines by number outstanding, such as \"1: 230us + 4us/KiB, 4: 400us + 9us/KiB\"",
    Values::Pattern(Lines::pattern())
);

/// More are not served at once.
const MOST: u32 = 65_536;

impl Lines {
    /// How they are written, as a regular expression.
    fn pattern() -> String {
        let time = Duration::pattern();
        let line = format!(r"\s*\+?[0-9]+\s*:{time}\+{time}/KiB\s*");
        format!("{line}(?:,{line})*")
    }

    fn largest(&self) -> u32 {
        self.0.last().map_or(1, |line| line.outstanding)
    }

    fn cost(&self, bytes: u64, outstanding: usize) -> (Time, Time) {
        let (lines, outstanding) = (&self.0, outstanding as u64);
        let above = lines.partition_point(|line| u64::from(line.outstanding) <= outstanding);
        let lower = lines[above.saturating_sub(1)];
        let upper = lines[above.min(lines.len() - 1)];
        let (from, to) = (u64::from(lower.outstanding), u64::from(upper.outstanding));
        let time = |low: Time, high: Time| match to - from {
            // Beyond the last line no more gets done at once.
            0 => low * outstanding.max(from) / from,
            steps => {
                let step = outstanding - from;
                (low * (steps - step) + high * step + steps / 2) / steps
            }
        };
        let growing = |line: Line| growing_ns(line.per_kib, bytes);
        (time(lower.fixed.ns(), upper.fixed.ns()), time(growing(lower), growing(upper)))
    }
}

impl FromStr for Lines {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines: Vec<Line> = Vec::new();
        for pair in pairs(text) {
            let (number, law) = pair?;
            let outstanding = number.parse().ok().filter(|number| (1..=MOST).contains(number));
            let outstanding =
                outstanding.ok_or_else(|| format!("\"{number}\" is no number from 1 to {MOST}"))?;
            let parts = law.split_once('+').and_then(|(fixed, growing)| {
                Some((fixed.trim(), growing.trim().strip_suffix("/KiB")?))
            });
            let (fixed, per_kib) =
                parts.ok_or_else(|| format!("\"{law}\" is not of the form \"230us + 4us/KiB\""))?;
            let time = |text: &str| -> Result<Duration, String> {
                let time: Duration = text.parse().map_err(|error| format!("{error}"))?;
                let short = time.ns() <= LONGEST_NS;
                if short { Ok(time) } else { Err(format!("{time} is too long; at most 1s")) }
            };
            let line = Line { outstanding, fixed: time(fixed)?, per_kib: time(per_kib)? };
            match lines.last() {
                None if outstanding != 1 => {
                    return Err(format!("the first line is for 1 outstanding, not {outstanding}"));
                }
                Some(last) if last.outstanding >= outstanding => {
                    return Err(format!(
                        "the numbers outstanding must rise, and {outstanding} follows {}",
                        last.outstanding
                    ));
                }
                _ => lines.push(line),
            }
        }
        Ok(Lines(lines))
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Line { outstanding, fixed, per_kib }) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{outstanding}: {fixed} + {per_kib}/KiB")?;
        }
        Ok(())
    }
}

options! {
    /// A device that serves several requests at once. The defaults are as in `linear`, one at a
    /// time.
    pub struct ParallelConfig as ParallelPartial {
        /// Exported capacity.
        size: Size = Size::from_bytes(64 << 30),
        /// Time of a read that starts where the previous read ended.
        sequential_read: Lines = single(127_500, 4_005),
        /// Time of any other read.
        random_read: Lines = single(230_600, 3_987),
        /// Time of a write that starts where the previous write ended.
        sequential_write: Lines = single(2_167_000, 4_960),
        /// Time of any other write.
        random_write: Lines = single(770_000, 5_382),
        /// Its power consumption.
        energy: ServedEnergy = ServedEnergy::default(),
    }
}

fn single(fixed_ns: u64, per_kib_ns: u64) -> Lines {
    let (fixed, per_kib) = (Duration::from_ns(fixed_ns), Duration::from_ns(per_kib_ns));
    Lines(vec![Line { outstanding: 1, fixed, per_kib }])
}

impl ParallelConfig {
    fn lines(&self) -> [&Lines; 4] {
        [&self.sequential_read, &self.random_read, &self.sequential_write, &self.random_write]
    }
}

impl DeviceKind for ParallelConfig {
    const SUMMARY: &'static str = "The linear model with concurrency: A + n B per queue depth.";

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

impl Law for ParallelConfig {
    fn energy(&self) -> &ServedEnergy {
        &self.energy
    }

    fn size(&self) -> Size {
        self.size
    }

    /// The largest number for which any pattern has a line.
    fn at_once(&self) -> usize {
        self.lines().map(Lines::largest).into_iter().max().unwrap_or(1) as usize
    }

    fn cost(&self, access: Access, bytes: u64, outstanding: usize) -> (Time, Time) {
        let [sequential_read, random_read, sequential_write, random_write] = self.lines();
        match access {
            Access::SequentialRead => sequential_read,
            Access::RandomRead => random_read,
            Access::SequentialWrite => sequential_write,
            Access::RandomWrite => random_write,
        }
        .cost(bytes, outstanding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Completion, Device, Lba, Op, Request};

    fn device(random_read: &str) -> Box<dyn Model> {
        let random_read = random_read.parse().unwrap();
        ParallelConfig { random_read, ..ParallelConfig::default() }.build(0).unwrap()
    }

    /// Latencies of random reads of 1 KiB in a closed loop, without the start of it.
    fn settled(device: &mut dyn Device, outstanding: u64) -> Vec<Time> {
        let read = |id| Request::new(id, Op::Read, Lba(id * 100 % 9973), 2);
        (0..outstanding).for_each(|id| device.submit(0, read(id)));
        let (mut done, mut next) = (Vec::new(), outstanding);
        while next < 40 {
            let (now, before) = (device.next_event().unwrap(), done.len());
            device.advance(now, &mut done);
            for _ in before..done.len() {
                device.submit(now, read(next));
                next += 1;
            }
        }
        done.split_off(2 * outstanding as usize).iter().map(Completion::latency).collect()
    }

    #[test]
    fn a_closed_loop_is_served_by_the_line_of_its_requests_outstanding() {
        // Between 2 and 4 outstanding: half way; above 4, the fifth waits for one of four.
        for (outstanding, us) in [(1, 110), (2, 130), (3, 180), (4, 230)] {
            let mut device =
                device("1: 100us + 10us/KiB, 2: 120us + 10us/KiB, 4: 200us + 30us/KiB");
            let times = settled(device.as_mut(), outstanding);
            assert!(times.iter().all(|ns| *ns == us * 1000), "{outstanding}: {times:?}");
        }
        let mut device = device("1: 100us + 10us/KiB, 4: 200us + 30us/KiB");
        let times = settled(device.as_mut(), 8);
        let mean = times.iter().sum::<Time>() / times.len() as Time;
        assert!(mean.abs_diff(2 * 230_000) < 25_000, "twice the service time: {mean}");
    }

    #[test]
    fn with_one_line_it_is_the_linear_device() {
        let mut linear = crate::linear::LinearConfig::default().build(0).unwrap();
        let mut parallel = ParallelConfig::default().build(0).unwrap();
        for outstanding in [1, 3] {
            let here = settled(parallel.as_mut(), outstanding);
            assert_eq!(here, settled(linear.as_mut(), outstanding));
        }
    }

    #[test]
    fn a_pattern_serves_no_more_requests_at_once_than_it_has_lines() {
        let sequential_read = "1: 1us + 1us/KiB, 4: 1us + 1us/KiB".parse().unwrap();
        let random_read: Lines = "1: 100us + 10us/KiB, 2: 150us + 10us/KiB".parse().unwrap();
        let config = ParallelConfig { sequential_read, random_read, ..Default::default() };
        for (outstanding, us) in [(2, 160), (3, 240), (4, 320)] {
            let times = settled(config.build(0).unwrap().as_mut(), outstanding);
            assert!(times.iter().all(|ns| *ns == us * 1000), "{outstanding}: {times:?}");
        }
    }

    #[test]
    fn wrong_lines_are_refused() {
        for (text, expected) in [
            ("", "has no colon"),
            ("2: 1us + 1us/KiB", "for 1 outstanding, not 2"),
            ("1: 1us + 1us/KiB, 1: 1us + 1us/KiB", "must rise, and 1 follows 1"),
            ("0: 1us + 1us/KiB", "from 1 to 65536"),
            ("1: 1us", "is not of the form"),
            ("1: 1us + 1us", "is not of the form"),
            ("1: 1 + 1us/KiB", "the unit is missing"),
            ("1: 2s + 1us/KiB", "at most 1s"),
        ] {
            let error = text.parse::<Lines>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let text = "1: 100us + 4us/KiB, 4: 210.5us + 16us/KiB";
        assert_eq!(text.parse::<Lines>().unwrap().to_string(), text);
    }
}
