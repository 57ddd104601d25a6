//! The zones of a device, as a drive reports them to its host.

use engine::ZoneState;
use std::sync::{Arc, Mutex};

/// Limits of zones. Sizes are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneLimits {
    /// Distance between the starts of consecutive zones.
    pub size: u64,
    /// Writable bytes of each new zone.
    pub capacity: u64,
    /// Zones that may be open, and active, at a time.
    pub open: u32,
    /// See `open`.
    pub active: u32,
    /// The largest append.
    pub append: u64,
    /// True if a read may go over borders of zones.
    pub read_across: bool,
    /// Zones that may have a window of random writes, its size, and what commits are multiples of.
    pub windows: u32,
    /// See `windows`.
    pub window: u64,
    /// See `windows`.
    pub granularity: u64,
}

/// State of a zone. Places are bytes of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneSeen {
    /// State of the zone.
    pub state: ZoneState,
    /// Start of the zone.
    pub begins: u64,
    /// Writable bytes.
    pub capacity: u64,
    /// Write pointer.
    pub pointer: u64,
    /// True with a window of random writes.
    pub has_window: bool,
    /// End of the window's data; the pointer, if there is none.
    pub window_end: u64,
    /// True if the controller made the zone full.
    pub finished_by_controller: bool,
}

/// Selection of zones: by range, state, and number. Places are bytes of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneQuery {
    /// Start within the first zone, and end of the range.
    pub from: u64,
    /// See `from`.
    pub until: u64,
    /// Only those in this state.
    pub state: Option<ZoneState>,
    /// At most.
    pub most: usize,
}

/// Zones that a query found: how many there are, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZoneList {
    /// Number of matching zones.
    pub count: u64,
    /// The requested zones.
    pub zones: Vec<ZoneSeen>,
}

/// Query of a report, and the slot of its result.
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
    /// Starts of the zones, bytes of the device; `None` if they are too many to be told.
    pub starts: Option<Vec<u64>>,
}
