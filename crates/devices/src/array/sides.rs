//! Members driven side by side: they share nothing but the link, which takes no time, so each side has
//! some of them, and the array gets their completions afterwards.
//!
//! At one instant, members answer in order of their numbers: first what they do by themselves, then,
//! request by request, what they answer at once.

use super::spread::Spread;
use crate::Model;
use crate::together::{SharedSide, Side, Stretch, take};
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
struct Few {
    members: Vec<Member>,
    given: Vec<Item>,
    to: Option<Stretch>,
    answers: Vec<Answer>,
    looked: Vec<(Option<Followed>, Option<Time>)>,
    /// Empty between calls.
    parts: Vec<Completion>,
}

impl Few {
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

impl Side for Few {
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
            let goes_on =
                |next: &&Item| matches!(next, Item::Part { number: it, .. } if *it == number);
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

/// Events for the array, in order, beside completions of members.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    Asked { at: Time, number: u64 },
    Looked { at: Time },
}

/// An array in sides.
pub(super) struct InSides {
    sides: Vec<Arc<Mutex<Few>>>,
    /// How many members there are.
    members: usize,
    /// Requests given so far.
    number: u64,
    /// What was given since it was last handed out, to each side and to the array.
    given: Vec<Vec<Item>>,
    entries: Vec<Entry>,
    /// Events for the array from the stretch in progress.
    handed_out: Vec<Entry>,
    /// And of the one that was collected, with what the sides did.
    collected: Vec<Entry>,
    answers: Vec<Vec<Answer>>,
    looked: Vec<Vec<(Option<Followed>, Option<Time>)>>,
    /// The next completion of each side that was not passed on.
    next: Vec<usize>,
}

impl InSides {
    /// Divides the members, with `outstanding` unanswered parts each, into `count` sides.
    pub(super) fn new(members: Vec<Box<dyn Model>>, outstanding: &[u64], count: usize) -> InSides {
        let mut shares: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
        let all = members.len();
        for (number, device) in members.into_iter().enumerate() {
            let outstanding = outstanding.get(number).copied().unwrap_or(0);
            shares[number % count].push(Member { number, device, outstanding });
        }
        let side = |members| {
            Arc::new(Mutex::new(Few {
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
            members: all,
            number: 0,
            given: sides.iter().map(|_| Vec::new()).collect(),
            entries: Vec::new(),
            handed_out: Vec::new(),
            collected: Vec::new(),
            answers: sides.iter().map(|_| Vec::new()).collect(),
            looked: sides.iter().map(|_| Vec::new()).collect(),
            next: memory::zeroed(sides.len()),
            sides,
        }
    }

    /// For the threads.
    pub(super) fn shared(&self) -> Vec<SharedSide> {
        let shared = |side: &Arc<Mutex<Few>>| -> SharedSide { side.clone() };
        self.sides.iter().map(shared).collect()
    }

    /// The members, and how many parts each has not answered.
    pub(super) fn members(self) -> Vec<(Box<dyn Model>, u64)> {
        let mut all = Vec::new();
        for side in &self.sides {
            all.append(&mut take(side).members);
        }
        all.sort_unstable_by_key(|member| member.number);
        all.into_iter().map(|member| (member.device, member.outstanding)).collect()
    }

    /// A request arrives; the number of its parts.
    pub(super) fn ask(&mut self, at: Time, request: &Request, spread: Spread) -> u32 {
        let number = self.number;
        self.number += 1;
        self.entries.push(Entry::Asked { at, number });
        let sides = self.given.len();
        let mut parts = 0;
        let mut give = |member: usize, part: Request| {
            self.given[member % sides].push(Item::Part { at, number, member, part });
            parts += 1;
        };
        if request.op == Op::Flush {
            (0..self.members).for_each(|member| give(member, *request));
        } else {
            spread.parts(*request).for_each(|(member, part)| give(member, part));
        }
        parts
    }

    pub(super) fn look(&mut self, at: Time) {
        self.given.iter_mut().for_each(|given| given.push(Item::Look { at }));
        self.entries.push(Entry::Looked { at });
    }

    pub(super) fn hand_out(&mut self, to: Stretch) {
        for (side, given) in self.sides.iter().zip(&mut self.given) {
            let mut side = take(side);
            std::mem::swap(&mut side.given, given);
            side.to = Some(to);
        }
        std::mem::swap(&mut self.entries, &mut self.handed_out);
    }

    pub(super) fn collect(&mut self) {
        let places = self.answers.iter_mut().zip(&mut self.looked);
        for (side, (answers, looked)) in self.sides.iter().zip(places) {
            let mut side = take(side);
            std::mem::swap(&mut side.answers, answers);
            std::mem::swap(&mut side.looked, looked);
        }
        std::mem::swap(&mut self.collected, &mut self.handed_out);
    }

    /// Events to pass on.
    pub(super) fn begin_telling(&mut self) -> Vec<Entry> {
        self.next.fill(0);
        std::mem::take(&mut self.collected)
    }

    /// They were passed on, and there is room for more.
    pub(super) fn end_telling(&mut self, mut entries: Vec<Entry>) {
        self.answers.iter_mut().for_each(Vec::clear);
        entries.clear();
        self.collected = entries;
    }

    /// The next answer of all, if it comes before a place in the order.
    pub(super) fn next_before(&mut self, end: (Time, u64)) -> Option<Completion> {
        let heads = self.answers.iter().zip(&self.next).enumerate();
        let heads = heads.filter_map(|(side, (all, next))| Some((side, all.get(*next)?)));
        let (side, first) = heads.min_by_key(|(_, answer)| answer.order())?;
        if (first.at, first.number) >= end {
            return None;
        }
        self.next[side] += 1;
        Some(first.part)
    }

    /// What all sides together noted at their look number `place`.
    pub(super) fn looked(&self, place: usize) -> (Option<Followed>, Option<Time>) {
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
