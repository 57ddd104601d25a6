//! The state of a device's flash at an instant: each block, for an array drive by drive.
//!
//! It costs an iteration over the blocks per call, and nothing otherwise.

use crate::ids::BlockState;

/// The stream of a block whose stream is unknown: the drive was restored, or nothing was written to it.
pub const UNKNOWN_STREAM: u8 = u8::MAX;

/// Retries of a block whose mean page is uncorrectable.
pub const UNREADABLE: u8 = u8::MAX;

/// A block at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockLook {
    /// Pages that hold valid data, counting those still being programmed.
    pub valid: u32,
    /// Data pages programmed since the erasure.
    pub programmed: u32,
    /// Erasures since the drive was new.
    pub erases: u32,
    /// Number of its unit in the drive.
    pub unit: u32,
    /// Use.
    pub state: BlockState,
    /// Number of the stream that filled it, or [`UNKNOWN_STREAM`].
    pub stream: u8,
    /// True for an open block of a stream.
    pub is_frontier: bool,
    /// Senses beyond the first that its mean page takes now, of the table and of soft decoding, or [`UNREADABLE`]; 0
    /// where data do not age, or nothing lies in it.
    pub retries: u8,
}

/// A drive of a device's map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriveLook {
    /// Index of its first block.
    pub first: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Data pages per block.
    pub data_pages: u32,
    /// Names of its units.
    pub units: Vec<String>,
    /// True if its data age.
    pub ages: bool,
}

/// Every block of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looks {
    /// The blocks, drive by drive.
    pub blocks: Vec<BlockLook>,
    /// The drives.
    pub drives: Vec<DriveLook>,
}

impl Looks {
    /// Clears the blocks for another inspection.
    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Adds a drive whose blocks start at `first`; `units` is called for a new drive only.
    pub(crate) fn add_drive(
        &mut self,
        first: usize,
        (data_pages, ages): (u32, bool),
        units: impl FnOnce() -> Vec<String>,
    ) {
        if self.drives.iter().all(|drive| drive.first < first) {
            let blocks = self.blocks.len() - first;
            self.drives.push(DriveLook { first, blocks, data_pages, units: units(), ages });
        }
    }
}
