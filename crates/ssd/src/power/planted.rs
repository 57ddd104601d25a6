//! Bugs that can be planted, to verify that the search finds them. Without the feature `planted`,
//! which no product has, there are none.

planted! {
    /// A planted mistake in recovery from power cuts.
    pub enum Bug {
        /// Copies are distinguished by block number alone.
        BlockNumberOnly,
        /// A block is erased while the successors of its pages are being programmed.
        NoEraseBarrier,
        /// Trims are not recorded.
        NoTrimRecords,
        /// A block is programmed on behind a torn page.
        ProgramsOn,
        /// A torn page that reads is taken for whole, and not written anew.
        TornIsWhole,
        /// A summary is accepted despite a wrong checksum.
        NoChecksum,
        /// The record of a start is not written.
        NoBootRecord,
        /// A page counts as soon as one of its lanes is read.
        OneLaneEnough,
        /// A checkpoint is believed that was written in part.
        HalfCheckpoint,
        /// The copy of a page is forgotten that was made before the other page of its cells was programmed.
        LowerForgotten,
    }
}
