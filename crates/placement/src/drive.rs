//! An FTL with placement handles in flat arrays: map, reclaim units, greedy garbage collection,
//! counters.

use crate::account::{Account, Medium};
use std::collections::VecDeque;
use std::fmt;

/// Prefetch distance of map entries for moved pages.
const AHEAD: u32 = 16;
/// No page or no unit.
const NONE: u32 = u32::MAX;
/// Writer of an invalid page.
const DEAD: u8 = u8::MAX;
/// Free units kept before the host takes another: one for the host, one for the copies of the next
/// victim. A victim needs at most one more unit for copies, because its pages for one destination
/// fill less than one unit.
pub(crate) const KEPT: usize = 2;

/// Destination of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Copies of all handles share units (initially isolated).
    Initial,
    /// Copies of each handle have their own units (persistently isolated).
    Persistent,
}

/// Dimensions of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of logical pages, all mappable.
    pub pages: u32,
    /// Pages per reclaim unit.
    pub unit_pages: u32,
    /// Number of reclaim units.
    pub units: u32,
    /// Number of placement handles.
    pub handles: u8,
    /// Destination of copies.
    pub isolation: Isolation,
}

/// Error: too few units for the handles, so garbage collection would stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFew {
    /// Number of open units.
    pub open: u32,
    /// Units in excess of the data.
    pub spare: u32,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooFew { open, spare } = self;
        write!(f, "{open} units would be open at once, and the spare is only {spare} units")
    }
}

impl std::error::Error for TooFew {}

impl Shape {
    /// Shape of a drive whose data fill the share `use_of` of the flash.
    pub fn filled(
        use_of: f64,
        (unit_pages, units): (u32, u32),
        handles: u8,
        isolation: Isolation,
    ) -> Shape {
        let pages = (f64::from(unit_pages) * f64::from(units) * use_of) as u32;
        Shape { pages, unit_pages, units, handles, isolation }
    }

    /// Number of destinations of copies.
    fn destinations(&self) -> u32 {
        match self.isolation {
            Isolation::Initial => 1,
            Isolation::Persistent => u32::from(self.handles),
        }
    }

    /// Maximum number of open units: one per handle, and one per destination of copies.
    pub fn open(&self) -> u32 {
        u32::from(self.handles) + self.destinations()
    }

    /// Units in excess of all logical pages.
    pub fn spare(&self) -> u32 {
        self.units.saturating_sub(self.pages.div_ceil(self.unit_pages))
    }

    /// Checks that garbage collection always finds invalid pages: outside open units at least one
    /// page in two hundred must be invalid.
    ///
    /// # Errors
    /// When there are fewer, so that write amplification would be unbounded.
    pub fn check(&self) -> Result<(), TooFew> {
        let closed = u64::from(self.units.saturating_sub(self.open() + KEPT as u32));
        let closed_pages = closed * u64::from(self.unit_pages);
        let gained = closed_pages.saturating_sub(u64::from(self.pages));
        if gained * 200 < closed_pages.max(1) || self.handles == 0 {
            return Err(TooFew { open: self.open(), spare: self.spare() });
        }
        Ok(())
    }
}

/// An open unit: its number, next page and end.
#[derive(Debug, Clone, Copy)]
struct Open {
    unit: u32,
    next: u32,
    end: u32,
}

/// The drive. Its arrays are indexed by logical page, flash page, unit, or number of valid pages.
#[derive(Debug, Clone)]
pub struct Drive {
    shape: Shape,
    /// ceil(2^64 / pages per unit), which yields a page's unit without division.
    inverse: u64,
    /// Flash page of each logical page.
    map: Vec<u32>,
    /// Logical page of each flash page.
    back: Vec<u32>,
    /// Handle with which each flash page was written; `DEAD` if invalid.
    writer: Vec<u8>,
    valid: Vec<u32>,
    /// Handle for which each unit was opened; the number of handles for units of mixed copies.
    owner: Vec<u8>,
    closed: Closed,
    /// Open units: one per handle of the host, then one per destination of copies.
    open: Vec<Open>,
    free: VecDeque<u32>,
    account: Account,
}

impl Drive {
    /// An empty drive.
    ///
    /// # Errors
    /// When there are too few units.
    pub fn new(shape: Shape) -> Result<Drive, TooFew> {
        shape.check()?;
        let flash = (u64::from(shape.units) * u64::from(shape.unit_pages)) as usize;
        let mut drive = Drive {
            shape,
            inverse: (u64::MAX / u64::from(shape.unit_pages)).wrapping_add(1),
            map: table(shape.pages as usize, NONE),
            back: table(flash, NONE),
            writer: table(flash, DEAD),
            valid: vec![0; shape.units as usize],
            owner: vec![0; shape.units as usize],
            closed: Closed::new(shape.units, shape.unit_pages),
            open: vec![Open { unit: 0, next: 0, end: 0 }; shape.open() as usize],
            free: (0..shape.units).collect(),
            account: Account::default(),
        };
        drive.reset_account();
        Ok(drive)
    }

    /// Shape of the drive.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    #[inline]
    fn unit_of(&self, page: u32) -> usize {
        if self.shape.unit_pages == 1 {
            return page as usize;
        }
        ((u128::from(self.inverse) * u128::from(page)) >> 64) as usize
    }

    /// Invalidates a flash page, and returns its writer.
    #[inline]
    fn supersede(&mut self, old: u32) -> u8 {
        let unit = self.unit_of(old);
        let before = std::mem::replace(&mut self.writer[old as usize], DEAD);
        self.valid[unit] -= 1;
        self.closed.lost_one(unit as u32, self.valid[unit]);
        before
    }

    /// Writes a logical page to the next page of a stream's open unit.
    #[inline]
    fn put(&mut self, stream: usize, page: u32, handle: u8) {
        let open = &mut self.open[stream];
        let (unit, place) = (open.unit, open.next);
        open.next += 1;
        let is_full = open.next == open.end;
        self.map[page as usize] = place;
        self.back[place as usize] = page;
        self.writer[place as usize] = handle;
        self.valid[unit as usize] += 1;
        if is_full {
            self.closed.close(unit, self.valid[unit as usize]);
        }
    }

    fn open_unit(&mut self, stream: usize, owner: u8) {
        let unit = self.free.pop_front().expect("a unit is kept free for whoever opens one");
        self.owner[unit as usize] = owner;
        let next = unit * self.shape.unit_pages;
        self.open[stream] = Open { unit, next, end: next + self.shape.unit_pages };
    }

    /// Cleans until enough units are free.
    fn clean(&mut self) {
        while self.free.len() < KEPT {
            let victim = self.closed.take_least().expect("the check of the shape leaves a victim");
            self.clean_unit(victim);
        }
    }

    fn clean_unit(&mut self, victim: u32) {
        let owner = usize::from(self.owner[victim as usize]);
        let first = victim * self.shape.unit_pages;
        let moved = u64::from(self.valid[victim as usize]);
        self.account.cleans(owner, moved);
        let handles = self.shape.handles;
        let mut left = moved;
        let end = first + self.shape.unit_pages;
        for place in first..end {
            if let Some(ahead) = self.back[..end as usize].get((place + AHEAD) as usize) {
                memory::prefetch(&self.map, *ahead as usize);
            }
            if left == 0 {
                break;
            }
            let writer = self.writer[place as usize];
            if writer == DEAD {
                continue;
            }
            left -= 1;
            let page = self.back[place as usize];
            self.writer[place as usize] = DEAD;
            let (stream, owner) = match self.shape.isolation {
                Isolation::Initial => (usize::from(handles), handles),
                Isolation::Persistent => (usize::from(handles) + usize::from(writer), writer),
            };
            if self.open[stream].next == self.open[stream].end {
                self.open_unit(stream, owner);
            }
            self.account.moves(writer);
            self.put(stream, page, writer);
        }
        self.valid[victim as usize] = 0;
        self.free.push_back(victim);
    }

    /// Checks that map, writers and counters agree; for tests.
    #[cfg(test)]
    pub(crate) fn audit(&self) {
        let mut valid = vec![0; self.valid.len()];
        for (page, place) in self.map.iter().enumerate().filter(|(_, place)| **place != NONE) {
            assert_eq!(self.back[*place as usize] as usize, page);
            assert_ne!(self.writer[*place as usize], DEAD);
            valid[self.unit_of(*place)] += 1;
        }
        assert_eq!(valid, self.valid);
        let alive = self.writer.iter().filter(|writer| **writer != DEAD).count();
        assert_eq!(alive, self.map.iter().filter(|place| **place != NONE).count());
    }
}

impl Medium for Drive {
    fn reset_account(&mut self) {
        self.account = Account::new(self.shape.handles);
    }

    fn account(&self) -> &Account {
        &self.account
    }

    #[inline]
    fn prefetch(&self, page: u32) {
        memory::prefetch(&self.map, page as usize);
    }

    #[inline]
    fn prefetch_old(&self, page: u32) {
        if let Some(old) = self.map.get(page as usize) {
            memory::prefetch(&self.writer, *old as usize);
        }
    }

    #[inline]
    fn write(&mut self, page: u32, handle: u8) {
        let old = self.map[page as usize];
        if old != NONE {
            let before = self.supersede(old);
            self.account.lost(before, Some(handle));
        }
        let stream = usize::from(handle);
        if self.open[stream].next == self.open[stream].end {
            self.clean();
            self.open_unit(stream, handle);
            self.account.opened(stream);
        }
        self.account.wrote(stream);
        self.put(stream, page, handle);
    }

    fn trim(&mut self, page: u32) {
        let old = std::mem::replace(&mut self.map[page as usize], NONE);
        if old != NONE {
            let before = self.supersede(old);
            self.account.lost(before, None);
        }
    }
}

/// A randomly accessed table, on large pages.
fn table<T: Copy + Default>(length: usize, value: T) -> Vec<T> {
    // Zeroed memory is not yet allocated; writing the value allocates it.
    let mut table = vec![T::default(); length];
    memory::large_pages_where_full(&mut table);
    table.fill(value);
    table
}

/// Full units by number of valid pages; ties go to the unit that entered its list first.
#[derive(Debug, Clone)]
struct Closed {
    /// First and last unit of each list.
    ends: Vec<(u32, u32)>,
    /// Neighbours of each unit in its list.
    links: Vec<(u32, u32)>,
    is_listed: Vec<bool>,
    /// All lists below this index are empty.
    least: usize,
}

impl Closed {
    fn new(units: u32, unit_pages: u32) -> Closed {
        Closed {
            ends: vec![(NONE, NONE); unit_pages as usize + 1],
            links: vec![(NONE, NONE); units as usize],
            is_listed: vec![false; units as usize],
            least: unit_pages as usize,
        }
    }

    /// Adds a full unit.
    fn close(&mut self, unit: u32, valid: u32) {
        self.is_listed[unit as usize] = true;
        self.append(unit, valid);
    }

    /// Moves a full unit whose valid pages fell to `valid`.
    #[inline]
    fn lost_one(&mut self, unit: u32, valid: u32) {
        if self.is_listed[unit as usize] {
            self.unlink(unit, valid + 1);
            self.append(unit, valid);
        }
    }

    #[inline]
    fn append(&mut self, unit: u32, valid: u32) {
        let (_, last) = &mut self.ends[valid as usize];
        let before = std::mem::replace(last, unit);
        self.links[unit as usize] = (before, NONE);
        if before == NONE {
            self.ends[valid as usize].0 = unit;
        } else {
            self.links[before as usize].1 = unit;
        }
        self.least = self.least.min(valid as usize);
    }

    #[inline]
    fn unlink(&mut self, unit: u32, valid: u32) {
        let (before, after) = self.links[unit as usize];
        if before == NONE {
            self.ends[valid as usize].0 = after;
        } else {
            self.links[before as usize].1 = after;
        }
        if after == NONE {
            self.ends[valid as usize].1 = before;
        } else {
            self.links[after as usize].0 = before;
        }
    }

    /// Removes and returns the unit with the fewest valid pages; `None` if cleaning would free
    /// nothing.
    fn take_least(&mut self) -> Option<u32> {
        while self.least + 1 < self.ends.len() {
            let (unit, _) = self.ends[self.least];
            if unit != NONE {
                self.unlink(unit, self.least as u32);
                self.is_listed[unit as usize] = false;
                return Some(unit);
            }
            self.least += 1;
        }
        None
    }
}
