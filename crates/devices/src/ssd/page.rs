//! The interface of host and flash: requests for a logical page, and their completions.
//!
//! A page request names its owner, if it has one: the host is one owner among others, and the flash back
//! end does not depend on it.

use crate::kit::link::Slot;
use crate::ssd::ids::Lpn;
use engine::{Handle, Status, Time};

/// The operation on a logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Access {
    Read,
    Write,
}

/// A request for a part of one logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) struct PageRequest {
    /// The owner, notified when it is done.
    pub(in crate::ssd) owner: Option<Slot>,
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
    pub(in crate::ssd) owner: Option<Slot>,
    pub(in crate::ssd) status: Status,
    pub(in crate::ssd) spent: Spent,
}

/// Where the time of a page request went; what is left of it was spent waiting for other requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Spent {
    /// On the flash: waiting for cleaning and for an operation to stop, on the bus with the wait for it, and in the
    /// cell array; ns.
    Served { cleaning_wait: Time, suspend: Time, bus: Time, cell: Time },
    /// All of it waiting for cleaning that never made room.
    InVain,
}

impl Spent {
    /// No time at all.
    pub(in crate::ssd) const NOTHING: Spent =
        Spent::Served { cleaning_wait: 0, suspend: 0, bus: 0, cell: 0 };
}

/// Owners from this number on are the jobs of the block buffer, those before it requests of the host.
pub(in crate::ssd) const OF_BLOCKS: Slot = 1 << 31;

/// Owners from this number on are pages of the map that are read, by their numbers; the last is nobody's.
pub const OF_MAP: Slot = 3 << 30;

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

/// The way of a request; behind the first two its data may be lost, or what it looks up may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// To the queues of units.
    Units,
    /// To these or through the write buffer, where snapshots are kept.
    Kept,
    /// Through the write buffer.
    Buffer,
    /// The same where data age.
    Aged,
    /// Either, when what it looks up in the map is there.
    Mapped,
}
