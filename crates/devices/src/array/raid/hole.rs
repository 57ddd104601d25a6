//! Power cuts of an array, and what they leave: the write hole.
//!
//! At a cut everything under way is gone, on all members at once. Of a stripe that was being written some
//! writes are there and others are not, so that its parity may fit neither what was there nor what was to
//! be. Whether a write that a member had not answered is there is drawn by lot, as a whole: the member
//! promises neither. What follows of it is in `torn.rs`, what is done about it in `resync.rs` and
//! `logging.rs`; the cut itself is in `power.rs`.

use super::log::Log;
use super::torn::Dirt;
use crate::array::ArrayConfig;
use crate::array::redundancy::HoleRule;
use crate::array_report::HoleReport;
use engine::{Time, Xoshiro256};
use std::collections::BTreeMap;

/// The stream of the lots that say which unanswered writes are there.
const TEAR_STREAM: u64 = 14;

/// What power cuts left, and what is done about it.
#[derive(Debug)]
pub(super) struct Hole {
    pub(super) rule: HoleRule,
    pub(super) random: Xoshiro256,
    /// Stripes that were being written, until they have been put right.
    pub(super) dirty: BTreeMap<u64, Dirt>,
    pub(super) resync: Option<Resync>,
    pub(super) log: Log,
    /// Failures that are due, while there is no power.
    pub(super) due: Vec<(Time, u32)>,
    pub(super) cuts: u64,
    pub(super) stripes_dirty: u64,
    pub(super) stripes_resynced: u64,
    pub(super) resync_ns: Time,
    pub(super) chunks_wrong: u64,
}

impl Hole {
    /// For members of which `sectors` sectors hold data and parity.
    pub(super) fn new(config: &ArrayConfig, sectors: u64, seed: u64) -> Hole {
        Hole {
            rule: config.hole,
            random: Xoshiro256::new(seed, TEAR_STREAM),
            dirty: BTreeMap::new(),
            resync: None,
            log: Log::new(config, sectors),
            due: Vec::new(),
            cuts: 0,
            stripes_dirty: 0,
            stripes_resynced: 0,
            resync_ns: 0,
            chunks_wrong: 0,
        }
    }

    /// No cut has left anything to be done or remembered.
    pub(super) fn is_closed(&self) -> bool {
        self.dirty.is_empty() && self.resync.is_none()
    }

    pub(super) fn report(&self, now: Time) -> Option<HoleReport> {
        let going = self.resync.as_ref().map_or(0, |it| it.ns(now));
        (self.cuts > 0).then(|| HoleReport {
            stripes_dirty: self.stripes_dirty,
            stripes_resynced: self.stripes_resynced,
            resync_seconds: (self.resync_ns + going) as f64 / 1e9,
            chunks_wrong: self.chunks_wrong,
        })
    }
}

/// Progress of the recovery.
#[derive(Debug)]
pub(super) struct Resync {
    /// Rows that have been gone through, and where the unit under way ends.
    pub(super) rows: u64,
    pub(super) unit: u64,
    /// Operations that are not done.
    pub(super) left: u64,
    /// The members are not ready.
    pub(super) waits: bool,
    pub(super) began: Time,
    /// The next unit begins no sooner.
    pub(super) next_at: Time,
}

impl Resync {
    /// How long it has taken.
    pub(super) fn ns(&self, now: Time) -> Time {
        if self.waits { 0 } else { now.saturating_sub(self.began) }
    }
}
