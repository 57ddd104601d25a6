//! In-order completions: a ready completion waits for earlier ones of its queue.

use crate::device::kit::config::{Completions, HostLink};
use crate::device::kit::slots::Slot;
use std::collections::VecDeque;

/// The requests of each submission queue that are not answered, in their order.
#[derive(Debug, Clone)]
pub struct InOrder {
    queues: Vec<VecDeque<Slot>>,
    /// Readiness by slot.
    is_ready: Vec<bool>,
}

impl InOrder {
    /// State for a link with in-order completions; none of another.
    pub fn of(link: &HostLink) -> Option<InOrder> {
        let queues = memory::filled(VecDeque::new(), link.queues as usize);
        (link.completions == Completions::InOrder).then(|| InOrder { queues, is_ready: Vec::new() })
    }

    fn of_queue(&mut self, queue: u16) -> &mut VecDeque<Slot> {
        let count = self.queues.len();
        &mut self.queues[usize::from(queue) % count]
    }

    /// A request has reached the device.
    pub fn came(&mut self, slot: Slot, queue: u16) {
        self.of_queue(queue).push_back(slot);
        if self.is_ready.len() <= slot as usize {
            memory::grow(&mut self.is_ready, slot as usize + 1, false);
        }
        self.is_ready[slot as usize] = false;
    }

    /// Marks a completion as ready.
    pub fn is_ready(&mut self, slot: Slot) {
        self.is_ready[slot as usize] = true;
    }

    /// The next of a queue that may be answered now; it waits no more.
    pub fn next(&mut self, queue: u16) -> Option<Slot> {
        let first = *self.of_queue(queue).front()?;
        if !self.is_ready[first as usize] {
            return None;
        }
        self.of_queue(queue).pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_waits_for_those_of_its_queue_before_it() {
        let link = HostLink { completions: Completions::InOrder, queues: 2, ..HostLink::default() };
        let mut order = InOrder::of(&link).unwrap();
        for (slot, queue) in [(7, 0), (3, 1), (5, 0), (4, 2)] {
            order.came(slot, queue);
        }
        // Queue 2 is queue 0 again.
        order.is_ready(4);
        order.is_ready(5);
        assert_eq!((order.next(0), order.next(1)), (None, None));
        order.is_ready(7);
        assert_eq!([0; 4].map(|queue| order.next(queue)), [Some(7), Some(5), Some(4), None]);
        order.is_ready(3);
        assert_eq!(order.next(1), Some(3));
        assert!(InOrder::of(&HostLink::default()).is_none());
    }
}
