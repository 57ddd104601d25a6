//! Flexible data placement (FDP, TP4146): placement handles, with which the host groups data.
//!
//! A reclaim unit is the unit of garbage collection: a superblock behind a write buffer, or a
//! block. [`rule`](super::fdp_rule) places requests without a handle.

use super::SsdConfig;
use super::fdp_rule::PlaceRule;
use options::{Maybe, choices, conditions, options};

choices! {
    /// Destination of moved pages.
    pub enum Isolation {
        /// Copies of all handles share reclaim units (initially isolated).
        Initial = "initial",
        /// Copies of each handle go to reclaim units of their own (persistently isolated).
        Persistent = "persistent",
    }
}

/// Maximum number of handles: 8 bits store the frontier of a block, and each handle may have two.
pub const MOST_HANDLES: u32 = 64;
/// Maximum number of placements (handle and reclaim group): 8 bits store them, and 255 is no
/// handle.
pub const MOST_PLACEMENTS: u32 = 128;

conditions! {
    Fdp:
    PLACES = "with FDP (device.fdp.handles)", |c| c.handles > 0;
    CHOOSES = "with two handles or more (device.fdp.handles, device.fdp.groups)", |c| c.chooses();
}

options! {
    /// Flexible data placement (FDP): reclaim unit handles of the host, each with an open reclaim unit of its own.
    pub struct Fdp as FdpPartial {
        /// Reclaim unit handles, from 1 to 64; 0: no FDP. One handle places as a drive without FDP does.
        handles: u32 = 0,
        /// Reclaim groups: equal parts of the dies, each with all handles. A write with placement
        /// group x handles + handle goes to that group; others stay in the group of their data.
        groups: u32 where PLACES = 1,
        /// Destination of moved pages.
        isolation: Isolation where CHOOSES = Isolation::Initial,
        /// Handle of writes without one: `none` (handle 0), `queue` (the number of the submission
        /// queue), `fua` (1 of forced writes), by address such as `address(0-4%:1)` or
        /// `address(0-1GiB:1, 1GiB-:0)`, or by size such as `size(<=4KiB:1, else 2)`; what no part
        /// covers has handle 0. `ssdlab placement` prints such rules.
        place: PlaceRule where CHOOSES = PlaceRule::None,
        /// Maximum time for which a reclaim unit of the host stays open: the next write with its
        /// handle then begins another.
        time_limit: Maybe where PLACES = Maybe::NONE,
    }
}

impl Fdp {
    /// True if the host can separate data.
    pub fn is_on(&self) -> bool {
        self.handles > 0
    }

    /// True with several handles, each with its own open blocks.
    pub fn chooses(&self) -> bool {
        self.handles > 1 || self.handles == 1 && self.groups > 1
    }

    /// Number of placements that a write can name: each handle in each reclaim group.
    pub fn placements(&self) -> u32 {
        self.handles.saturating_mul(self.groups)
    }

    /// Number of reclaim groups of a drive with handles.
    pub fn reclaim_groups(&self) -> u32 {
        if self.is_on() { self.groups.max(1) } else { 1 }
    }

    /// Number of reclaim units per domain that receive copies, of this number of handles. Where these copies share
    /// units, data that an SLC cache folds go to further ones, one for each handle.
    pub fn destinations(&self, handles: u32, folds: bool) -> u32 {
        match self.isolation {
            Isolation::Initial => 1 + if folds { handles } else { 0 },
            Isolation::Persistent => handles,
        }
    }
}

impl SsdConfig {
    /// Number of reclaim units per domain of a drive with handles that receive copies.
    pub(crate) fn destinations(&self) -> u32 {
        self.fdp.destinations(self.fdp.handles, self.folds())
    }
}
