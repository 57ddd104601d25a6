//! The solid-state disk: requests in, flash operations in between, completions out.
//!
//! This file is the wiring. The [`Host`] cuts requests into page requests and answers when the last is
//! done; a [`Back`] end serves them with the flash; both share one [`Clock`]. There are two: one whose units
//! serve a page at a time, and one that gathers groups of pages in a write buffer. `pump.rs` lets requests
//! pass between them.

pub mod account;
mod audit;
mod back;
mod buffered;
pub mod clean;
mod clock;
pub mod config;
mod conformance;
mod energy;
pub mod flash;
pub mod ftl;
mod host;
pub mod ids;
mod kind;
mod look;
mod model;
pub mod numbers;
mod page;
mod parts;
pub mod power;
mod pump;
mod report;
mod room;
mod sched;
mod sets;
pub mod shape;
pub(crate) mod snapshot;
#[cfg(test)]
mod widths;

pub use config::SsdConfig;
pub use conformance::{Check, conformance, conformance_of};
pub use report::{
    CleaningReport, HealthReport, LifetimeReport, Milestone, REMAINING_STEPS, SPARE_THRESHOLD,
    SpareReport, SsdReport, UnitReport, WearMap, WearReport, data_units,
};
pub use room::Room;
pub use sched::timeline;
pub use shape::Geometry;
pub use snapshot::Snapshot;

use back::Back;
use clock::{Clock, Event};
use engine::{Completion, Device, Followed, Request, Time};
use host::Host;

/// A simulated solid-state disk.
#[derive(Debug, Clone)]
pub struct Ssd {
    config: SsdConfig,
    host: Host,
    back: Back,
    clock: Clock,
    /// What units and buses had done when the account began, where that was in the middle of a run.
    before: Option<Box<account::Spent>>,
    /// What it does about power cuts, if it recovers from them.
    power: Option<Box<power::Power>>,
    /// The other parts, while it is divided.
    parts: Option<Box<parts::Parts>>,
}

impl Ssd {
    fn geometry(&self) -> &Geometry {
        self.back.ftl().geometry()
    }
}

impl Device for Ssd {
    fn submit(&mut self, now: Time, request: Request) {
        assert!(now >= self.clock.now, "time does not go backwards");
        host::check(&request, self.capacity_sectors());
        self.clock.now = now;
        match self.host.submit(request, &mut self.clock) {
            Some(slot) => self.arrive_at_once(slot, &request),
            None => self.pump(),
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.host.first_done().or_else(|| self.clock.next_at())
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(event) = self.clock.go_on(to) {
            match event {
                Event::Flash(number) => self.flash_event(number),
                Event::LinkFree => self.pump(),
                Event::RequestArrives => {
                    self.host.request_arrives();
                    self.pump();
                }
                event => self.power_event(event),
            }
        }
        self.clock.now = to;
        if !self.host.done().is_empty() {
            completions.append(self.host.done());
        }
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.advance(now, completions);
        self.lose_power(now, completions);
    }

    fn power_on(&mut self, now: Time) {
        self.begin_recovery(now);
    }

    fn is_ready(&self) -> bool {
        self.power.as_ref().is_none_or(|power| power.serves())
    }

    fn has_ended(&self) -> bool {
        self.back.ftl().has_ended() && self.is_ready()
    }

    fn may_refuse(&self) -> bool {
        self.back.ftl().is_worn()
    }

    fn followed(&self) -> Option<Followed> {
        Some(self.with_energy(self.counts_now().followed()))
    }

    fn capacity_sectors(&self) -> u64 {
        let geometry = self.geometry();
        geometry.exported_pages() * u64::from(geometry.sectors_per_page)
    }
}
