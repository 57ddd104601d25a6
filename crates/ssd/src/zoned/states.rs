//! Zones: limits, states, and effects of commands.

pub use engine::ZoneState as State;

/// Limits of the zones. Sectors.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Zones.
    pub zones: u32,
    /// Distance between the starts of consecutive zones.
    pub size: u64,
    /// Writable sectors of each zone.
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
    /// State of the zone.
    pub state: State,
    /// Write pointer: the next sector to be written or committed.
    pub pointer: u64,
    /// Writable sectors.
    pub capacity: u64,
    /// Sectors written by the host.
    pub written: u64,
    /// True with a window of random writes.
    pub has_window: bool,
    /// End sector of the window; without such the write pointer.
    pub window_end: u64,
    /// True if the controller made the zone full.
    pub finished_by_controller: bool,
}

/// Outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub zone: u32,
    /// Start of the zone.
    pub at: u64,
    /// Sectors that take room.
    pub fresh: u64,
    /// Up to where the zone is now to be programmed.
    pub pointer: u64,
    /// True if it was empty.
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
    /// Write pointer after the window's content is committed.
    pub committed: u64,
}
