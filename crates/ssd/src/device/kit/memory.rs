//! Bound on the memory of a device.

/// What a device may take of memory with all that it holds before a run, bytes: 64 GiB. A device that
/// holds little takes little, however large it is.
pub const MOST_MEMORY: u64 = 64 << 30;
