//! Groups of logical pages behind a write buffer: a die programs a *group* at once; a *superblock*
//! is a block of each plane of every die.
//!
//! A group is planes x bits x page size; a logical page is part of a flash page, one, or several.
//! Within a group, pages of one type come first, plane by plane, so all planes read sequentially
//! written data in one operation. Groups of a superblock rotate over the dies. If configured, every
//! k-th is parity, and so is the last of a remainder.

use crate::config::{Program, Reclaim, SsdConfig};
use crate::ids::Block;
use engine::SECTOR_BYTES;
use options::{Invalid, Size};

/// Maximum number of planes; operations of a die have a bitmap of them.
const MOST_PLANES: u32 = 32;
/// Maximum number of dies; events have 20 bits for dies, groups and cores.
const MOST_DIES: u32 = 4096;

/// Shape of groups and of units of cleaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    /// Number of dies; die d is on channel d mod channels.
    pub dies: u32,
    /// Number of channels.
    pub channels: u32,
    /// Dies over which a block's groups rotate: all dies of a superblock, or one.
    pub width: u32,
    /// True if blocks of different domains are on different dies.
    apart: bool,
    /// Planes per die.
    pub planes: u32,
    /// Rows per group: pages of different type per plane.
    pub rows: u32,
    /// Data of a flash page, bytes.
    pub page_bytes: u32,
    /// Data of a logical page, bytes.
    pub unit_bytes: u32,
    /// Logical pages per group.
    pub units: u32,
    /// Data groups per block.
    pub per_block: u32,
    /// Logical pages in the last data group; the block's summary starts behind them.
    pub last_units: u32,
    /// Summary groups at the end.
    pub summary_groups: u32,
    /// Word lines per block, or pages if programmed singly.
    rounds: u32,
    /// One group in `parity_of` is parity; 0 without parity.
    pub parity_of: u32,
}

/// Summary entry: number and program number of a logical page. The summary also holds the block's
/// opening number, erases, and start.
const SUMMARY_ENTRY: u64 = 8;
const SUMMARY_HEADER: u64 = 24;

/// Size of the summary of a block with `units` logical pages, bytes.
pub fn summary_bytes(units: u32) -> u64 {
    u64::from(units) * SUMMARY_ENTRY + SUMMARY_HEADER
}

/// Number of data groups, and logical pages in the last; the rest of the block is its summary.
fn with_summary(
    config: &SsdConfig,
    groups: u32,
    units: u32,
    unit_bytes: u64,
) -> Result<(u32, u32), Invalid> {
    if !config.summary_page {
        return Ok((groups, units));
    }
    let all = groups.saturating_mul(units);
    let data = summary_bytes(all).div_ceil(unit_bytes).try_into().ok();
    let Some(data) = data.and_then(|summary: u32| all.checked_sub(summary)).filter(|it| *it > 0)
    else {
        let problem = "a block is all summary; use more pages or summary_page = false";
        return Err(Invalid::new(&["device.pages_per_block", "device.summary_page"], problem));
    };
    Ok((data.div_ceil(units), (data - 1) % units + 1))
}

/// Location of a block's data group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The die.
    pub die: u32,
    /// Die of the parity group that follows, if any.
    pub parity: Option<u32>,
}

impl Groups {
    /// Groups of a configuration.
    ///
    /// # Errors
    /// When counts and sizes are incompatible.
    pub fn new(config: &SsdConfig) -> Result<Groups, Invalid> {
        let cell = &config.cell;
        let planes = config.planes_per_die;
        if planes > MOST_PLANES {
            let problem = format!("{planes} is too many; at most {MOST_PLANES}");
            return Err(Invalid::new(&["device.planes_per_die"], problem));
        }
        let dies = config.channels * config.packages_per_channel * config.dies_per_package;
        if dies > MOST_DIES {
            let problem = format!("{dies} dies are too many; at most {MOST_DIES}");
            let keys =
                ["device.channels", "device.packages_per_channel", "device.dies_per_package"];
            return Err(Invalid::new(&keys, problem));
        }
        if !config.pages_per_block.is_multiple_of(cell.bits) {
            let problem = format!(
                "a block of {} pages does not divide into word lines of {} pages",
                config.pages_per_block, cell.bits
            );
            return Err(Invalid::new(&["device.pages_per_block", "device.cell.bits"], problem));
        }
        let word_lines = config.pages_per_block / cell.bits;
        if config.scale == 0 || !word_lines.is_multiple_of(config.scale) {
            let problem = format!(
                "a block of {word_lines} word lines ({} pages / {} bits) has no whole number of them \
                 in one part of {}",
                config.pages_per_block, cell.bits, config.scale
            );
            let keys = ["device.scale", "device.pages_per_block", "device.cell.bits"];
            return Err(Invalid::new(&keys, problem));
        }
        let word_lines = word_lines / config.scale;
        let rows = if cell.program == Program::PerPage { 1 } else { cell.bits };
        let rounds = word_lines * (cell.bits / rows);
        let page = config.page_size.bytes();
        let unit = config.logical_page.unwrap_or(config.page_size).bytes();
        let row = page * u64::from(planes);
        let group = row * u64::from(rows);
        let fits = unit >= SECTOR_BYTES
            && unit.is_multiple_of(SECTOR_BYTES)
            && (unit.is_multiple_of(page) || page.is_multiple_of(unit))
            && row.is_multiple_of(unit);
        if !fits {
            let problem = format!(
                "{} is not possible: a logical page is a whole part of a page of {}, or several \
                 that divide what all planes read at once, {} ({planes} planes x {})",
                Size::from_bytes(unit),
                config.page_size,
                Size::from_bytes(row),
                config.page_size
            );
            let keys = ["device.logical_page", "device.page_size", "device.planes_per_die"];
            return Err(Invalid::new(&keys, problem));
        }
        let width = match config.cleaning.reclaim {
            Reclaim::Block => 1,
            Reclaim::Superblock => dies / config.fdp.reclaim_groups(),
        };
        let all = rounds * width;
        let parity_of = config.parity.of;
        if parity_of == 1 || parity_of > all {
            let problem = format!(
                "one of {parity_of} groups cannot be parity: 0 is none, and a block has {all} groups \
                 ({rounds} of each of {width} dies)"
            );
            return Err(Invalid::new(&["device.parity.of", "device.pages_per_block"], problem));
        }
        let parity = if parity_of == 0 { 0 } else { all.div_ceil(parity_of) };
        let units = (group / unit) as u32;
        let (per_block, last_units) = with_summary(config, all - parity, units, unit)?;
        Ok(Groups {
            dies,
            channels: config.channels,
            width,
            apart: width == 1 || config.fdp.reclaim_groups() > 1,
            planes,
            rows,
            page_bytes: page as u32,
            unit_bytes: unit as u32,
            units,
            per_block,
            last_units,
            summary_groups: all - parity - per_block,
            rounds,
            parity_of,
        })
    }

    /// Groups without dies, which are on domains instead.
    pub fn on_domains(self, domains: u32) -> Groups {
        if self.dies > 0 { self } else { self.on(domains, 1) }
    }

    /// The groups on another number of dies.
    pub fn on(self, dies: u32, channels: u32) -> Groups {
        Groups { dies, channels, ..self }
    }

    /// Groups of one page, in blocks without dies: the drive's units hold the pages.
    pub fn of_pages(unit_bytes: u32, data_pages: u32, pages_per_block: u32) -> Groups {
        Groups {
            dies: 0,
            channels: 0,
            width: 1,
            apart: true,
            planes: 1,
            rows: 1,
            page_bytes: unit_bytes,
            unit_bytes,
            units: 1,
            per_block: data_pages,
            last_units: 1,
            summary_groups: 0,
            rounds: pages_per_block,
            parity_of: 0,
        }
    }

    /// Data of a group in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.units) * u64::from(self.unit_bytes)
    }

    /// Data pages per block.
    pub fn units_per_block(&self) -> u32 {
        (self.per_block - 1).saturating_mul(self.units).saturating_add(self.last_units)
    }

    /// Data pages in a group of a block.
    #[inline]
    pub fn units_of(&self, group: u32) -> u32 {
        if group + 1 == self.per_block { self.last_units } else { self.units }
    }

    /// Parity groups per block.
    pub fn parity_per_block(&self) -> u32 {
        if self.parity_of == 0 { 0 } else { self.per_block.div_ceil(self.parity_of - 1) }
    }

    /// Logical pages taken by a block's summary.
    pub fn summary_units(&self) -> u32 {
        self.summary_groups * self.units + self.units - self.last_units
    }

    /// Rows of a block per die: the rows that a scan reads.
    pub fn rows_of_die(&self) -> u32 {
        self.rounds * self.rows
    }

    /// Logical pages per row of a group: one read of all planes.
    pub fn units_per_row(&self) -> u32 {
        self.units / self.rows
    }

    /// Data pages of a block's group with one bit per cell: its first row, less where the summary of the block follows.
    pub fn units_in_one_bit(&self, group: u32) -> u32 {
        let row = self.units_per_row();
        if group + 1 < self.per_block || self.last_units == self.units && self.summary_groups == 0 {
            return row;
        }
        let before = (self.per_block - 1) * row;
        let fits = |last: &u32| {
            let summary = summary_bytes(before + last).div_ceil(u64::from(self.unit_bytes));
            summary <= u64::from(self.summary_groups * row + row - last)
        };
        (1..=row.min(self.last_units)).rev().find(fits).unwrap_or(1)
    }

    /// Data pages of a block with one bit per cell.
    pub fn one_bit_units_per_block(&self) -> u32 {
        (self.per_block - 1) * self.units_per_row() + self.units_in_one_bit(self.per_block - 1)
    }

    /// Pages around the data of a block, of native cells or of one bit: its summary, and parity.
    pub fn around_data(&self, one_bit: bool) -> (u64, u64) {
        let (summary, of_group) = if one_bit {
            (self.summary_units_in_one_bit(), self.units_per_row())
        } else {
            (self.summary_units(), self.units)
        };
        (summary.into(), (self.parity_per_block() * of_group).into())
    }

    /// Share of the programmed groups that holds data.
    pub fn data_share(&self) -> f64 {
        if self.parity_of == 0 { 1.0 } else { 1.0 - 1.0 / f64::from(self.parity_of) }
    }

    /// True if the summary of a block with one bit per cell fits behind its data.
    pub fn summarizes_one_bit(&self) -> bool {
        let bytes = summary_bytes(self.one_bit_units_per_block());
        let needed = bytes.div_ceil(u64::from(self.unit_bytes));
        self.summary_units() == 0 || u64::from(self.summary_units_in_one_bit()) >= needed
    }

    /// Pages that the summary of such a block takes.
    fn summary_units_in_one_bit(&self) -> u32 {
        (self.summary_groups + 1) * self.units_per_row() - self.units_in_one_bit(self.per_block - 1)
    }

    /// Location of a block's group; if dies are cleaned separately, a block's die is `block /
    /// blocks per die`.
    #[inline]
    pub fn place(&self, first_die: u32, group: u32) -> Place {
        let (mut at, mut parity) = (group, None);
        if self.parity_of > 0 {
            let data = self.parity_of - 1;
            at += group / data;
            if group % data == data - 1 || group + 1 == self.per_block {
                parity = Some(first_die + (at + 1) % self.width);
            }
        }
        Place { die: first_die + at % self.width, parity }
    }

    /// Rounds per block: word lines, or pages of a die.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Round of a group in its block: its word line, or its page.
    #[inline]
    pub fn round_of(&self, group: u32) -> u32 {
        let parity = if self.parity_of > 0 { group / (self.parity_of - 1) } else { 0 };
        (group + parity) / self.width
    }

    /// Die and round of a group; parity groups have the number that `stripe_of` uses, after the
    /// data groups.
    #[inline]
    pub fn die_and_round_of(&self, first_die: u32, group: u32) -> (u32, u32) {
        let at = if group < self.per_block {
            let parity = if self.parity_of > 0 { group / (self.parity_of - 1) } else { 0 };
            group + parity
        } else {
            let data = self.parity_of - 1;
            let last = ((group - self.per_block + 1) * data).min(self.per_block) - 1;
            last + last / data + 1
        };
        (first_die + at % self.width, at / self.width)
    }

    /// Groups of a group's stripe, with its parity numbered after the data groups; `None` without
    /// parity.
    pub fn stripe_of(&self, group: u32) -> Option<impl Iterator<Item = u32> + use<>> {
        let data = self.parity_of.checked_sub(1)?;
        let stripe = group / data;
        let end = (stripe * data + data).min(self.per_block);
        Some((stripe * data..end).chain([self.per_block + stripe]))
    }

    /// Logical pages of a block up to the end of a group's stripe, after which its parity exists.
    pub fn stripe_end(&self, group: u32) -> u32 {
        let data = self.parity_of.max(2) - 1;
        let end = (group / data + 1) * data;
        if end < self.per_block {
            end * self.units
        } else {
            (self.per_block - 1) * self.units + self.last_units
        }
    }

    /// First die of a block.
    #[inline]
    pub fn first_die(&self, block: Block, blocks_per_domain: u32) -> u32 {
        if self.apart { block.0 / blocks_per_domain * self.width } else { 0 }
    }

    /// Flash pages of logical page `unit` of a group: row, first plane, number of planes, and bytes
    /// in each.
    #[inline]
    pub fn span(&self, unit: u32) -> Span {
        let from = u64::from(unit) * u64::from(self.unit_bytes);
        let page = u64::from(self.page_bytes);
        let first = (from / page) as u32;
        let pages = self.unit_bytes.div_ceil(self.page_bytes);
        Span {
            row: first / self.planes,
            plane: first % self.planes,
            pages,
            bytes: self.unit_bytes.min(self.page_bytes),
        }
    }

    /// Name of a die.
    pub fn die_name(&self, die: u32) -> String {
        format!("channel {} die {}", die % self.channels, die / self.channels)
    }
}

/// Location of a logical page in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Row, which is the page type.
    pub row: u32,
    /// First plane.
    pub plane: u32,
    /// Touched flash pages.
    pub pages: u32,
    /// Bytes in each flash page.
    pub bytes: u32,
}
