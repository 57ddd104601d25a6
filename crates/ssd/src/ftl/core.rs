//! State of the FTL, and its initial values.

use super::ageing::Ageing;
use super::ahead::Ahead;
use super::bad_blocks::BadBlocks;
use super::blocks::{Blocks, LowMarks};
use super::free::FreeBlocks;
use super::handles::Fdp;
use super::logs::Logs;
use super::map::PageMap;
use super::map_cache::MapCache;
use super::placement::{Placement, Reserve};
use super::refresh_queue::RefreshQueue;
use super::slc_blocks::Slc;
use super::snapshots::Snapshots;
use super::streams::Streams;
use super::window::Window;
use crate::account::Counters;
use crate::clean::Custom;
use crate::config::{Cleaning, SsdConfig, Temperature};
use crate::device::building::{Asking, Tick};
use crate::flash::Flash;
use crate::ids::{Block, Lpn, PoolId, Ppn};
use crate::numbers::Numbers;
use crate::page::{Access, Need, PageRequest, PageWork};
use crate::shape::Geometry;
use crate::since_erasure::SinceErasure;
use engine::Xoshiro256;
use std::ops::ControlFlow;

/// Streams of the drive's randomness: its initial content, and its cleaning policy.
const FILL_STREAM: u64 = 7;
const CLEANING_STREAM: u64 = 9;

/// Initial fill above which tables are allocated at once.
const MOST: f64 = 0.9;

/// The FTL of one drive. Its fields are the parts that a write needs one after the other; related
/// ones are structs.
#[derive(Debug, Clone)]
pub struct Ftl {
    pub(super) geometry: Geometry,
    pub(super) config: Cleaning,
    /// The custom policy, if the configuration names one.
    pub(super) supplied: Option<Custom>,
    pub(super) random: Xoshiro256,
    /// The initial generator.
    undrawn: Xoshiro256,
    pub(super) map: PageMap,
    /// Number of unmapped logical pages: while it is 0, no page is checked.
    pub(super) unmapped: u64,
    pub(super) blocks: Blocks,
    pub(super) free: FreeBlocks,
    pub(super) streams: Streams,
    pub(super) placement: Placement,
    /// The block being cleaned in each domain.
    pub(super) victim: Vec<Option<Block>>,
    pub(super) marks: LowMarks,
    pub(super) reserve: Reserve,
    pub(super) ageing: Ageing,
    /// Log blocks, of a drive that maps in blocks.
    pub(super) logs: Option<Box<Logs>>,
    /// Write buffer of untimed writes, if any.
    pub(super) window: Option<Window>,
    pub(super) ahead: Ahead,
    /// SLC cache, if any.
    pub(super) slc: Option<Box<Slc>>,
    /// Blocks that are bad and not worn, if some may be.
    pub bad: Option<Box<BadBlocks>>,
    /// Refresh and reclaim, if enabled.
    pub refresh_queue: Option<Box<RefreshQueue>>,
    /// Map cache, if any.
    pub cached_map: Option<Box<MapCache>>,
    /// True if copies are counted singly: by their handles, or in the map cache.
    pub notes_copies: bool,
    /// True if host writes behind a write buffer affect more than their page: there is an SLC
    /// cache, or there are snapshots.
    pub notes_writes: bool,
    /// True if the end of a program may have consequences: a page gets another label, or failed.
    pub(super) notes_programs: bool,
    /// Erase times of blocks, if wear levelling needs them.
    pub since_erasure: Option<Box<SinceErasure>>,
    /// Placement handles, if there are some.
    pub fdp: Option<Box<Fdp>>,
    /// Copy-on-write snapshots, if enabled.
    pub snapshots: Option<Box<Snapshots>>,
    /// Pages whose programming was ever begun.
    pub(super) programs: u64,
    /// Counters.
    pub counters: Counters,
}

impl Ftl {
    /// The FTL of a drive that was filled as the configuration says, with the flash it was
    /// written to; `tick` may end that.
    pub fn new(
        config: &SsdConfig,
        geometry: &Geometry,
        seed: u64,
        tick: Tick<'_>,
    ) -> ControlFlow<(), (Ftl, Flash)> {
        let mut flash = Flash::new(config, geometry, seed);
        let snapshots = Geometry::snapshots_kept(config);
        let numbered = geometry.exported_pages() * (u64::from(snapshots) + 1);
        let aggregate = config.cleaning.levelling.temperature == Temperature::Aggregate;
        let logs = Logs::new(config, geometry).map(Box::new);
        let mut ftl = Ftl {
            geometry: geometry.clone(),
            config: config.cleaning.clone(),
            supplied: None,
            random: Xoshiro256::new(seed, CLEANING_STREAM),
            undrawn: Xoshiro256::new(seed, CLEANING_STREAM),
            map: PageMap::new(numbered, geometry.wide),
            unmapped: geometry.exported_pages(),
            blocks: Blocks::new(geometry, aggregate),
            free: FreeBlocks::new(geometry, config.free_order),
            streams: Streams::new(config, geometry),
            placement: Placement::new(geometry),
            victim: memory::filled(None, geometry.domains as usize),
            marks: LowMarks::new(geometry),
            reserve: Reserve::Pages(geometry.reserved_pages()),
            ageing: Ageing::new(geometry, flash.ratings()),
            // A map of blocks moves them whole.
            refresh_queue: logs
                .as_ref()
                .map_or_else(|| RefreshQueue::new(config, geometry), |_| None),
            logs,
            window: None,
            ahead: Ahead::new(geometry.domains),
            slc: Slc::new(config, geometry),
            bad: BadBlocks::new(config, geometry, seed),
            cached_map: MapCache::new(config, geometry),
            notes_copies: config.fdp.chooses() || geometry.map_shape(config).is_some(),
            notes_writes: config.slc_cache.is_on() || snapshots > 0,
            notes_programs: false,
            since_erasure: config
                .cleaning
                .levelling
                .cold_age
                .0
                .map(|least| Box::new(SinceErasure::new(geometry.blocks(), least.ns()))),
            fdp: Fdp::new(config, geometry, numbered),
            snapshots: Snapshots::new(geometry, config),
            programs: 0,
            counters: Counters::default(),
        };
        let random = &mut Xoshiro256::new(seed, FILL_STREAM);
        let asking = &mut Asking::new(tick);
        if config.fill.share() > MOST {
            ftl.map.table().expect_all();
            flash.tables().into_iter().for_each(Numbers::expect_all);
        }
        for pool in 0..geometry.pools {
            ftl.fill_pool(&mut flash, PoolId(pool), config, random, asking)?;
        }
        ftl.set_aside_for_slc();
        // Factory tests have found the blocks that fail at first.
        ftl.notes_programs =
            snapshots > 0 || ftl.bad.as_ref().is_some_and(|bad| bad.fails_by_page());
        ftl.counters = Counters::default();
        ftl.reset_handles();
        ControlFlow::Continue((ftl, flash))
    }

    /// Placement handles, if any.
    #[inline]
    pub fn fdp_mut(&mut self) -> Option<&mut Fdp> {
        self.fdp.as_deref_mut()
    }

    /// Log blocks of a drive with them.
    pub fn logs_mut(&mut self) -> &mut Logs {
        self.logs.as_mut().expect("it has log blocks")
    }

    /// True if a policy or wear levelling has drawn at random since the drive was made.
    pub fn has_drawn(&self) -> bool {
        self.random != self.undrawn
    }

    /// Restarts the draws from this drive's seed.
    pub fn draw_anew(&mut self) {
        self.random = self.undrawn.clone();
    }

    /// The shape of the drive.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Position of a logical page, unless unwritten or trimmed.
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.map.get(lpn).ppn()
    }

    /// Begins to fetch where a logical page lies, which will be wanted.
    #[inline]
    pub(crate) fn prefetch(&self, lpn: Lpn) {
        self.map.prefetch(lpn);
    }

    /// True if a logical page is mapped: written, and not trimmed since. If all are, this avoids a
    /// look-up in the map, which is rarely in the CPU's cache.
    #[inline]
    pub(crate) fn is_mapped(&self, lpn: Lpn) -> bool {
        self.unmapped == 0 || self.lookup(lpn).is_some()
    }

    /// Unmaps a page whose copy stays valid, and returns the location of the copy.
    pub fn lift(&mut self, lpn: Lpn) -> Option<Ppn> {
        let old = self.lookup(lpn)?;
        self.map.clear(lpn);
        self.unmapped += 1;
        Some(old)
    }

    /// The map for saving.
    pub(crate) fn clone_map(&self) -> PageMap {
        self.map.clone()
    }

    /// Counts the logical pages that lie nowhere.
    pub(crate) fn count_unmapped(&mut self) {
        self.count_mapped(self.map.mapped().count() as u64);
    }

    /// Sets the number of mapped pages.
    pub fn count_mapped(&mut self, mapped: u64) {
        self.unmapped = self.geometry.exported_pages() - mapped;
    }

    /// The logical pages that lie somewhere, in order, and where.
    pub(crate) fn mapped(&self) -> impl Iterator<Item = (Lpn, Ppn)> + '_ {
        self.map.mapped()
    }

    /// Flash operations that a page request needs now.
    #[inline]
    pub(crate) fn need(&self, request: &PageRequest) -> Need {
        match request.access {
            Access::Read if self.is_mapped(request.lpn) => {
                Need::Page(PageWork::Read, request.touched)
            }
            Access::Read => Need::Unmapped,
            Access::Write if self.has_ended() => Need::Refused,
            Access::Write if request.covered || !self.is_mapped(request.lpn) => {
                Need::Page(PageWork::Write, request.touched)
            }
            Access::Write if self.geometry.granule.synchronous => {
                Need::Page(PageWork::Merge, request.touched)
            }
            Access::Write => Need::Page(PageWork::ReadForWrite, request.whole),
        }
    }
}
