//! Request density over time and address, counted on a grid that grows with the trace.
//!
//! Both axes double their bin width whenever a value lies outside, so one pass and fixed memory
//! suffice, and at least half of each axis is in use.

use super::bytes::number;
use engine::Time;
use serde_json::{Value, json};

/// Bytes in a sector.
const SECTOR: u128 = engine::SECTOR_BYTES as u128;
/// Bins along the time.
const COLUMNS: usize = 128;
/// Bins along the address.
const ROWS: usize = 64;

/// Bins whose width is a power of two, aligned to that width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    bins: usize,
    shift: u32,
    /// Index of the first bin, in units of the bin width.
    base: u64,
    /// The range of all values.
    low: u64,
    high: u64,
}

impl Axis {
    fn new(bins: usize, value: u64) -> Self {
        Axis { bins, shift: 0, base: value, low: value, high: value }
    }

    fn bin(&self, value: u64) -> Option<usize> {
        let bin = usize::try_from((value >> self.shift).checked_sub(self.base)?).ok()?;
        (bin < self.bins).then_some(bin)
    }

    /// The lowest value of a bin.
    fn start(&self, bin: usize) -> u64 {
        (self.base + bin as u64) << self.shift
    }

    /// Widens the bins to include a value.
    fn with(self, value: u64) -> Self {
        let (low, high) = (self.low.min(value), self.high.max(value));
        let mut shift = self.shift;
        while (high >> shift) - (low >> shift) >= self.bins as u64 {
            shift += 1;
        }
        Axis { shift, base: low >> shift, low, high, ..self }
    }

    /// Bins up to the highest value.
    fn used(&self) -> usize {
        self.bin(self.high).unwrap_or(0) + 1
    }
}

/// Counts of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cell {
    reads: u64,
    others: u64,
}

/// The grid.
#[derive(Debug, Default)]
pub(super) struct Density {
    axes: Option<(Axis, Axis)>,
    cells: Vec<Cell>,
}

impl Density {
    /// Counts a request at a time since the start and an address.
    pub(super) fn insert(&mut self, since: Time, sector: u64, is_read: bool) {
        let (time, address) = *self.axes.get_or_insert_with(|| {
            self.cells = vec![Cell::default(); COLUMNS * ROWS];
            (Axis::new(COLUMNS, since), Axis::new(ROWS, sector))
        });
        if time.bin(since).is_none() || address.bin(sector).is_none() {
            self.grow(time, address, since, sector);
        }
        let Some((time, address)) = &mut self.axes else { return };
        (time.low, time.high) = (time.low.min(since), time.high.max(since));
        (address.low, address.high) = (address.low.min(sector), address.high.max(sector));
        let (Some(column), Some(row)) = (time.bin(since), address.bin(sector)) else { return };
        let cell = &mut self.cells[row * COLUMNS + column];
        if is_read {
            cell.reads += 1;
        } else {
            cell.others += 1;
        }
    }

    fn grow(&mut self, time: Axis, address: Axis, since: Time, sector: u64) {
        let (new_time, new_address) = (time.with(since), address.with(sector));
        let mut cells = vec![Cell::default(); COLUMNS * ROWS];
        for (index, cell) in self.cells.iter().enumerate() {
            if *cell == Cell::default() {
                continue;
            }
            // The lowest value of all may lie above the lower end of its bin.
            let at = time.start(index % COLUMNS).max(time.low);
            let place = address.start(index / COLUMNS).max(address.low);
            let (Some(column), Some(row)) = (new_time.bin(at), new_address.bin(place)) else {
                unreachable!("a grown grid holds what it held");
            };
            let grown = &mut cells[row * COLUMNS + column];
            grown.reads += cell.reads;
            grown.others += cell.others;
        }
        self.cells = cells;
        self.axes = Some((new_time, new_address));
    }

    /// The part of the grid in use, row by row from the lowest address.
    pub(super) fn to_json(&self) -> Value {
        let Some((time, address)) = self.axes else { return Value::Null };
        let matrix = |count: fn(&Cell) -> u64| -> Vec<Vec<u64>> {
            let rows = self.cells.chunks(COLUMNS).take(address.used());
            rows.map(|row| row.iter().take(time.used()).map(count).collect()).collect()
        };
        json!({
            "start_seconds": time.start(0) as f64 / 1e9,
            "column_seconds": (1_u64 << time.shift) as f64 / 1e9,
            "start_bytes": number(u128::from(address.start(0)) * SECTOR),
            "row_bytes": number(SECTOR << address.shift),
            "reads": matrix(|cell| cell.reads),
            "others": matrix(|cell| cell.others),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_grid_keeps_all_counts() {
        let mut density = Density::default();
        let mut random: u64 = 1;
        for count in 1..=2000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            density.insert(count * count * 1000, random >> (random % 50), count % 4 == 0);
            let total: u64 = density.cells.iter().map(|cell| cell.reads + cell.others).sum();
            assert_eq!(total, count);
        }
        let (time, address) = density.axes.unwrap();
        assert!(time.used() >= COLUMNS / 2 && address.used() >= ROWS / 2);
        density.insert(u64::MAX, u64::MAX, true);
        density.insert(0, 0, true);
        let reads: u64 = density.cells.iter().map(|cell| cell.reads).sum();
        assert_eq!(reads, 502);
    }

    #[test]
    fn a_cell_is_a_time_and_an_address() {
        let mut density = Density::default();
        for (since, sector) in [(0, 100), (127, 100), (5, 163)] {
            density.insert(since, sector, false);
        }
        let found = density.to_json();
        assert_eq!(found["row_bytes"], 512);
        assert_eq!(found["start_bytes"], 51200);
        assert_eq!(found["others"][0][127], 1);
        assert_eq!(found["others"][63][5], 1);
        assert_eq!(found["others"][0].as_array().unwrap().len(), 128);
    }
}
