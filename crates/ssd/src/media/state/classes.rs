//! Classes of blocks: the mean page's quality at a block's age and reads, the validity of a class,
//! and its consequences for all pages.

use super::{
    AGE_BITS, CLEAN, LIMIT_SHIFT, Media, ONE_BIT_DRIFT, ONE_BIT_ERRORS, READ_BITS, ROUNDED, SURE,
    WORST,
};
use crate::config::Reference;
use crate::ids::Block;
use crate::media::cell::{Cell, rounded, stepped, unstepped};
use crate::media::ladder::Outcome;
use crate::media::place::Spreads;
use crate::media::planted::Mistake;

impl Media {
    /// True if blocks can be proved readable without retries. With failures or known losses each
    /// page is examined instead.
    /// something is known to be lost. There each page is examined.
    #[inline]
    fn may_be_sound(&self) -> bool {
        self.failing.is_none() && !self.losses.are_known()
    }

    /// True if all pages of a block are known to be readable without retries, without examining
    /// any.
    #[inline]
    pub fn is_sound(&self, block: Block) -> bool {
        let cell = &self.cells[block.at()];
        let holds = cell.is_of_class(cell.age(self.minute), self.read_unit, 0);
        let is_clean = cell.drift == CLEAN && holds;
        is_clean && !cell.is_split() && self.may_be_sound()
    }

    /// True if it is proved that no page of the drive is uncorrectable.
    #[inline]
    pub fn loses_nothing(&self) -> bool {
        self.plain_until > 0 && self.proof.holds_at(self.minute)
    }

    /// Tries the proof for a margin of time, with the maximum number of erases; called only if an
    /// attempt is possible.
    #[cold]
    pub fn prove(&mut self, erases: impl FnOnce() -> u32) -> bool {
        if self.plain_until == 0 || !self.proof.may_be_tried() {
            return false;
        }
        let until = |cell: &Cell| cell.reads().max(cell.until_reads(self.read_unit));
        let reads = self.cells.iter().map(until).max();
        let bounds = self.proof.bounds(self.minute, erases(), reads.unwrap_or(0));
        let [hours, erases, reads] = bounds.map(f64::from);
        let pages = self.pages();
        let cycles = f64::from(self.cycles) + erases;
        let worst = |spreads: Spreads, which: usize| {
            let block = self.quantiles.iter().copied().fold(0.0, f32::max);
            spreads.of(self.worst_layer[which], f64::from(block), SURE)
        };
        let drift = libm::log(self.law.drift(cycles, hours / 60.0));
        let errors = libm::log(self.law.errors(cycles, hours / 60.0, reads / f64::from(pages)));
        // One extra class step for rounding.
        let step = unstepped(1);
        let drift = libm::exp(drift + step + worst(self.drift, 0));
        let errors = libm::exp(errors + step + worst(self.errors, 1));
        self.proof.found(self.ladder.never_loses(drift, errors));
        self.loses_nothing()
    }

    /// True if all pages of a block are readable without retries now.
    #[inline]
    pub fn is_clean_now(&mut self, at: usize, erases: u32) -> bool {
        let cell = &self.cells[at];
        if !cell.is_of_class(cell.age(self.minute), self.read_unit, 0) {
            self.classify(at, erases);
        }
        self.cells[at].drift == CLEAN
    }

    /// Determines a block's class and its validity. The class depends on age and reads only, not on
    /// the time of the query.
    #[cold]
    fn classify(&mut self, at: usize, erases: u32) {
        let cell = self.cells[at];
        let ((drift, errors), mut until) = self.class_now(&cell, erases);
        if self.is_clean(drift, errors) {
            until.1 = self.clean_until(&cell, until.1, erases);
            self.cells[at].set_class((CLEAN, errors), until, 0);
        } else {
            let limit = self.limit_of(at, drift, errors);
            self.cells[at].set_class((drift, errors), until, limit);
        }
        self.proof.hear_of_reads(self.cells[at].until_reads(self.read_unit));
    }

    /// Highest hash limit below which pages of a block need no retries, on the worst word line of
    /// the worst die.
    fn limit_of(&self, at: usize, drift: i16, errors: i16) -> u16 {
        if at >= self.blocks as usize || !self.begins_first() || self.ladder.differs() {
            return 0;
        }
        let mut worst = [f64::NEG_INFINITY; 2];
        for die in 0..self.shape.width {
            let of_die = self.of_die(Block(at as u32), die);
            worst[0] = self.quantile(of_die >> 52).max(worst[0]);
            worst[1] = self.quantile(of_die >> 40).max(worst[1]);
        }
        let (drift, errors) = (unstepped(drift) - self.above[0], unstepped(errors) - self.above[1]);
        let is_read = |limit: u16| {
            let page = self.normal.of_hash(u64::from(limit) << LIMIT_SHIFT);
            self.ladder.is_surely_plain(
                drift + self.drift.of(self.worst_layer[0], worst[0], page) + ROUNDED,
                errors + self.errors.of(self.worst_layer[1], worst[1], page) + ROUNDED,
            )
        };
        (0..16).rev().fold(0, |limit, bit| {
            let higher = limit | 1 << bit;
            if is_read(higher) { higher } else { limit }
        })
    }

    /// Current class of a block, and the age and reads at which it changes.
    pub fn class_now(&self, cell: &Cell, erases: u32) -> ((i16, i16), (u32, u32)) {
        let (age, until_age) = rounded(cell.age(self.minute), AGE_BITS);
        let (units, until_units) = rounded(cell.reads() / self.read_unit, READ_BITS);
        (self.class_at(cell, age, units, erases), (until_age, until_units))
    }

    /// Class of a block at an age and a number of reads per page.
    fn class_at(&self, cell: &Cell, age: u32, units: u32, erases: u32) -> (i16, i16) {
        let per_page = f64::from(units) * f64::from(self.read_unit) / f64::from(self.pages());
        let (drift, errors) = self.means(cell, age, per_page, erases);
        (stepped(drift), stepped(errors))
    }

    /// Flash pages of a block.
    pub fn pages(&self) -> u32 {
        let shape = &self.shape;
        shape.rounds() * shape.width * shape.rows * shape.planes
    }

    /// A lower bound of the reads per page up to which no page of a block needs retries at its
    /// current age.
    fn clean_until(&self, cell: &Cell, until: u32, erases: u32) -> u32 {
        let age = rounded(cell.age(self.minute), AGE_BITS).0;
        let found = [16, 4].into_iter().map(|by| until.saturating_mul(by)).find(|units| {
            let (drift, errors) = self.class_at(cell, age, *units, erases);
            self.is_clean(drift, errors)
        });
        found.unwrap_or(until)
    }

    /// Mean drift and error rate of a block at an age in minutes, with `reads` reads per page.
    pub fn means(&self, cell: &Cell, age: u32, reads: f64, erases: u32) -> (f64, f64) {
        let erases = if Mistake::NoWear.is_planted() { 0 } else { erases };
        let cycles = f64::from(self.cycles.saturating_add(erases));
        let hours = f64::from(age) / 60.0;
        let less = if cell.is_one_bit() { [ONE_BIT_DRIFT, ONE_BIT_ERRORS] } else { [1.0; 2] };
        (less[0] * self.law.drift(cycles, hours), less[1] * self.law.errors(cycles, hours, reads))
    }

    /// Outcome of reading the mean page of a block now.
    pub fn class_of(&self, block: Block, erases: u32) -> Outcome {
        let cell = &self.cells[block.at()];
        let reads = f64::from(cell.reads()) / f64::from(self.pages());
        let (drift, errors) = self.means(cell, cell.age(self.minute), reads, erases);
        let begins = match self.ladder.reference {
            Reference::Table | Reference::Last => 0.0,
            Reference::Model => drift,
            Reference::Calibrated => match self.measured[block.at()] {
                CLEAN => 0.0,
                measured => libm::exp(unstepped(measured)),
            },
        };
        self.ladder.climb(drift, errors, begins)
    }

    /// True if the worst page of a class needs no retries.
    fn is_clean(&self, drift: i16, errors: i16) -> bool {
        let worst = |spreads: Spreads| spreads.of(WORST, WORST, WORST);
        let errors = unstepped(errors) + worst(self.errors) - self.ladder.further(-WORST);
        let errors = libm::exp(errors);
        let spread = worst(self.drift) + WORST * self.estimate_error();
        let drift = libm::exp(unstepped(drift) + spread);
        errors < self.ladder.hard() && drift <= self.ladder.window(errors)
    }

    fn estimate_error(&self) -> f64 {
        match self.ladder.reference {
            Reference::Model => self.ladder.estimate_error,
            Reference::Table | Reference::Last | Reference::Calibrated => 0.0,
        }
    }
}
