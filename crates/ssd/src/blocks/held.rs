//! Content of a block buffer: places for blocks, and the sectors of each.

use std::ops::Range;

/// No place, or no request.
const NONE: u32 = u32::MAX;
const NOBODY: u64 = u64::MAX;

/// State of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The place is free.
    Free,
    /// The block takes writes.
    Dirty,
    /// The block is being evicted: missing pages are read, then it is written.
    Reading,
    Writing,
}

/// Outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Place of its block.
    Here(u32),
    /// The block is being evicted, or no place is free.
    Later,
}

/// A place for a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub block: u64,
    pub stage: Stage,
    /// Time of the last write, and of the first.
    pub used: u64,
    pub born: u64,
    /// First sector written.
    pub first: u64,
    /// End of the sectors written in order; none if it was not.
    ordered: Option<u64>,
    /// Outstanding pages.
    left: u32,
}

impl Held {
    const FREE: Held = Held {
        block: 0,
        stage: Stage::Free,
        used: 0,
        born: 0,
        first: 0,
        ordered: Some(0),
        left: 0,
    };

    /// True during eviction.
    pub fn is_leaving(&self) -> bool {
        matches!(self.stage, Stage::Reading | Stage::Writing)
    }
}

/// The places, with a bit for each sector.
#[derive(Debug, Clone)]
pub struct Table {
    sectors: u32,
    words: usize,
    held: Vec<Held>,
    bits: Vec<u64>,
    /// The last writing request by place and page, where power cuts are followed.
    writers: Vec<u64>,
    pages: u64,
    /// The place of each block of the drive.
    place_of: Vec<u32>,
    free: Vec<u32>,
    leaving: u32,
    tick: u64,
}

impl Table {
    /// Places for blocks of `sectors` sectors; `follows` is the number of pages of each whose
    /// writers are noted.
    pub fn new(places: u32, sectors: u32, blocks: u64, follows: u64) -> Table {
        let words = (sectors as usize).div_ceil(64);
        Table {
            sectors,
            words,
            held: memory::filled(Held::FREE, places as usize),
            bits: memory::zeroed(places as usize * words),
            writers: memory::filled(NOBODY, places as usize * follows as usize),
            pages: follows,
            place_of: memory::filled(NONE, blocks as usize),
            free: (0..places).rev().collect(),
            leaving: 0,
            tick: 0,
        }
    }

    pub fn sectors(&self) -> u64 {
        u64::from(self.sectors)
    }

    pub fn tick(&self) -> u64 {
        self.tick
    }

    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }

    pub fn leaving(&self) -> u32 {
        self.leaving
    }

    pub fn used(&self) -> u32 {
        self.held.len() as u32 - self.free()
    }

    pub fn held(&self, place: u32) -> Held {
        self.held[place as usize]
    }

    /// Occupied places.
    pub fn taken(&self) -> impl Iterator<Item = u32> + '_ {
        let places = 0..self.held.len() as u32;
        places.filter(|place| self.held(*place).stage != Stage::Free)
    }

    /// Place of a block, if buffered.
    pub fn place_of(&self, block: u64) -> Option<u32> {
        self.place_of.get(block as usize).copied().filter(|place| *place != NONE)
    }

    /// Place of a block for a write from sector `first` on, allocated if needed.
    pub fn find_or_take(&mut self, block: u64, first: u64) -> Place {
        if let Some(place) = self.place_of(block) {
            let stays = self.held(place).stage == Stage::Dirty;
            return if stays { Place::Here(place) } else { Place::Later };
        }
        let Some(place) = self.free.pop() else { return Place::Later };
        self.tick += 1;
        let born = self.tick;
        self.held[place as usize] = Held { block, stage: Stage::Dirty, born, first, ..Held::FREE };
        self.place_of[block as usize] = place;
        Place::Here(place)
    }

    /// The words of a place that sectors lie in, each with their bits.
    fn masks(&self, place: u32, sectors: Range<u64>) -> impl Iterator<Item = (usize, u64)> + use<> {
        let base = place as usize * self.words;
        let (from, to) = (sectors.start as usize, sectors.end as usize);
        let words = from / 64..to.div_ceil(64);
        words.map(move |word| {
            let (low, high) = (from.max(word * 64) - word * 64, to.min(word * 64 + 64) - word * 64);
            let mask = (u64::MAX >> (64 - (high - low))) << low;
            (base + word, mask)
        })
    }

    /// Number of some sectors that are there.
    pub fn count(&self, place: u32, sectors: Range<u64>) -> u64 {
        let masks = self.masks(place, sectors);
        masks.map(|(word, mask)| u64::from((self.bits[word] & mask).count_ones())).sum()
    }

    /// Sectors are written; how many of them were there.
    pub fn write(&mut self, place: u32, sectors: Range<u64>) -> u64 {
        let replaced = self.count(place, sectors.clone());
        for (word, mask) in self.masks(place, sectors.clone()) {
            self.bits[word] |= mask;
        }
        self.tick += 1;
        let used = self.tick;
        let held = &mut self.held[place as usize];
        held.used = used;
        held.ordered = held.ordered.filter(|at| *at == sectors.start).map(|_| sectors.end);
        replaced
    }

    /// Sectors are trimmed. A block of which nothing is left has no place any more.
    pub fn clear(&mut self, place: u32, sectors: Range<u64>) {
        for (word, mask) in self.masks(place, sectors) {
            self.bits[word] &= !mask;
        }
        self.held[place as usize].ordered = None;
        if self.count(place, 0..self.sectors()) == 0 {
            self.release(place);
        }
    }

    /// A request has written pages of a block.
    pub fn note_writer(&mut self, place: u32, pages: Range<u64>, request: u64) {
        if self.pages > 0 {
            let first = u64::from(place) * self.pages;
            self.writers[(first + pages.start) as usize..(first + pages.end) as usize]
                .fill(request);
        }
    }

    /// Last writer of a page, if any of it is buffered.
    pub fn writer(&self, place: u32, page: u64) -> Option<u64> {
        let each = self.sectors() / self.pages.max(1);
        let is_there = self.pages > 0 && self.count(place, page * each..(page + 1) * each) > 0;
        is_there.then(|| self.writers[(u64::from(place) * self.pages + page) as usize])
    }

    /// The block to evict, among permitted ones: one that was written whole and in order, else the
    /// least recently written.
    pub fn victim(&self, compensates: bool, may: impl Fn(&Held) -> bool) -> Option<u32> {
        let stays = |place: &u32| {
            let held = self.held(*place);
            held.stage == Stage::Dirty && may(&held)
        };
        let rank = |place: &u32| {
            let held = self.held(*place);
            let is_whole = held.ordered == Some(self.sectors());
            (!(compensates && is_whole), held.used)
        };
        self.taken().filter(stays).min_by_key(rank)
    }

    /// Stage of a block that leaves.
    pub fn set_stage(&mut self, place: u32, stage: Stage) {
        let held = &mut self.held[place as usize];
        self.leaving += u32::from(held.stage == Stage::Dirty);
        held.stage = stage;
    }

    pub fn expect(&mut self, place: u32, more: u32) {
        self.held[place as usize].left += more;
    }

    pub fn expects_less(&mut self, place: u32) -> bool {
        let left = &mut self.held[place as usize].left;
        *left -= 1;
        *left == 0
    }

    /// A place is free.
    pub fn release(&mut self, place: u32) {
        let held = std::mem::replace(&mut self.held[place as usize], Held::FREE);
        self.leaving -= u32::from(held.stage != Stage::Dirty);
        self.place_of[held.block as usize] = NONE;
        let first = place as usize * self.words;
        self.bits[first..first + self.words].fill(0);
        self.free.push(place);
    }

    /// A block is lost.
    pub fn lose(&mut self, place: u32) {
        self.held[place as usize].left = 0;
        self.release(place);
    }

    /// Handles a power cut: interrupted evictions are undone, or all data are lost.
    pub fn lose_power(&mut self, keeps: bool) {
        for place in 0..self.held.len() as u32 {
            let held = &mut self.held[place as usize];
            if held.stage == Stage::Free {
                continue;
            }
            held.left = 0;
            if keeps {
                self.leaving -= u32::from(held.stage != Stage::Dirty);
                held.stage = Stage::Dirty;
            } else {
                self.release(place);
            }
        }
    }
}
