//! Times of operations, ns, derived from the configuration once.

use super::state::Job;
use crate::config::{MapCells, Program, SsdConfig};
use crate::shape::Groups;
use engine::Time;

/// Row of a page in cells of one bit.
pub const SLC_ROW: u32 = u32::MAX;

/// Times of flash operations and their interruption: as many fields as there are kinds of them.
#[derive(Debug, Clone)]
pub(crate) struct Costs {
    /// Sensing by the type of the page, and of less than a page.
    read: [Time; options::MOST_PAGE_TYPES],
    read_part: [Time; options::MOST_PAGE_TYPES],
    /// A pass of programming a group.
    pub program: Time,
    /// Program and sense times in cells of one bit.
    pub slc_program: Time,
    slc_read: Time,
    /// Sensing a page of the map, moving it over the bus, and programming some; and whether its cells have one bit.
    pub map_read: Time,
    pub map_bus: Time,
    pub map_program: Time,
    map_in_slc: bool,
    pub(super) erase: Time,
    /// A whole page over the bus, with its spare area and its command.
    pub page: Time,
    /// A logical page that is smaller, over the bus.
    unit: Time,
    timing: crate::config::Timing,
    page_bytes: u32,
    unit_bytes: u32,
    /// The row and the first plane of each logical page of a group.
    units: Box<[(u32, u32)]>,
}

impl Costs {
    pub fn new(config: &SsdConfig, groups: &Groups) -> Costs {
        let timing = &config.timing;
        // Programmed page by page, a group is a share of its word line, and has one type of page after the
        // other; the time of a read is then the mean over the types.
        let per_page = config.cell.program == Program::PerPage;
        let bits = u64::from(config.cell.bits);
        let all = (0..bits as usize).map(|kind| timing.read.of_type(kind).ns());
        let mean = all.sum::<Time>() / bits;
        let read = std::array::from_fn(|kind| {
            if per_page { mean } else { timing.read.of_type(kind.min(bits as usize - 1)).ns() }
        });
        let read_part = timing.read_part.map_or(read, |part| [part.ns(); options::MOST_PAGE_TYPES]);
        let program = match config.cell.program {
            Program::OneShot => timing.program.ns(),
            Program::TwoPass => timing.program.ns() / 2,
            Program::PerPage => timing.program.ns() / bits,
        };
        let page = u64::from(groups.page_bytes) + config.spare_size.bytes();
        let map_in_slc = config.map.cells == MapCells::Slc;
        Costs {
            read,
            read_part,
            program,
            slc_program: config.slc_cache.program.map_or(program, options::Duration::ns),
            slc_read: config.slc_cache.read.map_or(0, options::Duration::ns),
            map_read: config.map_read().filter(|_| map_in_slc).map_or(mean, options::Duration::ns),
            map_bus: timing.command.ns() + timing.transfer_ns(config.map.page.bytes()),
            map_program: config
                .map_program()
                .filter(|_| map_in_slc)
                .map_or(timing.program.ns(), options::Duration::ns),
            map_in_slc,
            erase: config.erase_ns(),
            page: timing.command.ns() + timing.transfer_ns(page),
            unit: timing.command.ns() + timing.transfer_ns(u64::from(groups.unit_bytes)),
            timing: timing.clone(),
            page_bytes: groups.page_bytes,
            unit_bytes: groups.unit_bytes,
            units: (0..groups.units)
                .map(|unit| groups.span(unit))
                .map(|span| (span.row, span.plane))
                .collect(),
        }
    }

    /// The row and the first plane of a logical page of a group.
    #[inline]
    pub fn row_and_plane(&self, unit: u32) -> (u32, u32) {
        self.units[unit as usize]
    }

    /// Rows of pages of each plane that a job programs, of the rows of a word line.
    pub fn rows(&self, job: Job, all: u32) -> u32 {
        let is_slc = job.is_slc() || self.map_in_slc && job == Job::Map;
        if is_slc { 1 } else { all }
    }

    /// Time to sense pages of a type, whole or in part.
    #[inline]
    pub(super) fn sense(&self, row: u32, whole: bool) -> Time {
        if row == SLC_ROW {
            return self.slc_read;
        }
        let times = if whole { &self.read } else { &self.read_part };
        times[row as usize]
    }

    /// Time to transfer `bytes` of one page over the bus; less than a page goes without the spare
    /// area.
    #[inline]
    pub(super) fn transfer(&self, bytes: u32) -> Time {
        if bytes == self.page_bytes {
            return self.page;
        }
        if bytes == self.unit_bytes {
            return self.unit;
        }
        self.timing.command.ns() + self.timing.transfer_ns(u64::from(bytes))
    }

    /// Sensing a row of a group, and moving this many of its pages over the bus.
    pub fn row(&self, row: u32, pages: u32) -> (Time, Time) {
        (self.sense(row, true), Time::from(pages) * self.page)
    }

    /// Mean time to sense a page.
    pub fn mean_sense(&self, rows: u32) -> Time {
        self.read[..rows as usize].iter().sum::<Time>() / u64::from(rows)
    }
}
