//! The interface of host and flash: requests for a logical page, and their completions.
//!
//! A page request names its owner: the host is one owner among others, and the flash back end does not depend on it.

use crate::device::kit::link::Slot;
use crate::ids::{Lpn, Unit};
use engine::{Handle, Status, Time};

/// The operation on a logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Owner of a page request, notified at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A request of the host.
    Host(Slot),
    /// A job of the block buffer.
    Blocks(Slot),
    /// The requests that wait for a page of the map.
    Map(u32),
    /// The drive itself, for a metadata page.
    Drive,
    /// No owner.
    Nobody,
}

/// A request for a part of one logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageRequest {
    pub(crate) owner: Owner,
    pub(crate) access: Access,
    pub(crate) lpn: Lpn,
    /// Bytes read or written.
    pub(crate) bytes: u32,
    /// First touched flash page, and number of touched ones.
    pub(crate) touched: (u32, u32),
    /// First completely covered flash page, and number of covered ones; None if a logical page is
    /// not larger than a flash page.
    pub(crate) whole: (u32, u32),
    /// The logical page is covered whole.
    pub(crate) covered: bool,
    /// For writes: its placement handle.
    pub handle: Handle,
}

/// A page request has been served, or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageDone {
    /// Owner of the request.
    pub(crate) owner: Owner,
    pub(crate) status: Status,
    /// `None` if it always waited for cleaning to make room.
    pub(crate) spent: Option<Spent>,
}

/// Latency parts of a page or read, ns; the rest is waiting for other requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Waiting for cleaning.
    pub(crate) cleaning: Time,
    /// Waiting for an operation to stop.
    pub(crate) suspend: Time,
    /// Bus time, waiting included.
    pub(crate) bus: Time,
    /// In the cell array.
    pub(crate) cell: Time,
}

impl Spent {
    /// An operation has ended.
    #[inline]
    pub(crate) fn operate(&mut self, bus: Time, cell: Time) {
        self.bus += bus;
        self.cell += cell;
    }

    /// Adds cleaning time of a unit.
    #[inline]
    pub(crate) fn wait_for_cleaning(&mut self, ns: Time) {
        self.cleaning += ns;
    }

    /// Adds the time to stop an operation of cleaning.
    pub(crate) fn wait_for_stop(&mut self, ns: Time) {
        self.suspend += ns;
        self.cleaning = self.cleaning.saturating_sub(ns);
    }
}

/// Additional time of a read where data age, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Longer {
    /// Retries with other references.
    pub(crate) retry: Time,
    /// From parity.
    pub(crate) repair: Time,
}

impl Longer {
    /// Both.
    pub(crate) fn in_all(self) -> Time {
        self.retry + self.repair
    }

    /// The longer of two times, part by part.
    pub(crate) fn or_longer(self, other: Longer) -> Longer {
        Longer { retry: self.retry.max(other.retry), repair: self.repair.max(other.repair) }
    }
}

/// Waiting time of a write for the write buffer, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeldFor {
    /// For cleaning.
    pub(crate) cleaning: Time,
    /// For room.
    pub(crate) room: Time,
}

/// Flash operations that a page request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Unmapped: there is nothing to read.
    Unmapped,
    /// Rejected, because the drive accepts no writes.
    Refused,
    /// An operation on flash pages of the logical page, given by the first and how many.
    Page(PageWork, (u32, u32)),
}

/// Operation on a logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageWork {
    Read,
    Write,
    /// The read half of a write that covers only part of its page.
    ReadForWrite,
    /// A partial write merged in the registers of a synchronous gang.
    Merge,
    /// `Merge` with the new copy in another plane.
    MergeAcross,
    /// A page that a power cut has put at risk is written anew.
    Restore,
    /// The drive writes an internal page outside the data blocks: of a checkpoint, the trim log, or
    /// a start.
    System,
    /// The drive reads a page of the map, or programs some.
    MapRead,
    MapProgram,
}

impl PageWork {
    /// True if it is of a page that lies outside of the blocks for data.
    #[inline]
    pub fn is_of_drive(self) -> bool {
        matches!(self, PageWork::System | PageWork::MapRead | PageWork::MapProgram)
    }

    /// True if it programs a logical page.
    pub(crate) fn writes(self) -> bool {
        !matches!(
            self,
            PageWork::Read
                | PageWork::ReadForWrite
                | PageWork::System
                | PageWork::MapRead
                | PageWork::MapProgram
        )
    }
}

/// Features of a drive in the treatment of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Pages go through a write buffer.
    Buffers = 1,
    /// Pages are shared with earlier states.
    Shares = 2,
    /// Data age behind a write buffer, and may be lost.
    Ages = 4,
    /// Map entries may be missing in memory.
    LooksUp = 8,
}

/// Features of a drive, set when it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features(u8);

impl Features {
    /// The features that are `true`.
    pub(crate) fn new(features: &[(Feature, bool)]) -> Features {
        let there = features.iter().filter(|(_, is_there)| *is_there);
        Features(there.fold(0, |set, (feature, _)| set | *feature as u8))
    }

    /// True with this feature.
    #[inline]
    pub(crate) fn has(self, feature: Feature) -> bool {
        self.0 & feature as u8 != 0
    }

    /// True for none.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// An answer to the host, or to the drive itself, which is given when all that belongs to an event is done.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// A request is done; how long it was held for cleaning, and for room.
    Done { slot: Slot, status: Status, held: HeldFor },
    /// All writes before a flush are durable.
    Flushed(Slot),
    /// A page of the drive's own is written on a die.
    Own(Unit),
}
