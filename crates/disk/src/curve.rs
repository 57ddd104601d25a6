//! Seek time over a distance in cylinders: from a measured table, or from a curve through data
//! sheet values.

use super::config::SeekOptions;
use super::seek::SeekTable;
use engine::Time;
use options::Invalid;

/// Seek times by distance.
#[derive(Debug, Clone)]
pub(super) enum Curve {
    /// Measured times with linear interpolation; constant beyond the last. Then the minimum of all
    /// times from each entry on, because measured times may fall.
    Table(Vec<(u32, Time)>, Vec<Time>),
    /// a + b sqrt(d) up to a distance, then linear to the last cylinder.
    Law { a: f64, b: f64, knee: f64, at_knee: f64, slope: f64 },
}

/// Start of the linear part, as a share of all cylinders. The Cheetah 9LP's measured times follow
/// such a curve within 0.07 ms, with the knee at 1,000 of 6,962 cylinders.
const KNEE: f64 = 1.0 / 7.0;

impl Curve {
    /// The curve of a disk with the given number of cylinders.
    ///
    /// # Errors
    /// When no curve has these times.
    pub(super) fn new(options: &SeekOptions, cylinders: u32) -> Result<Curve, Invalid> {
        let SeekTable(points) = &options.table;
        if !points.is_empty() {
            return Ok(Curve::of_table(points.iter().map(|(d, time)| (*d, time.ns())).collect()));
        }
        let [single, mean, full] =
            [options.single, options.mean, options.full].map(|time| time.ns() as f64);
        let (cylinders, knee) = (f64::from(cylinders), f64::from(cylinders) * KNEE);
        // The distance x (share of all cylinders) between random cylinders has the density 2 (1 -
        // x).
        let below = |x: f64| 2.0 * x - x * x;
        let roots = |x: f64| 4.0 / 3.0 * x * x.sqrt() - 4.0 / 5.0 * x * x * x.sqrt();
        let line = |x: f64| x * x - 2.0 / 3.0 * x * x * x;
        // With r = sqrt(d) - 1, the time is single + b r up to the knee, then linear to `full`.
        let root = knee.sqrt() - 1.0;
        let rooted = cylinders.sqrt() * roots(KNEE) - below(KNEE);
        let share = (line(1.0) - line(KNEE) - KNEE * (1.0 - below(KNEE))) / (1.0 - KNEE);
        let beyond = 1.0 - below(KNEE);
        // mean = single below + b rooted + (single + b root) (beyond - share) + full share
        let b = (mean - single * (1.0 - share) - full * share) / (rooted + root * (beyond - share));
        let at_knee = single + b * root;
        if !(b >= 0.0 && at_knee <= full) || cylinders < FEWEST {
            let problem = format!(
                "no curve over {cylinders} cylinders begins at {}, ends at {} and has a mean of {}; \
                 the mean lies between them, nearer to half of the longest",
                options.single, options.full, options.mean
            );
            let keys = ["device.seek.mean", "device.seek.single", "device.seek.full"];
            return Err(Invalid::new(&keys, problem));
        }
        let slope = (full - at_knee) / (cylinders - 1.0 - knee);
        Ok(Curve::Law { a: single - b, b, knee, at_knee, slope })
    }

    fn of_table(points: Vec<(u32, Time)>) -> Curve {
        let mut least: Vec<Time> = points.iter().map(|(_, time)| *time).collect();
        for place in (1..least.len()).rev() {
            least[place - 1] = least[place - 1].min(least[place]);
        }
        Curve::Table(points, least)
    }

    /// A distance such that no longer seek takes `time` or less.
    #[inline]
    pub fn reach(&self, time: Time) -> u32 {
        match self {
            Curve::Table(points, least) => {
                let beyond = least.partition_point(|least| *least <= time);
                points.get(beyond).map_or(u32::MAX, |(distance, _)| distance - 1)
            }
            // The curve rises except for rounding, so the distance is smaller.
            Curve::Law { a, b, knee, at_knee, slope } => {
                let time = time.cast_signed() as f64 + 1.0;
                let cylinders = if time < *at_knee {
                    let root = ((time - a) / b).max(0.0);
                    root * root
                } else {
                    knee + ((time - at_knee) / slope).max(0.0)
                };
                (cylinders as u32).saturating_add(1)
            }
        }
    }

    /// Seek time over a distance in cylinders.
    pub(super) fn time(&self, distance: u32) -> Time {
        if distance == 0 {
            return 0;
        }
        match self {
            Curve::Table(points, _) => {
                let above = points.partition_point(|(d, _)| *d <= distance);
                let (from, start) = points[above - 1];
                let Some((to, end)) = points.get(above) else { return start };
                let (run, steps) = (i64::from(to - from), i64::from(distance - from));
                let rise = end.cast_signed() - start.cast_signed();
                start.saturating_add_signed((rise * steps + run / 2).div_euclid(run))
            }
            Curve::Law { a, b, knee, at_knee, slope } => {
                let distance = f64::from(distance);
                let time = if distance < *knee {
                    a + b * distance.sqrt()
                } else {
                    at_knee + slope * (distance - knee)
                };
                nearest(time)
            }
        }
    }
}

/// Nearest integer of a nonnegative number: `round` without its function call.
fn nearest(time: f64) -> Time {
    // Signed, so that the conversion takes one instruction.
    let whole = time as i64;
    whole.cast_unsigned() + Time::from(time - whole as f64 >= 0.5)
}

/// Fewer cylinders need a table.
const FEWEST: f64 = 20.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn times(single: &str, mean: &str, full: &str, cylinders: u32) -> (Curve, Vec<Time>) {
        let time = |text: &str| text.parse::<options::Duration>().expect("a time");
        let options = SeekOptions {
            single: time(single),
            mean: time(mean),
            full: time(full),
            ..SeekOptions::default()
        };
        let curve = Curve::new(&options, cylinders).expect("there is one");
        let times = (0..cylinders).map(|distance| curve.time(distance)).collect();
        (curve, times)
    }

    /// The data sheet values lie on the curve: a root up to the knee, then a line.
    #[test]
    fn a_curve_goes_through_what_it_was_made_of_as_a_root_and_then_a_line() {
        let sheets = [
            ("0.8ms", "8.5ms", "17ms", 10_000_u32),
            ("0.23ms", "7.4ms", "15ms", 700),
            ("1ms", "4ms", "8ms", 20),
        ];
        for (single, mean, full, cylinders) in sheets {
            let (_, times) = times(single, mean, full, cylinders);
            let ns = |text: &str| text.parse::<options::Duration>().expect("a time").ns();
            assert_eq!((times[0], times[1]), (0, ns(single)), "{cylinders}");
            assert!(times[cylinders as usize - 1].abs_diff(ns(full)) <= 1, "{cylinders}");
            let knee = f64::from(cylinders) / 7.0;
            let at = |distance: usize| times[distance] as f64;
            let root = |distance: usize| (distance as f64).sqrt() - 1.0;
            // Below the knee, times are linear in the root of the distance.
            let before = knee.ceil() as usize - 1;
            let unit = (at(before) - at(1)) / root(before).max(1e-9);
            for distance in 2..=before {
                let exact = at(1) + unit * root(distance);
                assert!((at(distance) - exact).abs() <= 2.0, "{cylinders}: {distance}");
            }
            // Above the knee all steps are equal, and the line starts where the root ends.
            let (first, last) = (knee.ceil() as usize, cylinders as usize - 1);
            let step = (at(last) - at(first)) / (last - first) as f64;
            for distance in first..last {
                assert!(
                    (at(distance + 1) - at(distance) - step).abs() <= 1.5,
                    "{cylinders}: {distance}"
                );
            }
            let end_of_root =
                if before > 1 { at(1) + unit * (knee.sqrt() - 1.0) } else { at(first) };
            let begin_of_line = at(first) - step * (first as f64 - knee);
            assert!((end_of_root - begin_of_line).abs() <= 20.0 || before <= 1, "{cylinders}");
        }
        // Over random pairs of cylinders, enough for sums to approximate integrals.
        let (_, times) = times("0.8ms", "8.5ms", "17ms", 10_000);
        let pairs = |distance: usize| 2.0 * (10_000 - distance) as f64 / 1e8;
        let mean: f64 = (1..10_000).map(|it| pairs(it) * times[it] as f64).sum();
        assert!((mean / 8.5e6 - 1.0).abs() < 1e-3, "{mean}");
    }

    /// Between measured times the curve is linear, rounded to the nanosecond, also where times
    /// fall. Beyond the last time it is constant.
    #[test]
    fn between_measured_times_is_a_straight_line() {
        let points = [(1, 1_000), (4, 1_003), (11, 90_000), (17, 89_000), (1_000, 7_654_321)];
        let curve = Curve::of_table(points.to_vec());
        for pair in points.windows(2) {
            let [(from, start), (to, end)] = pair else { panic!("two of them") };
            for distance in *from..=*to {
                let share = f64::from(distance - from) / f64::from(to - from);
                let exact = *start as f64 + share * (*end as f64 - *start as f64);
                let found = curve.time(distance) as f64;
                assert!((found - exact).abs() <= 0.500_001, "{distance}: {found}, not {exact}");
            }
        }
        assert_eq!(
            [0, 1_000, 1_001, 60_000].map(|it| curve.time(it)),
            [0, 7_654_321, 7_654_321, 7_654_321]
        );
    }

    /// Pruning bound of the queue: all longer seeks take longer, and few shorter ones do.
    #[test]
    fn beyond_what_is_reached_in_a_time_every_seek_takes_longer() {
        let table = Curve::of_table(vec![(1, 500), (4, 900), (11, 300), (17, 800), (30, 700)]);
        let (law, _) = times("0.23ms", "7.4ms", "15ms", 100);
        // One cylinder for rounding, and one for truncation.
        for (curve, room) in [(table, 19), (law, 2)] {
            let all = (1..100).map(|it| curve.time(it));
            let mut asked: Vec<Time> = all.flat_map(|time| [time - 1, time, time + 1]).collect();
            asked.extend([0, 1, 1 << 40]);
            for time in asked {
                let reach = curve.reach(time);
                let last = (1..100).rev().find(|it| curve.time(*it) <= time).unwrap_or(0);
                assert!(last <= reach && reach.min(99) <= last + room, "{time}: {last}, {reach}");
            }
        }
    }
}
