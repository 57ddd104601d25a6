//! The clock of the drive: the current time, and pending events.

use engine::{EventId, EventQueue, Time};

/// Event at a die, or on a bus, at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DieEvent {
    /// A transfer on this bus has ended.
    Crossed(u32),
    /// The data of this read are in the registers.
    Sensed(u32),
    /// `Sensed` for a read with a large number: it is noted here.
    SensedFar(u32),
    /// The cells of this die have ended a program or an erase.
    CellDone(u32),
    /// The dies have stopped an operation.
    Stopped(u32),
}

/// Event at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A stage of the operation on this lane ends.
    Lane(u32),
    /// An event at a die or its bus.
    Die(DieEvent),
    /// A processor of the controller is done with a command.
    Core(u32),
    /// The linger time of a group ended.
    Lingered(u32),
    /// The write buffer may let in more.
    MeterOpens,
    /// Sampling of the temperature.
    Heat,
    /// A timer of the SLC cache has ended.
    Slc(u32),
    /// A look-up of the map in memory of the host has ended.
    MapLookedUp,
    /// The host link has finished a transfer.
    LinkFree,
    /// The device sees a request that the host has sent.
    RequestArrives,
    /// A timer of a drive with recovery or checkpoints: recovery and checkpoints.
    Power(u32),
    /// A lane has ended a stage of recovery.
    PowerLane(u32),
}

/// Queues of events of equal duration: host link, processors, buses, reads on units, dies that
/// sense one page type, and retries. That has a line with the last type, of which few dies have
/// pages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Line {
    Link,
    Cores,
    Buses,
    Senses(u32),
    Soon,
}

impl Line {
    const SENSES: usize = EventQueue::LINES - 3;

    #[inline]
    fn number(self) -> usize {
        match self {
            Line::Link => 0,
            Line::Cores => 1,
            Line::Buses => 2,
            Line::Senses(kind) => 3 + kind as usize % Line::SENSES,
            Line::Soon => 2 + Line::SENSES,
        }
    }
}

/// The kinds of event: the queue holds a number below 2^24, with the kind above the object's bits.
macro_rules! kinds {
    ($($kind:ident = $event:pat => $number:expr, |$given:ident| $made:expr;)+) => {
        #[derive(Clone, Copy)]
        enum Kind { $($kind,)+ }

        impl Event {
            #[inline(always)]
            fn packed(self) -> u32 {
                let (kind, number) = match self {
                    $($event => (Kind::$kind, $number),)+
                };
                debug_assert!(number < MOST_LANES, "what an event is about has 20 bits");
                (kind as u32) << NUMBER_BITS | number
            }

            #[inline(always)]
            fn unpacked(packed: u32) -> Event {
                let number = packed & (MOST_LANES - 1);
                match packed >> NUMBER_BITS {
                    $(kind if kind == Kind::$kind as u32 => { let $given = number; $made })+
                    _ => unreachable!("only these are asked for"),
                }
            }
        }
    };
}

kinds! {
    Lane = Event::Lane(lane) => lane, |lane| Event::Lane(lane);
    Crossed = Event::Die(DieEvent::Crossed(bus)) => bus, |bus| Event::Die(DieEvent::Crossed(bus));
    Sensed = Event::Die(DieEvent::Sensed(read)) => read, |read| Event::Die(DieEvent::Sensed(read));
    SensedFar = Event::Die(DieEvent::SensedFar(place)) => place, |place| Event::Die(DieEvent::SensedFar(place));
    CellDone = Event::Die(DieEvent::CellDone(die)) => die, |die| Event::Die(DieEvent::CellDone(die));
    Stopped = Event::Die(DieEvent::Stopped(die)) => die, |die| Event::Die(DieEvent::Stopped(die));
    Core = Event::Core(core) => core, |core| Event::Core(core);
    Lingered = Event::Lingered(group) => group, |group| Event::Lingered(group);
    MeterOpens = Event::MeterOpens => 0, |_none| Event::MeterOpens;
    Heat = Event::Heat => 0, |_none| Event::Heat;
    Slc = Event::Slc(timer) => timer, |timer| Event::Slc(timer);
    MapLookedUp = Event::MapLookedUp => 0, |_none| Event::MapLookedUp;
    LinkFree = Event::LinkFree => 0, |_none| Event::LinkFree;
    RequestArrives = Event::RequestArrives => 0, |_none| Event::RequestArrives;
    Power = Event::Power(which) => which, |which| Event::Power(which);
    PowerLane = Event::PowerLane(lane) => lane, |lane| Event::PowerLane(lane);
}

/// Bits of the number of the object within an event.
const NUMBER_BITS: u32 = 20;

/// Maximum number of lanes, dies, groups and other objects with events: fewer than this of each.
pub(crate) const MOST_LANES: u32 = 1 << 20;

/// The current time and the pending events, shared by host and flash; events at one instant occur
/// in the order of their requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock {
    pub(crate) now: Time,
    events: EventQueue,
}

impl Clock {
    /// Drops events before an instant.
    pub fn pass(&mut self, to: Time) {
        self.now = to;
    }

    /// A clock without events.
    pub(crate) fn at(now: Time) -> Clock {
        Clock { now, ..Clock::default() }
    }

    /// Schedules an event.
    #[inline]
    pub(crate) fn call(&mut self, at: Time, event: Event) -> EventId {
        self.events.push(at, event.packed())
    }

    /// Schedules an event that is never cancelled, in a line where durations are mostly equal.
    #[expect(clippy::inline_always, reason = "line and kind are known where it is called")]
    #[inline(always)]
    pub(crate) fn call_in_line(&mut self, line: Line, at: Time, event: Event) {
        self.events.push_in_line(line.number(), at, event.packed());
    }

    /// Takes back an event that has not happened.
    pub fn take_back(&mut self, event: EventId) {
        self.events.cancel(event);
    }

    /// Advances to an instant after its events.
    pub fn go_to(&mut self, now: Time) {
        self.now = now;
    }

    /// Time of the next event.
    pub fn next_at(&self) -> Option<Time> {
        self.events.next_at()
    }

    /// Advances to the next event, if not after `to`.
    #[expect(clippy::inline_always, reason = "every event passes here")]
    #[inline(always)]
    pub(crate) fn proceed(&mut self, to: Time) -> Option<Event> {
        let (at, number) = self.events.pop_until(to)?;
        self.now = at;
        // The most frequent event, without a table.
        Some(if number < MOST_LANES { Event::Lane(number) } else { Event::unpacked(number) })
    }
}
