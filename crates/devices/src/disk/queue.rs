//! Requests that wait for a disk, and which of them is next.

use super::config::Scheduler;
use engine::{Request, Time};
use std::collections::VecDeque;

/// A request that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) submitted: Time,
    pub(super) request: Request,
}

/// What an order needs to know of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Distance {
    /// Its first sector.
    pub(super) sector: u64,
    /// Cylinders between it and the heads.
    pub(super) cylinders: u32,
    /// Until its first sector is under the head; 0 where the buffer answers.
    pub(super) positioning: Time,
}

/// The order in which a disk serves what waits.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) scheduler: Scheduler,
    pub(super) max_wait: Option<Time>,
    /// The end of what was served last, and whether addresses rise.
    last: u64,
    rises: bool,
}

impl Order {
    /// An order that begins at the first sector.
    pub(super) fn new(scheduler: Scheduler, max_wait: Option<Time>) -> Order {
        Order { scheduler, max_wait, last: 0, rises: true }
    }

    /// Notes what is served.
    pub(super) fn served(&mut self, sector: u64) {
        self.last = sector;
    }

    /// Which of some requests, of which there is one, is next; the first of equals.
    pub(super) fn choose(
        &mut self,
        count: usize,
        mut distance: impl FnMut(usize) -> Distance,
    ) -> usize {
        if count == 1 || self.scheduler == Scheduler::Fcfs {
            return 0;
        }
        if self.scheduler == Scheduler::Scan {
            let last = self.last;
            let beyond = |rises: bool, sector| if rises { sector >= last } else { sector <= last };
            if !(0..count).any(|it| beyond(self.rises, distance(it).sector)) {
                self.rises = !self.rises;
            }
        }
        let (mut best, mut least) = (0, (u64::MAX, u64::MAX));
        for number in 0..count {
            let Distance { sector, cylinders, positioning } = distance(number);
            let (last, away) = (self.last, sector.abs_diff(self.last));
            let key = match self.scheduler {
                Scheduler::Fcfs => (0, 0),
                Scheduler::Sstf => (u64::from(cylinders), 0),
                Scheduler::Scan => (u64::from((sector >= last) != self.rises && away > 0), away),
                Scheduler::Clook => (u64::from(sector < last), sector),
                Scheduler::Sptf => (positioning, 0),
            };
            if key < least {
                (best, least) = (number, key);
            }
        }
        best
    }

    /// Whether the oldest request has waited longer than `max_wait` and so is served next.
    pub(super) fn is_overdue(&self, oldest: &Waiting, now: Time) -> bool {
        self.max_wait.is_some_and(|most| now - oldest.submitted > most)
    }
}

/// Requests in order of arrival.
pub(super) type Queue = VecDeque<Waiting>;
