//! What an array with redundancy is made of beside its operations: members and what they hold, the stripes
//! in use, and counts.

use crate::kit::slots::Slot;
use engine::Time;
use options::Bandwidth;
use std::collections::BTreeMap;

/// How fast rebuilds go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rebuilding {
    pub(super) rate: Bandwidth,
    /// Chunks of the member in a unit.
    pub(super) rows: u64,
}

/// A member: the drive in its place, and its outstanding requests.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) drive: u32,
    pub(super) state: State,
    /// Requests outstanding, and where the last one ended.
    pub(super) queue: u32,
    pub(super) head: u64,
}

/// What a member holds.
#[derive(Debug)]
pub(super) enum State {
    Working,
    Failed,
    Rebuilding(Progress),
}

/// How far a rebuild is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Rows that are there.
    pub(super) rows: u64,
    /// Operations of the unit under way that are not done, and those that are.
    pub(super) left: u32,
    pub(super) done: Vec<Slot>,
    pub(super) began: Time,
    /// The next unit begins no sooner.
    pub(super) next_at: Time,
    /// Too much is missing.
    pub(super) stopped: bool,
}

impl Member {
    pub(super) fn working(drive: usize) -> Member {
        Member { drive: drive as u32, state: State::Working, queue: 0, head: 0 }
    }

    /// The member whose content comes to a spare from now on.
    pub(super) fn rebuilding(drive: u32, now: Time) -> Member {
        let progress = Progress { began: now, next_at: now, ..Progress::default() };
        Member { drive, state: State::Rebuilding(progress), queue: 0, head: 0 }
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed)
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.state, State::Working)
    }

    /// Number of rows, of `all`, whose content is there.
    pub(super) fn rows(&self, all: u64) -> u64 {
        match &self.state {
            State::Working => all,
            State::Failed => 0,
            State::Rebuilding(progress) => progress.rows,
        }
    }

    pub(super) fn holds(&self, row: u64) -> bool {
        match &self.state {
            State::Working => true,
            State::Failed => false,
            State::Rebuilding(progress) => row < progress.rows,
        }
    }
}

/// The first operation of each stripe in use; each names the next.
#[derive(Debug, Default)]
pub(super) struct Busy {
    pub(super) first: BTreeMap<u64, Slot>,
}

impl Busy {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}

/// Counts since they were reset.
#[derive(Debug, Clone, Default)]
pub(super) struct RaidCounts {
    /// Writes of stripes by what was read before.
    pub(super) writes_full: u64,
    pub(super) writes_plain: u64,
    pub(super) writes_modified: u64,
    pub(super) writes_reconstructed: u64,
    pub(super) writes_recovered: u64,
    pub(super) stripe_waits: u64,
    pub(super) stripe_joins: u64,
    pub(super) degraded_reads: u64,
    pub(super) reads_around: u64,
    pub(super) parity_reads: u64,
    pub(super) parity_writes: u64,
    pub(super) host_sectors_written: u64,
    pub(super) member_requests: Vec<u64>,
    pub(super) rebuilt_sectors: u64,
}

impl RaidCounts {
    pub(super) fn of(members: usize) -> RaidCounts {
        RaidCounts { member_requests: vec![0; members], ..RaidCounts::default() }
    }
}

/// The history of the members since the array was built; not reset with the counters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fate {
    pub(super) failures: u64,
    pub(super) lost_sectors: u64,
    /// Rebuilds that are over, and how long they took.
    pub(super) rebuilds: u64,
    pub(super) rebuild_ns: Time,
}
