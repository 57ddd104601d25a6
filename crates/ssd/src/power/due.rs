//! Checkpoints while a drive serves: their timing, content and writing.

use super::checkpoint::{Checkpoint, DUE, Writing};
use super::state::{Own, Power, State};
use super::truth::durable;
use crate::Ssd;
use crate::clock::Event;
use crate::flash::Flash;
use crate::ftl::PageMap;
use crate::ids::{Lpn, Unit};
use crate::shape::Geometry;

impl Ssd {
    /// Schedules the next checkpoint, if data were written since the last one.
    pub(crate) fn await_checkpoint(&mut self) {
        let Some(power) = &mut self.power else { return };
        let checkpoints = &mut power.checkpoints;
        let is_idle = checkpoints.is_used && !checkpoints.is_due && checkpoints.writing.is_none();
        let programs = Some(self.ftl.next_program());
        if !is_idle || checkpoints.programs == programs || !matches!(power.state, State::Serving) {
            return;
        }
        checkpoints.is_due = true;
        let at = self.clock.now + power.config.checkpoint.ns();
        self.clock.call(at, Event::Power(DUE));
    }

    /// Starts a checkpoint if its time has come.
    pub(super) fn begin_checkpoint(&mut self) {
        let programs = self.seen().open_programs(&self.ftl, self.clock.now);
        let power = self.power.as_mut().expect("it has checkpoints");
        let (ftl, flash) = (&self.ftl, &self.flash);
        let geometry = ftl.geometry();
        let (mut map, awaited) = durable(ftl, &programs);
        if geometry.groups.is_some() {
            forget_erased(&mut map, geometry, flash);
        }
        // Moved cold data keep an old number, and are also at their former location.
        let written = programs.iter().filter(|it| !ftl.is_filling(it.programming.block));
        let horizon = written.map(|it| ftl.header_of(flash, &it.programming).2).min();
        let checkpoint = Checkpoint::new((ftl, flash), map, &awaited, horizon);
        let checkpoints = &mut power.checkpoints;
        checkpoints.is_due = false;
        checkpoints.programs = Some(ftl.next_program());
        checkpoints.places[1 - checkpoints.last] = None;
        let units = u64::from(power.reader.lanes() / geometry.granule.span);
        let left = checkpoints.pages.div_ceil(checkpoints.at_a_time).max(1);
        let mut by_unit = memory::filled(left / units, units as usize);
        by_unit[..(left % units) as usize].iter_mut().for_each(|pages| *pages += 1);
        let free = (0..units as u32).map(Unit).filter(|unit| by_unit[unit.at()] > 0).collect();
        checkpoints.writing = Some(Writing { checkpoint, by_unit, left, free });
        self.write_checkpoint();
    }

    /// Writes checkpoint pages on idle units.
    pub(super) fn write_checkpoint(&mut self) {
        while let Some(unit) = self.power.as_mut().and_then(|power| power.next_checkpoint_page()) {
            let (executor, mut cx) = self.executor();
            executor.write_own(unit, &mut cx);
        }
    }
}

impl Power {
    /// Next unit that can write a checkpoint page.
    fn next_checkpoint_page(&mut self) -> Option<Unit> {
        let unit = self.checkpoints.writing.as_mut()?.free.pop_front()?;
        self.own_pages.entry(unit.0).or_default().push_back(Own::Checkpoint);
        Some(unit)
    }

    /// Completes a unit's checkpoint page.
    pub(super) fn checkpoint_page_written(&mut self, unit: Unit) {
        let checkpoints = &mut self.checkpoints;
        self.report.checkpoint_programs += checkpoints.at_a_time;
        let Some(writing) = &mut checkpoints.writing else { return };
        writing.left -= 1;
        let pages = &mut writing.by_unit[unit.at()];
        *pages -= 1;
        if *pages > 0 {
            writing.free.push_back(unit);
        }
        if writing.left > 0 {
            return;
        }
        let written = checkpoints.writing.take().expect("it was there").checkpoint;
        self.trims.covered(written.horizon);
        checkpoints.last = 1 - checkpoints.last;
        checkpoints.places[checkpoints.last] = Some(written);
    }
}

/// With a protected buffer the source of a buffered copy may be erased. The page is then in no
/// flash block until the copy is programmed.
fn forget_erased(map: &mut PageMap, geometry: &Geometry, flash: &Flash) {
    let is_gone = |(lpn, ppn): &(Lpn, crate::ids::Ppn)| {
        let programmed = flash.programmed(geometry.block_of(*ppn));
        geometry.page_in_block(*ppn) >= programmed || flash.stamp(*ppn) != *lpn
    };
    let gone: Vec<Lpn> = map.mapped().filter(is_gone).map(|(lpn, _)| lpn).collect();
    for lpn in gone {
        map.clear(lpn);
    }
}
