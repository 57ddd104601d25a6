//! How requests pass between the host and the flash back end.

use super::back::Back;
use super::buffered::Answer;
use super::ids::Lpn;
use super::page::PageDone;
use super::{Ssd, host};
use crate::kit::slots::Slot;
use engine::{Op, Request};

impl Ssd {
    /// Lets the host link take its turns until it is busy or idle, and hands what has crossed it to the
    /// flash.
    pub(super) fn pump(&mut self) {
        self.await_checkpoint();
        while let Some((slot, request)) = self.host.turn(&mut self.clock) {
            self.reach_flash(slot, &request);
        }
        self.ask_for_flushes();
    }

    /// A request that the host has just submitted is at the flash.
    #[inline]
    pub(super) fn arrive_at_once(&mut self, slot: Slot, request: &Request) {
        self.reach_flash(slot, request);
        if self.host.is_link_idle(self.clock.now) {
            self.ask_for_flushes();
        } else {
            self.pump();
        }
    }

    /// A read, write or trim has reached the flash.
    #[inline]
    fn reach_flash(&mut self, slot: Slot, request: &Request) {
        if request.op == Op::Trim {
            let covered = host::covered(self.geometry(), request);
            let status = self.back.state().0.trim_all(covered.clone());
            if !(status.is_ok() && self.note_trim(slot, covered)) {
                self.host.done_at_once(slot, status, &mut self.clock);
            }
            if let (Back::Pages(back), true) = (&mut self.back, status.is_ok()) {
                back.wake_stalled(&mut self.clock);
            }
            return;
        }
        match &mut self.back {
            Back::Pages(back) => {
                let pages = host::touched(back.ftl.geometry(), request);
                self.host.expect(slot, (pages.end - pages.start) as u32);
                for page in pages {
                    let geometry = back.ftl.geometry();
                    let page = host::page_request(geometry, request, Lpn(page), Some(slot));
                    if let Some(done) = back.accept(&page, &mut self.clock) {
                        self.host.page_done(&done, &mut self.clock);
                    }
                }
                back.dispatch_offered(&mut self.clock);
            }
            Back::Groups(back) => {
                back.arrive(slot, request, &mut self.clock);
                self.answer();
            }
        }
    }

    /// Something has happened in the flash.
    pub(super) fn flash_event(&mut self, number: u32) {
        match &mut self.back {
            Back::Pages(_) => self.stage_ended(number),
            Back::Groups(back) => {
                back.happens(number, &mut self.clock);
                if self.answer() {
                    self.pump();
                }
            }
        }
    }

    /// A stage of the operation of a lane has ended.
    fn stage_ended(&mut self, lane: u32) {
        let Back::Pages(back) = &mut self.back else { return };
        let Some(ended) = back.stage_ended(lane, &mut self.clock) else { return };
        let refused = if back.has_refused() { back.take_refused() } else { Vec::new() };
        if let Some(done) = &ended.done {
            if done.owner.is_some() {
                self.host.page_done(done, &mut self.clock);
            } else {
                self.own_page_written(ended.unit());
            }
        }
        if !refused.is_empty() {
            self.refuse(refused);
        }
        if !self.host.is_link_clear() {
            self.pump();
        }
        let Back::Pages(back) = &mut self.back else { return };
        back.go_on(ended, &mut self.clock);
    }

    /// Pages that the flash did not take are done with.
    #[cold]
    fn refuse(&mut self, refused: Vec<PageDone>) {
        for done in refused {
            self.host.page_done(&done, &mut self.clock);
        }
    }

    /// Hands over what the write buffer and the dies behind it have done; whether there was anything.
    fn answer(&mut self) -> bool {
        let mut any = false;
        loop {
            let Back::Groups(back) = &mut self.back else { return any };
            if back.answers.is_empty() {
                return any;
            }
            any = true;
            let mut answers = std::mem::take(&mut back.answers);
            for answer in answers.drain(..) {
                match answer {
                    Answer::Done { slot, status, spent } => {
                        self.host.request_done(slot, status, &spent, &mut self.clock);
                    }
                    Answer::Flushed(slot) if self.flush_trims(slot) => {}
                    Answer::Flushed(slot) => self.host.flushed(slot, &mut self.clock),
                    Answer::Own(unit) => self.own_page_written(unit),
                }
            }
            if let Back::Groups(back) = &mut self.back
                && back.answers.is_empty()
            {
                // Its room is kept.
                back.answers = answers;
            }
        }
    }

    /// Flushes that have come to a drive without a volatile write buffer wait for records of trims, if for anything.
    fn flush_records(&mut self) {
        let mut any = false;
        while let Some(slot) = self.host.next_flush() {
            if !self.flush_trims(slot) {
                self.host.flushed(slot, &mut self.clock);
                any = true;
            }
        }
        if any {
            self.pump();
        }
    }

    /// Asks the write buffer for the flushes that have come.
    #[inline]
    fn ask_for_flushes(&mut self) {
        if self.host.has_flushes() {
            self.ask_for_those();
        }
    }

    fn ask_for_those(&mut self) {
        let volatile = self.config.is_volatile();
        let Back::Groups(back) = &mut self.back else { return self.flush_records() };
        if !volatile {
            return self.flush_records();
        }
        let mut any = false;
        while let Some(slot) = self.host.next_flush() {
            back.flush(slot, &mut self.clock);
            any = true;
        }
        if any && self.answer() {
            self.pump();
        }
    }
}
