//! Ageing state of a drive: its clock, and per block the time of writing and the number of reads.

mod classes;
mod reads;

use super::age::Age;
use super::cell::Cell;
use super::failing::{Failing, FailingState};
use super::ladder::Ladder;
use super::law::Law;
use super::lines::{quantiles, stagger_of};
use super::losses::Losses;
use super::normal::{Quantiles, mix, of_hash, stirred};
use super::place::{FlashPage, Spreads, Written};
use super::planted::Mistake;
use super::proof::Proof;
use super::report::MediaReport;
use super::resumed::Resumed;
use super::spread::spread_of;
use super::tally::Tally;
use crate::config::{Celsius, Reference, SsdConfig};
use crate::ids::Block;
use crate::shape::Groups;
use engine::Time;
use serde::{Deserialize, Serialize};

/// Random stream of the variation of pages, blocks and word lines.
const MEDIA_STREAM: u64 = 21;
/// Clock steps per second at 30 degrees, as a power of two, so that sums of times are exact.
const CLOCK_BITS: u32 = 20;
/// Last minute of the clock: 8,000 years.
const LAST_MINUTE: u32 = 8000 * 525_960;
/// Drift of a class in which all but 1 in 1e9 pages need no retries.
const CLEAN: i16 = i16::MIN;
/// Deviation of the worst page in 1e9, in standard deviations.
const WORST: f64 = 6.0;
/// Hash bits below a limit's, and margin for rounding.
const LIMIT_SHIFT: u32 = 48;
const ROUNDED: f64 = 1e-9;
/// Deviation that no page in 1e16 exceeds.
const SURE: f64 = 8.3;
/// Level drift and errors with one bit per cell, as shares of native: guesses.
const ONE_BIT_DRIFT: f64 = 1.0 / 8.0;
const ONE_BIT_ERRORS: f64 = 1.0 / 100.0;
/// Significant bits of age and of reads in a class.
const AGE_BITS: u32 = 11;
const READ_BITS: u32 = 6;
/// Number of normal quantiles for the variation of blocks.
const QUANTILES: usize = 4096;
/// Random stream of failures, separate from pages.
const FAILING: u64 = 1 << 60;
/// Maximum number of pages in a report's sample.
const SAMPLE: u64 = 1 << 14;

/// Saved state of the media.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MediaState {
    clock: u64,
    cells: Vec<Cell>,
    resumed: Resumed,
    losses: Losses,
    last: Vec<u8>,
    measured: Vec<i16>,
    /// Empty without modelled failures.
    failing: Option<FailingState>,
}

/// The media of a drive: law and read steps, clock, state of blocks, and counters.
#[derive(Debug, Clone)]
pub struct Media {
    law: Law,
    ladder: Ladder,
    seed: u64,
    shape: Groups,
    /// Resolution of reads in a class, in reads of a block's flash pages.
    read_unit: u32,
    blocks_per_domain: u32,
    /// Word-line offset between the pages of a stripe on successive dies.
    stagger: u32,
    cycles: u32,
    /// Clock steps at the time `since`, and clock steps per second of the drive's time.
    clock: u64,
    rate: u64,
    since: Time,
    /// Current minute of the clock, and the drive's time of its next change.
    minute: u32,
    minute_until: Time,
    /// State of each block, followed by younger parts.
    cells: Vec<Cell>,
    blocks: u32,
    resumed: Resumed,
    /// Deviations of drift and errors, by word line.
    layers: Vec<[f32; 2]>,
    /// Largest deviations of drift and errors.
    worst_layer: [f64; 2],
    quantiles: Box<[f32; QUANTILES]>,
    normal: Quantiles,
    drift: Spreads,
    errors: Spreads,
    /// Logarithms of mean / median for drift and errors.
    above: [f64; 2],
    spread_errors: f64,
    /// Last good reference of each block on each die, if reads start there.
    last: Vec<u8>,
    /// Mean drift of each block at its last patrol, in class steps, if reads start there.
    measured: Vec<i16>,
    losses: Losses,
    failing: Option<Box<Failing>>,
    tally: Tally,
    /// Drive time until which the minute does not change, nothing fails and no loss is known, so a
    /// read only examines its page. 0 if this does not hold.
    plain_until: Time,
    proof: Proof,
    /// Precomputed halves of the hashes of pages, and of blocks on dies.
    of_pages: u64,
    of_dies: u64,
}

impl Media {
    /// New media, if data age in this drive.
    pub fn new(config: &SsdConfig, shape: Groups, counts: (u32, u32), seed: u64) -> Option<Media> {
        let media = &config.media;
        let law = Law::new(media)?;
        let (blocks, blocks_per_domain) = counts;
        let ladder = Ladder::new(&config.ecc, &config.retry, law.errors_of_new());
        let (spread_errors, _) = spread_of(config, &law);
        let seed = mix(seed, MEDIA_STREAM);
        let of_layers = |which: u64| {
            spread_evenly(shape.rounds(), |it| mix(mix(seed, 1 << 62 | u64::from(it)), which))
        };
        let of_layers = [of_layers(0), of_layers(1)];
        let worst_layer =
            of_layers.each_ref().map(|all| f64::from(all.iter().copied().fold(f32::MIN, f32::max)));
        let [drifts, rates] = of_layers;
        let layers = drifts.into_iter().zip(rates).map(|(drift, rate)| [drift, rate]);
        let quantile = |place: usize| of_hash((place as u64) << 52 | 1 << 51) as f32;
        let drift = Spreads {
            layer: media.spread_layer,
            block: media.spread_block,
            page: media.spread_page,
        };
        // Half of the variance is between word lines, the rest between blocks and pages: a guess.
        let errors = Spreads {
            layer: spread_errors * std::f64::consts::FRAC_1_SQRT_2,
            block: spread_errors / 2.0,
            page: spread_errors / 2.0,
        };
        let is_measured = config.retry.reference == Reference::Calibrated;
        let begins_last = config.retry.reference == Reference::Last;
        let tracked = if begins_last { blocks as usize * shape.width as usize } else { 0 };
        Some(Media {
            law,
            ladder,
            seed,
            read_unit: (shape.rounds() * shape.width * shape.rows * shape.planes).div_ceil(16),
            blocks_per_domain,
            stagger: stagger_of(config, &shape),
            cycles: media.cycles,
            clock: 0,
            rate: rate(&law, media.temperature),
            since: 0,
            minute: 0,
            minute_until: 0,
            cells: memory::filled(Cell::default(), blocks as usize),
            blocks,
            resumed: Resumed::default(),
            layers: layers.collect(),
            worst_layer,
            quantiles: Box::new(std::array::from_fn(quantile)),
            normal: Quantiles::new(),
            above: [drift.above(), errors.above()],
            drift,
            errors,
            spread_errors,
            last: memory::zeroed(tracked),
            measured: memory::filled(CLEAN, if is_measured { blocks as usize } else { 0 }),
            losses: Losses::default(),
            failing: Failing::new(&config.spares, shape, blocks, mix(seed, FAILING)),
            tally: Tally::default(),
            plain_until: 0,
            proof: Proof::default(),
            of_pages: stirred(seed),
            of_dies: stirred(seed ^ 1 << 61),
            shape,
        })
    }

    // ---- time ------------------------------------------------------------------------------

    /// Advances to the drive's time `now`.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        if now >= self.minute_until {
            self.set_minute(now);
        }
    }

    /// Sets the clock to the drive's time `now`.
    fn set_minute(&mut self, now: Time) {
        let clock = self.clock_at(now);
        self.minute = minutes(clock);
        // Slightly before the next minute, so that rounding cannot skip it.
        let next = ((u64::from(self.minute) + 1) * 60) << CLOCK_BITS;
        let left = u128::from(next.saturating_sub(clock)) * 1_000_000_000;
        let left = left / u128::from(self.rate.max(1));
        self.minute_until = now.saturating_add(Time::try_from(left).unwrap_or(Time::MAX));
        self.fail();
        let is_plain =
            self.failing.is_none() && !self.losses.are_known() && self.tally.unreadable == 0;
        self.plain_until = if is_plain { self.minute_until } else { 0 };
    }

    /// True within the same minute, without failures and known losses.
    #[inline]
    pub fn is_plain(&self, now: Time) -> bool {
        now < self.plain_until
    }

    /// Applies failures up to the current minute.
    #[inline]
    fn fail(&mut self) {
        if let Some(failing) = &mut self.failing {
            failing.advance(self.minute);
        }
    }

    /// Number of lost dies.
    pub fn lost_dies(&self) -> u32 {
        self.failing.as_ref().map_or(0, |failing| failing.counts(self.minute).0)
    }

    /// Clock steps at the drive's time `now`.
    #[inline]
    fn clock_at(&self, now: Time) -> u64 {
        let passed = u128::from(now.saturating_sub(self.since)) * u128::from(self.rate);
        self.clock.saturating_add((passed / 1_000_000_000) as u64)
    }

    /// Lets time pass without requests; `open` lists open blocks with their programmed pages.
    ///
    /// # Errors
    /// When the clock cannot count that far.
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
            memory::grow(&mut self.cells, at + 1, Cell::default());
            self.cells[at] = Cell::begun(self.minute, is_one_bit);
            self.cells[block.at()].split();
        }
        Ok(())
    }

    /// Lets time pass for untimed requests, at the drive's temperature.
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

    /// Notes the program of a block's first page.
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

    /// Notes an erase of a block with the given pages.
    pub fn erased(&mut self, block: Block, erases: u32, pages: std::ops::Range<u64>) {
        self.proof.hear_of_erases(erases);
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
        if let Some(measured) = self.measured.get_mut(block.at()) {
            *measured = CLEAN;
        }
    }

    // ---- pages -----------------------------------------------------------------------------

    /// Gives a block the date of another: a bug that can be planted.
    pub fn redate(&mut self, block: Block, from: Block) {
        self.cells[block.at()].opened = self.cells[from.at()].opened;
    }

    /// True if failures may force the drive to end of life.
    #[inline]
    pub fn may_give_up(&self) -> bool {
        self.failing.is_some() || self.tally.unreadable > 0
    }

    // ---- unreadable pages ----------------------------------------------------------------------

    /// True with known losses.
    #[inline]
    pub fn knows_losses(&self) -> bool {
        self.losses.are_known()
    }

    /// Known lost pages.
    #[inline]
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Known losses, mutable.
    #[inline]
    pub fn losses_mut(&mut self) -> &mut Losses {
        self.plain_until = 0;
        &mut self.losses
    }

    /// Counts a failed host read of a logical page.
    pub fn count_unreadable(&mut self) {
        self.plain_until = 0;
        self.tally.count_unreadable();
    }

    /// Counts a host read of a poisoned copy from a readable page.
    pub fn count_poisoned_read(&mut self) {
        self.tally.count_uncorrectable();
    }

    /// Number of failed reads of logical pages.
    pub fn unreadable(&self) -> u64 {
        self.tally.unreadable
    }

    /// Number of flash pages read by the host.
    pub fn page_reads(&self) -> u64 {
        self.tally.retries().iter().sum()
    }

    /// Counts a rewrite of an unreadable logical page.
    pub fn count_healed(&mut self) {
        self.tally.count_healed();
    }

    // ---- reports ---------------------------------------------------------------------------------

    /// Resets the counters.
    pub fn reset_counts(&mut self) {
        self.tally = Tally::default();
    }

    /// Report; `written` gives the state of a block.
    pub fn report(&mut self, written: impl Fn(Block) -> Written) -> MediaReport {
        let mut rates = Vec::new();
        let mut drifts = Vec::new();
        let mut seen = [0; 3];
        let shape = self.shape;
        let pages_of_group = u64::from(shape.rows * shape.planes);
        let all = u64::from(self.blocks) * u64::from(shape.per_block) * pages_of_group;
        for sample in 0..all.min(SAMPLE) {
            // Evenly spread, but not in step with planes and rows.
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
            self.is_clean_now(self.cell_of(page), block.erases);
            let state = self.state_of(page, block.erases);
            let (drift, errors) = (libm::exp(state.drift), libm::exp(state.errors));
            let (mut outcome, _) = self.judged(page, state);
            if outcome.lost {
                outcome = self.rebuild(page, block, outcome);
            }
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
        let retries = self.tally.retries();
        let Tally { soft, searched, uncorrectable, rebuilt, unreadable, healed, .. } = self.tally;
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

    /// State for saving at the drive's time `now`, including the time since the last ageing.
    pub fn keep(&self, now: Time) -> MediaState {
        MediaState {
            clock: self.clock_at(now),
            cells: self.cells.clone(),
            resumed: self.resumed.clone(),
            losses: self.losses.clone(),
            last: self.last.clone(),
            measured: self.measured.clone(),
            failing: self.failing.as_ref().map(|failing| failing.keep()),
        }
    }

    /// Restores a saved state. Returns false if it does not fit.
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
        // Drives with another reference rule have none.
        if state.last.len() == self.last.len() {
            self.last = state.last;
        }
        if state.measured.len() == self.measured.len() {
            self.measured = state.measured;
        }
        (self.minute, self.minute_until) = (minutes(self.clock), 0);
        (self.plain_until, self.proof) = (0, Proof::default());
        // Classes are determined again, because P/E cycles may differ.
        self.cells.iter_mut().for_each(|cell| cell.set_class((0, 0), (0, 0), 0));
        self.resumed.blocks().for_each(|block| self.cells[block.at()].split());
        true
    }
}

/// Evenly spaced normal quantiles of word lines, in an order given by a hash. A drive simulated in
/// part has few word lines, whose mean must equal that of many.
fn spread_evenly(count: u32, hash: impl Fn(u32) -> u64) -> Vec<f32> {
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_by_key(|line| hash(*line));
    let mut found = memory::zeroed::<f32>(count as usize);
    for (line, quantile) in order.into_iter().zip(quantiles(count)) {
        found[line as usize] = quantile as f32;
    }
    found
}

/// Clock steps per second at a temperature.
fn rate(law: &Law, at: Celsius) -> u64 {
    (law.acceleration(at.celsius()) * f64::from(1u32 << CLOCK_BITS)).round() as u64
}

fn minutes(clock: u64) -> u32 {
    u32::try_from((clock >> CLOCK_BITS) / 60).unwrap_or(u32::MAX).min(LAST_MINUTE)
}
