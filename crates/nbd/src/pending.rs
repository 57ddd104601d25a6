//! A request on its way: from what a client asked to what the device is asked.

use crate::protocol::{Asked, Command, Refusal};
use engine::{Completion, Lba, Op, SECTOR_BYTES, Status};

/// What an answer still waits for.
pub(crate) const MODEL: u8 = 1;
pub(crate) const DATA: u8 = 2;
pub(crate) const BACKING: u8 = 4;

/// A request that was not answered yet.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) connection: usize,
    pub(crate) serial: u64,
    pub(crate) asked: Asked,
    pub(crate) op: Op,
    pub(crate) received: u64,
    pub(crate) completion: Option<Completion>,
    /// When it is to be answered, once that is known.
    pub(crate) target: u64,
    pub(crate) waits_for: u8,
    pub(crate) held_by_backing: bool,
    /// The device may refuse what it changes, so the data change only when the device has answered.
    pub(crate) held: bool,
    pub(crate) refusal: Option<Refusal>,
    /// Of a write the data, of a read the whole answer.
    pub(crate) data: Vec<u8>,
}

/// What a client is told of how its request ended in the device.
pub(crate) fn refusal(status: Status) -> Option<Refusal> {
    match status {
        Status::Ok => None,
        Status::ReadOnly => Some(Refusal::NotPermitted),
    }
}

/// What the device is asked: the sectors that a request touches; of a range that is forgotten, those
/// that lie within. `None` when that is none.
pub(crate) fn for_device(asked: &Asked) -> (Op, Option<(Lba, u32)>) {
    let end = asked.offset + u64::from(asked.length);
    let outer = (asked.offset / SECTOR_BYTES, end.div_ceil(SECTOR_BYTES));
    let inner = (asked.offset.div_ceil(SECTOR_BYTES), end / SECTOR_BYTES);
    let (op, (first, end)) = match asked.command {
        Command::Flush => return (Op::Flush, Some((Lba(0), 0))),
        Command::Read => (Op::Read, outer),
        Command::Write | Command::WriteZeroes { keep: true } => (Op::Write, outer),
        Command::WriteZeroes { keep: false } if inner.0 >= inner.1 => (Op::Write, outer),
        Command::Trim | Command::WriteZeroes { keep: false } => (Op::Trim, inner),
    };
    (op, (first < end).then_some((Lba(first), (end.saturating_sub(first)) as u32)))
}
