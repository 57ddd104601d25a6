//! Mistakes that can be planted in how data age, to verify that the laws find them. Without the feature `planted`,
//! which no product has, there are none.

/// A mistake in how data age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mistake {
    /// What a page is like is drawn anew on each read.
    DrawnOnEachRead = 1,
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
    /// What an erased block could not read stays so.
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
    /// What is refreshed keeps its date.
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

impl Mistake {
    /// Every one.
    pub const ALL: [Mistake; 22] = [
        Mistake::DrawnOnEachRead,
        Mistake::AgeOfTheDrive,
        Mistake::OldDate,
        Mistake::CleaningHeals,
        Mistake::UntimedCleaningHeals,
        Mistake::PartHeals,
        Mistake::NothingHeals,
        Mistake::PoisonStays,
        Mistake::FailureIsSilent,
        Mistake::ParityKnowsAll,
        Mistake::RebuildIsFree,
        Mistake::RetriesAreFree,
        Mistake::AlwaysThirty,
        Mistake::SavedIsYoung,
        Mistake::NoWear,
        Mistake::UntimedNeverFails,
        Mistake::SlcAsNative,
        Mistake::RefreshKeepsDate,
        Mistake::PatrolReadsNothing,
        Mistake::ReadsOfTheErased,
        Mistake::PoissonDefects,
        Mistake::SickNeighbour,
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
pub fn plant(mistake: Option<Mistake>) {
    PLANTED.set(mistake.map_or(0, |mistake| mistake as u8));
}
