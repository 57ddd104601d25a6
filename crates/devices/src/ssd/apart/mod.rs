//! A drive whose units are simulated in parallel.
//!
//! The host is not split: it gets submissions and completed pages in exactly the order of an unsplit
//! drive, only later than they happen. That is so because nothing goes from the host to the
//! units but the requests of an open workload, which do not wait for answers: the link is instant and the
//! queue has room for all. Units are divided by their buses, pools and decisions lie within units
//! (`whole_because`), so sides have nothing to tell each other; and who came first at one instant can be
//! found out afterwards (`order.rs`).

mod drive;
mod order;
mod side;

use super::back::Back;
use super::clock::{Clock, Event};
use super::host;
use super::ids::{Lpn, PoolId, Unit};
use super::sched::Scheduler;
use crate::kit::slots::{Slot, Slots};
use engine::{Op, Request, Time};
use order::is_before;
use side::{Deeds, Item, UnitsApart};
use std::sync::{Arc, Mutex};

/// Events for the host, in order, beside completed pages.
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

/// Submitted, but not yet passed on to the host.
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
    /// Events for the host from the stretch in progress.
    handed_out: Vec<Entry>,
    /// And of the one that was collected, with what the sides did.
    collected: Vec<Entry>,
    deeds: Vec<Deeds>,
    /// Operations under way at the end of the last stretch passed on, in order: lanes, and their end
    /// times.
    busy: Vec<(u32, Time)>,
    /// The place of each lane there.
    ranks: Vec<u32>,
    work: Work,
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

/// Work of host and units: the more work the host has, the fewer units share its thread.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    requests: u64,
    pages: u64,
    events: u64,
}

impl Work {
    /// Counts a stretch.
    fn add(&mut self, deeds: &[Deeds], requests: usize) {
        self.requests += requests as u64;
        self.pages += deeds.iter().map(|deeds| deeds.done.len() as u64).sum::<u64>();
        self.events += deeds.iter().map(|deeds| deeds.log.len() as u64).sum::<u64>();
    }

    /// The work of the host, in the work of all units: instructions as callgrind counts them, roughly.
    fn host_load(&self) -> f64 {
        let host = 1000 * self.requests + 400 * self.pages;
        let units = 500 * self.pages + 450 * self.events;
        host as f64 / units.max(1) as f64
    }
}

/// Shares the groups of units among `count` sides. The first side shares its thread with the host, so it
/// gets fewer groups, or none. `host_load` is the work of the host in the work of all units.
fn share(groups: Vec<Vec<Unit>>, count: usize, host_load: f64) -> Vec<Vec<Unit>> {
    let mut sides = vec![(0.0, Vec::new()); count];
    sides[0].0 = host_load * groups.len() as f64;
    for group in groups {
        let least = sides.iter_mut().rev().min_by(|(one, _), (other, _)| one.total_cmp(other));
        let (load, units) = least.expect("there are sides");
        *load += 1.0;
        units.extend(group);
    }
    let mut number = 0;
    sides.retain(|(_, units)| {
        number += 1;
        number == 1 || !units.is_empty()
    });
    sides.into_iter().map(|(_, units)| units).collect()
}

impl InSides {
    /// `slots` is how many the host has given out at a time.
    fn new(back: &mut Scheduler, clock: &mut Clock, shares: &[Vec<Unit>], slots: usize) -> InSides {
        let geometry = back.ftl.geometry();
        let mut of_unit = vec![0; geometry.units as usize];
        for (number, units) in (0..).zip(shares) {
            for unit in units {
                of_unit[unit.at()] = number;
            }
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
                let side = UnitsApart::new(named, side_of.clone(), back, side_clock, outstanding);
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
            work: Work::default(),
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

    /// Orders the operations under way at the end of the stretch passed on.
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
