//! A drive in parts that are overwritten in parallel: `ftl/parts.rs` has the requirements.

use super::flash::Flash;
use super::ftl::{Ftl, Opening, Part};
use super::ids::Lpn;
use crate::device::{Job, Run, Writes};
use std::iter::once;

/// State of a divided drive, besides its first part.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    all: Vec<Part>,
    /// The part of each pool.
    of_pool: Vec<u32>,
    /// Copies of the state for all parts but the first.
    others: Vec<(Ftl, Flash)>,
}

/// Does the overwrites that belong to a part; the openings of blocks, with the number of the write.
fn overwrite(
    (ftl, flash): (&mut Ftl, &mut Flash),
    of_pool: &[u32],
    part: u32,
    writes: &dyn Writes,
) -> Vec<Opening> {
    let mut openings = Vec::new();
    let (mut pages, mut numbers) = (Vec::new(), Vec::new());
    let mut first = 0;
    ftl.note_openings();
    writes.each(&mut |batch| {
        pages.resize(batch.len(), 0);
        numbers.resize(batch.len(), 0);
        // The owner of a page is unpredictable: a mispredicted branch would cost as much as the rest.
        let mut own = 0;
        for (page, number) in batch.iter().zip(first..) {
            (pages[own], numbers[own]) = (*page, number);
            own += usize::from(of_pool[ftl.geometry().pool_of(Lpn(*page)).at()] == part);
        }
        first += batch.len() as u64;
        let before = ftl.counters.host_programs;
        ftl.overwrite_untimed(flash, &pages[..own]);
        openings.extend(ftl.take_openings().map(|opening| Opening {
            write: numbers[(opening.write - before) as usize],
            ..opening
        }));
    });
    ftl.forget_openings();
    openings
}

/// Renumbers the openings of all parts in the order of the writes that caused them; each part has
/// counted from `before`.
fn renumber(before: u64, states: &mut [(&mut Ftl, &mut Flash)], openings: &[Vec<Opening>]) {
    let mut next = memory::zeroed::<usize>(openings.len());
    let mut opened = before;
    while let Some((part, opening)) = openings
        .iter()
        .enumerate()
        .filter_map(|(part, all)| Some((part, *all.get(next[part])?)))
        .min_by_key(|(_, opening)| opening.write)
    {
        next[part] += 1;
        opened += 1;
        let (ftl, flash) = &mut states[part];
        let own = before + next[part] as u64;
        ftl.renumber(opening.block, own, opened);
        flash.renumber(opening.block, own, opened);
    }
    for (ftl, _) in states {
        ftl.set_opened(opened);
    }
}

impl Parts {
    /// Divides a drive into at most the given number of parts, or says why that is not possible.
    pub(super) fn new(ftl: &Ftl, flash: &Flash, count: u32) -> Result<Parts, &'static str> {
        if let Some(reason) = ftl.whole_because(flash) {
            return Err(reason);
        }
        let all = ftl.parts(count.clamp(1, ftl.geometry().units));
        let mut of_pool = memory::zeroed(ftl.geometry().pools as usize);
        for (number, part) in all.iter().enumerate() {
            part.pools().iter().for_each(|pool| of_pool[pool.at()] = number as u32);
        }
        let others = all[1..].iter().map(|part| (ftl.part(), flash.part(part.blocks()))).collect();
        Ok(Parts { all, of_pool, others })
    }

    pub(super) fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// Overwrites that certainly cause no event known to all parts.
    pub(super) fn sure_overwrites(&self, first: (&Ftl, &Flash)) -> u64 {
        let others = self.others.iter().map(|(ftl, flash)| (ftl, flash));
        let sure = once(first).chain(others).map(|(ftl, flash)| ftl.writes_before_wear(flash));
        sure.min().unwrap_or(0)
    }

    /// Overwrites pages in parallel parts; `first` is the state of the drive, and of the first
    /// part.
    pub(super) fn overwrite(
        &mut self,
        first: (&mut Ftl, &mut Flash),
        writes: &dyn Writes,
        run: &mut Run<'_>,
    ) {
        let others = self.others.iter_mut().map(|(ftl, flash)| (ftl, flash));
        let mut states: Vec<_> = once(first).chain(others).collect();
        let before = states[0].0.opened();
        let mut openings = memory::filled(Vec::new(), states.len());
        let jobs = states.iter_mut().zip(&mut openings).enumerate();
        let of_pool = &self.of_pool;
        let jobs = jobs.map(|(part, ((ftl, flash), openings))| -> Job<'_> {
            Box::new(move || *openings = overwrite((ftl, flash), of_pool, part as u32, writes))
        });
        run(jobs.collect());
        renumber(before, &mut states, &openings);
        if let Some(((first, _), others)) = states.split_first_mut() {
            for (other, _) in others {
                first.take_counts(other);
            }
        }
    }

    /// Makes the state of the drive whole again.
    pub(super) fn unite(self, (ftl, flash): (&mut Ftl, &mut Flash)) {
        for (part, (other, its_flash)) in self.all[1..].iter().zip(&self.others) {
            ftl.take_part(other, part);
            flash.take_part(its_flash, part.blocks());
        }
        ftl.count_unmapped();
    }
}
