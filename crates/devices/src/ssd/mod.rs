//! The solid-state disk: requests in, flash operations in between, completions out.
//!
//! The timed gear has two halves. This file is the host's: it cuts requests into pages, and answers
//! when the last is done. `serve.rs` is the flash's: it queues pages at their units (`units.rs`), lets
//! the [`Ftl`] decide and the [`Timing`] charge, and keeps account of where each nanosecond went. Data content
//! is not modelled: a page is its number.

pub mod alloc;
mod audit;
mod check;
pub mod clean;
pub mod config;
mod divisor;
pub mod ftl;
pub mod geometry;
pub mod granule;
mod heat;
mod lifetime;
pub(crate) mod link;
pub mod nand;
pub mod operation;
mod report;
mod serve;
mod sets;
mod snapshot;
mod stream;
pub mod timeline;
pub mod timing;
mod units;
mod wear;
mod wear_map;

pub use config::SsdConfig;
pub use geometry::Geometry;
pub use lifetime::{LifetimeReport, Milestone};
pub use report::{
    CleaningReport, REMAINING_STEPS, SpareReport, SsdReport, UnitReport, WearReport,
};
pub use snapshot::Snapshot;
pub use wear_map::WearMap;

use crate::Model;
use engine::{Breakdown, Completion, Device, FlashCounts, Op, Request, Time};
use ftl::Ftl;
use geometry::Lpn;
use link::{HostQueue, Link, Slot, Turn};
use nand::Flash;
use options::Invalid;
use std::collections::VecDeque;
use timeline::{Recorder, Timeline, Window};
use timing::{StageEnd, Timing};
use units::{Kind, PageOp, Units};

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
    epoch: u64,
}

/// Writes submitted between two flushes, and the flush that waits for them.
#[derive(Debug, Clone, Copy, Default)]
struct Epoch {
    writes_left: u64,
    flush: Option<Slot>,
    flush_arrived: bool,
}

/// What has been counted at the level of pages, since the start or the last reset.
#[derive(Debug, Clone, Copy, Default)]
struct PageCounts {
    host_reads: u64,
    host_writes: u64,
    merge_reads: u64,
    /// Pages that a synchronous gang read along with those that were wanted.
    idle_reads: u64,
    unmapped_reads: u64,
    trims: u64,
    refused_writes: u64,
}

/// A simulated solid-state disk.
#[derive(Debug, Clone)]
pub struct Ssd {
    config: SsdConfig,
    flash: Flash,
    ftl: Ftl,
    timing: Timing,
    units: Units,
    link: Link,
    host_queue: HostQueue,
    in_device: u32,
    active: Vec<Active>,
    free_slots: Vec<Slot>,
    epochs: VecDeque<Epoch>,
    first_epoch: u64,
    done: Vec<Completion>,
    counts: PageCounts,
    recorder: Option<Box<Recorder>>,
    now: Time,
}

impl Ssd {
    /// A drive in its initial state, which depends on `seed` if it is filled in random order.
    ///
    /// # Errors
    /// When the configuration contradicts itself; the error names the keys.
    pub fn new(config: &SsdConfig, seed: u64) -> Result<Ssd, Invalid> {
        let geometry = Geometry::new(config)?;
        let (ftl, flash) = Ftl::new(config, &geometry, seed);
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
            counts: PageCounts::default(),
            recorder: None,
            now: 0,
            config: config.clone(),
        })
    }

    /// Erased blocks in the free list of domain `domain`.
    pub fn free_blocks(&self, domain: u32) -> u32 {
        self.ftl.free_blocks(geometry::Domain(domain))
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
        let sectors_per_page = u64::from(self.ftl.geometry().sectors_per_page);
        let (start, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        match request.op {
            Op::Flush => {
                let index = (active.epoch - self.first_epoch) as usize;
                self.epochs[index].flush_arrived = true;
                self.release_flushes(now);
            }
            Op::Trim => {
                // Only pages that are covered whole can be forgotten.
                for page in start.div_ceil(sectors_per_page)..end / sectors_per_page {
                    self.ftl.trim(Lpn(page as u32));
                    self.counts.trims += u64::from(self.ftl.geometry().granule.flash_pages);
                }
                self.leave_flash(slot, now);
                self.wake_stalled(now);
            }
            Op::Read | Op::Write => {
                let (first, last) = (start / sectors_per_page, (end - 1) / sectors_per_page);
                active.pages_left = (last - first + 1) as u32;
                for page in first..=last {
                    self.begin_page(slot, Lpn(page as u32), request.op, (start, end), now);
                }
                self.dispatch_offered(now);
            }
        }
    }

    /// Begins the part of a request, `start..end` in sectors, that falls on one logical page.
    fn begin_page(&mut self, slot: Slot, lpn: Lpn, op: Op, (start, end): (u64, u64), now: Time) {
        let geometry = self.ftl.geometry();
        let sectors = u64::from(geometry.sectors_per_page);
        let base = u64::from(lpn.0) * sectors;
        let (low, high) = (start.max(base) - base, end.min(base + sectors) - base);
        let covered = high - low == sectors;
        let (mut touched, mut whole) = ((0, 1), (0, 0));
        if geometry.granule.flash_pages > 1 {
            let per_page = u64::from(geometry.sectors_per_flash_page);
            let range = |from: u64, to: u64| (from as u32, to.saturating_sub(from) as u32);
            touched = range(low / per_page, high.div_ceil(per_page));
            whole = range(low.div_ceil(per_page), high / per_page);
        }
        let mapped = self.ftl.lookup(lpn).is_some();
        let (kind, range) = match (op, mapped) {
            (Op::Read, true) => (Kind::Read, touched),
            (Op::Read, false) => {
                // Nothing was ever written there: the controller answers without the flash.
                self.counts.unmapped_reads += u64::from(touched.1);
                self.page_done(slot, now);
                return;
            }
            (Op::Write, _) if self.ftl.has_ended() => {
                self.counts.refused_writes += u64::from(touched.1);
                self.page_done(slot, now);
                return;
            }
            (_, true) if !covered && geometry.granule.synchronous => (Kind::Merge, touched),
            (_, true) if !covered => (Kind::ReadForWrite, whole),
            _ => (Kind::Write, touched),
        };
        self.enqueue(PageOp::new(slot, lpn, kind, range, touched.1), now);
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
        let (request, submitted) = (active.request, active.submitted);
        let completion = Completion { request, submitted, at: now, breakdown: active.breakdown };
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

    fn serve_untimed(&mut self, request: &Request) {
        let sectors = u64::from(self.ftl.geometry().sectors_per_page);
        let (start, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        match request.op {
            Op::Flush => {}
            Op::Trim => {
                for page in start.div_ceil(sectors)..end / sectors {
                    self.ftl.trim(Lpn(page as u32));
                    self.counts.trims += 1;
                }
            }
            Op::Read => {
                for page in start / sectors..end.div_ceil(sectors) {
                    match self.ftl.lookup(Lpn(page as u32)) {
                        Some(_) => self.counts.host_reads += 1,
                        None => self.counts.unmapped_reads += 1,
                    }
                }
            }
            Op::Write => {
                let pages = start / sectors..end.div_ceil(sectors);
                self.counts.host_writes += pages.end - pages.start;
                for page in [pages.start, pages.end - 1] {
                    let whole = start <= page * sectors && end >= (page + 1) * sectors;
                    let merged = !whole && self.ftl.lookup(Lpn(page as u32)).is_some();
                    self.counts.merge_reads += u64::from(merged);
                    if pages.end - pages.start == 1 {
                        break;
                    }
                }
                for page in pages {
                    self.ftl.overwrite_untimed(&mut self.flash, &[page as u32]);
                }
            }
        }
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
        self.counts = PageCounts::default();
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
