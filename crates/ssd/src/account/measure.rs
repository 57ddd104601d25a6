//! The units of counts.

use crate::shape::Granule;

/// Measures: the unit of a count, and the factor between a report and the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Pages of the flash.
    FlashPages,
    /// Logical pages, reported as pages of the flash.
    LogicalPages,
    /// Pages of the flash, one in each package over which a logical page is spread.
    WidePages,
    /// Bytes.
    Bytes,
    /// Blocks as wide as a logical page is spread, reported as blocks of one package.
    WideBlocks,
    /// Groups of pages that are programmed at once.
    Groups,
    /// A number of events.
    Times,
}

impl Measure {
    /// The unit in reports.
    pub fn unit(self) -> &'static str {
        match self {
            Measure::FlashPages | Measure::LogicalPages | Measure::WidePages => "flash pages",
            Measure::Bytes => "bytes",
            Measure::WideBlocks => "blocks",
            Measure::Groups => "groups",
            Measure::Times => "times",
        }
    }

    /// A count in reported units.
    pub fn reported(self, count: u64, granule: Granule) -> u64 {
        match self {
            Measure::FlashPages | Measure::Bytes | Measure::Groups | Measure::Times => count,
            Measure::LogicalPages => count * u64::from(granule.flash_pages),
            Measure::WidePages | Measure::WideBlocks => count * u64::from(granule.span),
        }
    }
}
