//! The normal distribution, accurate far into the tails: losses start at six standard deviations,
//! where tables and sums of uniform numbers end.

use std::f64::consts::FRAC_1_SQRT_2;

/// Polynomials of Wichura's AS 241 (PPND16), lowest power first; relative error about 1e-16.
const CENTRE: [f64; 8] = [
    3.387_132_872_796_366_5,
    133.141_667_891_784_38,
    1_971.590_950_306_551_3,
    13_731.693_765_509_46,
    45_921.953_931_549_87,
    67_265.770_927_008_7,
    33_430.575_583_588_13,
    2_509.080_928_730_122_7,
];
const CENTRE_BELOW: [f64; 8] = [
    1.0,
    42.313_330_701_600_91,
    687.187_007_492_057_9,
    5_394.196_021_424_751,
    21_213.794_301_586_597,
    39_307.895_800_092_71,
    28_729.085_735_721_943,
    5_226.495_278_852_854,
];
const FLANK: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    0.241_780_725_177_450_6,
    0.022_723_844_989_269_184,
    7.745_450_142_783_414e-4,
];
const FLANK_BELOW: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    0.689_767_334_985_1,
    0.148_103_976_427_480_08,
    0.015_198_666_563_616_457,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];
const TAIL: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    0.296_560_571_828_504_87,
    0.026_532_189_526_576_124,
    0.001_242_660_947_388_078_4,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const TAIL_BELOW: [f64; 8] = [
    1.0,
    0.599_832_206_555_888,
    0.136_929_880_922_735_8,
    0.014_875_361_290_850_615,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_7e-5,
    1.421_511_758_316_446e-7,
    2.044_263_103_389_939_8e-15,
];

fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, it| sum * x + it)
}

/// Value that a standard normal variable exceeds with this probability, which is above 0 and at
/// most 1/2.
fn upper(chance: f64) -> f64 {
    let q = 0.5 - chance;
    if q <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTRE, r) / polynomial(&CENTRE_BELOW, r);
    }
    let r = libm::sqrt(-libm::log(chance));
    if r <= 5.0 {
        return polynomial(&FLANK, r - 1.6) / polynomial(&FLANK_BELOW, r - 1.6);
    }
    polynomial(&TAIL, r - 5.0) / polynomial(&TAIL_BELOW, r - 5.0)
}

/// Value that a standard normal variable exceeds with this probability.
pub fn exceeded_with(chance: f64) -> f64 {
    if chance <= 0.5 { upper(chance) } else { -upper(1.0 - chance) }
}

/// Probability that a standard normal variable exceeds a value.
pub fn chance_above(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// Normal quantile of a 64-bit hash: ascending, with the hash's resolution in both tails.
pub fn of_hash(hash: u64) -> f64 {
    // Midpoint of the hash's interval, counted from the nearer end.
    let share = |steps: u64| (steps as f64 + 0.5) / 18_446_744_073_709_551_616.0;
    if hash >> 63 == 0 { -upper(share(hash)) } else { upper(share(!hash)) }
}

/// Tabulated quantiles of hashes: exact at the points and in both tails, where losses begin;
/// otherwise linear interpolation with an error below 1e-4.
#[derive(Debug, Clone)]
pub struct Quantiles(Box<[f64; (1 << POINT_BITS) + 1]>);

/// Bits of a hash that select a table point, and number of tail points at each end.
const POINT_BITS: u32 = 12;
const TAIL_POINTS: usize = 32;

impl Quantiles {
    /// The table; the last point belongs to the largest hash.
    pub fn new() -> Quantiles {
        let last = 1_u64 << POINT_BITS;
        let hash = |point: u64| if point < last { point << (64 - POINT_BITS) } else { u64::MAX };
        Quantiles(Box::new(std::array::from_fn(|point| of_hash(hash(point as u64)))))
    }

    /// Quantile of a hash.
    #[inline]
    pub fn of_hash(&self, hash: u64) -> f64 {
        let point = (hash >> (64 - POINT_BITS)) as usize;
        if point < TAIL_POINTS || point + TAIL_POINTS >= 1 << POINT_BITS {
            return of_hash(hash);
        }
        let part = (hash << POINT_BITS) as f64 / 18_446_744_073_709_551_616.0;
        let [low, high] = [self.0[point], self.0[point + 1]];
        low + (high - low) * part
    }
}

/// The finalizer of `SplitMix64`.
#[inline]
fn stir(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A hash of two numbers with full avalanche.
#[inline]
pub fn mix(a: u64, b: u64) -> u64 {
    mix_into(stirred(a), b)
}

/// Precomputed half of a hash.
#[inline]
pub fn stirred(a: u64) -> u64 {
    stir(a.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// Hash of a precomputed half and another number.
#[inline]
pub fn mix_into(stirred: u64, b: u64) -> u64 {
    stir(stirred ^ b.wrapping_mul(0xd6e8_feb8_6659_fd93))
}

/// Mean of a function of a standard normal variable, by Simpson's rule from -12 to 12.
pub fn mean_over(of: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 4800;
    const REACH: f64 = 12.0;
    let width = 2.0 * REACH / f64::from(STEPS);
    let density = |z: f64| libm::exp(-0.5 * z * z) / libm::sqrt(std::f64::consts::TAU);
    let value = |step: u32| {
        let z = f64::from(step) * width - REACH;
        let weight = match step {
            0 | STEPS => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * density(z) * of(z)
    };
    (0..=STEPS).map(value).sum::<f64>() * width / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tail_probability_also_far_out() {
        for z in [0.0, 0.1, 0.5, 1.0, 1.6, 2.0, 3.0, 5.0, 6.3, 7.5, 9.0] {
            let back = exceeded_with(chance_above(z));
            assert!((back - z).abs() < 1e-9 * (1.0 + z), "{z}: {back}");
            let below = exceeded_with(1.0 - chance_above(z));
            assert!(z > 5.0 || (below + z).abs() < 1e-6, "{z}: {below}");
        }
        // Tables of the normal distribution.
        assert!((exceeded_with(0.025) - 1.959_963_984_540_054).abs() < 1e-12);
        assert!((exceeded_with(1e-9) - 5.997_807_015_007_686).abs() < 1e-10);
    }

    #[test]
    fn quantiles_of_hashes_ascend_and_are_normal() {
        let mut before = f64::NEG_INFINITY;
        for step in 0..4096_u64 {
            let z = of_hash(step << 52 | 0x8_0000_0000_0000);
            assert!(z > before, "{step}");
            before = z;
        }
        assert!(of_hash(0) < -9.0 && of_hash(u64::MAX) > 9.0);
        let all: Vec<f64> = (0..200_000).map(|n| of_hash(mix(7, n))).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let square = all.iter().map(|z| z * z).sum::<f64>() / all.len() as f64;
        assert!(mean.abs() < 0.01 && (square - 1.0).abs() < 0.02, "{mean} {square}");
        let beyond = all.iter().filter(|z| **z > 2.0).count() as f64 / all.len() as f64;
        assert!((beyond / chance_above(2.0) - 1.0).abs() < 0.05, "{beyond}");
    }

    #[test]
    fn means_over_the_normal_distribution_are_exact() {
        assert!((mean_over(|z| libm::exp(0.3 * z)) - libm::exp(0.045)).abs() < 1e-9);
        let tail = mean_over(|z| f64::from(u8::from(z > 1.0)));
        assert!((tail / chance_above(1.0) - 1.0).abs() < 0.01, "{tail}");
    }

    #[test]
    fn a_table_ascends_with_the_hash_and_is_exact_in_its_tails() {
        let table = Quantiles::new();
        let mut before = f64::NEG_INFINITY;
        for step in 0..200_000_u64 {
            let hash = step * (u64::MAX / 200_000) + step;
            let (found, exact) = (table.of_hash(hash), of_hash(hash));
            assert!((found - exact).abs() < 1e-4, "{hash}: {found} and not {exact}");
            assert!(found >= before, "{hash}");
            before = found;
        }
        for hash in [0, 1, 1 << 40, u64::MAX >> 8, u64::MAX - 5, u64::MAX] {
            assert_eq!(table.of_hash(hash).to_bits(), of_hash(hash).to_bits());
        }
    }
}
