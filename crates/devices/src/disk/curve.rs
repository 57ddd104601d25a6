//! How long the heads take to a cylinder: by a measured table, or by a curve through what data sheets say.

use super::config::SeekOptions;
use super::seek::SeekTable;
use engine::Time;
use options::Invalid;

/// Seek times by distance.
#[derive(Debug, Clone)]
pub(super) enum Curve {
    /// Straight lines between measured times; beyond the last, its time. The least of the times from each
    /// on comes after it: measured times need not rise.
    Table(Vec<(u32, Time)>, Vec<Time>),
    /// a + b sqrt(d) up to a distance, then on a straight line to the last cylinder.
    Law { a: f64, b: f64, knee: f64, at_knee: f64, slope: f64 },
}

/// Where the curve becomes a straight line, as a share of the cylinders: as for the Cheetah 9LP, whose
/// measured times follow this curve within 0.07 ms, does at 1,000 of 6,962.
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
        // Over random pairs of cylinders a distance x of all has the density 2 (1 - x).
        let below = |x: f64| 2.0 * x - x * x;
        let roots = |x: f64| 4.0 / 3.0 * x * x.sqrt() - 4.0 / 5.0 * x * x * x.sqrt();
        let line = |x: f64| x * x - 2.0 / 3.0 * x * x * x;
        // With r = sqrt(d) - 1 the time is single + b r, and from the knee on a line to `full`.
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

    /// At most the seek time over any distance from this one on, over which it is `time`.
    pub fn least(&self, distance: u32, time: Time) -> Time {
        match self {
            Curve::Table(points, least) => {
                let above = points.partition_point(|(d, _)| *d <= distance);
                least.get(above).map_or(time, |least| time.min(*least))
            }
            // It rises, but for what is rounded.
            Curve::Law { .. } => time.saturating_sub(1),
        }
    }

    /// The seek time over a distance in cylinders.
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

/// The nearest whole number of one that is not negative, as `round` has it, which is a call.
fn nearest(time: f64) -> Time {
    let whole = time as Time;
    whole + Time::from(time - whole as f64 >= 0.5)
}

/// Fewer cylinders have no curve, only a table.
const FEWEST: f64 = 20.0;
