//! What becomes of data in the cells: the clock of retention, the drift of the levels, and the errors that are left.
//!
//! Two variables make a read. The *drift* is how many steps of the retry table the best reference has moved: it decides
//! how many senses a read needs. The *raw error rate* at that reference decides whether the code corrects at all.

use crate::ssd::config::{DriftLaw, MediaModel};

/// Boltzmann's constant, eV/K.
const BOLTZMANN: f64 = 8.617_333_262e-5;
/// Activation energy of charge loss, eV, as JESD218 has it.
pub const ACTIVATION: f64 = 1.1;
/// Degrees between the scales of Celsius and Kelvin.
const ZERO_CELSIUS: f64 = 273.15;
/// The temperature at which the clock of retention is that on the wall.
pub const REFERENCE: f64 = 30.0;
/// Hours of a month.
pub const MONTH: f64 = YEAR / 12.0;
/// Hours of a year.
pub const YEAR: f64 = 8766.0;

/// How much faster data age at a temperature than at 30 degrees (Arrhenius).
pub fn acceleration(celsius: f64) -> f64 {
    let inverse = |celsius: f64| 1.0 / (celsius + ZERO_CELSIUS);
    libm::exp(ACTIVATION / BOLTZMANN * (inverse(REFERENCE) - inverse(celsius)))
}

/// How data age in a kind of flash.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// Steps of the retry table after a month (or, by the logarithm of time, after e - 1 hours) without wear.
    drift: f64,
    /// Cycles that double the drift.
    drift_cycles: f64,
    /// Exponent of time, if it is a power.
    power: Option<f64>,
    /// Raw error rate of a new block, and what wear, time and reads add.
    new: f64,
    wear: f64,
    wear_power: f64,
    time: f64,
    disturb: f64,
    disturb_wear: f64,
    disturb_reads: f64,
}

impl Law {
    /// The law of a model; none for "none".
    ///
    /// Drift: fitted to four conditions of Park et al. (ASPLOS 2021, recalled), which a power of time and its logarithm
    /// meet alike. Errors: coefficients of 72-layer TLC (Kim et al., FAST 2019, by a public reimplementation); what time
    /// adds is derived from one recalled figure, 40 wrong bits a KiB after 2,000 cycles and a year, and is the weakest
    /// number here. QLC: twice the drift and 2.5 times the errors, a guess until a source is found.
    pub fn new(model: MediaModel, drift: DriftLaw) -> Option<Law> {
        let (steps, errors) = match model {
            MediaModel::None => return None,
            MediaModel::Tlc3d => (1.0, 1.0),
            MediaModel::Qlc3d => (2.0, 2.5),
        };
        let (base, drift_cycles, power) = match drift {
            DriftLaw::Power => (3.47, 1780.0, Some(0.4)),
            DriftLaw::Log => (0.845, 1250.0, None),
        };
        Some(Law {
            drift: steps * base,
            drift_cycles,
            power,
            new: errors * 1.48e-3,
            wear: errors * 5.5e-4,
            wear_power: 2.05,
            time: errors * 1.25e-4,
            disturb: errors * 3.65e-8,
            disturb_wear: 0.33,
            disturb_reads: 1.71,
        })
    }

    /// Steps that the best reference has moved, the mean over pages: after so many erasures, and hours at 30 degrees.
    pub fn drift(&self, cycles: f64, hours: f64) -> f64 {
        let time = match self.power {
            Some(power) => libm::pow(hours / MONTH, power),
            None => libm::log1p(hours),
        };
        self.drift * (1.0 + cycles / self.drift_cycles) * time
    }

    /// The raw error rate at the best reference, the mean over pages; `reads` are those of a block / its pages.
    pub fn errors(&self, cycles: f64, hours: f64, reads: f64) -> f64 {
        let worn = cycles / 1000.0;
        let disturbed = if reads > 0.0 {
            let wear = libm::pow(worn, self.disturb_wear);
            self.disturb * wear * libm::pow(reads, self.disturb_reads)
        } else {
            0.0
        };
        self.errors_of_new()
            + self.wear * libm::pow(worn, self.wear_power)
            + self.time * libm::log1p(hours)
            + disturbed
    }

    /// That of a block which was just programmed for the first time.
    pub fn errors_of_new(&self) -> f64 {
        self.new
    }
}

/// Days at 30 degrees until the raw error rate of 72-layer TLC reaches `limit` where references never move: the law of
/// Kim et al. (FAST 2019), whose retention is a power of cycles and hours. None where it has already.
pub fn days_at_fixed_references(cycles: f64, limit: f64) -> Option<f64> {
    let law = Law::new(MediaModel::Tlc3d, DriftLaw::Power).expect("it has one");
    let left = limit - law.errors(cycles, 0.0, 0.0);
    let rate = 6.28e-5 * libm::pow(cycles, 0.14);
    (left > 0.0).then(|| libm::pow(left / rate, 1.0 / 0.54) / 24.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tlc() -> Law {
        Law::new(MediaModel::Tlc3d, DriftLaw::Power).unwrap()
    }

    #[test]
    fn the_clock_gives_the_table_of_jesd218_and_its_bakes() {
        let weeks: Vec<f64> = [25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0]
            .map(|celsius| (520.0 / acceleration(celsius)).round() / 10.0)
            .to_vec();
        assert_eq!(weeks, [105.4, 52.0, 26.3, 13.6, 7.1, 3.8, 2.1]);
        let bake = |hours: f64, at: f64, bake: f64| hours * acceleration(at) / acceleration(bake);
        let (client, enterprise) = (bake(YEAR, 30.0, 52.0), bake(3.0 * MONTH, 40.0, 66.0));
        assert!((client / 507.0 - 1.0).abs() < 0.002, "{client}");
        assert!((enterprise / 96.2 - 1.0).abs() < 0.002, "{enterprise}");
    }

    #[test]
    fn references_that_never_move_need_their_first_retry_after_the_published_days() {
        for (cycles, days) in
            [(1.0, 279.0), (500.0, 54.0), (1000.0, 40.0), (2000.0, 19.0), (3000.0, 3.0)]
        {
            let found = days_at_fixed_references(cycles, 8.8e-3).unwrap();
            assert!((found - days).abs() < 1.0, "{cycles}: {found}");
        }
        assert_eq!(days_at_fixed_references(10_000.0, 8.8e-3), None);
    }

    #[test]
    fn more_cycles_hours_and_reads_never_help() {
        for drift in [DriftLaw::Power, DriftLaw::Log] {
            let law = Law::new(MediaModel::Qlc3d, drift).unwrap();
            let points = [0.0, 1.0, 10.0, 1000.0, 30_000.0];
            for pair in points.windows(2) {
                for other in points {
                    assert!(law.drift(pair[0], other) <= law.drift(pair[1], other));
                    assert!(law.drift(other, pair[0]) <= law.drift(other, pair[1]));
                    assert!(law.errors(pair[0], other, 5.0) <= law.errors(pair[1], other, 5.0));
                    assert!(law.errors(other, pair[0], 5.0) <= law.errors(other, pair[1], 5.0));
                    assert!(law.errors(500.0, other, pair[0]) <= law.errors(500.0, other, pair[1]));
                }
            }
            assert!(law.drift(100.0, 0.0) == 0.0, "what was just programmed has not moved");
        }
    }

    #[test]
    fn both_laws_of_time_meet_the_conditions_to_which_they_were_fitted() {
        // Cycles, months, retries.
        let power = [(0.0, 3.0, 5.4), (0.0, 6.0, 7.1), (1000.0, 3.0, 8.4), (2000.0, 12.0, 19.9)];
        let log = [(0.0, 3.0, 6.5), (0.0, 6.0, 7.1), (1000.0, 3.0, 11.7), (2000.0, 12.0, 19.9)];
        let of = |law: DriftLaw| Law::new(MediaModel::Tlc3d, law).unwrap();
        for (law, rows) in [(of(DriftLaw::Power), power), (of(DriftLaw::Log), log)] {
            for (cycles, months, steps) in rows {
                let found = law.drift(cycles, months * MONTH);
                assert!((found - steps).abs() < 0.1, "{cycles} {months}: {found}");
            }
        }
        assert!((tlc().errors(0.0, 0.0, 0.0) - 1.48e-3).abs() < 1e-15);
    }
}
