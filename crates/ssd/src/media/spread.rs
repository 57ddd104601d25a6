//! Variation between pages. The spread of their error rates changes losses by sixteen orders of
//! magnitude, so it is derived from the drive's rating.

use super::code::{Code, code_of};
use super::law::{Law, YEAR};
use super::normal::{chance_above, exceeded_with, mean_over};
use crate::config::SsdConfig;

/// Bits of a 1 KiB codeword; each page read counts as one.
pub const CODEWORD_BITS: f64 = 8192.0;
/// Uncorrectable codewords per bit read that the consumer class allows.
pub const UBER: f64 = 1e-15;

/// Upper limit of the search for a spread.
const WIDEST: f64 = 1.0;

/// Probability that a page exceeds `limit`, with lognormal errors of mean `errors` and this spread.
pub fn chance_lost(errors: f64, limit: f64, spread: f64) -> f64 {
    if spread <= 0.0 {
        return if errors > limit { 1.0 } else { 0.0 };
    }
    chance_above(libm::log(limit / errors) / spread + spread / 2.0)
}

/// Probability that a page exceeds the correction of a code for random bit errors.
pub fn chance_beyond(code: &Code, errors: f64, spread: f64) -> f64 {
    mean_over(|z| chance_lost(errors, libm::exp(code.of(z)), spread))
}

/// Widest spread at which a page is uncorrectable with at most this probability; `None` if even
/// equal pages exceed it.
fn widest_behind(code: &Code, errors: f64, chance: f64) -> Option<f64> {
    if chance_beyond(code, errors, 0.0) > chance {
        return None;
    }
    let (mut low, mut high) = (0.0, WIDEST);
    for _ in 0..24 {
        let middle = f64::midpoint(low, high);
        *(if chance_beyond(code, errors, middle) > chance { &mut high } else { &mut low }) = middle;
    }
    Some(low)
}

/// Loss probability per page that meets an uncorrectable bit error rate. With one of `parity_of`
/// groups as parity, two pages of a stripe must be lost.
pub fn allowed(uber: f64, parity_of: u32) -> f64 {
    if parity_of < 2 {
        return uber * CODEWORD_BITS;
    }
    // A flash page of 16 codewords is lost with its first one.
    libm::sqrt(uber * CODEWORD_BITS / (16.0 * f64::from(parity_of - 1)))
}

/// Widest spread at which a page exceeds `limit` with at most this probability, at a mean error
/// rate below it. `None` if even equal pages exceed it.
pub fn widest(errors: f64, limit: f64, chance: f64) -> Option<f64> {
    let room = libm::log(limit / errors);
    if room <= 0.0 {
        return None;
    }
    // s z - s^2 / 2 = room: the smaller root.
    let z = exceeded_with(chance);
    let square = z * z - 2.0 * room;
    Some(if square <= 0.0 { WIDEST } else { (z - libm::sqrt(square)).min(WIDEST) })
}

/// Spread allowed by a consumer drive's rating: 1e-15 after a year at 30 degrees and its rated
/// cycles.
pub fn of_rating(law: &Law, limit: f64, rated_cycles: f64, parity_of: u32) -> Option<f64> {
    let errors = law.errors(rated_cycles, YEAR, 0.0);
    widest(errors, limit, allowed(UBER, parity_of))
}

/// Origin of a drive's spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpreadOrigin {
    /// Stated in the configuration.
    Given,
    /// The widest allowed by the rating.
    Rating,
    /// No spread meets the rating.
    OutOfReach,
}

impl SpreadOrigin {
    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            SpreadOrigin::Given => "given",
            SpreadOrigin::Rating => "rating",
            SpreadOrigin::OutOfReach => "out of reach",
        }
    }
}

/// Spread of error rates between pages, and its origin.
pub fn spread_of(config: &SsdConfig, law: &Law) -> (f64, SpreadOrigin) {
    /// Spread if none meets the rating.
    const OUT_OF_REACH: f64 = 0.1;
    if let Some(given) = config.media.spread_errors {
        return (given, SpreadOrigin::Given);
    }
    let soft = config.ecc.soft.levels().last().map(|(rate, _)| *rate);
    let rated = f64::from(config.wear.rated_cycles);
    // Pages of one word line fail together, so parity across them allows no wider spread.
    let parity_of = if config.parity.stagger { config.parity.of } else { 0 };
    let found = match (soft, code_of(&config.ecc)) {
        (None, Some(code)) => {
            widest_behind(&code, law.errors(rated, YEAR, 0.0), allowed(UBER, parity_of))
        }
        (limit, _) => of_rating(law, limit.unwrap_or(config.ecc.hard), rated, parity_of),
    };
    found.map_or((OUT_OF_REACH, SpreadOrigin::OutOfReach), |found| (found, SpreadOrigin::Rating))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Media, MediaModel};

    #[test]
    fn the_spread_follows_from_the_rating_as_in_the_table() {
        let law = Law::new(&Media { model: MediaModel::Tlc3d, ..Media::default() }).unwrap();
        let rows = [
            (1000.0, 0.225, 0.297),
            (1500.0, 0.193, 0.256),
            (2000.0, 0.158, 0.208),
            (3000.0, 0.087, 0.114),
        ];
        for (rated, alone, with_parity) in rows {
            let found = [0, 32].map(|parity| of_rating(&law, 1.4e-2, rated, parity).unwrap());
            for (found, table) in found.into_iter().zip([alone, with_parity]) {
                assert!((found - table).abs() < 0.0015, "{rated}: {found} and not {table}");
            }
            let errors = law.errors(rated, YEAR, 0.0);
            let back = chance_lost(errors, 1.4e-2, found[0]);
            assert!((back / allowed(UBER, 0) - 1.0).abs() < 1e-3, "{rated}: {back}");
        }
        assert_eq!(of_rating(&law, 1.4e-2, 6000.0, 0), None, "no chip of the kind lasts as long");
    }

    /// Chance within a page reduces the part of the spread between pages.
    #[test]
    fn the_spread_beside_a_code_of_bits_meets_the_rating_too() {
        let law = Law::new(&Media { model: MediaModel::Tlc3d, ..Media::default() }).unwrap();
        let (errors, chance) = (law.errors(1000.0, YEAR, 0.0), allowed(UBER, 0));
        let code = Code::new(8192, 128);
        let found = widest_behind(&code, errors, chance).unwrap();
        let back = chance_beyond(&code, errors, found);
        assert!((back / chance - 1.0).abs() < 1e-3, "{back} for {chance}");
        let alone = of_rating(&law, libm::exp(code.middle()), 1000.0, 0).unwrap();
        assert!(found > 0.1 && found < alone, "{found} {alone}");
        assert_eq!(widest_behind(&Code::new(8192, 50), errors, chance), None);
    }

    /// Effect of the spread, in units of a codeword's bits.
    #[test]
    fn spread_costs_orders_of_magnitude() {
        let at = |spread| chance_lost(2e-3, 8.8e-3, spread);
        assert!(at(0.0) == 0.0 && at(0.2) < 1e-12 && at(0.3) > 1e4 * at(0.2));
        assert!((chance_lost(2e-2, 8.8e-3, 0.0) - 1.0).abs() < 1e-15);
    }
}
