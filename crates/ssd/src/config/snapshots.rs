//! Copy-on-write snapshots of the drive.

use crate::device::kit::said::{Said, Saying};
use options::{Size, conditions, options};

/// Snapshot orders of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One is made before it.
    Make,
    /// The oldest is dropped before it, or all.
    Drop,
    /// See `Drop`.
    DropAll,
}

impl Saying for Order {
    const EXPECTED: &str =
        "handles and what they order, such as \"1: make, 2: drop, 3: drop-all\"; or \"none\"";
    const KIND: &str = "order";
    const ALL: &[(Order, &str)] =
        &[(Order::Make, "make"), (Order::Drop, "drop"), (Order::DropAll, "drop-all")];
}

/// Orders of handles, by number.
pub type Orders = Said<Order>;

conditions! {
    SnapshotKeys:
    MADE = "where snapshots are made (device.snapshots.most)", |it| it.most > 0;
    READ = "where reads of a submission queue are of a snapshot (device.snapshots.queue)",
        |it| it.most > 0 && it.queue.is_some();
}

options! {
    /// Copy-on-write snapshots: what the drive held at an instant.
    pub struct SnapshotKeys as SnapshotKeysPartial {
        /// Snapshots that are kept at most; 0: none is made. Where another is made the oldest is dropped.
        most: u32 = 0,
        /// Bytes that the host writes before each snapshot.
        every: Size where MADE = Size::from_bytes(1 << 30),
        /// What reads and writes order with their placement handles: a snapshot is made before them, or the oldest or all
        /// are dropped. Those after so many bytes are made beside.
        orders: Orders where MADE = Orders::default(),
        /// Pages that only snapshots hold, at most, as a share of the exported capacity; where they would be more the
        /// oldest snapshot is dropped. They lie in the spare space.
        space: f64 as Ratio where MADE = 0.05,
        /// Submission queue whose reads are of a snapshot, as a backup reads; if not given, none.
        queue: Option<u32> where MADE = None,
        /// Which snapshot these read: 1, the newest, and so on. Where there are fewer, the drive as it is.
        back: u32 where READ = 1,
    }
}
