//! The placement handles of a device, as a drive reports them to its host.

/// What a drive says of its placement handles. Sizes are bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Each handle.
    pub handles: Vec<PlacementHandle>,
    /// Of a reclaim unit.
    pub unit_bytes: u64,
    /// How long it may be open, s; 0 where that is not limited.
    pub limit_seconds: u32,
    /// Written by the host, programmed for that and to move it, and erased.
    pub host_bytes: u64,
    /// See `host_bytes`.
    pub media_bytes: u64,
    /// See `host_bytes`.
    pub erased_bytes: u64,
    /// The last events that the host brought about, the oldest first.
    pub hosts_events: Vec<PlacementEvent>,
    /// The last of the drive's own.
    pub own_events: Vec<PlacementEvent>,
}

/// A placement handle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacementHandle {
    /// Copies of its data have units of their own.
    pub persistent: bool,
    /// What can be written to its unit before it needs another.
    pub left_bytes: u64,
    /// How much longer that may be open, s; 0 where it is not limited.
    pub left_seconds: u32,
}

/// An event of placement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacementEvent {
    /// Its number in a log page.
    pub code: u8,
    /// The handle that it is about, if it is about one.
    pub handle: Option<u8>,
    /// The handle that a write named.
    pub named: Option<u8>,
    /// The first sector concerned, if that is known.
    pub sector: Option<u64>,
    /// How many sectors.
    pub sectors: u32,
    /// Bytes that the host had asked to write before it.
    pub after_bytes: u64,
}
