//! The write buffer: admission of writes, the groups that fill, and when writes are durable.
//!
//! A machine. A page gets its place in the flash when it enters the buffer, so the map tells where a page is and
//! whether it is still here (`gather.rs`). A full group becomes jobs for dies; the caller reports when one is
//! loaded and when it is programmed. A volatile buffer may be lost: there a victim is erased only after the
//! programs of its copies and of the pages that supersede the rest.

mod cut;
mod gather;
mod held;
mod map_reads;
mod owned;
mod pace;
mod queues;
mod slc;
#[cfg(test)]
mod tests;

pub use cut::{CutGroup, CutProgram, Fate};
pub use gather::Class;
pub use held::{Reason, Write};
pub use map_reads::MapReads;
pub use queues::{PageId, PageOp, Phase, Queues};
pub use slc::{SlcCacheState, SlcState};

use crate::clock::{Clock, Event, Line};
use crate::config::{Frontiers, Pace as PaceRule, Program, SsdConfig};
use crate::device::kit::slots::Slot;
use crate::die::{Costs, Job};
use crate::flash::Flash;
use crate::front;
use crate::ftl::{BufferRoom, Ftl, Programming};
use crate::ids::{Block, Domain, Lpn, Ppn, Stream};
use crate::page::HeldFor;
use crate::shape::{Geometry, Groups};
use engine::{Request, Status, Time};
use gather::{Gather, NONE, Stage};
use held::Held;
use owned::Owned;
use pace::{Admission, Law, Pace};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Next step for the waiting writes.
#[derive(Debug, Clone, Copy)]
pub enum Turn {
    /// None waits.
    Over,
    /// A page of this write may come in, to a group of a stream of this domain.
    Page { domain: Domain, stream: Stream, slot: Slot, lpn: Lpn },
    /// A write is through: all its pages are in the buffer, or it was refused.
    Through { write: Write, status: Status },
    /// The first write has to wait.
    Held(Why),
}

/// Why the first write has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The buffer is full.
    Room,
    /// The meter is closed; writes try again later.
    Meter,
    /// Cleaning must proceed first.
    Cleaning,
    /// No block has room.
    Blocks,
}

impl Why {
    /// Reason counted for the wait.
    pub fn reason(self) -> Reason {
        if self == Why::Room { Reason::Room } else { Reason::Cleaning }
    }
}

/// Time at which the first waiting write is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// After the next change.
    Later,
    /// An attempt is scheduled.
    Asked,
    /// The next page follows in the same turn.
    Next,
}

/// A job of a full group: its die, and whether cleaning needs it.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub die: u32,
    pub job: Job,
    pub cleans: bool,
}

/// A waiter for the durability of everything before a moment.
#[derive(Debug, Clone, Copy)]
pub enum Waiter {
    /// A forced write or a flush of host data.
    Write(Write),
    Flush(Slot),
    /// The drive itself, after a start: for everything.
    Restores,
}

/// The buffer. Its fields are its parts, messages between them, and configuration.
#[derive(Debug, Clone)]
pub struct Cache {
    shape: Groups,
    config: SsdConfig,
    gather: Gather,
    pace: Pace,
    /// Writes that wait for the buffer, in order, and why the first does.
    writes: VecDeque<Write>,
    held: Held,
    look: Look,
    /// The first write waits, and no cleaning or flush has been requested for it yet.
    stopped: Option<Why>,
    /// True if a burst of cleaning may continue.
    has_ended: bool,
    /// The group that fills, by domain and stream.
    filling: Vec<u32>,
    streams: u32,
    /// Stream of cold data into worn blocks, with room of its own.
    cold: Stream,
    /// Groups have pages of the host or copies, not both.
    apart: bool,
    /// Waiters for the programming of all groups with smaller numbers.
    durable: Vec<(u64, Waiter)>,
    /// True if some waiters may be ready.
    may_be_durable: bool,
    /// The domain at which the next choice begins.
    turn: u32,
    /// Owners of buffered pages, where power cuts need them.
    owned: Option<Owned>,
    /// Jobs not yet passed to the dies.
    jobs: Vec<Asked>,
    /// The SLC cache, if any, its stream, and the pages of the last group of its blocks.
    slc: Option<Box<SlcCacheState>>,
    slc_stream: Stream,
    last_in_slc: u32,
}

impl Cache {
    pub fn new(config: &SsdConfig, geometry: &Geometry, shape: Groups, costs: &Costs) -> Cache {
        let streams = geometry.frontiers;
        Cache {
            gather: Gather::new(geometry, shape, rooms(config, &shape)),
            pace: pace_of(config, geometry, &shape, costs),
            shape,
            writes: VecDeque::new(),
            held: Held::default(),
            look: Look::Later,
            stopped: None,
            has_ended: false,
            filling: memory::filled(NONE, (geometry.domains * streams) as usize),
            streams,
            cold: Stream(config.open_blocks()),
            apart: config.frontiers() == Frontiers::SeparateMoved || config.fdp.chooses(),
            durable: Vec::new(),
            may_be_durable: false,
            turn: 0,
            owned: config.persistence.recovers().then(Owned::default),
            jobs: Vec::new(),
            slc: SlcCacheState::new(config, &shape),
            slc_stream: if config.slc_cache.is_on() {
                Stream(streams - 1)
            } else {
                Stream(u32::MAX)
            },
            last_in_slc: shape.units_in_one_bit(shape.per_block - 1),
            config: config.clone(),
        }
    }

    /// The rooms of the domains are counted at the first request: preconditioning is untimed and
    /// does not need them.
    #[inline]
    pub fn begin(&mut self, ftl: &mut Ftl, flash: &mut Flash) {
        ftl.end_untimed(flash);
        if !self.pace.has_begun() {
            self.count_rooms(ftl);
        }
    }

    #[cold]
    fn count_rooms(&mut self, ftl: &Ftl) {
        let domains = 0..ftl.geometry().domains;
        let others = ftl.left_on_other_handles();
        let room = domains.map(|domain| ftl.room_of(domain).cast_signed() - others).collect();
        let geometry = ftl.geometry();
        let least = i64::from(geometry.reserved_pages() + geometry.data_pages);
        self.pace.begin(room, least);
        // Future victims are assumed like present ones.
        let pages = ftl.geometry().data_pages;
        if let Some(valid) = ftl.least_valid_of(0).filter(|valid| *valid < pages) {
            self.pace.note_victim(f64::from(valid) / f64::from(pages));
        }
    }

    /// A power cut: all waiting and buffered data are lost.
    pub fn lose_power(&mut self, geometry: &Geometry, costs: &Costs) {
        let puts_off = self.pace.puts_off();
        *self = Cache::new(&self.config, geometry, self.shape, costs);
        self.pace.put_off(puts_off);
    }

    // ---- writes --------------------------------------------------------------------------------

    /// A write waits for the buffer. The first one schedules a turn.
    pub fn join(&mut self, slot: Slot, request: Request, geometry: &Geometry, now: Time) {
        let pages = front::touched(geometry, &request);
        let (next, end) = (pages.start, pages.end);
        let marks = self.held.totals(now);
        self.writes.push_back(Write {
            slot,
            request,
            next,
            end,
            begun: false,
            waited: false,
            marks,
        });
        if self.writes.len() == 1 {
            self.ask();
        }
    }

    /// Writes that wait.
    pub fn backlog(&self) -> usize {
        self.writes.len()
    }

    /// Hold time of a write until now: for cleaning, and for room.
    pub fn held_since(&self, write: &Write, now: Time) -> HeldFor {
        let held = self.held.totals(now);
        let cleaning = held.cleaning - write.marks.cleaning;
        HeldFor { cleaning, room: held.room - write.marks.room }
    }

    /// Schedules a turn of the waiting writes, unless there is one.
    #[inline]
    pub fn ask(&mut self) {
        if self.look == Look::Later {
            self.look = Look::Asked;
        }
    }

    /// Tries the first write again at this instant.
    pub fn look_again(&mut self) {
        self.look = Look::Next;
    }

    /// Schedules one query per instant: a write that finds no block may begin another burst.
    pub fn look_again_once(&mut self, now: Time) {
        let is_first = self.held.asked_again.replace(now) != Some(now);
        self.look = if is_first { Look::Next } else { Look::Later };
    }

    /// A burst of cleaning may continue: writes that wait may be stuck.
    pub fn note_end(&mut self) {
        self.has_ended = true;
    }

    /// Reports once that an operation has ended.
    #[inline]
    pub fn has_ended(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }

    /// True if an attempt to admit the first write is pending.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.look != Look::Later
    }

    /// Starts the attempt to admit the first write. Returns true if it is the first of this
    /// backlog.
    #[inline]
    pub fn begins_attempt(&mut self) -> bool {
        std::mem::replace(&mut self.look, Look::Next) == Look::Asked
    }

    /// No write waits: the attempts end.
    pub fn end_attempts(&mut self, now: Time) {
        self.look = Look::Later;
        self.pace.end_backlog(now);
    }

    /// The first write has to wait: cleaning or a flush must be requested for it.
    pub fn stop(&mut self, why: Why, now: Time) {
        self.hold(why.reason(), now);
        self.stopped = Some(why);
    }

    /// Cause of the first write's wait, if nothing has been requested against it yet.
    #[inline]
    pub fn take_stopped(&mut self) -> Option<Why> {
        self.stopped.take()
    }

    /// Holds the first write until a change: the turn is over.
    pub fn hold(&mut self, reason: Reason, now: Time) {
        self.look = Look::Later;
        self.held.set(Some(reason), now);
    }

    /// Next step for the waiting writes. `depth` has the jobs of each die.
    pub fn next(
        &mut self,
        ftl: &mut Ftl,
        depth: impl Fn(usize) -> usize,
        is_open: impl Fn(Slot, u64) -> bool,
        clock: &mut Clock,
    ) -> Turn {
        let mut status = Status::Ok;
        loop {
            let Some(write) = self.writes.front_mut() else { return Turn::Over };
            if write.next == write.end {
                let write = *write;
                self.writes.pop_front();
                self.held.set(None, clock.now);
                return Turn::Through { write, status };
            }
            let (slot, lpn, handle) = (write.slot, Lpn(write.next), write.request.handle);
            ftl.write_with(handle);
            if let Some(refusal) = ftl.refusal(lpn) {
                let (pages, bytes) = front::part(ftl.geometry(), &write.request, lpn);
                ftl.count_refused((handle, refusal), pages, u64::from(bytes));
                write.next += 1;
                status = refusal;
                continue;
            }
            if self.replaces(ftl, lpn) {
                let request = self.writes[0].request;
                let (pages, bytes) = front::part(ftl.geometry(), &request, lpn);
                self.note_owner(ftl, slot, request.id, lpn, &is_open);
                ftl.counters.pages_replaced(1, pages, u64::from(bytes));
                ftl.count_host(handle, 0, u64::from(bytes));
                self.writes[0].next += 1;
                continue;
            }
            if let Err(why) = self.admits(ftl, clock) {
                return Turn::Held(why);
            }
            let in_slc = self.slc_place(ftl, clock);
            if in_slc.is_none() && self.slc.as_ref().is_some_and(|slc| slc.holds_host()) {
                return Turn::Held(Why::Cleaning);
            }
            let place = in_slc.or_else(|| {
                let stream = ftl.stream_of_host(lpn);
                self.host_domain(ftl, stream, &depth, clock).map(|domain| (domain, stream))
            });
            let Some((domain, stream)) = place else { return Turn::Held(Why::Blocks) };
            if let Some(slc) = &mut self.slc {
                slc.wrote();
            }
            ftl.note_written(lpn);
            let write = &mut self.writes[0];
            write.next += 1;
            let (pages, bytes) = front::part(ftl.geometry(), &write.request, lpn);
            ftl.counters.host_wrote(pages, u64::from(bytes));
            ftl.counters.host_programs += 1;
            ftl.count_host(handle, 1, u64::from(bytes));
            self.pace.wrote(clock.now);
            return Turn::Page { domain, stream, slot, lpn };
        }
    }

    /// Destination of the host's next page in the SLC cache, if any.
    #[inline]
    fn slc_place(&mut self, ftl: &Ftl, clock: &mut Clock) -> Option<(Domain, Stream)> {
        let slc = self.slc.as_mut()?;
        let is_fast = slc.writes(ftl.takes_slc(), ftl.slc_blocks(), clock);
        is_fast.then_some((Domain(0), self.slc_stream))
    }

    /// The SLC cache, if any.
    pub fn slc(&mut self) -> Option<&mut SlcCacheState> {
        self.slc.as_deref_mut()
    }

    /// Report data of the SLC cache.
    pub fn slc_account(&self) -> Option<&SlcCacheState> {
        self.slc.as_deref()
    }

    /// True if a fold proceeds on its own.
    pub fn waits_to_fold(&self) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.waits_to_fold())
    }

    /// True if the first write's next page has room and the pace admits it.
    #[inline]
    fn admits(&mut self, ftl: &mut Ftl, clock: &mut Clock) -> Result<(), Why> {
        let now = clock.now;
        let write = &mut self.writes[0];
        if self.gather.room(Class::Host) == 0 {
            let waits_already = std::mem::replace(&mut write.waited, true);
            ftl.counters.buffer_waits += u64::from(!waits_already);
            return Err(Why::Room);
        }
        let begins = (!write.begun).then_some((write.end - write.next) as u32);
        let mut is_free = false;
        if let Some(slc) = &self.slc {
            if slc.holds_host() {
                return Err(Why::Cleaning);
            }
            is_free = slc.is_unmetered() && !self.pace.lags();
        }
        let gather = &self.gather;
        let used = || gather.used_share(Class::Host);
        let admission = if is_free { Admission::Now } else { self.pace.admits(begins, used, now) };
        match admission {
            Admission::Now => {
                write.begun = true;
                Ok(())
            }
            Admission::At(at) => {
                if self.held.wake.is_none() {
                    self.held.wake = Some(at);
                    clock.call_in_line(Line::Soon, at.max(now + 1), Event::MeterOpens);
                }
                Err(Why::Meter)
            }
            Admission::Blocked => Err(Why::Cleaning),
        }
    }

    /// Schedules a query of the meter.
    pub fn meter_opens(&mut self) {
        self.held.wake = None;
    }

    /// True if the page replaces one of the host's waiting in the buffer. Pages of a snapshot are
    /// kept.
    fn replaces(&self, ftl: &Ftl, lpn: Lpn) -> bool {
        let Some(ppn) = ftl.lookup(lpn) else { return false };
        let (block, page) = ftl.geometry().block_and_page(ppn);
        let Some(group) = self.gather.holding(block, page) else { return false };
        let group = self.gather.group(group);
        matches!(group.stage, Stage::Filling | Stage::Waiting)
            && group.is_hosts()
            && ftl.is_of_same_handle(lpn)
            && !ftl.is_shared(lpn)
    }

    /// The domain that takes the next host page of a stream: the one with a partly filled group,
    /// else the one with room whose die has the shortest queue; ties go round robin.
    fn host_domain(
        &mut self,
        ftl: &mut Ftl,
        stream: Stream,
        depth: impl Fn(usize) -> usize,
        clock: &mut Clock,
    ) -> Option<Domain> {
        // With reclaim groups, a domain of the write's group.
        let all = ftl.domains_to_write();
        let domains = all.len() as u32;
        let fills = |domain: u32| {
            let group = self.filling[(domain * self.streams + stream.0) as usize];
            group != NONE && self.gather.group(group).is_hosts()
        };
        // Room needed by copies is not taken, even if a group has some.
        let takes = |domain: u32| self.apart && fills(domain) || ftl.accepts(Domain(domain));
        if domains == 1 {
            return takes(all.start).then_some(Domain(all.start));
        }
        if let Some(filling) = all.clone().find(|domain| fills(*domain)) {
            let filling = Domain(filling);
            if takes(filling.0) || ftl.may_gain(filling) {
                return takes(filling.0).then_some(filling);
            }
            // The domain will never have room: its group is not to wait for ever.
            if all.clone().all(|domain| !ftl.accepts(Domain(domain))) {
                return None;
            }
            self.pad(ftl, (filling, stream, Class::Host), clock);
        }
        let candidates = (0..domains).map(|k| Domain(all.start + (self.turn + k) % domains));
        let open = candidates.filter(|domain| ftl.accepts(*domain));
        let best =
            open.min_by_key(|domain| (depth(domain.at()), Reverse(ftl.reclaimable_of(*domain))))?;
        self.turn = (best.0 - all.start + 1) % domains;
        Some(best)
    }

    fn domains(&self) -> u32 {
        self.filling.len() as u32 / self.streams
    }

    // ---- groups ---------------------------------------------------------------------------------

    /// A page gets its place in the flash, and its place in the buffer.
    pub fn place(
        &mut self,
        ftl: &mut Ftl,
        (domain, stream, class): (Domain, Stream, Class),
        lpn: Lpn,
        clock: &mut Clock,
    ) {
        if stream == self.slc_stream {
            let (programming, opens) = ftl.program_slc(domain, lpn);
            if opens {
                // Its room returns with folding.
                self.pace.add(domain.0, -i64::from(ftl.geometry().data_pages));
            }
            return self.put(ftl, (domain, stream, class), programming, clock);
        }
        let stream = ftl.stream_with_room(domain, stream);
        let programming = ftl.program_for(domain, stream, lpn);
        self.put_here(ftl, (domain, stream, class), programming, clock);
    }

    /// Places a page of cold data for a worn block.
    pub fn place_cold(&mut self, ftl: &mut Ftl, domain: Domain, lpn: Lpn, clock: &mut Clock) {
        let programming = ftl.program_cold(domain, lpn);
        self.put(ftl, (domain, self.cold, Class::Copies), programming, clock);
    }

    /// Pads the rest of a worn block.
    pub fn end_cold(&mut self, ftl: &mut Ftl, domain: Domain, clock: &mut Clock) {
        while ftl.left_for_cold(domain) > 0 {
            ftl.counters.padding += 1;
            let programming = ftl.pad_cold(domain);
            self.put(ftl, (domain, self.cold, Class::Copies), programming, clock);
        }
    }

    /// Pads the rest of the open block of a host stream.
    pub fn end_unit(
        &mut self,
        ftl: &mut Ftl,
        (domain, stream): (Domain, Stream),
        clock: &mut Clock,
    ) {
        while ftl.left_on(domain, stream) > 0 {
            ftl.counters.padded();
            let programming = ftl.begin_padding(domain, stream);
            self.put(ftl, (domain, stream, Class::Host), programming, clock);
        }
    }

    fn put(
        &mut self,
        ftl: &mut Ftl,
        to: (Domain, Stream, Class),
        programming: Programming,
        clock: &mut Clock,
    ) {
        self.put_here(ftl, to, programming, clock);
    }

    #[expect(
        clippy::inline_always,
        reason = "every page passes here, from one place nearly always"
    )]
    #[inline(always)]
    fn put_here(
        &mut self,
        ftl: &mut Ftl,
        (domain, stream, class): (Domain, Stream, Class),
        programming: Programming,
        clock: &mut Clock,
    ) {
        if stream != self.cold && stream != self.slc_stream {
            self.pace.add(domain.0, -1);
        }
        let fills = (domain.0 * self.streams + stream.0) as usize;
        let mut group = self.filling[fills];
        if group == NONE {
            let geometry = ftl.geometry();
            let block = geometry.block_of(programming.ppn);
            let page = geometry.page_in_block(programming.ppn);
            let first = self.shape.first_die(block, geometry.blocks_per_domain);
            let die = self.shape.place(first, page / self.shape.units).die;
            group = self.gather.begin(block, page, die, stream);
            self.filling[fills] = group;
        }
        // Copies need no early program: their originals are still in the flash, or the buffer is as
        // safe.
        if class == Class::Host
            && let Some(linger) = self.config.buffer.linger.ns()
            && !self.gather.group(group).is_hosts()
        {
            clock.call(clock.now + linger, Event::Lingered(group));
        }
        let mut is_full = self.gather.add(group, class, programming);
        if stream == self.slc_stream && self.has_its_row(group) {
            // Skips rows that are missing with one bit a cell.
            while !is_full {
                let programming = ftl.pad_slc(domain);
                is_full = self.gather.add_nothing(group, programming);
            }
        }
        if is_full {
            self.filling[fills] = NONE;
            self.full(ftl, group);
        }
    }

    /// A group is full: it waits for its die, and the parity behind it too.
    fn full(&mut self, ftl: &mut Ftl, group: u32) {
        let two_pass = self.passes() == 2;
        let passes = self.passes();
        let kept = self.gather.group_mut(group);
        kept.stage = Stage::Waiting;
        (kept.passes, kept.ends) = (passes, !two_pass);
        let (block, index, die, cleans) = (kept.block, kept.index, kept.die, !kept.is_hosts());
        ftl.counters.groups += 1;
        let slc = kept.stream == self.slc_stream;
        let job = Job::Program { group, last: !two_pass, slc };
        self.jobs.push(Asked { die, job, cleans });
        let first = self.shape.first_die(block, ftl.geometry().blocks_per_domain);
        if let Some(die) = self.shape.place(first, index).parity {
            self.jobs.push(Asked { die, job: Job::Parity { passes, slc }, cleans });
        }
        if index + 1 == self.shape.per_block {
            // The groups of a block's summary that hold no data.
            for number in 0..self.shape.summary_groups {
                let die = first + (index + 1 + number) % self.shape.width;
                self.jobs.push(Asked { die, job: Job::Parity { passes, slc }, cleans });
            }
        }
        if two_pass {
            self.fine(block, index, cleans);
        }
    }

    /// The fine pass of the word line that lies far enough behind, and at the end of a block of all that
    /// are left.
    fn fine(&mut self, block: Block, index: u32, cleans: bool) {
        let behind = self.config.cell.distance * self.shape.width;
        let first = index.checked_sub(behind);
        let last = if index + 1 == self.shape.per_block { Some(index) } else { first };
        let Some(last) = last else { return };
        for index in first.unwrap_or(0)..=last {
            if let Some(group) = self.gather.of_block(block, index) {
                self.end(group, cleans);
            }
        }
    }

    /// Requests the last pass of a group, once.
    fn end(&mut self, group: u32, cleans: bool) {
        let kept = self.gather.group_mut(group);
        if !std::mem::replace(&mut kept.ends, true) {
            let job = Job::Program { group, last: true, slc: false };
            self.jobs.push(Asked { die: kept.die, job, cleans });
        }
    }

    /// All that is in the buffer becomes jobs: groups that fill are padded, and fine passes wait for no others.
    pub fn write_out(&mut self, ftl: &mut Ftl, clock: &mut Clock) {
        self.pad_hosts(ftl, clock);
        for domain in (0..self.domains()).map(Domain) {
            self.pad_copies(ftl, domain, clock);
        }
        for group in self.gather.unfinished(u64::MAX).collect::<Vec<_>>() {
            let kept = self.gather.group(group);
            if kept.stage != Stage::Filling {
                self.end(group, !kept.is_hosts());
            }
        }
    }

    /// The next job created by full groups, in order.
    #[inline]
    pub fn next_job(&mut self) -> Option<Asked> {
        if self.jobs.is_empty() { None } else { Some(self.jobs.remove(0)) }
    }

    fn passes(&self) -> u32 {
        if self.config.cell.program == Program::TwoPass { 2 } else { 1 }
    }

    /// Pads the rest of a group.
    fn pad(
        &mut self,
        ftl: &mut Ftl,
        (domain, stream, class): (Domain, Stream, Class),
        clock: &mut Clock,
    ) {
        let fills = (domain.0 * self.streams + stream.0) as usize;
        while self.filling[fills] != NONE {
            ftl.counters.padding += 1;
            let programming = if stream == self.slc_stream {
                ftl.pad_slc(domain)
            } else {
                ftl.begin_padding(domain, stream)
            };
            self.put(ftl, (domain, stream, class), programming, clock);
        }
    }

    /// Pads the host's groups.
    pub fn pad_hosts(&mut self, ftl: &mut Ftl, clock: &mut Clock) {
        for domain in (0..self.domains()).map(Domain) {
            for stream in self.filling_for(domain, Class::Host) {
                self.pad(ftl, (domain, stream, Class::Host), clock);
            }
        }
    }

    /// Pads a domain's groups of copies.
    pub fn pad_copies(&mut self, ftl: &mut Ftl, domain: Domain, clock: &mut Clock) {
        for stream in self.filling_for(domain, Class::Copies) {
            self.pad(ftl, (domain, stream, Class::Copies), clock);
        }
    }

    /// The streams of a domain of which a group with pages of a class fills.
    fn filling_for(&self, domain: Domain, class: Class) -> Vec<Stream> {
        let fills = |stream: &Stream| {
            let group = self.filling[(domain.0 * self.streams + stream.0) as usize];
            group != NONE && self.gather.group(group).has(class)
        };
        let mut found: Vec<Stream> = (0..self.streams).map(Stream).filter(fills).collect();
        if self.config.fdp.chooses() {
            // In order of age, because handle numbers have no order.
            let fills = |stream: &Stream| (domain.0 * self.streams + stream.0) as usize;
            found.sort_by_key(|stream| self.gather.group(self.filling[fills(stream)]).number);
        }
        found
    }

    /// Pads a group after its linger time, unless it was replaced.
    pub fn lingered(&mut self, ftl: &mut Ftl, group: u32, clock: &mut Clock) {
        if let Some(place) = self.filling.iter().position(|filling| *filling == group)
            && self.gather.group(group).is_hosts()
        {
            let (domain, stream) = (place as u32 / self.streams, place as u32 % self.streams);
            self.pad(ftl, (Domain(domain), Stream(stream), Class::Host), clock);
        }
    }

    /// Starts the transfer of a group to its die.
    #[inline]
    pub fn begins(&mut self, group: u32) {
        self.gather.group_mut(group).stage = Stage::Programming;
    }

    /// A pass of a group is done. After the last pass the flash learns of it in order, and it
    /// leaves the buffer: its data of the host and all its data, in pages, where it has either.
    pub fn pass_done(
        &mut self,
        group: u32,
        ftl: &mut Ftl,
        flash: &mut Flash,
    ) -> Option<Programmed> {
        let kept = self.gather.group_mut(group);
        kept.passes -= 1;
        if kept.passes > 0 {
            return None;
        }
        let programmed = Programmed {
            is_hosts: kept.is_hosts(),
            has_copies: kept.has(Class::Copies),
            pages: kept.counted(),
        };
        self.may_be_durable = !self.durable.is_empty();
        let owned = &mut self.owned;
        self.gather.programmed(group, |group| {
            for programming in &group.pages {
                if let Some(owned) = owned {
                    owned.remove(programming.ppn);
                }
                ftl.complete_program(flash, *programming);
            }
        });
        Some(programmed)
    }

    /// True if a block has unprogrammed pages in the buffer.
    #[inline]
    pub fn holds(&self, block: Block, page: u32) -> bool {
        self.gather.holding(block, page).is_some()
    }

    /// Pages known to the map, not to the flash.
    pub fn programming(&self) -> impl Iterator<Item = Programming> + '_ {
        self.gather.programming()
    }

    // ---- durability ----------------------------------------------------------------------------

    /// Pads and programs the content of the buffer; this waits for it.
    pub fn await_durable(&mut self, waiter: Waiter) {
        self.durable.push((self.gather.next_number(), waiter));
        self.may_be_durable = true;
    }

    /// True with waiters for durability.
    pub fn is_awaited(&self) -> bool {
        !self.durable.is_empty()
    }

    /// The next of those for which everything is durable.
    #[inline]
    pub fn next_durable(&mut self) -> Option<Waiter> {
        if self.may_be_durable { self.find_durable() } else { None }
    }

    fn find_durable(&mut self) -> Option<Waiter> {
        let is_durable = |(number, waiter): &(u64, Waiter)| {
            let mut open = self.gather.unfinished(*number);
            let all = matches!(waiter, Waiter::Restores);
            !open.any(|group| all || self.gather.group(group).is_hosts())
        };
        let place = self.durable.iter().position(is_durable);
        self.may_be_durable = place.is_some();
        Some(self.durable.remove(place?).1)
    }

    /// The number that the next group will have.
    pub fn next_number(&self) -> u64 {
        self.gather.next_number()
    }

    /// True if groups with smaller numbers, of the host or with copies of a domain, are
    /// unprogrammed. Copies of other domains are of pages whose blocks wait for them.
    pub fn is_open(&self, before: u64, domain: Domain, geometry: &Geometry) -> bool {
        let mut open = self.gather.unfinished(before);
        open.any(|group| {
            let group = self.gather.group(group);
            group.is_hosts() || geometry.domain_of(group.block) == domain
        })
    }

    // ---- for cleaning ---------------------------------------------------------------------------

    /// Room for pages that cleaning moves.
    pub fn room_for_copies(&self) -> u32 {
        self.gather.room(Class::Copies)
    }

    /// Reserves or releases pages.
    pub fn reserve(&mut self, pages: u32) {
        self.gather.reserve(Class::Copies, pages);
    }

    pub fn unreserve(&mut self, pages: u32) {
        self.gather.unreserve(Class::Copies, pages);
    }

    /// True if no write waits for room, and a victim would gain no more than the padding of one
    /// group per stream, the possible cost of a volatile buffer: after a cut cleaning would never
    /// end.
    pub fn gains_nothing(&self, ftl: &Ftl, domain: Domain) -> bool {
        if self.owned.is_none() || !self.config.is_volatile() || !self.writes.is_empty() {
            return false;
        }
        let pages = ftl.geometry().data_pages;
        let valid = ftl.least_valid_of(domain.0).unwrap_or(pages).min(pages);
        pages - valid <= self.most_padding()
    }

    /// Maximum padding per victim: a group of each frontier, of the host and of copies.
    fn most_padding(&self) -> u32 {
        2 * self.config.frontiers_of_host() * self.shape.units
    }

    /// Pages with which the groups of a domain that fill may yet be padded, where they take of the room that
    /// cleaning has for its moves: what the host writes has no blocks of its own then.
    pub fn padding_due(&self, domain: Domain) -> u64 {
        if self.apart {
            return 0;
        }
        let streams = (0..self.streams).map(Stream);
        let pages = streams.filter(|stream| *stream != self.slc_stream).map(|stream| {
            let group = self.filling[(domain.0 * self.streams + stream.0) as usize];
            if group == NONE {
                return 0;
            }
            let fills = self.gather.group(group);
            u64::from(self.shape.units_of(fills.index).saturating_sub(fills.filled()))
        });
        pages.sum()
    }

    /// True if a victim of a domain would gain more than its possible padding.
    pub fn is_worth_cleaning(&self, ftl: &Ftl, domain: Domain) -> bool {
        let pages = ftl.geometry().data_pages;
        let padding = if self.config.is_volatile() { self.most_padding() } else { 0 };
        ftl.least_valid_of(domain.0).is_some_and(|valid| valid + padding < pages)
    }

    /// True if the domain must be cleaned.
    pub fn is_cleaning(&self, domain: Domain) -> bool {
        self.pace.is_cleaning(domain.0)
    }

    /// True if a domain must be cleaned, now or when another block is full.
    pub fn lacks_room(&self, domain: Domain, soon: u32) -> bool {
        self.pace.lacks(domain.0, soon)
    }

    /// Sharing of the flash between host writes and cleaning.
    pub fn pace(&mut self) -> &mut Pace {
        &mut self.pace
    }

    /// True during a burst of cleaning, which has priority over the host.
    pub fn holds_host(&self) -> bool {
        self.pace.holds_host()
    }

    /// True while programs for the host are held. Where groups have copies as well they go on: a
    /// block is programmed in order.
    pub fn holds_programs(&self) -> bool {
        self.apart && self.pace.holds_host()
    }

    // ---- whose pages these are ------------------------------------------------------------------

    /// The page that a request writes is in the buffer. `is_open` says whether a request is not answered.
    #[inline]
    pub fn note_owner(
        &mut self,
        ftl: &Ftl,
        slot: Slot,
        request: u64,
        lpn: Lpn,
        is_open: impl Fn(Slot, u64) -> bool,
    ) {
        if let Some(owned) = &mut self.owned {
            let ppn = ftl.lookup(lpn).expect("it has its place");
            owned.note(ppn, slot, request, is_open);
        }
    }

    /// The request that has written a page in the buffer, if it is one of the host.
    fn writer(&self, ppn: Ppn) -> Option<u64> {
        self.owned.as_ref()?.request(ppn)
    }
}

/// A group that is programmed.
#[derive(Debug, Clone, Copy)]
pub struct Programmed {
    pub is_hosts: bool,
    pub has_copies: bool,
    pub pages: u64,
}

/// Size of the buffer in pages: for the host's pages, and for pages moved by cleaning.
fn rooms(config: &SsdConfig, shape: &Groups) -> [u32; 2] {
    let pages = |size: options::Size| (size.bytes() / u64::from(shape.unit_bytes)) as u32;
    let host = pages(config.buffer.size);
    [host, config.buffer.copies.map_or(host, pages)]
}

/// Buffer room filled by untimed writes.
pub fn untimed_room(config: &SsdConfig, shape: &Groups) -> BufferRoom {
    let two_pass = config.cell.program == Program::TwoPass;
    let dies = f64::from(shape.dies);
    BufferRoom {
        groups: f64::from(rooms(config, shape)[0]) / f64::from(shape.units),
        between: if two_pass { f64::from(config.cell.distance) * dies } else { 0.0 },
        // With cache registers a die has one group in its cells and one in its registers.
        at_dies: if config.cache_commands { 2.0 * dies } else { dies },
        in_bursts: config.cleaning.pace == PaceRule::Burst,
        volatile: config.is_volatile(),
    }
}

/// Sharing of the flash between host writes and cleaning.
fn pace_of(config: &SsdConfig, geometry: &Geometry, shape: &Groups, costs: &Costs) -> Pace {
    let data = i64::from(geometry.data_pages);
    let wanted = (i64::from(geometry.low_blocks) + 1) * data;
    let stripe = i64::from(shape.units * shape.dies);
    Pace::new(&config.cleaning, law(config, shape, costs), wanted, 2 * stripe)
}

/// Die time of a page that the host writes.
fn law(config: &SsdConfig, shape: &Groups, costs: &Costs) -> Law {
    let passes = if config.cell.program == Program::TwoPass { 2 } else { 1 };
    let parity = f64::from(shape.parity_of);
    let with_parity = if parity > 0.0 { parity / (parity - 1.0) } else { 1.0 };
    let mut program = (passes * costs.program) as f64;
    if !config.cache_commands {
        // The die also waits for the data.
        program += f64::from(passes as u32 * shape.planes * shape.rows) * costs.page as f64;
    }
    Law {
        dies: f64::from(shape.dies),
        program_ns: program * with_parity,
        group: f64::from(shape.units),
        row: f64::from(shape.units_per_row()),
        page: f64::from((shape.page_bytes / shape.unit_bytes).max(1)),
        planes: f64::from(shape.planes),
        sense_ns: costs.mean_sense(shape.rows) as f64,
        transfer_ns: costs.page as f64,
    }
}
