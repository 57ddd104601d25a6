//! Variation between pages: the spread of their error rates is worth sixteen orders of magnitude of
//! losses, so it is not a free number but follows from what the drive is rated for.

use super::code::{Code, code_of};
use super::law::{Law, YEAR};
use super::normal::{chance_above, exceeded_with, mean_over};
use crate::config::SsdConfig;

/// Bits of a codeword of 1 KiB: a page that is read counts as one of them.
pub const CODEWORD_BITS: f64 = 8192.0;
/// Codewords beyond correction that the class of consumer drives allows, of the bits read.
pub const UBER: f64 = 1e-15;

/// Upper limit of the search: pages that differ by more make no drive.
const WIDEST: f64 = 1.0;

/// The chance that a page with lognormal errors about the mean `errors` exceeds `limit`, given their spread.
pub fn chance_lost(errors: f64, limit: f64, spread: f64) -> f64 {
    if spread <= 0.0 {
        return if errors > limit { 1.0 } else { 0.0 };
    }
    chance_above(libm::log(limit / errors) / spread + spread / 2.0)
}

/// `beyond` for a code that corrects a number of random wrong bits.
pub fn chance_beyond(code: &Code, errors: f64, spread: f64) -> f64 {
    mean_over(|z| chance_lost(errors, libm::exp(code.of(z)), spread))
}

/// The widest spread with which a page is beyond such a code with a chance; none where even equal pages are more often.
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

/// The chance that is allowed to a page so that the drive keeps to an uncorrectable bit error rate: alone, or with one
/// of `parity_of` groups as parity, where two must be lost of the same stripe.
pub fn allowed(uber: f64, parity_of: u32) -> f64 {
    if parity_of < 2 {
        return uber * CODEWORD_BITS;
    }
    // A flash page of 16 codewords is lost with its first one.
    libm::sqrt(uber * CODEWORD_BITS / (16.0 * f64::from(parity_of - 1)))
}

/// The widest spread with which a drive keeps to `uber` at a mean error rate, below `limit`; none where even equal
/// pages do not.
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

/// The spread that the rating of a consumer drive allows: 1e-15 after a year at 30 degrees and its rated cycles.
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

/// Spread of the error rates between pages, and its origin.
pub fn spread_of(config: &SsdConfig, law: &Law) -> (f64, SpreadOrigin) {
    /// Spread if none meets the rating.
    const OUT_OF_REACH: f64 = 0.1;
    if let Some(given) = config.media.spread_errors {
        return (given, SpreadOrigin::Given);
    }
    let soft = config.ecc.soft.levels().last().map(|(rate, _)| *rate);
    let rated = f64::from(config.wear.rated_cycles);
    // Pages of one word line are lost together: parity over them bears no wider spread.
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

    /// Chance within a page reduces the share of the differences between pages.
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

    /// MEDIA's figures of what the spread is worth, in units of the whole bits of a codeword.
    #[test]
    fn spread_costs_orders_of_magnitude() {
        let at = |spread| chance_lost(2e-3, 8.8e-3, spread);
        assert!(at(0.0) == 0.0 && at(0.2) < 1e-12 && at(0.3) > 1e4 * at(0.2));
        assert!((chance_lost(2e-2, 8.8e-3, 0.0) - 1.0).abs() < 1e-15);
    }
}
