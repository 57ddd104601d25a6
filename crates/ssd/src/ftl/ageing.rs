//! Wear to the end: ratings of blocks, their expiry, the remaining spare space, and the drive's
//! end.
//!
//! A block expires when it is erased for the last time that it is rated for. It is then retired,
//! unless its domain is so short of room that cleaning needs it once more. Retired blocks eat into
//! the spare space of their pool. When that no longer holds the blocks that cleaning keeps erased
//! or open, the drive has reached end of life: it rejects further writes.

use crate::flash::Ratings;
use crate::ids::{Block, Domain, PoolId};
use crate::shape::Geometry;
use serde::{Deserialize, Serialize};

/// Saved effects of wear.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgeingState {
    life: Vec<u64>,
    spare: Vec<u32>,
    retired: u32,
    first_expiry: Option<u64>,
    end: Option<u64>,
    bytes_before: u64,
    erases_before: Vec<u32>,
}

/// Effects of wear on a drive.
#[derive(Debug, Clone)]
pub(crate) struct Ageing {
    /// Remaining erasures of each domain.
    life: Vec<u64>,
    blocks_per_domain: u32,
    /// Blocks that each pool can still lose.
    pub(crate) spare: Vec<u32>,
    /// Blocks retired.
    pub(crate) retired: u32,
    /// Bytes that the host had written when the first block expired, since the drive was new.
    pub(crate) first_expiry: Option<u64>,
    /// Bytes at the end of a pool's spare space.
    pub(crate) end: Option<u64>,
    /// Bytes that the host had written when the counts were last reset.
    pub(crate) bytes_before: u64,
    /// Erasures of each block at that time; empty when there were none.
    pub(crate) erases_before: Vec<u32>,
    /// Erasures of each block when the load began; empty when there were none. It is not saved: a
    /// restored drive gets a new load.
    pub(crate) erases_before_load: Vec<u32>,
}

impl Ageing {
    pub(crate) fn new(geometry: &Geometry, ratings: &Ratings) -> Ageing {
        let blocks = geometry.blocks_per_domain;
        let life = |domain| {
            let first = geometry.first_block(domain).0;
            (first..first + blocks).map(|block| u64::from(ratings.of(Block(block)))).sum()
        };
        Ageing {
            life: (0..geometry.domains).map(|domain| life(Domain(domain))).collect(),
            blocks_per_domain: blocks,
            spare: memory::filled(geometry.losable_blocks(), geometry.pools as usize),
            retired: 0,
            first_expiry: None,
            end: None,
            bytes_before: 0,
            erases_before: Vec::new(),
            erases_before_load: Vec::new(),
        }
    }

    /// The effects of wear; `host_bytes` were written since counts began.
    pub(crate) fn keep(&self, host_bytes: u64) -> AgeingState {
        AgeingState {
            life: self.life.clone(),
            spare: self.spare.clone(),
            retired: self.retired,
            first_expiry: self.first_expiry,
            end: self.end,
            bytes_before: self.bytes_before + host_bytes,
            erases_before: self.erases_before.clone(),
        }
    }

    pub(crate) fn restore(&mut self, state: AgeingState) -> Result<(), String> {
        let fits = state.life.len() == self.life.len() && state.spare.len() == self.spare.len();
        if !fits {
            return Err("its wear state does not fit this drive".to_owned());
        }
        self.life = state.life;
        self.spare = state.spare;
        self.retired = state.retired;
        self.first_expiry = state.first_expiry;
        self.end = state.end;
        self.bytes_before = state.bytes_before;
        self.erases_before = state.erases_before;
        Ok(())
    }

    /// Copies the remaining erasures of some domains from the account of an identical drive.
    pub(crate) fn take_part(&mut self, other: &Ageing, domains: std::ops::Range<usize>) {
        self.life[domains.clone()].copy_from_slice(&other.life[domains]);
    }

    /// A block of a pool is never used.
    pub fn leave_out(&mut self, pool: PoolId) {
        let spare = &mut self.spare[pool.at()];
        *spare = spare.saturating_sub(1);
    }

    /// Counts an erasure of a block with remaining life.
    pub(crate) fn erased(&mut self, domain: Domain) {
        self.life[domain.at()] -= 1;
    }

    /// Mean erasures left of the blocks of a domain, those without any included.
    pub(crate) fn mean_life(&self, domain: Domain) -> f64 {
        self.life[domain.at()] as f64 / f64::from(self.blocks_per_domain)
    }
}
