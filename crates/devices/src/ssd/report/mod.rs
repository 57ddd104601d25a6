//! What a drive has to say after a run: counts, cleaning, wear, and how busy its units were.

mod lifetime;
mod wear_map;

pub use lifetime::{LifetimeReport, Milestone};
pub use wear_map::WearMap;

use crate::ssd::Ssd;
use crate::ssd::ids::{Block, Unit};
use engine::{FlashCounts, SECTOR_BYTES, Time};

/// Declares the report: its counts, one row each, which add up over the members of an array and stand
/// in the results under their names; and the rest.
macro_rules! report {
    ($(#[$doc:meta])* pub struct $Name:ident {
        counts { $($(#[$count_doc:meta])* $count:ident,)* }
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        pub struct $Name {
            $($(#[$count_doc])* pub $count: u64,)*
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $Name {
            /// Every count with its name.
            pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($count), self.$count)),*].into_iter()
            }

            fn add_counts(&mut self, other: &Self) {
                $(self.$count += other.$count;)*
            }
        }
    };
}

report! {
    /// Everything that a drive counted. Pages are those of the flash.
    #[derive(Debug, Clone, PartialEq)]
    pub struct SsdReport {
        counts {
            /// Flash pages sensed: for the host, along with others in a synchronous gang, for merging
            /// partial writes, and for cleaning.
            page_reads,
            /// Data pages programmed, for the host and by cleaning.
            page_programs,
            /// Bytes of the data pages programmed.
            bytes_programmed,
            /// Summary pages programmed.
            summary_programs,
            /// Blocks erased.
            block_erases,
            /// Pages moved within their plane.
            copy_backs,
            /// Pages moved by cleaning, in whichever way.
            pages_moved,
            /// Pages moved to level wear.
            pages_migrated,
            /// Pages read for the host.
            host_pages_read,
            /// Pages that the host wrote, whole or in part.
            host_pages_written,
            /// Bytes that the host wrote.
            host_bytes_written,
            /// Pages read because a write covered only part of one.
            merge_reads,
            /// Pages read that were never written: answered without the flash.
            unmapped_pages_read,
            /// Pages trimmed.
            pages_trimmed,
        }
        /// Pages programmed / pages the host wrote, whole or in part; `None` without host writes.
        write_amplification: Option<f64>,
        /// Bytes programmed / bytes the host wrote; `None` without host writes.
        write_amplification_bytes: Option<f64>,
        /// Cleaning.
        cleaning: CleaningReport,
        /// The spare space, and what cleaning leaves of it.
        spare: SpareReport,
        /// Wear.
        wear: WearReport,
        /// Each unit, in order.
        units: Vec<UnitReport>,
        /// Share of the time in which each bus was in use.
        bus_busy: Vec<f64>,
    }
}

impl SsdReport {
    /// Adds the counts of another drive, and what cleaning did there; the ratios are then of both.
    /// Wear, units and buses stay: whoever puts drives together knows what becomes of them.
    pub fn add(&mut self, other: &SsdReport) {
        self.add_counts(other);
        self.cleaning.add(&other.cleaning);
        self.derive();
    }

    /// The ratios of the counts.
    fn derive(&mut self) {
        self.write_amplification = ratio(self.page_programs, self.host_pages_written);
        self.write_amplification_bytes = ratio(self.bytes_programmed, self.host_bytes_written);
    }
}

/// What cleaning did.
#[derive(Debug, Clone, PartialEq)]
pub struct CleaningReport {
    /// Blocks cleaned and erased.
    pub blocks_cleaned: u64,
    /// Blocks of cold data that were moved into worn ones.
    pub blocks_migrated: u64,
    /// Data pages of the blocks cleaned.
    pub victim_pages: u64,
    /// Those of them that were moved out of the blocks; not of blocks that are still being cleaned.
    pub victim_pages_moved: u64,
    /// Share of the victims' data pages that were superseded; `None` when nothing was cleaned.
    pub efficiency: Option<f64>,
    /// Unit time per block cleaned, ns; `None` when nothing was cleaned.
    pub mean_block_ns: Option<f64>,
    /// Unit time spent cleaning, summed over the units, ns.
    pub busy_ns: Time,
}

impl CleaningReport {
    fn add(&mut self, other: &CleaningReport) {
        self.blocks_cleaned += other.blocks_cleaned;
        self.blocks_migrated += other.blocks_migrated;
        self.victim_pages += other.victim_pages;
        self.victim_pages_moved += other.victim_pages_moved;
        self.busy_ns += other.busy_ns;
        self.mean_block_ns = ratio(self.busy_ns, self.blocks_cleaned);
        self.derive();
    }

    fn derive(&mut self) {
        self.efficiency =
            ratio(self.victim_pages_moved, self.victim_pages).map(|moved| 1.0 - moved);
    }
}

/// The spare space of a drive, and what of it can hold superseded pages.
///
/// Blocks that the threshold of cleaning keeps erased, and those that are open, hold none while
/// cleaning keeps up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpareReport {
    /// Spare space / physical space, of data pages.
    pub nominal: f64,
    /// The same without the blocks that are kept erased or open.
    pub effective: f64,
    /// Spare space, in blocks.
    pub blocks: f64,
    /// Blocks that the threshold keeps erased.
    pub blocks_kept_erased: u64,
    /// Blocks open for writes.
    pub blocks_open: u64,
    /// The share of the blocks below which cleaning starts.
    pub min_free: f64,
    /// What that share is when no key states it.
    pub default_min_free: f64,
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
    /// Expired blocks that are no longer used.
    pub retired_blocks: u32,
    /// Blocks that the pool with the least spare space can still lose.
    pub spare_blocks: u32,
    /// The spare space of a pool is gone: the drive takes no more writes.
    pub ended: bool,
    /// Pages that the drive did not take because it had ended.
    pub refused_pages: u64,
    /// Bytes of the host in those.
    pub refused_bytes: u64,
    /// Blocks by erasures left / mean erasures left, in steps of 10 %; the last also holds all above.
    pub remaining_of_mean: [u64; REMAINING_STEPS],
    /// Blocks by erasures left / rated erasures, in steps of 5 %; the last holds those never erased.
    pub remaining_of_rated: [u64; REMAINING_STEPS],
    /// How long the drive lasts.
    pub lifetime: LifetimeReport,
    /// Erasures by place.
    pub map: WearMap,
}

/// Steps in which the distribution of remaining life is reported: 0 to 2 means, 0 to 1 ratings.
pub const REMAINING_STEPS: usize = 21;

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
    /// The counts that are followed over time.
    pub(in crate::ssd) fn counts_now(&self) -> FlashCounts {
        let counters = &self.back.ftl.counters;
        let geometry = self.geometry();
        let granule = geometry.granule;
        let free = (0..geometry.domains).map(|domain| u64::from(self.free_blocks(domain)));
        let programs = counters.programs(granule);
        FlashCounts {
            host_pages: counters.host_pages,
            host_bytes: counters.host_bytes,
            programs,
            programmed_bytes: programs * self.flash_page_bytes(),
            erases: counters.erases * u64::from(granule.span),
            free_blocks: free.sum::<u64>() * u64::from(granule.span),
        }
    }

    /// Bytes of a flash page, or of a logical page where that is smaller.
    fn flash_page_bytes(&self) -> u64 {
        u64::from(self.geometry().sectors_per_flash_page) * SECTOR_BYTES
    }

    /// What is spare, and what of that is in effect.
    fn spare(&self) -> SpareReport {
        let geometry = self.geometry();
        let physical = f64::from(geometry.blocks()) * f64::from(geometry.data_pages);
        let nominal = 1.0 - f64::from(geometry.exported_pages()) / physical;
        let all = |of_domain: u32| u64::from(of_domain) * u64::from(geometry.domains);
        let (kept, open) = (all(geometry.low_blocks), all(geometry.frontiers));
        let span = u64::from(geometry.granule.span);
        SpareReport {
            nominal,
            effective: nominal - (kept + open) as f64 / f64::from(geometry.blocks()),
            blocks: nominal * f64::from(geometry.blocks()) * span as f64,
            blocks_kept_erased: kept * span,
            blocks_open: open * span,
            min_free: self.config.min_free(),
            default_min_free: self.config.default_min_free(),
        }
    }

    /// The account at the end of a run that began at 0 and ended at `end`.
    pub fn account(&self, end: Time) -> SsdReport {
        let counters = &self.back.ftl.counters;
        let geometry = self.geometry();
        let granule = geometry.granule;
        let pages = |logical: u64| logical * u64::from(granule.flash_pages);
        let blocks = |wide: u64| wide * u64::from(granule.span);
        let moved_in_all = pages(counters.moves + counters.migrations);
        let page_programs = counters.programs(granule);
        let mut report = SsdReport {
            page_reads: counters.host_reads
                + counters.idle_reads
                + counters.merge_reads
                + moved_in_all,
            page_programs,
            bytes_programmed: page_programs * self.flash_page_bytes(),
            summary_programs: blocks(counters.summaries),
            block_erases: blocks(counters.erases),
            copy_backs: if self.config.cleaning.copy_back { moved_in_all } else { 0 },
            pages_moved: pages(counters.moves),
            pages_migrated: pages(counters.migrations),
            host_pages_read: counters.host_reads,
            host_pages_written: counters.host_pages,
            host_bytes_written: counters.host_bytes,
            merge_reads: counters.merge_reads,
            unmapped_pages_read: counters.unmapped_reads,
            pages_trimmed: counters.trims,
            write_amplification: None,
            write_amplification_bytes: None,
            cleaning: self.cleaning(end),
            spare: self.spare(),
            wear: self.wear(),
            units: (0..geometry.units).map(|unit| self.unit_report(Unit(unit), end)).collect(),
            bus_busy: self.back.lanes.bus_busy_ns(end).map(|ns| share(ns, end)).collect(),
        };
        report.derive();
        report
    }

    fn cleaning(&self, end: Time) -> CleaningReport {
        let counters = &self.back.ftl.counters;
        let geometry = self.geometry();
        let pages = |logical: u64| logical * u64::from(geometry.granule.flash_pages);
        let blocks = |wide: u64| wide * u64::from(geometry.granule.span);
        let cleaned = counters.cleaned();
        let busy_ns =
            (0..geometry.units).map(|unit| self.back.units.cleaning_ns(Unit(unit), end)).sum();
        let mut report = CleaningReport {
            blocks_cleaned: blocks(cleaned),
            blocks_migrated: blocks(counters.migrated_blocks),
            victim_pages: pages(cleaned * u64::from(geometry.data_pages)),
            victim_pages_moved: pages(counters.victim_moves),
            efficiency: None,
            mean_block_ns: ratio(busy_ns, cleaned),
            busy_ns,
        };
        report.derive();
        report
    }

    fn wear(&self) -> WearReport {
        let erases = self.back.flash.erases();
        let ageing = self.back.ftl.ageing();
        let blocks = (0..erases.len() as u32).map(Block);
        let (mean_erases, std_erases) = moments(erases.iter().copied());
        let (mean_remaining, std_remaining) =
            moments(blocks.clone().map(|block| self.back.flash.life(block)));
        let last = REMAINING_STEPS - 1;
        let (mut of_mean, mut of_rated) = ([0; REMAINING_STEPS], [0; REMAINING_STEPS]);
        let mut expired_blocks = 0;
        for block in blocks {
            let life = f64::from(self.back.flash.life(block));
            expired_blocks += u64::from(self.back.flash.life(block) == 0);
            // Without any life left, 0 / 0 becomes step 0.
            of_mean[((10.0 * life / mean_remaining) as usize).min(last)] += 1;
            let rated = f64::from(self.back.flash.ratings().of(block));
            of_rated[(last as f64 * life / rated) as usize] += 1;
        }
        WearReport {
            mean_erases,
            std_erases,
            max_erases: erases.iter().copied().max().unwrap_or(0),
            mean_remaining,
            std_remaining,
            expired_blocks,
            retired_blocks: ageing.retired,
            spare_blocks: ageing.spare.iter().copied().min().unwrap_or(0),
            ended: self.back.ftl.has_ended(),
            refused_pages: self.back.ftl.counters.refused_pages,
            refused_bytes: self.back.ftl.counters.refused_bytes,
            remaining_of_mean: of_mean,
            remaining_of_rated: of_rated,
            lifetime: self.lifetime(),
            map: WearMap::new(self.geometry(), erases),
        }
    }

    fn unit_report(&self, unit: Unit, end: Time) -> UnitReport {
        let (waited_ns, operations) = self.back.units.served(unit);
        UnitReport {
            name: self.geometry().unit_name(unit),
            busy: share(self.back.units.busy_ns(unit, &self.back.lanes, end), end),
            cleaning: share(self.back.units.cleaning_ns(unit, end), end),
            queue_mean: share(waited_ns, end),
            operations,
        }
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
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
