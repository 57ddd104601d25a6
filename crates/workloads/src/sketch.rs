//! Approximate count of distinct pages, in fixed memory.
//!
//! A `HyperLogLog` sketch (Flajolet et al., 2007), which merges without loss. Counts are within about 1 %.

/// Registers of a sketch: 1.04 / sqrt(2^14) is a standard error of 0.8 %.
const REGISTER_BITS: u32 = 14;
const REGISTERS: usize = 1 << REGISTER_BITS;

/// Counts distinct pages of several devices.
#[derive(Debug, Clone)]
pub struct Sketch(Vec<u8>);

impl Default for Sketch {
    fn default() -> Self {
        Sketch(vec![0; REGISTERS])
    }
}

impl Sketch {
    /// Records the pages of a device from `first` to before `end`.
    pub fn insert(&mut self, device: u32, first: u64, end: u64) {
        (first..end).for_each(|page| self.add(hash(device, page)));
    }

    fn add(&mut self, hash: u64) {
        let register = (hash >> (64 - REGISTER_BITS)) as usize;
        // A guard bit after the hash bits limits the rank.
        let rank = ((hash << REGISTER_BITS) | (1 << (REGISTER_BITS - 1))).leading_zeros() + 1;
        self.0[register] = self.0[register].max(rank as u8);
    }

    /// Merges another sketch.
    pub fn merge(&mut self, other: &Sketch) {
        for (rank, other) in self.0.iter_mut().zip(&other.0) {
            *rank = (*rank).max(*other);
        }
    }

    /// Approximate number of distinct pages: the estimate of O. Ertl, "New cardinality estimation
    /// algorithms for `HyperLogLog` sketches" (2017), section 4, which needs no correction for
    /// small counts.
    pub fn count(&self) -> f64 {
        let registers = REGISTERS as f64;
        let (mut zeros, mut sum) = (0_u32, 0.0);
        for rank in &self.0 {
            match rank {
                0 => zeros += 1,
                _ => sum += 1.0 / (1_u64 << rank) as f64,
            }
        }
        let scale = 1.0 / (2.0 * std::f64::consts::LN_2);
        scale * registers * registers / (registers * sigma(f64::from(zeros) / registers) + sum)
    }
}

/// x + the sum of x^(2^k) 2^(k-1) for k from 1.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut sum, mut factor, mut before) = (x, 1.0, f64::NAN);
    while sum.to_bits() != f64::to_bits(before) {
        before = sum;
        x *= x;
        sum += x * factor;
        factor *= 2.0;
    }
    sum
}

/// A number whose bits depend on all bits of the page (the finaliser of `SplitMix64`).
fn hash(device: u32, page: u64) -> u64 {
    let mixed = page ^ u64::from(device).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = mixed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
