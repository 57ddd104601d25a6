//! The cell array: the state that survives a power cut.
//!
//! A page is programmed once per erase, in ascending order within its block. Its spare area holds
//! its logical page number and, if configured, its global program sequence number. A block's first
//! page holds the sequence number of the block's opening. State changes only when an operation
//! completes; the rules of NAND are asserted each time.

use super::damage::{Damage, Loose, Torn};
use super::ratings::Ratings;
use crate::config::SsdConfig;
use crate::ids::{Block, Lpn, Ppn};
use crate::media::{Age, FlashPage, Found, Media, MediaState, Outcome, Written};
use crate::numbers::Numbers;
use crate::room::read_within;
use crate::shape::Geometry;
use engine::Time;
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;

/// Saved state of the flash.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FlashState {
    stamp: Numbers,
    order: Numbers,
    programmed: Vec<u32>,
    opening: Vec<u64>,
    first_order: Vec<u64>,
    retired: Vec<bool>,
    erases: Vec<u32>,
    ratings: Ratings,
    /// Empty without power cuts.
    damage: Option<Damage>,
    /// Empty without ageing.
    media: Option<MediaState>,
}

read_within!(FlashState {
    stamp: table,
    order: table,
    programmed: list,
    opening: list,
    first_order: list,
    retired: list,
    erases: list,
    ratings: any,
    damage: any,
    media: any,
});

impl FlashState {
    /// Tables by page.
    pub fn tables(&mut self) -> [&mut Numbers; 2] {
        [&mut self.stamp, &mut self.order]
    }
}

/// The flash of a drive.
#[derive(Debug, Clone)]
pub struct Flash {
    pages_per_block: u32,
    /// Logical page number plus 1 in each page's spare area; meaningless beyond `programmed`.
    stamp: Numbers,
    /// Low 32 bits of each page's global program number, also in the spare area; empty unless
    /// configured.
    order: Numbers,
    ordered: bool,
    /// Pages programmed since each block's erase.
    programmed: Vec<u32>,
    /// Sequence number of each block's opening, stored in its first page; 0 when erased.
    opening: Vec<u64>,
    /// Full program number of each block's first page, beside the opening; empty if `order` is.
    first_order: Vec<u64>,
    /// True for blocks permanently marked as worn out.
    retired: Vec<bool>,
    /// Erases of each block; shared with a garbage collection policy during its call.
    erases: Arc<Vec<u32>>,
    /// Rated erases of each block.
    ratings: Ratings,
    /// Damage by power cuts, if any.
    damage: Option<Box<Damage>>,
    /// Ageing of data, if modelled.
    media: Option<Box<Media>>,
    /// Wear of an erase in one-bit mode, as a share of a native one.
    one_bit_wear: f64,
}

impl Flash {
    /// Factory-new flash: erased and unworn.
    pub fn new(config: &SsdConfig, geometry: &Geometry, seed: u64) -> Self {
        let blocks = geometry.blocks() as usize;
        let (pages, wide) = (geometry.pages(), geometry.wide);
        let ordered = config.persistence.is_ordered();
        Flash {
            pages_per_block: geometry.pages_per_block,
            stamp: Numbers::new(pages, wide),
            order: Numbers::new(if ordered { pages } else { 0 }, wide),
            ordered,
            programmed: memory::zeroed(blocks),
            opening: memory::zeroed(blocks),
            first_order: memory::zeroed(if ordered { blocks } else { 0 }),
            retired: memory::zeroed::<bool>(blocks),
            erases: Arc::new(memory::zeroed(blocks)),
            ratings: Ratings::new(&config.wear, geometry.blocks(), seed),
            damage: None,
            media: Media::new(
                config,
                geometry.program_groups().on_domains(geometry.domains),
                (geometry.blocks(), geometry.blocks_per_domain),
                seed,
            )
            .map(Box::new),
            one_bit_wear: config
                .slc_cache
                .rated_cycles
                .map_or(1.0, |rated| f64::from(config.wear.rated_cycles) / f64::from(rated)),
        }
    }

    /// The flash restricted to a range of blocks; other blocks take no memory.
    pub(crate) fn part(&self, blocks: &Range<usize>) -> Flash {
        let mut stamp = self.stamp.alike();
        stamp.take(&self.stamp, self.pages_of(blocks));
        Flash {
            pages_per_block: self.pages_per_block,
            stamp,
            order: self.order.clone(),
            ordered: self.ordered,
            programmed: self.programmed.clone(),
            opening: self.opening.clone(),
            first_order: self.first_order.clone(),
            retired: self.retired.clone(),
            erases: Arc::new(self.erases.to_vec()),
            ratings: self.ratings.clone(),
            damage: None,
            media: None,
            one_bit_wear: self.one_bit_wear,
        }
    }

    /// Copies blocks from a [`part`](Flash::part) without program numbers.
    pub(crate) fn take_part(&mut self, other: &Flash, blocks: &Range<usize>) {
        let (all, pages) = (|| blocks.clone(), self.pages_of(blocks));
        self.stamp.take(&other.stamp, pages);
        self.programmed[all()].copy_from_slice(&other.programmed[all()]);
        self.opening[all()].copy_from_slice(&other.opening[all()]);
        self.retired[all()].copy_from_slice(&other.retired[all()]);
        Arc::make_mut(&mut self.erases)[all()].copy_from_slice(&other.erases[all()]);
    }

    fn pages_of(&self, blocks: &Range<usize>) -> Range<u64> {
        let pages = u64::from(self.pages_per_block);
        blocks.start as u64 * pages..blocks.end as u64 * pages
    }

    /// Renumbers the opening of a block that was opened under the number `from`.
    pub(crate) fn renumber(&mut self, block: Block, from: u64, to: u64) {
        let opening = &mut self.opening[block.at()];
        if *opening == from {
            *opening = to;
        }
    }

    /// Completes the program of a page with the data of `lpn`. Returns its index in the block; for
    /// the first page the caller adds the [`header`](Flash::write_header).
    #[inline]
    #[must_use]
    pub fn program(&mut self, ppn: Ppn, block: Block, lpn: Lpn, order: u32) -> u32 {
        let programmed = &mut self.programmed[block.at()];
        let page = *programmed;
        let next = u64::from(block.0) * u64::from(self.pages_per_block) + u64::from(page);
        assert!(next == ppn.0, "pages are programmed in order, once");
        *programmed = page + 1;
        // Padding is stored as 0.
        self.stamp.set(ppn.0, lpn.0.wrapping_add(1));
        if self.ordered {
            self.order.set(ppn.0, u64::from(order));
        }
        page
    }

    /// Completes the programs of consecutive pages of a block, after its first page; their program
    /// numbers are consecutive.
    #[inline]
    pub fn program_run(&mut self, from: Ppn, block: Block, lpns: &[u64], order: u32) {
        let programmed = &mut self.programmed[block.at()];
        let page = *programmed;
        let next = u64::from(block.0) * u64::from(self.pages_per_block) + u64::from(page);
        assert!(page > 0 && next == from.0, "pages are programmed in order, once");
        *programmed = page + lpns.len() as u32;
        assert!(*programmed <= self.pages_per_block, "a block ends");
        self.stamp.set_run(from.0, lpns.iter().map(|lpn| lpn.wrapping_add(1)));
        if self.ordered {
            let orders = (0..lpns.len() as u32).map(|number| u64::from(order.wrapping_add(number)));
            self.order.set_run(from.0, orders);
        }
    }

    /// Writes a block's header into its first page: opening number, and full number of its first
    /// program.
    pub fn write_header(&mut self, block: Block, opening: u64, first_order: u64) {
        assert!(self.programmed[block.at()] == 1, "a header is part of the first page");
        self.opening[block.at()] = opening;
        if let Some(kept) = self.first_order.get_mut(block.at()) {
            *kept = first_order;
        }
        if let Some(media) = &mut self.media {
            media.opened(block, false);
        }
    }

    /// Completes the summary page, a block's last.
    #[inline]
    pub fn program_summary(&mut self, block: Block) {
        let programmed = &mut self.programmed[block.at()];
        assert!(*programmed + 1 == self.pages_per_block, "the summary page comes last");
        *programmed += 1;
    }

    /// Completes the erase of a block.
    pub fn erase(&mut self, block: Block) {
        assert!(self.programmed[block.at()] > 0, "an erased block is not erased again");
        assert!(!self.retired[block.at()], "a retired block is left alone");
        self.programmed[block.at()] = 0;
        self.opening[block.at()] = 0;
        let erases = &mut Arc::make_mut(&mut self.erases)[block.at()];
        *erases += 1;
        if let Some(damage) = &mut self.damage {
            damage.heal(block);
        }
        if let Some(media) = &mut self.media {
            let first = u64::from(block.0) * u64::from(self.pages_per_block);
            media.erased(block, *erases, first..first + u64::from(self.pages_per_block));
        }
    }

    /// Ageing of data, if modelled.
    #[inline]
    pub fn media(&self) -> Option<&Media> {
        self.media.as_deref()
    }

    /// Ageing of data, mutable for queries.
    #[inline]
    pub fn media_mut(&mut self) -> Option<&mut Media> {
        self.media.as_deref_mut()
    }

    /// Lets time pass without requests; `None` if data do not age.
    pub fn lie(&mut self, age: Age, now: Time) -> Option<Result<(), &'static str>> {
        let media = self.media.as_mut()?;
        let pages = self.pages_per_block;
        let all = self.programmed.iter().enumerate();
        let open = all.filter(|(_, programmed)| (1..pages).contains(*programmed));
        Some(media.age(
            age,
            now,
            open.map(|(block, programmed)| (Block(block as u32), *programmed)),
        ))
    }

    /// Outcome of a page read; `of_host` reads are counted.
    pub fn look(&mut self, page: FlashPage, of_host: bool) -> Outcome {
        let written = self.written(page.block);
        let media = self.media.as_mut();
        media.map_or_else(Outcome::default, |media| media.look(page, written, of_host))
    }

    /// True if all pages of a block are known to be readable without retries.
    #[inline]
    pub fn is_sound(&self, block: Block) -> bool {
        self.media.as_ref().is_none_or(|media| media.is_sound(block))
    }

    /// True if a host read needs no retries, as far as known without examining the page in full;
    /// counts the read.
    #[inline]
    pub fn reads_at_once(&mut self, block: Block, page: impl FnOnce() -> FlashPage) -> bool {
        let erases = || self.erases[block.at()];
        self.media.as_mut().is_none_or(|media| media.reads_at_once(block, page, erases))
    }

    /// True if no page of the drive can be uncorrectable.
    #[inline]
    pub fn loses_nothing(&mut self) -> bool {
        let Some(media) = &mut self.media else { return true };
        media.loses_nothing() || media.prove(|| self.erases.iter().copied().max().unwrap_or(0))
    }

    /// Finding of a patrol in a block.
    pub fn inspect(&mut self, block: Block) -> Found {
        let written = self.written(block);
        self.media.as_mut().map_or_else(Found::default, |media| media.inspect(block, written))
    }

    /// Pages of a block that a patrol reads.
    pub fn patrolled(&self, block: Block) -> Vec<FlashPage> {
        let written = self.written(block);
        let media = self.media.as_ref();
        media.map_or_else(Vec::new, |media| media.patrolled(block, written).collect())
    }

    /// State of a block that the ageing model does not store.
    #[inline]
    pub fn written(&self, block: Block) -> Written {
        Written { erases: self.erases[block.at()], programmed: self.programmed[block.at()] }
    }

    /// Marks a newly opened block as one-bit.
    pub fn opened_for_one_bit(&mut self, block: Block) {
        if let Some(media) = &mut self.media {
            media.opened(block, true);
        }
    }

    /// Handles a power cut: drops copies that did not reach the flash.
    pub(crate) fn lose_power(&mut self) {
        let pages = u64::from(self.pages_per_block);
        let programmed = &self.programmed;
        let is_programmed = |ppn: u64| ppn % pages < u64::from(programmed[(ppn / pages) as usize]);
        if let Some(media) = &mut self.media {
            media.losses_mut().lose_power(is_programmed);
        }
    }

    /// True if a logical page is unreadable at its location.
    #[inline]
    pub fn is_lost(&mut self, ppn: Ppn) -> bool {
        self.media.is_some() && self.is_lost_with_age(ppn)
    }

    fn is_lost_with_age(&mut self, ppn: Ppn) -> bool {
        let pages = u64::from(self.pages_per_block);
        let (block, page) = (Block((ppn.0 / pages) as u32), (ppn.0 % pages) as u32);
        if self.is_sound(block) {
            return false;
        }
        let written = self.written(block);
        let Some(media) = &mut self.media else { return false };
        media.losses().is_poisoned(ppn.0)
            || media.pages_at(block, page).any(|page| media.would_be_lost(page, written))
    }

    /// Unreadable logical pages among `count` pages from `from`.
    pub fn lost_among(&mut self, from: Ppn, count: u32) -> Vec<Ppn> {
        let block = Block((from.0 / u64::from(self.pages_per_block)) as u32);
        if self.is_sound(block) {
            return Vec::new();
        }
        (from.0..from.0 + u64::from(count)).map(Ppn).filter(|ppn| self.is_lost(*ppn)).collect()
    }

    /// Damage by power cuts, if any.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_deref()
    }

    /// Damage by power cuts, mutable.
    pub fn damage_mut(&mut self) -> &mut Damage {
        self.damage.get_or_insert_default()
    }

    /// Relabels a programmed page with a logical page number.
    pub fn label(&mut self, ppn: Ppn, lpn: Lpn) {
        self.stamp.set(ppn.0, lpn.0.wrapping_add(1));
    }

    /// Makes a page's content unreadable for good.
    pub fn void(&mut self, ppn: Ppn) {
        self.stamp.set(ppn.0, 0);
    }

    /// Ends a block at its current page, after which it must be erased before further programs. The
    /// following page counts if it was readable.
    pub fn close(&mut self, block: Block, read: Option<Torn>) {
        let first = u64::from(block.0) * u64::from(self.pages_per_block);
        let page = self.programmed[block.at()];
        let mut rest = page..self.pages_per_block;
        if let Some(torn) = read {
            self.stamp.set(first + u64::from(page), torn.lpn.wrapping_add(1));
            self.order.set(first + u64::from(page), u64::from(torn.order as u32));
            if page == 0 {
                self.opening[block.at()] = torn.opening;
                self.first_order[block.at()] = torn.first_order;
            }
            rest.start += 1;
        }
        for page in rest {
            self.stamp.set(first + u64::from(page), 0);
        }
        self.programmed[block.at()] = self.pages_per_block;
    }

    /// Accepts readable pages of a closed block that lie behind unreadable ones.
    pub fn take_loose(&mut self, block: Block, loose: &Loose) {
        let from = u64::from(block.0) * u64::from(self.pages_per_block) + u64::from(loose.page);
        for (at, (lpn, order)) in (from..).zip(&loose.pages) {
            self.stamp.set(at, lpn.wrapping_add(1));
            self.order.set(at, u64::from(*order));
        }
        self.opening[block.at()] = loose.opening;
        self.first_order[block.at()] = loose.first_order;
    }

    /// Reopens a block that ended early, so that it is read again.
    pub fn reopen(&mut self, block: Block, pages: u32) {
        self.programmed[block.at()] = pages;
        if pages == 0 {
            self.opening[block.at()] = 0;
        }
    }

    /// Logical page number of a programmed page.
    #[inline]
    pub fn stamp(&self, ppn: Ppn) -> Lpn {
        Lpn(self.stamp.get(ppn.0).wrapping_sub(1))
    }

    /// Logical page numbers of consecutive pages, as many as fit into `lpns`.
    #[inline]
    pub fn stamps(&self, from: Ppn, lpns: &mut [u64]) {
        self.stamp.read(from.0, lpns);
        for lpn in lpns {
            *lpn = lpn.wrapping_sub(1);
        }
    }

    /// Logical page numbers plus 1 of all pages.
    #[inline]
    pub fn all_stamps(&self) -> &Numbers {
        &self.stamp
    }

    /// Prefetches the stamps of `count` pages from `from` on.
    pub fn prefetch_stamps(&self, from: Ppn, count: u32) {
        // Sixteen numbers share a cache line.
        (from.0..from.0 + u64::from(count)).step_by(16).for_each(|at| self.stamp.prefetch(at));
    }

    /// Prefetches the state of a block that will be erased.
    pub fn prefetch_block(&self, block: Block) {
        memory::prefetch(&self.programmed, block.at());
        memory::prefetch(&self.opening, block.at());
        memory::prefetch(&self.retired, block.at());
        memory::prefetch(&self.erases, block.at());
    }

    /// True if the flash stores all program numbers.
    #[inline]
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Low 32 bits of a page's program number; 0 if not stored.
    #[inline]
    pub fn order(&self, ppn: Ppn) -> u32 {
        self.order.find(ppn.0) as u32
    }

    /// Full program number of a page. A block is filled within 2^32 programs of the drive, so its
    /// header supplies the upper half.
    pub fn full_order(&self, ppn: Ppn) -> u64 {
        let first = self.first_order(Block((ppn.0 / u64::from(self.pages_per_block)) as u32));
        first + u64::from(self.order(ppn).wrapping_sub(first as u32))
    }

    /// Full number of a block's first program; 0 if not stored.
    pub fn first_order(&self, block: Block) -> u64 {
        self.first_order.get(block.at()).copied().unwrap_or(0)
    }

    /// Opening number of a block; 0 if erased.
    #[inline]
    pub fn opening(&self, block: Block) -> u64 {
        self.opening[block.at()]
    }

    /// Opening numbers of all blocks.
    pub fn openings(&self) -> &[u64] {
        &self.opening
    }

    /// Marks an erased block as worn out.
    pub fn retire(&mut self, block: Block) {
        assert!(self.programmed[block.at()] == 0, "a block is retired when it is erased");
        self.retired[block.at()] = true;
    }

    /// True if a block is marked as worn out.
    #[inline]
    pub fn is_retired(&self, block: Block) -> bool {
        self.retired[block.at()]
    }

    /// Assigns consecutive program numbers to a block's pages from `from`; superseded pages lose
    /// their record.
    pub(crate) fn order_from(
        &mut self,
        block: Block,
        first: u64,
        valid: impl Fn(Ppn, Lpn) -> bool,
    ) {
        let start = u64::from(block.0) * u64::from(self.pages_per_block);
        for page in 0..u64::from(self.programmed[block.at()]) {
            let ppn = Ppn(start + page);
            self.order.set(ppn.0, u64::from((first + page) as u32));
            if !valid(ppn, self.stamp(ppn)) {
                self.void(ppn);
            }
        }
        self.first_order[block.at()] = first;
    }

    /// Pages programmed in a block since its erase.
    #[inline]
    pub fn programmed(&self, block: Block) -> u32 {
        self.programmed[block.at()]
    }

    /// Erases of each block, by block number.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// Erase counts for saving; later erases change a copy.
    pub fn shared_erases(&self) -> Arc<Vec<u32>> {
        Arc::clone(&self.erases)
    }

    /// Rated erases of the blocks.
    pub fn ratings(&self) -> &Ratings {
        &self.ratings
    }

    /// True if this erase of a one-bit block wears it like a native one. A hash of the opening
    /// number decides, at the configured rate, without stored state.
    pub fn wears_with_one_bit(&self, block: Block) -> bool {
        if self.one_bit_wear >= 1.0 {
            return true;
        }
        let opening = self.opening[block.at()] ^ u64::from(block.0) << 40;
        // Multiplier of SplitMix64.
        let mixed = (opening ^ opening >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        f64::from((mixed >> 32) as u32) < self.one_bit_wear * f64::from(u32::MAX)
    }

    /// Exempts a block's last erase from wear.
    pub fn count_no_wear(&mut self, block: Block) {
        Arc::make_mut(&mut self.erases)[block.at()] -= 1;
    }

    /// Remaining rated erases of a block.
    #[inline]
    pub fn life(&self, block: Block) -> u32 {
        self.ratings.of(block).saturating_sub(self.erases[block.at()])
    }

    /// Tables by page.
    pub fn tables(&mut self) -> [&mut Numbers; 2] {
        [&mut self.stamp, &mut self.order]
    }

    /// State for saving, at the drive's time `now`.
    pub(crate) fn keep(&self, now: Time) -> FlashState {
        FlashState {
            stamp: self.stamp.clone(),
            order: self.order.clone(),
            programmed: self.programmed.clone(),
            opening: self.opening.clone(),
            first_order: self.first_order.clone(),
            retired: self.retired.clone(),
            erases: self.erases.to_vec(),
            ratings: self.ratings.clone(),
            damage: self.damage.as_deref().cloned(),
            media: self.media.as_deref().map(|media| media.keep(now)),
        }
    }

    /// Restores the state of equal flash, or reports a mismatch. If `derives`, program numbers are
    /// [assigned](Flash::order_from) later.
    pub(crate) fn restore(&mut self, mut state: FlashState, derives: bool) -> Result<(), String> {
        if derives {
            (state.order, state.first_order) = (self.order.clone(), self.first_order.clone());
        }
        let fits = state.stamp.is_like(&self.stamp)
            && state.order.is_like(&self.order)
            && state.programmed.len() == self.programmed.len()
            && state.opening.len() == self.opening.len()
            && state.first_order.len() == self.first_order.len()
            && state.retired.len() == self.retired.len()
            && state.erases.len() == self.erases.len()
            && state.ratings.fit(state.erases.len());
        if !fits {
            return Err("its flash state does not fit this drive".to_owned());
        }
        self.stamp = state.stamp;
        self.order = state.order;
        self.programmed = state.programmed;
        self.opening = state.opening;
        self.first_order = state.first_order;
        self.retired = state.retired;
        self.erases = Arc::new(state.erases);
        self.ratings = state.ratings;
        self.damage = state.damage.map(Box::new);
        if let Some((media, state)) = self.media.as_mut().zip(state.media)
            && !media.restore(state)
        {
            return Err("the state of its media does not fit this drive".to_owned());
        }
        Ok(())
    }
}
