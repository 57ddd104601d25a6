//! Scaling of time by a constant factor, exactly and equal on every machine.
//!
//! The factor's exact binary value is multiplied in integers, so the only rounding is to the
//! nearest nanosecond. Scaled absolute times keep their order, and errors do not accumulate.

use engine::Time;

/// A factor above 0 on absolute times: `mantissa * 2^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeScale {
    mantissa: u64,
    exponent: i32,
}

impl TimeScale {
    /// The neutral factor.
    const ONE: TimeScale = TimeScale { mantissa: 1 << 52, exponent: -52 };

    /// The factor; `None` unless it is finite and above 0.
    pub(crate) fn new(factor: f64) -> Option<Self> {
        if !(factor.is_finite() && factor > 0.0) {
            return None;
        }
        // IEEE 754 binary64: 11 bits of exponent over 52 of fraction; the leading 1 is implied
        // except for subnormal numbers.
        let bits = factor.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let exponent = (bits >> 52) as i32;
        Some(match exponent {
            0 => TimeScale { mantissa: fraction, exponent: -1074 },
            _ => TimeScale { mantissa: fraction | (1 << 52), exponent: exponent - 1075 },
        })
    }

    /// `time` multiplied by the factor, to the nearest ns; `None` beyond the range of [`Time`].
    #[inline]
    pub(crate) fn apply(self, time: Time) -> Option<Time> {
        if self == TimeScale::ONE {
            return Some(time);
        }
        // At most 64 + 53 bits, so adding a half below cannot overflow.
        let product = u128::from(time) * u128::from(self.mantissa);
        let scaled = match self.exponent {
            0.. if product == 0 => 0,
            0.. if (self.exponent as u32) < product.leading_zeros() => product << self.exponent,
            0.. => return None,
            ..-127 => 0,
            _ => {
                let shift = self.exponent.unsigned_abs();
                (product + (1 << (shift - 1))) >> shift
            }
        };
        Time::try_from(scaled).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_rounds_once_to_the_nearest() {
        let rows = [
            (1.0, 12_345, Some(12_345)),
            (1.0, u64::MAX, Some(u64::MAX)),
            (0.5, 7, Some(4)),
            (0.25, 9, Some(2)),
            (0.1, 1_000_000_000_000_000_000, Some(100_000_000_000_000_006)),
            (3.0, 5, Some(15)),
            (1e20, 0, Some(0)),
            (1e20, 1, None),
            (2.0, u64::MAX, None),
            (1e-300, u64::MAX, Some(0)),
            (f64::MIN_POSITIVE / 4.0, u64::MAX, Some(0)),
            (1e-18, 2_000_000_000_000_000_000, Some(2)),
        ];
        for (factor, time, scaled) in rows {
            assert_eq!(TimeScale::new(factor).unwrap().apply(time), scaled, "{time} * {factor}");
        }
    }

    #[test]
    fn only_positive_finite_factors() {
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(TimeScale::new(factor), None);
        }
    }
}
