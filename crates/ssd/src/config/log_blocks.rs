//! Keys of drives that map in blocks and gather writes in log blocks.

use options::{choices, conditions, options};

choices! {
    /// Scheme of gathering writes before their block is rewritten.
    pub enum LogScheme {
        /// No log blocks: the drive maps pages as `logical_page` says.
        None = "none",
        /// In a replacement block of the same block, each page in its place; pages that are skipped are copied
        /// first.
        Replacement = "replacement",
        /// In a log block for each block that is being written (BAST).
        Bast = "bast",
        /// In log blocks that all blocks share, and one for a sequential stream (FAST).
        Fast = "fast",
    }
}

conditions! {
    LogBlocks:
    LOGS = "with log blocks (device.log_blocks.scheme)", |c| c.scheme != LogScheme::None;
}

/// Log blocks of a pool at most: the frontier of a block is noted in 8 bits.
pub const MOST_LOG_BLOCKS: u32 = 200;

options! {
    /// Log blocks of a drive that maps in blocks: writes are appended to a log block, which later is merged
    /// with the pages that it supersedes.
    pub struct LogBlocks as LogBlocksPartial {
        /// Scheme of gathering writes in log blocks; `none`: there are none.
        scheme: LogScheme = LogScheme::None,
        /// Log blocks of an allocation pool; of `fast` besides the one for a sequential stream.
        count: u32 where LOGS = 8,
    }
}

impl LogBlocks {
    /// True if writes gather in log blocks.
    pub fn are_used(&self) -> bool {
        self.scheme != LogScheme::None
    }

    /// Blocks of a pool that may be open for writes of the host at a time.
    pub fn slots(&self) -> u32 {
        match self.scheme {
            LogScheme::None => 0,
            LogScheme::Replacement | LogScheme::Bast => self.count,
            LogScheme::Fast => self.count + 1,
        }
    }
}
