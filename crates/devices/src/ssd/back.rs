//! The two flash back ends: pages that are programmed one by one, and groups of them behind a write
//! buffer. What the rest of the drive asks of either is here.

use super::account::UnitAccount;
use super::buffered::Buffered;
use super::clock::Clock;
use super::flash::Flash;
use super::ftl::{Ftl, Programming};
use super::ids::{Block, Lpn, Unit};
use super::sched::{CutProgram, Scheduler};
use super::timeline::{Recorder, Timeline, Window};
use engine::Time;

/// A flash back end.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a drive")]
pub(in crate::ssd) enum Back {
    /// Units that serve a page at a time.
    Pages(Scheduler),
    /// Dies that program groups of pages out of a write buffer.
    Groups(Box<Buffered>),
}

impl Back {
    #[inline]
    pub(in crate::ssd) fn ftl(&self) -> &Ftl {
        match self {
            Back::Pages(back) => &back.ftl,
            Back::Groups(back) => &back.ftl,
        }
    }

    pub(in crate::ssd) fn flash(&self) -> &Flash {
        match self {
            Back::Pages(back) => &back.flash,
            Back::Groups(back) => &back.flash,
        }
    }

    /// What is kept of a drive, to be changed.
    pub(in crate::ssd) fn state(&mut self) -> (&mut Ftl, &mut Flash) {
        match self {
            Back::Pages(back) => (&mut back.ftl, &mut back.flash),
            Back::Groups(back) => (&mut back.ftl, &mut back.flash),
        }
    }

    /// Writes a page of the drive's own on a unit, or a die.
    pub(in crate::ssd) fn write_own(&mut self, unit: Unit, clock: &mut Clock) {
        match self {
            Back::Pages(back) => back.write_system(unit, None, clock),
            Back::Groups(back) => back.write_own(unit, clock),
        }
    }

    /// Writes pages anew after a cut; how many ends of that there will be.
    pub(in crate::ssd) fn restore(&mut self, lpns: &[Lpn], clock: &mut Clock) -> (u32, u32) {
        match self {
            Back::Pages(back) => {
                let count = lpns.iter().map(|lpn| u32::from(back.restore(*lpn, clock))).sum();
                (count, count)
            }
            Back::Groups(back) => {
                let count = back.restore(lpns, clock);
                (count, count.min(1))
            }
        }
    }

    /// The programs that the flash does not know yet, in the order in which they were begun.
    pub(in crate::ssd) fn open_programs(&self, now: Time) -> Vec<CutProgram> {
        match self {
            Back::Pages(back) => back.cut_programs(now),
            Back::Groups(back) => back.open_programs(),
        }
    }

    /// Everything that is under way or waits is gone.
    pub(in crate::ssd) fn lose_power(&mut self, now: Time) {
        match self {
            Back::Pages(back) => back.lose_power(now),
            Back::Groups(back) => back.lose_power(now),
        }
    }

    /// Pages whose programming has begun: the map knows them, the flash does not yet.
    pub(in crate::ssd) fn programming(&self) -> Vec<Programming> {
        match self {
            Back::Pages(back) => back.units.programming().collect(),
            Back::Groups(back) => back.programming(),
        }
    }

    /// Blocks whose erasure has begun.
    pub(in crate::ssd) fn erasing(&self) -> Vec<Block> {
        match self {
            Back::Pages(back) => back.units.erasing().collect(),
            Back::Groups(back) => back.erasing(),
        }
    }

    /// What each unit, or die, did up to `end`.
    pub(in crate::ssd) fn units(&self, end: Time) -> Vec<UnitAccount> {
        match self {
            Back::Pages(back) => {
                let account = |unit| back.unit_account(Unit(unit), end);
                (0..back.ftl.geometry().units).map(account).collect()
            }
            Back::Groups(back) => back.unit_accounts(end),
        }
    }

    /// How long each bus was in use up to `end`.
    pub(in crate::ssd) fn bus_busy_ns(&self, end: Time) -> Vec<Time> {
        match self {
            Back::Pages(back) => back.lanes.bus_busy_ns(end).collect(),
            Back::Groups(back) => back.bus_busy_ns(end),
        }
    }

    /// Starts counting from zero.
    pub(in crate::ssd) fn reset_counters(&mut self) {
        let (ftl, flash) = self.state();
        ftl.end_untimed(flash);
        ftl.reset_counters(flash);
        match self {
            Back::Pages(back) => back.lanes.reset_effort(),
            Back::Groups(back) => back.reset_effort(),
        }
    }

    fn recorder(&mut self) -> &mut Option<Box<Recorder>> {
        match self {
            Back::Pages(back) => &mut back.recorder,
            Back::Groups(back) => &mut back.recorder,
        }
    }

    /// Notes the operations of a window from now on.
    pub(in crate::ssd) fn record(&mut self, window: Window) {
        *self.recorder() = Some(Box::new(Recorder::new(window)));
    }

    /// What was noted.
    pub(in crate::ssd) fn take_record(&mut self) -> Option<Timeline> {
        let recorder = self.recorder().take()?;
        Some(recorder.finish(self.ftl().geometry()))
    }
}
