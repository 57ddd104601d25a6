//! Tables of page numbers as raw pieces: large drives are read and written as fast as their bytes
//! can be copied.

use super::Numbers;
use crate::room::Room;

/// Numbers of a piece.
const PIECE: u64 = 1 << 16;
const NARROW: usize = 4;
const WIDE: usize = super::WIDTH;

/// A page table separate from its drive.
#[derive(Debug, Clone, PartialEq)]
pub struct PageTable(pub(crate) Numbers);

impl PageTable {
    /// A table that is to be read, of which every number is 0.
    ///
    /// # Errors
    /// When it is none of a drive with this room.
    pub fn blank(room: &Room, length: u64, wide: bool) -> Result<PageTable, String> {
        if length > room.table.longest || wide && !room.table.wide {
            return Err(format!(
                "a table of {length} pages, of a drive that has {}",
                room.table.longest
            ));
        }
        Ok(PageTable(Numbers::new(length, wide)))
    }

    /// Prepares for setting most numbers: see [`Numbers::expect_all`].
    pub fn expect_all(&mut self) {
        self.0.expect_all();
    }

    /// Number of entries.
    #[expect(clippy::len_without_is_empty, reason = "whether it is empty is no question")]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// True for 40-bit numbers.
    pub fn is_wide(&self) -> bool {
        self.0.is_wide()
    }

    /// Number of pieces of a table of that length.
    pub fn pieces(length: u64) -> u64 {
        length.div_ceil(PIECE)
    }

    /// Bytes of the largest piece.
    pub const fn longest_piece() -> usize {
        PIECE as usize * WIDE
    }

    /// The bytes of a piece; none where every number is 0.
    pub fn piece<'a>(&self, piece: u64, room: &'a mut Vec<u8>) -> &'a [u8] {
        room.clear();
        let places = self.places(piece);
        if self.0.wide.is_none() {
            let numbers = &self.0.narrow[places.start as usize..places.end as usize];
            if numbers.iter().any(|it| *it != 0) {
                room.resize(numbers.len() * NARROW, 0);
                for (bytes, number) in room.chunks_exact_mut(NARROW).zip(numbers) {
                    bytes.copy_from_slice(&number.to_le_bytes());
                }
            }
            return room;
        }
        let mut is_zero = true;
        for at in places {
            let number = self.0.get(at);
            is_zero &= number == 0;
            room.extend_from_slice(&number.to_le_bytes()[..WIDE]);
        }
        if is_zero {
            room.clear();
        }
        room
    }

    /// Sets the numbers of a piece that were 0 so far; False if the bytes do not form such a piece.
    pub fn set_piece(&mut self, piece: u64, bytes: &[u8]) -> bool {
        let places = self.places(piece);
        let count = (places.end - places.start) as usize;
        if bytes.is_empty() {
            return true;
        }
        if self.0.wide.is_none() {
            let numbers = &mut self.0.narrow[places.start as usize..places.end as usize];
            for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(NARROW)) {
                *number = bytes.try_into().map_or(0, u32::from_le_bytes);
            }
            return bytes.len() == count * NARROW;
        }
        for (at, bytes) in places.zip(bytes.chunks_exact(WIDE)) {
            let mut word = [0; 8];
            word[..WIDE].copy_from_slice(bytes);
            let number = u64::from_le_bytes(word);
            if number != 0 {
                self.0.set(at, number);
            }
        }
        bytes.len() == count * WIDE
    }

    fn places(&self, piece: u64) -> std::ops::Range<u64> {
        let first = piece * PIECE;
        first.min(self.len())..(first + PIECE).min(self.len())
    }
}

impl Numbers {
    /// Takes the table, and leaves an empty one.
    pub fn lend(&mut self) -> PageTable {
        let empty = Numbers::new(0, self.is_wide());
        PageTable(std::mem::replace(self, empty))
    }
}
