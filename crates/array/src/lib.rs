//! An array: devices behind one controller, with a layout and a redundancy.
//!
//! | redundancy | layout | parts of a request |
//! |---|---|---|
//! | none | striped (RAID-0), concatenated | one per touched member (`spread.rs`) |
//! | mirror, parity disk, parity, double parity | striped | per stripe operation (`raid/`) |
//!
//! A request completes with its last part. The array's next event is the earliest of its own events
//! and its members' events (a tournament tree, `due.rs`). All arrays share the front end, which
//! holds the requests (`front.rs`), and the members (`members.rs`). Only `each.rs` knows which
//! device each member is. `steering.rs` makes members clean together or in turn; reads then treat a
//! cleaning member like a missing one.

#![expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]

mod clock;
mod config;
mod due;
mod each;
mod front;
mod kind;
mod members;
mod model;
mod raid;
mod redundancy;
mod side_by_side;
mod spread;
mod steering;

pub use config::{
    ArrayOptions, ArrayPartial, CleaningTogether, ControllerLink, ControllerLinkPartial, Layout,
    Unlike,
};
pub use redundancy::{
    Failures, HoleRule, ReadCopy, Rebuild, RebuildPartial, Redundancy, Rotation, Shares, WriteRule,
};

use clock::{Clock, Event};
use config::MOST_MEMBERS;
use engine::{Completion, Device, Followed, Op, Request, Standing, Time};
use front::Front;
use members::Members;
use options::Invalid;
use raid::{Desk, Raid};
use spread::Spread;
use ssd::clean::Supplied;
use ssd::device::kit::config::HostLink;
use ssd::device::kit::slots::Slot;
use ssd::device::{DeviceKind, Model, Tick, Unbuilt};
use steering::Steering;

/// Options of arrays in tests.
#[cfg(test)]
type OfLaws = ArrayOptions<service_law::LawConfig>;

/// Several devices behind one controller.
#[derive(Clone)]
pub struct Array {
    front: Front,
    members: Members,
    body: Body,
    clock: Clock,
    /// Completions of members; empty between calls.
    completed: Vec<Completion>,
    /// Capacity for the host, sectors.
    capacity: u64,
    layout: Layout,
    /// True if all members have the same configuration.
    alike: bool,
    /// Keys on which the saved state depends, besides the members' keys.
    shape: Vec<(String, String)>,
    /// True if the members share a custom policy.
    shares_policy: bool,
    /// Number of shards for parallel preparation.
    divided: u32,
}

/// Request handling by redundancy.
#[derive(Clone)]
enum Body {
    /// No redundancy.
    Spread(Spread),
    Raid(Box<Raid>),
}

impl Array {
    /// An array of new devices.
    ///
    /// # Errors
    /// For contradictory keys, which the error names; or if `tick` stopped the construction.
    pub fn new(
        config: &ArrayOptions<impl DeviceKind>,
        seed: u64,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Array, Unbuilt> {
        let is_redundant = config.redundancy != Redundancy::None;
        let spares = if is_redundant { config.spares } else { 0 };
        let count = u64::from(config.members) + u64::from(spares);
        if config.members == 0 || count > u64::from(MOST_MEMBERS) {
            let (keys, what): (&[&str], _) = if is_redundant {
                (&["device.members", "device.spares"], "members and spares")
            } else {
                (&["device.members"], "members")
            };
            let problem = format!("an array has 1 to {MOST_MEMBERS} {what}, not {count}");
            return Err(Invalid::new(keys, problem).into());
        }
        let drives = config.build_drives(spares, seed, supplied, tick)?;
        if drives.iter().any(|drive| drive.facts().zones.is_some()) {
            let problem = "an array stripes what it writes, which zones do not take; put a log of the host between \
                           them (device.member.adapt = \"log\")";
            return Err(Invalid::new(&["device.member.adapt", "device.kind"], problem).into());
        }
        Ok(Array::of(config, seed, drives)?)
    }

    /// An array of the given devices.
    fn of(
        config: &ArrayOptions<impl DeviceKind>,
        seed: u64,
        mut drives: Vec<Box<dyn Model>>,
    ) -> Result<Array, Invalid> {
        let body = if config.redundancy == Redundancy::None {
            refuse_idle(config)?;
            Body::Spread(Spread::new(config, members::smallest(&drives))?)
        } else {
            Body::Raid(Box::new(Raid::new(config, seed, &drives)?))
        };
        let steering = Steering::new(config, &mut drives)?;
        let link = HostLink {
            bandwidth: config.host_link.bandwidth,
            latency: config.host_link.latency,
            duplex: config.host_link.duplex,
            ..HostLink::default()
        };
        let capacity = match &body {
            Body::Spread(spread) => spread.capacity(),
            Body::Raid(raid) => raid.capacity(),
        };
        let mut array = Array {
            front: Front::new(&link),
            members: Members::new(drives, config.members, steering),
            body,
            clock: Clock::default(),
            completed: Vec::new(),
            capacity,
            layout: config.layout,
            alike: config.each.0.is_empty(),
            shape: config::shape(config),
            shares_policy: config.member.policy_name().is_some(),
            divided: 1,
        };
        array.schedule_failures(&config.failed)?;
        Ok(array)
    }

    /// Schedules the failures of members; those at time zero happen at once.
    fn schedule_failures(&mut self, failures: &Failures) -> Result<(), Invalid> {
        let count = self.members.len();
        for (member, at) in &failures.0 {
            let failure = Event::Failure(*member as usize);
            if *member as usize >= count {
                let problem = format!("there is no member {member}; they are 0 to {}", count - 1);
                return Err(Invalid::new(&["device.failed", "device.members"], problem));
            }
            match at.ns() {
                0 => self.happen(failure, 0),
                at => self.clock.push(at, failure),
            }
        }
        Ok(())
    }

    /// Starts transfers while the link is free.
    #[inline]
    fn pump(&mut self, now: Time) {
        if !self.front.is_idle(now) {
            self.turn_link(now);
        }
    }

    fn turn_link(&mut self, now: Time) {
        while let Some(slot) = self.front.turn(now, |end| self.clock.push(end, Event::LinkFree)) {
            self.arrive(slot, now);
        }
    }

    /// Handles a request that has reached the members.
    #[inline]
    fn arrive(&mut self, slot: Slot, now: Time) {
        let Array { front, members, body, clock, .. } = self;
        match body {
            Body::Spread(spread) => spread_out(*spread, slot, front, members, now),
            Body::Raid(raid) => {
                let desk = &mut Desk { front, members, clock, now };
                if !raid.pass(slot, desk) {
                    raid.arrive(slot, desk);
                }
            }
        }
    }

    /// Handles an event of the array itself.
    fn happen(&mut self, event: Event, now: Time) {
        match event {
            Event::LinkFree => self.pump(now),
            Event::Arrival => {
                self.front.arrive();
                self.pump(now);
            }
            Event::Resync | Event::Rebuild(_) | Event::Failure(_) => {
                let Array { front, members, body, clock, .. } = self;
                if let Body::Raid(raid) = body {
                    raid.happen(event, &mut Desk { front, members, clock, now });
                }
            }
        }
    }

    /// Advances the members to `now`, in order. Returns true if the front end may have to react.
    #[inline]
    fn advance_members(&mut self, now: Time) -> bool {
        let Array { front, members, body, clock, completed, .. } = self;
        let (mut from, mut follows) = (0, false);
        while let Some(member) = members.advance(from, now, completed) {
            if !completed.is_empty() {
                follows = true;
                match body {
                    Body::Spread(_) => {
                        for part in completed.iter() {
                            front.part_answered(part.request.id as Slot, part, now);
                        }
                    }
                    Body::Raid(raid) => {
                        let mut desk = Desk { front, members, clock, now };
                        for part in completed.iter() {
                            if !raid.passed(member, part, &mut desk) {
                                raid.answered(member, part, &mut desk);
                            }
                        }
                    }
                }
                completed.clear();
            }
            if members.next_event().is_none_or(|at| at > now) {
                break;
            }
            from = member + 1;
        }
        if let Body::Raid(raid) = body {
            follows |= raid.end_step(&mut Desk { front, members, clock, now });
        }
        follows
    }

    /// Processes the events of one instant.
    #[inline]
    fn step(&mut self, now: Time) {
        let mut follows = false;
        while let Some(event) = self.clock.pop_until(now) {
            self.happen(event, now);
            follows = true;
        }
        follows |= self.advance_members(now);
        // Other changes of the link are clock events.
        if follows {
            self.pump(now);
        }
        self.members.steer(now);
    }

    /// Time of the earliest event of the array and its members; the end of time without one.
    #[inline]
    fn next_inside(&self) -> Time {
        let [own, members] = [self.clock.next_at(), self.members.next_event()];
        own.unwrap_or(Time::MAX).min(members.unwrap_or(Time::MAX))
    }
}

/// Submits the parts of a request in an array without redundancy.
#[inline]
fn spread_out(spread: Spread, slot: Slot, front: &mut Front, members: &mut Members, now: Time) {
    let request = Request { id: u64::from(slot), ..*front.request(slot) };
    if request.op == Op::Flush {
        // Earlier requests have reached the members, so each member flushes for itself.
        front.expect(slot, members.len() as u64);
        (0..members.len()).for_each(|member| members.submit(member, request, now));
        return;
    }
    if let Some((member, part)) = spread.only_part(&request) {
        front.expect(slot, 1);
        members.submit(member, part, now);
        return;
    }
    front.expect(slot, spread.parts(request).count() as u64);
    for (member, part) in spread.parts(request) {
        members.submit(member, part, now);
    }
}

impl Device for Array {
    fn submit(&mut self, now: Time, request: Request) {
        if self.front.is_clear() {
            let slot = self.front.receive(request, self.capacity, now);
            self.arrive(slot, now);
        } else if let Some(at) = self.front.submit(request, self.capacity, now) {
            self.clock.push(at, Event::Arrival);
        }
        self.pump(now);
        self.members.steer(now);
    }

    fn next_event(&self) -> Option<Time> {
        let inside = || Some(self.next_inside()).filter(|at| *at < Time::MAX);
        self.front.first_done().or_else(inside)
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        loop {
            let now = self.next_inside();
            if now > to || now == Time::MAX {
                break;
            }
            self.step(now);
        }
        completions.append(self.front.done());
    }

    fn advance_to_answer(&mut self, to: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        let (mut at, mut to) = (self.front.first_done().filter(|done| *done <= to), to);
        if let Some(done) = at {
            to = done;
        }
        loop {
            let now = self.next_inside();
            if now > to || now == Time::MAX {
                break;
            }
            self.step(now);
            at = Some(now);
            // All events of one instant are processed together.
            if self.front.has_done() || self.members.have_ended() {
                to = now;
            }
        }
        if self.front.has_done() {
            completions.append(self.front.done());
        }
        at
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        let Array { front, members, body, clock, .. } = self;
        match body {
            Body::Raid(raid) => raid.cut(&mut Desk { front, members, clock, now }, completions),
            Body::Spread(_) => unreachable!("its power cannot go"),
        }
    }

    fn power_on(&mut self, now: Time) {
        let Array { front, members, body, clock, .. } = self;
        match body {
            Body::Raid(raid) => raid.wake(&mut Desk { front, members, clock, now }),
            Body::Spread(_) => unreachable!("its power cannot go"),
        }
    }

    /// The array is ready once its members are and the log is replayed. It has ended once a member is at end of life
    /// and so refuses some writes.
    fn standing(&self) -> Standing {
        let (mut is_ready, mut may_refuse) = (true, false);
        if let Body::Raid(raid) = &self.body {
            (is_ready, may_refuse) = (raid.is_ready(), raid.has_lost());
        }
        let is_spread = matches!(self.body, Body::Spread(_));
        for each in self.members.in_use().map(Device::standing) {
            is_ready &= is_spread || each.is_ready;
            may_refuse |= each.may_refuse;
        }
        Standing { is_ready, has_ended: self.has_ended(), may_refuse }
    }

    fn has_ended(&self) -> bool {
        self.members.have_ended()
    }

    fn followed(&self) -> Option<Followed> {
        let mut all = Followed::default();
        for drive in self.members.ever_used() {
            all += drive.followed()?;
        }
        Some(all)
    }

    fn capacity_sectors(&self) -> u64 {
        self.capacity
    }
}

/// Rejects keys that have no effect without redundancy.
fn refuse_idle<D: DeviceKind>(config: &ArrayOptions<D>) -> Result<(), Invalid> {
    let default = ArrayOptions::<D>::default();
    let key = match config {
        _ if config.failed != default.failed => "device.failed",
        _ if config.spares > 0 => "device.spares",
        _ if config.hole != default.hole => "device.hole",
        _ if config.parity_share != default.parity_share => "device.parity_share",
        _ => return Ok(()),
    };
    let problem =
        "failing a member of an array without redundancy loses its data; set device.redundancy";
    Err(Invalid::new(&[key, "device.redundancy"], problem))
}
