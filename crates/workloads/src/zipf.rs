//! Ranks drawn from Zipf's law, exactly, in constant memory and time.

use engine::{Random, Xoshiro256};

/// Ranks 0..n with probabilities in proportion to (rank + 1)^-theta, for any theta >= 0.
///
/// Rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates
/// from monotone discrete distributions", ACM TOMACS 6(3), 1996. The law is exact, and fewer than
/// 1.1 draws are needed on average. Names are as in the paper.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    n: f64,
    theta: f64,
    h_x1: f64,
    h_n: f64,
    s: f64,
}

impl Zipf {
    pub(crate) fn new(n: u64, theta: f64) -> Self {
        assert!(n > 0 && theta >= 0.0, "no law of Zipf: {n}, {theta}");
        let mut zipf = Zipf { n: n as f64, theta, h_x1: 0.0, h_n: 0.0, s: 0.0 };
        zipf.h_x1 = zipf.h_integral(1.5) - 1.0;
        zipf.h_n = zipf.h_integral(zipf.n + 0.5);
        zipf.s = 2.0 - zipf.h_integral_inverse(zipf.h_integral(2.5) - zipf.h(2.0));
        zipf
    }

    /// Draws a rank; 0 is the most frequent.
    pub(crate) fn rank(&self, random: &mut Xoshiro256) -> u64 {
        loop {
            let u = self.h_n + random.unit() * (self.h_x1 - self.h_n);
            let x = self.h_integral_inverse(u);
            let k = libm::floor(x + 0.5).clamp(1.0, self.n);
            if k - x <= self.s || u >= self.h_integral(k + 0.5) - self.h(k) {
                return k as u64 - 1;
            }
        }
    }

    /// x^-theta.
    fn h(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// The integral of [`h`](Zipf::h): (x^(1 - theta) - 1) / (1 - theta), or its limit ln x.
    fn h_integral(&self, x: f64) -> f64 {
        let log_x = libm::log(x);
        expm1_over((1.0 - self.theta) * log_x) * log_x
    }

    fn h_integral_inverse(&self, y: f64) -> f64 {
        // Rounding may move the argument below the pole.
        let t = (y * (1.0 - self.theta)).max(-1.0);
        libm::exp(log1p_over(t) * y)
    }
}

/// (e^x - 1) / x, accurate near 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::expm1(x) / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0) }
}

/// ln(1 + x) / x, accurate near 0.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::log1p(x) / x } else { 1.0 - x * (0.5 - x / 3.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_law() {
        for (n, theta) in [
            (1, 1.2),
            (2, 0.5),
            (100, 0.0),
            (100, 0.5),
            (100, 0.99),
            (100, 1.0),
            (50, 1.2),
            (9, 3.0),
        ] {
            let zipf = Zipf::new(n, theta);
            let mut random = Xoshiro256::new(5, 0);
            let draws = 400_000;
            let mut counts = vec![0u32; n as usize];
            for _ in 0..draws {
                counts[zipf.rank(&mut random) as usize] += 1;
            }
            let weights: Vec<f64> = (1..=n).map(|k| libm::pow(k as f64, -theta)).collect();
            let total: f64 = weights.iter().sum();
            let chi: f64 = counts
                .iter()
                .zip(&weights)
                .map(|(count, weight)| {
                    let expected = f64::from(draws) * weight / total;
                    (f64::from(*count) - expected) * (f64::from(*count) - expected) / expected
                })
                .sum();
            // Chi-square of n - 1 degrees of freedom: five deviations above its mean.
            let limit = n as f64 + 5.0 * libm::sqrt(2.0 * n as f64);
            assert!(chi < limit, "n {n}, theta {theta}: chi-square {chi} above {limit}");
        }
    }

    #[test]
    fn large_ranges_have_the_right_head_and_tail() {
        // Of 10^9 ranks with theta 1, the first 10^4 have logarithmic shares: H(10^4) / H(10^9).
        let zipf = Zipf::new(1_000_000_000, 1.0);
        let mut random = Xoshiro256::new(6, 0);
        let draws = 200_000;
        let head = (0..draws).filter(|_| zipf.rank(&mut random) < 10_000).count();
        let share = 9.787_606 / 21.300_482;
        let expected = f64::from(draws) * share;
        assert!((head as f64 - expected).abs() < 1_200.0, "{head} of {expected}");
    }
}
