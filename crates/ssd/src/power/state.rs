//! Additional state of a drive with recovery from power cuts, beside flash and FTL.

use super::checkpoint::Checkpoints;
use super::reader::Reader;
use super::trims::TrimLog;
use super::truth::Truth;
use crate::config::{Pairing, PairingGuard, Persistence, SsdConfig};
use crate::device::kit::slots::Slot;
use crate::device::{Field, Report};
use crate::flash::Flash;
use crate::ftl::Place;
use crate::ids::{Block, Lpn, Ppn};
use crate::shape::Geometry;
use engine::{Op, Time, Xoshiro256};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Random stream: fate of torn pages.
const POWER_STREAM: u64 = 12;

/// Report on power cuts, in the order of the results.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PowerReport {
    /// Number of power cuts.
    pub cuts: u64,
    /// Durations of completed recoveries.
    #[serde(skip)]
    pub recoveries_ns: Vec<Time>,
    /// Pages read during recoveries.
    pub pages_read: u64,
    /// Bytes read during recoveries.
    pub bytes_read: u64,
    /// Blocks recovered from their summary.
    pub blocks_by_summary: u64,
    /// Blocks recovered page by page.
    pub blocks_by_scan: u64,
    /// Pages whose program was interrupted.
    pub torn_pages: u64,
    /// Interrupted erases.
    pub interrupted_erases: u64,
    /// Pages rewritten because of a cut.
    pub pages_rewritten: u64,
    /// Checkpoint pages programmed.
    pub checkpoint_programs: u64,
    /// Unacknowledged page writes that survived.
    pub unacknowledged_kept: u64,
    /// Unacknowledged page writes that were lost.
    pub unacknowledged_lost: u64,
    /// Acknowledged pages lost in a volatile write buffer, before a flush.
    pub acknowledged_lost: u64,
    /// Durable pages lost in a cut.
    pub durable_lost: u64,
    /// Trimmed pages with data again after a cut.
    pub trims_undone: u64,
    /// Erasures that no block header records.
    pub erase_counts_lost: u64,
}

impl PowerReport {
    /// Results section `power`; `None` without power cuts. The members of an array lose power
    /// together.
    pub(crate) fn section(&self) -> Option<Report> {
        let times = &self.recoveries_ns;
        let longest = times.iter().max().map(|ns| Field::most(*ns as f64 / 1e9));
        let recovery = section! {
            "mean": Field::Ratio(times.iter().sum(), times.len() as u64, 1e9),
            "max": longest,
        };
        (self.cuts > 0 || self.checkpoint_programs > 0).then(|| {
            let counts = Report::of(self).with("cuts", Field::most(self.cuts));
            counts.with("recovery_seconds", recovery)
        })
    }
}

/// Kind of metadata page.
#[derive(Debug, Clone)]
pub(super) enum Own {
    /// Trim log; `waiting` requests complete with its `last` page.
    Log { last: bool, waiting: Vec<(Slot, Op)> },
    /// A checkpoint.
    Checkpoint,
}

/// A program in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// Physical page.
    pub ppn: Ppn,
    /// Logical page.
    pub lpn: Lpn,
    /// Low 32 bits of its program number.
    pub order: u32,
    /// Superseded copy.
    pub old: Option<Ppn>,
    /// Host request that wrote the data; `None` for a moved copy.
    pub request: Option<u64>,
}

/// Power state of the drive.
#[derive(Debug, Clone)]
pub(super) enum State {
    /// Serving requests.
    Serving,
    /// Without power.
    Off,
    /// The controller starts.
    Starting,
    /// Reading the flash, in the first or second pass.
    Reading { second: bool },
    /// Erasing half-erased blocks.
    Erasing,
    /// Logging the number from which programs continue.
    Numbering,
    /// Rewriting pages at risk; `left` remain.
    Restoring { left: u32 },
    /// Logging the completed start.
    Recording,
}

/// State of a drive with recovery: parts of a cut and of the recovery, in order.
#[derive(Debug, Clone)]
pub(crate) struct Power {
    pub(super) config: Persistence,
    /// Maximum pages in a write buffer, with padding; and true if the buffer survives cuts.
    pub(super) buffered: u64,
    pub(super) protected: bool,
    pub(super) state: State,
    pub(super) random: Xoshiro256,
    pub(super) reader: Reader,
    /// Expected data after a cut.
    pub(super) truth: Option<Truth>,
    /// Accepted pages that may not be readable again, with their older copies, until the start is
    /// logged.
    pub(super) at_risk: BTreeMap<u64, Vec<Place>>,
    /// Accepted torn pages, and the logical pages whose newest copy they hold.
    pub(super) taken: Vec<Ppn>,
    pub(super) restores: Vec<Lpn>,
    /// Pages damaged by torn pages in shared cells, until a start that rewrites them is logged.
    pub(super) harmed: Vec<Ppn>,
    /// Page pairing, pages per block, and protection of paired pages.
    pub(super) pairs: (Pairing, u32, PairingGuard),
    /// Blocks to erase before use.
    pub(super) erasures: Vec<Block>,
    pub(super) trims: TrimLog,
    pub(super) checkpoints: Checkpoints,
    /// Pending metadata pages in order, by unit.
    pub(super) own_pages: BTreeMap<u32, VecDeque<Own>>,
    /// Number of the first program after the last logged start; stored in the flash outside the
    /// data blocks.
    pub(super) first_program: u64,
    /// Time of power-on.
    pub(super) on_at: Time,
    pub(super) report: PowerReport,
}

impl Power {
    /// True while serving requests.
    pub(crate) fn serves(&self) -> bool {
        matches!(self.state, State::Serving)
    }

    /// State before the first cut; `None` for a drive without recovery.
    pub(crate) fn new(config: &SsdConfig, geometry: &Geometry, seed: u64) -> Option<Box<Power>> {
        config.persistence.recovers().then(|| {
            Box::new(Power {
                config: config.persistence.clone(),
                buffered: geometry.groups.map_or(0, |groups| most_buffered(config, groups)),
                protected: config.is_buffered() && config.buffer.power_loss_protected,
                state: State::Serving,
                random: Xoshiro256::new(seed, POWER_STREAM),
                reader: Reader::new(config, geometry),
                truth: None,
                at_risk: BTreeMap::new(),
                taken: Vec::new(),
                restores: Vec::new(),
                harmed: Vec::new(),
                pairs: (
                    config.cell.pairing,
                    config.simulated_pages_per_block(),
                    config.cell.pairing_guard,
                ),
                erasures: Vec::new(),
                trims: TrimLog::new(config),
                checkpoints: Checkpoints::new(config, geometry),
                own_pages: BTreeMap::new(),
                first_program: 0,
                on_at: 0,
                report: PowerReport::default(),
            })
        })
    }
}

/// Maximum pages in a buffer: its capacity, and padding of a group per die and stream.
fn most_buffered(config: &SsdConfig, groups: crate::shape::Groups) -> u64 {
    let buffer = &config.buffer;
    let bytes = buffer.size.bytes() + buffer.copies.unwrap_or(buffer.size).bytes();
    // The rows that are missing with one bit a cell have numbers too.
    let rows = if config.folds() { u64::from(groups.rows) } else { 1 };
    rows * bytes / u64::from(groups.unit_bytes) + 2 * u64::from(groups.units * (groups.dies + 1))
}

/// Number of the next program, above all numbers in the flash and the last start's. Programs
/// interrupted by a cut may not be visible, so some numbers are skipped.
pub(super) fn next_program(
    geometry: &Geometry,
    flash: &Flash,
    (recorded, buffered): (u64, u64),
) -> u64 {
    let unseen = 4 * u64::from(geometry.units * geometry.granule.span) + 64 + buffered;
    let blocks = (0..geometry.blocks()).map(Block);
    let pages = blocks.flat_map(|block| {
        let programmed = flash.programmed(block).min(geometry.data_pages);
        (0..programmed).map(move |page| geometry.ppn(block, page))
    });
    let written = pages.filter(|ppn| flash.stamp(*ppn) != Lpn::PADDING);
    let last = written.map(|ppn| flash.full_order(ppn) + 1).max().unwrap_or(0);
    last.max(recorded) + unseen
}
