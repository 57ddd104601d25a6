//! The solid-state disk: requests in, flash operations in between, completions out.
//!
//! The timed gear has two halves. This file is the host's: it cuts requests into pages, and answers
//! when the last is done. `serve.rs` is the flash's: it queues pages at their units (`units.rs`), lets
//! the [`Ftl`] decide and the [`Timing`] charge, and keeps account of where each nanosecond went. Data content
//! is not modelled: a page is its number.

pub mod account;
mod audit;
pub mod clean;
pub mod config;
pub mod flash;
pub mod ftl;
mod host;
pub mod ids;
mod report;
mod sched;
mod sets;
pub mod shape;
pub(crate) mod snapshot;

pub use config::SsdConfig;
pub use report::{
    CleaningReport, LifetimeReport, Milestone, REMAINING_STEPS, SpareReport, SsdReport, UnitReport,
    WearMap, WearReport,
};
pub use sched::timeline;
pub use shape::Geometry;
pub use snapshot::Snapshot;

use crate::kit::link::{HostQueue, Link, Slot, Turn};
use crate::{Model, Supplied};
use engine::{Breakdown, Completion, Device, FlashCounts, Op, Request, Status, Time};
use flash::{Flash, Lanes, StageEnd};
use ftl::{Ftl, HostPage};
use host::cut::{self, Need, Part};
use ids::Lpn;
use options::Invalid;
use sched::timeline::{Recorder, Timeline, Window};
use sched::units::{self, Kind, PageOp, Units};
use std::collections::VecDeque;

/// Event payloads that are not lanes.
const LINK_FREE: u32 = (1 << 24) - 1;
const LINK_ARRIVAL: u32 = (1 << 24) - 2;

/// A request inside the device.
#[derive(Debug, Clone, Copy)]
struct Active {
    request: Request,
    submitted: Time,
    /// When it was sent to the device.
    sent: Time,
    /// When its pages were queued, and later when the last of them was done.
    at_flash: Time,
    done: Time,
    pages_left: u32,
    /// The flash part is that of the last page done.
    breakdown: Breakdown,
    /// Of all its parts so far.
    status: Status,
    epoch: u64,
}

/// Writes submitted between two flushes, and the flush that waits for them.
#[derive(Debug, Clone, Copy, Default)]
struct Epoch {
    writes_left: u64,
    flush: Option<Slot>,
    flush_arrived: bool,
}

/// A simulated solid-state disk.
#[derive(Debug, Clone)]
pub struct Ssd {
    config: SsdConfig,
    flash: Flash,
    ftl: Ftl,
    timing: Lanes,
    units: Units,
    link: Link,
    host_queue: HostQueue,
    in_device: u32,
    active: Vec<Active>,
    free_slots: Vec<Slot>,
    epochs: VecDeque<Epoch>,
    first_epoch: u64,
    done: Vec<Completion>,
    recorder: Option<Box<Recorder>>,
    now: Time,
}

impl Ssd {
    /// A drive in its initial state, which depends on `seed` if it is filled in random order.
    ///
    /// # Errors
    /// When the configuration contradicts itself; the error names the keys.
    pub fn new(config: &SsdConfig, seed: u64) -> Result<Ssd, Invalid> {
        Ssd::with(config, seed, &Supplied::default())
    }

    /// The same, with what the configuration can only name.
    ///
    /// # Errors
    /// Also when a policy is named that is not supplied.
    pub fn with(config: &SsdConfig, seed: u64, supplied: &Supplied) -> Result<Ssd, Invalid> {
        let geometry = Geometry::new(config)?;
        let (mut ftl, flash) = Ftl::new(config, &geometry, seed);
        ftl.supply(supplied.policy_for(&config.cleaning.policy)?);
        Ok(Ssd {
            flash,
            ftl,
            timing: units::timing(config, &geometry),
            units: Units::new(config, &geometry),
            link: Link::new(&config.host_link),
            host_queue: HostQueue::new(config.host_link.order),
            in_device: 0,
            active: Vec::new(),
            free_slots: Vec::new(),
            epochs: VecDeque::from([Epoch::default()]),
            first_epoch: 0,
            done: Vec::new(),
            recorder: None,
            now: 0,
            config: config.clone(),
        })
    }

    /// Erased blocks in the free list of domain `domain`.
    pub fn free_blocks(&self, domain: u32) -> u32 {
        self.ftl.free_blocks(ids::Domain(domain))
    }

    // ---- from the host to the flash -------------------------------------------------------

    fn activate(&mut self, active: Active) -> Slot {
        if let Some(slot) = self.free_slots.pop() {
            self.active[slot as usize] = active;
            return slot;
        }
        self.active.push(active);
        self.active.len() as Slot - 1
    }

    fn send(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot as usize];
        active.sent = now;
        active.breakdown.host_queue = now - active.submitted;
        if active.request.op != Op::Flush {
            self.host_queue.sent(active.request.lba);
        }
        let bytes = inward_bytes(&active.request);
        if let Some(at) = self.link.send(slot, bytes, now) {
            self.timing.events.push(at, LINK_ARRIVAL);
        }
    }

    /// Lets the link take its turns until it is busy or idle.
    fn pump(&mut self, now: Time) {
        loop {
            match self.link.turn(now) {
                Turn::Arrived(slot) => self.reach_flash(slot, now),
                Turn::Answered(slot) => self.complete(slot, now),
                Turn::Busy(end) => {
                    self.timing.events.push(end, LINK_FREE);
                    return;
                }
                Turn::Idle => return,
            }
        }
    }

    fn reach_flash(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot as usize];
        active.at_flash = now;
        let request = active.request;
        match request.op {
            Op::Flush => {
                let index = (active.epoch - self.first_epoch) as usize;
                self.epochs[index].flush_arrived = true;
                self.release_flushes(now);
            }
            Op::Trim if self.ftl.has_ended() => {
                active.status = Status::ReadOnly;
                self.leave_flash(slot, now);
            }
            Op::Trim => {
                self.trim_pages(&request);
                self.leave_flash(slot, now);
                self.wake_stalled(now);
            }
            Op::Read | Op::Write => {
                let pages = cut::touched(self.ftl.geometry(), &request);
                active.pages_left = pages.end - pages.start;
                for page in pages {
                    let part = Part::new(self.ftl.geometry(), &request, Lpn(page));
                    self.begin_part(slot, &part, request.op, now);
                }
                self.dispatch_offered(now);
            }
        }
    }

    /// Forgets the pages that a trim covers whole; of others nothing can be forgotten.
    fn trim_pages(&mut self, request: &Request) {
        for page in cut::covered(self.ftl.geometry(), request) {
            self.ftl.trim(Lpn(page));
        }
    }

    /// Begins the part of a request that falls on one logical page.
    fn begin_part(&mut self, slot: Slot, part: &Part, op: Op, now: Time) {
        match part.need(op, &self.ftl) {
            Need::Unmapped => {
                // Nothing was ever written there: the controller answers without the flash.
                self.ftl.counters.unmapped_reads += u64::from(part.touched.1);
                self.page_done(slot, now);
            }
            Need::Refused => {
                self.ftl.counters.page_refused(part.touched.1, part.bytes);
                self.active[slot as usize].status = Status::ReadOnly;
                self.page_done(slot, now);
            }
            Need::Page(kind, range) => {
                self.enqueue(PageOp::new(slot, part.lpn, kind, range, part.touched.1), now);
            }
        }
    }

    /// Does at once what a part of a request does in time.
    fn serve_part_untimed(&mut self, part: &Part, op: Op) -> Status {
        let granule = self.ftl.geometry().granule;
        let mut taken = true;
        match part.need(op, &self.ftl) {
            Need::Unmapped => self.ftl.counters.unmapped_reads += u64::from(part.touched.1),
            Need::Refused => {
                self.ftl.counters.page_refused(part.touched.1, part.bytes);
                taken = false;
            }
            Need::Page(kind @ (Kind::Read | Kind::ReadForWrite), range) => {
                self.ftl.clean_before_reading(&mut self.flash, part.lpn);
                self.ftl.counters.page_read(kind, range.1, granule);
                if kind == Kind::ReadForWrite {
                    taken = self.write_part_untimed(part, false);
                }
            }
            Need::Page(kind, range) => {
                taken = self.write_part_untimed(part, kind == Kind::Merge);
                if taken {
                    self.ftl.counters.page_read(kind, range.1, granule);
                }
            }
        }
        if taken { Status::Ok } else { Status::ReadOnly }
    }

    /// Writes a part in no time, best near the old copy if so asked; whether the drive took it.
    fn write_part_untimed(&mut self, part: &Part, near: bool) -> bool {
        let Part { lpn, bytes, touched: (_, pages), .. } = *part;
        let page = HostPage { lpn, pages, bytes, near };
        let taken = self.ftl.write_untimed(&mut self.flash, page);
        if !taken {
            self.ftl.counters.page_refused(pages, bytes);
        }
        taken
    }

    fn page_done(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot as usize];
        active.pages_left -= 1;
        if active.pages_left == 0 {
            self.leave_flash(slot, now);
        }
    }

    /// The flash part of a request is over; its answer goes to the link.
    fn leave_flash(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot as usize];
        active.done = now;
        let request = active.request;
        self.link.answer(slot, if request.op == Op::Read { request.bytes() } else { 0 });
        if request.op == Op::Write {
            let index = (active.epoch - self.first_epoch) as usize;
            self.epochs[index].writes_left -= 1;
            if self.epochs.len() > 1 {
                self.release_flushes(now);
            }
        }
    }

    /// Lets every flush go whose writes, and all before them, are durable.
    fn release_flushes(&mut self, now: Time) {
        while let Some(Epoch { writes_left: 0, flush: Some(slot), flush_arrived: true }) =
            self.epochs.front().copied()
        {
            self.epochs.pop_front();
            self.first_epoch += 1;
            let active = &mut self.active[slot as usize];
            active.breakdown.unit_wait = now - active.at_flash;
            self.leave_flash(slot, now);
        }
    }

    fn complete(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot as usize];
        let link = (active.at_flash - active.sent) + (now - active.done);
        active.breakdown.host_link = link;
        let Active { request, submitted, breakdown, status, .. } = *active;
        let completion = Completion { request, submitted, at: now, breakdown, status };
        debug_assert_eq!(completion.latency(), completion.breakdown.total());
        self.done.push(completion);
        self.free_slots.push(slot);
        if request.op == Op::Flush {
            return;
        }
        self.in_device -= 1;
        if let Some(next) = self.host_queue.pop() {
            self.in_device += 1;
            self.send(next, now);
        }
    }
}

/// Data that a request sends to the device, bytes.
fn inward_bytes(request: &Request) -> u64 {
    if request.op == Op::Write { request.bytes() } else { 0 }
}

impl Device for Ssd {
    fn submit(&mut self, now: Time, request: Request) {
        assert!(now >= self.now, "time does not go backwards");
        let end = request.lba.0.checked_add(u64::from(request.sectors));
        let inside = end.is_some_and(|end| end <= self.capacity_sectors());
        assert!(inside || request.op == Op::Flush, "a request lies within the capacity");
        assert!(request.sectors > 0 || request.op == Op::Flush, "a request has a length");
        self.now = now;
        let epoch = self.first_epoch + self.epochs.len() as u64 - 1;
        let slot = self.activate(Active {
            request,
            submitted: now,
            sent: now,
            at_flash: now,
            done: now,
            pages_left: 0,
            breakdown: Breakdown::default(),
            status: Status::Ok,
            epoch,
        });
        let last = self.epochs.back_mut().expect("there is always a current epoch");
        match request.op {
            // A flush takes no place in the device, or it could keep out what it waits for.
            Op::Flush => {
                last.flush = Some(slot);
                self.epochs.push_back(Epoch::default());
                self.send(slot, now);
            }
            op => {
                last.writes_left += u64::from(op == Op::Write);
                if self.in_device < self.config.host_link.queue_depth.requests() {
                    self.in_device += 1;
                    self.send(slot, now);
                } else {
                    self.host_queue.push(slot, request.lba);
                }
            }
        }
        self.pump(now);
    }

    fn next_event(&self) -> Option<Time> {
        if let Some(done) = self.done.first() {
            return Some(done.at);
        }
        self.timing.events.next_at()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some((now, payload)) = self.timing.events.pop_until(to) {
            self.now = now;
            match payload {
                LINK_FREE => self.pump(now),
                LINK_ARRIVAL => {
                    let active = &self.active;
                    self.link.arrive(|slot| inward_bytes(&active[slot as usize].request));
                    self.pump(now);
                }
                lane => match self.timing.stage_ended(lane, now) {
                    StageEnd::GoesOn => {}
                    StageEnd::Accepts => self.lane_accepts(lane, now),
                    StageEnd::Finished(finished) => self.operation_ended(lane, finished, now),
                },
            }
        }
        self.now = to;
        completions.append(&mut self.done);
    }

    fn has_ended(&self) -> bool {
        self.ftl.has_ended()
    }

    fn may_refuse(&self) -> bool {
        self.ftl.is_worn()
    }

    fn flash_counts(&self) -> Option<FlashCounts> {
        Some(self.counts_now())
    }

    fn capacity_sectors(&self) -> u64 {
        let geometry = self.ftl.geometry();
        u64::from(geometry.exported_pages()) * u64::from(geometry.sectors_per_page)
    }
}

impl Model for Ssd {
    fn preparable_pages(&self) -> u32 {
        self.ftl.geometry().exported_pages()
    }

    fn overwrite_untimed(&mut self, pages: &[u32]) {
        assert!(
            self.now == 0 && self.in_device == 0,
            "fast-forward comes before the first request"
        );
        self.ftl.overwrite_untimed(&mut self.flash, pages);
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        let mut status = Status::Ok;
        match request.op {
            Op::Flush => {}
            Op::Trim if self.ftl.has_ended() => status = Status::ReadOnly,
            Op::Trim => self.trim_pages(request),
            Op::Read | Op::Write => {
                for page in cut::touched(self.ftl.geometry(), request) {
                    let part = Part::new(self.ftl.geometry(), request, Lpn(page));
                    let of_part = self.serve_part_untimed(&part, request.op);
                    status = if of_part == Status::Ok { status } else { of_part };
                }
            }
        }
        status
    }

    fn save(&self) -> Option<Snapshot> {
        Some(self.snapshot())
    }

    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        self.take_up(snapshot)
    }

    /// Erase counts stay: they are the drive's age.
    fn reset_counts(&mut self) {
        self.ftl.reset_counters(&self.flash);
    }

    fn audit(&self) -> Result<(), String> {
        self.check()
    }

    fn record_operations(&mut self, window: Window) {
        self.recorder = Some(Box::new(Recorder::new(window)));
    }

    fn take_operations(&mut self) -> Option<Timeline> {
        self.recorder.take().map(|recorder| recorder.finish(self.ftl.geometry()))
    }

    fn report(&self, end: Time) -> Option<SsdReport> {
        Some(self.account(end))
    }
}
