//! Flash operations, as stages: senses, programs and erasures of the cell array, and transfers
//! over the bus.

use crate::config::{PairingGuard, SsdConfig};
use crate::flash::Effort;
use crate::flash::lower_in;
use crate::ids::{BlockMode, Ppn};
use crate::shape::{Geometry, Granule};
use engine::Time;

/// Resource of an operation's stage, besides its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The cell array, for this many nanoseconds.
    Cell(u32),
    /// `Cell` for a program or erase, which reads may suspend.
    Write(u32),
    /// The bus, for this many nanoseconds.
    Bus(u32),
    /// The control pins that packages share, for a command.
    Instruction(u32),
}

impl Stage {
    fn cell(self) -> Option<Time> {
        match self {
            Stage::Cell(ns) | Stage::Write(ns) => Some(Time::from(ns)),
            Stage::Bus(_) | Stage::Instruction(_) => None,
        }
    }

    /// Duration, ns.
    pub fn ns(self) -> Time {
        match self {
            Stage::Cell(ns) | Stage::Write(ns) | Stage::Bus(ns) | Stage::Instruction(ns) => {
                Time::from(ns)
            }
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

/// Index of a [`Plan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanId(pub u32);

impl PlanId {
    /// The number as an array index.
    #[inline]
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// Stages of one kind of operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    stages: Vec<Stage>,
    cached: Option<Cached>,
    cell_ns: Time,
    total_ns: Time,
    effort: Effort,
    /// Operations begun since counts were reset.
    pub(super) begun: u64,
}

impl Plan {
    /// A plan of these stages, in order; at least one.
    pub fn new(stages: Vec<Stage>) -> Self {
        assert!(!stages.is_empty());
        let cell_ns = stages.iter().copied().filter_map(Stage::cell).sum();
        let total_ns = stages.iter().copied().map(Stage::ns).sum();
        Plan { stages, cached: None, cell_ns, total_ns, effort: Effort::default(), begun: 0 }
    }

    /// Sets the kind of cache command, if chainable.
    pub fn chained(mut self, kind: Option<Cached>) -> Self {
        self.cached = kind;
        self
    }

    /// Sets the effort.
    fn doing(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    /// Effort of all stages, hidden ones included.
    pub fn effort(&self) -> Effort {
        self.effort
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

    /// Kind of cache command, if chainable.
    pub fn cached(&self) -> Option<Cached> {
        self.cached
    }

    /// Index of its last stage.
    #[inline]
    pub fn last_stage(&self) -> u16 {
        (self.stages.len() - 1) as u16
    }

    /// True if `stage` is the last.
    #[inline]
    pub fn ends_with(&self, stage: u16) -> bool {
        usize::from(stage) + 1 >= self.stages.len()
    }
}

/// Operation on the pages of a logical page that lie in one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Transfer, then program.
    Program,
    /// Sense and program within a plane.
    CopyBack,
    /// Sense, transfer out, transfer in, program.
    Move,
    /// Sense, transfer the new data, program within the same plane.
    Merge,
    /// Program of a page shifted in by another package.
    StreamIn,
    /// Sense, then transfer.
    Read,
    /// Erase a block.
    Erase,
}

impl OpKind {
    /// Kind of cache command, if chainable.
    #[inline]
    pub fn chains(self) -> Option<Cached> {
        match self {
            OpKind::Program => Some(Cached::Program),
            OpKind::Read => Some(Cached::Read),
            _ => None,
        }
    }
}

/// Kinds that program pages: each has a plan without and one with the summary page.
const PROGRAMMING: usize = 5;

/// An operation of one lane, with its address in the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlashOp {
    /// Kind.
    pub kind: OpKind,
    /// The page that is read or programmed; of an erasure any page of the block.
    pub at: Ppn,
    /// Bits a cell of the block.
    pub mode: BlockMode,
    /// Flash pages of the lane that a read senses; a program uses all of them.
    pub count: u32,
    /// True for the last page of its block: the summary page follows.
    pub last: bool,
}

/// Cell array times of the pages of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellTimes {
    /// Sensing a page, ns.
    pub sense_ns: u32,
    /// Programming a page, ns.
    pub program_ns: u32,
    /// True if its paired page is copied first.
    pub copies: bool,
}

/// Plan of each operation: by what it does, the mode of its block and the type of its page.
#[derive(Debug, Clone)]
pub struct CostTable {
    /// True with a single mode and page type.
    is_uniform: bool,
    /// Types of the pages of a block, which take turns, by mode.
    types: Vec<u32>,
    /// The first row of each mode; a row holds the plans of one type.
    first_row: Vec<u32>,
    plans_per_row: u32,
    pages_per_block: u32,
    /// True for each page of a block whose paired page is copied first; nothing where all pages are
    /// alike.
    copied: Vec<bool>,
}

impl CostTable {
    /// The table with its plans. `cells` has for each mode of a block the times of its page types;
    /// types take turns within a block.
    pub fn new(
        config: &SsdConfig,
        geometry: &Geometry,
        cells: &[Vec<CellTimes>],
    ) -> (Self, Vec<Plan>) {
        let pages = geometry.granule.pages_per_lane();
        let mut plans = Vec::new();
        let mut first_row = Vec::new();
        let plans_per_row = (2 * PROGRAMMING) as u32 + 1 + pages;
        for types in cells {
            first_row.push(plans.len() as u32 / plans_per_row);
            for times in types {
                push_row(&mut plans, config, geometry.granule, *times);
            }
        }
        let types: Vec<u32> = cells.iter().map(|types| types.len() as u32).collect();
        let is_uniform = types[..] == [1];
        let pages_per_block = geometry.pages_per_block;
        let copied = if is_uniform { Vec::new() } else { copied_pages(cells, pages_per_block) };
        let table =
            CostTable { is_uniform, types, first_row, plans_per_row, pages_per_block, copied };
        (table, plans)
    }

    /// Cell times of a drive's configuration: one mode, whose types of page take turns in a block.
    /// A page of several bits a cell is programmed in its share of the time of a word line.
    pub fn cells(config: &SsdConfig) -> Vec<Vec<CellTimes>> {
        let bits = config.cell.bits;
        let page_ns = config.timing.program.ns() / u64::from(bits);
        let program_ns = (page_ns + config.persistence.map_write_ns()) as u32;
        let types = config.timing.read.count() as u32;
        let times = |page: u32, copies| {
            let sense_ns = config.timing.read.of_type((page % types) as usize).ns() as u32;
            CellTimes { sense_ns, program_ns, copies }
        };
        if config.cell.pairing_guard != PairingGuard::Copy {
            return vec![(0..types).map(|page| times(page, false)).collect()];
        }
        let pages = 0..config.simulated_pages_per_block();
        vec![pages.map(|page| times(page, lower_in(config, page).is_some())).collect()]
    }

    /// The number of the plan of an operation.
    #[inline]
    pub fn plan(&self, op: &FlashOp) -> PlanId {
        let within = match op.kind {
            OpKind::Erase => 2 * PROGRAMMING as u32,
            OpKind::Read => 2 * PROGRAMMING as u32 + op.count,
            programming => 2 * programming as u32 + u32::from(op.last),
        };
        PlanId(within + self.row(op) * self.plans_per_row)
    }

    /// True if operations do not depend on their address.
    #[inline]
    pub fn is_uniform(&self) -> bool {
        self.is_uniform
    }

    /// True if a page that shares the cells of another is copied before that is programmed.
    #[inline]
    pub fn copies(&self, op: &FlashOp) -> bool {
        let programs = !matches!(op.kind, OpKind::Read | OpKind::Erase);
        !self.is_uniform
            && programs
            && self.copied[(op.at.0 % u64::from(self.pages_per_block)) as usize]
    }

    /// With equal page times the page is irrelevant.
    #[inline]
    fn row(&self, op: &FlashOp) -> u32 {
        if self.is_uniform() {
            return 0;
        }
        let mode = usize::from(op.mode.0);
        let page = (op.at.0 % u64::from(self.pages_per_block)) as u32;
        self.first_row[mode] + page % self.types[mode]
    }
}

/// True for each page of a block whose paired page is copied first.
fn copied_pages(cells: &[Vec<CellTimes>], pages_per_block: u32) -> Vec<bool> {
    let types = &cells[0];
    (0..pages_per_block as usize).map(|page| types[page % types.len()].copies).collect()
}

/// Appends the plans of one page type in the order of [`OpKind`]: programs without and with the
/// summary page, an erasure, and reads of 1 and more flash pages.
fn push_row(plans: &mut Vec<Plan>, config: &SsdConfig, granule: Granule, times: CellTimes) {
    let CellTimes { sense_ns: sense, program_ns: program, copies } = times;
    let (page, spare) = (config.page_size.bytes(), config.spare_size.bytes());
    // Commands cross the bus with their pages, or control pins of their own.
    let control = config.control_ns();
    let command = config.timing.command.ns() - control;
    let transfer = |bytes| (command + config.timing.transfer_ns(bytes)) as u32;
    let bus = transfer((page + spare) / u64::from(granule.parts));
    // A summary is one sector with its share of the spare area (the 2008 simulator's 528 B).
    let summary_bus = transfer(512 + spare * 512 / page);
    let summary = [Stage::Bus(summary_bus), Stage::Write(program)];
    let copy = |copies: bool| {
        if copies { vec![Stage::Cell(sense), Stage::Write(program)] } else { vec![] }
    };
    let (before, copies_last) = (copy(copies), copies_for_summary(config));
    let summary = [copy(copies_last), summary.to_vec()].concat();
    let pages = granule.pages_per_lane();
    let cache = config.cache_commands;
    let read = |pages| senses(sense, bus, pages, cache);
    let write = |pages| programs(program, bus, pages, cache);
    let each = |stages: &[Stage]| stages.repeat(pages as usize);
    let efforts = Efforts::new(config, times, bus, u64::from(pages));
    let (sense, out, back) = (Stage::Cell(sense), Stage::Bus(bus), Stage::Write(program));
    let one = Efforts::new(config, times, bus, 1);
    let copying = |copies: bool| (one.sensing + one.programming).times(u64::from(copies));
    let mut pair = |kind: OpKind, stages: Vec<Stage>, effort: Effort| {
        let stages = [before.clone(), stages].concat();
        let effort = copying(copies) + effort;
        let (last, summed) = if config.summary_page {
            (&summary[..], effort + copying(copies_last) + one.summary(Time::from(summary_bus)))
        } else {
            (&[][..], effort)
        };
        let plan = Plan::new(commanded(&stages, control)).doing(effort);
        plans.push(plan.chained(kind.chains()));
        let all = [stages, last.to_vec()].concat();
        let plan = Plan::new(commanded(&all, control)).doing(summed);
        plans.push(plan.chained(kind.chains()));
    };
    let Efforts { sensing, programming, crossing, erasing, .. } = efforts;
    pair(OpKind::Program, write(pages), programming + crossing);
    pair(OpKind::CopyBack, each(&[sense, back]), sensing + programming);
    let moved = [read(pages), write(pages)].concat();
    pair(OpKind::Move, moved, sensing + programming + crossing.times(2));
    pair(OpKind::Merge, each(&[sense, out, back]), sensing + programming + crossing);
    pair(OpKind::StreamIn, each(&[back]), programming);
    let erase = Plan::new(commanded(&[Stage::Write(config.erase_ns() as u32)], control));
    plans.push(erase.doing(erasing));
    plans.extend((1..=pages).map(|count| {
        let effort = Efforts::new(config, times, bus, u64::from(count));
        let plan =
            Plan::new(commanded(&read(count), control)).doing(effort.sensing + effort.crossing);
        plan.chained(OpKind::Read.chains())
    }));
}

/// Work of the cell array and the bus for operations on several pages.
struct Efforts {
    sensing: Effort,
    programming: Effort,
    crossing: Effort,
    erasing: Effort,
    program_ns: Time,
}

impl Efforts {
    fn new(config: &SsdConfig, times: CellTimes, bus: u32, pages: u64) -> Efforts {
        let (sense_ns, program_ns) = (Time::from(times.sense_ns), Time::from(times.program_ns));
        let none = Effort::default();
        Efforts {
            sensing: Effort { senses: 1, sense_ns, ..none }.times(pages),
            programming: Effort { programs: 1, program_ns, ..none }.times(pages),
            crossing: Effort { bus_ns: Time::from(bus), ..none }.times(pages),
            erasing: Effort { erases: 1, erase_ns: config.erase_ns(), ..none },
            program_ns,
        }
    }

    /// Effort of a summary page with the given transfer time.
    fn summary(&self, bus_ns: Time) -> Effort {
        Effort { programs: 1, program_ns: self.program_ns, bus_ns, ..Effort::default() }
    }
}

/// True if the page that shares the cells of the summary page is copied before that is programmed.
pub(super) fn copies_for_summary(config: &SsdConfig) -> bool {
    let last = config.simulated_pages_per_block() - 1;
    config.summary_page
        && config.cell.pairing_guard == PairingGuard::Copy
        && lower_in(config, last).is_some()
}

/// Stages of an operation with command cycles before each: sensing, or a transfer into the package,
/// or an erasure; no stages more where commands take no pins of their own.
fn commanded(stages: &[Stage], control_ns: u64) -> Vec<Stage> {
    if control_ns == 0 {
        return stages.to_vec();
    }
    let mut all = Vec::new();
    let mut before = None;
    for stage in stages {
        let begins = match (stage, before) {
            (Stage::Bus(_), Some(Stage::Cell(_))) => false,
            (Stage::Cell(_) | Stage::Bus(_), _) => true,
            (_, before) => matches!(before, None | Some(Stage::Write(_))),
        };
        if begins {
            all.push(Stage::Instruction(control_ns as u32));
        }
        all.push(*stage);
        before = Some(*stage);
    }
    all
}

/// Sensing and transferring successive pages of a block; with cache commands the sensing of the
/// next overlaps the transfer: `read + (pages - 1) max(read, transfer) + transfer`.
fn senses(sense: u32, bus: u32, pages: u32, cache: bool) -> Vec<Stage> {
    let next = if cache { sense.saturating_sub(bus) } else { sense };
    let mut stages = vec![Stage::Cell(sense), Stage::Bus(bus)];
    for _ in 1..pages {
        stages.extend([Stage::Cell(next), Stage::Bus(bus)]);
    }
    stages.retain(|stage| *stage != Stage::Cell(0) || sense == 0);
    stages
}

/// Transferring and programming successive pages of a block; with cache commands the transfer of
/// the next overlaps the programming: `transfer + (pages - 1) max(transfer, program) + program`.
fn programs(program: u32, bus: u32, pages: u32, cache: bool) -> Vec<Stage> {
    let (transfer, array) = (Stage::Bus(bus), Stage::Write(program));
    if !cache {
        return [transfer, array].repeat(pages as usize);
    }
    let mut stages = vec![transfer];
    for _ in 1..pages {
        stages.extend([transfer, Stage::Write(program.saturating_sub(bus))]);
    }
    stages.push(array);
    stages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SsdConfig;

    /// Two modes: of cells with one bit, and with three, whose pages take turns.
    #[test]
    fn what_an_operation_costs_depends_on_its_place() {
        let config = SsdConfig::default();
        let geometry = Geometry::new(&config).unwrap();
        let cell = |sense_ns, program_ns| CellTimes { sense_ns, program_ns, copies: false };
        let cells = [vec![cell(5, 50)], vec![cell(10, 100), cell(20, 200), cell(30, 300)]];
        let (costs, plans) = CostTable::new(&config, &geometry, &cells);
        let cell_ns = |kind, mode, page: u32| {
            let op = FlashOp {
                kind,
                at: Ppn(7 * 64 + u64::from(page)),
                mode: BlockMode(mode),
                count: 1,
                last: false,
            };
            plans[costs.plan(&op).at()].cell_ns()
        };
        assert_eq!((0..4).map(|page| cell_ns(OpKind::Read, 0, page)).collect::<Vec<_>>(), [5; 4]);
        let reads: Vec<_> = (0..6).map(|page| cell_ns(OpKind::Read, 1, page)).collect();
        // Block 7 begins at page 448, which is the first of its block.
        assert_eq!(reads, [10, 20, 30, 10, 20, 30]);
        assert_eq!(cell_ns(OpKind::Program, 1, 2), 300);
        assert_eq!(cell_ns(OpKind::CopyBack, 1, 1), 220);
        assert_eq!(cell_ns(OpKind::Erase, 1, 1), config.timing.erase.ns());
    }

    #[test]
    fn a_drive_of_one_kind_of_page_has_one_row() {
        let config = SsdConfig::default();
        let geometry = Geometry::new(&config).unwrap();
        let (costs, plans) = CostTable::new(&config, &geometry, &CostTable::cells(&config));
        assert_eq!(plans.len() as u32, costs.plans_per_row);
        let op = |last| FlashOp {
            kind: OpKind::Program,
            at: Ppn(9),
            mode: BlockMode::NATIVE,
            count: 1,
            last,
        };
        let total = |last| plans[costs.plan(&op(last)).at()].total_ns();
        assert!(total(true) > total(false), "the summary page takes time");
    }
}
