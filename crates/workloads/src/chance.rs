//! Decisions with a given probability, cheap enough for every request.

/// A random decision with a given probability, made from 31 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chance {
    Never,
    Always,
    Below(u64),
}

impl Chance {
    /// Bits consumed by one decision.
    pub(crate) const BITS: u32 = 31;

    pub(crate) fn new(share: f64) -> Self {
        if share <= 0.0 {
            Chance::Never
        } else if share >= 1.0 {
            Chance::Always
        } else {
            Chance::Below((share * f64::from(1u32 << Self::BITS)).round() as u64)
        }
    }

    pub(crate) fn needs_bits(self) -> bool {
        matches!(self, Chance::Below(_))
    }

    pub(crate) fn decide(self, bits: u64) -> bool {
        match self {
            Chance::Never => false,
            Chance::Always => true,
            Chance::Below(limit) => bits < limit,
        }
    }
}
