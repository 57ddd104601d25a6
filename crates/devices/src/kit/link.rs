//! The way between host and device: a host queue, then a link that does one transfer at a time.
//!
//! Requests enter the device up to its queue depth; the rest wait in the host. In the device they
//! cross the link in order of entry: a write holds it for the transfer of its data, everything
//! else only needs it to be idle. Answers go before new requests; the data of a read hold the link.

use crate::kit::config::{HostLink, HostOrder};
pub use crate::kit::slots::Slot;
use engine::{Lba, Time};
use std::collections::{BTreeMap, VecDeque};

/// What the link does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// This request may go to the flash: its data, if it has any, have crossed.
    Arrived(Slot),
    /// This request is answered.
    Answered(Slot),
    /// A transfer has begun that ends then.
    Busy(Time),
    /// Nothing to do.
    Idle,
}

/// What occupies the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transfer {
    In(Slot),
    Out(Slot),
}

/// The link between host and device.
#[derive(Debug, Clone)]
pub struct Link {
    config: HostLink,
    current: Option<(Transfer, Time)>,
    /// On the way to the device, with the instant at which it sees them.
    delayed: VecDeque<(Time, Slot)>,
    /// In the device, before their turn; with the bytes that cross inwards.
    incoming: VecDeque<(Slot, u64)>,
    /// Done with the flash, to be answered; with the bytes that cross outwards.
    outgoing: VecDeque<(Slot, u64)>,
}

impl Link {
    /// An idle link.
    pub fn new(config: &HostLink) -> Self {
        Link {
            config: config.clone(),
            current: None,
            delayed: VecDeque::new(),
            incoming: VecDeque::new(),
            outgoing: VecDeque::new(),
        }
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

    /// The oldest request on the way has arrived, with `bytes` of data behind it.
    pub fn arrive(&mut self, bytes: impl Fn(Slot) -> u64) {
        let (_, slot) = self.delayed.pop_front().expect("an arrival is due");
        self.incoming.push_back((slot, bytes(slot)));
    }

    /// The flash is done with a request; `bytes` of data go back.
    #[inline]
    pub fn answer(&mut self, slot: Slot, bytes: u64) {
        self.outgoing.push_back((slot, bytes));
    }

    /// Takes the next turn; to be called until it is `Busy` or `Idle`.
    #[inline]
    pub fn turn(&mut self, now: Time) -> Turn {
        if let Some((transfer, end)) = self.current {
            if end > now {
                return Turn::Idle;
            }
            self.current = None;
            return match transfer {
                Transfer::In(slot) => Turn::Arrived(slot),
                Transfer::Out(slot) => Turn::Answered(slot),
            };
        }
        let (transfer, bytes) = if let Some((slot, bytes)) = self.outgoing.pop_front() {
            (Transfer::Out(slot), bytes)
        } else if let Some((slot, bytes)) = self.incoming.pop_front() {
            (Transfer::In(slot), bytes)
        } else {
            return Turn::Idle;
        };
        let end = now + self.config.bandwidth.time_ns(bytes);
        if end > now {
            self.current = Some((transfer, end));
            return Turn::Busy(end);
        }
        match transfer {
            Transfer::In(slot) => Turn::Arrived(slot),
            Transfer::Out(slot) => Turn::Answered(slot),
        }
    }
}

/// Requests that wait in the host for a place in the device.
#[derive(Debug, Clone)]
pub enum HostQueue {
    /// Sent as they came.
    Fifo(VecDeque<Slot>),
    /// Sent in ascending order of address from the last one sent, wrapping.
    Clook {
        /// By address, then by order of arrival.
        waiting: BTreeMap<(Lba, u64), Slot>,
        /// Number of the next to wait.
        arrivals: u64,
        /// Address of the last one sent.
        last: Lba,
    },
}

impl HostQueue {
    /// An empty queue.
    pub fn new(order: HostOrder) -> Self {
        match order {
            HostOrder::Fifo => HostQueue::Fifo(VecDeque::new()),
            HostOrder::Clook => {
                HostQueue::Clook { waiting: BTreeMap::new(), arrivals: 0, last: Lba(0) }
            }
        }
    }

    /// A request waits.
    pub fn push(&mut self, slot: Slot, lba: Lba) {
        match self {
            HostQueue::Fifo(queue) => queue.push_back(slot),
            HostQueue::Clook { waiting, arrivals, .. } => {
                waiting.insert((lba, *arrivals), slot);
                *arrivals += 1;
            }
        }
    }

    /// The request to send next.
    pub fn pop(&mut self) -> Option<Slot> {
        match self {
            HostQueue::Fifo(queue) => queue.pop_front(),
            HostQueue::Clook { waiting, last, .. } => {
                let above = waiting.range((*last, 0)..).next().map(|(key, _)| *key);
                let key = above.or_else(|| waiting.first_key_value().map(|(key, _)| *key))?;
                waiting.remove(&key)
            }
        }
    }

    /// A request has been sent, from the queue or past it.
    #[inline]
    pub fn sent(&mut self, lba: Lba) {
        if let HostQueue::Clook { last, .. } = self {
            *last = lba;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clook_ascends_and_wraps() {
        let mut queue = HostQueue::new(HostOrder::Clook);
        for (slot, lba) in [(0, 50), (1, 10), (2, 70), (3, 50)] {
            queue.push(slot, Lba(lba));
        }
        queue.sent(Lba(40));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        // The address of the last one sent is not updated here: 50, 50, 70, then from the start.
        assert_eq!(order, [0, 3, 2, 1]);
    }

    #[test]
    fn answers_go_before_new_requests_and_data_take_time() {
        let config = HostLink { bandwidth: "1GB/s".parse().unwrap(), ..HostLink::default() };
        let mut link = Link::new(&config);
        link.send(1, 4096, 0);
        link.send(2, 0, 0);
        assert_eq!(link.turn(0), Turn::Busy(4096));
        link.answer(9, 512);
        assert_eq!(link.turn(4095), Turn::Idle);
        assert_eq!(link.turn(4096), Turn::Arrived(1));
        assert_eq!(link.turn(4096), Turn::Busy(4608));
        assert_eq!(link.turn(4608), Turn::Answered(9));
        assert_eq!(link.turn(4608), Turn::Arrived(2));
        assert_eq!(link.turn(4608), Turn::Idle);
    }
}
