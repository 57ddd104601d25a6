//! The cells of a block map: one block each, or several blocks for a large drive, so that the map
//! stays readable.

use devices::ssd::ids::BlockState;
use devices::{BlockLook, DriveLook, Looks};
use serde_json::{Value, json};
use std::ops::Range;

/// Maximum number of cells of a map, or the number of units if that is larger.
pub(super) const MOST_CELLS: usize = 16_384;

/// Content of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    valid: u32,
    programmed: u32,
    erases: u32,
    /// Maximum retries of its blocks.
    retries: u8,
    /// State (3 bits), frontier mark (1 bit) and stream (4 bits).
    head: u8,
}

/// The code of an unknown stream; real streams have lower numbers.
const UNKNOWN: u8 = 15;

impl Cell {
    /// Combines several blocks. A GC victim among them takes precedence, then an open block; the
    /// cell is free if all blocks are.
    pub(super) fn of(blocks: &[BlockLook]) -> Cell {
        let sum = |of: fn(&BlockLook) -> u32| {
            let sum: u64 = blocks.iter().map(|block| u64::from(of(block))).sum();
            u32::try_from(sum).unwrap_or(u32::MAX)
        };
        let first = |state| blocks.iter().find(|block| block.state == state);
        let shown = first(BlockState::Victim)
            .or_else(|| first(BlockState::Open))
            .or_else(|| blocks.iter().find(|block| block.state != BlockState::Free));
        let state = shown.map_or(BlockState::Free, |block| block.state);
        let stream = shown.or(blocks.first()).map_or(UNKNOWN, |block| block.stream.min(UNKNOWN));
        let is_frontier = blocks.iter().any(|block| block.is_frontier);
        Cell {
            valid: sum(|block| block.valid),
            programmed: sum(|block| block.programmed),
            erases: sum(|block| block.erases),
            retries: blocks.iter().map(|block| block.retries).max().unwrap_or(0),
            head: state as u8 | u8::from(is_frontier) << 3 | stream << 4,
        }
    }

    /// Writes the cell, `gap` cells after the previous one.
    pub(super) fn write(&self, gap: usize, bytes: &mut Vec<u8>) {
        write_number(gap as u64, bytes);
        bytes.push(self.head);
        for number in [self.valid, self.programmed, self.erases] {
            write_number(u64::from(number), bytes);
        }
        bytes.push(self.retries);
    }
}

/// Variable-length number: seven bits per byte, lowest first; the highest bit marks continuation.
fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The blocks of each cell.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) cells: Vec<Range<usize>>,
    /// Number of drives known when it was created.
    pub(super) drives: usize,
    /// The shape, for the page that draws the map.
    pub(super) shape: Value,
}

impl Layout {
    /// Cells of consecutive blocks of a unit.
    pub(super) fn new(looks: &Looks) -> Layout {
        let per_cell = looks.blocks.len().div_ceil(MOST_CELLS).max(1);
        let mut cells: Vec<Range<usize>> = Vec::new();
        let mut drives = Vec::new();
        for drive in &looks.drives {
            let all = drive.first..drive.first + drive.blocks;
            let mut units = Vec::new();
            let mut first = all.start;
            for of_unit in looks.blocks[all].chunk_by(|a, b| a.unit == b.unit) {
                let end = first + of_unit.len();
                let of_cell = |from: usize| from..(from + per_cell).min(end);
                let starts = (first..end).step_by(per_cell);
                let name = &drive.units[of_unit[0].unit as usize];
                units.push(json!({
                    "name": name, "first": cells.len(), "cells": starts.len(), "blocks": of_unit.len(),
                }));
                cells.extend(starts.map(of_cell));
                first = end;
            }
            let DriveLook { data_pages, ages, .. } = drive;
            drives.push(json!({ "data_pages": data_pages, "ages": ages, "units": units }));
        }
        let shape = json!({
            "blocks": looks.blocks.len(),
            "blocks_per_cell": per_cell,
            "cells": cells.len(),
            "drives": drives,
        });
        Layout { cells, drives: looks.drives.len(), shape }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use devices::UNKNOWN_STREAM;

    fn block(number: u32, units: u32, blocks: u32) -> BlockLook {
        BlockLook {
            valid: number % 7,
            programmed: 7,
            erases: number % 3,
            unit: number / (blocks / units),
            state: if number.is_multiple_of(9) { BlockState::Free } else { BlockState::Closed },
            stream: UNKNOWN_STREAM,
            is_frontier: false,
            retries: (number % 5) as u8,
        }
    }

    fn looks(drives: usize, units: u32, blocks: u32) -> Looks {
        let mut looks = Looks::default();
        for _ in 0..drives {
            let (first, units_named) = (looks.blocks.len(), (0..units).map(|it| it.to_string()));
            looks.blocks.extend((0..blocks).map(|number| block(number, units, blocks)));
            let units = units_named.collect();
            let blocks = blocks as usize;
            let ages = true;
            looks.drives.push(DriveLook { first, blocks, data_pages: 7, units, ages });
        }
        looks
    }

    #[test]
    fn cells_cover_every_block_once_and_no_cell_reaches_over_two_units() {
        for (drives, units, blocks) in
            [(1, 8, 4096), (1, 1, 40_001), (3, 7, 7 * 1000), (2, 4, 40_000)]
        {
            let looks = looks(drives, units, blocks);
            let layout = Layout::new(&looks);
            let all = drives * blocks as usize;
            let least = all.min(MOST_CELLS / 2);
            let most = MOST_CELLS + drives * units as usize;
            assert!((least..=most).contains(&layout.cells.len()), "{}", layout.cells.len());
            let mut next = 0;
            for cell in &layout.cells {
                assert_eq!(cell.start, next);
                next = cell.end;
                let one = &looks.blocks[cell.clone()];
                assert!(one.iter().all(|block| block.unit == one[0].unit));
            }
            assert_eq!(next, all);
            let sum = |of: fn(&Cell) -> u32| -> u64 {
                let cells = layout.cells.iter().map(|it| Cell::of(&looks.blocks[it.clone()]));
                cells.map(|cell| u64::from(of(&cell))).sum()
            };
            let valid: u64 = looks.blocks.iter().map(|it| u64::from(it.valid)).sum();
            let erases: u64 = looks.blocks.iter().map(|it| u64::from(it.erases)).sum();
            assert_eq!((sum(|it| it.valid), sum(|it| it.erases)), (valid, erases));
            assert_eq!(layout.shape["cells"], layout.cells.len());
            assert_eq!(layout.shape["blocks"], all);
        }
    }

    #[test]
    fn a_cell_of_several_blocks_shows_the_busiest() {
        let [mut a, mut b] = [block(9, 1, 100), block(10, 1, 100)];
        assert_eq!(Cell::of(&[a, a]).head & 7, BlockState::Free as u8);
        assert_eq!(Cell::of(&[a, b]).head & 7, BlockState::Closed as u8);
        (a.state, a.is_frontier) = (BlockState::Open, true);
        assert_eq!(Cell::of(&[b, a]).head & 15, BlockState::Open as u8 | 8);
        assert_eq!(Cell::of(&[b, a]).retries, 4, "of the older of the two");
        (b.state, b.stream) = (BlockState::Victim, 1);
        assert_eq!(Cell::of(&[a, b]).head, BlockState::Victim as u8 | 8 | 1 << 4);
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        let written = |number| {
            let mut bytes = Vec::new();
            write_number(number, &mut bytes);
            bytes
        };
        assert_eq!(written(0), [0]);
        assert_eq!(written(127), [127]);
        assert_eq!(written(128), [0x80, 1]);
        assert_eq!(written(300), [0xac, 2]);
    }
}
