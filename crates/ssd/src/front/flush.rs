//! Flushes: each completes when every write submitted before it is done.

use crate::device::kit::slots::Slot;
use std::collections::VecDeque;

/// Writes between two flushes, and the flush that waits for them.
#[derive(Debug, Clone, Copy, Default)]
struct Epoch {
    writes_left: u64,
    flush: Option<Slot>,
    flush_arrived: bool,
}

/// The epochs between flushes that are not over, numbered from the start.
#[derive(Debug, Clone)]
pub(super) struct Epochs {
    /// At least one epoch: the current.
    queue: VecDeque<Epoch>,
    first: u64,
}

impl Epochs {
    pub(super) fn new() -> Epochs {
        Epochs { queue: VecDeque::from([Epoch::default()]), first: 0 }
    }

    /// The number of the current epoch.
    #[inline]
    pub(super) fn current(&self) -> u64 {
        self.first + self.queue.len() as u64 - 1
    }

    #[inline]
    fn last(&mut self) -> &mut Epoch {
        self.queue.back_mut().expect("there is always a current epoch")
    }

    #[inline]
    fn of(&mut self, number: u64) -> &mut Epoch {
        &mut self.queue[(number - self.first) as usize]
    }

    /// A write is submitted.
    #[inline]
    pub(super) fn begin_write(&mut self) {
        self.last().writes_left += 1;
    }

    /// A flush is submitted, with which the current epoch ends.
    pub(super) fn begin_flush(&mut self, slot: Slot) {
        self.last().flush = Some(slot);
        self.queue.push_back(Epoch::default());
    }

    /// The flush of an epoch has reached the flash.
    pub(super) fn flush_arrived(&mut self, number: u64) {
        self.of(number).flush_arrived = true;
    }

    /// A write of an epoch is durable; whether there is a flush that may wait for it.
    #[inline]
    pub(super) fn write_done(&mut self, number: u64) -> bool {
        self.of(number).writes_left -= 1;
        self.queue.len() > 1
    }

    /// Ends the first epoch if its writes and all before are durable; the flush that may go.
    #[inline]
    pub(super) fn next_flush(&mut self) -> Option<Slot> {
        let Some(Epoch { writes_left: 0, flush: Some(slot), flush_arrived: true }) =
            self.queue.front().copied()
        else {
            return None;
        };
        self.queue.pop_front();
        self.first += 1;
        Some(slot)
    }
}
