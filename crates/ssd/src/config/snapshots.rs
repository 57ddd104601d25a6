//! Copy-on-write snapshots of the drive.

use crate::device::kit::said::{Said, Saying};
use options::{Size, conditions, options};

/// Snapshot commands of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Takes a snapshot before the request.
    Make,
    /// Drops the oldest snapshot before the request.
    Drop,
    /// Drops all snapshots before the request.
    DropAll,
}

impl Saying for Order {
    const EXPECTED: &str =
        "handles with their orders, such as \"1: make, 2: drop, 3: drop-all\"; or \"none\"";
    const KIND: &str = "order";
    const ALL: &[(Order, &str)] =
        &[(Order::Make, "make"), (Order::Drop, "drop"), (Order::DropAll, "drop-all")];
}

/// Snapshot commands by handle number.
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
        /// Maximum number of snapshots; 0: none is made. Where another is made the oldest is
        /// dropped.
        most: u32 = 0,
        /// Bytes that the host writes before each snapshot.
        every: Size where MADE = Size::from_bytes(1 << 30),
        /// Snapshot orders by placement handle: a snapshot is made before them, or the oldest or
        /// all are dropped. Periodic snapshots are independent.
        orders: Orders where MADE = Orders::default(),
        /// Maximum pages held by snapshots alone, as a share of the exported capacity; beyond it
        /// the oldest snapshot is dropped.
        space: f64 as Ratio where MADE = 0.05,
        /// Submission queue whose reads are of a snapshot, as a backup reads; if not given, none.
        queue: Option<u32> where MADE = None,
        /// Snapshot read by that queue, from 1, the newest; if there are fewer, the drive itself.
        back: u32 where READ = 1,
    }
}
