//! Requirements for every cleaning policy, built in or not: choose only closed blocks, lose nothing,
//! make
//! progress at the least spare space that a configuration allows, and decide alike for a seed.

use crate::clean::Supplied;
use crate::clean::{Cleaner, Custom};
use crate::config::{Cleaning, CleaningTime, Policy, PolicyName, Pool, Wear};
use crate::device::Model;
use crate::ids::Lpn;
use crate::{Ssd, SsdConfig, SsdReport};
use engine::{
    Arrival, Completion, Lba, Observer, Op, Random, Request, Time, Workload, WorkloadError,
    Xoshiro256, drive,
};
use options::Size;
use std::convert::Infallible;
use std::ops::ControlFlow;

/// One requirement of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Purpose, in a few words.
    pub shows: &'static str,
    /// The problem, if any.
    pub problem: Option<String>,
}

/// Runs every check on external policies; `make` creates a new one for each run.
///
/// # Errors
/// Only those of `make`.
pub fn conformance<E>(
    make: &mut dyn FnMut() -> Result<Box<dyn Cleaner>, E>,
) -> Result<Vec<Check>, E> {
    let name = PolicyName::new("module:Class").expect("it has both parts");
    checks(&Policy::Named(name), &mut || Ok(Supplied { policy: Some(Custom::new(make()?)) }))
}

/// Runs every check on a policy of the table.
pub fn conformance_of(policy: &Policy) -> Vec<Check> {
    match checks(policy, &mut || Ok::<_, Infallible>(Supplied::default())) {
        Ok(checks) => checks,
    }
}

/// Runs every check with the policies of `supply`.
fn checks<E>(
    policy: &Policy,
    supply: &mut dyn FnMut() -> Result<Supplied, E>,
) -> Result<Vec<Check>, E> {
    let mut checks = Vec::new();
    let mut repeats = None;
    for case in &cases() {
        let mut problem = None;
        match (run(case, policy, &supply()?), run(case, policy, &supply()?)) {
            (Err(broken), _) | (_, Err(broken)) => problem = Some(broken),
            (Ok(once), Ok(again)) if once != again => {
                repeats.get_or_insert_with(|| {
                    format!(
                        "two runs differ ({}); draw random numbers only from view.random",
                        case.shows
                    )
                });
            }
            (Ok(_), Ok(_)) => {}
        }
        checks.push(Check { shows: case.shows, problem });
    }
    checks.push(Check { shows: "the same seed gives the same choices", problem: repeats });
    Ok(checks)
}

/// Writes to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    /// Uniform random, untimed overwrites.
    Untimed,
    /// Nine of ten untimed overwrites go to a tenth of the pages.
    Skewed,
    /// Requests in time: reads, writes and trims.
    Timed,
}

struct Case {
    shows: &'static str,
    config: SsdConfig,
    load: Load,
}

/// Two packages of one plane: 24 blocks of 8 pages each.
fn small() -> SsdConfig {
    SsdConfig {
        channels: 2,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 24,
        pages_per_block: 8,
        summary_page: false,
        spare_factor: Some(0.25),
        ..SsdConfig::default()
    }
}

fn cases() -> Vec<Case> {
    let timed = |time, copy_back, pool| SsdConfig {
        cleaning: Cleaning { time, copy_back, ..Cleaning::default() },
        pool,
        planes_per_die: 2,
        ..small()
    };
    // One domain of 24 x 8 pages. Cleaning holds one block erased and one open; one page more than
    // that must be spare.
    let least = SsdConfig {
        channels: 1,
        spare_factor: Some(17.0 / 192.0),
        stripe: Some(Size::from_bytes(4096)),
        cleaning: Cleaning { min_free: Some(0.0), ..Cleaning::default() },
        ..small()
    };
    // A block is erased about eight times in a run.
    let worn =
        SsdConfig { wear: Wear { rated_cycles: 10, spread: 0.3, ..Wear::default() }, ..small() };
    let case = |shows, config, load| Case { shows, config, load };
    vec![
        case("random overwrites in fast-forward", small(), Load::Untimed),
        case("hot and cold overwrites in fast-forward", small(), Load::Skewed),
        case(
            "reads, writes and trims while cleaning holds its unit",
            timed(CleaningTime::Blocking, false, Pool::Package),
            Load::Timed,
        ),
        case(
            "reads, writes and trims while cleaning yields",
            timed(CleaningTime::Interleaved, false, Pool::Package),
            Load::Timed,
        ),
        case(
            "planes of a unit that clean by copy-back",
            timed(CleaningTime::Interleaved, true, Pool::Package),
            Load::Timed,
        ),
        case(
            "a pool over the whole drive",
            timed(CleaningTime::Interleaved, false, Pool::Ssd),
            Load::Timed,
        ),
        case("blocks that wear out", worn, Load::Untimed),
        case("progress at the least spare space, in fast-forward", least.clone(), Load::Skewed),
        case("progress at the least spare space, in time", least, Load::Timed),
    ]
}

/// Complete outcome of a run, for comparison.
#[derive(PartialEq)]
struct Outcome {
    end: Time,
    report: SsdReport,
    map: Vec<Option<crate::ids::Ppn>>,
}

/// Runs a case; returns the problem, if any.
fn run(case: &Case, policy: &Policy, supplied: &Supplied) -> Result<Outcome, String> {
    let mut config = case.config.clone();
    config.cleaning.policy = policy.clone();
    let mut ssd = Ssd::with(&config, 1, supplied).expect("the cases are valid");
    let pages = ssd.facts().pages;
    let mut random = Xoshiro256::new(1, 0);
    let mut end = 0;
    match case.load {
        Load::Untimed => {
            for _ in 0..8 * pages {
                ssd.overwrite_untimed(&[random.below(pages)], 0);
            }
        }
        Load::Skewed => {
            for _ in 0..8 * pages {
                let reach = if random.below(10) < 9 { pages / 10 } else { pages };
                ssd.overwrite_untimed(&[random.below(reach)], 0);
            }
        }
        Load::Timed => {
            let sectors = u64::from(ssd.ftl.geometry().sectors_per_page);
            let mut load = Requests { left: 6 * pages, room: 8, pages, sectors, random };
            end = drive(&mut ssd, &mut load, Time::MAX, &mut Nobody)
                .map_err(|error| error.to_string())?
                .last;
        }
    }
    if let Some(failure) = supplied.failure() {
        return Err(failure);
    }
    ssd.check().map_err(|broken| format!("the audit fails: {broken}"))?;
    let map: Vec<_> = (0..pages).map(|page| ssd.ftl.lookup(Lpn(page))).collect();
    if case.load != Load::Timed
        && let Some(lost) = map.iter().position(Option::is_none)
    {
        return Err(format!("logical page {lost} is lost"));
    }
    Ok(Outcome { end, report: ssd.account(end), map })
}

/// Mostly single-page writes, some outstanding.
struct Requests {
    left: u64,
    room: u32,
    pages: u64,
    sectors: u64,
    random: Xoshiro256,
}

impl Workload for Requests {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.room == 0 || self.left == 0 {
            return Ok(None);
        }
        self.room -= 1;
        self.left -= 1;
        let op = match self.random.below(20) {
            0 => Op::Trim,
            1..5 => Op::Read,
            _ => Op::Write,
        };
        let lba = Lba(self.random.below(self.pages) * self.sectors);
        let request = Request::new(self.left, op, lba, self.sectors as u32);
        Ok(Some(Arrival { at: now, request }))
    }

    fn completed(&mut self, _: &Completion) {
        self.room += 1;
    }

    fn expected_requests(&self) -> Option<u64> {
        None
    }
}

struct Nobody;

impl Observer for Nobody {
    fn completed(&mut self, _: &Completion) {}

    fn tick(&mut self, _: Time) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
