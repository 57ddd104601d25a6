//! Additional state of a drive that recovers from power cuts, beside flash and FTL.

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

/// Stream of randomness: the fate of torn pages.
const POWER_STREAM: u64 = 12;

/// Outcome of power cuts. It has as many fields as there are figures in the results.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PowerReport {
    /// Power cuts.
    pub cuts: u64,
    /// Durations of complete recoveries.
    #[serde(skip)]
    pub recoveries_ns: Vec<Time>,
    /// Reads of the recoveries.
    pub pages_read: u64,
    /// Bytes of these reads.
    pub bytes_read: u64,
    /// Blocks known from their summary.
    pub blocks_by_summary: u64,
    /// Blocks whose pages were read.
    pub blocks_by_scan: u64,
    /// Pages whose programming was cut.
    pub torn_pages: u64,
    /// Erasures that were cut.
    pub interrupted_erases: u64,
    /// Pages rewritten because a cut put them at risk.
    pub pages_rewritten: u64,
    /// Pages of checkpoints.
    pub checkpoint_programs: u64,
    /// Writes of pages without an answer that were there.
    pub unacknowledged_kept: u64,
    /// Writes without an answer that were lost.
    pub unacknowledged_lost: u64,
    /// Answered pages that were lost with a volatile write buffer: no flush had come.
    pub acknowledged_lost: u64,
    /// Durable pages without their data after the power cut.
    pub durable_lost: u64,
    /// Trimmed pages that had data again after the power cut.
    pub trims_undone: u64,
    /// Erasures that no block header records.
    pub erase_counts_lost: u64,
}

impl PowerReport {
    /// The section `power`; nothing where there is nothing to tell. The power of members goes together.
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

/// Purpose of a metadata page.
#[derive(Debug, Clone)]
pub(super) enum Own {
    /// The record of trims; with its last page, the requests that wait for it.
    Log { last: bool, waiting: Vec<(Slot, Op)> },
    /// A checkpoint.
    Checkpoint,
}

/// A program under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// Where.
    pub ppn: Ppn,
    /// Logical page.
    pub lpn: Lpn,
    /// Low 32 bits of its number.
    pub order: u32,
    /// Superseded copy.
    pub old: Option<Ppn>,
    /// Host request of the data; `None` for data of the old copy.
    pub request: Option<u64>,
}

/// State of the drive.
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
    /// Erasing partly erased blocks.
    Erasing,
    /// Logging the number from which programs continue.
    Numbering,
    /// Rewriting pages at risk; `left` are still to be written.
    Restoring { left: u32 },
    /// Logging this start.
    Recording,
}

/// State of a recovering drive besides flash and FTL. Its fields are the parts of a cut and of the
/// recovery, in order.
#[derive(Debug, Clone)]
pub(crate) struct Power {
    pub(super) config: Persistence,
    /// Pages that a write buffer may hold, with padding; and whether a cut does not empty it.
    pub(super) buffered: u64,
    pub(super) protected: bool,
    pub(super) state: State,
    pub(super) random: Xoshiro256,
    pub(super) reader: Reader,
    /// Expected data after the cut.
    pub(super) truth: Option<Truth>,
    /// Pages that were taken though they may not read again, and the copies before, until the start is
    /// recorded.
    pub(super) at_risk: BTreeMap<u64, Vec<Place>>,
    /// Accepted torn pages, with the logical pages whose newest copy they are.
    pub(super) taken: Vec<Ppn>,
    pub(super) restores: Vec<Lpn>,
    /// Pages whose cells a torn page has harmed, until the start is recorded that writes them anew.
    pub(super) harmed: Vec<Ppn>,
    /// Pairing of pages, and pages per block; and what guards them.
    pub(super) pairs: (Pairing, u32, PairingGuard),
    /// Blocks to erase before use.
    pub(super) erasures: Vec<Block>,
    pub(super) trims: TrimLog,
    pub(super) checkpoints: Checkpoints,
    /// Pages that the drive writes for itself, by unit, in order.
    pub(super) own_pages: BTreeMap<u32, VecDeque<Own>>,
    /// The number of the first program after the last start that was recorded: it is in the flash, outside
    /// of the blocks for data.
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

    /// State before the first cut; none where the drive does not recover.
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

/// Pages that a buffer may hold: what it has room for, and the padding of a group for each die and stream.
fn most_buffered(config: &SsdConfig, groups: crate::shape::Groups) -> u64 {
    let buffer = &config.buffer;
    let bytes = buffer.size.bytes() + buffer.copies.unwrap_or(buffer.size).bytes();
    bytes / u64::from(groups.unit_bytes) + 2 * u64::from(groups.units * (groups.dies + 1))
}

/// The number of the next program, above all that the flash shows and what the last start was recorded with:
/// what was under way at a cut may not show, so that some are left out.
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
