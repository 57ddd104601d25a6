//! Cleaning without a buffer: a unit empties its victim page by page, by copies within itself or to another
//! package of its gang, and erases it.

use crate::config::{Cleaning, CleaningTime, SsdConfig};
use crate::die::OpKind;
use crate::ftl::Relocation;
use crate::ids::Unit;
use crate::shape::Geometry;
use engine::Time;

/// The cleaning of a unit.
#[derive(Debug, Clone, Copy, Default)]
struct Job {
    victim: Option<Relocation>,
    /// Pages of its victim in transit to other units.
    streaming: u32,
    /// A page of another unit's victim is being copied here.
    receiving: bool,
    /// When the move or erase under way began.
    since: Option<Time>,
    total_ns: Time,
}

/// The cleaning of all units.
#[derive(Debug, Clone)]
pub struct Jobs {
    each: Vec<Job>,
    /// Units whose erasure waits for a program elsewhere.
    barred: Vec<Unit>,
    config: Cleaning,
    /// True if a cleaning unit and its dependents run no other operation.
    cleans_alone: bool,
}

impl Jobs {
    /// A drive with a write buffer has no jobs. `is_simple` where units do not depend on each
    /// other, `spans` where pools span several.
    pub fn new(config: &SsdConfig, geometry: &Geometry, (is_simple, spans): (bool, bool)) -> Jobs {
        let config = config.cleaning.clone();
        let blocking = config.time == CleaningTime::Blocking;
        let units = if geometry.groups.is_some() { 0 } else { geometry.units };
        Jobs {
            each: memory::filled(Job::default(), units as usize),
            barred: Vec::new(),
            cleans_alone: is_simple && blocking && !config.stream && !spans,
            config,
        }
    }

    // ---- queries -------------------------------------------------------------------------------

    /// True if a cleaning unit runs no other operation until its victim is erased.
    #[inline]
    pub fn block(&self) -> bool {
        self.config.time == CleaningTime::Blocking
    }

    /// True if a cleaning unit runs nothing else, nor do its dependents.
    #[inline]
    pub fn clean_alone(&self) -> bool {
        self.cleans_alone
    }

    /// True if pages are copied to other packages.
    #[inline]
    pub fn stream(&self) -> bool {
        self.config.stream
    }

    /// Way of moving a page within a unit.
    #[inline]
    pub fn kind_of_move(&self) -> OpKind {
        if self.config.copy_back { OpKind::CopyBack } else { OpKind::Move }
    }

    /// True if a unit begins to clean: it is `low` on erased blocks, or idle and could use the
    /// time.
    #[inline]
    pub fn begin(&self, low: bool, waiting: bool, idle: impl Fn() -> bool) -> bool {
        let begins = low && (waiting || self.config.background || !self.block());
        begins || !waiting && self.config.background && idle()
    }

    /// Cleaning job of a unit.
    #[inline]
    pub fn job(&self, unit: Unit) -> Option<Relocation> {
        self.each[unit.at()].victim
    }

    /// True while cleaning.
    #[inline]
    pub fn has_job(&self, unit: Unit) -> bool {
        self.each[unit.at()].victim.is_some()
    }

    /// Number of jobs.
    pub fn count(&self) -> u32 {
        self.each.iter().map(|it| u32::from(it.victim.is_some())).sum()
    }

    /// True if a unit has an operation of cleaning, or waits for an incoming copy.
    #[inline]
    pub fn is_busy(&self, unit: Unit) -> bool {
        self.each[unit.at()].since.is_some()
    }

    /// Cleaning time of a unit, without the part under way, ns.
    #[inline]
    pub fn ended_ns(&self, unit: Unit) -> Time {
        self.each[unit.at()].total_ns
    }

    /// Cleaning time of a unit up to now, ns.
    #[inline]
    pub fn cleaning_ns(&self, unit: Unit, now: Time) -> Time {
        let it = &self.each[unit.at()];
        it.total_ns + it.since.map_or(0, |since| now.saturating_sub(since))
    }

    /// Pages of the victim of a unit on their way to other units.
    pub fn streaming(&self, unit: Unit) -> u32 {
        self.each[unit.at()].streaming
    }

    /// True if pages are being copied to or from a unit.
    pub fn takes_part_in_streams(&self, unit: Unit) -> bool {
        let it = &self.each[unit.at()];
        it.receiving || it.streaming > 0
    }

    // ---- commands ------------------------------------------------------------------------------

    /// Cleaning job of a unit, to be continued.
    #[inline]
    pub fn job_mut(&mut self, unit: Unit) -> &mut Option<Relocation> {
        &mut self.each[unit.at()].victim
    }

    /// Starts the cleaning state of a unit, if new.
    #[inline]
    pub fn begin_operation(&mut self, unit: Unit, now: Time) {
        self.each[unit.at()].since.get_or_insert(now);
    }

    /// Frees a unit for other work.
    #[inline]
    pub fn end_operation(&mut self, unit: Unit, now: Time) {
        let it = &mut self.each[unit.at()];
        let since = it.since.take().expect("it was cleaning");
        it.total_ns += now - since;
    }

    /// An operation has ended on a unit, and the next begins at once.
    #[inline]
    pub fn next_operation(&mut self, unit: Unit, now: Time) {
        let it = &mut self.each[unit.at()];
        let since = it.since.replace(now).expect("it was cleaning");
        it.total_ns += now - since;
    }

    /// A copy begins, for which both units are needed.
    pub fn begin_stream(&mut self, from: Unit, job: Relocation, to: Unit, now: Time) {
        let it = &mut self.each[from.at()];
        it.victim = Some(job);
        it.streaming += 1;
        it.since = Some(now);
        let it = &mut self.each[to.at()];
        it.receiving = true;
        it.since = Some(now);
    }

    /// A copy has ended.
    pub fn end_stream(&mut self, from: Unit, to: Unit, now: Time) {
        self.each[from.at()].streaming -= 1;
        self.each[to.at()].receiving = false;
        self.end_operation(to, now);
    }

    /// The erasure of a unit has to wait. Blocking cleaning keeps its unit, and counts the wait;
    /// else the unit serves other operations.
    pub fn bar(&mut self, unit: Unit, now: Time) {
        if !self.barred.contains(&unit) {
            self.barred.push(unit);
        }
        if self.block() {
            self.begin_operation(unit, now);
        }
    }

    /// Ends the wait of an erasure.
    #[inline]
    pub fn unbar(&mut self, unit: Unit) {
        if !self.barred.is_empty() {
            self.barred.retain(|barred| *barred != unit);
        }
    }

    /// True if an erasure waits.
    #[inline]
    pub fn any_barred(&self) -> bool {
        !self.barred.is_empty()
    }

    /// Takes the units with waiting erasures, to poll them again.
    pub fn take_barred(&mut self, now: Time) -> Vec<Unit> {
        let units = std::mem::take(&mut self.barred);
        if self.block() {
            for unit in &units {
                self.end_operation(*unit, now);
            }
        }
        units
    }

    /// Drops all operations; the time accounting continues.
    pub fn lose_power(&mut self, now: Time) {
        for it in &mut self.each {
            let since = it.since.map_or(0, |since| now.saturating_sub(since));
            *it = Job { total_ns: it.total_ns + since, ..Job::default() };
        }
        self.barred.clear();
    }
}
