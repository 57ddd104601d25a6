//! The sections of the results in which counts stand.

/// The section of the results in which a count stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Operations of the flash.
    Flash,
    /// The share of cleaning.
    Cleaning,
    /// Refusals of the drive.
    Wear,
    /// Write buffer, for drives with one.
    Buffer,
    /// Merges of log blocks, for drives with them.
    Merges,
    /// Block buffer, for drives with one.
    Blocks,
    /// Look-ups in the map, in the results of drives with a map cache.
    Map,
    /// Levels: in no section, but followed over time.
    Levels,
}

impl Section {
    /// Path in the results; empty where it is not in them.
    pub fn path(self) -> &'static str {
        match self {
            Section::Flash => "flash",
            Section::Cleaning => "flash.cleaning",
            Section::Wear => "wear",
            Section::Buffer => "buffer",
            Section::Merges => "flash.merges",
            Section::Blocks => "flash.block_buffer",
            Section::Map => "map",
            Section::Levels => "",
        }
    }
}
