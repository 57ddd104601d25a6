//! Division by a run-time constant, as a multiplication.

/// Divides numbers whose product with the divisor is below 2^64, such as 32-bit numbers.
///
/// With m = floor(2^64 / d) + 1, the high half of n m is n / d if n d < 2^64: the error of m is at
/// most 1, so the product's is at most n / 2^64, below the critical 1 / d.
#[derive(Debug, Clone, Copy)]
pub struct Divisor {
    divisor: u32,
    multiplier: u64,
}

impl Divisor {
    /// A divisor; it must be positive.
    pub fn new(divisor: u32) -> Self {
        // For 1 the multiplier would be 2^64; `quotient` handles this case.
        Divisor { divisor, multiplier: (u64::MAX / u64::from(divisor)).wrapping_add(1) }
    }

    /// n / d, rounded down.
    #[inline]
    pub fn quotient(self, n: u64) -> u64 {
        debug_assert!(n.checked_mul(u64::from(self.divisor)).is_some());
        if self.divisor == 1 {
            return n;
        }
        ((u128::from(n) * u128::from(self.multiplier)) >> 64) as u64
    }

    /// Remainder of n.
    #[inline]
    pub fn remainder(self, n: u64) -> u32 {
        (n - self.quotient(n) * u64::from(self.divisor)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;
    use proptest::prelude::*;

    #[test]
    fn edges_are_exact() {
        for d in [1, 2, 3, 7, 63, 64, 65, 641, 65_535, 65_537, u32::MAX - 1, u32::MAX] {
            for n in [0, 1, d - 1, d, d.wrapping_add(1), u32::MAX - 1, u32::MAX] {
                assert_eq!(Divisor::new(d).quotient(n.into()), u64::from(n / d), "{n} / {d}");
                assert_eq!(Divisor::new(d).remainder(n.into()), n % d, "{n} % {d}");
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_division(n in 0..1u64 << 40, d in 1..=1u32 << 24, small in 1u32..100_000) {
            for d in [d, small] {
                prop_assert_eq!(Divisor::new(d).quotient(n), n / u64::from(d));
            }
            // Rounding errors would show at multiples and their neighbours.
            let multiple = n / u64::from(small) * u64::from(small);
            prop_assert_eq!(Divisor::new(small).quotient(multiple), multiple / u64::from(small));
            prop_assert_eq!(Divisor::new(small).remainder(multiple), 0);
            if let Some(below) = multiple.checked_sub(1) {
                prop_assert_eq!(Divisor::new(small).remainder(below), small - 1);
            }
        }

        #[test]
        fn agrees_with_division_of_32_bits(n: u32, d in 1..=u32::MAX) {
            prop_assert_eq!(Divisor::new(d).quotient(n.into()), u64::from(n / d));
        }
    }
}
