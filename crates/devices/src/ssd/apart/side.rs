//! A side of a drive: some of its units, with a clock of their own.
//!
//! It serves its page requests as the drive in one piece would, and keeps a log from which the order of what
//! happened at one instant on several sides can be passed on.

use super::order::{BEFORE, Log, Origin};
use crate::ssd::account::Counters;
use crate::ssd::clock::{Clock, Event};
use crate::ssd::flash::Effort;
use crate::ssd::ids::{Domain, Lpn, PoolId, Unit};
use crate::ssd::page::{PageDone, PageRequest};
use crate::ssd::sched::Scheduler;
use crate::together::{Side, Stretch};
use engine::Time;
use std::ops::Range;

/// What a side is given; requests have their number among all of the run.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// A page of a request arrives.
    Page { at: Time, number: u64, page: PageRequest },
    /// A trim arrives, of which some pages may be its own.
    Trim { at: Time, number: u64, pages: Range<u64> },
    /// Counts are wanted as they are before what happens then.
    Look { at: Time },
}

/// A page request was done in a step of the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub(super) step: u32,
    pub(super) done: PageDone,
}

/// The counts of a side at an instant, and when something happens next on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looked {
    pub(super) counters: Counters,
    pub(super) free_blocks: u64,
    /// What operations did since it was split off.
    pub(super) effort: Effort,
    pub(super) next: Option<Time>,
}

/// What a side did in a stretch.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    pub(super) log: Log,
    pub(super) done: Vec<Done>,
    pub(super) looked: Vec<Looked>,
    /// The lanes that are busy at the end, which step of the log began what they do, and when that ends.
    pub(super) busy: Vec<(u32, u32, Time)>,
}

impl Deeds {
    fn clear(&mut self) {
        self.log.clear();
        self.done.clear();
        self.looked.clear();
        self.busy.clear();
    }
}

/// Some units of a drive.
pub(super) struct UnitsApart {
    pub(super) number: u32,
    pub(super) units: Vec<Unit>,
    pub(super) domains: Vec<Domain>,
    /// The side of each pool.
    pub(super) side_of: Vec<u32>,
    pub(super) back: Scheduler,
    pub(super) clock: Clock,
    /// Page requests that are not done.
    pub(super) outstanding: u64,
    /// Of each lane, the step of the log that began what it does.
    began: Vec<u32>,
    pub(super) given: Vec<Item>,
    pub(super) to: Option<Stretch>,
    pub(super) deeds: Deeds,
}

impl UnitsApart {
    pub(super) fn new(
        (number, units): (u32, Vec<Unit>),
        side_of: Vec<u32>,
        back: Scheduler,
        clock: Clock,
        outstanding: u64,
    ) -> UnitsApart {
        let domains = units.iter().flat_map(|unit| back.ftl.part_of(*unit).domains());
        UnitsApart {
            number,
            domains: domains.collect(),
            units,
            side_of,
            began: vec![0; back.units.lanes.len()],
            back,
            clock,
            outstanding,
            given: Vec::new(),
            to: None,
            deeds: Deeds::default(),
        }
    }

    fn owns(&self, page: u64) -> bool {
        let PoolId(pool) = self.back.ftl.geometry().pool_of(Lpn(page));
        self.side_of[pool as usize] == self.number
    }

    /// Whatever happens up to `to`, and including it.
    fn advance(&mut self, to: Time) {
        while let Some(event) = self.clock.go_on(to) {
            let Event::Flash(lane) = event else { unreachable!("the link has no events") };
            let parent = self.began[lane as usize];
            let step = self.deeds.log.event(self.clock.now, parent);
            if let Some(ended) = self.back.stage_ended(lane, &mut self.clock) {
                if let Some(done) = ended.done {
                    self.deeds.done.push(Done { step, done });
                    self.outstanding -= 1;
                }
                self.back.go_on(ended, &mut self.clock);
            }
            self.began[lane as usize] = step;
        }
        assert!(!self.back.ftl.has_ended(), "a side ends no drive");
        self.clock.now = to;
    }

    fn accept(&mut self, number: u64, page: &PageRequest) {
        let ftl = &self.back.ftl;
        let Unit(lane) = ftl.only_unit_of(ftl.geometry().pool_of(page.lpn));
        let origin = Origin { number, place: page.lpn.0 };
        let was_idle = self.back.lanes.is_idle(lane);
        match self.back.accept(page, &mut self.clock) {
            Some(done) => {
                let step = self.deeds.log.submission(self.clock.now, origin);
                self.deeds.done.push(Done { step, done });
            }
            None => self.outstanding += 1,
        }
        if was_idle && !self.back.lanes.is_idle(lane) {
            self.began[lane as usize] = self.deeds.log.submission(self.clock.now, origin);
        }
    }

    fn trim(&mut self, number: u64, pages: Range<u64>) {
        for page in pages {
            if self.owns(page) {
                self.back.ftl.trim(Lpn(page));
            }
        }
        // Units that begin something now: of those that were idle before.
        let lanes = &self.back.lanes;
        let idle: Vec<_> =
            self.units.iter().copied().filter(|unit| lanes.is_idle(unit.0)).collect();
        self.back.wake_stalled(&mut self.clock);
        for Unit(lane) in idle {
            if !self.back.lanes.is_idle(lane) {
                let origin = Origin { number, place: u64::from(lane) };
                self.began[lane as usize] = self.deeds.log.submission(self.clock.now, origin);
            }
        }
    }

    fn look(&mut self, at: Time) {
        // Nothing happened before time began.
        if let Some(before) = at.checked_sub(1) {
            self.advance(before);
        }
        let free = self.domains.iter().map(|domain| u64::from(self.back.ftl.free_blocks(*domain)));
        self.deeds.looked.push(Looked {
            counters: self.back.ftl.counters,
            free_blocks: free.sum(),
            effort: self.back.lanes.effort(),
            next: self.clock.next_at(),
        });
    }
}

impl Side for UnitsApart {
    fn go(&mut self) {
        self.deeds.clear();
        for unit in &self.units {
            self.began[unit.at()] = BEFORE | unit.0;
        }
        let mut given = std::mem::take(&mut self.given);
        for item in given.drain(..) {
            match item {
                Item::Page { at, number, page } => {
                    self.advance(at);
                    self.accept(number, &page);
                }
                Item::Trim { at, number, pages } => {
                    self.advance(at);
                    self.trim(number, pages);
                }
                Item::Look { at } => self.look(at),
            }
        }
        self.given = given;
        match self.to.take() {
            Some(Stretch::To(to)) => self.advance(to),
            Some(Stretch::Answered(before)) => {
                while self.outstanding > 0
                    && let Some(next) = self.clock.next_at().filter(|next| *next < before)
                {
                    self.advance(next);
                }
            }
            None => {}
        }
        let busy = self.units.iter().filter_map(|unit| {
            let ends = self.back.lanes.ends(unit.0)?;
            Some((unit.0, self.began[unit.at()], ends))
        });
        self.deeds.busy.extend(busy);
    }
}

impl UnitsApart {
    /// What it has of the drive, and of which units that is true.
    pub(super) fn back(&mut self) -> (&mut Scheduler, &[Unit]) {
        (&mut self.back, &self.units)
    }
}
