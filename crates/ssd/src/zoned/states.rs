//! Zones: limits, states, and effects of commands.

pub use engine::ZoneState as State;

/// Limits of the zones. Sectors.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Zones.
    pub zones: u32,
    /// From the beginning of one to that of the next.
    pub size: u64,
    /// Writable sectors of each.
    pub capacity: u64,
    /// Open zones, at most.
    pub open: u32,
    /// Active zones, at most.
    pub active: u32,
    /// The largest append.
    pub append: u64,
    /// True if a read may go over borders.
    pub read_across: bool,
    /// Windows of random writes, at most.
    pub windows: u32,
    /// Size of a window.
    pub window: u64,
    /// Granularity of commits.
    pub granularity: u64,
}

/// State of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Its state.
    pub state: State,
    /// Its write pointer: the next sector to be written or committed.
    pub pointer: u64,
    /// Writable sectors.
    pub capacity: u64,
    /// Sectors written by the host.
    pub written: u64,
    /// It has a window of random writes.
    pub has_window: bool,
    /// The sector behind the last one in it; without such the write pointer.
    pub window_end: u64,
    /// It is full because the controller could not go on.
    pub finished_by_controller: bool,
}

/// Outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub zone: u32,
    /// Where it begins.
    pub at: u64,
    /// Sectors that take room.
    pub fresh: u64,
    /// Up to where the zone is now to be programmed.
    pub pointer: u64,
    /// It was empty.
    pub opened: bool,
}

/// Effect of a command on a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    pub zone: u32,
    pub before: State,
    /// The write pointer before, and sectors that the host had written.
    pub pointer: u64,
    pub written: u64,
    /// The write pointer after what was in its window is committed.
    pub committed: u64,
}
