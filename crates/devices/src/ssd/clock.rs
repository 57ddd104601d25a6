//! The clock of the drive: the current time, and pending events.

use engine::{EventId, EventQueue, Time};

/// What may happen at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Event {
    /// Something happens in the flash back end, which knows what: the number of a lane of which a stage
    /// ends, or of whatever else it has.
    Flash(u32),
    /// The host link has finished a transfer.
    LinkFree,
    /// The device sees a request that the host has sent.
    RequestArrives,
    /// Of a drive that recovers from a power cut, or writes checkpoints: something is due.
    Power(u32),
    /// A lane has ended a stage of its recovery.
    PowerLane(u32),
}

/// Events that are not of the flash, as the queue holds them.
const LINK_FREE: u32 = (1 << 24) - 1;
const REQUEST_ARRIVES: u32 = (1 << 24) - 2;
/// Those of power cuts: a few, and one for each lane.
const POWER: u32 = 15 << 20;
const POWER_LANE: u32 = 14 << 20;

/// Lanes of a drive that recovers, at most.
pub(in crate::ssd) const MOST_LANES: u32 = 1 << 20;

/// The present instant and the events to come, which host and flash share: what happens at one instant
/// happens in the order in which it was asked for.
#[derive(Debug, Clone, Default)]
pub(in crate::ssd) struct Clock {
    pub(in crate::ssd) now: Time,
    events: EventQueue,
}

impl Clock {
    /// Nothing is to come.
    pub(in crate::ssd) fn at(now: Time) -> Clock {
        Clock { now, ..Clock::default() }
    }

    /// Asks for an event.
    #[inline]
    pub(in crate::ssd) fn call(&mut self, at: Time, event: Event) -> EventId {
        let number = match event {
            Event::Flash(number) => number,
            Event::LinkFree => LINK_FREE,
            Event::RequestArrives => REQUEST_ARRIVES,
            Event::Power(which) => POWER + which,
            Event::PowerLane(lane) => POWER_LANE + lane,
        };
        self.events.push(at, number)
    }

    /// Takes back an event that has not happened.
    pub(in crate::ssd) fn take_back(&mut self, event: EventId) {
        self.events.cancel(event);
    }

    /// When something happens next.
    pub(in crate::ssd) fn next_at(&self) -> Option<Time> {
        self.events.next_at()
    }

    /// Goes to the next event, if that is not after `to`.
    #[inline]
    pub(in crate::ssd) fn go_on(&mut self, to: Time) -> Option<Event> {
        let (at, number) = self.events.pop_until(to)?;
        self.now = at;
        if number < POWER_LANE {
            return Some(Event::Flash(number));
        }
        Some(match number {
            LINK_FREE => Event::LinkFree,
            REQUEST_ARRIVES => Event::RequestArrives,
            POWER.. => Event::Power(number - POWER),
            _ => Event::PowerLane(number - POWER_LANE),
        })
    }
}
