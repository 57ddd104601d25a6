//! The controller: an event goes to the machine that it is about; then the machines behind the write buffer are asked in
//! a fixed order until none has anything to do, answers are given, and the host link takes its turns.

use crate::clock::{DieEvent, Event};
use crate::device::kit::slots::Slot;
use crate::ids::{Domain, Lpn};
use crate::page::{Answer, Feature, HeldFor, Owner};
use crate::{Ssd, front};
use engine::{Completion, Op, Request, Time};
use std::ops::Range;

impl Ssd {
    /// Processes events up to an instant; where `stops`, until something is answered or the drive
    /// is at its end. Returns the instant of the last event.
    pub(crate) fn go_on(
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
            let Some(event) = self.clock.go_on(to) else { break };
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
            Event::Die(DieEvent::Sensed(read)) => return self.read_sensed(read),
            Event::Die(DieEvent::Crossed(bus)) => {
                if !self.bus_crossed(bus) {
                    return;
                }
            }
            Event::Die(event) => self.die_event(event),
            Event::Core(core) => {
                let (slot, request) = self.front.core_done(core, &mut self.clock);
                if request.op == Op::Flush {
                    self.front.flush_processed(slot, &mut self.clock);
                    return self.pump();
                }
                self.begin_request(slot, &request);
                // A trim is answered at once, also behind a write buffer.
                let may_be_answered = !self.is_buffered || request.op == Op::Trim;
                if may_be_answered && !self.front.is_link_clear() {
                    return self.pump();
                }
            }
            Event::Lingered(group) => self.lingered(group),
            Event::MeterOpens => self.meter_opens(),
            Event::Heat => self.cooled(),
            Event::Slc(timer) => self.slc_timer_ended(timer),
            Event::MapLookedUp => {
                self.map_looked_up();
                if !self.is_buffered && !self.front.is_link_clear() {
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
                return self.ask_machines();
            }
        }
        if self.give_answers() {
            self.pump_unless_at_rest();
        }
    }

    /// Polls the machines behind the write buffer until none has work: durability, erasures after
    /// programs, the pace, the first waiting write, domains to clean, and finally the burst of
    /// cleaning.
    ///
    /// An admission cleans the domain of its page, and a write that has to wait has all cleaned, before the next one.
    pub(crate) fn ask_machines(&mut self) {
        loop {
            if let Some(waiter) = self.cache.next_durable() {
                self.is_durable(waiter);
            } else if self.mover.has_programmed() {
                self.retry_erasures();
            } else if self.cache.pace().has_changed() {
                self.change_pace();
            } else if let Some(why) = self.cache.take_stopped() {
                self.get_by(why);
            } else if self.cache.is_asked() {
                self.admit();
            } else if let Some(domain) = self.mover.next_asked() {
                if self.clean(domain) {
                    self.mover.ask(domain);
                }
            } else if !self.end_idle_burst() {
                return;
            }
        }
    }

    /// [`pump`](Ssd::pump), skipped where it would do nothing.
    #[inline]
    pub(crate) fn pump_unless_at_rest(&mut self) {
        if !self.front.rests(self.clock.now) {
            self.pump();
        }
    }

    /// Lets the host link take its turns until it is busy or idle, and hands what has crossed it to the
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
            return self.ask_machines();
        }
        let features = self.features;
        if !features.is_empty() {
            if features.has(Feature::LooksUp) {
                self.begin_mapped(slot, request);
            } else if features.has(Feature::Shares) {
                self.begin_kept(slot, request);
            } else if features.has(Feature::Ages) {
                self.begin_aged(slot, request);
            } else {
                self.begin_buffered(slot, request);
            }
            return self.ask_machines();
        }
        if self.blocks.is_some() && self.begin_at_blocks(slot, request) {
            return;
        }
        self.begin_on_units(slot, request);
    }

    /// Queues the pages of a request at their units.
    #[inline]
    pub fn begin_on_units(&mut self, slot: Slot, request: &Request) {
        let pages = front::touched(self.ftl.geometry(), request);
        self.front.expect(slot, (pages.end - pages.start) as u32);
        for page in pages {
            let geometry = self.ftl.geometry();
            let page = front::page_request(geometry, request, Lpn(page), Owner::Host(slot));
            if let Some(done) = self.accept(&page) {
                self.front.page_done(&done, &mut self.clock);
            }
        }
        self.serve_offered();
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
            self.note_trimmed(covered.clone());
        }
        if !(status.is_ok() && self.note_trim(slot, covered)) {
            self.front.answer(slot, status, HeldFor { cleaning: 0, room: held }, &mut self.clock);
        }
        if !self.is_buffered && status.is_ok() {
            self.wake_stalled();
        }
    }

    /// Hands over the answers that belong to an event; whether there was anything.
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
            self.ask_machines();
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

    /// Asks a volatile write buffer for them; other drives wait for records of trims, if for
    /// anything.
    fn ask_for_those(&mut self) -> bool {
        let volatile = self.config.is_volatile();
        let mut any = false;
        while let Some(slot) = self.front.next_flush() {
            if volatile && !self.is_buffered {
                self.flush_all_blocks(slot);
                any = true;
            } else if volatile {
                self.flush(slot);
                self.ask_machines();
                any = true;
            } else if !self.flush_trims(slot) {
                self.front.flushed(slot, &mut self.clock);
                any = true;
            }
        }
        any && (!(volatile && self.is_buffered) || self.give_answers())
    }

    /// A timer of the SLC cache has ended.
    fn slc_timer_ended(&mut self, timer: u32) {
        let (blocks, waits) = (self.ftl.slc_blocks(), self.cache.backlog() > 0);
        if let Some(slc) = self.cache.slc() {
            slc.timer_ended(timer, waits, blocks, &mut self.clock);
        }
        self.mover.ask(Domain(0));
        self.ask_machines();
    }
}
