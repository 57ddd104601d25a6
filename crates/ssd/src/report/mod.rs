//! Report of a drive after a run: counters, garbage collection, wear, and utilisation.

mod energy;
mod fdp;
mod fdp_warnings;
mod health;
mod lifetime;
mod slc;
mod wear_rows;

pub use crate::ftl::{EventKind, FdpEvent, SnapshotReport, SnapshotsReport};
pub use fdp::{FdpReport, HandleReport};
pub use fdp_warnings::percent;
pub use health::{HealthReport, SPARE_THRESHOLD, data_units};
pub use lifetime::{LifetimeReport, Milestone};
pub use slc::{SlcReport, SlcStretch};

use crate::Ssd;
use crate::account::{Account, Counts, Section, Spent, UnitAccount};
use crate::device::kit::arbitration::QueueAccount;
use crate::device::{Field, Formula, Report, WearMap, counted};
use crate::ftl::BadReport;
use crate::ids::{Block, Domain};
use crate::media::MediaReport;
use crate::power::PowerReport;
use crate::programmed::MediaBytes;
use crate::thermal::ThermalReport;
use engine::{SECTOR_BYTES, Time};
use serde_json::{Value, json};
use wear_rows::wear_map;

/// Complete report of a drive, with a field per results section.
#[expect(clippy::struct_excessive_bools, reason = "each says by itself what there is")]
#[derive(Debug, Clone, PartialEq)]
pub struct SsdReport {
    /// True with a write buffer.
    pub buffered: bool,
    /// True with log blocks.
    pub merges: bool,
    /// True with a block buffer or read-ahead.
    pub blocks: bool,
    /// True with a map cache.
    pub maps: bool,
    /// Counts.
    pub counts: Counts,
    /// Pages programmed / pages written by the host, in whole or in part; `None` without host
    /// writes.
    pub write_amplification: Option<f64>,
    /// Bytes programmed / bytes written by the host; `None` without host writes.
    pub write_amplification_bytes: Option<f64>,
    /// Cleaning.
    pub cleaning: CleaningReport,
    /// Spare space, and its effective part.
    pub spare: SpareReport,
    /// Bytes programmed by cause.
    pub media: MediaBytes,
    /// SLC cache, if any.
    pub slc_cache: Option<SlcReport>,
    /// Placement handles, if any.
    pub fdp: Option<FdpReport>,
    /// Copy-on-write snapshots, if any.
    pub snapshots: Option<SnapshotsReport>,
    /// Wear.
    pub wear: WearReport,
    /// Health in the terms of `NVMe`.
    pub health: HealthReport,
    /// Utilisation of each unit.
    pub units: Vec<UnitReport>,
    /// Host submission queues, if they form classes.
    pub queues: Vec<QueueAccount>,
    /// Busy share of each bus.
    pub bus_busy: Vec<f64>,
    /// Report on power cuts, for a drive with recovery.
    pub power: Option<PowerReport>,
    /// Size of a flash page in bytes.
    pub page_bytes: u64,
    /// Media report, if data age.
    pub aged: Option<MediaReport>,
    /// Bad blocks other than worn ones, if modelled.
    pub bad: Option<BadReport>,
    /// Thermal report, if temperature limits writes.
    pub thermal: Option<ThermalReport>,
}

impl SsdReport {
    /// The sections of results.
    pub fn sections(&self) -> Report {
        let counts = &self.counts;
        let counted = |section: Section| {
            let own = counts.rows().filter(|(counter, _)| counter.section == section);
            Report::counts(own.map(|(counter, count)| (counter.key, count)))
        };
        let flash = section! {
            "write_amplification": Field::share(counts.page_programs, counts.host_pages_written),
            "write_amplification_bytes": Field::share(counts.bytes_programmed, counts.host_bytes_written),
            "media_bytes": Report::counts(self.media.rows().into_iter().filter(|(cause, _)| *cause != "map" || self.maps)),
            "cleaning": counted(Section::Cleaning).and(self.cleaning.section(counts)),
            "spare": self.spare.section(),
        };
        let fills =
            section! { "group_fill": Field::Rest(counts.padding_pages, counts.page_programs) };
        let looks =
            section! { "hit_share": Field::share(counts.hits, counts.hits + counts.misses) };
        let flash = counted(Section::Flash)
            .and(flash)
            .with_some("merges", self.merges.then(|| counted(Section::Merges)))
            .with_some("block_buffer", self.blocks.then(|| counted(Section::Blocks)))
            .with_some("snapshots", self.snapshots.as_ref().map(SnapshotsReport::section));
        let busy = self.bus_busy.iter().map(|share| json!(share)).collect();
        let all = section! {
            "flash": flash,
            "wear": counted(Section::Wear).and(self.wear.section()),
            "health": self.health.section(),
            "units": Field::List(self.units.iter().map(UnitReport::section).collect()),
            "buses": section! { "busy": Field::Values(busy) },
            "takes_handles": Field::fact(
                self.fdp.is_some() || self.snapshots.as_ref().is_some_and(|it| it.has_orders)
            ),
        };
        let queues = self.queues.iter().enumerate().map(queue).collect();
        let own_queues = (!self.queues.is_empty()).then(|| Field::own(Field::Values(queues)));
        all.with_some("buffer", self.buffered.then(|| counted(Section::Buffer).and(fills)))
            .with_some("map", self.maps.then(|| counted(Section::Map).and(looks)))
            .with_some("queues", own_queues)
            .with_some("slc_cache", self.slc_cache.as_ref().map(|it| Field::own(it.section())))
            .with_some("media", self.aged.as_ref().map(|it| it.section(self.media.refresh)))
            .with_some("bad_blocks", self.bad.as_ref().map(BadReport::section))
            .with_some("thermal", self.thermal.as_ref().map(ThermalReport::section))
            .with_some("fdp", self.fdp.as_ref().map(FdpReport::section))
            .with_some("power", self.power.as_ref().and_then(PowerReport::section))
    }

    /// Derives the ratios of the counters.
    fn derive(&mut self) {
        let counts = &self.counts;
        self.write_amplification = ratio(counts.page_programs, counts.host_pages_written);
        self.write_amplification_bytes = ratio(counts.bytes_programmed, counts.host_bytes_written);
        let moved = ratio(counts.victim_pages_moved, counts.victim_pages);
        self.cleaning.efficiency = moved.map(|moved| 1.0 - moved);
    }
}

/// Service of a host submission queue. A waiting queue starves if none of its requests was ever
/// served.
fn queue((number, it): (usize, &QueueAccount)) -> Value {
    json!({
        "queue": number,
        "class": it.class.name(),
        "fetched": it.fetched,
        "waited_mean_us": (it.fetched > 0).then(|| it.waited_ns as f64 / 1e3 / it.fetched as f64),
        "waited_max_us": it.longest_ns as f64 / 1e3,
        "waiting": it.waiting,
        "starved": it.waiting > 0 && it.fetched == 0,
    })
}

/// Garbage collection besides its counters.
#[derive(Debug, Clone, PartialEq)]
pub struct CleaningReport {
    /// Superseded share of the victims' data pages; `None` if nothing was cleaned.
    pub efficiency: Option<f64>,
    /// Unit time per cleaned block, ns; `None` if nothing was cleaned.
    pub mean_block_ns: Option<f64>,
    /// Unit time spent on garbage collection, summed over units, ns.
    pub busy_ns: Time,
    /// Number of cleaned blocks, including immediate erases.
    pub cleaned: u64,
}

impl CleaningReport {
    fn section(&self, counts: &Counts) -> Report {
        section! {
            "efficiency": Field::Rest(counts.victim_pages_moved, counts.victim_pages),
            "mean_block_us": Field::Follows(Formula(|it| {
                json!(ratio(it.count("busy_us"), it.count("cleaned")).map(|ns| ns / 1e3))
            })),
            "busy_us": Field::Time(self.busy_ns, 1e3),
            "cleaned": Field::fact(self.cleaned),
        }
    }
}

/// Spare space of a drive, and its effective part.
///
/// Blocks kept erased by the garbage collection threshold and open blocks hold no superseded pages
/// while garbage collection keeps up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpareReport {
    /// Spare space / physical space, of data pages.
    pub nominal: f64,
    /// Spare space without erased and open blocks.
    pub effective: f64,
    /// Spare space, in blocks.
    pub blocks: f64,
    /// Blocks that the garbage collection threshold keeps erased.
    pub blocks_asked_erased: u64,
    /// Blocks that are actually erased, up to the threshold: garbage collection that yields to
    /// requests falls behind.
    pub blocks_kept_erased: u64,
    /// True if garbage collection in a timed run may fall behind its threshold.
    pub yields: bool,
    /// Open blocks.
    pub blocks_open: u64,
    /// Garbage collection threshold as a share of blocks.
    pub min_free: f64,
    /// Default of that threshold.
    pub default_min_free: f64,
}

impl SpareReport {
    /// Results section `flash.spare`. Members of an array have equal keys, but effective spare
    /// space may differ.
    fn section(&self) -> Report {
        section! {
            "nominal": Field::same(self.nominal),
            "effective": Field::Mean(self.effective),
            "blocks_kept_erased": self.blocks_kept_erased,
            "blocks_open": self.blocks_open,
            "min_free": Field::same(self.min_free),
            "blocks": Field::fact(Field::Sum(self.blocks)),
            "blocks_asked_erased": Field::fact(self.blocks_asked_erased),
            "yields": Field::fact(self.yields),
            "default_min_free": Field::fact(Field::same(self.default_min_free)),
        }
    }
}

/// Wear of the blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct WearReport {
    /// Mean erases of a block.
    pub mean_erases: f64,
    /// Standard deviation of erases over the blocks.
    pub std_erases: f64,
    /// Erases of the most-erased block.
    pub max_erases: u32,
    /// Mean remaining erases.
    pub mean_remaining: f64,
    /// Standard deviation of remaining erases.
    pub std_remaining: f64,
    /// Blocks that have reached their rating.
    pub expired_blocks: u64,
    /// Expired blocks that are retired.
    pub retired_blocks: u32,
    /// Remaining spare blocks of the pool with the least spare space.
    pub spare_blocks: u32,
    /// True once a pool's spare space is used up, so that the drive rejects writes.
    pub ended: bool,
    /// Blocks by remaining erases / mean remaining erases, in steps of 10 %; the last step includes
    /// all above.
    pub remaining_of_mean: [u64; REMAINING_STEPS],
    /// Blocks by remaining / rated erases, in steps of 5 %; the last step holds blocks never
    /// erased.
    pub remaining_of_rated: [u64; REMAINING_STEPS],
    /// Number of blocks by erase count, ascending.
    pub blocks_by_erases: Vec<(u32, u64)>,
    /// Lifetime of the drive.
    pub lifetime: LifetimeReport,
    /// Erases by location.
    pub map: WearMap,
}

/// Number of steps of the remaining-life distribution: 0 to 2 means, 0 to 1 ratings.
pub const REMAINING_STEPS: usize = 21;

/// Utilisation of a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitReport {
    /// Name, such as `package 3` or `package 3 die 1`.
    pub name: String,
    /// Busy share of the time.
    pub busy: f64,
    /// Share of the time spent on garbage collection.
    pub cleaning: f64,
    /// Mean number of queued pages.
    pub queue_mean: f64,
    /// Pages read or programmed for the host.
    pub operations: u64,
}

impl Ssd {
    /// Erased blocks in the free list of domain `domain`.
    pub fn free_blocks(&self, domain: u32) -> u32 {
        self.ftl.free_blocks(Domain(domain))
    }

    /// Current counts.
    pub(crate) fn counts_now(&self) -> Counts {
        Counts::of(&self.account_now())
    }

    fn account_now(&self) -> Account {
        let domains = 0..self.geometry().domains;
        let free_blocks = domains.map(|domain| u64::from(self.free_blocks(domain))).sum();
        let geometry = self.geometry();
        Account {
            counters: self.ftl.counters,
            granule: geometry.granule,
            data_pages: geometry.data_pages,
            page_bytes: u64::from(geometry.sectors_per_flash_page) * SECTOR_BYTES,
            map_page_bytes: self.config.map.page.bytes(),
            copy_back: self.config.cleaning.copy_back,
            free_blocks,
        }
    }

    /// Spare space, and its effective part.
    fn spare(&self) -> SpareReport {
        let geometry = self.geometry();
        let physical = f64::from(geometry.blocks()) * f64::from(geometry.data_pages);
        let nominal = 1.0 - geometry.exported_pages() as f64 / physical;
        let all = |of_domain: u32| u64::from(of_domain) * u64::from(geometry.domains);
        let (asked, open) = (all(geometry.low_blocks), all(geometry.frontiers));
        let yields = self.seen().yields() && !self.config.log_blocks.are_used();
        let free = || (0..geometry.domains).map(|it| u64::from(self.free_blocks(it))).sum();
        let kept = if yields { asked.min(free()) } else { asked };
        let span = u64::from(geometry.granule.span);
        SpareReport {
            nominal,
            effective: nominal - (kept + open) as f64 / f64::from(geometry.blocks()),
            blocks: nominal * f64::from(geometry.blocks()) * span as f64,
            blocks_asked_erased: asked * span,
            blocks_kept_erased: kept * span,
            yields,
            blocks_open: open * span,
            min_free: self.config.min_free(),
            default_min_free: self.config.default_min_free(),
        }
    }

    /// Busy times of units and buses up to `end`, since the last reset.
    pub(crate) fn spent(&self, end: Time) -> Spent {
        let mut spent = Spent {
            time: end,
            units: self.seen().accounts(self.geometry(), end),
            buses_ns: self.seen().bus_busy_ns(end),
        };
        if let Some(before) = &self.before {
            spent.leave_out(before);
        }
        spent
    }

    /// Report of a run that ended at `end` and began at 0 or at the last reset.
    pub fn account(&self, end: Time) -> SsdReport {
        let Spent { time, units, buses_ns } = self.spent(end);
        let mut report = SsdReport {
            buffered: self.geometry().groups.is_some(),
            merges: self.config.log_blocks.are_used(),
            blocks: self.config.block_buffer.is_used(),
            maps: self.ftl.caches_map(),
            counts: self.counts_now(),
            write_amplification: None,
            write_amplification_bytes: None,
            cleaning: self.cleaning(&units),
            media: self.account_now().media(),
            slc_cache: self.slc_report(end),
            fdp: self.placement_report(),
            snapshots: self.ftl.snapshots.as_ref().map(|it| it.report()),
            spare: self.spare(),
            wear: self.wear(),
            health: self.health(),
            units: units.into_iter().map(|unit| unit_report(unit, time)).collect(),
            queues: self.front.queues(),
            bus_busy: buses_ns.into_iter().map(|ns| share(ns, time)).collect(),
            power: self.power_report().cloned(),
            page_bytes: u64::from(self.geometry().sectors_per_flash_page) * SECTOR_BYTES,
            aged: self.media_report(),
            bad: self.ftl.bad_report(),
            thermal: self.buffered.thermal.as_ref().map(|thermal| thermal.account(end)),
        };
        report.derive();
        report
    }

    fn cleaning(&self, units: &[UnitAccount]) -> CleaningReport {
        let busy_ns = units.iter().map(|unit| unit.cleaning_ns).sum();
        let cleaned = self.ftl.counters.cleaned();
        let mean_block_ns = ratio(busy_ns, cleaned);
        CleaningReport { efficiency: None, mean_block_ns, busy_ns, cleaned }
    }

    fn wear(&self) -> WearReport {
        let erases = self.flash.erases();
        let ageing = self.ftl.ageing();
        let blocks = (0..erases.len() as u32).map(Block);
        let (mean_erases, std_erases) = moments(erases.iter().copied());
        let (mean_remaining, std_remaining) =
            moments(blocks.clone().map(|block| self.flash.life(block)));
        let last = REMAINING_STEPS - 1;
        let (mut of_mean, mut of_rated) = ([0; REMAINING_STEPS], [0; REMAINING_STEPS]);
        let mut expired_blocks = 0;
        for block in blocks {
            let life = f64::from(self.flash.life(block));
            expired_blocks += u64::from(self.flash.life(block) == 0);
            // Without remaining life 0 / 0 becomes step 0.
            of_mean[((10.0 * life / mean_remaining) as usize).min(last)] += 1;
            let rated = f64::from(self.flash.ratings().of(block));
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
            ended: self.ftl.has_ended(),
            remaining_of_mean: of_mean,
            remaining_of_rated: of_rated,
            blocks_by_erases: counted(erases.iter().map(|erases| (*erases, 1))),
            lifetime: self.lifetime(),
            map: wear_map(self.geometry(), erases),
        }
    }
}

fn unit_report(unit: UnitAccount, time: Time) -> UnitReport {
    UnitReport {
        name: unit.name,
        busy: share(unit.busy_ns, time),
        cleaning: share(unit.cleaning_ns, time),
        queue_mean: share(unit.waited_ns, time),
        operations: unit.operations,
    }
}

impl UnitReport {
    fn section(&self) -> Report {
        section! {
            "name": Field::Name(self.name.clone()),
            "busy": Field::same(self.busy),
            "cleaning": Field::same(self.cleaning),
            "queue_mean": Field::same(self.queue_mean),
            "operations": self.operations,
        }
    }
}

impl WearReport {
    /// Results section `wear`. Members of an array have the same number of blocks, so means of
    /// means are means. Remaining life of a block is relative to the mean of its member.
    fn section(&self) -> Report {
        let steps = |counts: &[u64]| Field::Histogram(counts.to_vec());
        section! {
            "mean_erases": Field::Mean(self.mean_erases),
            "std_erases": Field::Deviation(self.mean_erases, self.std_erases),
            "max_erases": Field::most(self.max_erases),
            "mean_remaining": Field::Mean(self.mean_remaining),
            "std_remaining": Field::Deviation(self.mean_remaining, self.std_remaining),
            "expired_blocks": self.expired_blocks,
            "retired_blocks": u64::from(self.retired_blocks),
            "spare_blocks": Field::Least(json!(self.spare_blocks)),
            "ended": self.ended,
            "remaining": section! {
                "blocks_by_tenth_of_mean": steps(&self.remaining_of_mean),
                "blocks_by_twentieth_of_rated": steps(&self.remaining_of_rated),
            },
            "blocks_by_erases": Field::Distribution(self.blocks_by_erases.clone()),
            "lifetime": self.lifetime.section(),
            "map": Field::Map(self.map.clone()),
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
