//! Events of the array itself: link transfers, failures, rebuilds, and recovery from power cuts.

use engine::{EventQueue, Time};

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The link has finished a transfer.
    LinkFree,
    /// A request of the host reaches the controller.
    Arrival,
    /// Resynchronises the next unit of stripes after a power cut.
    Resync,
    /// Rebuilds the next unit of a member.
    Rebuild(usize),
    /// A member fails.
    Failure(usize),
}

/// Maximum member number that an event can encode.
const MEMBERS: u32 = 1 << 16;

impl Event {
    fn pack(self) -> u32 {
        let (kind, member) = match self {
            Event::LinkFree => (0, 0),
            Event::Arrival => (1, 0),
            Event::Resync => (2, 0),
            Event::Rebuild(member) => (3, member),
            Event::Failure(member) => (4, member),
        };
        kind * MEMBERS + member as u32
    }

    fn unpack(packed: u32) -> Event {
        let member = (packed % MEMBERS) as usize;
        let all = [
            Event::LinkFree,
            Event::Arrival,
            Event::Resync,
            Event::Rebuild(member),
            Event::Failure(member),
        ];
        all[(packed / MEMBERS) as usize]
    }
}

/// Pending events, in order.
#[derive(Debug, Clone, Default)]
pub struct Clock(EventQueue);

impl Clock {
    #[inline]
    pub fn push(&mut self, at: Time, event: Event) {
        self.0.push(at, event.pack());
    }

    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        self.0.next_at()
    }

    #[inline]
    pub fn pop_until(&mut self, to: Time) -> Option<Event> {
        self.0.pop_until(to).map(|(_, packed)| Event::unpack(packed))
    }

    /// Cancels all events and returns them in order.
    pub fn clear(&mut self) -> Vec<(Time, Event)> {
        let all = std::iter::from_fn(|| self.0.pop_until(Time::MAX));
        all.map(|(at, packed)| (at, Event::unpack(packed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out_in_order() {
        let mut clock = Clock::default();
        let all = [
            Event::Failure(1023),
            Event::LinkFree,
            Event::Rebuild(7),
            Event::Resync,
            Event::Arrival,
        ];
        all.iter().rev().for_each(|event| clock.push(9, *event));
        clock.push(3, Event::Failure(0));
        assert_eq!((clock.next_at(), clock.pop_until(8)), (Some(3), Some(Event::Failure(0))));
        assert_eq!(clock.pop_until(8), None);
        assert_eq!(clock.clear(), all.iter().rev().map(|it| (9, *it)).collect::<Vec<_>>());
        assert_eq!(clock.next_at(), None);
    }
}
