//! Effect of a power cut on operations in progress.

use super::planted::Bug;
use super::state::{Power, PowerReport};
use crate::cache::CutProgram;
use crate::config::{PairingGuard, Tear};
use crate::die::Reached;
use crate::flash::{Flash, Loose, Reading, Short, Torn, lower_of};
use crate::ftl::Ftl;
use crate::ids::Block;
use engine::{Random, Xoshiro256};
use std::collections::BTreeMap;

impl Power {
    /// Applies the cut to the flash: programs are torn, erases stay incomplete, and every open
    /// block ends.
    pub(super) fn tear(
        &mut self,
        ftl: &Ftl,
        flash: &mut Flash,
        programs: &[CutProgram],
        erasing: &[Block],
    ) {
        self.forget_unstable(flash, ftl);
        let mut torn = BTreeMap::new();
        for program in programs {
            let it = &program.programming;
            if torn.contains_key(&it.block.0) {
                continue;
            }
            match self.ends(ftl, flash, program) {
                End::Untouched => {}
                End::Whole => {
                    finish(ftl, flash, program);
                    let summary = ftl.geometry().pages_per_block - 1;
                    if !self.has_capacitors() && flash.programmed(it.block) == summary {
                        self.harm_lower(ftl, flash, it.block, summary);
                    }
                }
                End::Torn(reading) => {
                    let (opening, first_order, order) = ftl.header_of(flash, it);
                    let page = Torn { lpn: it.lpn.0, order, opening, first_order, reading };
                    torn.insert(it.block.0, page);
                    self.report.torn_pages += 1;
                    let page = ftl.geometry().page_in_block(it.ppn);
                    self.harm_lower(ftl, flash, it.block, page);
                }
            }
        }
        if Bug::ProgramsOn.is_planted() {
            self.lose_behind_tears(ftl, flash);
        }
        end_blocks(ftl, flash, &torn, &mut BTreeMap::new());
        for block in erasing {
            flash.damage_mut().half_erased.insert(block.0);
            count_erasure(&mut self.report);
        }
    }

    /// Outcome of an interrupted program.
    fn ends(&mut self, ftl: &Ftl, flash: &Flash, program: &CutProgram) -> End {
        let geometry = ftl.geometry();
        let it = &program.programming;
        if geometry.page_in_block(it.ppn) != flash.programmed(it.block) {
            // The program waits for another one in its block.
            return End::Untouched;
        }
        if program.reached.iter().all(|reached| *reached == Reached::Nothing) {
            return End::Untouched;
        }
        let whole = program.reached.iter().all(|reached| *reached == Reached::Data);
        if whole || self.has_capacitors() {
            return End::Whole;
        }
        let tear = self.config.tear;
        let random = &mut self.random;
        let lanes = program.reached.iter().map(|reached| match reached {
            Reached::Nothing => Reading::Erased,
            Reached::Cells => drawn(tear, random),
            Reached::Data => Reading::Whole,
        });
        let lanes: Vec<Reading> = lanes.collect();
        let any = |reading| lanes.contains(&reading);
        let reads = any(Reading::Whole) || any(Reading::Unstable);
        let fails = any(Reading::Nothing) || any(Reading::Erased);
        let reading = if reads && fails {
            Reading::InPart
        } else if any(Reading::Nothing) {
            Reading::Nothing
        } else if any(Reading::Erased) {
            Reading::Erased
        } else {
            Reading::Unstable
        };
        End::Torn(reading)
    }

    /// True if operations in progress complete on capacitor energy.
    fn has_capacitors(&self) -> bool {
        self.pairs.2 == PairingGuard::Capacitors
    }

    /// A torn page may make its paired page unreadable. That page is rewritten if it was damaged or
    /// has another copy.
    fn harm_lower(&mut self, ftl: &Ftl, flash: &mut Flash, block: Block, page: u32) {
        let (pairing, pages, guard) = self.pairs;
        let Some(lower) = lower_of(pairing, page, pages) else { return };
        let ppn = ftl.geometry().ppn(block, lower);
        let is_safe = guard == PairingGuard::Copy && !Bug::LowerForgotten.is_planted();
        if is_safe || drawn(self.config.tear, &mut self.random) == Reading::Unstable {
            self.harmed.push(ppn);
        } else {
            flash.void(ppn);
        }
    }

    /// Some pages programmed after a torn one become unreadable.
    fn lose_behind_tears(&mut self, ftl: &Ftl, flash: &mut Flash) {
        let Some(damage) = flash.damage().cloned() else { return };
        for (block, short) in damage.short.iter().filter(|(_, short)| short.torn.is_some()) {
            let block = Block(*block);
            for page in short.pages..flash.programmed(block).min(ftl.geometry().data_pages) {
                if self.random.below(2) == 0 {
                    flash.void(ftl.geometry().ppn(block, page));
                }
            }
        }
    }

    /// Makes torn pages that a start accepted unreadable, at random.
    pub(super) fn forget_unstable(&mut self, flash: &mut Flash, ftl: &Ftl) {
        let Some(damage) = flash.damage() else { return };
        let recorded = damage.short.iter().filter(|(_, short)| short.recorded);
        let torn = recorded
            .filter(|(_, short)| short.torn.is_some_and(|torn| torn.reading == Reading::Unstable));
        let geometry = ftl.geometry();
        let pages: Vec<_> =
            torn.map(|(block, short)| geometry.ppn(Block(*block), short.pages)).collect();
        for ppn in pages {
            if self.random.below(2) == 0 {
                flash.void(ppn);
            }
        }
        let Some(damage) = flash.damage() else { return };
        let short = damage.short.iter().filter(|(_, short)| short.recorded);
        let mut groups = Vec::new();
        for (block, short) in short {
            let unstable = short.loose.iter().filter(|it| it.reading == Reading::Unstable);
            groups.extend(unstable.map(|it| (Block(*block), it.page, it.pages.len() as u32)));
        }
        for (block, first, pages) in groups {
            if self.random.below(2) == 0 {
                (first..first + pages).for_each(|page| flash.void(geometry.ppn(block, page)));
            }
        }
    }
}

/// Outcome of an interrupted program.
enum End {
    Untouched,
    Torn(Reading),
    /// The data are complete; the following summary is torn.
    Whole,
}

pub(super) fn drawn(tear: Tear, random: &mut Xoshiro256) -> Reading {
    let draw = random.unit();
    if draw < tear.erased {
        Reading::Erased
    } else if draw < tear.erased + tear.unreadable {
        Reading::Nothing
    } else {
        Reading::Unstable
    }
}

/// Ends every partly programmed block.
pub(super) fn end_blocks(
    ftl: &Ftl,
    flash: &mut Flash,
    torn: &BTreeMap<u32, Torn>,
    loose: &mut BTreeMap<u32, Vec<Loose>>,
) {
    let geometry = ftl.geometry();
    for block in (0..geometry.blocks()).map(Block) {
        let pages = flash.programmed(block);
        let page = torn.get(&block.0).copied();
        let loose = loose.remove(&block.0).unwrap_or_default();
        let is_empty = pages == 0 && page.is_none() && loose.is_empty();
        if pages == geometry.pages_per_block || is_empty {
            continue;
        }
        let short = Short { pages, torn: page, loose, recorded: false };
        flash.damage_mut().short.insert(block.0, short);
        flash.close(block, None);
    }
}

/// Completes the last data page of a block, without its summary.
fn finish(ftl: &Ftl, flash: &mut Flash, program: &CutProgram) {
    let it = &program.programming;
    let (opening, first_order, _) = ftl.header_of(flash, it);
    if flash.program(it.ppn, it.block, it.lpn, it.order) == 0 {
        flash.write_header(it.block, opening, first_order);
        if ftl.is_slc(it.block) {
            flash.opened_for_one_bit(it.block);
        }
    }
}

pub(super) fn count_erasure(report: &mut PowerReport) {
    report.interrupted_erases += 1;
    // The erase count is in the header written after the erase.
    report.erase_counts_lost += 1;
}
