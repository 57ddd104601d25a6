//! The block buffer: writes gather by block, and a block leaves whole (BPLRU, Kim and Ahn, FAST 2008).
//!
//! A state machine in front of the queues: it gets writes, reads and completions, and chooses the
//! block to evict with its pages; `wire/blocks.rs` does that in time, and `untimed.rs` without.
//! Sectors of a block are tracked one by one. A block that leaves takes no writes meanwhile, and is
//! dirty until its last page is programmed: a power cut finds it in a protected buffer. Its page
//! requests have owners of their own.

mod ahead;
mod held;
mod untimed;

pub use held::{Held, Place, Stage};

use crate::Geometry;
use crate::config::{self, SsdConfig};
use crate::device::kit::slots::{Slot, Slots};
use crate::ids::Lpn;
use crate::page::{Access, Owner, PageRequest};
use ahead::Ahead;
use engine::{Request, SECTOR_BYTES, Time};
use held::Table;
use std::collections::VecDeque;
use std::ops::Range;

/// A page request of the buffer, by its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Reads missing flash pages of the block in this place.
    FillUp(u32, u32),
    /// Writes a page of the block in this place.
    Write(u32),
    /// Reads this flash page ahead.
    Ahead(u64),
}

/// A write or trim that waits for a place.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    pub slot: Slot,
    pub request: Request,
    /// The first sector that is not in the buffer yet.
    pub next: u64,
    pub since: Time,
}

/// A flush, or a write that is forced to the flash: it waits for blocks that came into the buffer before.
#[derive(Debug, Clone)]
struct Barrier {
    slot: Slot,
    blocks: Range<u64>,
    until: u64,
}

/// Pages of the flash that a read need not read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hits {
    /// Pages in the buffer.
    pub gathered: u32,
    /// Pages read ahead; and those among them still in progress.
    pub ahead: u32,
    pub awaited: u32,
}

/// The block buffer. Its fields are the content, the waiting requests, and the read-ahead.
#[derive(Debug, Clone)]
pub struct BlockBuffer {
    keys: config::BlockBuffer,
    table: Table,
    sectors_per_page: u64,
    sectors_per_flash_page: u64,
    flash_pages: u32,
    /// Logical pages of a block, and of the drive.
    pages: u64,
    all_pages: u64,
    /// Number of pools, and consecutive logical pages in each.
    pools: u64,
    stripe: u64,
    /// Blocks that leave at a time.
    flushes: u32,
    waiting: VecDeque<Waiting>,
    barriers: Vec<Barrier>,
    jobs: Slots<Job>,
    ahead: Ahead,
    /// Room for the reads of a request; empty between requests.
    misses: Vec<PageRequest>,
    /// True if all content was written untimed.
    is_untimed: bool,
    /// True after a change, until handled.
    has_news: bool,
    /// Page requests that have ended and were not dealt with; empty between events.
    ended: Vec<u32>,
}

impl BlockBuffer {
    /// `None` without a block buffer.
    pub fn new(config: &SsdConfig, geometry: &Geometry) -> Option<Box<BlockBuffer>> {
        let keys = config.block_buffer.clone();
        keys.is_used().then(|| {
            let sectors_per_page = u64::from(geometry.sectors_per_page);
            let pages = geometry.gathered_pages(config);
            let all_pages = geometry.exported_pages();
            let sectors = pages * sectors_per_page;
            let places = keys.size.bytes() / (sectors * SECTOR_BYTES);
            let pools = u64::from(geometry.pools);
            let a_pool = pools.min(places.saturating_sub(1)) as u32;
            let flushes = keys.flushes.unwrap_or(a_pool);
            let follows = if config.persistence.recovers() { pages } else { 0 };
            let blocks = if keys.gathers() { all_pages.div_ceil(pages) } else { 0 };
            let sectors_per_flash_page = u64::from(geometry.sectors_per_flash_page);
            let end = all_pages * sectors_per_page;
            let ahead =
                Ahead::new(keys.read_ahead.bytes() / SECTOR_BYTES, sectors_per_flash_page, end);
            Box::new(BlockBuffer {
                keys,
                table: Table::new(places as u32, sectors as u32, blocks, follows),
                sectors_per_page,
                sectors_per_flash_page,
                flash_pages: geometry.granule.flash_pages,
                pages,
                all_pages,
                pools,
                stripe: u64::from(geometry.stripe_pages),
                flushes,
                waiting: VecDeque::new(),
                barriers: Vec::new(),
                jobs: Slots::new(),
                ahead,
                misses: Vec::new(),
                is_untimed: false,
                has_news: false,
                ended: Vec::new(),
            })
        })
    }

    // ---- queries -------------------------------------------------------------------------------

    /// True if it buffers writes.
    pub fn gathers(&self) -> bool {
        self.keys.gathers()
    }

    /// True without blocks.
    pub fn is_empty(&self) -> bool {
        self.table.used() == 0
    }

    /// The blocks that sectors lie in.
    pub fn blocks_of(&self, sectors: &Range<u64>) -> Range<u64> {
        let each = self.table.sectors();
        sectors.start / each..sectors.end.div_ceil(each)
    }

    /// The pages of the flash that some bytes fill.
    pub fn flash_pages_of(&self, bytes: u64) -> u64 {
        bytes / SECTOR_BYTES / self.sectors_per_flash_page
    }

    /// Logical page of a flash page, and the index within it.
    pub fn logical(&self, page: u64) -> (Lpn, u32) {
        let each = u64::from(self.flash_pages);
        (Lpn(page / each), (page % each) as u32)
    }

    /// True if all these sectors of one block are buffered.
    pub fn holds(&self, sectors: &Range<u64>) -> bool {
        let each = self.table.sectors();
        let Some(place) = self.table.place_of(sectors.start / each) else { return false };
        let (from, to) = (sectors.start % each, (sectors.end - 1) % each + 1);
        self.table.count(place, from..to) == to - from
    }

    /// The request whose data of a page are in the buffer.
    pub fn writer(&self, lpn: Lpn) -> Option<u64> {
        let place = self.table.place_of(lpn.0 / self.pages)?;
        self.table.writer(place, lpn.0 % self.pages)
    }

    /// Logical pages with buffered data.
    pub fn dirty_pages(&self) -> u64 {
        let count =
            |place| (0..self.pages).filter(|page| self.dirty_of(place, *page) > 0).count() as u64;
        self.table.taken().map(count).sum()
    }

    fn sectors_of(&self, page: u64) -> Range<u64> {
        page * self.sectors_per_page..(page + 1) * self.sectors_per_page
    }

    /// Sectors of a page of a block that are in the buffer.
    fn dirty_of(&self, place: u32, page: u64) -> u64 {
        self.table.count(place, self.sectors_of(page))
    }

    // ---- writes and trims ------------------------------------------------------------------------

    /// Queues a write or trim.
    pub fn wait(&mut self, slot: Slot, request: Request, since: Time) {
        self.is_untimed = false;
        self.waiting.push_back(Waiting { slot, request, next: request.lba.0, since });
    }

    /// The first that waits.
    pub fn first_waiting(&self) -> Option<Waiting> {
        self.waiting.front().copied()
    }

    /// Removes the first waiting request.
    pub fn first_is_done(&mut self) {
        self.waiting.pop_front();
    }

    /// Buffers as much as possible of the first waiting request; the bytes that it found there
    /// already, and whether it took all.
    pub fn take_first(&mut self) -> (u64, bool) {
        let Some(Waiting { request, next, .. }) = self.first_waiting() else { return (0, true) };
        let end = request.lba.0 + u64::from(request.sectors);
        let (replaced, next) = self.take(next..end, request.id);
        if let Some(first) = self.waiting.front_mut() {
            first.next = next;
        }
        (replaced * SECTOR_BYTES, next == end)
    }

    /// Buffers sectors as far as their blocks have places; how many of them it had, and the first
    /// that it did not take.
    fn take(&mut self, sectors: Range<u64>, request: u64) -> (u64, u64) {
        self.ahead.forget(&sectors);
        let each = self.table.sectors();
        let (mut next, mut replaced) = (sectors.start, 0);
        while next < sectors.end {
            let block = next / each;
            let Place::Here(place) = self.table.find_or_take(block, next - block * each) else {
                break;
            };
            let end = sectors.end.min((block + 1) * each);
            let (from, to) = (next - block * each, end - block * each);
            replaced += self.table.write(place, from..to);
            let pages = from / self.sectors_per_page..to.div_ceil(self.sectors_per_page);
            self.table.note_writer(place, pages, request);
            next = end;
        }
        (replaced, next)
    }

    /// Drops trimmed pages, unless they are being evicted; whether it could.
    pub fn trim(&mut self, pages: &Range<u64>) -> bool {
        self.trim_sectors(pages.start * self.sectors_per_page..pages.end * self.sectors_per_page)
    }

    fn trim_sectors(&mut self, sectors: Range<u64>) -> bool {
        if sectors.is_empty() {
            return true;
        }
        let each = self.table.sectors();
        let blocks = self.blocks_of(&sectors);
        let found: Vec<u32> = blocks.filter_map(|block| self.table.place_of(block)).collect();
        if found.iter().any(|place| self.table.held(*place).stage != Stage::Dirty) {
            return false;
        }
        for place in found {
            let begin = self.table.held(place).block * each;
            let from = sectors.start.max(begin) - begin;
            let to = sectors.end.min(begin + each) - begin;
            self.table.clear(place, from..to);
        }
        self.ahead.forget(&sectors);
        true
    }

    // ---- blocks leave ----------------------------------------------------------------------------

    /// The block that leaves next, if too few places are free or getting free.
    pub fn next_to_leave(&self) -> Option<u32> {
        let kept = self.table.free() + self.table.leaving();
        if kept >= self.flushes {
            return None;
        }
        if self.keys.flushes.is_some() || self.table.leaving() == 0 {
            return self.table.victim(self.keys.compensation, |_| true);
        }
        let leaving =
            self.table.taken().map(|place| self.table.held(place)).filter(Held::is_leaving);
        let busy: Vec<u64> = leaving.map(|held| self.pool_of(&held)).collect();
        self.table.victim(self.keys.compensation, |held| !busy.contains(&self.pool_of(held)))
    }

    /// The pool in which a block was written first.
    fn pool_of(&self, held: &Held) -> u64 {
        self.pool_of_page(held.block * self.pages + held.first / self.sectors_per_page)
    }

    fn pool_of_page(&self, page: u64) -> u64 {
        page / self.stripe % self.pools
    }

    /// Pages that padding completes: those of the pools with written pages.
    fn padded(&self, place: u32) -> Vec<(u64, Lpn)> {
        let mut written = memory::zeroed::<bool>(self.pools as usize);
        for (page, lpn) in self.pages_of(place) {
            written[self.pool_of_page(lpn.0) as usize] |= self.dirty_of(place, page) > 0;
        }
        let is_padded = |lpn: Lpn| written[self.pool_of_page(lpn.0) as usize];
        self.pages_of(place).filter(|(_, lpn)| is_padded(*lpn)).collect()
    }

    /// The places of some blocks that are not leaving yet.
    pub fn not_evicted(&self, blocks: &Range<u64>) -> Vec<u32> {
        let stays = |place: &u32| {
            let Held { block, stage, .. } = self.table.held(*place);
            stage == Stage::Dirty && blocks.contains(&block)
        };
        let mut places: Vec<u32> = self.table.taken().filter(stays).collect();
        places.sort_by_key(|place| self.table.held(*place).used);
        places
    }

    /// A block leaves: returns the pages to read first. `is_mapped` says whether a page was ever
    /// written.
    pub fn begin_to_leave(
        &mut self,
        place: u32,
        is_mapped: impl Fn(Lpn) -> bool,
    ) -> Vec<PageRequest> {
        self.table.set_stage(place, Stage::Reading);
        let mut reads = Vec::new();
        for (page, lpn) in self.padded(place) {
            let dirty = self.dirty_of(place, page);
            let lacks = dirty < self.sectors_per_page && (dirty > 0 || self.keys.page_padding);
            if lacks && is_mapped(lpn) {
                self.reads_of(place, (page, lpn), &mut reads);
            }
        }
        reads
    }

    /// Pages of a block, with their index in it and on the drive.
    fn pages_of(&self, place: u32) -> impl Iterator<Item = (u64, Lpn)> + use<> {
        let first = self.table.held(place).block * self.pages;
        let count = self.pages.min(self.all_pages - first);
        (0..count).map(move |page| (page, Lpn(first + page)))
    }

    /// Reads of the pages of the flash, in runs, of which not all is in the buffer.
    fn reads_of(&self, place: u32, (page, lpn): (u64, Lpn), reads: &mut Vec<PageRequest>) {
        let first = page * self.sectors_per_page;
        let each = self.sectors_per_flash_page;
        let is_there = |at: u32| {
            let from = first + u64::from(at) * each;
            self.table.count(place, from..from + each) == each
        };
        let mut at = 0;
        while at < self.flash_pages {
            let end = (at..self.flash_pages).find(|at| is_there(*at)).unwrap_or(self.flash_pages);
            if end > at {
                reads.push(read(lpn, (at, end - at)));
            }
            at = (end..self.flash_pages).find(|at| !is_there(*at)).unwrap_or(self.flash_pages);
        }
    }

    /// Called when its missing pages are read: returns its page writes in order.
    pub fn writes_of(&mut self, place: u32, is_mapped: impl Fn(Lpn) -> bool) -> Vec<PageRequest> {
        self.table.set_stage(place, Stage::Writing);
        let is_written = |(page, lpn): &(u64, Lpn)| {
            self.dirty_of(place, *page) > 0 || self.keys.page_padding && is_mapped(*lpn)
        };
        let pages = self.padded(place).into_iter().filter(is_written);
        pages.map(|(_, lpn)| write(lpn, self.flash_pages)).collect()
    }

    /// Adds an outstanding page to a block; or for one less, and whether that was the last.
    pub fn expect(&mut self, place: u32, more: u32) {
        self.table.expect(place, more);
    }

    pub fn expects_less(&mut self, place: u32) -> bool {
        self.table.expects_less(place)
    }

    /// Ends the eviction of a block.
    pub fn has_left(&mut self, place: u32) {
        self.table.release(place);
        self.has_news = true;
    }

    // ---- flushes ---------------------------------------------------------------------------------

    /// Makes a request wait for the eviction of blocks in their present state.
    pub fn add_barrier(&mut self, slot: Slot, blocks: Range<u64>) {
        self.barriers.push(Barrier { slot, blocks, until: self.table.tick() });
    }

    /// The next request with nothing to wait for.
    pub fn next_over(&mut self) -> Option<Slot> {
        let is_over = |it: &Barrier| {
            !self.table.taken().any(|place| {
                let held = self.table.held(place);
                held.born <= it.until && it.blocks.contains(&held.block)
            })
        };
        let over = self.barriers.iter().position(is_over)?;
        Some(self.barriers.remove(over).slot)
    }

    // ---- turns -----------------------------------------------------------------------------------

    /// Requests handling.
    pub fn note_news(&mut self) {
        self.has_news = true;
    }

    /// Reports a change once.
    pub fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    // ---- page requests -------------------------------------------------------------------------

    /// A page request of the buffer: its number.
    pub fn add_job(&mut self, job: Job) -> u32 {
        self.jobs.insert(job)
    }

    /// A page request has ended.
    pub fn note_ended(&mut self, number: u32) {
        self.ended.push(number);
    }

    /// The next completed page request.
    pub fn next_ended(&mut self) -> Option<u32> {
        self.ended.pop()
    }

    /// Removes a completed page request.
    pub fn take_job(&mut self, number: u32) -> Job {
        self.jobs.remove(number)
    }

    // ---- reads -----------------------------------------------------------------------------------

    /// Handles a read: pages of the flash to be read ahead, if it follows the one before.
    pub fn follow(&mut self, sectors: &Range<u64>) -> Range<u64> {
        self.ahead.follow(sectors)
    }

    /// Cuts a read: pages of the flash that have to be read, by logical page in runs, are put to the list. `slot` is
    /// who waits for pages that are being read ahead.
    pub fn cut_read(
        &mut self,
        request: &Request,
        slot: Option<Slot>,
        misses: &mut Vec<PageRequest>,
    ) -> Hits {
        let (all, each) = (sectors(request), self.sectors_per_flash_page);
        let mut hits = Hits::default();
        let owner = slot.map_or(Owner::Nobody, Owner::Host);
        for page in all.start / each..all.end.div_ceil(each) {
            let part = all.start.max(page * each)..all.end.min((page + 1) * each);
            if self.gathers() && self.holds(&part) {
                hits.gathered += 1;
                continue;
            }
            match slot.and_then(|slot| self.ahead.ask(page, slot)) {
                Some(true) => hits.ahead += 1,
                Some(false) => (hits.ahead, hits.awaited) = (hits.ahead + 1, hits.awaited + 1),
                None => {
                    let (lpn, at) = self.logical(page);
                    let last =
                        misses.pop_if(|it| it.lpn == lpn && it.touched.0 + it.touched.1 == at);
                    let (first, count) = last.map_or((at, 0), |it| it.touched);
                    misses.push(PageRequest { owner, ..read(lpn, (first, count + 1)) });
                }
            }
        }
        hits
    }

    /// Sectors are written or trimmed past the buffer.
    pub fn forget_ahead(&mut self, sectors: &Range<u64>) {
        self.ahead.forget(sectors);
    }

    /// Lends the room for the reads of a request, which is to be returned.
    pub fn lend_misses(&mut self) -> Vec<PageRequest> {
        std::mem::take(&mut self.misses)
    }

    pub fn return_misses(&mut self, mut misses: Vec<PageRequest>) {
        misses.clear();
        self.misses = misses;
    }

    /// A page that was read ahead is there: who has waited for it.
    pub fn came_ahead(&mut self, page: u64) -> Vec<Slot> {
        self.ahead.came(page)
    }

    // ---- power cuts ------------------------------------------------------------------------------

    /// Handles a power cut. A protected buffer keeps its content.
    /// At a power cut capacitors save up to `most` pages, a block after the other; pages that are lost.
    pub fn save_pages(&mut self, most: u64) -> u64 {
        let places: Vec<u32> = self.table.taken().collect();
        let (mut left, mut lost) = (most, 0);
        for place in places {
            let dirty = |page: &u64| self.dirty_of(place, *page) > 0;
            let pages = (0..self.pages).filter(dirty).count() as u64;
            if pages <= left {
                left -= pages;
            } else {
                lost += pages;
                self.table.lose(place);
            }
        }
        lost
    }

    pub fn lose_power(&mut self) {
        self.waiting.clear();
        self.barriers.clear();
        self.jobs = Slots::new();
        self.ahead.clear();
        self.table.lose_power(self.keys.power_loss_protected);
        self.has_news = false;
        self.ended.clear();
    }
}

/// A read of flash pages for the buffer.
pub fn read(lpn: Lpn, pages: (u32, u32)) -> PageRequest {
    let (access, touched, whole) = (Access::Read, pages, (0, 0));
    PageRequest {
        owner: Owner::Nobody,
        access,
        lpn,
        bytes: 0,
        touched,
        whole,
        covered: false,
        handle: engine::Handle::NONE,
    }
}

/// A write of a page, whose data the host has been counted for.
fn write(lpn: Lpn, flash_pages: u32) -> PageRequest {
    let (access, touched, whole) = (Access::Write, (0, 0), (0, flash_pages));
    PageRequest {
        owner: Owner::Nobody,
        access,
        lpn,
        bytes: 0,
        touched,
        whole,
        covered: true,
        handle: engine::Handle::NONE,
    }
}

/// The sectors of a request.
pub fn sectors(request: &Request) -> Range<u64> {
    request.lba.0..request.lba.0 + u64::from(request.sectors)
}
