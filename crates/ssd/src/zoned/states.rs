//! Zones: limits, states, and effects of commands.

pub use engine::ZoneState as State;

/// Zone limits; sizes are sectors.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Number of zones.
    pub zones: u32,
    /// Distance between the starts of consecutive zones.
    pub size: u64,
    /// Writable sectors of each zone.
    pub capacity: u64,
    /// Maximum number of open zones.
    pub open: u32,
    /// Maximum number of active zones.
    pub active: u32,
    /// Maximum size of an append.
    pub append: u64,
    /// True if a read may cross zone borders.
    pub read_across: bool,
    /// Maximum number of zones with a window of random writes.
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
    /// End sector of the window; the write pointer without a window.
    pub window_end: u64,
    /// True if the controller finished the zone.
    pub finished_by_controller: bool,
}

/// Outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub zone: u32,
    /// Start of the zone.
    pub at: u64,
    /// Sectors that need buffer room.
    pub fresh: u64,
    /// New end of the data to program.
    pub pointer: u64,
    /// True if the zone was empty before.
    pub opened: bool,
}

/// Effect of a command on a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    pub zone: u32,
    pub before: State,
    /// Write pointer before the command; sectors written by the host.
    pub pointer: u64,
    pub written: u64,
    /// Write pointer after the window's content is committed.
    pub committed: u64,
}
