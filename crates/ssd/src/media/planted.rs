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
        /// A write of a part of a page makes all of it readable.
        PartHeals,
        /// A write of all of it does not.
        NothingHeals,
        /// Unreadable pages stay so in an erased block.
        PoisonStays,
        /// A read that fails is answered as if it had not.
        FailureIsSilent,
        /// Parity brings back a page also if another of its stripe is lost.
        ParityKnowsAll,
        /// Reading other pages of a stripe takes no time.
        RebuildIsFree,
        /// Retries take no time at the die.
        RetriesAreFree,
        /// The temperature at which data lie is not asked.
        AlwaysThirty,
        /// A saved drive is young when it is restored.
        SavedIsYoung,
        /// Erasures do not wear.
        NoWear,
        /// Reads without time never fail.
        UntimedNeverFails,
        /// A page of one bit ages as one of three.
        SlcAsNative,
        /// Refreshed data keep their date.
        RefreshKeepsDate,
        /// A patrol reads nothing.
        PatrolReadsNothing,
        /// Reads of a block count on when it is erased.
        ReadsOfTheErased,
        /// Drives do not differ in how many defects they have.
        PoissonDefects,
        /// A sick die takes pages of its neighbour.
        SickNeighbour,
    }
}
