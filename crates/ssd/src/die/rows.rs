//! Grouping of logical pages into reads of a die: pages of a row are read together.

use super::batch::Batch;
use super::costs::{Costs, SLC_ROW};
use super::state::ReadFor;
use crate::device::kit::slots::Slot;
use crate::ids::Block;
use crate::page::Longer;
use crate::shape::Groups;
use engine::Time;

/// Position of a logical page: its block, the group in that, and its number in the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub block: Block,
    pub group: u32,
    pub unit: u32,
    /// True for a block with one bit per cell.
    pub slc: bool,
}

/// A combined read of a die.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(super) owner: ReadFor,
    pub(super) die: u32,
    pub(super) planes: u32,
    /// The type of the pages that are sensed.
    pub kind: u32,
    pub(super) sense_ns: Time,
    pub(super) bus_ns: Time,
}

impl Row {
    /// The row of a single page, as adding it to [`Rows`] and finishing the row would make it.
    #[inline]
    pub fn of_page(
        (place, (skipped, bytes)): (Place, (u32, u32)),
        owner: impl Fn(u32) -> ReadFor,
        (shape, blocks_per_domain): (&Groups, u32),
        costs: &Costs,
    ) -> Row {
        if skipped + bytes > shape.page_bytes {
            let mut rows = Rows::new(*shape, blocks_per_domain);
            let before = rows.add(place, (skipped, bytes), &owner, costs);
            debug_assert!(before.is_none(), "it is alone");
            return rows.finish(owner, costs).expect("it was added");
        }
        // Position of one flash page.
        let (row, plane) = costs.row_and_plane(place.unit);
        let kind = if place.slc { SLC_ROW } else { row };
        let first = shape.first_die(place.block, blocks_per_domain);
        Row {
            owner: owner(1),
            die: shape.place(first, place.group).die,
            planes: 1 << plane,
            kind,
            sense_ns: costs.sense(kind, bytes == shape.page_bytes),
            bus_ns: costs.transfer(bytes),
        }
    }

    /// A page of the map, on a plane of a die.
    pub fn of_map(page: u32, (die, plane): (u32, u32), costs: &Costs) -> Row {
        let (sense_ns, bus_ns) = (costs.map_read, costs.map_bus);
        Row { owner: ReadFor::Map(page), die, planes: 1 << plane, kind: SLC_ROW, sense_ns, bus_ns }
    }

    /// The row on another die.
    pub fn on(self, die: impl Fn(u32) -> u32) -> Row {
        Row { die: die(self.die), ..self }
    }

    /// The row with senses longer by `more_ns`.
    pub fn longer(self, more_ns: Time) -> Row {
        Row { sense_ns: self.sense_ns + more_ns, ..self }
    }

    /// The row for a request with retries.
    pub fn retried(self, slot: Slot, longer: Longer) -> Row {
        let ReadFor::Request { pages, .. } = self.owner else { unreachable!("a request reads it") };
        let short = |ns| u32::try_from(ns).unwrap_or(u32::MAX);
        let (retry_ns, rebuild_ns) = (short(longer.retry), short(longer.repair));
        let owner = ReadFor::Aged { slot, pages, retry_ns, rebuild_ns };
        Row { owner, ..self }.longer(Time::from(retry_ns) + Time::from(rebuild_ns))
    }
}

/// A row that is being put together, page by page; its kind is its number in the group.
#[derive(Debug, Clone, Copy)]
struct Open {
    block: Block,
    group: u32,
    kind: u32,
    planes: u32,
    /// The plane that is being added to, and the bytes of its page.
    plane: u32,
    bytes: u32,
    bus_ns: Time,
    whole: bool,
    pages: u32,
}

/// Puts rows together.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    shape: Groups,
    blocks_per_domain: u32,
    open: Option<Open>,
}

impl Rows {
    pub fn new(shape: Groups, blocks_per_domain: u32) -> Rows {
        Rows { shape, blocks_per_domain, open: None }
    }

    /// Adds a logical page, given its position and the bytes to read; another row begins where it
    /// is of none before, and the one before is whole.
    pub fn add(
        &mut self,
        place: Place,
        (skipped, bytes): (u32, u32),
        owner: impl Fn(u32) -> ReadFor,
        costs: &Costs,
    ) -> Option<Row> {
        let Place { block, group, unit, slc } = place;
        let span = self.shape.span(unit);
        let kind = if slc { SLC_ROW } else { span.row };
        let mut before = None;
        let mut row = match self.open {
            Some(row) if (row.block, row.group, row.kind) == (block, group, kind) => row,
            _ => {
                before = self.finish(owner, costs);
                let plane = u32::MAX;
                let (planes, bytes, bus_ns, whole, pages) = (0, 0, 0, false, 0);
                Open { block, group, kind, planes, plane, bytes, bus_ns, whole, pages }
            }
        };
        row.pages += 1;
        let (mut at, mut left) = (skipped, bytes);
        while left > 0 {
            let plane = span.plane + at / self.shape.page_bytes;
            let part = left.min(self.shape.page_bytes - at % self.shape.page_bytes);
            if plane != row.plane {
                self.close_page(&mut row, costs);
                row.plane = plane;
                row.planes |= 1 << plane;
            }
            row.bytes += part;
            at += part;
            left -= part;
        }
        self.open = Some(row);
        before
    }

    /// Completes the page under construction.
    fn close_page(&self, row: &mut Open, costs: &Costs) {
        if row.bytes > 0 {
            row.bus_ns += costs.transfer(row.bytes);
            row.whole |= row.bytes == self.shape.page_bytes;
            row.bytes = 0;
        }
    }

    /// Completes the current row, if any; `owner` says whose that many pages are.
    pub fn finish(&mut self, owner: impl Fn(u32) -> ReadFor, costs: &Costs) -> Option<Row> {
        let mut row = self.open.take()?;
        self.close_page(&mut row, costs);
        let first = self.shape.first_die(row.block, self.blocks_per_domain);
        Some(Row {
            owner: owner(row.pages),
            die: self.shape.place(first, row.group).die,
            planes: row.planes,
            kind: row.kind,
            sense_ns: costs.sense(row.kind, row.whole),
            bus_ns: row.bus_ns,
        })
    }

    /// A page of a group that is read on patrol.
    pub fn patrol(
        &self,
        (block, group): (Block, u32),
        kind: u32,
        plane: u32,
        costs: &Costs,
    ) -> Row {
        let first = self.shape.first_die(block, self.blocks_per_domain);
        let (sense_ns, bus_ns) = costs.row(kind, 1);
        let die = self.shape.place(first, group).die;
        Row { owner: ReadFor::Patrol, die, planes: 1 << plane, kind, sense_ns, bus_ns }
    }

    /// A batch of rows of a victim, of the first of which this many pages cross the bus.
    pub fn batch(&self, batch: Batch, die: u32, (pages, slc): (u32, bool), costs: &Costs) -> Row {
        let kind = if slc { SLC_ROW } else { batch.row() };
        let (sense_ns, bus_ns) = costs.row(kind, pages);
        let planes = u32::MAX >> (32 - self.shape.planes);
        Row { owner: ReadFor::Batch(batch), die, planes, kind, sense_ns, bus_ns }
    }
}
