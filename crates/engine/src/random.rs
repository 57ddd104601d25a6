//! Seeded random numbers with fixed generators, and the distributions of workloads.
//!
//! Results are reproducible on every machine: the generators use integer arithmetic, and
//! transcendental functions come from `libm` (pure Rust) instead of the platform.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// A source of uniform numbers.
pub trait Random {
    /// A uniform number in [0, 1).
    fn unit(&mut self) -> f64;

    /// A uniform integer in [0, `bound`); `bound` must be positive.
    fn below(&mut self, bound: u64) -> u64;
}

/// The default generator: xoshiro256++ (Blackman and Vigna), seeded through `SplitMix64`.
///
/// A saved generator continues its sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Xoshiro256PlusPlus")]
pub struct Xoshiro256(Xoshiro256PlusPlus);

impl TryFrom<Xoshiro256PlusPlus> for Xoshiro256 {
    type Error = &'static str;

    /// Rejects the all-zero state, which the generator never reaches and never leaves.
    fn try_from(generator: Xoshiro256PlusPlus) -> Result<Self, Self::Error> {
        let mut next = generator.clone();
        next.next_u64();
        if next == generator { Err("a generator that stands still") } else { Ok(Self(generator)) }
    }
}

impl Xoshiro256 {
    /// Generator for one purpose (`stream`) of one experiment (`seed`).
    ///
    /// Streams keep purposes independent: more draws for one do not shift another.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..stream {
            generator.jump();
        }
        Xoshiro256(generator)
    }
}

impl Random for Xoshiro256 {
    #[inline]
    fn unit(&mut self) -> f64 {
        // The 53 high bits, the precision of a double.
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        // Multiply-shift (Lemire 2019) without rejection: the bias is below bound / 2^64.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// The 48-bit linear congruential generator of C's `drand48` (POSIX). `DiskSim` draws its synthetic
/// requests from it, so its published streams can be regenerated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drand48(u64);

impl Drand48 {
    /// Seeds as `srand48` does.
    pub fn new(seed: u32) -> Self {
        Drand48((u64::from(seed) << 16) | 0x330E)
    }
}

impl Random for Drand48 {
    fn unit(&mut self) -> f64 {
        const MASK: u64 = (1 << 48) - 1;
        self.0 = self.0.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & MASK;
        self.0 as f64 / (1u64 << 48) as f64
    }

    fn below(&mut self, bound: u64) -> u64 {
        // 48 bits cannot cover a range above 2^48, which no drive has.
        (self.unit() * bound as f64) as u64
    }
}

/// A distribution of one real number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Always the same value.
    Constant(f64),
    /// Uniform between `low` and `high`.
    Uniform {
        /// Lower bound, included.
        low: f64,
        /// Upper bound, excluded.
        high: f64,
    },
    /// `base` plus an exponential variate.
    Exponential {
        /// Smallest value.
        base: f64,
        /// Mean above the base.
        mean: f64,
    },
    /// The normal distribution.
    Normal {
        /// Centre.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// `base` plus a Poisson variate.
    Poisson {
        /// Smallest value.
        base: f64,
        /// Mean above the base.
        mean: f64,
    },
}

impl Distribution {
    /// Draws one value; normal draws may be negative.
    pub fn sample(&self, random: &mut dyn Random) -> f64 {
        match *self {
            Distribution::Constant(value) => value,
            Distribution::Uniform { low, high } => (high - low) * random.unit() + low,
            Distribution::Exponential { base, mean } => {
                base - mean * libm::log(1.0 - random.unit())
            }
            Distribution::Normal { mean, deviation } => mean + deviation * standard_normal(random),
            Distribution::Poisson { base, mean } => base + poisson(mean, random),
        }
    }
}

/// Box-Muller transform; the second variate is dropped, so that draws do not depend on earlier
/// ones.
fn standard_normal(random: &mut dyn Random) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.unit()));
    radius * libm::cos(std::f64::consts::TAU * random.unit())
}

/// Knuth's product method, in steps small enough that exp(-mean) does not underflow.
fn poisson(mean: f64, random: &mut dyn Random) -> f64 {
    const PIECE: f64 = 256.0;
    let mut left = mean;
    let mut count = 0.0;
    while left > 0.0 {
        let limit = libm::exp(-left.min(PIECE));
        left -= PIECE;
        let mut product = random.unit();
        while product > limit {
            count += 1.0;
            product *= random.unit();
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_are_pinned() {
        let mut random = Xoshiro256::new(42, 0);
        let drawn: Vec<u64> = (0..4).map(|_| random.below(1_000_000)).collect();
        let mut again = Xoshiro256::new(42, 0);
        assert_eq!(drawn, (0..4).map(|_| again.below(1_000_000)).collect::<Vec<_>>());
        assert_eq!(drawn, PINNED, "the generator changed: every result would change with it");
    }
    const PINNED: [u64; 4] = [814_305, 318_821, 983_894, 701_135];

    #[test]
    fn a_generator_that_was_kept_goes_on() {
        let mut random = Xoshiro256::new(42, 9);
        random.unit();
        let kept = serde_json::to_string(&random).unwrap();
        let mut again: Xoshiro256 = serde_json::from_str(&kept).unwrap();
        assert!((0..9).all(|_| random.below(u64::MAX) == again.below(u64::MAX)));
        let digits = |c: char| c.is_ascii_digit();
        let zeroes = kept.split_inclusive(|c| !digits(c)).map(|word| {
            let end = word.trim_end_matches(|c| !digits(c)).len();
            if end > 1 { format!("0{}", &word[end..]) } else { word.to_owned() }
        });
        let zeroes: String = zeroes.collect();
        let refused = serde_json::from_str::<Xoshiro256>(&zeroes).unwrap_err().to_string();
        assert!(refused.contains("stands still"), "{zeroes}: {refused}");
    }

    #[test]
    fn drand48_is_the_c_library_s() {
        // srand48(42); drand48() on glibc.
        let mut random = Drand48::new(42);
        assert!((random.unit() - 0.744_525_000_061_006_6).abs() < 1e-12);
        assert!((random.unit() - 0.342_701_478_718_908).abs() < 1e-12);
    }

    #[test]
    fn streams_differ() {
        let draw = |stream| Xoshiro256::new(1, stream).below(u64::MAX);
        assert_ne!(draw(0), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn distributions_have_their_moments() {
        let cases = [
            (Distribution::Constant(7.0), 7.0, 0.0),
            (Distribution::Uniform { low: 2.0, high: 4.0 }, 3.0, 4.0 / 12.0),
            (Distribution::Exponential { base: 1.0, mean: 8.0 }, 9.0, 64.0),
            (Distribution::Normal { mean: -3.0, deviation: 2.0 }, -3.0, 4.0),
            (Distribution::Poisson { base: 10.0, mean: 0.5 }, 10.5, 0.5),
            (Distribution::Poisson { base: 0.0, mean: 700.0 }, 700.0, 700.0),
        ];
        for (distribution, mean, variance) in cases {
            let mut random = Xoshiro256::new(3, 0);
            let n = 200_000;
            let draws: Vec<f64> = (0..n).map(|_| distribution.sample(&mut random)).collect();
            let m = draws.iter().sum::<f64>() / f64::from(n);
            let v = draws.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / f64::from(n);
            assert!((m - mean).abs() < 0.01 * (1.0 + mean.abs()), "{distribution:?}: mean {m}");
            assert!((v - variance).abs() < 0.02 * (0.1 + variance), "{distribution:?}: var {v}");
        }
    }
}
