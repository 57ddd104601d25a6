//! Checkpoints: the map is written to one of two places in turn, outside of the blocks for data, page by page
//! between the pages of requests. A start reads the last whole one, and the blocks that were opened since.
//!
//! Which those are the controller knows by the order in which it opens blocks; here it is told by what
//! has changed in the flash. A checkpoint has each page where it lay when the last program before it ended,
//! and of its trims needs no record.

use super::planted::Bug;
use super::{Power, State};
use crate::ssd::Ssd;
use crate::ssd::back::Back;
use crate::ssd::clock::Event;
use crate::ssd::config::{Recovery, SsdConfig};
use crate::ssd::flash::Flash;
use crate::ssd::ftl::PageMap;
use crate::ssd::ids::{Block, Lpn, Unit};
use crate::ssd::shape::Geometry;

use super::own::Own;

/// The event at which a checkpoint is due.
pub(super) const DUE: u32 = 1;

/// A checkpoint.
#[derive(Debug, Clone)]
struct Checkpoint {
    map: PageMap,
    /// Programs below this number had ended.
    horizon: u64,
    /// Of each block: erasures, and pages programmed.
    blocks: Vec<(u32, u32)>,
}

/// The one that is being written.
#[derive(Debug, Clone)]
struct Writing {
    checkpoint: Checkpoint,
    /// Pages that are left, by unit, and in all.
    by_unit: Vec<u64>,
    left: u64,
}

/// The checkpoints of a drive.
#[derive(Debug, Clone)]
pub(in crate::ssd) struct Checkpoints {
    is_used: bool,
    /// Flash pages of one.
    pub(super) pages: u64,
    /// Flash pages that are written at a time.
    at_a_time: u64,
    places: [Option<Checkpoint>; 2],
    /// The place that has the last one, or had it.
    last: usize,
    writing: Option<Writing>,
    is_due: bool,
    /// The number of the next program when the last one was begun.
    programs: Option<u64>,
}

impl Checkpoints {
    pub(super) fn new(config: &SsdConfig, geometry: &Geometry) -> Checkpoints {
        let entry = if geometry.wide { 5 } else { 4 };
        let bytes = geometry.exported_pages() * entry;
        Checkpoints {
            is_used: config.persistence.recovery == Recovery::Checkpoint,
            pages: bytes.div_ceil(config.page_size.bytes()),
            at_a_time: u64::from(geometry.granule.flash_pages),
            places: [None, None],
            last: 1,
            writing: None,
            is_due: false,
            programs: None,
        }
    }

    /// What was being written is not whole.
    pub(super) fn lose_power(&mut self) {
        self.is_due = false;
        let Some(writing) = self.writing.take() else { return };
        if Bug::HalfCheckpoint.is_planted() {
            let mut half = writing.checkpoint;
            let pages = half.map.mapped().map(|(lpn, _)| lpn).collect::<Vec<_>>();
            let all: u64 = self.pages.div_ceil(self.at_a_time).max(1);
            let there = pages.len() as u64 * (all - writing.left) / all;
            for lpn in &pages[there as usize..] {
                half.map.clear(*lpn);
            }
            self.last = 1 - self.last;
            self.places[self.last] = Some(half);
        }
    }

    fn last(&self) -> Option<&Checkpoint> {
        self.places[self.last].as_ref()
    }

    /// Whether a start can begin with one.
    pub(super) fn is_there(&self) -> bool {
        self.last().is_some()
    }

    /// Whether a block has changed since the last one.
    pub(super) fn has_changed(&self, flash: &Flash, block: Block) -> bool {
        self.last().is_none_or(|last| last.blocks[block.at()] != state(flash, block))
    }

    /// The map of the last one with what was programmed since; nothing without one.
    pub(super) fn find_map(&self, geometry: &Geometry, flash: &Flash) -> Option<PageMap> {
        let last = self.last()?;
        let mut map = last.map.clone();
        let mut gone = vec![false; geometry.exported_pages() as usize];
        for (lpn, ppn) in last.map.mapped() {
            let block = geometry.block_of(ppn);
            let erased = last.blocks[block.at()].0 != flash.erases()[block.at()];
            if erased || self.has_changed(flash, block) && flash.stamp(ppn) != lpn {
                gone[lpn.0 as usize] = true;
                map.clear(lpn);
            }
        }
        for block in (0..geometry.blocks()).map(Block) {
            if !self.has_changed(flash, block) {
                continue;
            }
            for page in 0..flash.programmed(block).min(geometry.data_pages) {
                let ppn = geometry.ppn(block, page);
                let (lpn, order) = (flash.stamp(ppn), flash.full_order(ppn));
                if lpn == Lpn::PADDING || order < last.horizon && !gone[lpn.0 as usize] {
                    continue;
                }
                if map.get(lpn).ppn().is_none_or(|found| flash.full_order(found) < order) {
                    map.set(lpn, ppn);
                }
            }
        }
        Some(map)
    }
}

fn state(flash: &Flash, block: Block) -> (u32, u32) {
    (flash.erases()[block.at()], flash.programmed(block))
}

impl Ssd {
    /// Asks for the event of the next checkpoint, if something was written since the last.
    pub(in crate::ssd) fn await_checkpoint(&mut self) {
        let Some(power) = &mut self.power else { return };
        let checkpoints = &mut power.checkpoints;
        let is_idle = checkpoints.is_used && !checkpoints.is_due && checkpoints.writing.is_none();
        let programs = Some(self.back.ftl().next_program());
        if !is_idle || checkpoints.programs == programs || !matches!(power.state, State::Serving) {
            return;
        }
        checkpoints.is_due = true;
        let at = self.clock.now + power.config.checkpoint.ns();
        self.clock.call(at, Event::Power(DUE));
    }

    /// A checkpoint is due.
    pub(super) fn begin_checkpoint(&mut self) {
        let Back::Pages(back) = &mut self.back else { return };
        let power = self.power.as_mut().expect("it has checkpoints");
        let programs = back.cut_programs(self.clock.now);
        let (ftl, flash) = (&back.ftl, &back.flash);
        let geometry = ftl.geometry();
        let map = super::judge::durable(ftl, &programs);
        // Cold data that is moved keeps an old number, and lies where it came from, too.
        let written = programs.iter().filter(|it| !ftl.is_filling(it.programming.block));
        let horizon = written.map(|it| ftl.header_of(flash, &it.programming).2).min();
        let checkpoint = Checkpoint {
            map,
            horizon: horizon.unwrap_or(ftl.next_program()),
            blocks: (0..geometry.blocks()).map(|block| state(flash, Block(block))).collect(),
        };
        let checkpoints = &mut power.checkpoints;
        checkpoints.is_due = false;
        checkpoints.programs = Some(ftl.next_program());
        checkpoints.places[1 - checkpoints.last] = None;
        let units = u64::from(geometry.units);
        let left = checkpoints.pages.div_ceil(checkpoints.at_a_time).max(1);
        let mut by_unit = vec![left / units; units as usize];
        by_unit[..(left % units) as usize].iter_mut().for_each(|pages| *pages += 1);
        let busy: Vec<u32> = (0..units as u32).filter(|unit| by_unit[*unit as usize] > 0).collect();
        checkpoints.writing = Some(Writing { checkpoint, by_unit, left });
        for unit in busy {
            self.write_checkpoint_page(Unit(unit));
        }
    }

    fn write_checkpoint_page(&mut self, unit: Unit) {
        let Back::Pages(back) = &mut self.back else { return };
        let power = self.power.as_mut().expect("it has checkpoints");
        power.own_pages.entry(unit.0).or_default().push_back(Own::Checkpoint);
        back.write_system(unit, None, &mut self.clock);
    }

    /// A page of a checkpoint is written.
    pub(super) fn checkpoint_page_written(&mut self, unit: Unit) {
        let power = self.power.as_mut().expect("it has checkpoints");
        let checkpoints = &mut power.checkpoints;
        power.report.checkpoint_programs += checkpoints.at_a_time;
        let Some(writing) = &mut checkpoints.writing else { return };
        writing.left -= 1;
        let pages = &mut writing.by_unit[unit.at()];
        *pages -= 1;
        if *pages > 0 {
            return self.write_checkpoint_page(unit);
        }
        if writing.left > 0 {
            return;
        }
        let written = checkpoints.writing.take().expect("it was there").checkpoint;
        power.trims.covered(written.horizon);
        checkpoints.last = 1 - checkpoints.last;
        checkpoints.places[checkpoints.last] = Some(written);
        self.await_checkpoint();
    }
}

impl Power {
    /// The map that the flash tells: by the last checkpoint, or by all that it holds.
    pub(super) fn tell_map(&self, geometry: &Geometry, flash: &Flash) -> PageMap {
        let found = self.checkpoints.find_map(geometry, flash);
        found.unwrap_or_else(|| crate::ssd::ftl::rebuild(geometry, flash, &[]).into_map())
    }
}
