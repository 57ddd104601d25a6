//! What a drive has to say after a run: counts, cleaning, wear, and how busy its units were.

use super::Ssd;
use super::geometry::Unit;
use engine::Time;

/// Everything that a drive counted.
#[derive(Debug, Clone, PartialEq)]
pub struct SsdReport {
    /// Flash pages sensed for the host, for merging partial writes, and for cleaning.
    pub page_reads: u64,
    /// Data pages programmed, for the host and by cleaning.
    pub page_programs: u64,
    /// Summary pages programmed.
    pub summary_programs: u64,
    /// Blocks erased.
    pub block_erases: u64,
    /// Pages moved within their plane.
    pub copy_backs: u64,
    /// Pages moved by cleaning, in whichever way.
    pub pages_moved: u64,
    /// Pages moved to level wear.
    pub pages_migrated: u64,
    /// Pages read for the host.
    pub host_pages_read: u64,
    /// Pages written for the host.
    pub host_pages_written: u64,
    /// Pages read because a write covered only part of one.
    pub merge_reads: u64,
    /// Pages read that were never written: answered without the flash.
    pub unmapped_pages_read: u64,
    /// Pages trimmed.
    pub pages_trimmed: u64,
    /// Pages programmed / pages the host wrote; `None` without host writes.
    pub write_amplification: Option<f64>,
    /// Cleaning.
    pub cleaning: CleaningReport,
    /// Wear.
    pub wear: WearReport,
    /// Each unit, in order.
    pub units: Vec<UnitReport>,
    /// Share of the time in which each bus was in use.
    pub bus_busy: Vec<f64>,
}

/// What cleaning did.
#[derive(Debug, Clone, PartialEq)]
pub struct CleaningReport {
    /// Blocks cleaned and erased.
    pub blocks_cleaned: u64,
    /// Superseded pages / data pages of the victims; `None` when nothing was cleaned.
    pub efficiency: Option<f64>,
    /// Unit time per block cleaned, ns; `None` when nothing was cleaned.
    pub mean_block_ns: Option<f64>,
    /// Unit time spent cleaning, summed over the units, ns.
    pub busy_ns: Time,
}

/// The wear of the blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct WearReport {
    /// Mean erasures of a block.
    pub mean_erases: f64,
    /// Standard deviation of the erasures over the blocks.
    pub std_erases: f64,
    /// Erasures of the most erased block.
    pub max_erases: u32,
    /// Mean erasures left of the rated ones.
    pub mean_remaining: f64,
    /// Standard deviation of the erasures left over the blocks.
    pub std_remaining: f64,
    /// Blocks erased at least as often as they are rated for.
    pub expired_blocks: u64,
}

/// What one unit did.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitReport {
    /// Such as `package 3` or `package 3 die 1`.
    pub name: String,
    /// Share of the time in which it had an operation.
    pub busy: f64,
    /// Share of the time in which that was cleaning.
    pub cleaning: f64,
    /// Pages that waited for it, mean over time.
    pub queue_mean: f64,
    /// Pages that it read or programmed for the host.
    pub operations: u64,
}

impl Ssd {
    /// The account at the end of a run that began at 0 and ended at `end`.
    pub fn account(&self, end: Time) -> SsdReport {
        let ftl = &self.ftl.counters;
        let geometry = self.ftl.geometry();
        let page_programs = ftl.host_programs + ftl.moves;
        let moved = ftl.moves as f64;
        let cleaned = ftl.erases as f64;
        let busy_ns = (0..geometry.units).map(|unit| self.cleaning_ns(Unit(unit), end)).sum();
        let some = |value: f64| (ftl.erases > 0).then_some(value);
        SsdReport {
            page_reads: self.counts.host_reads + self.counts.merge_reads + ftl.moves,
            page_programs,
            summary_programs: ftl.summaries,
            block_erases: ftl.erases,
            copy_backs: if self.config.cleaning.copy_back { ftl.moves } else { 0 },
            pages_moved: ftl.moves,
            pages_migrated: ftl.migrations,
            host_pages_read: self.counts.host_reads,
            host_pages_written: self.counts.host_writes,
            merge_reads: self.counts.merge_reads,
            unmapped_pages_read: self.counts.unmapped_reads,
            pages_trimmed: self.counts.trims,
            write_amplification: (ftl.host_programs > 0)
                .then(|| page_programs as f64 / ftl.host_programs as f64),
            cleaning: CleaningReport {
                blocks_cleaned: ftl.erases,
                efficiency: some(1.0 - moved / (cleaned * f64::from(geometry.data_pages))),
                mean_block_ns: some(busy_ns as f64 / cleaned),
                busy_ns,
            },
            wear: self.wear(),
            units: (0..geometry.units).map(|unit| self.unit_report(Unit(unit), end)).collect(),
            bus_busy: self.timing.bus_busy_ns().iter().map(|ns| share(*ns, end)).collect(),
        }
    }

    fn wear(&self) -> WearReport {
        let rated = self.config.wear.rated_cycles;
        let erases = self.flash.erases();
        let (mean_erases, std_erases) = moments(erases.iter().copied());
        let (mean_remaining, std_remaining) =
            moments(erases.iter().map(|erases| rated.saturating_sub(*erases)));
        WearReport {
            mean_erases,
            std_erases,
            max_erases: erases.iter().copied().max().unwrap_or(0),
            mean_remaining,
            std_remaining,
            expired_blocks: erases.iter().filter(|erases| **erases >= rated).count() as u64,
        }
    }

    fn unit_report(&self, unit: Unit, end: Time) -> UnitReport {
        let queue = &self.units[unit.at()];
        let running =
            self.timing.running_since(unit.0).map_or(0, |since| end.saturating_sub(since));
        UnitReport {
            name: self.ftl.geometry().unit_name(unit),
            busy: share(queue.busy_ns + running, end),
            cleaning: share(self.cleaning_ns(unit, end), end),
            queue_mean: share(queue.waited_ns, end),
            operations: queue.served,
        }
    }
}

fn share(part: Time, whole: Time) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Mean and standard deviation over the blocks.
fn moments(values: impl ExactSizeIterator<Item = u32> + Clone) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.clone().map(f64::from).sum::<f64>() / count;
    let squares = values.map(|value| (f64::from(value) - mean).powi(2)).sum::<f64>();
    (mean, (squares / count).sqrt())
}
