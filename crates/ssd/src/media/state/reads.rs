//! Reads of pages: the state of a page, the outcome of its read, and its reconstruction.

use super::{CLEAN, LIMIT_SHIFT, Media, QUANTILES};
use crate::config::Reference;
use crate::ids::Block;
use crate::media::cell::unstepped;
use crate::media::failing::Failing;
use crate::media::ladder::{Outcome, Rebuilt};
use crate::media::normal::{mix, mix_into};
use crate::media::place::{FlashPage, Found, Written};
use crate::media::planted::Mistake;
use crate::shape::Groups;
use engine::Time;

/// State of a page: logarithms of drift and error rate, first reference, and distance of its limit
/// from the median.
#[derive(Debug, Clone, Copy)]
pub struct PageState {
    pub drift: f64,
    pub errors: f64,
    pub from: f64,
    pub further: f64,
}

impl Media {
    /// True if a page is lost with its die or by a defect.
    #[inline]
    pub fn has_failed(&self, page: FlashPage) -> bool {
        self.failing.as_ref().is_some_and(|failing| self.has_failed_by(failing, page))
    }

    fn has_failed_by(&self, failing: &Failing, page: FlashPage) -> bool {
        failing.is_hit(page.block, page.group, (page.row, page.plane))
            || failing.is_sick(self.die_of(page), page.block, self.minute)
    }

    fn die_of(&self, page: FlashPage) -> u32 {
        let first = self.shape.first_die(page.block, self.blocks_per_domain);
        self.shape.die_and_round_of(first, page.group).0
    }

    /// Flash pages of a logical page, from a byte offset.
    pub fn pages_of(
        &self,
        (block, group, unit): (Block, u32, u32),
        (skipped, bytes): (u32, u32),
    ) -> impl Iterator<Item = FlashPage> + use<> {
        let span = self.shape.span(unit);
        let page_bytes = self.shape.page_bytes;
        let first = span.plane + skipped / page_bytes;
        let last = span.plane + (skipped + bytes.max(1) - 1) / page_bytes;
        let last = last.min(span.plane + span.pages - 1);
        (first..=last).map(move |plane| FlashPage { block, group, row: span.row, plane })
    }

    /// `pages_of` for a page by its index in the block.
    pub fn pages_in(
        &self,
        block: Block,
        page: u32,
        bytes: (u32, u32),
    ) -> impl Iterator<Item = FlashPage> + use<> {
        let units = self.shape.units;
        self.pages_of((block, page / units, page % units), bytes)
    }

    /// `pages_of` for a whole logical page.
    pub fn pages_at(&self, block: Block, page: u32) -> impl Iterator<Item = FlashPage> + use<> {
        self.pages_in(block, page, (0, self.shape.unit_bytes))
    }

    /// Pages of a block that a patrol reads: one per full group.
    pub fn patrolled(
        &self,
        block: Block,
        written: Written,
    ) -> impl Iterator<Item = FlashPage> + use<> {
        let Groups { units, rows, planes, .. } = self.shape;
        let rows = if self.cells[block.at()].is_one_bit() { 1 } else { rows };
        // Behind the data of a block its summary may lie.
        let groups = (written.programmed / units).min(self.shape.per_block);
        (0..groups).map(move |group| {
            let (row, plane) = (group % rows, group / rows % planes);
            FlashPage { block, group, row, plane }
        })
    }

    /// Result of a block's patrol.
    pub fn inspect(&mut self, block: Block, written: Written) -> Found {
        let mut found = Found::default();
        if Mistake::PatrolReadsNothing.is_planted() {
            return found;
        }
        if !self.measured.is_empty() {
            // One read per word line reveals the drift of line and block.
            let cell = self.cells[block.at()];
            self.measured[block.at()] = self.class_now(&cell, written.erases).0.0;
        }
        for page in self.patrolled(block, written) {
            self.is_clean_now(self.cell_of(page), written.erases);
            let state = self.state_of(page, written.erases);
            let (drift, mut errors) = (libm::exp(state.drift), libm::exp(state.errors));
            let number = (page.row, page.plane);
            // Refreshing data lost with a die would lose them again.
            if self.failing.as_ref().is_some_and(|it| it.is_hit(page.block, page.group, number)) {
                errors = 1.0;
            }
            found.errors = found.errors.max(errors);
            found.drift = found.drift.max(drift);
        }
        found
    }

    /// Outcome of a page read; host reads are counted.
    #[inline]
    pub fn look(&mut self, page: FlashPage, block: Written, of_host: bool) -> Outcome {
        let at = self.cell_of(page);
        if of_host {
            self.cells[at].count_read();
        }
        let outcome = if self.is_clean_now(at, block.erases) && !self.has_failed(page) {
            Outcome::default()
        } else {
            let outcome = self.climb(page, block.erases);
            if outcome.lost { self.rebuild(page, block, outcome) } else { outcome }
        };
        if of_host {
            self.tally.count(outcome);
        }
        outcome
    }

    /// Counts a host read of a flash page known to need no retries, because its block does not or
    /// its hash is below the limit. Returns false otherwise. Only for plain media.
    #[inline]
    pub fn reads_at_once(
        &mut self,
        block: Block,
        page: impl FnOnce() -> FlashPage,
        erases: impl FnOnce() -> u32,
    ) -> bool {
        let (minute, unit) = (self.minute, self.read_unit);
        let cell = &mut self.cells[block.at()];
        // A read that changes the class is examined.
        if cell.is_split() || !cell.is_of_class(cell.age(minute), unit, 1) {
            return false;
        }
        if cell.drift == CLEAN {
            cell.count_one_read();
        } else {
            let limit = u64::from(cell.limit) << LIMIT_SHIFT;
            if limit == 0 || !self.is_below(limit, page(), erases()) {
                return false;
            }
            self.cells[block.at()].count_one_read();
        }
        self.tally.count_plain();
        true
    }

    /// True if both of a page's own deviations are below a limit.
    #[inline]
    fn is_below(&self, limit: u64, page: FlashPage, erases: u32) -> bool {
        let own = self.own(page, erases);
        own < limit && mix(own, 1) < limit
    }

    /// True if a page would be uncorrectable if read now.
    pub fn would_be_lost(&mut self, page: FlashPage, block: Written) -> bool {
        let is_clean = self.is_clean_now(self.cell_of(page), block.erases);
        (!is_clean || self.has_failed(page)) && self.climb_alone(page, block).lost
    }

    /// Outcome of a page read, without reconstruction.
    fn climb_alone(&mut self, page: FlashPage, block: Written) -> Outcome {
        let (outcome, _) = self.judge(page, block.erases);
        if outcome.lost { self.rebuild(page, block, outcome) } else { outcome }
    }

    /// Index of the state of a page's block, or of its younger part.
    #[inline]
    pub fn cell_of(&self, page: FlashPage) -> usize {
        if !self.cells[page.block.at()].is_split() {
            return page.block.at();
        }
        let part = self.resumed.younger_part(page.block, page.group);
        part.map_or(page.block.at(), |part| (self.blocks + part) as usize)
    }

    /// Reconstructs a page from the others of its stripe, if all are programmed and none is
    /// uncorrectable.
    pub fn rebuild(&mut self, page: FlashPage, block: Written, outcome: Outcome) -> Outcome {
        if block.programmed < self.shape.stripe_end(page.group) {
            return outcome;
        }
        let erases = block.erases;
        let Some(others) = self.shape.stripe_of(page.group) else { return outcome };
        let (mut pages, mut steps) = (0, 0);
        for group in others.filter(|group| *group != page.group) {
            // The page may lie in another part of the block.
            let page = FlashPage { group, ..page };
            self.is_clean_now(self.cell_of(page), erases);
            let (other, _) = self.judge(page, erases);
            if other.lost && !Mistake::ParityKnowsAll.is_planted() {
                return outcome;
            }
            (pages, steps) = (pages + 1, steps.max(other.steps));
        }
        Outcome { lost: false, rebuilt: Some(Rebuilt { pages, steps }), ..outcome }
    }

    /// Time of a reconstruction from parity.
    pub fn rebuild_time(&self, outcome: Outcome, sense_ns: Time, bus_ns: Time) -> Time {
        self.ladder.rebuild_time(outcome, sense_ns, bus_ns)
    }

    /// Additional time of an outcome after the first sense.
    pub fn time(&self, outcome: Outcome, sense_ns: Time, bus_ns: Time) -> Time {
        self.ladder.time(outcome, sense_ns, bus_ns)
    }

    /// Hash of a page, constant from program to erase.
    #[inline]
    pub fn own(&self, page: FlashPage, erases: u32) -> u64 {
        let row = u64::from(page.group * self.shape.rows + page.row);
        let in_block = row * u64::from(self.shape.planes) + u64::from(page.plane);
        let number = u64::from(page.block.0) << 32 | in_block;
        let own = mix(mix_into(self.of_pages, number), u64::from(erases));
        if Mistake::DrawnOnEachRead.is_planted() {
            return mix(own, u64::from(self.cells[self.cell_of(page)].reads));
        }
        own
    }

    /// Hash of a block on a die, numbered from its first.
    #[inline]
    pub fn of_die(&self, block: Block, die: u32) -> u64 {
        mix_into(self.of_dies, u64::from(block.0) << 16 | u64::from(die))
    }

    /// Normal quantile of a block, from bits of its hash.
    #[inline]
    pub fn quantile(&self, bits: u64) -> f64 {
        f64::from(self.quantiles[bits as usize % QUANTILES])
    }

    /// True if reads start at the table's first entry, without failures.
    #[inline]
    pub fn begins_first(&self) -> bool {
        self.ladder.reference == Reference::Table && self.failing.is_none()
    }

    /// Quality of a page, and first reference of its read.
    #[inline]
    pub fn state_of(&self, page: FlashPage, erases: u32) -> PageState {
        let cell = &self.cells[self.cell_of(page)];
        let shape = &self.shape;
        let first = shape.first_die(page.block, self.blocks_per_domain);
        let (die, round) = shape.die_and_round_of(first, page.group);
        let of_die = self.of_die(page.block, die - first);
        let quantile = |bits: u64| self.quantile(bits);
        // With staggering, pages of a stripe are on different word lines of each die.
        let round = round + self.stagger * (die - first);
        let layer = self.layers[round as usize % self.layers.len()];
        let own = self.own(page, erases);
        // Clean blocks store no class.
        let (mean_drift, mean_errors) = match cell.drift {
            CLEAN => (i16::MIN + 1, self.class_now(cell, erases).0.1),
            drift => (drift, cell.errors),
        };
        let mean_drift = unstepped(mean_drift);
        let drift = mean_drift - self.above[0]
            + self.drift.of(f64::from(layer[0]), quantile(of_die >> 52), self.normal.of_hash(own));
        let errors = unstepped(mean_errors) - self.above[1]
            + self.errors.of(
                f64::from(layer[1]),
                quantile(of_die >> 40),
                self.normal.of_hash(mix(own, 1)),
            );
        let from = match self.ladder.reference {
            Reference::Table => 0.0,
            Reference::Last => f64::from(
                self.last[page.block.at() * shape.width as usize + (die - first) as usize],
            ),
            Reference::Model => {
                let off = self.ladder.estimate_error;
                let hash = mix(of_die, 1 << 60 | u64::from(erases));
                libm::exp(mean_drift + off * quantile(hash >> 52) - off * off / 2.0)
            }
            Reference::Calibrated => match self.measured[page.block.at()] {
                CLEAN => 0.0,
                measured => {
                    let of_line = self.drift.of(f64::from(layer[0]), quantile(of_die >> 52), 0.0);
                    libm::exp(unstepped(measured) - self.above[0] + of_line)
                }
            },
        };
        let further = if self.ladder.differs() {
            self.ladder.further(self.normal.of_hash(mix(own, 2)))
        } else {
            0.0
        };
        PageState { drift, errors, from, further }
    }

    /// Outcome of a page read without side effects, and the final reference.
    fn judge(&self, page: FlashPage, erases: u32) -> (Outcome, f64) {
        self.judged(page, self.state_of(page, erases))
    }

    /// `judge` for a page in a given state.
    #[inline]
    pub fn judged(&self, page: FlashPage, state: PageState) -> (Outcome, f64) {
        let PageState { drift, errors, from, further } = state;
        if self.begins_first() && self.ladder.is_surely_plain(drift, errors - further) {
            return (Outcome::default(), from);
        }
        // A failed page is unreadable at any reference.
        let errors = if self.has_failed(page) { 0.0 } else { errors };
        let drift = libm::exp(drift);
        let outcome = self.ladder.climb_from(drift, (errors, further), from);
        // The table's first entry within reach of the best reference.
        let steps = f64::from(outcome.steps);
        (outcome, if drift < from { from - steps } else { from + steps })
    }

    /// Outcome of an actual read; stores the last good reference.
    fn climb(&mut self, page: FlashPage, erases: u32) -> Outcome {
        let (outcome, found) = self.judge(page, erases);
        if !self.last.is_empty() && !outcome.lost {
            let shape = &self.shape;
            let first = shape.first_die(page.block, self.blocks_per_domain);
            let die = shape.place(first, page.group).die - first;
            let at = page.block.at() * shape.width as usize + die as usize;
            self.last[at] = found.clamp(0.0, 255.0) as u8;
        }
        outcome
    }
}
