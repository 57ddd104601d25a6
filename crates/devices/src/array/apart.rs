//! An array that is driven in sides: requests go to its members, and completions come back.

use super::sides::{Entry, InSides};
use super::{Array, Body};
use crate::kit::slots::Slot;
use crate::together::{SOUND_NS, Sides, Stretch, Told};
use crate::{Apart, Cleans};
use engine::{Request, Time};

impl Array {
    /// Tells of answers before a place in the order.
    fn tell_answers(&mut self, it: &mut InSides, end: (Time, u64), each: &mut dyn FnMut(Told<'_>)) {
        while let Some(part) = it.next_before(end) {
            let slot = part.request.id as Slot;
            self.front.part_done(slot, part.status, part.breakdown, part.at);
            self.pump(part.at);
            for completion in self.front.done().drain(..) {
                each(Told::Answered(&completion));
            }
        }
    }
}

impl Cleans for Array {}

impl Apart for Array {
    fn sound_until(&self, now: Time) -> Time {
        match self.body {
            Body::Spread(_) => {
                let members = self.members.in_use().map(|member| member.sound_until(now));
                members.min().unwrap_or(now)
            }
            Body::Raid(_) => Time::MAX,
        }
    }

    fn split(&mut self, now: Time, threads: u32) -> Result<Sides, &'static str> {
        if matches!(self.body, Body::Raid(_)) {
            return Err("the members of a stripe wait for each other");
        }
        if !self.front.is_instant() {
            return Err("the link takes time, and all members share it");
        }
        if self.members.are_steered() {
            return Err("the members clean together");
        }
        if self.shares_policy {
            return Err("the members share one user-defined cleaning policy");
        }
        let count = self.members.len().min(threads.max(2) as usize);
        if count < 2 {
            return Err("the array has one member");
        }
        let until = self.sound_until(now);
        if until < now.saturating_add(SOUND_NS) {
            return Err("blocks are about to wear out");
        }
        let members = self.members.change(std::mem::take);
        let outstanding = std::mem::take(&mut self.outstanding);
        let it = self.in_sides.insert(InSides::new(members, &outstanding, count));
        Ok(Sides { sides: it.shared(), until })
    }

    fn ask(&mut self, at: Time, request: &Request) -> u64 {
        let it = self.in_sides.as_mut().expect("it is split");
        let Body::Spread(spread) = self.body else { unreachable!("it is not split") };
        // Only its completion will be passed on: nothing happens to a request on its way to the members.
        let slot = self.front.insert(*request, at);
        let request = Request { id: u64::from(slot), ..*request };
        let parts = u64::from(it.ask(at, &request, spread));
        self.front.expect(slot, parts);
        parts
    }

    fn look(&mut self, at: Time) {
        self.in_sides.as_mut().expect("it is split").look(at);
    }

    fn hand_out(&mut self, to: Stretch) {
        self.in_sides.as_mut().expect("it is split").hand_out(to);
    }

    fn collect(&mut self) {
        self.in_sides.as_mut().expect("it is split").collect();
    }

    fn tell(&mut self, each: &mut dyn FnMut(Told<'_>)) {
        let mut it = self.in_sides.take().expect("it is split");
        let mut looked = 0;
        let entries = it.begin_telling();
        for entry in &entries {
            match *entry {
                Entry::Asked { at, number } => {
                    self.tell_answers(&mut it, (at, number + 1), each);
                    each(Told::Asked(at));
                    self.tell_answers(&mut it, (at, number + 2), each);
                }
                Entry::Looked { at } => {
                    self.tell_answers(&mut it, (at, 0), each);
                    let (figures, next) = it.looked(looked);
                    looked += 1;
                    each(Told::Looked(figures, next));
                }
            }
        }
        self.tell_answers(&mut it, (Time::MAX, 0), each);
        it.end_telling(entries);
        self.in_sides = Some(it);
    }

    fn join(&mut self, _now: Time) {
        let it = self.in_sides.take().expect("it is split");
        let drives;
        (drives, self.outstanding) = it.members().into_iter().unzip();
        self.members.change(|place| *place = drives);
    }
}
