//! Options of the block buffer: a write cache that is written back a block at a time, and
//! read-ahead.

use options::{Size, conditions, options};

conditions! {
    BlockBuffer:
    GATHERS = "with a block buffer (device.block_buffer.size)", |c| c.gathers();
}

options! {
    /// A write cache in front of a drive that maps in blocks (BPLRU, Kim and Ahn, FAST 2008): writes gather by
    /// block, and the block that was written least recently leaves whole.
    pub struct BlockBuffer as BlockBufferPartial {
        /// Block buffer for host data; `0B`: no block buffer.
        size: Size = Size::from_bytes(0),
        /// Consecutive data that gather and leave together; if not given a logical page larger than a page of the
        /// flash, with log blocks what these are merged with, else what a block of the flash holds.
        block: Option<Size> where GATHERS = None,
        /// Page padding: what a block lacks is read, so that it is written whole; of a block on several pools
        /// (`device.pool`) the parts of those in which something was written.
        page_padding: bool where GATHERS = true,
        /// LRU compensation: a block that was written from its begin to its end, in order, leaves first.
        compensation: bool where GATHERS = true,
        /// Blocks that leave at a time: that many places are free or being freed. If not given one
        /// for each pool (`device.pool`), each to a pool that no other is leaving for, as far as
        /// the buffer has more blocks.
        flushes: Option<u32> where GATHERS = None,
        /// Power-loss protection of the block buffer: its data survive a power cut, and a flush does not wait for
        /// the flash.
        power_loss_protected: bool where GATHERS = true,
        /// Data that are read ahead of reads in sequence; `0B`: none.
        read_ahead: Size = Size::from_bytes(0),
    }
}

impl BlockBuffer {
    /// True if it buffers writes.
    pub fn gathers(&self) -> bool {
        self.size.bytes() > 0
    }

    /// True with buffered writes or read-ahead.
    pub fn is_used(&self) -> bool {
        self.gathers() || self.read_ahead.bytes() > 0
    }

    /// True if a power cut empties it.
    pub fn is_volatile(&self) -> bool {
        self.gathers() && !self.power_loss_protected
    }
}
