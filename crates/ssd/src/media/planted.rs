//! Mistakes that can be planted in how data age, to verify that the laws find them. Without the feature `planted`,
//! which no product has, there are none.

planted! {
    /// A mistake in how data age.
    pub enum Mistake {
        /// The quality of a page is drawn anew on each read.
        DrawnOnEachRead,
        /// Retention counts from the first program of the drive.
        AgeOfTheDrive,
        /// A copy keeps the date of the block that was there before.
        OldDate,
        /// Cleaning makes a page readable that could not be read.
        CleaningHeals,
        /// Cleaning without time does.
        UntimedCleaningHeals,
        /// A partial write makes the whole page readable.
        PartHeals,
        /// A full write does not heal.
        NothingHeals,
        /// Unreadable pages survive an erasure.
        PoisonStays,
        /// Failed reads are reported as successful.
        FailureIsSilent,
        /// Parity brings back a page also if another of its stripe is lost.
        ParityKnowsAll,
        /// Reads for a reconstruction take no time.
        RebuildIsFree,
        /// Retries take no time at the die.
        RetriesAreFree,
        /// The temperature is ignored.
        AlwaysThirty,
        /// A restored drive is young.
        SavedIsYoung,
        /// Erasures do not wear.
        NoWear,
        /// Reads without time never fail.
        UntimedNeverFails,
        /// A one-bit page ages like a native one.
        SlcAsNative,
        /// Refreshed data keep their age.
        RefreshKeepsDate,
        /// A patrol reads nothing.
        PatrolReadsNothing,
        /// Read counts of a block survive its erasure.
        ReadsOfTheErased,
        /// All drives have the same rate of defects.
        PoissonDefects,
        /// A sick die affects its neighbour.
        SickNeighbour,
    }
}
