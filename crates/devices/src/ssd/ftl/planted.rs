//! Mistakes that can be planted in the map cache and the SLC cache, to verify that the laws find them. Without the
//! feature `planted`, which no product has, there are none.

/// A mistake in a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Slip {
    /// A page of the map that is missing is there in no time.
    MissIsFree = 1,
    /// A page of the map that has changed leaves the cache without being programmed.
    EvictionIsLost,
    /// What is folded counts as written by the host.
    FoldsAreTheHosts,
    /// The SLC cache takes no block from the spare space that cleaning has.
    CacheBesideTheSpare,
}

impl Slip {
    /// Every one.
    pub const ALL: [Slip; 4] =
        [Slip::MissIsFree, Slip::EvictionIsLost, Slip::FoldsAreTheHosts, Slip::CacheBesideTheSpare];

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
pub fn plant(slip: Option<Slip>) {
    PLANTED.set(slip.map_or(0, |slip| slip as u8));
}
