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
        /// Consecutive data that are evicted together; by default a logical page larger than a
        /// flash page, the block of log blocks, or else a flash block.
        block: Option<Size> where GATHERS = None,
        /// Page padding: missing pages of a block are read, so that it is written whole; of a block
        /// on several pools (`device.pool`) only its parts in pools with written pages.
        page_padding: bool where GATHERS = true,
        /// LRU compensation: a block that was written from its begin to its end, in order, leaves first.
        compensation: bool where GATHERS = true,
        /// Blocks that are evicted at a time, as far as the buffer has more; by default one for
        /// each pool (`device.pool`).
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
