//! The solid-state disk: requests in, flash operations in between, completions out.
//!
//! A drive is a few machines and the wire between them (`wire/`). The [`Front`] takes requests and gives answers;
//! [`Queues`] and the [`Cache`] have the pages that wait for their place or program, [`die::Units`] and [`die::Dies`] operate,
//! [`mover::Jobs`] and the [`mover::Mover`] relocate. Of each pair a page takes one. All share one [`Clock`], FTL and flash.

#![expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]

// Its macro is used by the following modules.
#[macro_use]
#[doc(hidden)]
pub mod device;

pub mod account;
mod audit;
mod blocks;
mod cache;
pub mod clean;
mod clock;
pub mod config;
mod conformance;
mod controller;
pub mod die;
mod energy;
pub mod flash;
mod front;
pub mod ftl;
pub mod ids;
mod kind;
mod look;
pub mod media;
mod model;
mod mover;
pub mod numbers;
mod page;
mod parts;
mod patrol;
pub mod power;
mod programmed;
mod report;
mod room;
mod sets;
pub mod shape;
#[doc(hidden)]
pub mod snapshot;
mod thermal;
pub mod timeline;
#[cfg(test)]
mod widths;
mod wire;
pub mod zoned;

pub use config::SsdConfig;
pub use conformance::{Check, conformance, conformance_of};
pub use report::*;
pub use thermal::ThermalReport;
pub use {numbers::PageTable, room::Room, shape::Geometry, snapshot::Snapshot};

use cache::{Cache, MapReads, Queues};
use engine::{Completion, Device, Followed, Request, Time};
use {blocks::BlockBuffer, clock::Clock, flash::Flash, front::Front, ftl::Ftl, timeline::Recorder};

/// A simulated solid-state disk. Its fields are its machines, what they share, and what the wire has in hand.
#[derive(Debug, Clone)]
pub struct Ssd {
    config: SsdConfig,
    front: Front,
    queues: Queues,
    cache: Cache,
    blocks: Option<Box<BlockBuffer>>,
    map: Option<Box<MapReads>>,
    units: die::Units,
    dies: die::Dies,
    jobs: mover::Jobs,
    mover: mover::Mover,
    ftl: Ftl,
    flash: Flash,
    clock: Clock,
    /// Features that affect the path of a request; pages go through the write buffer; cleaning
    /// waits as long as there is room.
    features: page::Features,
    is_buffered: bool,
    puts_off: bool,
    /// Power cuts and recovery, if enabled: power cuts that it recovers from, the other parts while
    /// it is divided, patrols, and heat for which writes wait; and the time that a byte written
    /// without time takes, ns.
    power: Option<Box<power::Power>>,
    parts: Option<Box<parts::Parts>>,
    patrol: Option<Box<patrol::Patrol>>,
    thermal: Option<Box<thermal::Thermal>>,
    pace_ns: Option<f64>,
    /// The answers of an event that are not given yet; empty between events.
    answers: Vec<page::Answer>,
    recorder: Option<Box<Recorder>>,
    /// Times of units and buses before the account, if it began within a run.
    before: Option<Box<account::Spent>>,
}

impl Ssd {
    fn geometry(&self) -> &Geometry {
        self.ftl.geometry()
    }
}

impl Device for Ssd {
    fn submit(&mut self, now: Time, request: Request) {
        assert!(now >= self.clock.now, "time does not go backwards");
        front::check(&request, self.capacity_sectors());
        self.clock.now = now;
        let request = if self.ftl.has_handles() { self.placed(request) } else { request };
        match self.front.submit(request, &mut self.clock) {
            Some(slot) => self.arrive_at_once(slot, &request),
            None => self.pump_unless_at_rest(),
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.front.first_done().or_else(|| self.clock.next_at())
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        self.go_on(to, false, completions);
        self.clock.now = to;
    }

    fn advance_to_answer(&mut self, to: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        self.go_on(to, true, completions)
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
        self.ftl.has_ended() && self.is_ready()
    }

    fn may_refuse(&self) -> bool {
        self.ftl.is_worn()
    }

    fn followed(&self) -> Option<Followed> {
        Some(self.with_energy(self.counts_now().followed()))
    }

    fn capacity_sectors(&self) -> u64 {
        let geometry = self.geometry();
        geometry.exported_pages() * u64::from(geometry.sectors_per_page)
    }
}
