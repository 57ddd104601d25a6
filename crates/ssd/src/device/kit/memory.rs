//! Bound on the memory of a device.

/// Maximum memory of a device's content before a run, bytes: 64 GiB. A device that holds little
/// takes little, however large it is.
pub const MOST_MEMORY: u64 = 64 << 30;
