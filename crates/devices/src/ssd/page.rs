//! The interface of host and flash: requests for a logical page, and their completions.
//!
//! A page request names its owner: the host is one owner among others, and the flash back end does not depend on it.

use crate::kit::link::Slot;
use crate::ssd::ids::Lpn;
use engine::{Handle, Status, Time};

/// The operation on a logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Access {
    Read,
    Write,
}

/// Who asked for a page, and is told when that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Owner {
    /// A request of the host.
    Host(Slot),
    /// A job of the block buffer.
    Blocks(Slot),
    /// The requests that wait for a page of the map.
    Map(u32),
    /// The drive itself, for a page of its own.
    Drive,
    /// Nobody waits for it.
    Nobody,
}

/// A request for a part of one logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) struct PageRequest {
    pub(in crate::ssd) owner: Owner,
    pub(in crate::ssd) access: Access,
    pub(in crate::ssd) lpn: Lpn,
    /// Bytes that are read or written in it.
    pub(in crate::ssd) bytes: u32,
    /// The first flash page of it that is touched, and how many are.
    pub(in crate::ssd) touched: (u32, u32),
    /// The same of those that are covered whole; nothing where a logical page is not larger than one
    /// of the flash.
    pub(in crate::ssd) whole: (u32, u32),
    /// The logical page is covered whole.
    pub(in crate::ssd) covered: bool,
    /// Of a write: its placement handle.
    pub handle: Handle,
}

/// A page request has been served, or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) struct PageDone {
    /// As of the request.
    pub(in crate::ssd) owner: Owner,
    pub(in crate::ssd) status: Status,
    /// Nothing where it waited in vain for cleaning to make room, all the time.
    pub(in crate::ssd) spent: Option<Spent>,
}

/// Where the time of a page or of a read went, ns; the rest of it was spent waiting for other requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::ssd) struct Spent {
    /// Waiting for cleaning.
    pub(in crate::ssd) cleaning: Time,
    /// Waiting for an operation to stop.
    pub(in crate::ssd) suspend: Time,
    /// On the bus, with the wait for it.
    pub(in crate::ssd) bus: Time,
    /// In the cell array.
    pub(in crate::ssd) cell: Time,
}

impl Spent {
    /// An operation has ended.
    #[inline]
    pub(in crate::ssd) fn operate(&mut self, bus: Time, cell: Time) {
        self.bus += bus;
        self.cell += cell;
    }

    /// A unit has cleaned for so long.
    #[inline]
    pub(in crate::ssd) fn wait_for_cleaning(&mut self, ns: Time) {
        self.cleaning += ns;
    }

    /// An operation of cleaning took so long to stop.
    pub(in crate::ssd) fn wait_for_stop(&mut self, ns: Time) {
        self.suspend += ns;
        self.cleaning = self.cleaning.saturating_sub(ns);
    }
}

/// How much longer a read takes where data age, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::ssd) struct Longer {
    /// Senses with other voltages.
    pub(in crate::ssd) retry: Time,
    /// From parity.
    pub(in crate::ssd) repair: Time,
}

impl Longer {
    /// Both.
    pub(in crate::ssd) fn in_all(self) -> Time {
        self.retry + self.repair
    }

    /// The longer of two times, part by part.
    pub(in crate::ssd) fn or_longer(self, other: Longer) -> Longer {
        Longer { retry: self.retry.max(other.retry), repair: self.repair.max(other.repair) }
    }
}

/// How long a write waited for the write buffer, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::ssd) struct HeldFor {
    /// For cleaning.
    pub(in crate::ssd) cleaning: Time,
    /// For room.
    pub(in crate::ssd) room: Time,
}

/// What a page request needs of the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Need {
    /// Nothing: there is nothing to read.
    Unmapped,
    /// Nothing: the drive takes no more writes.
    Refused,
    /// An operation on flash pages of the logical page, given by the first and how many.
    Page(PageWork, (u32, u32)),
}

/// What is done to a logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum PageWork {
    Read,
    Write,
    /// The read half of a write that covers only part of its page.
    ReadForWrite,
    /// A partial write that a synchronous gang merges in its registers.
    Merge,
    /// The same when the new copy lies in another plane than the old one.
    MergeAcross,
    /// What a power cut has put at risk is written anew.
    Restore,
    /// The drive writes a page of its own, which lies outside of the blocks for data: of a checkpoint, of
    /// the record of trims or of a start.
    System,
    /// The drive reads a page of the map, or programs some.
    MapRead,
    MapProgram,
}

impl PageWork {
    /// Whether it is of a page that lies outside of the blocks for data.
    #[inline]
    pub fn is_of_drive(self) -> bool {
        matches!(self, PageWork::System | PageWork::MapRead | PageWork::MapProgram)
    }

    /// Whether it programs a logical page.
    pub(in crate::ssd) fn writes(self) -> bool {
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

/// How a drive treats requests beside what it does with its flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Feature {
    /// They go through a write buffer.
    Buffers = 1,
    /// Pages are shared with earlier states.
    Shares = 2,
    /// Data age behind a write buffer, and may be lost.
    Ages = 4,
    /// What they look up in the map may be missing in memory.
    LooksUp = 8,
}

/// The features of a drive, which are set when it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) struct Features(u8);

impl Features {
    /// Those of which it is said that they are there.
    pub(in crate::ssd) fn new(features: &[(Feature, bool)]) -> Features {
        let there = features.iter().filter(|(_, is_there)| *is_there);
        Features(there.fold(0, |set, (feature, _)| set | *feature as u8))
    }

    /// Whether this is one of them.
    #[inline]
    pub(in crate::ssd) fn has(self, feature: Feature) -> bool {
        self.0 & feature as u8 != 0
    }

    /// Whether there is none.
    #[inline]
    pub(in crate::ssd) fn is_empty(self) -> bool {
        self.0 == 0
    }
}
