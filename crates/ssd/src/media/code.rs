//! Codes that correct up to a number of wrong bits per codeword. At a given error rate, pages have
//! more or fewer wrong bits by chance, so each page has its own correctable error rate. It is a
//! quantile of the binomial distribution, chosen by the page's hash. An uncorrectable page stays
//! uncorrectable in every read.

use super::normal::chance_above;
use crate::config::{Ecc, EccKind};

/// Range and resolution of the quantiles.
const REACH: f64 = 8.5;
const EACH: f64 = 4.0;
const POINTS: usize = 2 * (REACH * EACH) as usize + 1;

/// Raw bit error rate at which hard decoding corrects half of all pages.
pub fn hard_rate(ecc: &Ecc) -> f64 {
    code_of(ecc).map_or(ecc.hard, |code| libm::exp(code.middle()))
}

/// Code of a drive that corrects a number of bits.
pub fn code_of(ecc: &Ecc) -> Option<Code> {
    (ecc.kind == EccKind::Bch).then(|| Code::new(ecc.codeword.bytes() as u32 * 8, ecc.corrects))
}

/// Correctable error rates of pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Code {
    /// Logarithms of the rates, by the page's normal quantile.
    rates: Box<[f64; POINTS]>,
}

impl Code {
    /// A code with `data_bits` per codeword that corrects `corrects` bits; parity per corrected bit
    /// is the length of a bit address.
    pub fn new(data_bits: u32, corrects: u32) -> Code {
        let bits = bits_of(data_bits, corrects);
        let rates = std::array::from_fn(|point| {
            let quantile = point as f64 / EACH - REACH;
            corrected_up_to(bits, corrects, 1.0 - chance_above(quantile), chance_above(quantile))
        });
        Code { rates: Box::new(rates) }
    }

    /// Logarithm of the error rate up to which half of all pages are correctable.
    pub fn middle(&self) -> f64 {
        self.rates[POINTS / 2]
    }

    /// Logarithm of the correctable error rate of a page with this quantile.
    #[inline]
    pub fn of(&self, quantile: f64) -> f64 {
        let at = ((quantile + REACH) * EACH).clamp(0.0, (POINTS - 1) as f64);
        let point = (at as usize).min(POINTS - 2);
        let [low, high] = [self.rates[point], self.rates[point + 1]];
        low + (high - low) * (at - point as f64)
    }

    /// Approximate standard deviation of that logarithm between pages.
    pub fn spread(&self) -> f64 {
        (self.of(1.0) - self.of(-1.0)) / 2.0
    }
}

/// Codeword length including parity: a BCH code over the smallest sufficient field.
fn bits_of(data_bits: u32, corrects: u32) -> u32 {
    (8..32)
        .map(|power| (power, data_bits.saturating_add(corrects.saturating_mul(power))))
        .find(|(power, bits)| u64::from(*bits) < 1 << power)
        .map_or(u32::MAX, |(_, bits)| bits)
}

/// Logarithm of the error rate at which a codeword is uncorrectable with probability `beyond`.
/// `within` is the complement, so that neither is lost to rounding.
fn corrected_up_to(bits: u32, corrects: u32, beyond: f64, within: f64) -> f64 {
    let (mut low, mut high) = (-80.0_f64, -0.7_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let (above, below) = chances(bits, corrects, libm::exp(middle));
        let is_beyond = if beyond < 0.5 { above > beyond } else { below < within };
        *(if is_beyond { &mut high } else { &mut low }) = middle;
    }
    low
}

/// Probability of more than `corrects` wrong bits, and its complement.
fn chances(bits: u32, corrects: u32, rate: f64) -> (f64, f64) {
    let (n, k, odds) = (f64::from(bits), f64::from(corrects), rate / (1.0 - rate));
    let choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    let at = libm::exp(choose + k * libm::log(rate) + (n - k) * libm::log1p(-rate));
    // Sums from the limit towards the thinner tail.
    if rate * n < k {
        let (mut term, mut sum, mut wrong) = (at, 0.0, k);
        while wrong < n && term > sum * 1e-17 {
            term *= (n - wrong) / (wrong + 1.0) * odds;
            sum += term;
            wrong += 1.0;
        }
        (sum, 1.0 - sum)
    } else {
        let (mut term, mut sum, mut wrong) = (at, at, k);
        while wrong > 0.0 && term > sum * 1e-17 {
            term *= wrong / ((n - wrong + 1.0) * odds);
            sum += term;
            wrong -= 1.0;
        }
        (1.0 - sum, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::super::normal::mean_over;
    use super::*;

    /// Coin tosses, computed by hand: more than one head of three, and no head of none.
    #[test]
    fn chances_are_those_of_the_binomial_distribution() {
        let (above, below) = chances(3, 1, 0.5);
        assert!((above - 0.5).abs() < 1e-12 && (below - 0.5).abs() < 1e-12);
        let (above, below) = chances(3, 1, 0.1);
        assert!((above - 0.028).abs() < 1e-12 && (below - 0.972).abs() < 1e-12);
        let (above, below) = chances(10, 0, 0.01);
        assert!((below - 0.99_f64.powi(10)).abs() < 1e-12 && (above + below - 1.0).abs() < 1e-12);
    }

    /// A BCH code over 1 KiB that corrects 72 bits has 14 parity bits per corrected bit.
    #[test]
    fn a_codeword_has_its_parity() {
        assert_eq!(bits_of(8192, 72), 8192 + 14 * 72);
        assert_eq!(bits_of(4096, 8), 4096 + 13 * 8);
    }

    #[test]
    fn pages_are_corrected_as_often_as_their_wrong_bits_allow() {
        let code = Code::new(8192, 72);
        assert!((libm::exp(code.middle()) / (72.67 / 9200.0) - 1.0).abs() < 1e-3);
        for rate in [5e-3, 7e-3, 7.9e-3, 9e-3] {
            let by_pages = mean_over(|z| f64::from(u8::from(libm::log(rate) > code.of(z))));
            let (above, _) = chances(9200, 72, rate);
            assert!((by_pages - above).abs() < 0.004, "{rate}: {by_pages} for {above}");
        }
        // Also far in the tail, where losses begin.
        let (above, _) = chances(9200, 72, 4e-3);
        let (low, high) = (code.of(-8.5), code.of(-2.0));
        assert!(low < libm::log(4e-3) && libm::log(4e-3) < high && above < 1e-7, "{above}");
        let quantile = (0..850).map(|it| -f64::from(it) / 100.0);
        let found = quantile.into_iter().find(|z| code.of(*z) < libm::log(4e-3)).unwrap();
        assert!(libm::log(chance_above(-found) / above).abs() < 0.1, "{found}: {above}");
    }

    #[test]
    fn what_corrects_more_never_costs_a_page() {
        let [weak, strong] = [40, 72].map(|corrects| Code::new(8192, corrects));
        for step in -80..80 {
            let z = f64::from(step) / 10.0;
            assert!(weak.of(z) < strong.of(z) && weak.of(z) < weak.of(z + 0.1), "{z}");
        }
    }
}
