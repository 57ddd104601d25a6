//! State of placement handles, without the drive: the writer of each page, the owner of each
//! stream, and counters.
//!
//! A stream of a domain is a handle, and behind these are the destinations of copies: one that all handles share, or
//! one for each. With an SLC cache, whose blocks all handles share, folded data go to a destination of their handle: the
//! one of its copies, or where copies share theirs a further one, which comes before. So a block only ever has pages of one destination, and a victim's copies go to one. Which handle
//! wrote a page is kept by logical page, as a controller keeps it beside the data.
//!
//! With several reclaim groups a *placement* is what a write names, group x handles + handle:
//! accounts and writers are by placement, streams by handle, because a block is of one group. A
//! placement is called a handle elsewhere.

use super::dlwa_curve::{Curve, CurvePoint};
use super::fdp_events::{EventKind, Events, FdpEvent};
use super::writers::{NOBODY, Writers};
use crate::config::{Isolation, PlaceRule, SsdConfig};
use crate::ids::{Lpn, PoolId, Stream};
use crate::shape::Geometry;
use engine::{Handle, Op, Request, SECTOR_BYTES};

/// Counts of one handle, in logical pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandleAccount {
    /// Bytes written by the host with it.
    pub host_bytes: u64,
    /// Programmed for the host.
    pub programs: u64,
    /// Moved pages written with it.
    pub moved: u64,
    /// Pages moved by the cleaning of its units.
    pub moved_because: u64,
    /// Superseded or trimmed pages written with it.
    pub invalidated: u64,
    /// Pages superseded by another handle.
    pub foreign: u64,
    /// Units opened for writes of the host.
    pub opened: u64,
    /// Units open at the start of counting.
    pub open_before: u64,
    /// Units given up before they were full.
    pub partly: u64,
    /// Bytes that were refused because the reclaim group was full.
    pub refused_bytes: u64,
}

/// Handles with their accounts. With one handle only events are counted here.
#[derive(Debug, Clone)]
pub struct Fdp {
    handles: u32,
    groups: u32,
    /// Streams of folded data before the one that all handles share.
    folded_apart: u32,
    /// Pages moved out of the block of the SLC cache that is being folded, by placement.
    folded: Vec<u64>,
    isolation: Isolation,
    rule: PlaceRule,
    sectors: u64,
    writers: Writers,
    /// Accounts by handle; a single handle has counts of units only, the rest equals the drive's.
    accounts: Vec<HandleAccount>,
    /// Pages moved out of units that copies of all handles share.
    moved_from_shared: u64,
    /// Bytes submitted by the host.
    asked: u64,
    events: Events,
    curve: Curve,
    /// Number of openings by handle: units that were ever opened for it.
    openings: Vec<u64>,
}

impl Fdp {
    /// The handles of a drive that has some; `numbered` pages have a writer each.
    pub fn new(config: &SsdConfig, geometry: &Geometry, numbered: u64) -> Option<Box<Fdp>> {
        let keys = &config.fdp;
        let has_several = keys.chooses();
        let pages = geometry.exported_pages();
        keys.is_on().then(|| {
            Box::new(Fdp {
                handles: keys.handles,
                groups: keys.groups,
                folded_apart: if config.folds() { keys.handles } else { 0 },
                folded: memory::zeroed(keys.placements() as usize),
                isolation: keys.isolation,
                rule: keys.place.clone(),
                sectors: pages * u64::from(geometry.sectors_per_page),
                writers: if has_several {
                    Writers::new(pages, numbered)
                } else {
                    Writers::new(0, 0)
                },
                accounts: memory::filled(HandleAccount::default(), keys.placements() as usize),
                moved_from_shared: 0,
                asked: 0,
                events: Events::default(),
                curve: Curve::new(pages * u64::from(geometry.sectors_per_page) * SECTOR_BYTES),
                openings: memory::zeroed(keys.placements() as usize),
            })
        })
    }

    /// Pages moved out of units that copies of all handles share.
    pub fn moved_from_shared(&self) -> u64 {
        self.moved_from_shared
    }

    /// Events.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Counts units of a handle closed by a reset.
    pub fn closed_by_reset(&mut self, handle: u32, units: u64) {
        self.accounts[handle as usize].partly += units;
        self.note_about(EventKind::ResetChanged, handle);
    }

    /// Notes an event of a handle.
    fn note_about(&mut self, kind: EventKind, handle: u32) {
        let (handle, named) = (Some(handle as u8), None);
        let (sector, sectors, after_bytes) = (None, 0, self.asked);
        self.events.note(FdpEvent { kind, handle, named, sector, sectors, after_bytes });
    }

    /// Write amplification over written bytes.
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    /// True if the series needs a point.
    #[inline]
    pub fn is_point_due(&self) -> bool {
        self.curve.is_due(self.asked)
    }

    /// Adds a point to the series.
    pub fn note_point(&mut self, point: CurvePoint) {
        self.curve.note(self.asked, point);
    }

    /// Accounts by handle; a single one has counts of units only.
    pub fn accounts(&self) -> &[HandleAccount] {
        &self.accounts
    }

    /// True for several handles with separate accounts.
    fn has_several(&self) -> bool {
        self.count() > 1
    }

    /// Number of placements, each in each reclaim group.
    pub fn count(&self) -> u32 {
        self.handles * self.groups
    }

    /// Number of handles in a reclaim group.
    pub fn of_group(&self) -> u32 {
        self.handles
    }

    /// Number of reclaim groups.
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// The stream and the reclaim group of a placement.
    #[inline]
    pub fn place_of(&self, placement: u32) -> (Stream, PoolId) {
        if self.groups == 1 {
            return (Stream(placement), PoolId(0));
        }
        (Stream(placement % self.handles), PoolId(placement / self.handles))
    }

    /// The first placement of a reclaim group.
    pub fn first_of(&self, group: PoolId) -> u32 {
        group.0 * self.handles
    }

    /// Reclaim group of a page's last write; None for initial data.
    pub fn group_of(&self, lpn: Lpn) -> Option<PoolId> {
        let writer = self.writer(lpn);
        (writer != NOBODY).then(|| self.place_of(writer.into()).1)
    }

    /// Notes a page outside its last write's reclaim group, after a power cut: it is of the same
    /// handle there.
    pub fn stays_in(&mut self, lpn: Lpn, group: PoolId) {
        let (stream, _) = self.place_of(self.writer(lpn).into());
        let placement = self.first_of(group) + stream.0;
        self.writers.set(lpn, placement as u8);
    }

    /// True if a write names no placement, nor does a rule.
    pub fn is_free(&self, request: &Request) -> bool {
        request.handle.number().is_none() && self.rule == PlaceRule::None
    }

    /// Bytes of a write that a full reclaim group did not take.
    pub fn refused(&mut self, handle: Handle, bytes: u64) {
        let account = &mut self.accounts[usize::from(handle.number().unwrap_or(0))];
        account.refused_bytes += bytes;
    }

    /// The handle for which the host or cleaning filled the blocks of a stream; none of copies that all share.
    fn owner(&self, stream: u8) -> Option<usize> {
        let stream = u32::from(stream);
        match self.isolation {
            _ if stream < self.handles => Some(stream as usize),
            Isolation::Persistent if stream < 2 * self.handles => {
                Some((stream - self.handles) as usize)
            }
            Isolation::Initial if stream < self.handles + self.folded_apart => {
                Some((stream - self.handles) as usize)
            }
            Isolation::Initial if stream == self.handles + self.folded_apart => None,
            // Initial data of the drive.
            _ => Some(0),
        }
    }

    /// The stream that copies of pages in a block of a stream go to.
    pub fn destination_from(&self, stream: u8) -> Stream {
        self.destination(self.owner(stream).unwrap_or(0) as u32)
    }

    /// `destination` for a page by the handle that wrote it.
    pub fn destination_of(&self, lpn: Lpn) -> Stream {
        self.destination(self.place_of(self.owner_of(lpn) as u32).0.0)
    }

    /// The stream of a page that leaves the SLC cache: of the handle that wrote it.
    pub fn folded_of(&self, lpn: Lpn) -> Stream {
        Stream(self.handles + self.place_of(self.owner_of(lpn) as u32).0.0)
    }

    /// A page has left the block of the SLC cache that is being folded.
    pub fn folded(&mut self, lpn: Lpn) {
        let owner = self.owner_of(lpn);
        self.folded[owner] += 1;
    }

    /// The handle to which a page is counted.
    #[inline]
    fn owner_of(&self, lpn: Lpn) -> usize {
        let writer = self.writer(lpn);
        if writer == NOBODY { 0 } else { usize::from(writer) }
    }

    /// True if these can be the handles of all pages.
    pub fn fits(&self, writers: &[u8]) -> bool {
        let is_known = |it: &u8| *it == NOBODY || u32::from(*it) < self.count();
        writers.len() == self.writers.of_host().len() && writers.iter().all(is_known)
    }

    /// The handle that wrote a page, where there are several.
    #[inline]
    pub fn writer(&self, lpn: Lpn) -> u8 {
        self.writers.of(lpn)
    }

    /// Handle of each page of the host for saving.
    pub fn writers(&self) -> &[u8] {
        self.writers.of_host()
    }

    /// Writers of all pages, to be changed.
    pub fn writers_mut(&mut self) -> &mut Writers {
        &mut self.writers
    }

    /// The copy of a page under a separate number is no longer needed.
    pub fn drops(&mut self, own: Lpn) {
        if self.has_several() {
            self.trimmed(own);
        }
    }

    /// Effective handle of a write: the one that it names, or that of the rule; an unknown handle
    /// becomes handle 0 and an event.
    #[inline]
    pub fn place(&mut self, request: Request) -> Request {
        if request.op != Op::Write {
            return request;
        }
        let named = request.handle.number();
        let number =
            named.unwrap_or_else(|| self.rule.handle(&request, self.sectors, self.count()));
        let is_valid = u32::from(number) < self.count();
        if !is_valid {
            self.note_invalid(number, &request);
        }
        self.asked += request.bytes();
        Request { handle: Handle::new(if is_valid { number.into() } else { 0 }), ..request }
    }

    #[cold]
    fn note_invalid(&mut self, named: u8, request: &Request) {
        self.events.note(FdpEvent {
            kind: EventKind::InvalidHandle,
            handle: Some(0),
            named: Some(named),
            sector: Some(request.lba.0),
            sectors: request.sectors,
            after_bytes: self.asked,
        });
    }

    /// A page is forgotten.
    pub fn trimmed(&mut self, lpn: Lpn) {
        if self.writer(lpn) != NOBODY {
            let owner = self.owner_of(lpn);
            self.accounts[owner].invalidated += 1;
        }
    }

    /// The host wrote with a handle: pages that were programmed, and bytes.
    #[inline]
    pub fn wrote(&mut self, handle: Handle, programs: u64, bytes: u64) {
        let account = &mut self.accounts[usize::from(handle.number().unwrap_or(0))];
        account.programs += programs;
        account.host_bytes += bytes;
    }

    /// A page was moved within a reclaim group.
    #[inline]
    pub fn moved(&mut self, lpn: Lpn, group: PoolId) {
        let nobodys = self.writer(lpn) == NOBODY;
        let owner = if nobodys { self.first_of(group) as usize } else { self.owner_of(lpn) };
        self.accounts[owner].moved += 1;
    }

    /// Counts a cleaned victim of a reclaim group's stream, with the sectors of its moved pages.
    pub fn cleaned(&mut self, (stream, group): (u8, PoolId), moved: u32, sectors: u32) {
        let first = self.first_of(group) as usize;
        let owner =
            if self.has_several() { self.owner(stream).map(|it| first + it) } else { Some(0) };
        self.note_moved(owner, moved * sectors);
        if !self.has_several() {
            return;
        }
        match owner {
            Some(handle) => self.accounts[handle].moved_because += u64::from(moved),
            None => self.moved_from_shared += u64::from(moved),
        }
    }

    /// A block that handles share has been folded: its pages were moved because their handles wrote them.
    pub fn end_fold(&mut self, moved: u32, sectors: u32) {
        self.note_moved(None, moved * sectors);
        for (account, folded) in self.accounts.iter_mut().zip(&mut self.folded) {
            account.moved_because += std::mem::take(folded);
        }
    }

    /// Notes that the drive has moved sectors out of a unit.
    fn note_moved(&mut self, owner: Option<usize>, sectors: u32) {
        if sectors > 0 {
            self.events.note(FdpEvent {
                kind: EventKind::MediaReallocated,
                handle: owner.map(|handle| handle as u8),
                named: None,
                sector: None,
                sectors,
                after_bytes: self.asked,
            });
        }
    }

    /// A block of a reclaim group is opened for a stream.
    pub fn opened(&mut self, stream: u8, group: PoolId) {
        if u32::from(stream) < self.handles {
            let placement = self.first_of(group) as usize + usize::from(stream);
            self.accounts[placement].opened += 1;
            self.openings[placement] += 1;
        }
    }

    /// Units that were ever opened for a handle.
    pub fn openings(&self, handle: u32) -> u64 {
        self.openings.get(handle as usize).copied().unwrap_or(0)
    }

    /// The unit of a handle is given up, because it was open for too long: the drive begins another.
    pub fn gave_up_late(&mut self, handle: u32) {
        self.accounts[handle as usize].partly += 1;
        self.note_about(EventKind::TimeLimit, handle);
        self.note_about(EventKind::HandleModified, handle);
    }

    /// The unit of a handle is given up, part of which was not written.
    pub fn gave_up(&mut self, handle: u32) {
        self.accounts[handle as usize].partly += 1;
        self.note_about(EventKind::UnitNotFull, handle);
    }

    /// The stream that copies of pages of a handle go to.
    fn destination(&self, handle: u32) -> Stream {
        match self.isolation {
            Isolation::Initial => Stream(self.handles + self.folded_apart),
            Isolation::Persistent => Stream(self.handles + handle),
        }
    }

    /// Counts from zero; `open` is the number of open units by handle.
    pub fn reset(&mut self, open: impl Fn(u32) -> u64) {
        for (number, account) in self.accounts.iter_mut().enumerate() {
            let open_before = open(number as u32);
            *account = HandleAccount { open_before, ..HandleAccount::default() };
        }
        (self.moved_from_shared, self.asked) = (0, 0);
        self.folded.fill(0);
        self.events.forget();
        self.curve.forget();
    }

    /// The host writes a logical page with a handle; `is_mapped` says whether it had been written.
    #[inline]
    pub fn tag(&mut self, lpn: Lpn, handle: u32, is_mapped: bool) {
        if !self.has_several() {
            return;
        }
        let before = self.writers.set(lpn, handle as u8);
        if is_mapped && before != NOBODY {
            let account = &mut self.accounts[usize::from(before)];
            account.invalidated += 1;
            account.foreign += u64::from(u32::from(before) != handle);
        }
    }
}
