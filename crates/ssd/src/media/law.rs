//! Ageing of data in the cells: retention clock, drift of the levels, and remaining errors.
//!
//! Two variables describe a read. The *drift* is the number of retry table steps that the best
//! reference has moved, which decides the number of senses. The *raw bit error rate* at that
//! reference decides if the code can correct.

use crate::config::{DriftLaw, Media, MediaModel};

/// Boltzmann's constant, eV/K.
const BOLTZMANN: f64 = 8.617_333_262e-5;
/// Offset between Celsius and Kelvin.
const ZERO_CELSIUS: f64 = 273.15;
/// Temperature at which the retention clock equals wall time.
pub const REFERENCE: f64 = 30.0;
/// Hours of a month.
pub const MONTH: f64 = YEAR / 12.0;
/// Hours of a year.
pub const YEAR: f64 = 8766.0;

/// Acceleration of ageing relative to 30 degrees (Arrhenius), with the activation energy
/// `device.media.activation`.
pub fn acceleration(activation: f64, celsius: f64) -> f64 {
    let inverse = |celsius: f64| 1.0 / (celsius + ZERO_CELSIUS);
    libm::exp(activation / BOLTZMANN * (inverse(REFERENCE) - inverse(celsius)))
}

/// Growth of the errors with time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Retention {
    /// Proportional to the logarithm of 1 + hours.
    Logarithm(f64),
    /// Proportional to powers of the cycles and the hours.
    Powers(f64, f64, f64),
}

/// Ageing law of a kind of flash.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    activation: f64,
    /// Retry table steps after a month (for the logarithmic law after e - 1 hours), without wear.
    drift: f64,
    /// P/E cycles that double the drift.
    drift_cycles: f64,
    /// Exponent of time, for a power law.
    power: Option<f64>,
    /// Raw bit error rate of a new block, and its growth with wear, time and reads.
    new: f64,
    wear: f64,
    wear_power: f64,
    time: Retention,
    disturb: f64,
    disturb_wear: f64,
    disturb_reads: f64,
}

impl Law {
    /// Ageing law of a model; `None` for "none".
    ///
    /// Drift: fitted to four conditions of Park et al. (ASPLOS 2021, recalled), which a power of
    /// time and its logarithm fit equally well. Errors: coefficients of 72-layer TLC (Kim et al.,
    /// FAST 2019, from a public reimplementation). Their growth with time is derived from one
    /// recalled figure, 40 wrong bits per KiB after 2,000 cycles and a year, and is the weakest
    /// value here. "tlc-72l" is Kim's own law for fixed references: the two chips disagree about
    /// the first retry. QLC: twice the drift and 2.5 times the errors, a guess without source.
    pub fn new(media: &Media) -> Option<Law> {
        let (steps, errors) = match media.model {
            MediaModel::None => return None,
            MediaModel::Custom => return Some(Law::custom(media)),
            MediaModel::Tlc3d => (1.0, 1.0),
            MediaModel::Tlc72l => (0.0, 1.0),
            MediaModel::Mlc2ynm => return Some(Law::of_planar_mlc(media)),
            MediaModel::Qlc3d => (2.0, 2.5),
        };
        let (base, drift_cycles, power) = match media.drift {
            DriftLaw::Power => (3.47, 1780.0, Some(0.4)),
            DriftLaw::Log => (0.845, 1250.0, None),
        };
        let time = match media.model {
            MediaModel::Tlc72l => Retention::Powers(6.28e-5, 0.14, 0.54),
            _ => Retention::Logarithm(errors * 1.25e-4),
        };
        Some(Law {
            activation: media.activation,
            drift: steps * base,
            drift_cycles,
            power,
            new: errors * 1.48e-3,
            wear: errors * 5.5e-4,
            wear_power: 2.05,
            time,
            disturb: errors * 3.65e-8,
            disturb_wear: 0.33,
            disturb_reads: 1.71,
        })
    }

    /// Planar MLC. The error rate is 1.7e-8 when new, and 3.4e-4 (20,000 times) after 3,000 cycles
    /// and a year (3x nm, Hetzler 2012). The division between cycles and hours is a guess: the
    /// exponents of "tlc-72l". A read adds 1e-9 to its block at 2,000 cycles, with the power 1.46
    /// of the cycles (2Y nm, blocks of 256 pages: Cai et al., DSN 2015). No source covers moving
    /// references, so the default has none.
    fn of_planar_mlc(media: &Media) -> Law {
        const PAGES: f64 = 256.0;
        let (wear_power, time_power) = (0.14, 0.54);
        let year = libm::pow(3000.0, wear_power) * libm::pow(YEAR, time_power);
        Law {
            activation: media.activation,
            drift: 0.0,
            drift_cycles: 1780.0,
            power: Some(0.4),
            new: 1.7e-8,
            wear: 0.0,
            wear_power: 1.0,
            time: Retention::Powers((3.4e-4 - 1.7e-8) / year, wear_power, time_power),
            disturb: 1e-9 * PAGES * libm::pow(0.5, 1.46),
            disturb_wear: 1.46,
            disturb_reads: 1.0,
        }
    }

    /// The law with configured coefficients.
    fn custom(media: &Media) -> Law {
        let (drift, power) = match media.drift {
            DriftLaw::Power => (media.drift_month, Some(media.drift_power)),
            DriftLaw::Log => (media.drift_month / libm::log1p(MONTH), None),
        };
        Law {
            activation: media.activation,
            drift,
            drift_cycles: media.drift_cycles,
            power,
            new: media.errors_new,
            wear: media.errors_wear,
            wear_power: media.errors_wear_power,
            time: Retention::Logarithm(media.errors_time),
            disturb: media.errors_reads,
            disturb_wear: media.errors_reads_wear_power,
            disturb_reads: media.errors_reads_power,
        }
    }

    /// Acceleration of ageing relative to 30 degrees.
    pub fn acceleration(&self, celsius: f64) -> f64 {
        acceleration(self.activation, celsius)
    }

    /// Mean drift of the best reference over pages, in steps, after P/E cycles and hours at 30
    /// degrees.
    pub fn drift(&self, cycles: f64, hours: f64) -> f64 {
        let time = match self.power {
            Some(power) => libm::pow(hours / MONTH, power),
            None => libm::log1p(hours),
        };
        self.drift * (1.0 + cycles / self.drift_cycles) * time
    }

    /// Mean raw bit error rate at the best reference; `reads` is the number per page of the block.
    pub fn errors(&self, cycles: f64, hours: f64, reads: f64) -> f64 {
        let worn = cycles / 1000.0;
        let disturbed = if reads > 0.0 {
            let wear = libm::pow(worn, self.disturb_wear);
            self.disturb * wear * libm::pow(reads, self.disturb_reads)
        } else {
            0.0
        };
        let time = match self.time {
            Retention::Logarithm(rate) => rate * libm::log1p(hours),
            // A block with data has been programmed once.
            Retention::Powers(rate, wear, power) => {
                rate * libm::pow(cycles.max(1.0), wear) * libm::pow(hours, power)
            }
        };
        self.errors_of_new() + self.wear * libm::pow(worn, self.wear_power) + time + disturbed
    }

    /// Error rate of a newly programmed new block.
    pub fn errors_of_new(&self) -> f64 {
        self.new
    }
}

/// Days at 30 degrees until 72-layer TLC reaches the raw error rate `limit` with fixed references:
/// the law of Kim et al. (FAST 2019), a power of cycles and hours. `None` if the limit is exceeded
/// already.
pub fn days_at_fixed_references(cycles: f64, limit: f64) -> Option<f64> {
    let law = Law::new(&Media { model: MediaModel::Tlc72l, ..Media::default() })?;
    let Retention::Powers(rate, wear, power) = law.time else { return None };
    let left = limit - law.errors(cycles, 0.0, 0.0);
    let rate = rate * libm::pow(cycles, wear);
    (left > 0.0).then(|| libm::pow(left / rate, 1.0 / power) / 24.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(model: MediaModel, drift: DriftLaw) -> Law {
        Law::new(&Media { model, drift, ..Media::default() }).unwrap()
    }

    fn tlc() -> Law {
        of(MediaModel::Tlc3d, DriftLaw::Power)
    }

    /// Published: increase of a 256-page block's error rate per read, and end of life relative to
    /// new.
    #[test]
    fn planar_mlc_is_disturbed_by_reads_as_measured_and_ends_as_measured() {
        let law = of(MediaModel::Mlc2ynm, DriftLaw::Power);
        let reads = 1e5;
        for (cycles, published) in [
            (2e3, 1.0e-9),
            (3e3, 1.63e-9),
            (4e3, 2.37e-9),
            (5e3, 3.74e-9),
            (8e3, 7.5e-9),
            (10e3, 9.1e-9),
            (15e3, 1.9e-8),
        ] {
            let added = law.errors(cycles, 0.0, reads / 256.0) - law.errors(cycles, 0.0, 0.0);
            let each = added / reads;
            assert!((each / published - 1.0).abs() < 0.17, "{cycles}: {each} for {published}");
        }
        let worn = law.errors(3000.0, YEAR, 0.0);
        assert!(
            (worn / 3.4e-4 - 1.0).abs() < 1e-9 && (worn / law.errors_of_new() - 2e4).abs() < 1.0
        );
        assert!(law.drift(3000.0, YEAR).abs() < 1e-300);
    }

    #[test]
    fn a_chip_of_ones_own_begins_as_tlc_and_each_number_counts() {
        assert_eq!(of(MediaModel::Custom, DriftLaw::Power), tlc());
        let begin = Media { model: MediaModel::Custom, ..Media::default() };
        let found = |media: &Media| {
            let law = Law::new(media).unwrap();
            (law.drift(1500.0, 5000.0), law.errors(1500.0, 5000.0, 1e4))
        };
        let changes: [fn(&mut Media); 9] = [
            |it| it.drift_month *= 2.0,
            |it| it.drift_cycles /= 2.0,
            |it| it.drift_power *= 2.0,
            |it| it.errors_new *= 2.0,
            |it| it.errors_wear *= 2.0,
            |it| it.errors_wear_power *= 2.0,
            |it| it.errors_time *= 2.0,
            |it| it.errors_reads *= 2.0,
            |it| it.errors_reads_power *= 1.1,
        ];
        let before = found(&begin);
        for (place, change) in changes.iter().enumerate() {
            let mut media = begin.clone();
            change(&mut media);
            let after = found(&media);
            assert!(after.0 > before.0 || after.1 > before.1, "{place}");
        }
        // For the logarithmic law a month has the same meaning.
        let log = Law::new(&Media { drift: DriftLaw::Log, drift_month: 5.0, ..begin }).unwrap();
        assert!((log.drift(0.0, MONTH) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn without_an_activation_energy_no_temperature_counts() {
        let cold = Law::new(&Media { activation: 0.0, ..Media::default() });
        assert_eq!(cold, None, "nothing ages without a model");
        for celsius in [-40.0, 25.0, 55.0, 125.0] {
            assert!((acceleration(0.0, celsius) - 1.0).abs() < 1e-12, "{celsius}");
        }
    }

    #[test]
    fn the_clock_gives_the_table_of_jesd218_and_its_bakes() {
        let weeks: Vec<f64> = [25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0]
            .map(|celsius| (520.0 / tlc().acceleration(celsius)).round() / 10.0)
            .to_vec();
        assert_eq!(weeks, [105.4, 52.0, 26.3, 13.6, 7.1, 3.8, 2.1]);
        let bake = |hours: f64, at: f64, bake: f64| {
            hours * tlc().acceleration(at) / tlc().acceleration(bake)
        };
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
        use MediaModel::{Qlc3d, Tlc72l};
        for (model, drift) in
            [(Qlc3d, DriftLaw::Power), (Qlc3d, DriftLaw::Log), (Tlc72l, DriftLaw::Power)]
        {
            let law = of(model, drift);
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
        let of = |law: DriftLaw| of(MediaModel::Tlc3d, law);
        for (law, rows) in [(of(DriftLaw::Power), power), (of(DriftLaw::Log), log)] {
            for (cycles, months, steps) in rows {
                let found = law.drift(cycles, months * MONTH);
                assert!((found - steps).abs() < 0.1, "{cycles} {months}: {found}");
            }
        }
        assert!((tlc().errors(0.0, 0.0, 0.0) - 1.48e-3).abs() < 1e-15);
    }
}
