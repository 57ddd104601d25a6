//! Splitting a drive into sides, and passing their events to the host.

use super::order::is_before;
use super::side::{Deeds, Item, Looked, UnitsApart};
use super::{Entry, InSides, Ticket, UNTOLD, share};
use crate::Apart;
use crate::kit::config::Depth;
use crate::kit::slots::{Slot, Slots};
use crate::ssd::account::Counters;
use crate::ssd::back::Back;
use crate::ssd::clock::Event;
use crate::ssd::ids::Block;
use crate::ssd::page::PageDone;
use crate::ssd::{Ssd, host};
use crate::together::{SOUND_NS, SharedSide, Sides, Stretch, Told, take};
use engine::{Device, Followed, Request, Status, Time};
use std::sync::{Arc, Mutex};

impl Ssd {
    fn whole_because(&self) -> Option<&'static str> {
        let link = &self.config.host_link;
        if !self.host.is_instant() {
            return Some("the host link takes time, and all requests share it");
        }
        if link.queue_depth != Depth::UNLIMITED {
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
        let shares = share(groups, threads.max(2) as usize, self.host_load);
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
        self.host_load = it.work.host_load();
        back.take_sides(sides.iter_mut().map(|side| side.back()), &slot);
        for (lane, ends) in it.busy {
            self.clock.call(ends, Event::Flash(lane));
        }
        self.clock.now = now;
    }
}

/// Collected events, while they are passed on.
struct Telling {
    deeds: Vec<Deeds>,
    /// Of each side, the next page that is done.
    next: Vec<usize>,
    looked: usize,
    /// Steps passed on so far.
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
        it.work.add(&telling.deeds, entries.len());
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
            self.host.done_at_once(slot, Status::Ok, &mut self.clock);
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
    fn tell_submission(
        &mut self,
        it: &mut InSides,
        telling: &mut Telling,
        side: usize,
        number: u64,
    ) {
        let deeds = &telling.deeds[side];
        while let Some(done) = deeds.done.get(telling.next[side])
            && deeds.log.submitted(done.step) == Some(number)
        {
            telling.next[side] += 1;
            self.tell_page(&mut it.tickets, done.done);
        }
    }

    fn tell_page(&mut self, tickets: &mut Slots<Ticket>, done: PageDone) {
        let ticket = done.owner.expect("the host asked for it");
        let it = &mut tickets[ticket];
        let slot = it.slot;
        it.pages -= 1;
        if it.pages == 0 {
            tickets.remove(ticket);
        }
        let done = PageDone { owner: Some(slot), ..done };
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
    ) -> (Option<Followed>, Option<Time>) {
        let (mut counters, mut free_blocks) = (Counters::default(), 0);
        let mut effort = self.back.effort();
        let mut next: Option<Time> = None;
        for looked in all {
            counters += looked.counters;
            free_blocks += looked.free_blocks;
            effort += looked.effort;
            next = next.into_iter().chain(looked.next).min();
        }
        let figures = self.counts_of(counters, free_blocks).followed();
        (Some(self.with_energy(figures, || effort)), next)
    }
}
