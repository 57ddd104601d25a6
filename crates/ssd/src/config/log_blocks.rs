//! Options of drives with a block-level map and log blocks.

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

/// Maximum number of log blocks of a pool: 8 bits store the frontier of a block.
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

    /// Maximum number of blocks of a pool open for host writes.
    pub fn slots(&self) -> u32 {
        match self.scheme {
            LogScheme::None => 0,
            LogScheme::Replacement | LogScheme::Bast => self.count,
            LogScheme::Fast => self.count + 1,
        }
    }
}
