//! Bugs that can be planted, to verify that the search finds them. They exist only with the feature
//! `planted`, which no release has.

planted! {
    /// A planted bug in the recovery from power cuts.
    pub enum Bug {
        /// Copies are distinguished by block number alone.
        BlockNumberOnly,
        /// A block is erased while newer copies of its pages are still being programmed.
        NoEraseBarrier,
        /// Trims are not logged.
        NoTrimRecords,
        /// A block is programmed further behind a torn page.
        ProgramsOn,
        /// A readable torn page counts as complete, and is not rewritten.
        TornIsWhole,
        /// A summary is accepted despite a wrong checksum.
        NoChecksum,
        /// The boot record of a start is not written.
        NoBootRecord,
        /// A page counts as soon as one of its lanes is read.
        OneLaneEnough,
        /// An incomplete checkpoint is used.
        HalfCheckpoint,
        /// The older copy of a page is dropped before the other page of its cells is programmed.
        LowerForgotten,
    }
}
