//! Operations of units that reads have stopped.

use super::lanes::Running;
use super::state::Stops;
use crate::config::SsdConfig;
use engine::{EventId, Time};

/// Resumption of a stopped operation.
#[derive(Debug, Clone)]
pub(super) struct Stopped {
    pub flight: u32,
    pub running: Running,
}

/// An operation of a unit that a read may stop, or has stopped.
#[derive(Debug, Clone, Default)]
struct Halt {
    /// The event of the operation under way.
    event: Option<EventId>,
    /// Time of the present operation's last resumption, if any; and how often it was.
    since: Option<Time>,
    /// End of the stage in which it was last stopped.
    stage_ends: Time,
    stops: u32,
    /// Time of the stop: since when, and at which instant; request and instant; and the added delay
    /// if it resumes at once.
    stopping: Option<(Time, Time)>,
    costs: Time,
    stopped: Option<Stopped>,
    /// Reads that have passed it.
    passed: u32,
}

/// Operations of all units; of none where nothing stops for a read.
#[derive(Debug, Clone)]
pub(super) struct Halts {
    stops: Stops,
    each: Vec<Halt>,
}

impl Halts {
    pub fn new(config: &SsdConfig, lanes: usize) -> Halts {
        let count = if config.suspend.suspends() { lanes } else { 0 };
        Halts { stops: Stops::new(&config.suspend), each: memory::filled(Halt::default(), count) }
    }

    /// True if reads suspend operations.
    #[inline]
    pub fn are_on(&self) -> bool {
        !self.each.is_empty()
    }

    /// Notes the event of a lane's operation; of a new operation where that is `first`.
    pub fn note_event(&mut self, lane: u32, event: EventId, first: bool) {
        let halt = &mut self.each[lane as usize];
        halt.event = Some(event);
        if first && halt.stopped.is_none() {
            (halt.since, halt.stops, halt.passed) = (None, 0, 0);
        }
    }

    /// A read waits for a program or an erasure that runs from one instant to another: if that stops, the event to
    /// take back, and when it has stopped.
    pub fn stop(
        &mut self,
        lane: u32,
        erases: bool,
        (begun, ends): (Time, Time),
        now: Time,
    ) -> Option<(EventId, Time)> {
        let halt = &mut self.each[lane as usize];
        if halt.stopping.is_some() || halt.stopped.is_some() {
            return None;
        }
        let (at, left) = self.stops.stop(erases, (begun, ends - begun), halt.stops, 0, now)?;
        halt.stops += 1;
        halt.stage_ends = ends;
        halt.stopping = Some((now, at));
        // Rest at that instant, less the rest without a stop, and the time of the resume.
        halt.costs = left - (ends - at) + self.stops.resume_ns(true);
        Some((halt.event.take()?, at))
    }

    /// Last resumption of a suspended program or erase, and its end.
    pub fn going_on(&self, lane: u32, now: Time) -> Option<(Time, Time)> {
        let halt = self.each.get(lane as usize)?;
        halt.since.filter(|_| halt.stage_ends > now).map(|since| (since, halt.stage_ends))
    }

    /// True if the event of a lane is that its operation has stopped.
    #[inline]
    pub fn is_stopping(&self, lane: u32) -> bool {
        self.each
            .get(lane as usize)
            .is_some_and(|halt| halt.stopping.is_some() && halt.stopped.is_none())
    }

    /// Marks the operation as stopped.
    pub fn stopped(&mut self, lane: u32, stopped: Stopped) {
        self.each[lane as usize].stopped = Some(stopped);
    }

    /// True if a lane has an operation that has stopped.
    #[inline]
    pub fn has_stopped(&self, lane: u32) -> bool {
        self.each.get(lane as usize).is_some_and(|halt| halt.stopped.is_some())
    }

    /// Number of the operation stopped on a lane.
    pub fn flight(&self, lane: u32) -> Option<u32> {
        Some(self.each.get(lane as usize)?.stopped.as_ref()?.flight)
    }

    /// True if a read may precede the stopped operation, and the suspension wait of a read queued
    /// at `since`.
    pub fn may_pass(&mut self, lane: u32) -> bool {
        let halt = &mut self.each[lane as usize];
        let passes = !self.stops.is_turn_of_task(halt.passed);
        halt.passed += u32::from(passes);
        passes
    }

    /// Suspension wait on a lane of an operation queued at `since`.
    pub fn waited(&self, lane: u32, since: Time) -> Time {
        let stopping = self.each.get(lane as usize).and_then(|halt| halt.stopping);
        stopping.map_or(0, |(from, to)| to.saturating_sub(since.max(from)))
    }

    /// Takes the stopped operation, with its delay.
    pub fn take(&mut self, lane: u32, now: Time) -> Option<(Stopped, Time)> {
        let halt = &mut self.each[lane as usize];
        let stopped = halt.stopped.take()?;
        let (_, at) = halt.stopping.take().expect("it stopped at an instant");
        let later = now - at + halt.costs;
        halt.since = Some(now);
        halt.stage_ends += later;
        halt.passed = 0;
        Some((stopped, later))
    }

    /// Drops all operations, suspended ones included.
    pub fn lose_power(&mut self) {
        self.each.fill(Halt::default());
    }
}
