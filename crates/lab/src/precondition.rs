//! Untimed writes to a drive before a run.

use crate::config::{Precondition, RunConfig, Steady, Until};
use crate::error::RunError;
use crate::own_load::{self, Passes};
use crate::steady::{Prepared, Rounds};
use crate::threads::{Pace, Stretch, Threads, side_by_side};
use crate::untimed::Amplification;
use devices::{Instruction, Model};
use engine::{Random, SECTOR_BYTES, Time, Xoshiro256};
use std::ops::ControlFlow;
use std::sync::OnceLock;

/// Reasons for uniform pages although there is a workload.
const NO_WRITES: &str = "the workload writes nothing";
const ENDED: &str = "the drive takes no writes";
/// Reason for a single-threaded preparation.
const IN_ORDER: &str = "the workload is repeated in its order";

/// Preconditions a drive. `own` is its workload, or the reason for not using it; `tick` is called
/// periodically with the writes done and expected. Returns how the drive settled, if settling ends
/// the preconditioning.
///
/// # Errors
/// Corrupt input of the workload.
pub(crate) fn precondition(
    device: &mut dyn Model,
    run: &RunConfig,
    own: Result<&mut Passes<'_>, &'static str>,
    target: Target,
    threads: &mut Threads,
    tick: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<ControlFlow<(), Option<Prepared>>, RunError> {
    if run.precondition == Precondition::None || device.facts().pages == 0 {
        return Ok(ControlFlow::Continue(None));
    }
    let mut because = own.as_ref().err().copied();
    if run.precondition == Precondition::Steady
        && let Ok(passes) = own
    {
        because = Some(if device.has_ended() { ENDED } else { NO_WRITES });
        if !device.has_ended() {
            match with_workload(device, run, passes, tick)? {
                ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
                ControlFlow::Continue(None) => {}
                ControlFlow::Continue(prepared) => {
                    threads.prepare(Err(IN_ORDER));
                    return Ok(ControlFlow::Continue(prepared));
                }
            }
        }
    }
    Ok(at_random(device, run, because, target, threads, tick))
}

/// The pages to precondition: pages with data within the reach of the load.
#[derive(Debug)]
pub struct Target {
    /// Runs of pages: number of preceding pages and first page.
    runs: Vec<(u64, u64)>,
    count: u64,
}

impl Target {
    /// Every page.
    pub fn all(device: &dyn Model) -> Target {
        Target { runs: vec![(0, 0)], count: device.facts().pages }
    }

    /// Pages of a full or partially filled device; `reach` is the number of leading sectors
    /// accessed by the load, if known. If the load accesses none of the device's data, all pages
    /// within its reach.
    pub fn of(device: &dyn Model, is_partly_filled: bool, reach: Option<u64>) -> Target {
        let (pages, sectors) = (device.facts().pages, device.capacity_sectors().max(1));
        let share = |reach: u64| (u128::from(reach) * u128::from(pages)).div_ceil(sectors.into());
        let end = reach.map_or(pages, |reach| pages.min(share(reach) as u64));
        let whole = Target { runs: vec![(0, 0)], count: end };
        if !is_partly_filled {
            return whole;
        }
        let mut held = Target { runs: Vec::new(), count: 0 };
        let mut next = None;
        for page in (0..end).filter(|page| device.holds(*page)) {
            if next != Some(page) {
                held.runs.push((held.count, page));
            }
            held.count += 1;
            next = Some(page + 1);
        }
        if held.count == 0 { whole } else { held }
    }

    /// True for the first pages of the device, without gaps.
    fn is_first(&self) -> bool {
        self.runs.len() == 1 && self.runs[0].1 == 0
    }

    /// The page with this rank.
    #[inline]
    fn page(&self, number: u64) -> u64 {
        let (before, first) = if let [only] = self.runs[..] {
            only
        } else {
            self.runs[self.runs.partition_point(|(before, _)| *before <= number) - 1]
        };
        first + (number - before)
    }
}

/// Repeats the workload until the drive has settled; `None` if it writes nothing.
fn with_workload(
    device: &mut dyn Model,
    run: &RunConfig,
    passes: &mut Passes<'_>,
    tick: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<ControlFlow<(), Option<Prepared>>, RunError> {
    instruct(device, Instruction::ResetCounts);
    let steady = &run.steady;
    let rounds = Rounds::of_workload(steady);
    let mut amplification = Amplification::new(rounds, steady.round_writes, device);
    let capacity = (device.capacity_sectors() * SECTOR_BYTES) as f64;
    let expected = round_pages(device.facts().pages, steady) * u64::from(steady.rounds);
    let until = if let Until::Time(time) = run.until { time.ns() } else { Time::MAX };
    let mut tick = |done: u64| tick(done, expected.max(done));
    let written = own_load::write(device, passes, until, &mut amplification, &mut tick)?;
    let rounds = amplification.rounds;
    instruct(device, Instruction::ResetCounts);
    Ok(written.map_continue(|bytes| {
        let settled = Prepared::of(&rounds, true, None, bytes as f64 / capacity);
        (bytes > 0).then_some(settled)
    }))
}

/// Pages per round.
fn round_pages(pages: u64, steady: &Steady) -> u64 {
    ((pages as f64 * steady.round_writes) as u64).max(1)
}

/// Writes every page in order, or uniformly random pages.
fn at_random(
    device: &mut dyn Model,
    run: &RunConfig,
    because: Option<&'static str>,
    target: Target,
    threads: &mut Threads,
    tick: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> ControlFlow<(), Option<Prepared>> {
    let pages = target.count;
    let mut settled = None;
    let mut write = Writer::new(device, target, run.seed, tick);
    write.divide(threads);
    match run.precondition {
        Precondition::None => {}
        Precondition::Sequential => write.pages(pages, pages, false)?,
        Precondition::Random(overwrites) => {
            let writes = (pages as f64 * overwrites) as u64;
            write.pages(writes, writes, true)?;
        }
        Precondition::Steady => {
            let round = round_pages(pages, &run.steady);
            let mut rounds = Rounds::new(&run.steady, "write_amplification");
            while !rounds.is_over() {
                instruct(write.device, Instruction::ResetCounts);
                write.pages(round, round * u64::from(run.steady.rounds), true)?;
                let amplification =
                    write.device.report(0).number("flash.write_amplification_bytes");
                // Write amplification is undefined only for a read-only drive.
                let Some(amplification) = amplification else { break };
                rounds.add(amplification);
            }
            let written = write.done as f64 / pages as f64;
            settled = Some(Prepared::of(&rounds, false, because.map(Into::into), written));
        }
    }
    write.unite();
    threads.prepare(write.divided);
    instruct(device, Instruction::ResetCounts);
    if begins_load(run, settled.as_ref()) {
        instruct(device, Instruction::BeginLoad);
    }
    ControlFlow::Continue(settled)
}

/// True if another load prepared the drive: then steady state and wear of the run's load begin with
/// the run.
pub fn begins_load(run: &RunConfig, prepared: Option<&Prepared>) -> bool {
    let is_load =
        |it: &Prepared| it.is_own_load() || it.because.as_deref() == Some(own_load::UNIFORM);
    run.precondition != Precondition::Steady || !prepared.is_some_and(is_load)
}

/// Writer of pages, in order or at random.
struct Writer<'a> {
    device: &'a mut dyn Model,
    target: Target,
    random: Xoshiro256,
    done: u64,
    tick: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    /// Number of device parts written in parallel, or the reason for a single part.
    divided: Result<u32, &'static str>,
    /// Overwrites that the parts can surely do next.
    sure: u64,
    pace: Pace,
}

impl<'a> Writer<'a> {
    fn new(
        device: &'a mut dyn Model,
        target: Target,
        seed: u64,
        tick: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Writer<'a> {
        let random = Xoshiro256::new(seed, 8);
        Writer { device, target, random, done: 0, tick, divided: Ok(1), sure: 0, pace: Pace::new() }
    }

    /// Divides the device among threads, if the result is unaffected.
    fn divide(&mut self, threads: &Threads) {
        if !self.target.is_first() {
            self.divided = Err("only what the drive holds is written");
        } else if threads.asked > 1 {
            match self.device.divide(threads.asked) {
                Ok(division) => (self.divided, self.sure) = (Ok(division.parts), division.sure),
                Err(why) => self.divided = Err(why),
            }
        }
    }

    /// Reunites the parts of the device.
    fn unite(&mut self) {
        if self.is_divided() {
            self.device.instruct(0, Instruction::Unite).expect("its parts are independent");
        }
    }

    fn is_divided(&self) -> bool {
        self.divided.is_ok_and(|parts| parts > 1)
    }

    /// Writes pages in parallel as long as the result equals a sequential one; returns their
    /// number.
    fn side_by_side(
        &mut self,
        writes: u64,
        expected: u64,
        at_random: bool,
    ) -> ControlFlow<(), u64> {
        // Minimum batch for which the check is faster than writing.
        const FEWEST: u64 = 1 << 8;
        let pages = self.target.count;
        let mut first = 0;
        while first < writes {
            (self.tick)(self.done, expected)?;
            let most = self.sure;
            if most < FEWEST {
                self.unite();
                self.divided = Err("blocks are about to wear out");
                break;
            }
            let Writer { device, random, done, sure, .. } = self;
            self.pace.stretch(most.min(writes - first), |count| {
                let stretch = Stretch {
                    random: at_random.then(|| random.clone()),
                    first,
                    count,
                    pages,
                    after: OnceLock::new(),
                };
                *sure = device.overwrite_divided(&stretch, &mut side_by_side);
                if let Some(after) = stretch.after.into_inner() {
                    *random = after;
                }
                *done += count;
                first += count;
            });
        }
        ControlFlow::Continue(first)
    }

    /// Writes `writes` pages in batches; progress counts to `expected`.
    fn pages(&mut self, writes: u64, expected: u64, at_random: bool) -> ControlFlow<()> {
        // Batch size for prefetching, limited because a write can take a third of a millisecond
        // when garbage collection reclaims little.
        const BATCH: u64 = 1 << 8;
        let begun =
            if self.is_divided() { self.side_by_side(writes, expected, at_random)? } else { 0 };
        let pages = self.target.count;
        let mut batch = Vec::with_capacity(BATCH as usize);
        for first in (begun..writes).step_by(BATCH as usize) {
            (self.tick)(self.done, expected)?;
            let numbers = first..writes.min(first + BATCH);
            let more = writes - numbers.end;
            self.done += numbers.end - numbers.start;
            batch.clear();
            if at_random {
                batch.extend(numbers.map(|_| self.target.page(self.random.below(pages))));
            } else {
                batch.extend(numbers.map(|number| self.target.page(number)));
            }
            self.device.overwrite_untimed(&batch, more);
        }
        ControlFlow::Continue(())
    }
}

/// Tells a device to count anew, which any can.
fn instruct(device: &mut dyn Model, instruction: Instruction) {
    device.instruct(0, instruction).expect("counts can begin");
}
