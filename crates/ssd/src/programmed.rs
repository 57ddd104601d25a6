//! Bytes programmed by cause.

use std::ops::AddAssign;

/// Bytes programmed by cause; their sum is all that was programmed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MediaBytes {
    /// Pages of the host.
    pub host: u64,
    /// Pages read to complete partial writes.
    pub merge: u64,
    /// Valid data that cleaning or wear levelling moved.
    pub copy: u64,
    /// Data moved out of the SLC cache.
    pub fold: u64,
    /// Data that a patrol found too old, or that lay in a block that was read too often.
    pub refresh: u64,
    /// Padding of groups.
    pub pad: u64,
    /// Pages of the map.
    pub map: u64,
    /// Parity.
    pub parity: u64,
}

impl MediaBytes {
    /// Bytes by cause; those of optional features where present.
    pub fn rows(&self) -> Vec<(&'static str, u64)> {
        let rows = [
            ("host", self.host),
            ("merge", self.merge),
            ("copy", self.copy),
            ("fold", self.fold),
            ("refresh", self.refresh),
            ("pad", self.pad),
            ("map", self.map),
            ("parity", self.parity),
        ];
        rows.into_iter().filter(|(cause, bytes)| *cause != "refresh" || *bytes > 0).collect()
    }
}

impl AddAssign for MediaBytes {
    fn add_assign(&mut self, other: MediaBytes) {
        self.host += other.host;
        self.merge += other.merge;
        self.copy += other.copy;
        self.fold += other.fold;
        self.refresh += other.refresh;
        self.pad += other.pad;
        self.map += other.map;
        self.parity += other.parity;
    }
}
