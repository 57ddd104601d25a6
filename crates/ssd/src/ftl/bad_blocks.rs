//! Bad blocks that are not worn: from the factory, grown, and where a program or an erasure failed.
//!
//! A superblock has a block of each plane of its dies. A bad block is replaced by a good one of the
//! same plane from a retired superblock; without a replacement, the superblock is retired and
//! donates its other blocks. So a drive loses as many superblocks as its worst plane has bad
//! blocks.
//!
//! Without a write buffer a block is one of a plane, and lost by itself. A failed program affects
//! one page: its host data are programmed again elsewhere.

use crate::config::SsdConfig;
use crate::device::Report;
use crate::ids::{Block, Domain, Ppn};
use crate::media::Draws;
use crate::shape::Geometry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Random stream of bad blocks.
const BAD_STREAM: u64 = 23;
/// Exponent of wear in the rate of bad blocks: a guess.
const GROWN_POWER: i32 = 3;

/// State of bad blocks for saving.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BadState {
    spares: Vec<u32>,
    failed: BTreeSet<u32>,
    grown: u64,
}

/// Counts of a drive's bad blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BadReport {
    /// Blocks of a plane that were bad from the factory.
    pub factory: u64,
    /// Blocks that became bad since, without worn-out ones.
    pub grown: u64,
    /// Superblocks that bad blocks took.
    pub superblocks: u64,
    /// Failed programs since counts began: programs that failed.
    pub failed_programs: u64,
}

impl BadReport {
    /// The section `bad_blocks`.
    pub fn section(&self) -> Report {
        section! {
            "factory": self.factory,
            "grown": self.grown,
            "superblocks_retired": self.superblocks,
            "failed_programs": self.failed_programs,
        }
    }
}

/// Bad blocks of a drive.
#[derive(Debug, Clone)]
pub struct BadBlocks {
    seed: u64,
    /// Planes of a superblock, and its groups; no groups where pages are programmed one by one.
    planes: u32,
    groups: u32,
    program_fail: f64,
    erase_fail: f64,
    grown_at_rating: f64,
    rated: f64,
    /// Superblocks of each domain that the factory's bad blocks take.
    lost: Vec<u32>,
    factory: u64,
    /// Blocks that the factory marked, where each is one of a plane.
    marked: BTreeSet<u32>,
    /// Good blocks of retired superblocks, by domain and plane.
    spares: Vec<u32>,
    /// Superblocks in which a program failed.
    failed: BTreeSet<u32>,
    /// The page whose program has just failed, where pages are programmed one by one.
    just_failed: Option<Ppn>,
    grown: u64,
}

impl BadBlocks {
    pub fn new(config: &SsdConfig, geometry: &Geometry, seed: u64) -> Option<Box<BadBlocks>> {
        let spares = &config.spares;
        if !spares.go_bad() {
            return None;
        }
        let (planes, groups) = match &geometry.groups {
            Some(shape) => (shape.width * shape.planes, shape.per_block),
            None => (geometry.granule.span, 0),
        };
        let seed = Draws::new(seed ^ BAD_STREAM << 32).word();
        let mut bad = BadBlocks {
            seed,
            planes,
            groups,
            program_fail: spares.program_fail,
            erase_fail: spares.erase_fail,
            grown_at_rating: spares.grown,
            rated: f64::from(config.wear.rated_cycles),
            lost: memory::zeroed(geometry.domains as usize),
            factory: 0,
            marked: BTreeSet::new(),
            spares: memory::zeroed((geometry.domains * planes) as usize),
            failed: BTreeSet::new(),
            just_failed: None,
            grown: 0,
        };
        let most = geometry.losable_blocks() / (geometry.domains / geometry.pools).max(1);
        for domain in 0..geometry.domains {
            let mut draws = Draws::new(seed ^ u64::from(domain) << 40 | 1);
            let mut of_planes = memory::zeroed(planes as usize);
            let first = geometry.first_block(Domain(domain)).0;
            for count in &mut of_planes {
                let blocks = first..first + geometry.blocks_per_domain;
                let found = blocks.filter(|_| draws.unit() < spares.factory_bad);
                let found: Vec<u32> = found.take(most as usize).collect();
                *count = found.len() as u32;
                if planes == 1 {
                    bad.marked.extend(found);
                }
            }
            let worst = of_planes.iter().copied().max().unwrap_or(0);
            bad.lost[domain as usize] = worst;
            for (plane, count) in of_planes.into_iter().enumerate() {
                bad.factory += u64::from(count);
                bad.spares[(domain * planes) as usize + plane] = worst - count;
            }
        }
        Some(Box::new(bad))
    }

    /// The planes whose block of a superblock becomes bad with this erasure.
    pub fn erased(&mut self, block: Block, erases: u32) -> Vec<u32> {
        let mut draws = Draws::new(self.seed ^ u64::from(block.0) << 32 ^ u64::from(erases));
        let worn = f64::from(erases) / self.rated;
        let chance = self.erase_fail + self.grown_at_rating * worn.powi(GROWN_POWER);
        let mut planes: Vec<u32> = (0..self.planes).filter(|_| draws.unit() < chance).collect();
        if self.failed.remove(&block.0) {
            planes.push(draws.below(self.planes));
            planes.dedup();
        }
        planes
    }

    /// Blocks of a superblock have become bad: whether others of their planes stand in for all of
    /// them. Otherwise the superblock donates its good blocks.
    pub fn replaces(&mut self, domain: Domain, planes: &[u32]) -> bool {
        self.grown += planes.len() as u64;
        let first = (domain.0 * self.planes) as usize;
        let own = &mut self.spares[first..first + self.planes as usize];
        let there = planes.iter().all(|plane| own[*plane as usize] > 0);
        if there {
            for plane in planes {
                own[*plane as usize] -= 1;
            }
            return true;
        }
        for plane in (0..self.planes).filter(|plane| !planes.contains(plane)) {
            own[plane as usize] += 1;
        }
        false
    }

    pub fn restore(&mut self, state: BadState) {
        (self.spares, self.failed, self.grown) = (state.spares, state.failed, state.grown);
    }

    /// A page was programmed: whether that failed, where pages are programmed one by one.
    pub fn programmed(&mut self, block: Block, (page, ppn): (u32, Ppn), erases: u32) -> bool {
        let of_block = self.seed ^ u64::from(block.0) << 32 ^ u64::from(erases) ^ 1 << 62;
        let mut draws = Draws::new(of_block ^ u64::from(page) << 18);
        let fails = self.groups == 0 && draws.unit() < self.program_fail;
        self.just_failed = fails.then_some(ppn);
        if fails {
            self.failed.insert(block.0);
        }
        fails
    }

    /// True if the program of this page has just failed.
    #[inline]
    pub fn has_failed(&self, ppn: Ppn) -> bool {
        self.just_failed == Some(ppn)
    }

    /// True if pages are programmed one by one, and that may fail.
    pub fn fails_by_page(&self) -> bool {
        self.groups == 0 && self.program_fail > 0.0
    }

    /// Blocks in which a program failed, whose data are to be moved.
    pub fn to_move(&self) -> &BTreeSet<u32> {
        &self.failed
    }

    /// Number of failed programs in a full superblock.
    pub fn failures(&mut self, block: Block, erases: u32) -> u32 {
        if self.program_fail <= 0.0 {
            return 0;
        }
        let mut draws =
            Draws::new(self.seed ^ u64::from(block.0) << 32 ^ u64::from(erases) ^ 1 << 63);
        let count = (0..self.groups).filter(|_| draws.unit() < self.program_fail).count() as u32;
        if count > 0 {
            self.failed.insert(block.0);
        }
        count
    }

    /// True if the factory's bad blocks take a block of a domain: those marked, or the last superblocks.
    pub fn takes(&self, domain: Domain, block: Block, behind: u32) -> bool {
        if self.planes == 1 {
            self.marked.contains(&block.0)
        } else {
            behind <= self.lost[domain.at()]
        }
    }

    /// Counts of bad blocks; `retired` superblocks are not used any more.
    pub fn report(&self, retired: u32, failed_programs: u64) -> BadReport {
        let (factory, grown) = (self.factory, self.grown);
        BadReport { factory, grown, superblocks: u64::from(retired), failed_programs }
    }

    /// State for saving.
    pub fn keep(&self) -> BadState {
        BadState { spares: self.spares.clone(), failed: self.failed.clone(), grown: self.grown }
    }

    /// Restores a saved state of an equal drive.
    pub fn resume(&mut self, state: BadState) {
        if state.spares.len() == self.spares.len() {
            self.restore(state);
        }
    }
}
