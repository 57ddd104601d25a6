//! Random numbers from a hash: drives that differ in their failure rates.

use super::normal::{mix, of_hash};

/// A number sequence determined by a seed.
#[derive(Debug, Clone)]
pub struct Draws {
    seed: u64,
    count: u64,
}

impl Draws {
    /// A sequence from its start.
    pub fn new(seed: u64) -> Draws {
        Draws { seed, count: 0 }
    }

    /// A 64-bit number.
    pub fn word(&mut self) -> u64 {
        self.hash()
    }

    fn hash(&mut self) -> u64 {
        self.count += 1;
        mix(self.seed, self.count)
    }

    /// A number in (0, 1).
    pub fn unit(&mut self) -> f64 {
        ((self.hash() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// A number from 0 to `most` - 1.
    pub fn below(&mut self, most: u32) -> u32 {
        ((u128::from(self.hash()) * u128::from(most)) >> 64) as u32
    }

    /// An exponential variate with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// A gamma variate with mean 1 (Marsaglia and Tsang 2000; for shapes below 1 by a power of a
    /// uniform number).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = libm::pow(self.unit(), 1.0 / shape);
            return self.gamma(shape + 1.0) * (shape + 1.0) * boost / shape;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let z = of_hash(self.hash());
            let v = (1.0 + c * z).powi(3);
            if v > 0.0 && libm::log(self.unit()) < 0.5 * z * z + d - d * v + d * libm::log(v) {
                return d * v / shape;
            }
        }
    }

    /// A Poisson variate with this mean, from exponential intervals.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        const MOST: f64 = 1e4;
        if mean > MOST {
            // For large means the normal approximation is indistinguishable.
            return (mean + of_hash(self.hash()) * libm::sqrt(mean)).round() as u64;
        }
        let (mut count, mut at) = (0, self.exponential());
        while at < mean {
            count += 1;
            at += self.exponential();
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_variables_have_their_mean_and_variance() {
        for shape in [0.2, 0.45, 1.0, 5.0] {
            let of = |n: u64| Draws::new(n).gamma(shape);
            let all: Vec<f64> = (0..100_000).map(of).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let square = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
            let variance = square / all.len() as f64;
            assert!((mean - 1.0).abs() < 0.03, "{shape}: {mean}");
            assert!((variance * shape - 1.0).abs() < 0.06, "{shape}: {variance}");
        }
    }

    #[test]
    fn counts_have_their_mean() {
        for mean in [0.1, 3.0, 200.0, 1e5] {
            let of = |n: u64| Draws::new(n).poisson(mean) as f64;
            let found = (0..20_000).map(of).sum::<f64>() / 20_000.0;
            assert!((found / mean - 1.0).abs() < 0.08, "{mean}: {found}");
        }
    }
}
