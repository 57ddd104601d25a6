//! Placement handles on the drive: streams of host pages and copies, and their counts.
//!
//! With one handle the drive places like a drive without FDP, and all counts belong to that handle.

use super::Ftl;
use super::dlwa_curve::CurvePoint;
use super::handles::Fdp;
use super::streams::Told;
use crate::flash::Flash;
use crate::ids::{Block, Domain, Lpn, Stream};
use engine::{Handle, Lba, Op, Request, SECTOR_BYTES};
use std::ops::Range;

impl Ftl {
    /// Placement handles of an FDP drive.
    pub fn fdp(&self) -> Option<&Fdp> {
        self.fdp.as_deref()
    }

    /// True with separate frontiers by handle.
    #[inline]
    pub fn tells_handles(&self) -> bool {
        self.streams.told == Told::Handles
    }

    /// A write with its effective handle.
    #[inline]
    pub fn placed(&mut self, request: Request) -> Request {
        if self.has_handles() { self.placed_by_handle(request) } else { request }
    }

    /// True with placement handles.
    #[inline]
    pub fn has_handles(&self) -> bool {
        self.fdp.is_some()
    }

    /// `with` for a drive with handles.
    #[inline(never)]
    pub fn placed_by_handle(&mut self, request: Request) -> Request {
        let request = self.in_a_group(request);
        let Some(fdp) = self.fdp_mut() else { return request };
        let request = fdp.place(request);
        if fdp.is_point_due() {
            self.note_point();
        }
        request
    }

    /// A point of the curve of write amplification: bytes written so far.
    #[cold]
    fn note_point(&mut self) {
        let (host, media) = (self.counters.host_bytes, self.media_bytes());
        if let Some(fdp) = self.fdp_mut() {
            fdp.note_point(CurvePoint { host, media });
        }
    }

    /// Bytes programmed for the host, and for moves.
    pub fn media_bytes(&self) -> u64 {
        let counters = &self.counters;
        let pages = counters.host_programs + counters.moves + counters.migrations;
        pages * u64::from(self.geometry.sectors_per_page) * SECTOR_BYTES
    }

    /// Number of open units of a handle, and pages writable before the next one: a whole unit where
    /// none is open. Of several domains the one with most.
    pub fn open_units(&self, handle: u32) -> (u64, u32) {
        let (stream, domains) = self.units_of_handle(handle);
        let all = || domains.clone().map(|domain| self.left_on(Domain(domain), stream));
        let open = all().filter(|left| *left > 0).count() as u64;
        let most = all().max().filter(|left| *left > 0);
        (open, most.unwrap_or(self.geometry.data_pages))
    }

    /// The open units of a handle are to be given up, because the host says so or (`late`) the
    /// drive itself: the domains in which one is not full. Each is reported as an event.
    pub fn give_up_units(&mut self, handle: u32, late: bool) -> Vec<(Domain, Stream)> {
        let (stream, domains) = self.units_of_handle(handle);
        let open = domains.map(Domain).filter(|it| self.left_on(*it, stream) > 0);
        let open: Vec<(Domain, Stream)> = open.map(|it| (it, stream)).collect();
        if let Some(fdp) = self.fdp_mut() {
            for _ in &open {
                if late {
                    fdp.gave_up_late(handle);
                } else {
                    fdp.gave_up(handle);
                }
            }
        }
        open
    }

    /// Without time: pads the rest of a unit.
    pub fn fill_up_untimed(&mut self, flash: &mut Flash, domain: Domain, stream: Stream) {
        while self.left_on(domain, stream) > 0 {
            self.pad_one_untimed(flash, domain, stream);
        }
    }

    /// Stream of a handle, and its domains.
    fn units_of_handle(&self, handle: u32) -> (Stream, Range<u32>) {
        let Some(fdp) = self.fdp.as_deref().filter(|_| self.has_groups()) else {
            return (Stream(handle), 0..self.geometry.domains);
        };
        let (stream, group) = fdp.place_of(handle);
        (stream, self.domains_of_group(group))
    }

    /// A reset closes the units that are open.
    pub fn note_reset(&mut self) {
        for handle in 0..self.fdp.as_ref().map_or(0, |fdp| fdp.count()) {
            let (open, _) = self.open_units(handle);
            if let Some(fdp) = self.fdp_mut()
                && open > 0
            {
                fdp.closed_by_reset(handle, open);
            }
        }
    }

    /// Handle of a page that is overwritten without a request, by the rule.
    pub fn handle_of_page(&mut self, lpn: Lpn) -> Handle {
        if !self.tells_handles() {
            return Handle::NONE;
        }
        let sectors = self.geometry.sectors_per_page;
        let first = Lba(lpn.0 * u64::from(sectors));
        self.placed(Request::new(0, Op::Write, first, sectors)).handle
    }

    /// The handles, if there are several.
    #[inline]
    fn told_handles(&mut self) -> Option<&mut Fdp> {
        if self.streams.told == Told::Handles { self.fdp_mut() } else { None }
    }

    /// Sets the handle of the next write, if there is a choice.
    #[inline]
    pub fn write_with(&mut self, handle: Handle) {
        if self.tells_handles()
            && let Some(fdp) = &self.fdp
        {
            let (stream, group) = fdp.place_of(handle.number().unwrap_or(0).into());
            self.streams.write_to(stream, group);
        }
    }

    /// True if the buffered page has the writing handle, and may be replaced.
    #[inline]
    pub fn is_of_same_handle(&self, lpn: Lpn) -> bool {
        let Some(fdp) = self.fdp.as_deref().filter(|_| self.tells_handles()) else { return true };
        u32::from(fdp.writer(lpn)) == fdp.first_of(self.streams.group) + self.streams.host.0
    }

    /// Places a host page.
    #[inline]
    pub fn tag(&mut self, lpn: Lpn) {
        let is_kept = self.is_shared(lpn);
        let is_mapped = self.is_mapped(lpn) && !is_kept;
        let (stream, group) = (self.streams.host, self.streams.group);
        if let Some(fdp) = self.fdp_mut() {
            if is_kept {
                fdp.writers_mut().displace(lpn);
            }
            fdp.tag(lpn, fdp.first_of(group) + stream.0, is_mapped);
        }
    }

    /// A copy of a page is kept under a separate number.
    pub fn keep_writer(&mut self, lpn: Lpn, own: Lpn) {
        if let Some(fdp) = self.fdp_mut() {
            fdp.writers_mut().keep(lpn, own);
        }
    }

    /// That copy is worthless.
    pub fn drop_writer(&mut self, own: Lpn) {
        if let Some(fdp) = self.fdp_mut() {
            fdp.drops(own);
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

    /// Counts host bytes of a handle: pages that were programmed, and bytes.
    #[inline]
    pub fn count_host(&mut self, handle: Handle, programs: u64, bytes: u64) {
        if let Some(fdp) = self.told_handles() {
            fdp.wrote(handle, programs, bytes);
        }
    }

    /// Counts a moved page by the handle that wrote it; and its entry in the map changes.
    #[inline]
    pub fn count_copy(&mut self, lpn: Lpn) {
        if self.notes_copies && lpn != Lpn::PADDING {
            let group = self.group_of(lpn);
            if let Some(fdp) = self.told_handles() {
                fdp.moved(lpn, group);
            }
            self.note_map_moved(lpn);
        }
    }

    /// A victim is erased, out of which pages were moved.
    pub fn count_victim(&mut self, block: Block, moved: u32) {
        let (stream, sectors) = (self.stream(block), self.geometry.sectors_per_page);
        let (group, folds) = (self.group_of_block(block), self.folds_by_handle(block));
        if let Some(fdp) = self.fdp_mut() {
            if folds {
                fdp.end_fold(moved, sectors);
            } else {
                fdp.cleaned((stream, group), moved, sectors);
            }
        }
    }

    /// A block is opened for a stream.
    pub fn count_opened(&mut self, block: Block, stream: u8) {
        let group = self.group_of_block(block);
        if let Some(fdp) = self.fdp_mut() {
            fdp.opened(stream, group);
        }
    }

    /// The stream that copies of pages in a block go to.
    #[inline]
    pub fn stream_of_copies_from(&self, block: Block) -> Stream {
        let stream = self.stream(block);
        self.fdp.as_ref().map_or(Stream::SECOND, |fdp| fdp.destination_from(stream))
    }

    /// The stream of a page that is moved out of a block.
    #[inline]
    pub fn stream_of_moved(&self, lpn: Lpn, from: Block) -> Stream {
        if self.tells_handles() {
            let folded = self.fdp().filter(|_| self.is_slc(from));
            folded.map_or_else(|| self.stream_of_copies_from(from), |fdp| fdp.folded_of(lpn))
        } else {
            self.stream_of_copy(lpn)
        }
    }

    /// `stream_of_copy` by the handle that wrote the page.
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
            if self.folds_by_handle(victim) {
                // Its pages go to units of several handles.
                return 0;
            }
            return self.left_on(domain, self.stream_of_copies_from(victim));
        }
        let handles = self.fdp.as_ref().map_or(0, |fdp| fdp.of_group());
        let destinations = (handles..self.streams.count).map(Stream);
        destinations.map(|stream| self.left_on(domain, stream)).min().unwrap_or(0)
    }

    /// Number of handles besides the writing one: blocks of them are open too.
    pub fn other_handles(&self) -> u32 {
        let handles = self.fdp.as_ref().filter(|_| self.tells_handles()).map(|fdp| fdp.of_group());
        handles.map_or(0, |handles| handles - 1)
    }

    /// Pages that are left on average on the open blocks of these, in a domain: room that does not help a write.
    pub fn left_on_other_handles(&self) -> i64 {
        i64::from(self.other_handles()) * i64::from(self.geometry.data_pages) / 2
    }

    /// True for a stream of copies.
    pub fn is_of_copies(&self, stream: Stream) -> bool {
        match &self.fdp {
            Some(fdp) if self.tells_handles() => stream.0 >= fdp.of_group(),
            _ => self.streams.apart() && stream == Stream::SECOND,
        }
    }

    /// Handles count from zero.
    pub fn reset_handles(&mut self) {
        let handles = self.fdp.as_ref().map_or(0, |fdp| fdp.count());
        let open: Vec<u64> = (0..handles).map(|handle| self.open_units(handle).0).collect();
        if let Some(fdp) = self.fdp_mut() {
            fdp.reset(|handle| open[handle as usize]);
        }
    }

    /// State of the handles for saving: of each page, and the stream of each block.
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

    /// Restores the saved state.
    pub fn restore_handles(&mut self, writer: &[u8], streams: &[u8]) {
        if let Some(fdp) = self.fdp_mut()
            && !writer.is_empty()
        {
            fdp.writers_mut().restore(writer);
            self.blocks.restore_streams(streams);
        }
    }

    /// Entries of the list of handles by page.
    pub fn handle_entries(&self) -> usize {
        self.fdp.as_ref().map_or(0, |fdp| fdp.writers().len())
    }
}
