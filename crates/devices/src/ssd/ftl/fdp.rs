//! Placement handles on the drive: which stream a page of the host or a copy goes to, and what is counted.
//!
//! With one handle there is nothing to tell apart: the drive places as one without FDP, and what it counts is the
//! handle's.

use super::Ftl;
use super::handles::Fdp;
use super::streams::Told;
use crate::ssd::ids::{Block, Domain, Lpn, Stream};
use engine::{Handle, Lba, Op, Request};

impl Ftl {
    /// Its handles, if it has FDP.
    pub fn fdp(&self) -> Option<&Fdp> {
        self.fdp.as_deref()
    }

    /// Whether pages are written apart by handle.
    #[inline]
    pub fn tells_handles(&self) -> bool {
        self.streams.told == Told::Handles
    }

    /// A write with the handle that it has here.
    #[inline]
    pub fn placed(&mut self, request: Request) -> Request {
        self.fdp_mut().map_or(request, |fdp| fdp.place(request))
    }

    /// The handle of a page that is overwritten without a request: as the rule has it.
    pub fn handle_of_page(&mut self, lpn: Lpn) -> Handle {
        if !self.tells_handles() {
            return Handle::NONE;
        }
        let sectors = self.geometry.sectors_per_page;
        let first = Lba(lpn.0 * u64::from(sectors));
        self.placed(Request::new(0, Op::Write, first, sectors)).handle
    }

    /// Where there are several, the handles.
    #[inline]
    fn told_handles(&mut self) -> Option<&mut Fdp> {
        if self.streams.told == Told::Handles { self.fdp_mut() } else { None }
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
        u32::from(fdp.writer(lpn)) == self.streams.host.0
    }

    /// The host writes a page, which gets its place.
    #[inline]
    pub fn tag(&mut self, lpn: Lpn) {
        let is_mapped = self.is_mapped(lpn);
        let handle = self.streams.host.0;
        if let Some(fdp) = self.fdp_mut() {
            fdp.tag(lpn, handle, is_mapped);
        }
    }

    /// A logical page is forgotten.
    #[inline]
    pub fn note_trimmed(&mut self, lpn: Lpn) {
        if self.tells_handles()
            && self.is_mapped(lpn)
            && let Some(fdp) = self.told_handles()
        {
            fdp.trimmed(lpn);
        }
    }

    /// Counts what the host wrote with a handle: pages that were programmed, and bytes.
    #[inline]
    pub fn count_host(&mut self, handle: Handle, programs: u64, bytes: u64) {
        if let Some(fdp) = self.told_handles() {
            fdp.wrote(handle, programs, bytes);
        }
    }

    /// Counts a page that was moved, by the handle that wrote it; and its entry in the map changes.
    #[inline]
    pub fn count_copy(&mut self, lpn: Lpn) {
        if self.notes_copies && lpn != Lpn::PADDING {
            if let Some(fdp) = self.told_handles() {
                fdp.moved(lpn);
            }
            self.note_map_moved(lpn);
        }
    }

    /// A victim is erased, out of which pages were moved.
    pub fn count_victim(&mut self, block: Block, moved: u32) {
        let stream = self.stream(block);
        if let Some(fdp) = self.fdp_mut() {
            fdp.cleaned(stream, moved);
        }
    }

    /// A block is opened for a stream.
    pub fn count_opened(&mut self, stream: u8) {
        if let Some(fdp) = self.fdp_mut() {
            fdp.opened(stream);
        }
    }

    /// The stream that copies of pages in a block go to.
    #[inline]
    pub fn stream_of_copies_from(&self, block: Block) -> Stream {
        let stream = self.stream(block);
        self.fdp.as_ref().map_or(Stream::SECOND, |fdp| fdp.destination_from(stream))
    }

    /// The same of a page, by the handle that wrote it.
    pub fn stream_of_copy_by_handle(&self, lpn: Lpn) -> Stream {
        self.fdp.as_ref().map_or(Stream::SECOND, |fdp| fdp.destination_of(lpn))
    }

    /// Pages left where copies of the victim of a domain go, or of whatever victim is next.
    #[inline]
    pub fn left_for_copies(&self, domain: Domain) -> u32 {
        if !self.tells_handles() {
            return self.left_on(domain, Stream::SECOND);
        }
        if let Some(victim) = self.victim[domain.at()] {
            return self.left_on(domain, self.stream_of_copies_from(victim));
        }
        let handles = self.fdp.as_ref().map_or(0, |fdp| fdp.count());
        let destinations = (handles..self.streams.count).map(Stream);
        destinations.map(|stream| self.left_on(domain, stream)).min().unwrap_or(0)
    }

    /// Handles beside the one that writes: blocks of them are open too.
    pub fn other_handles(&self) -> u32 {
        let handles = self.fdp.as_ref().filter(|_| self.tells_handles()).map(|fdp| fdp.count());
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
    pub fn is_of_copies(&self, stream: Stream) -> bool {
        match &self.fdp {
            Some(fdp) if self.tells_handles() => stream.0 >= fdp.count(),
            _ => self.streams.apart() && stream == Stream::SECOND,
        }
    }

    /// Handles count from zero.
    pub fn reset_handles(&mut self) {
        if let Some(fdp) = self.fdp_mut() {
            fdp.reset();
        }
    }

    /// Who wrote what, to be kept: the handle of each page, and the stream of each block.
    pub fn keep_handles(&self) -> (Vec<u8>, Vec<u8>) {
        if !self.tells_handles() {
            return (Vec::new(), Vec::new());
        }
        let writer = self.fdp.as_ref().map(|fdp| fdp.writers().to_vec());
        (writer.unwrap_or_default(), self.blocks.stream.clone())
    }

    /// The lists of [`keep_handles`](Ftl::keep_handles) fit this drive.
    pub fn handles_fit(&self, writers: &[u8], streams: &[u8]) -> bool {
        match &self.fdp {
            Some(fdp) if self.tells_handles() => {
                fdp.fits(writers) && streams.len() == self.blocks.stream.len()
            }
            _ => writers.is_empty() && streams.is_empty(),
        }
    }

    /// Takes up what was kept.
    pub fn restore_handles(&mut self, writer: Vec<u8>, streams: &[u8]) {
        if let Some(fdp) = self.fdp_mut()
            && !writer.is_empty()
        {
            fdp.restore(writer);
            self.blocks.restore_streams(streams);
        }
    }

    /// Entries of the list of handles by page.
    pub fn handle_entries(&self) -> usize {
        self.fdp.as_ref().map_or(0, |fdp| fdp.writers().len())
    }
}
