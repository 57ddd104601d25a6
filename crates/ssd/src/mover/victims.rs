//! Cleaning through the buffer: the valid pages of a victim are read in batches, go through the buffer, and
//! leave it in groups; then the victim is erased on all its dies.

use crate::config::SsdConfig;
use crate::device::kit::slots::Slots;
use crate::die::Batch;
use crate::flash::Flash;
use crate::ftl::{Ftl, Reason, Relocation};
use crate::ids::{Block, Domain, Ppn};
use crate::shape::{Geometry, Groups};

/// A block that is being cleaned.
#[derive(Debug, Clone, Copy)]
struct Victim {
    job: Relocation,
    /// The group that is scanned next, and batches that are being read.
    next: u32,
    reading: u32,
}

/// A block being erased, or waiting for erasure.
#[derive(Debug, Clone, Copy)]
struct Erasing {
    job: Relocation,
    /// Groups that were begun before this number must be programmed first; 0: none.
    after: u64,
    /// Dies that are not done; all, as long as it has not begun.
    left: u32,
    begun: bool,
    there: bool,
}

/// An examined group of a victim.
#[derive(Debug, Clone)]
pub struct Scan {
    pub die: u32,
    /// Logical pages of the group, which come back when the victim is erased.
    pub pages: u32,
    batches: [Option<(Batch, u32)>; options::MOST_PAGE_TYPES],
}

impl Scan {
    /// Batches to read, with the pages of each first row to transfer.
    pub fn batches(&self) -> impl Iterator<Item = (Batch, u32)> + '_ {
        self.batches.iter().copied().flatten()
    }

    /// True without batches.
    pub fn is_empty(&self) -> bool {
        self.batches[0].is_none()
    }
}

/// The machine.
#[derive(Debug, Clone)]
pub struct Mover {
    shape: Groups,
    blocks_per_domain: u32,
    /// Rows of a batch, at most.
    most_rows: u32,
    /// The buffer survives power cuts, so erasures need not wait.
    protected: bool,
    /// Victims by domain.
    victims: Vec<Option<Victim>>,
    erasing: Slots<Erasing>,
    /// Batches in progress by die.
    collecting: Vec<u32>,
    /// Domains to clean, the last first; and true if a program has ended for which erasures may
    /// wait. Empty between events.
    asked: Vec<Domain>,
    has_programmed: bool,
}

impl Mover {
    pub fn new(config: &SsdConfig, geometry: &Geometry, shape: Groups) -> Mover {
        Mover {
            shape,
            blocks_per_domain: geometry.blocks_per_domain,
            most_rows: config.cleaning.read_batch,
            protected: config.buffer.power_loss_protected,
            victims: memory::filled(None, geometry.domains as usize),
            erasing: Slots::new(),
            collecting: memory::zeroed(shape.dies as usize),
            asked: Vec::new(),
            has_programmed: false,
        }
    }

    /// Drops all operations.
    pub fn lose_power(&mut self) {
        self.victims.fill(None);
        self.erasing = Slots::new();
        self.collecting.fill(0);
        self.ask_for_nothing();
        self.has_programmed = false;
    }

    // ---- domains that are to be cleaned ----------------------------------------------------------

    /// Requests the cleaning of a domain.
    pub fn ask(&mut self, domain: Domain) {
        self.asked.push(domain);
    }

    /// Every domain is, in order.
    pub fn ask_for_all(&mut self) {
        self.asked.extend((0..self.victims.len() as u32).rev().map(Domain));
    }

    /// Cancels all requests for cleaning.
    pub fn ask_for_nothing(&mut self) {
        self.asked.clear();
    }

    /// The next requested domain.
    #[inline]
    pub fn next_asked(&mut self) -> Option<Domain> {
        self.asked.pop()
    }

    // ---- victims ---------------------------------------------------------------------------------

    /// True if a block of a domain is being emptied.
    pub fn has_victim(&self, domain: Domain) -> bool {
        self.victims[domain.at()].is_some()
    }

    /// True if the victim has cold data for a worn block.
    pub fn levels_wear(&self, domain: Domain) -> bool {
        self.victims[domain.at()].is_some_and(|victim| victim.job.levels_wear())
    }

    /// True if the victim belongs to the SLC cache.
    pub fn folds(&self, domain: Domain) -> bool {
        self.victims[domain.at()].is_some_and(|victim| victim.job.reason == Reason::Fold)
    }

    /// True if a worn block of a domain is to be erased for cold data.
    pub fn is_followed(&self, domain: Domain) -> bool {
        let all = (0..self.erasing.len() as u32).map(|number| &self.erasing[number]);
        let mut there = all.filter(|it| it.there && it.job.domain == domain);
        there.any(|it| it.job.is_followed())
    }

    /// Number of domains with a victim.
    pub fn victims(&self) -> u32 {
        self.victims.iter().flatten().count() as u32
    }

    /// A block of a domain is to be emptied.
    pub fn begin(&mut self, job: Relocation) {
        self.victims[job.domain.at()] = Some(Victim { job, next: 0, reading: 0 });
    }

    /// Examines the next group of a victim: its valid pages are read if there is `room` in the
    /// buffer, and its die has fewer than `most_batches` in progress.
    pub fn scan(
        &mut self,
        domain: Domain,
        (ftl, flash): (&Ftl, &Flash),
        room: u32,
        most_batches: u32,
    ) -> Option<Scan> {
        let mut victim = self.victims[domain.at()]?;
        let (block, group) = (victim.job.source, victim.next);
        let first_die = self.shape.first_die(block, self.blocks_per_domain);
        let die = self.shape.place(first_die, group).die;
        if group == self.shape.per_block || self.collecting[die as usize] >= most_batches {
            return None;
        }
        let row_units = self.shape.units_per_row();
        let first = ftl.geometry().ppn(block, group * self.shape.units).0;
        let mut batches: [(u32, u32, u32); options::MOST_PAGE_TYPES] = Default::default();
        let (mut count, mut rows, mut valid_in_all) = (0, 0, 0);
        for row in 0..self.shape.rows {
            let there = self.shape.units_of(group).saturating_sub(row * row_units).min(row_units);
            let from = Ppn(first + u64::from(row * row_units));
            let (valid, pages) = self.valid_in_row(from, there, ftl, flash);
            if valid == 0 {
                continue;
            }
            valid_in_all += valid;
            if rows == self.most_rows {
                (count, rows) = (count + 1, 0);
            }
            if rows == 0 {
                batches[count].2 = pages;
            }
            rows += 1;
            batches[count].0 |= 1 << row;
            batches[count].1 += valid;
        }
        if valid_in_all > room {
            return None;
        }
        let batches = batches.map(|(rows, reserved, pages)| {
            (rows != 0).then(|| (Batch::new((domain, block, group), rows, reserved), pages))
        });
        let asked = batches.iter().flatten().count() as u32;
        victim.next += 1;
        victim.reading += asked;
        self.victims[domain.at()] = Some(victim);
        self.collecting[die as usize] += asked;
        Some(Scan { die, pages: self.shape.units_of(group), batches })
    }

    /// Number of pages with valid data in a batch's current row, which are transferred.
    pub fn pages_of_row(&self, batch: &Batch, ftl: &Ftl, flash: &Flash) -> u32 {
        let (row, (block, group)) = (batch.row(), batch.place());
        let units = self.shape.units_per_row();
        let page = group * self.shape.units + row * units;
        let there = self.shape.units_of(group).saturating_sub(row * units).min(units);
        self.valid_in_row(ftl.geometry().ppn(block, page), there, ftl, flash).1
    }

    /// Number of valid logical pages of a row, and of their flash pages: each on several, or
    /// several on each.
    fn valid_in_row(&self, from: Ppn, there: u32, ftl: &Ftl, flash: &Flash) -> (u32, u32) {
        let Groups { page_bytes, unit_bytes, .. } = self.shape;
        let per_page = (page_bytes / unit_bytes).max(1);
        let pages_of_each = unit_bytes.div_ceil(page_bytes);
        let (mut valid, mut pages) = (0, 0);
        let mut unit = 0;
        while unit < there {
            let end = there.min(unit + per_page);
            let before = valid;
            for unit in unit..end {
                let ppn = Ppn(from.0 + u64::from(unit));
                valid += u32::from(ftl.valid_at(flash, ppn).is_some());
            }
            pages += if valid > before { pages_of_each } else { 0 };
            unit = end;
        }
        (valid, pages)
    }

    /// A die has read a batch: its logical pages, by their places, of which the valid ones go into the buffer.
    pub fn batch_read(
        &mut self,
        batch: &Batch,
        die: u32,
        geometry: &Geometry,
    ) -> impl Iterator<Item = Ppn> + use<> {
        self.collecting[die as usize] -= 1;
        let (units, (block, group), batch) = (self.shape.units_per_row(), batch.place(), *batch);
        let first = geometry.ppn(block, group * self.shape.units).0;
        let there = self.shape.units_of(group);
        let rows = (0..self.shape.rows).filter(move |row| batch.has_row(*row));
        let units = rows.flat_map(move |row| row * units..(row + 1) * units);
        units.filter(move |unit| *unit < there).map(move |unit| Ppn(first + u64::from(unit)))
    }

    /// Counts valid pages of a batch as buffered.
    pub fn batch_moved(&mut self, batch: &Batch, moved: u32) {
        let victim = self.victims[batch.domain().at()].as_mut().expect("it is being read");
        victim.reading -= 1;
        victim.job.note_moved(moved);
    }

    /// Takes the completely read victim of a domain, which then waits for erasure.
    pub fn take_read(&mut self, domain: Domain) -> Option<Relocation> {
        let Some(Victim { job, next, reading: 0 }) = self.victims[domain.at()] else { return None };
        if next < self.shape.per_block {
            return None;
        }
        self.victims[domain.at()] = None;
        Some(job)
    }

    /// True without cleaning reads in progress.
    pub fn stands(&self) -> bool {
        self.collecting.iter().all(|batches| *batches == 0)
    }

    // ---- erasures --------------------------------------------------------------------------------

    /// Schedules the erasure of a block after the groups with smaller numbers; its number among
    /// all.
    pub fn erase_after(&mut self, job: Relocation, after: u64) -> u32 {
        let left = self.shape.width;
        self.erasing.insert(Erasing { job, after, left, begun: false, there: true })
    }

    /// Condition of an erasure: the domain, and the number of a group.
    pub fn waits_for(&self, number: u32) -> (Domain, u64) {
        let Erasing { job, after, .. } = self.erasing[number];
        (job.domain, after)
    }

    /// An erasure begins: on these dies.
    pub fn begin_erasure(&mut self, number: u32) -> std::ops::Range<u32> {
        self.erasing[number].begun = true;
        let first = self.shape.first_die(self.erasing[number].job.source, self.blocks_per_domain);
        first..first + self.shape.width
    }

    /// The erasures that wait for programs.
    pub fn waiting_erasures(&self) -> impl Iterator<Item = u32> + use<> {
        let all = if self.protected { 0 } else { self.erasing.len() as u32 };
        let waits = |number: &u32| self.erasing[*number].there && !self.erasing[*number].begun;
        (0..all).filter(waits).collect::<Vec<u32>>().into_iter()
    }

    /// Notes a program for which erasures may have waited.
    pub fn note_programmed(&mut self) {
        self.has_programmed = true;
    }

    /// Reports once that a victim was erased.
    #[inline]
    pub fn has_programmed(&mut self) -> bool {
        std::mem::take(&mut self.has_programmed)
    }

    /// True if an erasure waits for programs, such as the host's.
    #[inline]
    pub fn erasures_wait(&self) -> bool {
        let mut all = 0..self.erasing.len() as u32;
        let waits = |number: u32| self.erasing[number].there && !self.erasing[number].begun;
        !self.protected && all.any(waits)
    }

    /// Counts a die's erased blocks of a victim; the job, if it was the last.
    pub fn die_erased(&mut self, number: u32) -> Option<Relocation> {
        let erasing = &mut self.erasing[number];
        erasing.left -= 1;
        if erasing.left > 0 {
            return None;
        }
        erasing.there = false;
        let job = erasing.job;
        self.erasing.remove(number);
        Some(job)
    }

    /// Blocks whose erasure has begun.
    pub fn erasing(&self) -> Vec<Block> {
        let all = 0..self.erasing.len() as u32;
        let begun = all.map(|number| self.erasing[number]).filter(|it| it.there && it.begun);
        begun.map(|erasing| erasing.job.source).collect()
    }
}
