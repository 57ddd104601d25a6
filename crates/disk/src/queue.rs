//! Waiting requests of a disk, and the choice of the next one.

use super::config::Scheduler;
use super::geometry::Place;
use super::mechanics::Mechanics;
use super::spots::{Coming, From, Order, Spots};
use engine::{Op, Request, Time};
use ssd::device::kit::slots::Slots;
use std::collections::VecDeque;

/// A waiting request.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    pub submitted: Time,
    pub request: Request,
}

/// Waiting requests: the oldest ones are candidates for service, the others wait behind them.
#[derive(Debug, Clone)]
pub struct Queue {
    waiting: Slots<Waiting>,
    spots: Spots,
    /// Position of each request's first sector, by slot.
    places: Vec<Place>,
    behind: VecDeque<Waiting>,
    /// Number of reads among the candidates.
    reads: usize,
    /// Maximum number of candidates.
    depth: usize,
    max_wait: Option<Time>,
    arrivals: u64,
}

impl Queue {
    /// An empty queue.
    pub fn new(scheduler: Scheduler, depth: usize, max_wait: Option<Time>) -> Queue {
        let depth = if scheduler == Scheduler::Fcfs { 1 } else { depth };
        Queue {
            waiting: Slots::new(),
            spots: Spots::default(),
            places: Vec::new(),
            behind: VecDeque::new(),
            reads: 0,
            depth,
            max_wait,
            arrivals: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.spots.is_empty()
    }

    /// True if a read is a candidate, so that buffer content matters.
    #[inline]
    pub fn has_reads(&self) -> bool {
        self.reads > 0
    }

    /// True if a request waits for the heads.
    pub fn needs_heads(&self) -> bool {
        self.spots.need_heads() || !self.behind.is_empty()
    }

    /// Appends a request; `is_free` tells which requests need no seek.
    pub fn push(
        &mut self,
        waiting: Waiting,
        mechanics: &Mechanics,
        is_free: impl Fn(&Request) -> bool,
    ) {
        if self.spots.len() < self.depth {
            self.place(waiting, mechanics, is_free);
        } else {
            self.behind.push_back(waiting);
        }
    }

    fn place(
        &mut self,
        waiting: Waiting,
        mechanics: &Mechanics,
        is_free: impl Fn(&Request) -> bool,
    ) {
        let request = &waiting.request;
        let sector = request.lba.0.min(mechanics.geometry.sectors() - 1);
        let is_free = is_free(request);
        let is_write = request.op == Op::Write;
        self.reads += usize::from(request.op == Op::Read);
        let slot = self.waiting.insert(waiting);
        self.arrivals += 1;
        let place = mechanics.geometry.place(sector);
        if self.places.len() == slot as usize {
            self.places.push(place);
        } else {
            self.places[slot as usize] = place;
        }
        let coming = Coming { sector, age: self.arrivals, slot, is_write, is_free };
        self.spots.insert(coming, &place);
    }

    /// Rechecks which reads in and behind a range of sectors need the heads.
    pub fn ask_again(&mut self, (start, end): (u64, u64), is_free: impl Fn(&Request) -> bool) {
        for place in self.spots.within(start, end + 1) {
            let request = &self.waiting[self.spots.spot(place).slot].request;
            if request.op == Op::Read {
                self.spots.free(place, is_free(request));
            }
        }
    }

    /// Position of the oldest request, if it exceeds the maximum wait and so goes next.
    pub fn overdue(&self, now: Time) -> Option<usize> {
        let most = self.max_wait?;
        let oldest = self.spots.oldest();
        let waiting = &self.waiting[self.spots.spot(oldest).slot];
        (now - waiting.submitted > most).then_some(oldest)
    }

    /// Takes the next request from a nonempty queue; a waiting request may become a candidate.
    /// those from which is chosen.
    pub fn take(
        &mut self,
        overdue: Option<usize>,
        order: &mut Order,
        from: From,
        mechanics: &mut Mechanics,
        is_free: impl Fn(&Request) -> bool,
    ) -> Waiting {
        let place = overdue.unwrap_or_else(|| order.choose(&self.spots, None, from, mechanics));
        let spot = self.spots.remove(place);
        mechanics.note_place(spot.sector, self.places[spot.slot as usize]);
        let taken = self.waiting.remove(spot.slot);
        self.reads -= usize::from(taken.request.op == Op::Read);
        if let Some(next) = self.behind.pop_front() {
            self.place(next, mechanics, is_free);
        }
        taken
    }
}
