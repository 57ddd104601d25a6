//! A drive whose units are driven side by side.
//!
//! The host stays in one piece: it is told of submissions and of pages that are done in the very order of a
//! drive in one piece, only later than they happen. That is so because nothing goes from the host to the
//! units but the requests of an open workload, which do not wait for answers: the link is instant and the
//! queue has room for all. Units are divided by their buses, pools and decisions lie within units
//! (`whole_because`), so sides have nothing to tell each other; and who came first at one instant can be
//! found out afterwards (`order.rs`).

mod order;
mod side;

use super::back::Back;
use super::clock::{Clock, Event};
use super::ids::{Block, Lpn, PoolId, Unit};
use super::sched::Scheduler;
use super::{Ssd, host};
use crate::Apart;
use crate::kit::slots::{Slot, Slots};
use crate::ssd::account::Counters;
use crate::together::{SOUND_NS, SharedSide, Sides, Stretch, Told, take};
use engine::{Device, Op, Request, Time};
use order::is_before;
use side::{Deeds, Item, Looked, UnitsApart};
use std::sync::{Arc, Mutex};

/// What the host is told of in order, beside pages that are done.
#[derive(Debug, Clone, Copy)]
enum Entry {
    Asked { at: Time, request: Request, number: u64, ticket: Slot },
    Looked { at: Time },
}

/// A request on its way, under the number that sides know: its slot in the host, once it was told of it,
/// and how many of its pages are not done.
#[derive(Debug, Clone, Copy)]
struct Ticket {
    slot: Slot,
    pages: u32,
}

/// Submitted, but the host was not told.
const UNTOLD: Slot = Slot::MAX;

/// A drive in sides.
pub(super) struct InSides {
    sides: Vec<Arc<Mutex<UnitsApart>>>,
    /// The side of each pool.
    side_of: Vec<u32>,
    tickets: Slots<Ticket>,
    /// Requests given so far.
    number: u64,
    /// What was given since it was last handed out, to each side and to the host.
    given: Vec<Vec<Item>>,
    entries: Vec<Entry>,
    /// What the host will be told of the stretch that is handed out.
    handed_out: Vec<Entry>,
    /// And of the one that was collected, with what the sides did.
    collected: Vec<Entry>,
    deeds: Vec<Deeds>,
    /// What is under way at the end of the stretch that was told last, in order: lanes, and when that ends.
    busy: Vec<(u32, Time)>,
    /// The place of each lane there.
    ranks: Vec<u32>,
}

impl Clone for InSides {
    fn clone(&self) -> Self {
        unreachable!("a drive in sides is in use")
    }
}

impl std::fmt::Debug for InSides {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InSides").field("sides", &self.sides.len()).finish_non_exhaustive()
    }
}

/// Shares the groups of units among so many sides; the first, on whose thread the host is too, has fewer.
fn share(groups: Vec<Vec<Unit>>, count: usize) -> Vec<Vec<Unit>> {
    // What the host takes, in what a group takes: about two fifths of what all groups take together.
    let host = groups.len() * 2 / 5;
    let mut sides = vec![(0, Vec::new()); count];
    sides[0].0 = host.min(groups.len().saturating_sub(count));
    for group in groups {
        let least = sides.iter_mut().rev().min_by_key(|(load, _)| *load);
        let (load, units) = least.expect("there are sides");
        *load += 1;
        units.extend(group);
    }
    sides.retain(|(_, units)| !units.is_empty());
    sides.into_iter().map(|(_, units)| units).collect()
}

impl Ssd {
    fn whole_because(&self) -> Option<&'static str> {
        let link = &self.config.host_link;
        let unlimited = crate::kit::config::Depth::UNLIMITED;
        if !self.host.is_instant() {
            return Some("the host link takes time, and all requests share it");
        }
        if link.queue_depth != unlimited {
            return Some("the drive takes a limited number of requests at a time");
        }
        match &self.back {
            Back::Groups(_) => Some("all pages go through one write buffer"),
            Back::Pages(back) => back.whole_because(),
        }
    }
}

impl Apart for Ssd {
    /// A block is erased once in the time that an erasure takes, and one erasure may be under way.
    fn sound_until(&self, now: Time) -> Time {
        let flash = self.back.flash();
        let used = (0..self.geometry().blocks()).map(Block).filter(|it| !flash.is_retired(*it));
        let least = used.map(|block| flash.life(block)).min().unwrap_or(0);
        let erasures = Time::from(least.saturating_sub(2));
        now.saturating_add(erasures.saturating_mul(self.config.timing.erase.ns()))
    }

    fn split(&mut self, now: Time, threads: u32) -> Result<Sides, &'static str> {
        if let Some(reason) = self.whole_because() {
            return Err(reason);
        }
        let until = self.sound_until(now);
        let Back::Pages(back) = &mut self.back else { unreachable!("it was asked for") };
        if until < now.saturating_add(SOUND_NS) {
            return Err("blocks are about to wear out");
        }
        let groups = back.units_by_bus();
        if groups.len() < 2 {
            return Err("all units share a bus");
        }
        let shares = share(groups, threads.max(2) as usize);
        let in_sides = InSides::new(back, &mut self.clock, &shares, self.host.slots());
        let shared = |side: &Arc<Mutex<UnitsApart>>| -> SharedSide { side.clone() };
        let sides = in_sides.sides.iter().map(shared).collect();
        self.in_sides = Some(Box::new(in_sides));
        Ok(Sides { sides, until })
    }

    fn ask(&mut self, at: Time, request: &Request) -> u64 {
        host::check(request, self.capacity_sectors());
        let Ssd { back, in_sides: Some(in_sides), .. } = self else { unreachable!("it is split") };
        in_sides.ask(back, at, request)
    }

    fn look(&mut self, at: Time) {
        let in_sides = self.in_sides.as_mut().expect("it is split");
        in_sides.given.iter_mut().for_each(|given| given.push(Item::Look { at }));
        in_sides.entries.push(Entry::Looked { at });
    }

    fn hand_out(&mut self, to: Stretch) {
        let it = self.in_sides.as_mut().expect("it is split");
        for (side, given) in it.sides.iter().zip(&mut it.given) {
            let mut side = take(side);
            std::mem::swap(&mut side.given, given);
            side.to = Some(to);
        }
        std::mem::swap(&mut it.entries, &mut it.handed_out);
    }

    fn collect(&mut self) {
        let it = self.in_sides.as_mut().expect("it is split");
        for (side, deeds) in it.sides.iter().zip(&mut it.deeds) {
            std::mem::swap(&mut take(side).deeds, deeds);
        }
        std::mem::swap(&mut it.collected, &mut it.handed_out);
    }

    fn tell(&mut self, each: &mut dyn FnMut(Told<'_>)) {
        let mut it = self.in_sides.take().expect("it is split");
        self.tell_of(&mut it, each);
        self.in_sides = Some(it);
    }

    fn join(&mut self, now: Time) {
        let it = self.in_sides.take().expect("it is split");
        let Back::Pages(back) = &mut self.back else { unreachable!("it was split") };
        let mut sides: Vec<_> = it.sides.iter().map(|side| take(side)).collect();
        let tickets = &it.tickets;
        let slot = |ticket: Slot| tickets[ticket].slot;
        back.take_sides(sides.iter_mut().map(|side| side.back()), &slot);
        for (lane, ends) in it.busy {
            self.clock.call(ends, Event::Flash(lane));
        }
        self.clock.now = now;
    }
}

impl InSides {
    /// `slots` is how many the host has given out at a time.
    fn new(
        back: &mut Scheduler,
        clock: &mut Clock,
        shares: &[Vec<Unit>],
        slots: usize,
    ) -> InSides {
        let geometry = back.ftl.geometry();
        let mut of_unit = vec![0; geometry.units as usize];
        for (number, units) in (0..).zip(shares) {
            units.iter().for_each(|unit| of_unit[unit.at()] = number);
        }
        let pools = (0..geometry.pools).map(PoolId);
        let side_of = pools.map(|pool| of_unit[back.ftl.only_unit_of(pool).at()]);
        let side_of: Vec<u32> = side_of.collect();
        let mut tickets: Slots<Ticket> = Slots::new();
        let mut of_slot = vec![None; slots];
        let mut clocks: Vec<Clock> = shares.iter().map(|_| Clock::default()).collect();
        let mut busy = Vec::new();
        for (ends, event) in clock.take_all() {
            let Event::Flash(lane) = event else { unreachable!("the link has no events") };
            clocks[of_unit[lane as usize] as usize].call(ends, event);
            busy.push((lane, ends));
        }
        let numbered = shares.iter().zip(clocks).enumerate();
        let mut sides: Vec<_> = numbered
            .rev()
            .map(|(number, (units, mut side_clock))| {
                let mut outstanding = 0;
                let mut rename = |slot: Slot| {
                    outstanding += 1;
                    let ticket = *of_slot[slot as usize]
                        .get_or_insert_with(|| tickets.insert(Ticket { slot, pages: 0 }));
                    tickets[ticket].pages += 1;
                    ticket
                };
                let back = back.side(units, number == 0, &mut rename);
                side_clock.now = clock.now;
                let named = (number as u32, units.clone());
                let side =
                    UnitsApart::new(named, side_of.clone(), back, side_clock, outstanding);
                Arc::new(Mutex::new(side))
            })
            .collect();
        sides.reverse();
        let mut in_sides = InSides {
            given: sides.iter().map(|_| Vec::new()).collect(),
            deeds: sides.iter().map(|_| Deeds::default()).collect(),
            sides,
            side_of,
            tickets,
            number: 0,
            entries: Vec::new(),
            handed_out: Vec::new(),
            collected: Vec::new(),
            ranks: vec![0; of_unit.len()],
            busy,
        };
        in_sides.rank();
        in_sides
    }

    fn rank(&mut self) {
        for (rank, (lane, _)) in (0..).zip(&self.busy) {
            self.ranks[*lane as usize] = rank;
        }
    }

    fn ask(&mut self, back: &Back, at: Time, request: &Request) -> u64 {
        let geometry = back.ftl().geometry();
        let number = self.number;
        self.number += 1;
        let mut ticket = UNTOLD;
        let mut parts = 1;
        match request.op {
            Op::Flush => {}
            Op::Trim => {
                let pages = host::covered(geometry, request);
                // Each has to look again at writes that found no room, whosever pages these are.
                for given in &mut self.given {
                    given.push(Item::Trim { at, number, pages: pages.clone() });
                }
            }
            Op::Read | Op::Write => {
                let pages = host::touched(geometry, request);
                parts = pages.end - pages.start;
                ticket = self.tickets.insert(Ticket { slot: UNTOLD, pages: parts as u32 });
                for page in pages {
                    let lpn = Lpn(page);
                    let side = self.side_of[geometry.pool_of(lpn).at()];
                    let page = host::page_request(geometry, request, lpn, Some(ticket));
                    self.given[side as usize].push(Item::Page { at, number, page });
                }
            }
        }
        self.entries.push(Entry::Asked { at, request: *request, number, ticket });
        parts
    }

    /// Puts in order what is under way at the end of the stretch that was told.
    fn order_busy(&mut self) {
        let (deeds, ranks) = (&self.deeds, &self.ranks);
        let mut busy: Vec<(usize, (u32, u32, Time))> = Vec::new();
        for (side, deeds) in deeds.iter().enumerate() {
            busy.extend(deeds.busy.iter().map(|lane| (side, *lane)));
        }
        busy.sort_unstable_by(|(one, (_, x, x_ends)), (other, (_, y, y_ends))| {
            let (left, right) = ((&deeds[*one].log, *x), (&deeds[*other].log, *y));
            let order = || match () {
                () if one == other && x == y => std::cmp::Ordering::Equal,
                () if is_before(left, right, ranks) => std::cmp::Ordering::Less,
                () => std::cmp::Ordering::Greater,
            };
            x_ends.cmp(y_ends).then_with(order)
        });
        self.busy = busy.into_iter().map(|(_, (lane, _, ends))| (lane, ends)).collect();
        self.rank();
    }
}

/// What was collected, while it is told.
struct Telling {
    deeds: Vec<Deeds>,
    /// Of each side, the next page that is done.
    next: Vec<usize>,
    looked: usize,
    /// Steps told so far.
    told: u32,
}

impl Telling {
    /// The side on which a page is done first, up to `to` in an event.
    fn first_event(&self, to: Time, ranks: &[u32]) -> Option<usize> {
        let mut first: Option<(usize, u32, Time)> = None;
        for (side, deeds) in self.deeds.iter().enumerate() {
            let Some(done) = deeds.done.get(self.next[side]) else { continue };
            let at = deeds.log.at(done.step);
            if at > to || deeds.log.submitted(done.step).is_some() {
                continue;
            }
            let earlier = first.is_none_or(|(other, step, earliest)| {
                let own = (&deeds.log, done.step);
                at < earliest
                    || at == earliest && is_before(own, (&self.deeds[other].log, step), ranks)
            });
            if earlier {
                first = Some((side, done.step, at));
            }
        }
        first.map(|(side, ..)| side)
    }
}

impl Ssd {
    fn tell_of(&mut self, it: &mut InSides, each: &mut dyn FnMut(Told<'_>)) {
        let entries = std::mem::take(&mut it.collected);
        let deeds = std::mem::take(&mut it.deeds);
        let mut telling = Telling { next: vec![0; deeds.len()], deeds, looked: 0, told: 0 };
        for entry in &entries {
            match *entry {
                Entry::Asked { at, ref request, number, ticket } => {
                    self.tell_events(it, &mut telling, at, each);
                    each(Told::Asked(at));
                    self.clock.now = at;
                    self.tell_host(&mut it.tickets, request, ticket);
                    for side in 0..telling.deeds.len() {
                        self.tell_submission(it, &mut telling, side, number);
                    }
                    self.tell_answers(each);
                }
                Entry::Looked { at } => {
                    if let Some(before) = at.checked_sub(1) {
                        self.tell_events(it, &mut telling, before, each);
                    }
                    let all = telling.deeds.iter().map(|deeds| &deeds.looked[telling.looked]);
                    let (figures, next) = self.looked(all);
                    telling.looked += 1;
                    each(Told::Looked(figures, next));
                }
            }
        }
        self.tell_events(it, &mut telling, Time::MAX, each);
        it.deeds = telling.deeds;
        it.order_busy();
        it.collected = entries;
        it.collected.clear();
    }

    /// The host submits a request.
    fn tell_host(&mut self, tickets: &mut Slots<Ticket>, request: &Request, ticket: Slot) {
        let Some(slot) = self.host.submit(*request, &mut self.clock) else {
            // A flush, which crosses the link alone.
            return self.pump();
        };
        if ticket == UNTOLD {
            self.host.done_at_once(slot, engine::Status::Ok, &mut self.clock);
        } else {
            let it = &mut tickets[ticket];
            it.slot = slot;
            self.host.expect(slot, it.pages);
        }
    }

    /// Tells of pages that are done in events up to `to`, and including it.
    fn tell_events(
        &mut self,
        it: &mut InSides,
        telling: &mut Telling,
        to: Time,
        each: &mut dyn FnMut(Told<'_>),
    ) {
        while let Some(side) = telling.first_event(to, &it.ranks) {
            let deeds = &mut telling.deeds[side];
            let done = deeds.done[telling.next[side]];
            telling.next[side] += 1;
            self.clock.now = deeds.log.at(done.step);
            deeds.log.tell(done.step, &mut telling.told);
            self.tell_page(&mut it.tickets, done.done);
            self.tell_answers(each);
        }
    }

    /// Tells of pages of a side that were done when a request was submitted.
    fn tell_submission(&mut self, it: &mut InSides, telling: &mut Telling, side: usize, number: u64) {
        let deeds = &telling.deeds[side];
        while let Some(done) = deeds.done.get(telling.next[side])
            && deeds.log.submitted(done.step) == Some(number)
        {
            telling.next[side] += 1;
            self.tell_page(&mut it.tickets, done.done);
        }
    }

    fn tell_page(&mut self, tickets: &mut Slots<Ticket>, done: super::page::PageDone) {
        let ticket = done.owner.expect("the host asked for it");
        let it = &mut tickets[ticket];
        let slot = it.slot;
        it.pages -= 1;
        if it.pages == 0 {
            tickets.remove(ticket);
        }
        let done = super::page::PageDone { owner: Some(slot), ..done };
        self.host.page_done(&done, &mut self.clock);
    }

    #[inline]
    fn tell_answers(&mut self, each: &mut dyn FnMut(Told<'_>)) {
        for completion in self.host.done().drain(..) {
            each(Told::Answered(&completion));
        }
    }

    fn looked<'a>(
        &self,
        all: impl Iterator<Item = &'a Looked>,
    ) -> (Option<engine::Followed>, Option<Time>) {
        let (mut counters, mut free_blocks) = (Counters::default(), 0);
        let mut next: Option<Time> = None;
        for looked in all {
            counters += looked.counters;
            free_blocks += looked.free_blocks;
            next = next.into_iter().chain(looked.next).min();
        }
        (Some(self.counts_of(counters, free_blocks).followed()), next)
    }
}
