//! An array with redundancy: mirrors and parity.
//!
//! A request is cut into an operation for each stripe that it touches, and an operation into parts, each
//! a request to a member: reads, and then writes of what follows from them. Operations that would spoil
//! each other's parity wait for each other (`busy.rs`). No data are kept: only that the right chunks are
//! read and written at the right time, which the tests hold by giving each write a number
//! (`symbolic.rs`).

mod active;
mod busy;
mod counts;
mod device;
mod failures;
mod geometry;
mod hole;
#[cfg(test)]
mod hole_property;
mod log;
mod logging;
mod model;
mod operation;
mod parts;
mod plan;
mod power;
#[cfg(test)]
mod property;
mod rebuild;
mod requests;
mod resync;
mod state;
#[cfg(test)]
mod symbolic;
mod torn;

use super::config::{self, ArrayConfig, MOST_MEMBERS};
use super::redundancy::{HoleRule, ReadCopy, Redundancy, WriteRule};
use super::steering::Steering;
use crate::kit::config::HostLink;
use crate::kit::link::Link;
use crate::kit::slots::Slots;
use crate::{Model, Supplied, Tick, Unbuilt};
use active::Active;
use engine::{Completion, EventQueue, Xoshiro256};
use geometry::Geometry;
use hole::Hole;
use log::Log;
use operation::{Operation, Part};
use options::{Invalid, Size};
use state::{Busy, Fate, Member, RaidCounts, Rebuilding};

/// The stream of the lots that choose a copy.
const COPY_STREAM: u64 = 13;

/// What of the keys decides how it is read and written.
#[derive(Debug, Clone, Copy)]
struct Rules {
    read_copy: ReadCopy,
    write: WriteRule,
    together: bool,
    /// Writes that are done with one that waited like them, at most.
    cache: u32,
}

/// An array with redundancy. Its fields are its members, what is under way in it, and what it counts.
pub struct Raid {
    /// The members, and behind them the spares.
    drives: Vec<Box<dyn Model>>,
    /// The drive in the place of each member, and what it holds.
    members: Vec<Member>,
    /// Spares that have been used.
    spares_used: usize,
    geometry: Geometry,
    /// The same in pages, for what is prepared.
    pages: Geometry,
    /// No member is missing, not even in part.
    is_whole: bool,
    /// No member is unlike the others.
    alike: bool,
    rules: Rules,
    steering: Steering,
    rebuilding: Rebuilding,
    hole: Hole,
    /// Members of which a unit is there, to be unlocked; empty between calls.
    units_done: Vec<usize>,
    shape: Vec<(String, String)>,
    link: Link,
    events: EventQueue,
    active: Slots<Active>,
    /// Requests that have reached the members so far.
    arrivals: u64,
    /// Writes and trims that have reached the members and are not done.
    writes_under_way: u64,
    /// Flushes that wait for writes before them.
    flushes: Vec<crate::kit::slots::Slot>,
    operations: Slots<Operation>,
    parts: Slots<Part>,
    busy: Busy,
    random: Xoshiro256,
    turn: u64,
    counts: RaidCounts,
    fate: Fate,
    /// What the members have completed; empty between calls.
    completed: Vec<Completion>,
    /// Answered outside of `advance`.
    done: Vec<Completion>,
    /// Pages on their way to each drive; empty between calls.
    batches: Vec<Vec<u64>>,
    /// All that the array did, for the tests.
    #[cfg(test)]
    log: Vec<symbolic::Event>,
}

impl Raid {
    /// An array of devices in their initial state.
    ///
    /// # Errors
    /// When the configuration contradicts itself, the error names the keys; or when `tick` ended it.
    pub fn new(
        config: &ArrayConfig,
        seed: u64,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Raid, Unbuilt> {
        let count = u64::from(config.members) + u64::from(config.spares);
        if config.members == 0 || count > u64::from(MOST_MEMBERS) {
            let problem =
                format!("an array has 1 to {MOST_MEMBERS} members and spares, not {count}");
            return Err(Invalid::new(&["device.members", "device.spares"], problem).into());
        }
        let drives = config.build_drives(config.spares, seed, supplied, tick)?;
        Ok(Raid::of(config, seed, drives)?)
    }

    /// An array of these devices.
    fn of(
        config: &ArrayConfig,
        seed: u64,
        mut drives: Vec<Box<dyn Model>>,
    ) -> Result<Raid, Invalid> {
        check_hole(config)?;
        let smallest = super::smallest(&drives);
        let log = Log::sectors(config);
        let geometry = Geometry::new(config, smallest.saturating_sub(log))?;
        let unit = config.rebuild.unit.bytes();
        let chunk = geometry.chunk * engine::SECTOR_BYTES;
        if unit == 0 || !unit.is_multiple_of(chunk) {
            let problem = format!(
                "{} is no multiple of a chunk of {}",
                config.rebuild.unit,
                Size::from_bytes(chunk)
            );
            return Err(Invalid::new(&["device.rebuild.unit", "device.stripe"], problem));
        }
        let steering = Steering::new(config, &mut drives)?;
        let link = HostLink {
            bandwidth: config.host_link.bandwidth,
            latency: config.host_link.latency,
            duplex: config.host_link.duplex,
            ..HostLink::default()
        };
        let members = (0..config.members as usize).map(Member::working).collect();
        let mut raid = Raid {
            members,
            spares_used: 0,
            pages: pages(&geometry, &drives, log),
            is_whole: true,
            alike: config.each.0.is_empty(),
            rules: Rules {
                read_copy: config.read_copy,
                write: config.write,
                together: config.writes_together,
                cache: config.stripe_cache,
            },
            steering,
            rebuilding: Rebuilding { rate: config.rebuild.rate, rows: unit / chunk },
            hole: Hole::new(config, geometry.rows * geometry.chunk, seed),
            units_done: Vec::new(),
            shape: config::shape(config),
            link: Link::new(&link),
            events: EventQueue::new(),
            active: Slots::new(),
            arrivals: 0,
            writes_under_way: 0,
            flushes: Vec::new(),
            operations: Slots::new(),
            parts: Slots::new(),
            busy: Busy::default(),
            random: Xoshiro256::new(seed, COPY_STREAM),
            turn: 0,
            counts: RaidCounts::of(config.members as usize),
            fate: Fate::default(),
            completed: Vec::new(),
            done: Vec::new(),
            batches: vec![Vec::new(); drives.len()],
            drives,
            geometry,
            #[cfg(test)]
            log: Vec::new(),
        };
        raid.schedule_failures(&config.failed)?;
        Ok(raid)
    }
}

/// The geometry in pages: of chunks of whole pages, else as if a page were a chunk.
fn pages(geometry: &Geometry, drives: &[Box<dyn Model>], log: u64) -> Geometry {
    let fewest = drives.iter().min_by_key(|drive| drive.preparable_pages());
    let drive = fewest.expect("an array has members");
    let pages = drive.preparable_pages();
    let sectors = drive.capacity_sectors() / pages.max(1);
    let whole = sectors > 0 && geometry.chunk.is_multiple_of(sectors);
    let pages = pages - log.div_ceil(sectors.max(1)).min(pages);
    geometry.in_units(pages, if whole { geometry.chunk / sectors } else { 1 })
}

/// Refuses a setting of `hole` that does not fit the array.
fn check_hole(config: &ArrayConfig) -> Result<(), Invalid> {
    if config.hole == HoleRule::PartialParity && config.redundancy != Redundancy::Parity {
        let problem = format!(
            "it needs one chunk of rotated parity, which a {} array has not; use journal",
            config.redundancy
        );
        return Err(Invalid::new(&["device.hole", "device.redundancy"], problem));
    }
    Ok(())
}
