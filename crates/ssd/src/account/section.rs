//! The sections of the results in which counts stand.

/// The section of the results in which a count stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// What was done to the flash.
    Flash,
    /// Of that, what cleaning did.
    Cleaning,
    /// What the drive did not take.
    Wear,
    /// What a write buffer did, in the results of drives that have one.
    Buffer,
    /// How log blocks were merged, in the results of drives that have them.
    Merges,
    /// What a block buffer did, in the results of drives that have one.
    Blocks,
    /// What look-ups in the map took, in the results of drives with a map cache.
    Map,
    /// How things stand: in none, but followed over time.
    Levels,
}

impl Section {
    /// Its path in the results; empty where it is not in them.
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
