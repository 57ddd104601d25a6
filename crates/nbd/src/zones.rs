//! The zones of a device, as a drive reports them to its host.

use engine::ZoneState;
use std::sync::{Arc, Mutex};

/// Limits of zones. Sizes are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneLimits {
    /// From the beginning of a zone to that of the next.
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
    /// Its state.
    pub state: ZoneState,
    /// Where it begins.
    pub begins: u64,
    /// Writable bytes.
    pub capacity: u64,
    /// Where it is written next.
    pub pointer: u64,
    /// It has a window of random writes.
    pub has_window: bool,
    /// Behind the last byte that is in the window; the pointer, if there is none.
    pub window_end: u64,
    /// It is full because the controller could not go on.
    pub finished_by_controller: bool,
}

/// Which zones are to be seen: between two places, those in a state, so many of them. Places are bytes of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneQuery {
    /// Within the first, and the end of what is seen.
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
    /// All that it concerns.
    pub count: u64,
    /// As many as were wanted.
    pub zones: Vec<ZoneSeen>,
}

/// Query of a report, and the place of its result.
#[derive(Debug, Clone)]
pub struct ZoneWish {
    /// Query.
    pub query: ZoneQuery,
    /// Where the answer is put.
    pub found: Arc<Mutex<Option<ZoneList>>>,
}

/// Zones that a drive has changed by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZonesAltered {
    /// Number of changes.
    pub count: u64,
    /// Where they begin, bytes of the device; `None` if they are too many to be told.
    pub starts: Option<Vec<u64>>,
}
