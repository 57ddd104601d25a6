//! Bugs that can be planted, to verify that the search finds them. Without the feature
//! `planted`, which no product has, there are none.

/// A mistake in what a drive does about power cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// Copies are distinguished by the number of their block alone.
    BlockNumberOnly = 1,
    /// A block is erased while what supersedes its pages is being programmed.
    NoEraseBarrier,
    /// Trims are not recorded.
    NoTrimRecords,
    /// A block is programmed on behind a torn page.
    ProgramsOn,
    /// A torn page that reads is taken for whole, and not written anew.
    TornIsWhole,
    /// A summary is believed though its checksum is wrong.
    NoChecksum,
    /// The record of a start is not written.
    NoBootRecord,
    /// A page counts when one of its lanes has it.
    OneLaneEnough,
    /// A checkpoint is believed that was written in part.
    HalfCheckpoint,
    /// The copy of a page is forgotten that was made before the other page of its cells was programmed.
    LowerForgotten,
}

impl Bug {
    /// Every one.
    pub const ALL: [Bug; 10] = [
        Bug::BlockNumberOnly,
        Bug::NoEraseBarrier,
        Bug::NoTrimRecords,
        Bug::ProgramsOn,
        Bug::TornIsWhole,
        Bug::NoChecksum,
        Bug::NoBootRecord,
        Bug::OneLaneEnough,
        Bug::HalfCheckpoint,
        Bug::LowerForgotten,
    ];

    /// Whether it is planted.
    #[cfg(feature = "planted")]
    #[inline]
    pub fn is_planted(self) -> bool {
        PLANTED.get() == self as u8
    }

    /// Whether it is planted: never.
    #[cfg(not(feature = "planted"))]
    #[inline]
    pub fn is_planted(self) -> bool {
        false
    }
}

#[cfg(feature = "planted")]
thread_local! {
    static PLANTED: std::cell::Cell<u8> = const { std::cell::Cell::new(0) };
}

/// Plants a mistake in the drives of this thread, or none.
#[cfg(feature = "planted")]
pub fn plant(bug: Option<Bug>) {
    PLANTED.set(bug.map_or(0, |bug| bug as u8));
}
