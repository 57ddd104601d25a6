//! The solid-state disk: requests in, flash operations in between, completions out.
//!
//! This file is the wiring. The [`Host`] cuts requests into page requests and answers when the last is
//! done; the [`Scheduler`] serves page requests with the flash; both share one [`Clock`]. What passes
//! between them is in `page.rs`, and nothing else does.

pub mod account;
mod audit;
pub mod clean;
mod clock;
pub mod config;
mod conformance;
pub mod flash;
pub mod ftl;
mod host;
pub mod ids;
mod kind;
mod model;
mod page;
mod report;
mod sched;
mod sets;
pub mod shape;
pub(crate) mod snapshot;

pub use config::SsdConfig;
pub use conformance::{Check, conformance, conformance_of};
pub use report::{
    CleaningReport, LifetimeReport, Milestone, REMAINING_STEPS, SpareReport, SsdReport, UnitReport,
    WearMap, WearReport,
};
pub use sched::timeline;
pub use shape::Geometry;
pub use snapshot::Snapshot;

use clock::{Clock, Event};
use engine::{Completion, Device, Followed, Op, Request, Time};
use host::Host;
use ids::Lpn;
use sched::Scheduler;

/// A simulated solid-state disk.
#[derive(Debug, Clone)]
pub struct Ssd {
    config: SsdConfig,
    host: Host,
    back: Scheduler,
    clock: Clock,
}

impl Ssd {
    fn geometry(&self) -> &Geometry {
        self.back.ftl.geometry()
    }

    /// Lets the host link take its turns until it is busy or idle, and hands what has crossed it to the
    /// flash.
    fn pump(&mut self) {
        while let Some((slot, request)) = self.host.turn(&mut self.clock) {
            if request.op == Op::Trim {
                let status = self.back.trim(host::covered(self.geometry(), &request));
                self.host.done_at_once(slot, status, self.clock.now);
                if status.is_ok() {
                    self.back.wake_stalled(&mut self.clock);
                }
                continue;
            }
            let pages = host::touched(self.geometry(), &request);
            self.host.expect(slot, pages.len() as u32);
            for page in pages {
                let page = host::page_request(self.geometry(), &request, Lpn(page), Some(slot));
                if let Some(done) = self.back.accept(&page, &mut self.clock) {
                    self.host.page_done(&done, self.clock.now);
                }
            }
            self.back.dispatch_offered(&mut self.clock);
        }
    }

    /// A stage of the operation of a lane has ended.
    fn stage_ended(&mut self, lane: u32) {
        let Some(ended) = self.back.stage_ended(lane, &mut self.clock) else { return };
        if let Some(done) = &ended.done {
            self.host.page_done(done, self.clock.now);
        }
        if self.back.has_refused() {
            for done in self.back.take_refused() {
                self.host.page_done(&done, self.clock.now);
            }
        }
        self.pump();
        self.back.go_on(ended, &mut self.clock);
    }
}

impl Device for Ssd {
    fn submit(&mut self, now: Time, request: Request) {
        assert!(now >= self.clock.now, "time does not go backwards");
        host::check(&request, self.capacity_sectors());
        self.clock.now = now;
        self.host.submit(request, &mut self.clock);
        self.pump();
    }

    fn next_event(&self) -> Option<Time> {
        self.host.first_done().or_else(|| self.clock.next_at())
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(event) = self.clock.go_on(to) {
            match event {
                Event::StageEnds(lane) => self.stage_ended(lane),
                Event::LinkFree => self.pump(),
                Event::RequestArrives => {
                    self.host.request_arrives();
                    self.pump();
                }
            }
        }
        self.clock.now = to;
        completions.append(self.host.done());
    }

    fn has_ended(&self) -> bool {
        self.back.ftl.has_ended()
    }

    fn may_refuse(&self) -> bool {
        self.back.ftl.is_worn()
    }

    fn followed(&self) -> Option<Followed> {
        Some(self.counts_now().followed())
    }

    fn capacity_sectors(&self) -> u64 {
        let geometry = self.geometry();
        u64::from(geometry.exported_pages()) * u64::from(geometry.sectors_per_page)
    }
}
