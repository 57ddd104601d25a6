//! Members driven side by side: they share nothing but the link, which takes no time, so each side has some
//! of them, and the array is told afterwards of what they answered.
//!
//! At one instant, members answer in order of their numbers: first what they do by themselves, then,
//! request by request, what they answer at once.

use super::Array;
use super::active::Active;
use crate::together::{SOUND_NS, SharedSide, Side, Sides, Stretch, Told, take};
use crate::{Apart, Model};
use engine::{Completion, Followed, Op, Request, Time};
use std::sync::{Arc, Mutex};

/// What a side is given: a part of a request for a member, or an instant at which figures are wanted.
#[derive(Debug, Clone, Copy)]
enum Item {
    Part { at: Time, number: u64, member: usize, part: Request },
    Look { at: Time },
}

/// A member answered a part: in an event, or in the submission of the request before this number.
#[derive(Debug, Clone, Copy)]
struct Answer {
    at: Time,
    number: u64,
    member: usize,
    part: Completion,
}

impl Answer {
    /// Its place in the order of all.
    fn order(&self) -> (Time, u64, usize) {
        (self.at, self.number, self.member)
    }
}

/// A member with its number, and how many parts of requests it has not answered.
struct Member {
    number: usize,
    device: Box<dyn Model>,
    outstanding: u64,
}

/// Some members of an array.
struct Members {
    members: Vec<Member>,
    given: Vec<Item>,
    to: Option<Stretch>,
    answers: Vec<Answer>,
    looked: Vec<(Option<Followed>, Option<Time>)>,
    /// Empty between calls.
    parts: Vec<Completion>,
}

impl Members {
    fn next_event(&self) -> Option<Time> {
        self.members.iter().filter_map(|member| member.device.next_event()).min()
    }

    fn is_answered(&self) -> bool {
        self.members.iter().all(|member| member.outstanding == 0)
    }

    /// Whatever happens up to `to`, of which the submission before `number` is the last.
    fn advance(&mut self, to: Time, number: u64) {
        while let Some(at) = self.next_event().filter(|at| *at <= to) {
            for member in &mut self.members {
                if member.device.next_event().is_some_and(|next| next <= at) {
                    member.device.advance(at, &mut self.parts);
                    member.outstanding -= self.parts.len() as u64;
                    let member = member.number;
                    let answer = |part| Answer { at, number, member, part };
                    self.answers.extend(self.parts.drain(..).map(answer));
                }
            }
        }
    }

    fn look(&mut self, at: Time) {
        if let Some(before) = at.checked_sub(1) {
            self.advance(before, 0);
        }
        let mut all = Some(Followed::default());
        for member in &self.members {
            all = all.zip(member.device.followed()).map(|(mut all, more)| {
                all += more;
                all
            });
        }
        self.looked.push((all, self.next_event()));
    }
}

impl Side for Members {
    fn go(&mut self) {
        self.answers.clear();
        self.looked.clear();
        let given = std::mem::take(&mut self.given);
        let mut items = given.iter().peekable();
        while let Some(item) = items.next() {
            let (at, number) = match *item {
                Item::Look { at } => {
                    self.look(at);
                    continue;
                }
                Item::Part { at, number, member, part } => {
                    self.advance(at, 0);
                    let own = self.members.iter_mut().find(|it| it.number == member);
                    let own = own.expect("it is its own");
                    own.device.submit(at, part);
                    own.outstanding += 1;
                    (at, number)
                }
            };
            // All parts of a request are submitted before any is answered.
            let goes_on = |next: &&Item| matches!(next, Item::Part { number: it, .. } if *it == number);
            if !items.peek().is_some_and(goes_on) {
                self.advance(at, number + 1);
            }
        }
        self.given = given;
        self.given.clear();
        match self.to.take() {
            Some(Stretch::To(to)) => self.advance(to, 0),
            Some(Stretch::Answered(before)) => {
                while !self.is_answered()
                    && let Some(next) = self.next_event().filter(|next| *next < before)
                {
                    self.advance(next, 0);
                }
            }
            None => {}
        }
    }
}

/// What the array is told of in order, beside answers of members.
#[derive(Debug, Clone, Copy)]
enum Entry {
    Asked { at: Time, number: u64 },
    Looked { at: Time },
}

/// An array in sides.
pub(super) struct InSides {
    sides: Vec<Arc<Mutex<Members>>>,
    /// Requests given so far.
    number: u64,
    /// What was given since it was last handed out, to each side and to the array.
    given: Vec<Vec<Item>>,
    entries: Vec<Entry>,
    /// What the array will be told of the stretch that is handed out.
    handed_out: Vec<Entry>,
    /// And of the one that was collected, with what the sides did.
    collected: Vec<Entry>,
    answers: Vec<Vec<Answer>>,
    looked: Vec<Vec<(Option<Followed>, Option<Time>)>>,
    /// The next answer of each side that was not told.
    next: Vec<usize>,
}

impl InSides {
    fn new(shares: Vec<Vec<Member>>) -> InSides {
        let side = |members| {
            Arc::new(Mutex::new(Members {
                members,
                given: Vec::new(),
                to: None,
                answers: Vec::new(),
                looked: Vec::new(),
                parts: Vec::new(),
            }))
        };
        let sides: Vec<_> = shares.into_iter().map(side).collect();
        InSides {
            number: 0,
            given: sides.iter().map(|_| Vec::new()).collect(),
            entries: Vec::new(),
            handed_out: Vec::new(),
            collected: Vec::new(),
            answers: sides.iter().map(|_| Vec::new()).collect(),
            looked: sides.iter().map(|_| Vec::new()).collect(),
            next: vec![0; sides.len()],
            sides,
        }
    }

    /// The next answer of all, if it comes before a place in the order.
    fn next_before(&mut self, end: (Time, u64)) -> Option<Completion> {
        let heads = self.answers.iter().zip(&self.next).enumerate();
        let heads = heads.filter_map(|(side, (all, next))| Some((side, all.get(*next)?)));
        let (side, first) = heads.min_by_key(|(_, answer)| answer.order())?;
        if (first.at, first.number) >= end {
            return None;
        }
        self.next[side] += 1;
        Some(first.part)
    }

    fn looked(&self, place: usize) -> (Option<Followed>, Option<Time>) {
        let (mut all, mut next) = (Some(Followed::default()), None);
        for (figures, its_next) in self.looked.iter().map(|looked| looked[place]) {
            all = all.zip(figures).map(|(mut all, more)| {
                all += more;
                all
            });
            next = next.into_iter().chain(its_next).min();
        }
        (all, next)
    }
}

impl Array {
    /// Tells of answers before a place in the order.
    fn tell_answers(
        &mut self,
        it: &mut InSides,
        end: (Time, u64),
        each: &mut dyn FnMut(Told<'_>),
    ) {
        while let Some(part) = it.next_before(end) {
            self.part_done(&part, part.at);
            for completion in self.done.drain(..) {
                each(Told::Answered(&completion));
            }
        }
    }
}

impl Apart for Array {
    fn sound_until(&self, now: Time) -> Time {
        self.members.iter().map(|member| member.sound_until(now)).min().unwrap_or(now)
    }

    fn split(&mut self, now: Time, threads: u32) -> Result<Sides, &'static str> {
        if !self.link.is_instant() {
            return Err("the link takes time, and all members share it");
        }
        if self.shares_policy {
            return Err("the members ask one and the same cleaning policy");
        }
        let count = self.members.len().min(threads.max(2) as usize);
        if count < 2 {
            return Err("the array has one member");
        }
        let until = self.sound_until(now);
        if until < now.saturating_add(SOUND_NS) {
            return Err("blocks are about to wear out");
        }
        let mut shares: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
        let outstanding = std::mem::take(&mut self.outstanding);
        let members = std::mem::take(&mut self.members).into_iter().enumerate();
        for (number, device) in members {
            let outstanding = outstanding.get(number).copied().unwrap_or(0);
            shares[number % count].push(Member { number, device, outstanding });
        }
        let it = self.in_sides.insert(InSides::new(shares));
        let shared = |side: &Arc<Mutex<Members>>| -> SharedSide { side.clone() };
        Ok(Sides { sides: it.sides.iter().map(shared).collect(), until })
    }

    fn ask(&mut self, at: Time, request: &Request) -> u64 {
        let it = self.in_sides.as_mut().expect("it is split");
        let number = it.number;
        it.number += 1;
        it.entries.push(Entry::Asked { at, number });
        // Only its answer will be told of: nothing happens to a request on its way to the members.
        let slot = self.active.insert(Active::new(*request, at));
        let request = Request { id: u64::from(slot), ..*request };
        let sides = it.given.len();
        let mut parts = 0;
        let mut give = |member: usize, part: Request| {
            it.given[member % sides].push(Item::Part { at, number, member, part });
            parts += 1;
        };
        if request.op == Op::Flush {
            (0..self.batches.len()).for_each(|member| give(member, request));
        } else {
            self.stripes.parts(request).for_each(|(member, part)| give(member, part));
        }
        self.active[slot].parts_left = parts;
        u64::from(parts)
    }

    fn look(&mut self, at: Time) {
        let it = self.in_sides.as_mut().expect("it is split");
        it.given.iter_mut().for_each(|given| given.push(Item::Look { at }));
        it.entries.push(Entry::Looked { at });
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
        let places = it.answers.iter_mut().zip(&mut it.looked);
        for (side, (answers, looked)) in it.sides.iter().zip(places) {
            let mut side = take(side);
            std::mem::swap(&mut side.answers, answers);
            std::mem::swap(&mut side.looked, looked);
        }
        std::mem::swap(&mut it.collected, &mut it.handed_out);
    }

    fn tell(&mut self, each: &mut dyn FnMut(Told<'_>)) {
        let mut it = self.in_sides.take().expect("it is split");
        it.next.fill(0);
        let mut looked = 0;
        let entries = std::mem::take(&mut it.collected);
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
        // Nothing is told twice, and there is room for what comes.
        it.answers.iter_mut().for_each(Vec::clear);
        it.collected = entries;
        it.collected.clear();
        self.in_sides = Some(it);
    }

    fn join(&mut self, _now: Time) {
        let it = self.in_sides.take().expect("it is split");
        let mut all = Vec::new();
        for side in &it.sides {
            all.append(&mut take(side).members);
        }
        all.sort_unstable_by_key(|member| member.number);
        self.outstanding = all.iter().map(|member| member.outstanding).collect();
        self.members = all.into_iter().map(|member| member.device).collect();
    }
}
