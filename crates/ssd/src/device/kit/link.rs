//! The way between host and device: a host queue, then a link that does one transfer at a time, or one
//! in each direction.
//!
//! Requests enter the device up to its queue depth; the rest wait in the host. In the device they
//! cross the link in order of entry: a write holds it for the transfer of its data, everything
//! else only needs it to be idle. Answers go before new requests where both need the same way; the
//! data of a read hold the link.

use crate::device::kit::arbitration::{Arbiter, QueueAccount};
use crate::device::kit::config::{Duplex, HostLink, HostOrder};
pub use crate::device::kit::slots::Slot;
use engine::{Lba, Request, SECTOR_BYTES, Time};
use options::Bandwidth;
use std::collections::{BTreeMap, VecDeque};

/// Data that a trim sends to the device: its list of ranges, a sector in ATA (ACS-4, "DATA SET
/// MANAGEMENT").
pub const TRIM_BYTES: u64 = SECTOR_BYTES;

/// Next action of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A request that may proceed to the flash: its data, if it has any, have crossed.
    Arrived(Slot),
    /// A completed request:
    Answered(Slot),
    /// A transfer has begun that ends then.
    Busy(Time),
    /// Nothing.
    Idle,
}

/// Occupant of a way of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transfer {
    In(Slot),
    Out(Slot),
}

/// The link between host and device.
#[derive(Debug, Clone)]
pub struct Link {
    config: HostLink,
    /// True for immediate transfers, so that none is in progress.
    is_instant: bool,
    /// True if every turn of the caller must be kept.
    takes_turns: bool,
    /// Transfers with their end: outwards and, of a link of full duplex, inwards. The transfers of
    /// half duplex share the first.
    ways: [Option<(Transfer, Time)>; 2],
    /// Requests in transit to the device, with their arrival.
    delayed: VecDeque<(Time, Slot)>,
    /// Arrived requests before their turn; with the bytes that cross inwards.
    incoming: VecDeque<(Slot, u64)>,
    /// Done with the flash, to be answered; with the bytes that cross outwards.
    outgoing: VecDeque<(Slot, u64)>,
}

impl Link {
    /// An idle link.
    pub fn new(config: &HostLink) -> Self {
        Link {
            config: config.clone(),
            is_instant: config.latency.ns() == 0 && config.bandwidth == Bandwidth::UNLIMITED,
            takes_turns: false,
            ways: [None; 2],
            delayed: VecDeque::new(),
            incoming: VecDeque::new(),
            outgoing: VecDeque::new(),
        }
    }

    /// Drops all transfers.
    pub fn lose_power(&mut self) {
        let Link { is_instant, takes_turns, .. } = *self;
        *self = Link { is_instant, takes_turns, ..Link::new(&self.config) };
    }

    /// Never bypasses the link, although the result would be the same: the caller has other events at
    /// its instants.
    pub fn takes_turns(&mut self) {
        self.is_instant = false;
        self.takes_turns = true;
    }

    /// True if nothing is on the link, and whatever is put on it has crossed at once: then it can be
    /// passed by.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.is_instant && self.incoming.is_empty() && self.outgoing.is_empty()
    }

    /// The way on which requests come.
    #[inline]
    fn inward(&self) -> usize {
        usize::from(self.config.duplex == Duplex::Full)
    }

    /// True if its next turn at `now` would be `Idle`.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        if self.is_instant {
            return self.is_clear();
        }
        let is_over = |way: &Option<(Transfer, Time)>| way.is_some_and(|(_, end)| end <= now);
        let waits = self.ways[0].is_none() && !self.outgoing.is_empty()
            || self.ways[self.inward()].is_none() && !self.incoming.is_empty();
        !waits && !self.ways.iter().any(is_over)
    }

    /// True if a request with `bytes` of data that is sent at `now` is at the flash at once, and before
    /// anything else crosses: then it can pass by the link.
    #[inline]
    pub fn may_pass(&self, bytes: u64, now: Time) -> bool {
        if self.is_instant {
            return self.is_clear();
        }
        bytes == 0
            && !self.takes_turns
            && self.config.latency.ns() == 0
            && self.ways[self.inward()].is_none()
            && self.is_idle(now)
    }

    /// The host sends a request with `bytes` of data. Returns when the device sees it, if that is
    /// not at once; [`arrive`](Link::arrive) is then due.
    #[inline]
    pub fn send(&mut self, slot: Slot, bytes: u64, now: Time) -> Option<Time> {
        let latency = self.config.latency.ns();
        if latency == 0 {
            self.incoming.push_back((slot, bytes));
            return None;
        }
        self.delayed.push_back((now + latency, slot));
        Some(now + latency)
    }

    /// Handles the arrival of the oldest request in transit, with `bytes` of data to follow.
    pub fn arrive(&mut self, bytes: impl Fn(Slot) -> u64) {
        let (_, slot) = self.delayed.pop_front().expect("an arrival is due");
        self.incoming.push_back((slot, bytes(slot)));
    }

    /// The flash is done with a request; `bytes` of data go back.
    #[inline]
    pub fn answer(&mut self, slot: Slot, bytes: u64) {
        self.outgoing.push_back((slot, bytes));
    }

    /// `arrive` with an idle link, so that the data transfer starts: when they have crossed.
    /// Nothing where turns have to be taken.
    #[inline]
    pub fn carry(&mut self, slot: Slot, bytes: u64, now: Time) -> Option<Time> {
        if self.is_instant || self.takes_turns || self.ways[0].is_some() || !self.is_idle(now) {
            return None;
        }
        self.carry_on(0, Transfer::Out(slot), bytes, now)
    }

    /// `crossed` for a request being sent: when the data have crossed.
    #[inline]
    pub fn bring(&mut self, slot: Slot, bytes: u64, now: Time) -> Option<Time> {
        let way = self.inward();
        if self.is_instant
            || self.takes_turns
            || self.config.latency.ns() > 0
            || self.ways[way].is_some()
            || !self.is_idle(now)
        {
            return None;
        }
        self.carry_on(way, Transfer::In(slot), bytes, now)
    }

    #[inline]
    fn carry_on(&mut self, way: usize, transfer: Transfer, bytes: u64, now: Time) -> Option<Time> {
        let end = now + self.config.bandwidth.time_ns(bytes);
        (end > now).then(|| {
            self.ways[way] = Some((transfer, end));
            end
        })
    }

    /// True if an answer without data has crossed at once.
    #[inline]
    pub fn lets_out(&self, now: Time) -> bool {
        !self.is_instant && !self.takes_turns && self.ways[0].is_none() && self.is_idle(now)
    }

    /// True if its next turn would be `Idle`, and nothing else is to be done at its turns.
    #[inline]
    pub fn rests(&self, now: Time) -> bool {
        !self.takes_turns && self.is_idle(now)
    }

    /// Takes the next turn if it is the end of an answer's transfer, and nothing else is to be done at turns: whose.
    #[inline]
    pub fn take_crossed(&mut self, now: Time) -> Option<Slot> {
        let Some((Transfer::Out(slot), end)) = self.ways[0] else { return None };
        if end > now || self.takes_turns {
            return None;
        }
        self.ways[0] = None;
        Some(slot)
    }

    /// Takes the next turn if it is the beginning of an answer's transfer, after the end of one: until when that lasts.
    #[inline]
    pub fn take_next_answer(&mut self, now: Time) -> Option<Time> {
        let is_over = |way: &Option<(Transfer, Time)>| way.is_some_and(|(_, end)| end <= now);
        if self.ways[0].is_some() || is_over(&self.ways[1]) {
            return None;
        }
        let (slot, bytes) = self.outgoing.front().copied()?;
        let end = self.carry_on(0, Transfer::Out(slot), bytes, now)?;
        self.outgoing.pop_front();
        Some(end)
    }

    /// Takes the next turn; to be called until it is `Idle`.
    #[inline]
    pub fn turn(&mut self, now: Time) -> Turn {
        if self.is_instant {
            if let Some((slot, _)) = self.outgoing.pop_front() {
                return Turn::Answered(slot);
            }
            return self.incoming.pop_front().map_or(Turn::Idle, |(slot, _)| Turn::Arrived(slot));
        }
        self.turn_of_ways(now)
    }

    /// `turn` for a limited bandwidth.
    fn turn_of_ways(&mut self, now: Time) -> Turn {
        for way in &mut self.ways {
            if let Some((transfer, end)) = *way
                && end <= now
            {
                *way = None;
                return transfer.over();
            }
        }
        let inward = self.inward();
        if !self.outgoing.is_empty()
            && self.ways[0].is_none()
            && let Some((slot, bytes)) = self.outgoing.pop_front()
        {
            return self.begin(0, Transfer::Out(slot), bytes, now);
        }
        if !self.incoming.is_empty()
            && self.ways[inward].is_none()
            && let Some((slot, bytes)) = self.incoming.pop_front()
        {
            return self.begin(inward, Transfer::In(slot), bytes, now);
        }
        Turn::Idle
    }

    /// A transfer takes a way that is free, or is over at once.
    #[inline]
    fn begin(&mut self, way: usize, transfer: Transfer, bytes: u64, now: Time) -> Turn {
        let end = now + self.config.bandwidth.time_ns(bytes);
        if end > now {
            self.ways[way] = Some((transfer, end));
            return Turn::Busy(end);
        }
        transfer.over()
    }
}

impl Transfer {
    /// Meaning of the end of a transfer.
    #[inline]
    fn over(self) -> Turn {
        match self {
            Transfer::In(slot) => Turn::Arrived(slot),
            Transfer::Out(slot) => Turn::Answered(slot),
        }
    }
}

/// Requests that wait in the host for a place in the device.
#[derive(Debug, Clone)]
pub enum HostQueue {
    /// In order of arrival.
    Fifo(VecDeque<Slot>),
    /// Ascending by address from the last request, wrapping.
    Clook {
        /// Requests by address and order of arrival.
        waiting: BTreeMap<(Lba, u64), Slot>,
        /// Number of the next to wait.
        arrivals: u64,
        /// Address of the last request.
        last: Lba,
    },
    /// Sent from the submission queues in turn, or by class.
    InTurn(Box<Arbiter>),
}

impl HostQueue {
    /// An empty queue.
    pub fn new(config: &HostLink) -> Self {
        match config.order {
            HostOrder::Fifo => HostQueue::Fifo(VecDeque::new()),
            HostOrder::Clook => {
                HostQueue::Clook { waiting: BTreeMap::new(), arrivals: 0, last: Lba(0) }
            }
            HostOrder::RoundRobin => HostQueue::InTurn(Box::new(Arbiter::round_robin(
                config.queues as usize,
                config.burst.requests(),
            ))),
            HostOrder::Weighted => HostQueue::InTurn(Box::new(Arbiter::weighted(
                config.queues as usize,
                config.burst.requests(),
                &config.priorities,
                config.weights,
            ))),
        }
    }

    /// A request waits.
    pub fn push(&mut self, slot: Slot, request: &Request) {
        match self {
            HostQueue::Fifo(queue) => queue.push_back(slot),
            HostQueue::Clook { waiting, arrivals, .. } => {
                waiting.insert((request.lba, *arrivals), slot);
                *arrivals += 1;
            }
            HostQueue::InTurn(arbiter) => arbiter.push(slot, request.queue),
        }
    }

    /// The request to send next.
    #[expect(clippy::inline_always, reason = "every request passes here, from two places")]
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Slot> {
        match self {
            HostQueue::Fifo(queue) => queue.pop_front(),
            HostQueue::Clook { waiting, last, .. } => {
                let above = waiting.range((*last, 0)..).next().map(|(key, _)| *key);
                let key = above.or_else(|| waiting.first_key_value().map(|(key, _)| *key))?;
                waiting.remove(&key)
            }
            HostQueue::InTurn(arbiter) => arbiter.pop(),
        }
    }

    /// A request has been sent, from the queue or past it, after waiting for `waited`.
    #[inline]
    pub fn sent(&mut self, request: &Request, waited: Time) {
        match self {
            HostQueue::Fifo(_) => {}
            HostQueue::Clook { last, .. } => *last = request.lba,
            HostQueue::InTurn(arbiter) => arbiter.took(request.queue, waited),
        }
    }

    /// Accounts of the host's queues, if distinguished.
    pub fn accounts(&self) -> Vec<QueueAccount> {
        if let HostQueue::InTurn(arbiter) = self { arbiter.accounts() } else { Vec::new() }
    }

    /// Counts from zero.
    pub fn reset(&mut self) {
        if let HostQueue::InTurn(arbiter) = self {
            arbiter.reset();
        }
    }
}

#[cfg(test)]
mod tests;
