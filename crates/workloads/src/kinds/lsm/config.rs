//! The keys of a log-structured merge tree.

use crate::footprint::Footprint;
use options::Size;

options::choices! {
    /// The order of keys.
    pub enum Keys {
        /// Uniformly distributed keys.
        Uniform = "uniform",
        /// Ascending keys, with the oldest data deleted, as in a store of time series: files are
        /// moved to the last level without merging.
        Sequential = "sequential",
    }

    /// Separation of data by placement handle.
    pub enum Classes {
        /// No handle is named.
        None = "none",
        /// The hints of `RocksDB`: the log 0, levels 0 and 1 have 1, level 2 has 2, others 3.
        Hints = "hints",
        /// `default`, shifted downward: the log 0, levels 0 to 3 have 1, level 4 has 2, others 3.
        Shifted = "shifted",
        /// Handle 0 for the log, and one per level. level 0 has 1, level 6 has 7.
        Level = "level",
    }
}

options::conditions! { Lsm:
    LOGS = "with `log`", |it| it.log;
    MERGES = "with `keys = \"uniform\"`", |it| it.keys == Keys::Uniform;
}

options::options! {
    /// A log-structured merge tree under writes. Its many fields are its keys: the shape of the tree, how it is
    /// written, and which data have handles.
    pub struct Lsm as LsmPartial {
        /// Total number of requests.
        requests: u64 = 1_000_000,
        /// Queue depth of the log, of flushes, and of each merge.
        outstanding: u32 = 4,
        /// Data of the tree, all keys once: a share of the device or a size.
        data: Footprint = Footprint::SHARE_OF_TREE,
        /// Size of a memtable; the log of one has as much.
        memtable: Size = Size::from_bytes(64 << 20),
        /// Files of level 0 that are merged into the next.
        l0_files: u32 where MERGES = 4,
        /// Size ratio of consecutive levels.
        fan_out: f64 where MERGES = 10.0,
        /// Largest size of the first level below level 0.
        l1: Size where MERGES = Size::from_bytes(256 << 20),
        /// Size of a file below level 0.
        file: Size where MERGES = Size::from_bytes(64 << 20),
        /// Size of a key with its value, of which the results count how many were written.
        value: Size = Size::from_bytes(400),
        /// The order of keys.
        keys: Keys = Keys::Uniform,
        /// Share of writes to keys that exist; others make the tree larger.
        overwrites: f64 as Ratio where MERGES = 1.0,
        /// Compressed size of a byte of data: 0.5 is compression to a half.
        compression: f64 as Ratio = 1.0,
        /// Merges at once.
        merges: u32 where MERGES = 1,
        /// Bytes read by a merge before it writes, a multiple of 4KiB.
        buffer: Size where MERGES = Size::from_bytes(2 << 20),
        /// Size of the requests of flushes and merges, a multiple of 4KiB.
        request_size: Size = Size::from_bytes(128 << 10),
        /// Log writes before they are acknowledged.
        log: bool = true,
        /// Bytes that are appended to the log at once (a group of writes), a multiple of 4KiB.
        append: Size where LOGS = Size::from_bytes(64 << 10),
        /// Each append is flushed (fsync) before the next.
        sync: bool where LOGS = true,
        /// Start with the tree of a store in long use: every level is full. Without it the tree is
        /// empty.
        load: bool = true,
        /// Trim files that are deleted.
        trim: bool = true,
        /// Separation of data by placement handle.
        placement: Classes = Classes::None,
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
    }
}
