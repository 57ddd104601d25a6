//! A fleet of drives over years, without requests: die failures, isolated bad blocks and defects,
//! drive by drive, together with closed forms.

use crate::config::Experiment;
use crate::error::{InputError, RunError};
use devices::DeviceConfig;
use devices::ssd::config::SsdConfig;
use devices::ssd::media::{Fleet, Lived};
use options::Invalid;
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Parameters beside the keys of the drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetSettings {
    /// Number of drives.
    pub drives: u64,
    /// Years of operation per drive.
    pub years: f64,
    /// Mean number of isolated bad blocks per drive in that time.
    pub bad_blocks: f64,
    /// Shape parameter of their gamma distribution.
    pub bad_blocks_shape: f64,
    /// Seed of the first drive.
    pub seed: u64,
}

/// Drives between two calls of `visit`.
const VISIT: u64 = 256;
/// Maximum inspections of dies, or monthly draws: minutes of work.
const MOST: f64 = 1e8;
/// Days per month.
const MONTH_DAYS: f64 = 365.25 / 12.0;

/// Result of the fleet, as JSON.
///
/// # Errors
/// When the device is not an SSD, a value is invalid, or `visit` ends it.
pub fn fleet(
    experiment: &Experiment,
    asked: &FleetSettings,
    visit: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Value, RunError> {
    let config =
        check(experiment, asked).map_err(|InputError(message)| RunError::Input(message))?;
    let fleet = Fleet {
        dies: config.channels * config.packages_per_channel * config.dies_per_package,
        blocks: config.blocks_per_plane * config.planes_per_die,
        sick_dies: config.spares.sick_dies,
        bad_blocks: (asked.bad_blocks, asked.bad_blocks_shape),
        defects: (config.spares.defects, config.spares.defects_shape),
        years: asked.years,
    };
    let most = (MOST / (f64::from(fleet.dies) + 12.0 * asked.years)).floor();
    if asked.drives as f64 > most {
        let drives = asked.drives;
        let problem =
            format!("--drives {drives}: takes too long; at most {most:.0} of this device");
        return Err(RunError::Input(problem));
    }
    let mut tally = Tally::new(config, &fleet);
    for number in 0..asked.drives {
        if number % VISIT == 0 && visit(number).is_break() {
            return Err(RunError::Interrupted { requests: number });
        }
        let seed = asked.seed.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        tally.add(&fleet.live(seed));
    }
    Ok(tally.report(asked))
}

fn check<'a>(
    experiment: &'a Experiment,
    asked: &FleetSettings,
) -> Result<&'a SsdConfig, InputError> {
    let refused = |problem: String| Err(InputError(problem));
    let DeviceConfig::Ssd(config) = &experiment.device else {
        return refused("only a device of kind \"ssd\" is a fleet of drives".to_owned());
    };
    // These keys are checked here because no drive is built, and a drive too small for all its
    // features is accepted.
    if !(0.0..1.0).contains(&config.spares.sick_dies) {
        let problem = format!("{} is not a chance from 0 to below 1", config.spares.sick_dies);
        return Err(experiment.blame(&Invalid::new(&["device.spares.sick_dies"], problem)));
    }
    for (key, value, least) in [
        ("device.spares.defects", config.spares.defects, 0.0),
        ("device.spares.defects_shape", config.spares.defects_shape, 1e-3),
    ] {
        if !(value >= least && value <= 1e6) {
            let problem = format!("{value:e} is not a number from {least} to 1000000");
            return Err(experiment.blame(&Invalid::new(&[key], problem)));
        }
    }
    if asked.drives == 0 {
        return refused("--drives 0: at least 1".to_owned());
    }
    if !(asked.years > 0.0 && asked.years <= 100.0) {
        return refused(format!("--years {}: expected above 0 and at most 100", asked.years));
    }
    if !(asked.bad_blocks >= 0.0 && asked.bad_blocks <= 1e6) {
        return refused(format!("--bad-blocks {}: expected 0 to 1000000", asked.bad_blocks));
    }
    if !(asked.bad_blocks_shape >= 1e-3 && asked.bad_blocks_shape <= 1e6) {
        let problem =
            format!("--bad-blocks-shape {}: expected 0.001 to 1000000", asked.bad_blocks_shape);
        return refused(problem);
    }
    Ok(config)
}

/// Counts.
struct Tally {
    fleet: Fleet,
    /// Number of tolerated die failures, and of defects before the drive becomes read-only.
    bears_dies: usize,
    bears_defects: u64,
    has_parity: bool,
    drives: u64,
    failed: u64,
    failed_years: f64,
    lost_dies: u64,
    with_lost_die: u64,
    bad_blocks: Vec<u64>,
    /// Drives with at least 3 bad blocks, and how many of them have hundreds.
    three: [u64; 2],
    with_defects: u64,
    defects: u64,
    /// Months with defects, except the last, and how many of them are followed by another.
    repeated: [u64; 2],
}

impl Tally {
    fn new(config: &SsdConfig, fleet: &Fleet) -> Tally {
        let has_parity = config.parity.of > 0;
        Tally {
            fleet: *fleet,
            bears_dies: usize::from(has_parity),
            bears_defects: config.health.fail_at_uncorrectable.map_or(u64::MAX, u64::from),
            has_parity,
            drives: 0,
            failed: 0,
            failed_years: 0.0,
            lost_dies: 0,
            with_lost_die: 0,
            bad_blocks: Vec::new(),
            three: [0; 2],
            with_defects: 0,
            defects: 0,
            repeated: [0; 2],
        }
    }

    fn add(&mut self, lived: &Lived) {
        self.drives += 1;
        let mut dies = lived.lost_dies.clone();
        dies.sort_by(f64::total_cmp);
        let by_die = dies.get(self.bears_dies).copied();
        let by_defects = if self.has_parity { None } else { self.gives_up(lived) };
        let end = [by_die, by_defects].into_iter().flatten().fold(f64::INFINITY, f64::min);
        self.failed += u64::from(end.is_finite());
        self.failed_years += end.min(self.fleet.years);
        self.lost_dies += dies.len() as u64;
        self.with_lost_die += u64::from(!dies.is_empty());
        let bad = lived.bad_blocks();
        if bad > 0 {
            self.bad_blocks.push(bad);
        }
        self.three[0] += u64::from(bad >= 3);
        self.three[1] += u64::from(bad >= 100);
        self.defects += lived.defects();
        self.with_defects += u64::from(lived.defects() > 0);
        for pair in lived.months.windows(2).filter(|pair| pair[0] > 0) {
            self.repeated[0] += 1;
            self.repeated[1] += u64::from(pair[1] > 0);
        }
    }

    /// Year in which unreadable pages make the drive read-only.
    fn gives_up(&self, lived: &Lived) -> Option<f64> {
        let mut seen = 0;
        let month = lived.months.iter().position(|defects| {
            seen += defects;
            seen >= self.bears_defects
        });
        month.map(|month| (month + 1) as f64 / 12.0)
    }

    fn report(mut self, asked: &FleetSettings) -> Value {
        let drives = self.drives as f64;
        let share = |count: u64| count as f64 / drives;
        self.bad_blocks.sort_unstable();
        let median = self.bad_blocks.get(self.bad_blocks.len() / 2);
        let mean = (!self.bad_blocks.is_empty())
            .then(|| self.bad_blocks.iter().sum::<u64>() as f64 / self.bad_blocks.len() as f64);
        let of = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let dies = drives * f64::from(self.fleet.dies);
        let days = drives * asked.years * 12.0 * MONTH_DAYS;
        let forms = forms(&self.fleet, self.has_parity, asked);
        json!({
            "drives": self.drives,
            "years": asked.years,
            "dies": self.fleet.dies,
            "blocks_of_a_die": self.fleet.blocks,
            "parity": self.has_parity,
            "afr": self.failed as f64 / self.failed_years,
            "failed_share": share(self.failed),
            "with_lost_die": share(self.with_lost_die),
            "lost_dies_share": self.lost_dies as f64 / dies,
            "bad_blocks": {
                "drives_with": share(self.bad_blocks.len() as u64),
                "median": median,
                "mean": mean,
                "hundreds_after_three": of(self.three[1], self.three[0]),
            },
            "media_errors": {
                "drives_with": share(self.with_defects),
                "per_drive": self.defects as f64 / drives,
                "per_thousand_days": 1000.0 * self.defects as f64 / days,
                "next_month": of(self.repeated[1], self.repeated[0]),
                "reach_the_host": !self.has_parity,
            },
            "closed_forms": forms,
        })
    }
}

/// Expected values in closed form.
fn forms(fleet: &Fleet, has_parity: bool, asked: &FleetSettings) -> Value {
    // A sick die fails after a month.
    let years = (asked.years - 1.0 / 12.0).max(0.0);
    let die = 1.0 - libm::pow(1.0 - fleet.sick_dies, years / 4.0);
    let dies = f64::from(fleet.dies);
    let none = libm::pow(1.0 - die, dies);
    let one = dies * die * libm::pow(1.0 - die, dies - 1.0);
    let affected = |mean: f64, shape: f64| 1.0 - libm::pow(1.0 + mean / shape, -shape);
    let (defects, shape) = fleet.defects;
    let (bad, bad_shape) = fleet.bad_blocks;
    json!({
        "with_lost_die": 1.0 - none,
        "failed_by_dies": if has_parity { 1.0 - none - one } else { 1.0 - none },
        "with_defects": affected(defects * asked.years, shape),
        "with_isolated_bad_blocks": affected(bad, bad_shape),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{preset_layer, set_layers};

    fn found(changes: &[&str], asked: FleetSettings) -> Value {
        let sets: Vec<String> = changes.iter().map(|it| (*it).to_owned()).collect();
        let layers =
            [preset_layer("device", "tlc-enterprise").unwrap(), set_layers(&sets).unwrap()];
        let experiment = Experiment::from_layers(&layers).unwrap();
        fleet(&experiment, &asked, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn the_fleet_agrees_with_its_closed_forms() {
        let on = [
            "device.media.model=tlc-3d",
            "device.spares.sick_dies=0.01",
            "device.spares.defects=1",
        ];
        let asked = FleetSettings {
            drives: 20_000,
            years: 5.0,
            bad_blocks: 0.5,
            bad_blocks_shape: 0.45,
            seed: 1,
        };
        for parity in ["device.parity.of=0", "device.parity.of=8"] {
            let found = found(&[on[0], on[1], on[2], parity], asked);
            let number = |path: &str| found.pointer(path).unwrap().as_f64().unwrap();
            for (simulated, form) in [
                ("/with_lost_die", "/closed_forms/with_lost_die"),
                ("/failed_share", "/closed_forms/failed_by_dies"),
                ("/media_errors/drives_with", "/closed_forms/with_defects"),
            ] {
                let (one, other) = (number(simulated), number(form));
                assert!((one - other).abs() < 0.012, "{parity} {simulated}: {one} {other}");
            }
        }
    }

    #[test]
    fn what_is_no_fleet_is_refused() {
        let asked = FleetSettings {
            drives: 10,
            years: 5.0,
            bad_blocks: 0.0,
            bad_blocks_shape: 0.45,
            seed: 1,
        };
        let refusal = |sets: &[&str], asked: &FleetSettings| {
            let sets: Vec<String> = sets.iter().map(|it| (*it).to_owned()).collect();
            let layers =
                [preset_layer("device", "tlc-enterprise").unwrap(), set_layers(&sets).unwrap()];
            let experiment = Experiment::from_layers(&layers).unwrap();
            fleet(&experiment, asked, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string()
        };
        let many = ["device.media.model=tlc-3d", "device.spares.defects=1e300"];
        let problem = refusal(&many, &asked);
        assert!(
            problem.contains("device.spares.defects") && problem.contains("1000000"),
            "{problem}"
        );
        for (asked, part) in [
            (FleetSettings { drives: 0, ..asked }, "--drives 0"),
            (FleetSettings { drives: u64::MAX, ..asked }, "takes too long; at most"),
            (FleetSettings { years: 0.0, ..asked }, "--years 0"),
            (FleetSettings { bad_blocks: -1.0, ..asked }, "--bad-blocks -1"),
            (FleetSettings { bad_blocks_shape: 0.0, ..asked }, "--bad-blocks-shape 0"),
        ] {
            let problem = refusal(&[], &asked);
            assert!(problem.contains(part), "{problem}");
        }
    }
}
