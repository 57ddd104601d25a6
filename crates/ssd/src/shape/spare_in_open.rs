//! Spare space in open reclaim units.

/// Reclaim units that each open one takes from the spare space in effect, on average: an open unit is filled by half,
/// and what it holds of superseded pages cannot be cleaned yet. Measured with an untimed model: 0.59, 0.64 and 0.66.
pub const TAKEN_BY_OPEN: f64 = 0.6;

/// Share of the spare space in open units above which placement probably costs more than it gains.
pub const MOST_TAKEN: f64 = 0.2;

/// Spare space in open reclaim units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpareInOpen {
    /// Maximum open units beyond those without FDP.
    pub open: u32,
    /// Spare space, in units.
    pub spare: f64,
    /// Their share of the spare space.
    pub share: f64,
    /// Maximum handles within [`MOST_TAKEN`]; at least 1.
    pub fitting: u32,
}
