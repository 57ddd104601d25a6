//! Zones of a device, as a drive reports them to its host.

use engine::ZoneState;
use std::sync::{Arc, Mutex};

/// Zone limits; sizes are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneLimits {
    /// Distance between zone starts.
    pub size: u64,
    /// Initial capacity of a zone.
    pub capacity: u64,
    /// Maximum number of open zones.
    pub open: u32,
    /// Maximum number of active zones.
    pub active: u32,
    /// Maximum size of an append.
    pub append: u64,
    /// True if a read may cross zone borders.
    pub read_across: bool,
    /// Maximum number of zones with a window of random writes (ZRWA).
    pub windows: u32,
    /// Size of a window.
    pub window: u64,
    /// Commit granularity: commits are multiples of this.
    pub granularity: u64,
}

/// State of a zone; positions are bytes of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneSeen {
    /// State of the zone.
    pub state: ZoneState,
    /// Start of the zone.
    pub begins: u64,
    /// Writable bytes of the zone.
    pub capacity: u64,
    /// Write pointer.
    pub pointer: u64,
    /// True with a window of random writes.
    pub has_window: bool,
    /// End of the window's data; the write pointer without a window.
    pub window_end: u64,
    /// True if the controller finished the zone.
    pub finished_by_controller: bool,
}

/// Selection of zones by range, state and number; positions are bytes of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneQuery {
    /// Start of the range, which selects the zone that contains it; and end.
    pub from: u64,
    /// End of the range.
    pub until: u64,
    /// Selects zones in this state only.
    pub state: Option<ZoneState>,
    /// Maximum number of returned zones.
    pub most: usize,
}

/// Result of a query: number of matching zones, and the first ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZoneList {
    /// Number of matching zones.
    pub count: u64,
    /// The first matching zones.
    pub zones: Vec<ZoneSeen>,
}

/// A zone query, and the slot for its result.
#[derive(Debug, Clone)]
pub struct ZoneWish {
    /// Query.
    pub query: ZoneQuery,
    /// Slot of the answer.
    pub found: Arc<Mutex<Option<ZoneList>>>,
}

/// Zones changed by the drive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZonesAltered {
    /// Number of changes.
    pub count: u64,
    /// Start positions in bytes; `None` if there are too many to list.
    pub starts: Option<Vec<u64>>,
}
