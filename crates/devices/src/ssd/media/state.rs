//! The state of a drive's media: its clock, and for each block when it was written and how often it was read.

use super::age::Age;
use super::cell::{Cell, rounded, stepped, unstepped};
use super::failing::{Failing, FailingState};
use super::ladder::{Ladder, Outcome, Rebuilt};
use super::law::Law;
use super::lines::{quantiles, stagger_of};
use super::losses::Losses;
use super::normal::{Quantiles, mix, of_hash};
use super::place::{FlashPage, Found, Spreads, Written};
use super::planted::Mistake;
use super::report::MediaReport;
use super::resumed::Resumed;
use super::spread::spread_of;
use super::tally::Tally;
use crate::ssd::config::{Celsius, Reference, SsdConfig};
use crate::ssd::ids::Block;
use crate::ssd::shape::Groups;
use engine::Time;
use serde::{Deserialize, Serialize};

/// Stream of the drive's randomness from which pages, blocks and word lines differ.
const MEDIA_STREAM: u64 = 21;
/// Steps of the clock in a second at 30 degrees, as a power of two: sums of times are exact.
const CLOCK_BITS: u32 = 20;
/// The last minute of the clock: 8,000 years.
const LAST_MINUTE: u32 = 8000 * 525_960;
/// The drift of a class whose pages are all read at once, but for one of 1e9.
const CLEAN: i16 = i16::MIN;
/// How far from the mean the worst page of 1e9 lies.
const WORST: f64 = 6.0;
/// How much less the levels of one bit a cell drift, and how many fewer errors they have: guesses.
const ONE_BIT_DRIFT: f64 = 1.0 / 8.0;
const ONE_BIT_ERRORS: f64 = 1.0 / 100.0;
/// Bits of age and of reads that a class tells apart.
const AGE_BITS: u32 = 11;
const READ_BITS: u32 = 6;
/// Quantiles of the normal distribution by which blocks differ.
const QUANTILES: usize = 4096;
/// What tells the failures of a drive from how its pages differ.
const FAILING: u64 = 1 << 60;
/// Pages that a report looks at, at most.
const SAMPLE: u64 = 1 << 14;

/// What is saved of the media.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MediaState {
    clock: u64,
    cells: Vec<Cell>,
    resumed: Resumed,
    losses: Losses,
    last: Vec<u8>,
    /// Nothing where nothing fails.
    failing: Option<FailingState>,
}

/// The media of a drive. Its fields are the law and the ladder, the clock, what is kept of blocks, and what was counted.
#[derive(Debug, Clone)]
pub struct Media {
    law: Law,
    ladder: Ladder,
    seed: u64,
    shape: Groups,
    blocks_per_domain: u32,
    /// Word lines that the pages of a stripe are apart, from die to die.
    stagger: u32,
    cycles: u32,
    /// Steps of the clock at `since`, and how many a second of the drive's own time takes.
    clock: u64,
    rate: u64,
    since: Time,
    /// The clock in minutes, and the drive's own time before which it shows no other.
    minute: u32,
    minute_until: Time,
    /// Of each block, and behind them of the younger parts of some.
    cells: Vec<Cell>,
    blocks: u32,
    resumed: Resumed,
    /// Of each word line how far its drift and errors deviate.
    layers: [Vec<f32>; 2],
    quantiles: Vec<f32>,
    normal: Quantiles,
    drift: Spreads,
    errors: Spreads,
    spread_errors: f64,
    /// The last good reference of each block of each die, where reads begin there.
    last: Vec<u8>,
    losses: Losses,
    failing: Option<Box<Failing>>,
    tally: Tally,
}

impl Media {
    /// Media as new, if data age in this drive.
    pub fn new(
        config: &SsdConfig,
        groups: Option<&Groups>,
        counts: (u32, u32),
        seed: u64,
    ) -> Option<Media> {
        let media = &config.media;
        let law = Law::new(media)?;
        let shape = *groups?;
        let (blocks, blocks_per_domain) = counts;
        let ladder = Ladder::new(&config.ecc, &config.retry, law.errors_of_new());
        let (spread_errors, _) = spread_of(config, &law);
        let seed = mix(seed, MEDIA_STREAM);
        let of_layers = |which: u64| {
            spread_evenly(shape.rounds(), |it| mix(mix(seed, 1 << 62 | u64::from(it)), which))
        };
        let quantile = |place: usize| of_hash((place as u64) << 52 | 1 << 51) as f32;
        let begins_last = config.retry.reference == Reference::Last;
        let tracked = if begins_last { blocks as usize * shape.width as usize } else { 0 };
        Some(Media {
            law,
            ladder,
            seed,
            blocks_per_domain,
            stagger: stagger_of(config, &shape),
            cycles: media.cycles,
            clock: 0,
            rate: rate(&law, media.temperature),
            since: 0,
            minute: 0,
            minute_until: 0,
            cells: vec![Cell::default(); blocks as usize],
            blocks,
            resumed: Resumed::default(),
            layers: [of_layers(0), of_layers(1)],
            quantiles: (0..QUANTILES).map(quantile).collect(),
            normal: Quantiles::new(),
            drift: Spreads {
                layer: media.spread_layer,
                block: media.spread_block,
                page: media.spread_page,
            },
            // Half of the variance between word lines, the rest between blocks and pages: a guess.
            errors: Spreads {
                layer: spread_errors * std::f64::consts::FRAC_1_SQRT_2,
                block: spread_errors / 2.0,
                page: spread_errors / 2.0,
            },
            spread_errors,
            last: vec![0; tracked],
            losses: Losses::default(),
            failing: Failing::new(&config.spares, shape, blocks, mix(seed, FAILING)),
            tally: Tally::default(),
            shape,
        })
    }

    // ---- time ------------------------------------------------------------------------------

    /// The drive's own time has come to `now`.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        if now >= self.minute_until {
            self.set_minute(now);
        }
    }

    /// The clock shows what it does when the drive's own time has come to `now`.
    fn set_minute(&mut self, now: Time) {
        let clock = self.clock_at(now);
        self.minute = minutes(clock);
        // A little before the next minute: what is lost to rounding is looked at again.
        let next = ((u64::from(self.minute) + 1) * 60) << CLOCK_BITS;
        let left = u128::from(next.saturating_sub(clock)) * 1_000_000_000;
        let left = left / u128::from(self.rate.max(1));
        self.minute_until = now.saturating_add(Time::try_from(left).unwrap_or(Time::MAX));
        self.fail();
    }

    /// What fails by the present minute has.
    #[inline]
    fn fail(&mut self) {
        if let Some(failing) = &mut self.failing {
            failing.advance(self.minute);
        }
    }

    /// Whether a page is gone, with its die or by a defect.
    #[inline]
    fn has_failed(&self, page: FlashPage) -> bool {
        let Some(failing) = &self.failing else { return false };
        failing.is_hit(page.block, page.group, (page.row, page.plane))
            || failing.is_sick(self.die_of(page), page.block, self.minute)
    }

    fn die_of(&self, page: FlashPage) -> u32 {
        let first = self.shape.first_die(page.block, self.blocks_per_domain);
        self.shape.die_and_round_of(first, page.group).0
    }

    /// Dies that are lost.
    pub fn lost_dies(&self) -> u32 {
        self.failing.as_ref().map_or(0, |failing| failing.counts(self.minute).0)
    }

    /// Steps of the clock when the drive's own time has come to `now`.
    #[inline]
    fn clock_at(&self, now: Time) -> u64 {
        let passed = u128::from(now.saturating_sub(self.since)) * u128::from(self.rate);
        self.clock.saturating_add((passed / 1_000_000_000) as u64)
    }

    /// Time passes in which nothing is asked; so many logical pages of these blocks are programmed, which are open.
    ///
    /// # Errors
    /// The clock has no such time.
    pub fn age(
        &mut self,
        age: Age,
        now: Time,
        open: impl Iterator<Item = (Block, u32)>,
    ) -> Result<(), &'static str> {
        let mut rate = age.at.map_or(self.rate, |at| rate(&self.law, at));
        if Mistake::AlwaysThirty.is_planted() {
            rate = 1 << CLOCK_BITS;
        }
        let clock = u128::from(self.clock_at(now)) + u128::from(age.seconds) * u128::from(rate);
        let clock = u64::try_from(clock).ok().filter(|clock| minutes(*clock) < LAST_MINUTE);
        self.clock = clock.ok_or(
            "the clock of retention ends after 8,000 years at 30 C; use less time, or less heat",
        )?;
        self.since = now;
        self.set_minute(now);
        for (block, programmed) in open {
            let part = self.resumed.split(block, programmed.div_ceil(self.shape.units));
            let is_one_bit = self.cells[block.at()].is_one_bit();
            let at = (self.blocks + part) as usize;
            self.cells.resize(self.cells.len().max(at + 1), Cell::default());
            self.cells[at] = Cell::begun(self.minute, is_one_bit);
        }
        Ok(())
    }

    /// Time passes in which requests are served without time, at the temperature of the drive.
    pub fn pass(&mut self, ns: Time, now: Time) {
        let passed = u128::from(ns) * u128::from(self.rate) / 1_000_000_000;
        self.clock = self.clock_at(now).saturating_add(u64::try_from(passed).unwrap_or(u64::MAX));
        self.since = now;
        self.set_minute(now);
    }

    /// Days on the clock.
    pub fn clock_days(&self) -> f64 {
        f64::from(self.minute) / (24.0 * 60.0)
    }

    // ---- blocks ----------------------------------------------------------------------------

    /// The first page of a block has been programmed.
    pub fn opened(&mut self, block: Block, is_one_bit: bool) {
        let mut opened = self.minute;
        if Mistake::AgeOfTheDrive.is_planted() {
            opened = 0;
        }
        if Mistake::OldDate.is_planted() {
            opened = self.cells[block.at()].opened;
        }
        if let Some(failing) = &mut self.failing {
            failing.forget(block);
        }
        let is_one_bit = is_one_bit && !Mistake::SlcAsNative.is_planted();
        self.cells[block.at()] = Cell::begun(opened, is_one_bit);
    }

    /// A block is erased, whose pages are these.
    pub fn erased(&mut self, block: Block, pages: std::ops::Range<u64>) {
        let opened = self.cells[block.at()].opened;
        self.cells[block.at()] = Cell::begun(opened, false);
        self.resumed.forget(block);
        self.losses.erased(pages);
        if let Some(failing) = &mut self.failing {
            failing.forget(block);
        }
        let width = self.shape.width as usize;
        if let Some(last) = self.last.get_mut(block.at() * width..(block.at() + 1) * width) {
            last.fill(0);
        }
    }

    // ---- pages -----------------------------------------------------------------------------

    /// The pages of the flash on which a logical page of a block lies, of the bytes of it from one on.
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

    /// The same of one by its number in the block.
    pub fn pages_in(
        &self,
        block: Block,
        page: u32,
        bytes: (u32, u32),
    ) -> impl Iterator<Item = FlashPage> + use<> {
        let units = self.shape.units;
        self.pages_of((block, page / units, page % units), bytes)
    }

    /// The same of all of it.
    pub fn pages_at(&self, block: Block, page: u32) -> impl Iterator<Item = FlashPage> + use<> {
        self.pages_in(block, page, (0, self.shape.unit_bytes))
    }

    /// The pages that a patrol reads of a block: one of each group that is full.
    pub fn patrolled(
        &self,
        block: Block,
        written: Written,
    ) -> impl Iterator<Item = FlashPage> + use<> {
        let Groups { units, rows, planes, .. } = self.shape;
        let rows = if self.cells[block.at()].is_one_bit() { 1 } else { rows };
        (0..written.programmed / units).map(move |group| {
            let (row, plane) = (group % rows, group / rows % planes);
            FlashPage { block, group, row, plane }
        })
    }

    /// What a patrol finds in a block.
    pub fn inspect(&mut self, block: Block, written: Written) -> Found {
        let mut found = Found::default();
        if Mistake::PatrolReadsNothing.is_planted() {
            return found;
        }
        for page in self.patrolled(block, written) {
            self.is_clean_now(self.cell_of(page), written.erases);
            let (drift, mut errors, _) = self.state_of(page, written.erases);
            let number = (page.row, page.plane);
            // What is gone with a die would be gone again.
            if self.failing.as_ref().is_some_and(|it| it.is_hit(page.block, page.group, number)) {
                errors = 1.0;
            }
            found.errors = found.errors.max(errors);
            found.drift = found.drift.max(drift);
        }
        found
    }

    /// A block takes the date of another: a mistake that can be planted.
    pub fn redate(&mut self, block: Block, from: Block) {
        self.cells[block.at()].opened = self.cells[from.at()].opened;
    }

    /// What a read of a page comes to. That of the host counts.
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

    /// Whether so much may have failed that the drive gives up.
    #[inline]
    pub fn may_give_up(&self) -> bool {
        self.failing.is_some() || self.tally.unreadable > 0
    }

    /// Whether blocks can be known to be read at once: not where something fails, where a block is of two ages, or where
    /// something is known to be lost. There each page is looked at.
    #[inline]
    pub fn may_be_sound(&self) -> bool {
        self.failing.is_none() && self.resumed.is_empty() && !self.losses.are_known()
    }

    /// Whether every page of a block is known to be read at once, without a look at any.
    #[inline]
    pub fn is_sound(&self, block: Block) -> bool {
        let cell = &self.cells[block.at()];
        cell.drift == CLEAN && cell.is_of_class(cell.age(self.minute)) && self.may_be_sound()
    }

    /// The host reads one flash page of a block whose pages are all read at once; whether it is such a block.
    #[inline]
    pub fn reads_at_once(&mut self, block: Block) -> bool {
        let cell = &mut self.cells[block.at()];
        // The read that makes it another class is looked at.
        if cell.drift != CLEAN || cell.reads() + 1 >= cell.until_reads || !self.is_sound(block) {
            return false;
        }
        self.cells[block.at()].reads += 1;
        self.tally.count_plain()
    }

    /// Whether a page would be beyond correction, if it were read now.
    pub fn would_be_lost(&mut self, page: FlashPage, block: Written) -> bool {
        let is_clean = self.is_clean_now(self.cell_of(page), block.erases);
        (!is_clean || self.has_failed(page)) && self.climb_alone(page, block).lost
    }

    /// What a read of a page would come to, with its stripe.
    fn climb_alone(&mut self, page: FlashPage, block: Written) -> Outcome {
        let (outcome, _) = self.judge(page, block.erases);
        if outcome.lost { self.rebuild(page, block, outcome) } else { outcome }
    }

    /// The place of what is kept of the block of a page, or of the part of it.
    #[inline]
    fn cell_of(&self, page: FlashPage) -> usize {
        if self.resumed.is_empty() {
            return page.block.at();
        }
        let part = self.resumed.part_of(page.block, page.group);
        part.map_or(page.block.at(), |part| (self.blocks + part) as usize)
    }

    /// Whether every page of a block is read at once, at its present age.
    #[inline]
    fn is_clean_now(&mut self, at: usize, erases: u32) -> bool {
        let cell = &self.cells[at];
        if !cell.is_of_class(cell.age(self.minute)) {
            self.classify(at, erases);
        }
        self.cells[at].drift == CLEAN
    }

    /// Brings a page back from the others of its stripe, if all of them have been programmed and none is beyond
    /// correction too.
    fn rebuild(&mut self, page: FlashPage, block: Written, outcome: Outcome) -> Outcome {
        if block.programmed < self.shape.stripe_end(page.group) {
            return outcome;
        }
        let erases = block.erases;
        let Some(others) = self.shape.stripe_of(page.group) else { return outcome };
        let (mut pages, mut steps) = (0, 0);
        for group in others.filter(|group| *group != page.group) {
            // It may lie in another part of the block.
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

    /// The time that parity takes to bring a page back.
    pub fn rebuild_time(&self, outcome: Outcome, sense_ns: Time, bus_ns: Time) -> Time {
        self.ladder.rebuild_time(outcome, sense_ns, bus_ns)
    }

    /// The time that an outcome takes beyond the first sense.
    pub fn time(&self, outcome: Outcome, sense_ns: Time, bus_ns: Time) -> Time {
        self.ladder.time(outcome, sense_ns, bus_ns)
    }

    /// Finds the class of a block, and until when it is that. It depends on its age and its reads, not on when it was
    /// asked for.
    #[cold]
    fn classify(&mut self, at: usize, erases: u32) {
        let cell = self.cells[at];
        let age = cell.age(self.minute);
        let (age, until_age) = rounded(age, AGE_BITS);
        let shape = &self.shape;
        let pages = shape.rounds() * shape.width * shape.rows * shape.planes;
        let unit = pages.div_ceil(16);
        let (reads, until_reads) = rounded(cell.reads() / unit, READ_BITS);
        let per_page = f64::from(reads) * f64::from(unit) / f64::from(pages);
        let (drift, errors) = self.means(&cell, age, per_page, erases);
        let (drift, errors) = (stepped(drift), stepped(errors));
        let is_clean = self.is_clean(drift, errors);
        let class = (if is_clean { CLEAN } else { drift }, errors);
        let until = (until_age, until_reads.saturating_mul(unit));
        self.cells[at].set_class(class, until);
    }

    /// The mean drift and error rate of a block at an age in minutes, each of its pages having been read so often.
    fn means(&self, cell: &Cell, age: u32, reads: f64, erases: u32) -> (f64, f64) {
        let erases = if Mistake::NoWear.is_planted() { 0 } else { erases };
        let cycles = f64::from(self.cycles.saturating_add(erases));
        let hours = f64::from(age) / 60.0;
        let less = if cell.is_one_bit() { [ONE_BIT_DRIFT, ONE_BIT_ERRORS] } else { [1.0; 2] };
        (less[0] * self.law.drift(cycles, hours), less[1] * self.law.errors(cycles, hours, reads))
    }

    /// What a read of the mean page of a block would come to now, beginning where reads do.
    pub fn class_of(&self, block: Block, erases: u32) -> Outcome {
        let (cell, shape) = (&self.cells[block.at()], &self.shape);
        let pages = shape.rounds() * shape.width * shape.rows * shape.planes;
        let reads = f64::from(cell.reads()) / f64::from(pages);
        let (drift, errors) = self.means(cell, cell.age(self.minute), reads, erases);
        let begins = match self.ladder.reference {
            Reference::Table | Reference::Last => 0.0,
            Reference::Model => drift,
        };
        self.ladder.climb(drift, errors, begins)
    }

    /// Whether the worst page of a class is read at once.
    fn is_clean(&self, drift: i16, errors: i16) -> bool {
        let worst = |spreads: Spreads| spreads.of(WORST, WORST, WORST);
        let errors = libm::exp(unstepped(errors) + worst(self.errors));
        let spread = worst(self.drift) + WORST * self.estimate_error();
        let drift = libm::exp(unstepped(drift) + spread);
        errors < self.ladder.hard() && drift <= self.ladder.window(errors)
    }

    fn estimate_error(&self) -> f64 {
        match self.ladder.reference {
            Reference::Model => self.ladder.estimate_error,
            Reference::Table | Reference::Last => 0.0,
        }
    }

    /// The drift and the error rate of a page, and where its read begins.
    fn state_of(&self, page: FlashPage, erases: u32) -> (f64, f64, f64) {
        let (drift, errors, from) = self.logarithms_of(page, erases);
        (libm::exp(drift), libm::exp(errors), from)
    }

    /// The logarithms of drift and error rate, and where the read begins.
    fn logarithms_of(&self, page: FlashPage, erases: u32) -> (f64, f64, f64) {
        let cell = self.cells[self.cell_of(page)];
        let shape = &self.shape;
        let first = shape.first_die(page.block, self.blocks_per_domain);
        let (die, round) = shape.die_and_round_of(first, page.group);
        let of_die =
            mix(self.seed ^ 1 << 61, u64::from(page.block.0) << 16 | u64::from(die - first));
        let quantile = |bits: u64| f64::from(self.quantiles[bits as usize % QUANTILES]);
        // Staggered, the pages of a stripe lie on other word lines of each die.
        let round = round + self.stagger * (die - first);
        let round = round as usize % self.layers[0].len();
        let layer = [self.layers[0][round], self.layers[1][round]];
        let row = u64::from(page.group * shape.rows + page.row);
        let in_block = row * u64::from(shape.planes) + u64::from(page.plane);
        let number = u64::from(page.block.0) << 32 | in_block;
        let mut own = mix(mix(self.seed, number), u64::from(erases));
        if Mistake::DrawnOnEachRead.is_planted() {
            own = mix(own, u64::from(cell.reads));
        }
        let mean_drift = if cell.drift == CLEAN { i16::MIN + 1 } else { cell.drift };
        let mean_drift = unstepped(mean_drift);
        let drift = mean_drift - self.drift.above()
            + self.drift.of(f64::from(layer[0]), quantile(of_die >> 52), self.normal.of_hash(own));
        let errors = unstepped(cell.errors) - self.errors.above()
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
        };
        (drift, errors, from)
    }

    /// What a read of a page comes to by its state alone, and the reference at which it ends.
    fn judge(&self, page: FlashPage, erases: u32) -> (Outcome, f64) {
        let (drift, errors, from) = self.logarithms_of(page, erases);
        // What has failed no reference reads.
        let errors = if self.has_failed(page) { 0.0 } else { errors };
        let drift = libm::exp(drift);
        let outcome = self.ladder.climb_from(drift, errors, from);
        // The first entry of the table within reach of the best.
        let steps = f64::from(outcome.steps);
        (outcome, if drift < from { from - steps } else { from + steps })
    }

    /// The same of one that is read: where reads begin at the last good reference it is remembered.
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

    // ---- what could not be read ------------------------------------------------------------------

    /// Whether anything is known to be lost.
    #[inline]
    pub fn knows_losses(&self) -> bool {
        self.losses.are_known()
    }

    /// What is known to be lost.
    #[inline]
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The same, to be told.
    #[inline]
    pub fn losses_mut(&mut self) -> &mut Losses {
        &mut self.losses
    }

    /// The host could not read a logical page.
    pub fn count_unreadable(&mut self) {
        self.tally.count_unreadable();
    }

    /// The host read a copy of what could not be read, from a page that can be.
    pub fn count_poisoned_read(&mut self) {
        self.tally.count_uncorrectable();
    }

    /// Reads of logical pages that failed.
    pub fn unreadable(&self) -> u64 {
        self.tally.unreadable
    }

    /// Flash pages that the host read.
    pub fn page_reads(&self) -> u64 {
        self.tally.retries.iter().sum()
    }

    /// It wrote one anew that it could not have read.
    pub fn count_healed(&mut self) {
        self.tally.count_healed();
    }

    // ---- reports ---------------------------------------------------------------------------------

    /// Counts from zero.
    pub fn reset_counts(&mut self) {
        self.tally = Tally::default();
    }

    /// What it came to; `written` says what is known of a block.
    pub fn report(&mut self, written: impl Fn(Block) -> Written) -> MediaReport {
        let mut rates = Vec::new();
        let mut drifts = Vec::new();
        let mut seen = [0; 3];
        let shape = self.shape;
        let pages_of_group = u64::from(shape.rows * shape.planes);
        let all = u64::from(self.blocks) * u64::from(shape.per_block) * pages_of_group;
        for sample in 0..all.min(SAMPLE) {
            // Spread evenly, but not in step with planes and rows.
            let number = if all <= SAMPLE { sample } else { mix(self.seed ^ 5, sample) % all };
            let (group, page) = (number / pages_of_group, (number % pages_of_group) as u32);
            let number = Block((group / u64::from(shape.per_block)) as u32);
            let group = (group % u64::from(shape.per_block)) as u32;
            let block = written(number);
            if block.programmed <= group * shape.units {
                continue;
            }
            let (row, plane) = (page / shape.planes, page % shape.planes);
            let page = FlashPage { block: number, group, row, plane };
            self.classify(self.cell_of(page), block.erases);
            let (drift, errors, _) = self.state_of(page, block.erases);
            let outcome = self.climb_alone(page, block);
            seen[0] += 1;
            seen[1] += u64::from(!outcome.is_plain());
            seen[2] += u64::from(outcome.lost);
            drifts.push(drift);
            rates.push(errors);
        }
        rates.sort_by(f64::total_cmp);
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
        let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
        let high = rates.get(rates.len() * 99 / 100).copied().unwrap_or(0.0);
        let Tally { retries, soft, searched, uncorrectable, rebuilt, unreadable, healed } =
            self.tally.clone();
        MediaReport {
            clock_days: self.clock_days(),
            rber: [mean(&rates), high, most(&rates)],
            drift: [mean(&drifts), most(&drifts)],
            spread_errors: self.spread_errors,
            sample: seen,
            retries,
            soft_reads: soft,
            searched,
            uncorrectable,
            rebuilt,
            unreadable,
            healed,
            poisoned: self.losses.poisoned(),
            failures: self.failing.as_ref().map(|it| {
                let (lost, bad) = it.counts(self.minute);
                [u64::from(lost), u64::from(bad), it.defects()]
            }),
            ..MediaReport::default()
        }
    }

    /// The state, to be kept when the drive's own time has come to `now`: with it the time since data aged last.
    pub fn keep(&self, now: Time) -> MediaState {
        MediaState {
            clock: self.clock_at(now),
            cells: self.cells.clone(),
            resumed: self.resumed.clone(),
            losses: self.losses.clone(),
            last: self.last.clone(),
            failing: self.failing.as_ref().map(|failing| failing.keep()),
        }
    }

    /// Takes up a state that was kept; whether it fits.
    pub fn restore(&mut self, state: MediaState) -> bool {
        if state.cells.len() < self.blocks as usize {
            return false;
        }
        self.resumed = state.resumed;
        (self.clock, self.cells) = (state.clock, state.cells);
        if Mistake::SavedIsYoung.is_planted() {
            self.clock = 0;
        }
        self.losses = state.losses;
        if let Some((failing, state)) = self.failing.as_mut().zip(state.failing) {
            failing.restore(state);
        }
        // A drive whose reads began elsewhere has none.
        if state.last.len() == self.last.len() {
            self.last = state.last;
        }
        (self.minute, self.minute_until) = (minutes(self.clock), 0);
        // What it was is found again: the cycles may be others.
        self.cells.iter_mut().for_each(|cell| cell.set_class((0, 0), (0, 0)));
        true
    }
}

/// Normal quantiles of word lines, whose order a hash decides. They are spread evenly: a drive that is simulated in part
/// has few word lines, whose mean is to be that of many.
fn spread_evenly(count: u32, hash: impl Fn(u32) -> u64) -> Vec<f32> {
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_by_key(|line| hash(*line));
    let mut found = vec![0.0; count as usize];
    for (line, quantile) in order.into_iter().zip(quantiles(count)) {
        found[line as usize] = quantile as f32;
    }
    found
}

/// Steps of the clock in a second at a temperature.
fn rate(law: &Law, at: Celsius) -> u64 {
    (law.acceleration(at.celsius()) * f64::from(1u32 << CLOCK_BITS)).round() as u64
}

fn minutes(clock: u64) -> u32 {
    u32::try_from((clock >> CLOCK_BITS) / 60).unwrap_or(u32::MAX).min(LAST_MINUTE)
}
