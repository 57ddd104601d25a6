//! Spare space in open reclaim units.

/// Mean share of an open unit that is lost to effective spare space: an open unit is half filled,
/// and its superseded pages cannot be reclaimed yet. Measured with an untimed model: 0.59, 0.64 and
/// 0.66.
pub const TAKEN_BY_OPEN: f64 = 0.6;

/// Share of the spare space in open units above which placement probably costs more than it saves.
pub const MOST_TAKEN: f64 = 0.2;

/// Spare space in open reclaim units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpareInOpen {
    /// Maximum number of open units in excess of a drive without FDP.
    pub open: u32,
    /// Spare space, in units.
    pub spare: f64,
    /// Share of the spare space in those units.
    pub share: f64,
    /// Maximum number of handles within [`MOST_TAKEN`]; at least 1.
    pub fitting: u32,
}
