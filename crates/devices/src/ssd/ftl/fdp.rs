//! Placement handles: who wrote what, where copies of it go, and the account of each.
//!
//! A stream of a domain is a handle, and behind these are the destinations of copies: one that all handles share, or
//! one for each. So a block only ever has pages of one destination, and a victim's copies go to one. Which handle
//! wrote a page is kept by logical page, as a controller keeps it beside the data.
//!
//! With one handle there is nothing to tell apart: the drive places as one without FDP, and what it counts is the
//! handle's.

use super::Ftl;
use super::streams::Told;
use crate::ssd::config::{Isolation, PlaceRule, SsdConfig};
use crate::ssd::ids::{Block, Domain, Lpn, Stream};
use crate::ssd::shape::Geometry;
use engine::{Handle, Request};

/// What was done for one handle, in logical pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandleAccount {
    /// Bytes that the host wrote with it.
    pub host_bytes: u64,
    /// Programmed for the host.
    pub programs: u64,
    /// Moved, of what was written with it.
    pub moved: u64,
    /// Moved because a unit of it was cleaned.
    pub moved_because: u64,
    /// Superseded or trimmed, of what was written with it.
    pub invalidated: u64,
    /// Of these, superseded by a write with another handle.
    pub foreign: u64,
    /// Units opened for writes of the host.
    pub opened: u64,
}

/// Handles, and their accounts. With one handle only events are counted here.
#[derive(Debug, Clone)]
pub struct Fdp {
    handles: u32,
    isolation: Isolation,
    rule: PlaceRule,
    sectors: u64,
    /// The handle that wrote each logical page; empty with one handle.
    writer: Vec<u8>,
    /// By handle; empty with one.
    accounts: Vec<HandleAccount>,
    /// Pages moved out of units that copies of all handles share.
    moved_from_shared: u64,
    /// Writes that named a handle which there is not.
    invalid: u64,
    /// Units out of which data of the host were moved.
    reallocated: u64,
}

impl Fdp {
    /// The handles of a drive that has some.
    pub fn new(config: &SsdConfig, geometry: &Geometry) -> Option<Box<Fdp>> {
        let keys = &config.fdp;
        let tells = keys.chooses();
        let pages = geometry.exported_pages();
        keys.is_on().then(|| {
            Box::new(Fdp {
                handles: keys.handles,
                isolation: keys.isolation,
                rule: keys.place.clone(),
                sectors: pages * u64::from(geometry.sectors_per_page),
                writer: vec![0; if tells { pages as usize } else { 0 }],
                accounts: vec![
                    HandleAccount::default();
                    if tells { keys.handles as usize } else { 0 }
                ],
                moved_from_shared: 0,
                invalid: 0,
                reallocated: 0,
            })
        })
    }

    /// Pages moved out of units that copies of all handles share.
    pub fn moved_from_shared(&self) -> u64 {
        self.moved_from_shared
    }

    /// Writes that named a handle which there is not, and units out of which data of the host were moved.
    pub fn events(&self) -> (u64, u64) {
        (self.invalid, self.reallocated)
    }

    /// By handle, where there are several.
    pub fn accounts(&self) -> &[HandleAccount] {
        &self.accounts
    }

    /// The handle for which the host or cleaning filled the blocks of a stream; none of copies that all share.
    fn owner(&self, stream: u8) -> Option<usize> {
        let stream = u32::from(stream);
        match self.isolation {
            _ if stream < self.handles => Some(stream as usize),
            Isolation::Persistent if stream < 2 * self.handles => {
                Some((stream - self.handles) as usize)
            }
            Isolation::Initial if stream == self.handles => None,
            // What the drive held at first.
            _ => Some(0),
        }
    }

    /// The stream that copies of pages of a handle go to.
    fn destination(&self, handle: u32) -> Stream {
        match self.isolation {
            Isolation::Initial => Stream(self.handles),
            Isolation::Persistent => Stream(self.handles + handle),
        }
    }

    fn reset(&mut self) {
        self.accounts.fill(HandleAccount::default());
        (self.moved_from_shared, self.invalid, self.reallocated) = (0, 0, 0);
    }

    /// The host writes a logical page with a handle; `is_mapped` says whether it had been written.
    #[inline]
    fn tag(&mut self, lpn: Lpn, handle: u32, is_mapped: bool) {
        let Some(writer) = self.writer.get_mut(lpn.at()) else { return };
        let before = std::mem::replace(writer, handle as u8);
        if is_mapped {
            let account = &mut self.accounts[usize::from(before)];
            account.invalidated += 1;
            account.foreign += u64::from(u32::from(before) != handle);
        }
    }
}

impl Ftl {
    /// Its handles, if it has FDP.
    pub fn fdp(&self) -> Option<&Fdp> {
        self.fdp.as_deref()
    }

    /// Whether pages are written apart by handle.
    #[inline]
    pub(super) fn tells_handles(&self) -> bool {
        self.streams.told == Told::Handles
    }

    /// A write with the handle that it has here: what it names, or what the rule says; handle 0 where there is no
    /// such handle, which is an event.
    #[inline]
    pub fn placed(&mut self, request: &mut Request) {
        let Some(fdp) = &mut self.fdp else { return };
        let named = request.handle.number();
        let number = named.unwrap_or_else(|| fdp.rule.handle(request, fdp.sectors, fdp.handles));
        let is_valid = u32::from(number) < fdp.handles;
        fdp.invalid += u64::from(!is_valid);
        request.handle = Handle::new(if is_valid { number.into() } else { 0 });
    }

    /// What is written next has this handle, if there is a choice.
    #[inline]
    pub fn write_with(&mut self, handle: Handle) {
        if self.tells_handles() {
            self.streams.write_to(Stream(handle.number().unwrap_or(0).into()));
        }
    }

    /// Whether the page in the buffer is of the handle that writes now, so that it may take its place.
    #[inline]
    pub fn is_of_same_handle(&self, lpn: Lpn) -> bool {
        let Some(fdp) = self.fdp.as_deref().filter(|_| self.tells_handles()) else { return true };
        u32::from(fdp.writer[lpn.at()]) == self.streams.host.0
    }

    /// The host writes a page, which gets its place.
    #[inline]
    pub(super) fn tag(&mut self, lpn: Lpn) {
        let is_mapped = self.is_mapped(lpn);
        let handle = self.streams.host.0;
        if let Some(fdp) = &mut self.fdp {
            fdp.tag(lpn, handle, is_mapped);
        }
    }

    /// A logical page is forgotten.
    #[inline]
    pub(super) fn note_trimmed(&mut self, lpn: Lpn) {
        if self.tells_handles()
            && self.is_mapped(lpn)
            && let Some(fdp) = &mut self.fdp
        {
            fdp.accounts[usize::from(fdp.writer[lpn.at()])].invalidated += 1;
        }
    }

    /// Counts what the host wrote with a handle: pages that were programmed, and bytes.
    #[inline]
    pub fn count_host(&mut self, handle: Handle, programs: u64, bytes: u64) {
        if self.tells_handles()
            && let Some(fdp) = &mut self.fdp
        {
            let account = &mut fdp.accounts[usize::from(handle.number().unwrap_or(0))];
            account.programs += programs;
            account.host_bytes += bytes;
        }
    }

    /// Counts a page that was moved, by the handle that wrote it.
    #[inline]
    pub fn count_copy(&mut self, lpn: Lpn) {
        if self.tells_handles()
            && lpn != Lpn::PADDING
            && let Some(fdp) = &mut self.fdp
        {
            fdp.accounts[usize::from(fdp.writer[lpn.at()])].moved += 1;
        }
    }

    /// A victim is erased, out of which pages were moved.
    pub(super) fn count_victim(&mut self, block: Block, moved: u32) {
        let stream = self.blocks.stream[block.at()];
        let Some(fdp) = &mut self.fdp else { return };
        fdp.reallocated += u64::from(moved > 0);
        if fdp.accounts.is_empty() {
            return;
        }
        match fdp.owner(stream) {
            Some(handle) => fdp.accounts[handle].moved_because += u64::from(moved),
            None => fdp.moved_from_shared += u64::from(moved),
        }
    }

    /// A block is opened for a stream.
    pub(super) fn count_opened(&mut self, stream: u8) {
        if let Some(fdp) = &mut self.fdp
            && let Some(account) = fdp.accounts.get_mut(usize::from(stream))
        {
            account.opened += 1;
        }
    }

    /// The stream that copies of pages in a block go to.
    #[inline]
    pub(super) fn stream_of_copies_from(&self, block: Block) -> Stream {
        let Some(fdp) = &self.fdp else { return Stream::SECOND };
        let owner = fdp.owner(self.blocks.stream[block.at()]).unwrap_or(0);
        fdp.destination(owner as u32)
    }

    /// The same of a page, by the handle that wrote it.
    pub(super) fn stream_of_copy_by_handle(&self, lpn: Lpn) -> Stream {
        let Some(fdp) = &self.fdp else { return Stream::SECOND };
        fdp.destination(fdp.writer[lpn.at()].into())
    }

    /// Pages left where copies of the victim of a domain go, or of whatever victim is next.
    #[inline]
    pub(super) fn left_for_copies(&self, domain: Domain) -> u32 {
        if !self.tells_handles() {
            return self.left_on(domain, Stream::SECOND);
        }
        if let Some(victim) = self.victim[domain.at()] {
            return self.left_on(domain, self.stream_of_copies_from(victim));
        }
        let handles = self.fdp.as_ref().map_or(0, |fdp| fdp.handles);
        let destinations = (handles..self.streams.count).map(Stream);
        destinations.map(|stream| self.left_on(domain, stream)).min().unwrap_or(0)
    }

    /// Handles beside the one that writes: blocks of them are open too.
    pub fn other_handles(&self) -> u32 {
        let handles = self.fdp.as_ref().filter(|_| self.tells_handles()).map(|fdp| fdp.handles);
        handles.map_or(0, |handles| handles - 1)
    }

    /// Pages that are left on average on the open blocks of these, in a domain: room that does not help a write.
    pub fn left_on_other_handles(&self) -> i64 {
        i64::from(self.other_handles()) * i64::from(self.geometry.data_pages) / 2
    }

    /// Whether a write may have to wait for a block though others have room.
    pub fn has_room_elsewhere(&self) -> bool {
        self.tells_handles()
    }

    /// Whether a stream is one of copies.
    pub(super) fn is_of_copies(&self, stream: Stream) -> bool {
        match &self.fdp {
            Some(fdp) if self.tells_handles() => stream.0 >= fdp.handles,
            _ => self.streams.apart() && stream == Stream::SECOND,
        }
    }

    /// Handles count from zero.
    pub(super) fn reset_handles(&mut self) {
        if let Some(fdp) = &mut self.fdp {
            fdp.reset();
        }
    }

    /// Who wrote what, to be kept: the handle of each page, and the stream of each block.
    pub(super) fn keep_handles(&self) -> (Vec<u8>, Vec<u8>) {
        if !self.tells_handles() {
            return (Vec::new(), Vec::new());
        }
        let writer = self.fdp.as_ref().map(|fdp| fdp.writer.clone());
        (writer.unwrap_or_default(), self.blocks.stream.clone())
    }

    /// The lists of [`keep_handles`](Ftl::keep_handles) fit this drive.
    pub(super) fn handles_fit(&self, writer: &[u8], streams: &[u8]) -> bool {
        let (pages, blocks, handles) = match &self.fdp {
            Some(fdp) if self.tells_handles() => {
                (fdp.writer.len(), self.blocks.stream.len(), fdp.handles)
            }
            _ => (0, 0, 1),
        };
        writer.len() == pages
            && streams.len() == blocks
            && writer.iter().all(|handle| u32::from(*handle) < handles)
    }

    /// Takes up what was kept.
    pub(super) fn restore_handles(&mut self, writer: Vec<u8>, streams: &[u8]) {
        if let Some(fdp) = &mut self.fdp
            && !writer.is_empty()
        {
            fdp.writer = writer;
            self.blocks.stream.copy_from_slice(streams);
        }
    }

    /// Entries of the list of handles by page.
    pub(super) fn handle_entries(&self) -> usize {
        self.fdp.as_ref().map_or(0, |fdp| fdp.writer.len())
    }
}
