//! The executor of a drive: queues for the flash, flash operations, and cleaning.
//!
//! There are two, and the controller speaks to both by the same messages. Without a write buffer [`Direct`] gives a page
//! its place when a unit is free for it. With one [`Buffered`] gathers pages into groups, which dies program.
//!
//! An executor is given what it shares with the rest of the drive as a [`Cx`]. It never calls the
//! controller: it returns the effects of a completed operation.

mod aged;
mod ageing;
mod buffered;
mod direct;
mod heat;
mod refresh;
mod seen;
mod slc;

pub(crate) use buffered::{Buffered, DieEnd};
pub(crate) use direct::{Direct, LaneEnd};
pub(crate) use seen::Seen;

use crate::clock::Clock;
use crate::device::kit::slots::Slot;
use crate::flash::Flash;
use crate::front::Front;
use crate::ftl::Ftl;
use crate::ids::{Domain, Lpn, Stream, Unit};
use crate::page::{Answer, HeldFor};
use crate::shape::Geometry;
use crate::timeline::{Finished, Recorder, Word};
use engine::{Request, Status, Time};

/// Parts of a drive that an executor shares with the others.
pub(crate) struct Cx<'a> {
    pub front: &'a mut Front,
    pub ftl: &'a mut Ftl,
    pub flash: &'a mut Flash,
    pub clock: &'a mut Clock,
    /// Answers of the event.
    pub answers: &'a mut Vec<Answer>,
    pub recorder: &'a mut Option<Box<Recorder>>,
}

/// The [`Cx`] of a drive, from fields that nothing else borrows.
macro_rules! cx {
    ($ssd:expr) => {
        &mut crate::executor::Cx {
            front: &mut $ssd.front,
            ftl: &mut $ssd.ftl,
            flash: &mut $ssd.flash,
            clock: &mut $ssd.clock,
            answers: &mut $ssd.answers,
            recorder: &mut $ssd.recorder,
        }
    };
}
pub(crate) use cx;

impl Cx<'_> {
    /// Records an operation of a lane or die, if enabled.
    #[inline]
    fn record(&mut self, place: u32, word: Word, finished: Finished) {
        if let Some(recorder) = self.recorder {
            recorder.record(place, word, finished, self.clock.now);
        }
    }

    /// A request is done, and answered after the event.
    fn answer(&mut self, slot: Slot, status: Status, held: HeldFor) {
        self.front.decide(slot);
        self.answers.push(Answer::Done { slot, status, held });
    }
}

/// Finds the number under which a page lies.
pub(crate) type Rename<'a> = dyn Fn(&Ftl, Lpn) -> Option<Lpn> + 'a;

/// Messages to an executor, besides the ends of its operations.
pub(crate) trait Executor {
    /// A read or write of the host begins.
    fn begin(&mut self, slot: Slot, request: &Request, cx: &mut Cx<'_>);

    /// A read of the host begins, of pages that lie under other numbers, or under none.
    fn begin_renamed(&mut self, slot: Slot, request: &Request, name: &Rename<'_>, cx: &mut Cx<'_>);

    /// Pages were trimmed.
    fn trimmed(&mut self, cx: &mut Cx<'_>);

    /// Starts all operations that can start before the next event.
    fn settle(&mut self, cx: &mut Cx<'_>);

    /// Writes a page of the drive's own.
    fn write_own(&mut self, unit: Unit, cx: &mut Cx<'_>);

    /// Writes pages anew after a cut; of how many, and how many ends of that there will be.
    fn restore(&mut self, lpns: &[Lpn], cx: &mut Cx<'_>) -> (u32, u32);

    /// Reads a page of the map, which lies on a unit and plane.
    fn read_map(&mut self, page: u32, place: (Unit, u32), cx: &mut Cx<'_>);

    /// Programs pages of the map.
    fn program_map(&mut self, unit: Unit, cx: &mut Cx<'_>);

    /// Pads the open blocks of these domains and streams.
    fn end_units(&mut self, units: Vec<(Domain, Stream)>, cx: &mut Cx<'_>);

    /// Cleans the blocks that would be cleaned soon.
    fn clean_now(&mut self, cx: &mut Cx<'_>);

    /// Cleaning waits as long as there is room, or no longer.
    fn put_off_cleaning(&mut self, put_off: bool);

    /// Programs waiting pages, and moves the other pages of half-moved victims.
    fn shut_down(&mut self, cx: &mut Cx<'_>);

    /// Forgets the load: the drive is on since `now`.
    fn turn_on(&mut self, geometry: &Geometry, now: Time);

    /// Counts from zero.
    fn reset_counts(&mut self, now: Time);

    /// Drops all operations and waiting pages.
    fn lose_power(&mut self, geometry: &Geometry, now: Time);
}
