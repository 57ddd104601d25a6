//! The unit of placements and footprints.

/// Sectors in a page of 4 KiB, to which scaled and shared addresses are aligned.
pub(crate) const PAGE_SECTORS: u64 = 8;
