//! What the flash does, as stages: senses, programs and erasures of the cell array, and transfers
//! over the bus.

use crate::ssd::config::SsdConfig;
use crate::ssd::shape::Granule;
use engine::Time;

/// What one stage of an operation occupies besides its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The cell array, for this many nanoseconds.
    Cell(u32),
    /// The bus, for this many nanoseconds.
    Bus(u32),
}

impl Stage {
    fn cell(self) -> Option<Time> {
        match self {
            Stage::Cell(ns) => Some(Time::from(ns)),
            Stage::Bus(_) => None,
        }
    }

    /// How long it lasts, ns.
    pub fn ns(self) -> Time {
        match self {
            Stage::Cell(ns) | Stage::Bus(ns) => Time::from(ns),
        }
    }
}

/// Kinds of operation behind which another of the same kind may begin, given cache registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cached {
    /// Cache read: a page is sensed while the one before it is transferred.
    Read,
    /// Cache program: a page is transferred while the one before it is programmed.
    Program,
}

/// The stages of one kind of operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    stages: Vec<Stage>,
    cached: Option<Cached>,
    cell_ns: Time,
    total_ns: Time,
}

impl Plan {
    /// A plan of these stages, in order; at least one.
    pub fn new(stages: Vec<Stage>) -> Self {
        assert!(!stages.is_empty());
        let cell_ns = stages.iter().copied().filter_map(Stage::cell).sum();
        let total_ns = stages.iter().copied().map(Stage::ns).sum();
        Plan { stages, cached: None, cell_ns, total_ns }
    }

    /// The same as an operation that cache commands can chain.
    pub fn chained(mut self, kind: Cached) -> Self {
        self.cached = Some(kind);
        self
    }

    /// Time in the cell array, ns.
    pub fn cell_ns(&self) -> Time {
        self.cell_ns
    }

    /// Time when the bus is never waited for, ns.
    pub fn total_ns(&self) -> Time {
        self.total_ns
    }

    /// The stages.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// With which operations it can be chained by cache commands.
    pub fn cached(&self) -> Option<Cached> {
        self.cached
    }

    /// Whether `stage` is its last.
    #[inline]
    pub fn ends_with(&self, stage: u16) -> bool {
        usize::from(stage) + 1 >= self.stages.len()
    }
}

/// The operations that an SSD performs, as indices of its table of plans. Those on data pages take
/// the part of a logical page that lies in one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Transfer, then program.
    Program,
    /// The same, then the summary page of the block that it fills.
    ProgramLast,
    /// Sense and program within a plane.
    CopyBack,
    /// The same, then the summary page.
    CopyBackLast,
    /// Sense, transfer out, transfer in, program.
    Move,
    /// The same, then the summary page.
    MoveLast,
    /// Sense, transfer what is new, program within the same plane.
    Merge,
    /// The same, then the summary page.
    MergeLast,
    /// Program what another package has just shifted in.
    StreamIn,
    /// The same, then the summary page.
    StreamInLast,
    /// Erase a block.
    Erase,
    /// Sense one flash page, then transfer it; the reads of more follow in the table.
    Read,
}

impl Operation {
    /// The plans of all operations, in the order of the enum; after `Read` those of 2 and more
    /// flash pages of a lane.
    pub fn plans(config: &SsdConfig, granule: Granule) -> Vec<Plan> {
        let timing = &config.timing;
        let (sense, program) = (timing.read.ns() as u32, timing.program.ns() as u32);
        let (page, spare) = (config.page_size.bytes(), config.spare_size.bytes());
        let transfer = |bytes| timing.bus_per_byte.time_ns(bytes) as u32;
        let bus = transfer((page + spare) / u64::from(granule.parts));
        // A summary is one sector with its share of the spare area (the 2008 simulator's 528 B).
        let summary = [Stage::Bus(transfer(512 + spare * 512 / page)), Stage::Cell(program)];
        let pages = granule.pages_per_lane();
        let cache = config.cache_commands;
        let read = |pages| senses(sense, bus, pages, cache);
        let write = |pages| programs(program, bus, pages, cache);
        let each = |stages: &[Stage]| stages.repeat(pages as usize);
        let (sense, out, back) = (Stage::Cell(sense), Stage::Bus(bus), Stage::Cell(program));
        let mut plans = Vec::new();
        let mut pair = |stages: Vec<Stage>, kind: Option<Cached>| {
            let last = if config.summary_page { &summary[..] } else { &[] };
            for stages in [stages.clone(), [stages, last.to_vec()].concat()] {
                let plan = Plan::new(stages);
                plans.push(match kind {
                    Some(kind) => plan.chained(kind),
                    None => plan,
                });
            }
        };
        pair(write(pages), Some(Cached::Program));
        pair(each(&[sense, back]), None);
        pair([read(pages), write(pages)].concat(), None);
        pair(each(&[sense, out, back]), None);
        pair(each(&[back]), None);
        plans.push(Plan::new(vec![Stage::Cell(timing.erase.ns() as u32)]));
        plans.extend((1..=pages).map(|pages| Plan::new(read(pages)).chained(Cached::Read)));
        plans
    }

    /// The index of its plan.
    #[inline]
    pub fn plan(self) -> u16 {
        self as u16
    }

    /// The plan of reading `pages` flash pages of a lane, at least 1.
    #[inline]
    pub fn read(pages: u32) -> u16 {
        Operation::Read as u16 + pages as u16 - 1
    }

    /// The operation that also writes the summary page, if `last`.
    #[inline]
    pub fn closing(self, last: bool) -> Operation {
        match (self, last) {
            (Operation::Program, true) => Operation::ProgramLast,
            (Operation::CopyBack, true) => Operation::CopyBackLast,
            (Operation::Move, true) => Operation::MoveLast,
            (Operation::Merge, true) => Operation::MergeLast,
            (Operation::StreamIn, true) => Operation::StreamInLast,
            (other, _) => other,
        }
    }
}

/// Sensing and transferring pages of a block one after the other; with cache commands the sensing of
/// the next overlaps the transfer: `read + (pages - 1) max(read, transfer) + transfer`.
fn senses(sense: u32, bus: u32, pages: u32, cache: bool) -> Vec<Stage> {
    let next = if cache { sense.saturating_sub(bus) } else { sense };
    let mut stages = vec![Stage::Cell(sense), Stage::Bus(bus)];
    for _ in 1..pages {
        stages.extend([Stage::Cell(next), Stage::Bus(bus)]);
    }
    stages.retain(|stage| *stage != Stage::Cell(0) || sense == 0);
    stages
}

/// Transferring and programming pages of a block one after the other; with cache commands the
/// transfer of the next overlaps the programming:
/// `transfer + (pages - 1) max(transfer, program) + program`.
fn programs(program: u32, bus: u32, pages: u32, cache: bool) -> Vec<Stage> {
    let (transfer, array) = (Stage::Bus(bus), Stage::Cell(program));
    if !cache {
        return [transfer, array].repeat(pages as usize);
    }
    let mut stages = vec![transfer];
    for _ in 1..pages {
        stages.extend([transfer, Stage::Cell(program.saturating_sub(bus))]);
    }
    stages.push(array);
    stages
}
