//! The controller: passes an event to its state machine, polls the machines behind the write buffer
//! in a fixed order until all are idle, answers requests, and lets the host link transfer.

use crate::clock::{DieEvent, Event};
use crate::device::kit::slots::Slot;
use crate::executor::{Buffered, DieEnd, Executor, LaneEnd, cx};
use crate::ids::Lpn;
use crate::page::{Answer, Feature, HeldFor, Owner, PageDone};
use crate::{Ssd, front};
use engine::{Completion, Op, Request, Time};
use std::ops::Range;

impl Ssd {
    /// Processes events up to an instant; where `stops`, until something is answered or the drive
    /// is at its end. Returns the instant of the last event.
    pub(crate) fn proceed(
        &mut self,
        to: Time,
        stops: bool,
        completions: &mut Vec<Completion>,
    ) -> Option<Time> {
        let (mut at, mut to) = (None, to);
        loop {
            // Some requests complete on submission. All of an instant belongs together.
            if stops && self.front.has_done() {
                (at, to) = (Some(self.clock.now), self.clock.now);
            }
            let Some(event) = self.clock.proceed(to) else { break };
            self.happens(event);
            at = Some(self.clock.now);
            if stops && self.ftl.has_ended() {
                to = self.clock.now;
            }
        }
        self.front.hand_over(completions);
        at
    }

    /// Something happens.
    #[expect(clippy::inline_always, reason = "every event passes here, from one place")]
    #[inline(always)]
    fn happens(&mut self, event: Event) {
        match event {
            Event::Lane(lane) => return self.lane_event(lane),
            Event::Die(DieEvent::Sensed(read)) => {
                return self.buffered.read_sensed(read, cx!(self));
            }
            Event::Die(DieEvent::Crossed(bus)) => {
                let end = self.buffered.bus_crossed(bus, cx!(self));
                return self.die_ended(end);
            }
            Event::Die(event) => {
                let end = self.buffered.die_event(event, cx!(self));
                return self.die_ended(end);
            }
            Event::Core(core) => {
                let (slot, request) = self.front.core_done(core, &mut self.clock);
                if request.op == Op::Flush {
                    self.front.flush_processed(slot, &mut self.clock);
                    return self.pump();
                }
                self.begin_request(slot, &request);
                // A trim is answered at once, also behind a write buffer.
                let is_buffered = self.features.has(Feature::Buffers);
                let may_be_answered = !is_buffered || request.op == Op::Trim;
                if may_be_answered && !self.front.is_link_clear() {
                    return self.pump();
                }
            }
            Event::Lingered(group) => self.buffered.lingered(group, cx!(self)),
            Event::MeterOpens => self.buffered.meter_opens(cx!(self)),
            Event::Heat => self.buffered.cooled(cx!(self)),
            Event::Slc(timer) => self.buffered.slc_timer_ended(timer, cx!(self)),
            Event::MapLookedUp => {
                self.map_looked_up();
                if !self.features.has(Feature::Buffers) && !self.front.is_link_clear() {
                    return self.pump();
                }
            }
            Event::LinkFree => {
                if self.front.answer_crosses(&mut self.clock) {
                    return self.pump_unless_at_rest();
                }
                return self.pump();
            }
            Event::RequestArrives => {
                self.front.request_arrives();
                return self.pump();
            }
            Event::Power(_) | Event::PowerLane(_) => {
                self.power_event(event);
                return self.settle();
            }
        }
        if self.give_answers() {
            self.pump_unless_at_rest();
        }
    }

    /// A stage of the operation of a lane has ended. The owner of a page is notified before units
    /// start further operations, and may submit more requests.
    #[inline]
    fn lane_event(&mut self, lane: u32) {
        let (unit, closed) = match self.direct.lane_event(lane, cx!(self)) {
            LaneEnd::Served => return,
            LaneEnd::Page { unit, closed, done } => {
                match done {
                    Some(PageDone { owner: Owner::Drive, .. }) => {
                        self.own_page_written(unit);
                        self.pump();
                    }
                    Some(done) => self.tell_owner(&done),
                    None => {}
                }
                (unit, closed)
            }
            LaneEnd::Refused { unit, closed, all } => {
                for done in &all {
                    self.tell_owner(done);
                }
                (unit, closed)
            }
        };
        if !self.front.is_link_clear() {
            self.pump();
        }
        self.direct.start_next(unit, closed, cx!(self));
    }

    /// An operation of a die has ended.
    #[inline]
    fn die_ended(&mut self, end: DieEnd) {
        let die = match end {
            DieEnd::Nothing => return,
            DieEnd::Answered => return self.pump_unless_at_rest(),
            DieEnd::Page { done, die } => {
                self.tell_owner(&done);
                die
            }
            DieEnd::Die(die) => die,
        };
        self.buffered.proceed(die, cx!(self));
        if self.give_answers() {
            self.pump_unless_at_rest();
        }
    }

    /// Lets the executor handle its pending work before the next event.
    pub(crate) fn settle(&mut self) {
        let (executor, mut cx) = self.executor();
        executor.settle(&mut cx);
    }

    /// [`pump`](Ssd::pump), skipped where it would do nothing.
    #[inline]
    pub(crate) fn pump_unless_at_rest(&mut self) {
        if !self.front.rests(self.clock.now) {
            self.pump();
        }
    }

    /// Transfers on the host link until it is busy or idle, and passes transferred requests to the
    /// flash.
    pub(crate) fn pump(&mut self) {
        loop {
            self.await_checkpoint();
            while let Some((slot, request)) = self.front.turn(&mut self.clock) {
                self.reach_flash(slot, &request);
            }
            if !self.ask_for_flushes() {
                return;
            }
        }
    }

    /// A request that the host has just submitted is at the flash.
    #[inline]
    pub(crate) fn arrive_at_once(&mut self, slot: Slot, request: &Request) {
        self.reach_flash(slot, request);
        if !self.front.is_link_idle(self.clock.now) || self.ask_for_flushes() {
            self.pump();
        }
    }

    /// A read, write or trim has reached the controller.
    #[inline]
    fn reach_flash(&mut self, slot: Slot, request: &Request) {
        if self.front.has_work_for_cores() {
            let pages = front::touched(self.ftl.geometry(), request);
            let count = (pages.end - pages.start) as u32;
            // The position of its first page is fetched while a core processes the request.
            self.ftl.prefetch(Lpn(pages.start));
            if !self.front.process(slot, count, &mut self.clock) {
                return;
            }
        }
        self.begin_request(slot, request);
        self.give_answers();
    }

    /// The controller has processed a request: its pages go to the write buffer and the dies, or to the queues of
    /// units.
    #[inline]
    fn begin_request(&mut self, slot: Slot, request: &Request) {
        if request.op == Op::Trim {
            self.trim(slot, request);
            // The record of trims may be a page that waits for a burst.
            return self.settle();
        }
        let features = self.features;
        if features.is_empty() {
            if self.blocks.is_none() || !self.begin_at_blocks(slot, request) {
                self.direct.begin(slot, request, cx!(self));
            }
        } else if features.has(Feature::LooksUp) {
            self.begin_mapped(slot, request);
            self.settle();
        } else if features.has(Feature::Shares) {
            self.watch(request);
            self.begin_kept(slot, request);
            self.settle();
        } else if features.has(Feature::Buffers) {
            self.buffered.begin(slot, request, cx!(self));
            self.buffered.settle(cx!(self));
        } else {
            self.watch(request);
            if self.blocks.is_none() || !self.begin_at_blocks(slot, request) {
                self.direct.begin(slot, request, cx!(self));
            }
        }
    }

    /// A request begins, of a drive without a write buffer whose data age.
    pub(super) fn watch(&mut self, request: &Request) {
        if self.features.has(Feature::Buffers) || !self.features.has(Feature::Ages) {
            return;
        }
        if let Some(read) = self.buffered.watch_units(request, cx!(self)) {
            self.direct.read_block(read, cx!(self));
        }
    }

    fn trim(&mut self, slot: Slot, request: &Request) {
        if self.blocks.is_some() && self.begin_at_blocks(slot, request) {
            return;
        }
        self.trim_pages(slot, front::covered(self.ftl.geometry(), request), 0);
    }

    /// Trims pages absent from the block buffer; how long that took.
    pub(super) fn trim_pages(&mut self, slot: Slot, covered: Range<u64>, held: Time) {
        let status = self.ftl.trim_all(&mut self.flash, covered.clone());
        if status.is_ok() {
            Buffered::note_trimmed(covered.clone(), cx!(self));
        }
        if !(status.is_ok() && self.note_trim(slot, covered)) {
            self.front.answer(slot, status, HeldFor { cleaning: 0, room: held }, &mut self.clock);
        }
        if status.is_ok() {
            let (executor, mut cx) = self.executor();
            executor.trimmed(&mut cx);
        }
    }

    /// Delivers the answers of an event; true if there were any.
    #[inline]
    fn give_answers(&mut self) -> bool {
        let any = !self.answers.is_empty();
        if any {
            self.give_all_answers();
        }
        any
    }

    #[inline(never)]
    fn give_all_answers(&mut self) {
        if let [Answer::Done { slot, status, held }] = *self.answers {
            self.answers.clear();
            return self.front.answer_alone(slot, status, held, &mut self.clock);
        }
        while !self.answers.is_empty() {
            let mut answers = std::mem::take(&mut self.answers);
            for answer in answers.drain(..) {
                match answer {
                    Answer::Done { slot, status, held } => {
                        self.front.answer(slot, status, held, &mut self.clock);
                    }
                    Answer::Flushed(slot) if self.flush_trims(slot) => {}
                    Answer::Flushed(slot) => self.front.flushed(slot, &mut self.clock),
                    Answer::Own(unit) => self.own_page_written(unit),
                }
            }
            self.settle();
            if self.answers.is_empty() {
                // The allocation is reused.
                self.answers = answers;
            }
        }
    }

    /// Requests the arrived flushes; whether the link is to take its turns again.
    #[inline]
    fn ask_for_flushes(&mut self) -> bool {
        self.front.has_flushes() && self.ask_for_those()
    }

    /// Flushes a volatile write buffer; other drives wait at most for records of trims.
    fn ask_for_those(&mut self) -> bool {
        let volatile = self.config.is_volatile();
        let (mut any, mut flushes) = (false, false);
        while let Some(slot) = self.front.next_flush() {
            if volatile && self.blocks.is_some() {
                self.flush_all_blocks(slot);
                any = true;
            } else if volatile {
                self.buffered.flush(slot, cx!(self));
                self.buffered.settle(cx!(self));
                flushes = true;
            } else if !self.flush_trims(slot) {
                self.front.flushed(slot, &mut self.clock);
                any = true;
            }
        }
        any || flushes && self.give_answers()
    }
}
