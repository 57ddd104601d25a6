//! Mistakes that can be planted, to verify that the search for lost lines finds them. Without the feature `planted`,
//! which no product has, there are none.

/// A mistake in what a cache does about power cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Slip {
    /// A line is clean when the backing device has answered, though that has not flushed.
    DestagedEarly = 1,
    /// A line is clean when it was read from the fast device.
    DestagedUnwritten,
    /// A line that was written on its way is clean when the older content arrives.
    RewrittenForgotten,
    /// A line counts as soon as it has a place, before its content is there.
    MappedEarly,
    /// A line that is written in the cache is dirty only when that has ended.
    DirtyLate,
    /// A flush of the host is not passed on to the backing device.
    FlushKept,
    /// What the fast device may lose is written to it like anything else.
    NoForce,
    /// What was written to both devices is kept though the backing one may have lost it.
    UnflushedKept,
}

impl Slip {
    /// Every one.
    pub const ALL: [Slip; 8] = [
        Slip::DestagedEarly,
        Slip::DestagedUnwritten,
        Slip::RewrittenForgotten,
        Slip::MappedEarly,
        Slip::DirtyLate,
        Slip::FlushKept,
        Slip::NoForce,
        Slip::UnflushedKept,
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

/// Plants a mistake in the caches of this thread, or none.
#[cfg(feature = "planted")]
pub fn plant(slip: Option<Slip>) {
    PLANTED.set(slip.map_or(0, |slip| slip as u8));
}
