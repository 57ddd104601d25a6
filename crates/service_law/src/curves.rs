//! Syntax of a service law: lines, times by size, and either by the number of outstanding requests.
//!
//! A law is a list of entries: a line `A + B/KiB`, or `SIZE: TIME`, one of several times by size. A
//! number and a colon before an entry state the number of requests in service, the request
//! included, from which it and later entries hold (default 1). Between sizes and between numbers
//! the law is linear. Requests beyond the largest number of any pattern wait. A pattern with a
//! smaller largest number has constant throughput above it: its times grow in proportion.

use engine::Time;
use options::{Duration, Size};
use ssd::device::kit::config::LONGEST_NS;
use std::fmt;
use std::str::FromStr;

/// Syntax of the text.
pub(super) const EXPECTED: &str = "a law: a line such as \"230us + 4us/KiB\", times by size such as \
     \"512B: 240us, 4KiB: 250us, 1MiB: 4.3ms\", or either by number outstanding, such as \
     \"1: 230us + 4us/KiB, 4: 400us + 9us/KiB\"";

/// Maximum number of requests served at once.
const MOST: u32 = 65_536;

/// Times by size, for one number of requests in service.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Curve {
    Line {
        fixed: Duration,
        per_kib: Duration,
    },
    /// Times at two or more ascending sizes.
    Points(Vec<(Size, Duration)>),
}

impl Curve {
    /// Fixed part, and part proportional to size.
    #[inline]
    fn cost(&self, bytes: u64) -> (Time, Time) {
        match self {
            Curve::Line { fixed, per_kib } => (fixed.ns(), growing_ns(*per_kib, bytes)),
            Curve::Points(points) => {
                let time = between(points, bytes);
                // The time of the smallest size is the fixed part.
                let fixed = points[0].1.ns().min(time);
                (fixed, time - fixed)
            }
        }
    }
}

/// Time of `bytes` at a rate per KiB, rounded to the nearest nanosecond.
fn growing_ns(per_kib: Duration, bytes: u64) -> Time {
    ((u128::from(bytes) * u128::from(per_kib.ns()) + 512) / 1024) as Time
}

fn between(points: &[(Size, Duration)], bytes: u64) -> Time {
    // Extrapolates the last segment; smaller sizes take at least the first time.
    let above = points.partition_point(|(size, _)| size.bytes() <= bytes);
    let upper = above.clamp(1, points.len() - 1);
    let [(from, start), (to, end)] = [points[upper - 1], points[upper]];
    let [from, to, bytes] = [from.bytes(), to.bytes(), bytes.max(from.bytes())].map(i128::from);
    let [start, end] = [start.ns(), end.ns()].map(i128::from);
    let (rise, run) = ((end - start) * (bytes - from), to - from);
    // A falling last segment never extrapolates below its end.
    let time = start + (rise + run.div_euclid(2)).div_euclid(run);
    time.max(start.min(end)) as Time
}

/// Law of an access pattern: a curve for each of some ascending numbers of requests in service,
/// starting at 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curves(Vec<(u32, Curve)>);

impl Curves {
    pub(super) fn line(fixed: Duration, per_kib: Duration) -> Curves {
        Curves(vec![(1, Curve::Line { fixed, per_kib })])
    }

    /// A and B of a law that is one line.
    pub(super) fn as_line(&self) -> Option<(Duration, Duration)> {
        match self.0.as_slice() {
            [(_, Curve::Line { fixed, per_kib })] => Some((*fixed, *per_kib)),
            _ => None,
        }
    }

    /// Syntax of the value, as a regular expression.
    pub(super) fn pattern() -> String {
        let (size, time) = (Size::pattern(), Duration::pattern());
        let curve = format!(r"(?:\s*\+?[0-9]+\s*:)?(?:{time}\+{time}/KiB\s*|{size}:{time})");
        format!("{curve}(?:,{curve})*")
    }

    pub(super) fn largest(&self) -> u32 {
        self.0.last().map_or(1, |(number, _)| *number)
    }

    #[inline]
    pub(super) fn cost(&self, bytes: u64, outstanding: usize) -> (Time, Time) {
        if outstanding <= 1 {
            return self.0[0].1.cost(bytes);
        }
        let (curves, outstanding) = (&self.0, outstanding as u64);
        let above = curves.partition_point(|(number, _)| u64::from(*number) <= outstanding);
        let (from, lower) = &curves[above - 1];
        let (to, upper) = &curves[above.min(curves.len() - 1)];
        let (from, to) = (u64::from(*from), u64::from(*to));
        let time = |low: Time, high: Time| match to - from {
            // Beyond the last number, throughput is constant.
            0 => low * outstanding / from,
            steps => {
                let step = outstanding - from;
                (low * (steps - step) + high * step + steps / 2) / steps
            }
        };
        let (low, high) = (lower.cost(bytes), upper.cost(bytes));
        (time(low.0, high.0), time(low.1, high.1))
    }
}

/// An entry of a text.
enum Entry {
    Line { fixed: Duration, per_kib: Duration },
    Point(Size, Duration),
}

fn time(text: &str) -> Result<Duration, String> {
    let time: Duration = text.parse().map_err(|error| format!("{error}"))?;
    let short = time.ns() <= LONGEST_NS;
    if short { Ok(time) } else { Err(format!("{time} is too long; at most 1s")) }
}

/// The number before an entry, if any, and the entry.
fn numbered(entry: &str) -> Result<(Option<u32>, &str), String> {
    let Some((number, rest)) = entry.split_once(':') else { return Ok((None, entry)) };
    let number = number.trim();
    if number.is_empty() || !number.trim_start_matches('+').chars().all(|c| c.is_ascii_digit()) {
        return Ok((None, entry));
    }
    let known = number.parse().ok().filter(|number| (1..=MOST).contains(number));
    let known = known.ok_or_else(|| format!("\"{number}\" is no number from 1 to {MOST}"))?;
    Ok((Some(known), rest.trim()))
}

fn entry(text: &str) -> Result<Entry, String> {
    if let Some((size, at)) = text.split_once(':') {
        let size: Size = size.trim().parse().map_err(|error| format!("{error}"))?;
        return Ok(Entry::Point(size, time(at.trim())?));
    }
    let parts = text
        .split_once('+')
        .and_then(|(fixed, growing)| Some((fixed.trim(), growing.trim().strip_suffix("/KiB")?)));
    let (fixed, per_kib) = parts.ok_or_else(|| {
        format!("\"{text}\" is neither a line, \"230us + 4us/KiB\", nor a time at a size, \"4KiB: 250us\"")
    })?;
    Ok(Entry::Line { fixed: time(fixed)?, per_kib: time(per_kib)? })
}

impl FromStr for Curves {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut curves: Vec<(u32, Curve)> = Vec::new();
        for text in text.split(',') {
            let (number, rest) = numbered(text.trim())?;
            let entry = entry(rest)?;
            let last = curves.last().map(|(number, _)| *number);
            match (last, number.unwrap_or(last.unwrap_or(1))) {
                (None, number) if number != 1 => {
                    return Err(format!("the first line is for 1 outstanding, not {number}"));
                }
                (Some(last), next) if number.is_some() && last >= next => {
                    return Err(format!(
                        "the numbers outstanding must rise, and {next} follows {last}"
                    ));
                }
                (last, next) if last != Some(next) => {
                    curves.push((next, Curve::Points(Vec::new())));
                }
                _ => {}
            }
            let (number, curve) = curves.last_mut().expect("there is one");
            let points = match curve {
                Curve::Points(points) => points,
                Curve::Line { .. } => {
                    return Err(format!(
                        "there is a line for {number} outstanding, and \"{rest}\" follows it; write for \
                         how many that holds, such as \"4: {rest}\""
                    ));
                }
            };
            match entry {
                Entry::Line { .. } if !points.is_empty() => {
                    return Err(format!(
                        "there are times by size for {number} outstanding, and the line \"{rest}\" \
                         follows them; write for how many that holds, such as \"4: {rest}\""
                    ));
                }
                Entry::Line { fixed, per_kib } => *curve = Curve::Line { fixed, per_kib },
                Entry::Point(size, _) if points.last().is_some_and(|(last, _)| *last >= size) => {
                    return Err(format!(
                        "the sizes must rise, and {size} follows a larger or equal one"
                    ));
                }
                Entry::Point(size, time) => points.push((size, time)),
            }
        }
        let is_short =
            |(_, curve): &&(u32, Curve)| matches!(curve, Curve::Points(points) if points.len() < 2);
        match curves.iter().find(is_short) {
            Some((1, _)) => Err("times by size take at least two sizes".to_owned()),
            Some((number, _)) => Err(format!(
                "times by size take at least two sizes, and {number} outstanding has one"
            )),
            None => Ok(Curves(curves)),
        }
    }
}

impl fmt::Display for Curves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for (number, curve) in &self.0 {
            write!(f, "{comma}")?;
            if self.0.len() > 1 {
                write!(f, "{number}: ")?;
            }
            match curve {
                Curve::Line { fixed, per_kib } => write!(f, "{fixed} + {per_kib}/KiB")?,
                Curve::Points(points) => {
                    for (place, (size, time)) in points.iter().enumerate() {
                        write!(f, "{}{size}: {time}", if place == 0 { "" } else { ", " })?;
                    }
                }
            }
            comma = ", ";
        }
        Ok(())
    }
}
