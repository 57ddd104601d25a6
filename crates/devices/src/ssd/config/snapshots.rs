//! Copy-on-write snapshots of the drive.

use options::{Size, conditions, options};

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
        /// Pages that only snapshots hold, at most, as a share of the exported capacity; where they would be more the
        /// oldest snapshot is dropped. They lie in the spare space.
        space: f64 as Ratio where MADE = 0.05,
        /// Submission queue whose reads are of a snapshot, as a backup reads; if not given, none.
        queue: Option<u32> where MADE = None,
        /// Which snapshot these read: 1, the newest, and so on. Where there are fewer, the drive as it is.
        back: u32 where READ = 1,
    }
}
