//! Log blocks: which frontier takes the pages of which logical block.

use crate::config::{LogScheme, SsdConfig};
use crate::ids::{Domain, Lpn};
use crate::shape::Geometry;

/// The slot of FAST that takes a sequential stream.
pub const SEQUENTIAL: u32 = 0;

/// Whose pages a slot takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The logical block; `None` for a log shared by all blocks.
    pub owner: Option<u32>,
    /// True if each page has its place of the logical block.
    pub in_order: bool,
}

/// The log blocks of a drive.
#[derive(Debug, Clone)]
pub struct Logs {
    pub scheme: LogScheme,
    /// Slots of a domain.
    pub count: u32,
    /// Slots by domain.
    slots: Vec<Option<Slot>>,
    /// Page of each domain that no slot accepts at present.
    wanted: Vec<Option<Lpn>>,
    /// The logical block of each domain that is being merged.
    merging: Vec<Option<u32>>,
    /// Pages that merges have copied, and for which no block has been erased yet.
    copied: u64,
}

impl Logs {
    /// `None` without log blocks.
    pub fn new(config: &SsdConfig, geometry: &Geometry) -> Option<Logs> {
        let domains = geometry.domains as usize;
        let count = config.log_blocks.slots();
        config.log_blocks.are_used().then(|| Logs {
            scheme: config.log_blocks.scheme,
            count,
            slots: memory::filled(None, domains * count as usize),
            wanted: memory::filled(None, domains),
            merging: memory::filled(None, domains),
            copied: 0,
        })
    }

    /// True if a logical block is being merged.
    pub fn merge(&self) -> bool {
        self.merging.iter().any(Option::is_some)
    }

    /// Block of a slot, if any.
    pub fn slot(&self, domain: Domain, slot: u32) -> Option<Slot> {
        self.slots[(domain.0 * self.count + slot) as usize]
    }

    fn slot_mut(&mut self, domain: Domain, slot: u32) -> &mut Option<Slot> {
        &mut self.slots[(domain.0 * self.count + slot) as usize]
    }

    /// A slot takes this from now on, or has no block.
    pub fn set(&mut self, domain: Domain, slot: u32, state: Option<Slot>) {
        *self.slot_mut(domain, slot) = state;
    }

    /// Gives a block to a slot without one; its pages are in order so far.
    pub fn take(&mut self, domain: Domain, slot: u32, owner: Option<u32>) {
        self.slot_mut(domain, slot).get_or_insert(Slot { owner, in_order: true });
    }

    /// Notes a page written to a slot, in its place or not; whether all are in their places and of
    /// one logical block.
    pub fn came(&mut self, domain: Domain, slot: u32, in_place: bool) -> bool {
        let Some(state) = self.slot_mut(domain, slot) else { return false };
        state.in_order &= in_place;
        state.in_order && state.owner.is_some()
    }

    /// Page of a domain that no slot accepts at present.
    pub fn wanted(&self, domain: Domain) -> Option<Lpn> {
        self.wanted[domain.at()]
    }

    /// Sets or clears the wanted page.
    pub fn want(&mut self, domain: Domain, lpn: Option<Lpn>) {
        self.wanted[domain.at()] = lpn;
    }

    /// The logical block of a domain that is being merged.
    pub fn merging(&self, domain: Domain) -> Option<u32> {
        self.merging[domain.at()]
    }

    /// The merge of a logical block begins, or has ended.
    pub fn set_merging(&mut self, domain: Domain, logical: Option<u32>) {
        self.merging[domain.at()] = logical;
    }

    /// A merge has copied pages: they count where a block is erased.
    pub fn note_copied(&mut self, pages: u32) {
        self.copied += u64::from(pages);
    }

    /// Counts begin from zero.
    pub fn forget_copied(&mut self) {
        self.copied = 0;
    }

    /// Copied pages that count for a block of at most `most`.
    pub fn take_copied(&mut self, most: u32) -> u32 {
        let taken = self.copied.min(u64::from(most));
        self.copied -= taken;
        taken as u32
    }

    /// The slot that takes only pages of a logical block.
    pub fn of(&self, domain: Domain, logical: u32) -> Option<u32> {
        let owned =
            |slot: &u32| self.slot(domain, *slot).is_some_and(|it| it.owner == Some(logical));
        (0..self.count).find(owned)
    }

    /// First slot without a block, from `first` on.
    pub fn free_from(&self, domain: Domain, first: u32) -> Option<u32> {
        (first..self.count).find(|slot| self.slot(domain, *slot).is_none())
    }
}
