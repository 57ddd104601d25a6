//! A permutation of the numbers below a bound, in constant memory.
//!
//! It visits every block once in a pseudo-random order, or scatters ranks over addresses. It is not
//! cryptographically secure.

use engine::{Random, Xoshiro256};

/// Half rounds of the Feistel network; with four, neighbours are already far apart.
const HALF_ROUNDS: usize = 6;

/// A bijection of 0..bound, chosen by random keys.
///
/// An alternating Feistel network permutes the numbers of the minimum number of bits. Results
/// beyond the bound are permuted again until they are below ("cycle walking": Black and Rogaway,
/// "Ciphers with arbitrary finite domains", CT-RSA 2002). Fewer than two rounds are needed on
/// average.
#[derive(Debug, Clone)]
pub(crate) struct Permutation {
    bound: u64,
    low_bits: u32,
    high_bits: u32,
    keys: [u64; HALF_ROUNDS],
}

impl Permutation {
    /// A permutation of 0..`bound`, which must not be 0.
    pub(crate) fn new(bound: u64, random: &mut Xoshiro256) -> Self {
        assert!(bound > 0, "there is nothing to permute");
        let bits = (u64::BITS - (bound - 1).leading_zeros()).max(2);
        let keys = std::array::from_fn(|_| random.below(u64::MAX));
        Permutation { bound, low_bits: bits / 2, high_bits: bits - bits / 2, keys }
    }

    /// Size of the permuted range.
    pub(crate) fn bound(&self) -> u64 {
        self.bound
    }

    /// Image of `index`; both are below the bound.
    pub(crate) fn apply(&self, index: u64) -> u64 {
        assert!(index < self.bound, "index {index} is not below {}", self.bound);
        let mut value = index;
        loop {
            value = self.walk(value);
            if value < self.bound {
                return value;
            }
        }
    }

    fn walk(&self, value: u64) -> u64 {
        let mut low = value & ((1 << self.low_bits) - 1);
        let mut high = value >> self.low_bits;
        for pair in self.keys.chunks_exact(2) {
            high ^= scramble(low ^ pair[0]) >> (u64::BITS - self.high_bits);
            low ^= scramble(high ^ pair[1]) >> (u64::BITS - self.low_bits);
        }
        high << self.low_bits | low
    }
}

/// A bijection of 64 bits in which every input bit affects the high bits of the result: the
/// finalizer of `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) fn scramble(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(bound: u64, seed: u64) -> Vec<u64> {
        let permutation = Permutation::new(bound, &mut Xoshiro256::new(seed, 0));
        (0..bound).map(|index| permutation.apply(index)).collect()
    }

    #[test]
    fn a_permutation_visits_every_number_once() {
        for bound in [1, 2, 3, 4, 5, 7, 8, 9, 100, 1023, 1024, 1025, 70_000] {
            let mut met = order(bound, bound);
            met.sort_unstable();
            assert_eq!(met, (0..bound).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_order_looks_random_and_depends_on_the_keys() {
        let bound = 1 << 16;
        let (one, two) = (order(bound, 1), order(bound, 2));
        assert_ne!(one, two);
        // Steps between neighbours: in a random order a quarter of them rise by less than a quarter
        // of the bound.
        let near = one.windows(2).filter(|w| w[1].wrapping_sub(w[0]) % bound < bound / 4).count();
        assert!((15_900..16_900).contains(&near), "{near} of 65535");
        let rising = one.windows(2).filter(|w| w[1] > w[0]).count();
        assert!((32_300..33_300).contains(&rising), "{rising} of 65535");
        // A random permutation has one fixed point on average.
        let fixed = one.iter().enumerate().filter(|(i, value)| *i as u64 == **value).count();
        assert!(fixed < 8, "{fixed}");
    }
}
