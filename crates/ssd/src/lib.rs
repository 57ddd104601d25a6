//! The solid-state disk: requests in, flash operations in between, completions out.
//!
//! The [`Front`] takes requests and gives answers. An [`Executor`] has the pages that wait for their place or program, the
//! units or dies, and cleaning. Both share one [`Clock`], FTL and flash; the controller stands between them.

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
mod executor;
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
mod since_erasure;
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

use cache::MapReads;
use engine::{Completion, Device, Followed, Request, Standing, Time};
use executor::{Buffered, Cx, Direct, Executor, Seen};
use {blocks::BlockBuffer, clock::Clock, flash::Flash, front::Front, ftl::Ftl, timeline::Recorder};

/// A simulated solid-state disk. Its fields are its state machines, their shared state, and the
/// requests of the wire.
#[derive(Debug, Clone)]
pub struct Ssd {
    config: SsdConfig,
    front: Front,
    /// The executors without and with a write buffer; one is idle.
    direct: Direct,
    buffered: Buffered,
    blocks: Option<Box<BlockBuffer>>,
    map: Option<Box<MapReads>>,
    ftl: Ftl,
    flash: Flash,
    clock: Clock,
    /// Features that affect the path of a request.
    features: page::Features,
    /// Power cuts and recovery, if enabled, and the other parts while it is divided.
    power: Option<Box<power::Power>>,
    parts: Option<Box<parts::Parts>>,
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

    /// The executor of this drive, and the shared state.
    fn executor(&mut self) -> (&mut dyn Executor, Cx<'_>) {
        let is_buffered = self.features.has(page::Feature::Buffers);
        let executor: &mut dyn Executor =
            if is_buffered { &mut self.buffered } else { &mut self.direct };
        let cx = Cx {
            front: &mut self.front,
            ftl: &mut self.ftl,
            flash: &mut self.flash,
            clock: &mut self.clock,
            answers: &mut self.answers,
            recorder: &mut self.recorder,
        };
        (executor, cx)
    }

    /// Views of that executor.
    fn seen(&self) -> &dyn Seen {
        if self.features.has(page::Feature::Buffers) { &self.buffered } else { &self.direct }
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
        self.proceed(to, false, completions);
        self.clock.now = to;
    }

    fn advance_to_answer(&mut self, to: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        self.proceed(to, true, completions)
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.advance(now, completions);
        self.lose_power(now, completions);
    }

    fn power_on(&mut self, now: Time) {
        self.begin_recovery(now);
    }

    fn standing(&self) -> Standing {
        let is_ready = self.power.as_ref().is_none_or(|power| power.serves());
        Standing { is_ready, has_ended: self.has_ended(), may_refuse: self.ftl.is_worn() }
    }

    fn has_ended(&self) -> bool {
        self.ftl.has_ended() && self.power.as_ref().is_none_or(|power| power.serves())
    }

    fn followed(&self) -> Option<Followed> {
        Some(self.with_energy(self.counts_now().followed()))
    }

    fn capacity_sectors(&self) -> u64 {
        let geometry = self.geometry();
        geometry.exported_pages() * u64::from(geometry.sectors_per_page)
    }
}
