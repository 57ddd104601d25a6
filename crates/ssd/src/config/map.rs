//! Map cache: memory in the controller, its location, and the cost of misses.

use options::{Duration, QuantityError, Size, Values, choices, conditions, options, text_setting};
use std::fmt;
use std::str::FromStr;

choices! {
    /// Place of the map cache.
    pub enum MapPlace {
        /// In memory of the controller: a look-up takes no time.
        Sram = "sram",
        /// In memory of the host (host memory buffer): a look-up crosses the link.
        Host = "host",
    }

    /// The cells that hold the map.
    pub enum MapCells {
        /// The bits per cell of data blocks.
        Native = "native",
        /// One bit per cell.
        Slc = "slc",
    }
}

conditions! {
    MapKeys:
    LOOKED_UP = "with a map cache (device.map.memory), or one in the host (device.map.place = \"host\")",
        |c| c.may_cost();
    LIMITED = "with a map cache (device.map.memory)", |c| c.memory.bytes().is_some();
    IN_SLC = "with a map cache (device.map.memory) in device.map.cells = \"slc\"",
        |c| c.memory.bytes().is_some() && c.cells == MapCells::Slc;
    HOSTED = "where the map cache is in the host (device.map.place = \"host\")",
        |c| c.place == MapPlace::Host;
}

options! {
    /// The map cache of a drive that maps pages and has too little memory for all of the map (DRAM-less drives; DFTL,
    /// Gupta et al., ASPLOS 2009).
    pub struct MapKeys as MapKeysPartial {
        /// Memory for the map; other entries are read from the flash when needed.
        memory: MapMemory = MapMemory(None),
        /// Place of that memory.
        place: MapPlace = MapPlace::Sram,
        /// Controller memory in front of the host's; `0B`: none.
        sram: Size where HOSTED = Size::from_bytes(0),
        /// An entry of the map: where a logical page lies.
        entry: Size where LOOKED_UP = Size::from_bytes(4),
        /// Unit of reading, evicting and programming the map.
        page: Size where LOOKED_UP = Size::from_bytes(4096),
        /// A look-up in memory of the host: a round trip on its link.
        host_latency: Duration where HOSTED = Duration::from_ns(1000),
        /// The cells that hold the map.
        cells: MapCells where LIMITED = MapCells::Native,
        /// Reading a page of the map from cells of one bit (tR SLC); default: as in
        /// `device.slc_cache`.
        read: Option<Duration> where IN_SLC = None,
        /// Programming a page of all planes in those cells (tPROG SLC); default: as in
        /// `device.slc_cache`.
        program: Option<Duration> where IN_SLC = None,
    }
}

impl MapKeys {
    /// True if lookups may take time.
    pub fn may_cost(&self) -> bool {
        self.memory.bytes().is_some() || self.place == MapPlace::Host
    }

    /// True if a lookup crosses the host link, which takes time.
    pub fn is_far(&self) -> bool {
        self.host_ns() > 0
    }

    /// Time of a lookup in host memory, if the cache is there; ns.
    pub fn host_ns(&self) -> u64 {
        if self.place == MapPlace::Host { self.host_latency.ns() } else { 0 }
    }
}

/// Memory for the map: a size, or the whole map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapMemory(Option<Size>);

impl MapMemory {
    /// Size in bytes, unless it holds the whole map.
    pub fn bytes(self) -> Option<u64> {
        self.0.map(Size::bytes)
    }
}

impl FromStr for MapMemory {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text {
            "all" => Ok(MapMemory(None)),
            size => size.parse().map(|size| MapMemory(Some(size))),
        }
    }
}

impl fmt::Display for MapMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(size) => size.fmt(f),
            None => f.write_str("all"),
        }
    }
}

text_setting!(
    MapMemory: "a size with its unit, such as \"64MiB\", or \"all\"",
    Values::words_or(&["all"], Size::pattern())
);
