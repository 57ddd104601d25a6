//! Tables of page numbers: the state of a drive per page, its largest arrays.
//!
//! A number takes 4 bytes, or 5 in a drive of 2^32 - 1 pages or more (`Geometry::wide`, decided once; in registers
//! all have 64 bits). All are 0 at first, in memory that the system provides zeroed and charges for when it is
//! touched: unwritten entries cost nothing, in memory, copies and saved drives. The limits are 2^40 - 2 pages, 2^24
//! of them in a block, and 2^32 - 2 blocks (`shape/check.rs`).

mod kept;
mod raw;

pub use kept::Table;
pub use raw::PageTable;

use std::ops::Range;

/// Entries per piece of a wide table: 20 KiB, of which an allocator may touch every byte.
const PIECE: u64 = 1 << 12;
/// Bytes of an entry of a wide table.
const WIDTH: usize = 5;
/// An entry is the lower part of a word read.
const WORD: usize = 8;
/// Unit of a copy: a page of memory, or half of one.
const STEP: usize = 1 << 10;
/// Steps of a piece.
const STEPS: usize = PIECE as usize / STEP;

/// The largest number that a wide table holds.
pub(crate) const LARGEST: u64 = (1 << 40) - 1;

/// A table of numbers, 0 by default.
///
/// A wide table has an empty narrow one: the bounds check of the narrow table also tells them
/// apart, so that narrow tables pay nothing for wide ones.
#[derive(Debug)]
pub struct Numbers {
    /// Numbers below 2^32.
    narrow: Vec<u32>,
    /// Or all are below 2^40.
    wide: Option<Wide>,
}

/// A table of 40-bit numbers, in pieces allocated on the first write: as a whole it could exceed
/// the largest allocation of the system.
#[derive(Debug)]
struct Wide {
    length: u64,
    pieces: Vec<Option<Piece>>,
}

/// A part of a wide table.
#[derive(Debug)]
struct Piece {
    bytes: Box<[u8]>,
    /// A bit for each allocated step: the others are skipped.
    written: u8,
}

impl Piece {
    fn new() -> Piece {
        let bytes = memory::zeroed(PIECE as usize * WIDTH + WORD - WIDTH).into_boxed_slice();
        Piece { bytes, written: 0 }
    }

    fn copy(&self) -> Piece {
        let mut copy = Piece { written: self.written, ..Piece::new() };
        for step in 0..STEPS {
            if let Some(bytes) = self.step(step) {
                copy.bytes[step * STEP * WIDTH..][..bytes.len()].copy_from_slice(bytes);
            }
        }
        copy
    }

    /// Bytes of a step, if allocated.
    fn step(&self, step: usize) -> Option<&[u8]> {
        let is_written = self.written >> step & 1 == 1;
        is_written.then(|| &self.bytes[step * STEP * WIDTH..(step + 1) * STEP * WIDTH])
    }
}

impl Numbers {
    /// A table of `length` zeroes.
    pub fn new(length: u64, wide: bool) -> Numbers {
        if wide {
            let pieces = memory::made(length.div_ceil(PIECE) as usize, |_| None);
            return Numbers { narrow: Vec::new(), wide: Some(Wide { length, pieces }) };
        }
        let mut narrow = memory::zeroed(length as usize);
        memory::prefer_large_pages(&mut narrow);
        Numbers { narrow, wide: None }
    }

    /// Announces, before the first write, that most numbers will be set, so that large pages cost a
    /// large table no memory.
    pub fn expect_all(&mut self) {
        memory::large_pages_where_full(&mut self.narrow);
    }

    /// A zero table of equal length and width.
    pub fn alike(&self) -> Numbers {
        Numbers::new(self.len(), self.is_wide())
    }

    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.wide.as_ref().map_or(self.narrow.len() as u64, |wide| wide.length)
    }

    /// True for 40-bit numbers.
    pub fn is_wide(&self) -> bool {
        self.wide.is_some()
    }

    /// True for an empty table.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at a place.
    ///
    /// # Panics
    /// Past the end.
    #[inline]
    pub fn get(&self, at: u64) -> u64 {
        match self.narrow.get(at as usize) {
            Some(number) => u64::from(*number),
            None => self.get_wide(at).expect("a page lies in its drive"),
        }
    }

    /// `get`, or 0 beyond the end.
    #[inline]
    pub fn find(&self, at: u64) -> u64 {
        match self.narrow.get(at as usize) {
            Some(number) => u64::from(*number),
            None => self.get_wide(at).unwrap_or(0),
        }
    }

    /// Sets the number at a place.
    ///
    /// # Panics
    /// Past the end.
    #[inline]
    pub fn set(&mut self, at: u64, number: u64) {
        match self.narrow.get_mut(at as usize) {
            Some(kept) => {
                debug_assert!(u32::try_from(number).is_ok());
                *kept = number as u32;
            }
            None => self.set_wide(at, number),
        }
    }

    /// Sets the number at a place; which it was before.
    ///
    /// # Panics
    /// Past the end.
    #[inline]
    pub fn replace(&mut self, at: u64, number: u64) -> u64 {
        if let Some(kept) = self.narrow.get_mut(at as usize) {
            debug_assert!(u32::try_from(number).is_ok());
            return u64::from(std::mem::replace(kept, number as u32));
        }
        let before = self.get(at);
        self.set_wide(at, number);
        before
    }

    #[cold]
    #[inline(never)]
    fn get_wide(&self, at: u64) -> Option<u64> {
        let wide = self.wide.as_ref().filter(|wide| at < wide.length)?;
        let Some(piece) = &wide.pieces[(at / PIECE) as usize] else { return Some(0) };
        let from = (at % PIECE) as usize * WIDTH;
        let mut word = [0; WORD];
        word.copy_from_slice(&piece.bytes[from..from + WORD]);
        Some(u64::from_le_bytes(word) & LARGEST)
    }

    #[cold]
    #[inline(never)]
    fn set_wide(&mut self, at: u64, number: u64) {
        let wide = self.wide.as_mut().filter(|wide| at < wide.length && number <= LARGEST);
        let pieces = &mut wide.expect("a page lies in its drive").pieces;
        let piece = pieces[(at / PIECE) as usize].get_or_insert_with(Piece::new);
        let at = (at % PIECE) as usize;
        let (from, step) = (at * WIDTH, at / STEP);
        piece.written |= 1 << step;
        piece.bytes[from..from + WIDTH].copy_from_slice(&number.to_le_bytes()[..WIDTH]);
    }

    /// True if another table has as many numbers of the same width.
    pub fn is_like(&self, other: &Numbers) -> bool {
        self.len() == other.len() && self.is_wide() == other.is_wide()
    }

    /// Exchanges the numbers at two places.
    pub fn swap(&mut self, one: u64, other: u64) {
        let (first, second) = (self.get(one), self.get(other));
        self.set(one, second);
        self.set(other, first);
    }

    /// Begins to fetch the number at a place, which will be wanted; of a wide table that would take as long
    /// as the number itself.
    #[inline]
    pub fn prefetch(&self, at: u64) {
        memory::prefetch(&self.narrow, at as usize);
    }

    /// `copy` for the positions named by another table.
    #[inline]
    pub fn prefetch_named(&self, other: &Numbers, places: Range<u64>) {
        let names = other.narrow.get(places.start as usize..places.end as usize);
        for name in names.unwrap_or_default() {
            memory::prefetch(&self.narrow, name.wrapping_sub(1) as usize);
        }
    }

    /// Sets the numbers from a place on.
    ///
    /// # Panics
    /// Past the end.
    #[inline]
    pub fn set_run(&mut self, from: u64, numbers: impl ExactSizeIterator<Item = u64>) {
        if self.wide.is_some() {
            return (from..).zip(numbers).for_each(|(at, number)| self.set_wide(at, number));
        }
        let kept = &mut self.narrow[from as usize..][..numbers.len()];
        for (kept, number) in kept.iter_mut().zip(numbers) {
            *kept = number as u32;
        }
    }

    /// Reads as many numbers from a place on as there is room for.
    ///
    /// # Panics
    /// Past the end.
    #[inline]
    pub fn read(&self, from: u64, numbers: &mut [u64]) {
        if self.wide.is_some() {
            return (from..).zip(numbers).for_each(|(at, number)| *number = self.get(at));
        }
        let kept = &self.narrow[from as usize..][..numbers.len()];
        for (number, kept) in numbers.iter_mut().zip(kept) {
            *number = u64::from(*kept);
        }
    }

    /// Takes the numbers of some places as another table of as many of the same width has them.
    pub fn take(&mut self, other: &Numbers, places: Range<u64>) {
        if self.wide.is_none() {
            let places = places.start as usize..places.end as usize;
            return self.narrow[places.clone()].copy_from_slice(&other.narrow[places]);
        }
        for at in places {
            let number = other.get(at);
            if self.get(at) != number {
                self.set_wide(at, number);
            }
        }
    }

    /// The places of the numbers that are not 0, in order, with the numbers.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.steps().flat_map(|from| {
            let to = self.len().min(from + STEP as u64);
            (from..to).map(|at| (at, self.get(at))).filter(|(_, number)| *number != 0)
        })
    }

    /// Largest number; 0 if there are none.
    pub fn largest(&self) -> u64 {
        match self.narrow() {
            Some(numbers) => u64::from(numbers.iter().copied().max().unwrap_or(0)),
            None => self.entries().map(|(_, number)| number).max().unwrap_or(0),
        }
    }

    /// The numbers of a narrow table, in order.
    pub fn narrow(&self) -> Option<&[u32]> {
        self.wide.is_none().then_some(&self.narrow[..])
    }

    /// Starts of steps with nonzero content.
    fn steps(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.step_count()).filter(|step| !self.is_zero(*step)).map(|step| step * STEP as u64)
    }

    fn step_count(&self) -> u64 {
        self.len().div_ceil(STEP as u64)
    }

    fn is_zero(&self, step: u64) -> bool {
        let from = step * STEP as u64;
        let Some(wide) = &self.wide else {
            let to = self.narrow.len().min(from as usize + STEP);
            return self.narrow[from as usize..to].iter().all(|number| *number == 0);
        };
        let piece = wide.pieces[(from / PIECE) as usize].as_ref();
        let bytes = piece.and_then(|piece| piece.step(step as usize % STEPS));
        bytes.is_none_or(|bytes| bytes.iter().all(|byte| *byte == 0))
    }
}

/// Copies nonzero content, so that untouched memory stays so.
impl Clone for Numbers {
    fn clone(&self) -> Numbers {
        let mut narrow = memory::zeroed(self.narrow.len());
        for (to, from) in narrow.chunks_mut(STEP).zip(self.narrow.chunks(STEP)) {
            if from.iter().any(|number| *number != 0) {
                to.copy_from_slice(from);
            }
        }
        let wide = self.wide.as_ref().map(|wide| {
            let pieces = wide.pieces.iter().map(|piece| piece.as_ref().map(Piece::copy)).collect();
            Wide { length: wide.length, pieces }
        });
        Numbers { narrow, wide }
    }
}

/// Compares numbers, not widths.
impl PartialEq for Numbers {
    fn eq(&self, other: &Numbers) -> bool {
        if !self.is_wide() && !other.is_wide() {
            return self.narrow == other.narrow;
        }
        self.len() == other.len() && self.entries().eq(other.entries())
    }
}

impl Eq for Numbers {}

#[cfg(test)]
mod tests;
