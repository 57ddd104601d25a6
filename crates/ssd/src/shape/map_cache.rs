//! Shape of a map cache.

use super::Geometry;
use crate::config::{MapCells, SsdConfig};
use engine::SECTOR_BYTES;
use options::{Duration, Invalid, Size};

const MEMORY: &str = "device.map.memory";
const ENTRY: &str = "device.map.entry";
const PAGE: &str = "device.map.page";
const CELLS: &str = "device.map.cells";

/// Maximum entry size in bytes, and maximum lookup time in the host, ns.
const LARGEST_ENTRY: u64 = 64;
const LONGEST_NS: u64 = 4_000_000_000;

/// Layout of the map in memory and on the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapShape {
    /// Entries per map page.
    pub entries: u64,
    /// Number of map pages.
    pub pages: u32,
    /// Map pages held in memory.
    pub held: u32,
    /// Entries in controller memory in front of host memory.
    pub near: u32,
    /// Map pages programmed together.
    pub gathered: u32,
}

impl MapShape {
    /// True if memory holds the whole map.
    pub fn is_whole(&self) -> bool {
        self.held >= self.pages
    }
}

impl Geometry {
    /// Shape of the map cache; `None` if lookups cost nothing.
    pub fn map_shape(&self, config: &SsdConfig) -> Option<MapShape> {
        let keys = &config.map;
        let page = keys.page.bytes();
        let entries = page / keys.entry.bytes().max(1);
        let scale = u64::from(config.scale.max(1));
        let fits = |bytes: u64| u32::try_from(bytes / scale / page).unwrap_or(u32::MAX);
        let pages = self.exported_pages().div_ceil(entries.max(1)) as u32;
        let held = keys.memory.bytes().map_or(u32::MAX, fits);
        let shape = MapShape {
            entries,
            pages,
            held,
            near: fits(keys.sram.bytes()),
            gathered: (self.programmed_together(config) / page).max(1) as u32,
        };
        let costs = keys.may_cost() && (!shape.is_whole() || keys.host_ns() > 0);
        costs.then_some(shape)
    }

    /// Bytes of the map programmed by one operation.
    fn programmed_together(&self, config: &SsdConfig) -> u64 {
        let rows = |rows: u32| config.page_size.bytes() * u64::from(config.planes_per_die * rows);
        match &self.groups {
            Some(_) if config.map.cells == MapCells::Slc => rows(1),
            Some(groups) => rows(groups.rows),
            None => u64::from(self.sectors_per_page) * SECTOR_BYTES,
        }
    }

    /// Constraints of a map cache.
    ///
    /// # Errors
    /// [`Invalid`], with the keys.
    pub fn check_map_cache(&self, config: &SsdConfig) -> Result<(), Invalid> {
        let keys = &config.map;
        let refuse = |keys: &[&str], problem: String| Err(Invalid::new(keys, problem));
        if !keys.may_cost() {
            return Ok(());
        }
        if config.block_buffer.is_used() {
            let problem = "a map cache is one of drives without a block buffer; use one of both";
            return refuse(&[MEMORY, "device.block_buffer.size"], problem.to_owned());
        }
        if config.persistence.keeps_map() {
            let problem = "a map that survives power cuts is all in its memory; use memory = \"all\" or another \
                           recovery";
            return refuse(&[MEMORY, "device.persistence.recovery"], problem.to_owned());
        }
        let (page, entry) = (keys.page.bytes(), keys.entry.bytes());
        let logical = u64::from(self.sectors_per_page) * SECTOR_BYTES;
        let of_flash = config.page_size.bytes();
        let most = if self.groups.is_some() { of_flash } else { of_flash.min(logical) };
        if page == 0 || !page.is_multiple_of(SECTOR_BYTES) || page > most {
            let problem = format!(
                "{} is not possible; whole sectors of 512B, up to a page of the flash, {}",
                keys.page,
                Size::from_bytes(most)
            );
            return refuse(&[PAGE, "device.page_size"], problem);
        }
        if entry == 0 || entry > LARGEST_ENTRY || !page.is_multiple_of(entry) {
            let problem = format!(
                "{} is not possible; from 1B to {LARGEST_ENTRY}B, of which a page of the map, {}, holds a whole number",
                keys.entry, keys.page
            );
            return refuse(&[ENTRY, PAGE], problem);
        }
        let scale = u64::from(config.scale.max(1));
        let sizes = [(MEMORY, keys.memory.bytes()), ("device.map.sram", Some(keys.sram.bytes()))];
        for (key, bytes) in sizes {
            let Some(bytes) = bytes else { continue };
            if bytes / scale >= page || (bytes == 0 && key != MEMORY) {
                continue;
            }
            let least = Size::from_bytes(page * scale);
            let part = if scale > 1 { format!(" in one part of {scale}") } else { String::new() };
            let problem = format!(
                "{} holds no page of the map, {}{part}; at least {least}",
                Size::from_bytes(bytes),
                keys.page
            );
            let scaled: &[&str] =
                if scale > 1 { &[key, PAGE, "device.scale"] } else { &[key, PAGE] };
            return refuse(scaled, problem);
        }
        if keys.host_latency.ns() > LONGEST_NS {
            let problem = format!("{} is too long; at most 4s", keys.host_latency);
            return refuse(&["device.map.host_latency"], problem);
        }
        map_cells(config)
    }
}

/// Checks the cells that store the map.
fn map_cells(config: &SsdConfig) -> Result<(), Invalid> {
    if config.map.cells != MapCells::Slc {
        return Ok(());
    }
    if !config.is_buffered() {
        let problem = "pages are programmed one by one without a write buffer, as data are; use cells = \"native\"";
        return Err(Invalid::new(&[CELLS, "device.buffer.size"], problem));
    }
    if config.cell.bits < 2 {
        let problem = "cells of one bit have no other mode; use cells = \"native\"";
        return Err(Invalid::new(&[CELLS, "device.cell.bits"], problem));
    }
    for (key, time) in
        [("device.map.read", config.map_read()), ("device.map.program", config.map_program())]
    {
        let Some(time) = time else {
            let problem =
                "cells of one bit need it, or the same of an SLC cache (device.slc_cache)";
            return Err(Invalid::new(&[key, CELLS], problem));
        };
        if time.ns() == 0 || time.ns() > LONGEST_NS {
            let problem = format!("{time} is not possible; above 0, and at most 4s");
            return Err(Invalid::new(&[key], problem));
        }
    }
    Ok(())
}

impl SsdConfig {
    /// Read time of a map page in one-bit cells, if configured.
    pub fn map_read(&self) -> Option<Duration> {
        self.map.read.or(self.slc_cache.read.filter(|_| self.slc_cache.is_on()))
    }

    /// Program time of a map page in one-bit cells, if configured.
    pub fn map_program(&self) -> Option<Duration> {
        self.map.program.or(self.slc_cache.program.filter(|_| self.slc_cache.is_on()))
    }
}
