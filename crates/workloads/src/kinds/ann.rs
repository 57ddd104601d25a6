//! Nearest-neighbour searches in a vector index on a drive: chains of hops, each a few parallel
//! reads.
//!
//! Known (`DiskANN`: Subramanya et al., `NeurIPS` 2019): a node of the graph holds its vector and
//! up to R neighbours, and as many nodes as fit are packed into a sector of 4 KiB. A search keeps a
//! list of L candidates and reads the W best unread ones in parallel, until none is left. Nodes
//! near the entry are cached. A search thus takes about `log_R N` hops to approach the target and
//! L/W hops to read its list, minus the cached hops. Assumed: all nodes are equally likely to be read,
//! and computation takes no time.

use crate::chains::{Chains, Cut, Next, Piece, Steps};
use crate::checks;
use crate::closed_loop::Notices;
use crate::error::BuildError;
use crate::files::{BLOCK_BYTES, BLOCK_SECTORS};
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use crate::streams;
use engine::{Op, Random, Time, Workload, Xoshiro256};
use options::{Invalid, Size};
use std::collections::VecDeque;

options::options! {
    /// Searches of nearest neighbours in an index on a drive.
    pub struct Ann as AnnPartial {
        /// Maximum number of requests; if not given, until the last search.
        requests: Option<u64> = None,
        /// Number of searches.
        searches: u64 = 10_000,
        /// Searches at once.
        outstanding: u32 = 16,
        /// Vectors of the index.
        vectors: u64 = 1_000_000,
        /// Numbers of a vector.
        dimensions: u32 = 128,
        /// Bytes of a number: 4 for floating point, 1 for quantised ones.
        number_bytes: u32 = 4,
        /// Neighbours of a node at most (R).
        degree: u32 = 64,
        /// Candidates that a search keeps (L).
        list: u32 = 100,
        /// Nodes that are read at once (W).
        beam: u32 = 4,
        /// Hops that are answered from memory.
        cached_hops: f64 = 2.0,
        /// The index is written first.
        load: bool = true,
        /// Size of the requests that write the index, a multiple of 4KiB.
        request_size: Size where LOADS = Size::from_bytes(1 << 20),
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
    }
}

options::conditions! { Ann:
    LOADS = "with `load`", |it| it.load;
}

/// Maximum parallel searches and parallel nodes, and maximum vector dimensions.
const MOST_AT_ONCE: u64 = 1 << 14;
const MOST_NUMBERS: u64 = 1 << 20;
/// Bytes of a node's number.
const ID_BYTES: u64 = 4;

impl Ann {
    /// Bytes of a node: its vector, number of neighbours, and neighbours.
    fn node_bytes(&self) -> u64 {
        let vector = u64::from(self.dimensions) * u64::from(self.number_bytes);
        vector + ID_BYTES * (u64::from(self.degree) + 1)
    }

    /// Mean number of hops per search that read from the drive.
    fn hops(&self) -> f64 {
        let near = libm::log(self.vectors as f64) / libm::log(f64::from(self.degree));
        (near + f64::from(self.list) / f64::from(self.beam) - self.cached_hops).max(1.0)
    }
}

impl WorkloadKind for Ann {
    const SUMMARY: &'static str = "searches of nearest neighbours in an index on a drive: hops one after the other, each a few parallel reads";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn guessed(&self) -> Vec<&'static str> {
        let default = Ann::default();
        let rows = [
            ("workload.vectors", self.vectors == default.vectors),
            ("workload.outstanding", self.outstanding == default.outstanding),
            ("workload.cached_hops", self.cached_hops.to_bits() == default.cached_hops.to_bits()),
        ];
        rows.into_iter().filter(|(_, is_default)| *is_default).map(|(key, _)| key).collect()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        let limit = checks::limit(self.requests)?;
        checks::positive("workload.searches", self.searches)?;
        checks::within("workload.outstanding", u64::from(self.outstanding), 1, MOST_AT_ONCE)?;
        checks::within("workload.vectors", self.vectors, 2, 1 << 40)?;
        checks::within("workload.dimensions", u64::from(self.dimensions), 1, MOST_NUMBERS)?;
        checks::within("workload.number_bytes", u64::from(self.number_bytes), 1, 8)?;
        checks::within("workload.degree", u64::from(self.degree), 2, MOST_NUMBERS)?;
        checks::within("workload.beam", u64::from(self.beam), 1, MOST_AT_ONCE)?;
        checks::within("workload.list", u64::from(self.list), u64::from(self.beam), MOST_NUMBERS)?;
        if !(0.0..=1e6).contains(&self.cached_hops) {
            let problem = format!("{} is no number of hops from 0 to 1000000", self.cached_hops);
            return Err(Invalid::new(&["workload.cached_hops"], problem).into());
        }
        let largest = checks::blocks("workload.request_size", self.request_size)?;
        let blocks = self.footprint.sectors(context.capacity_sectors)? / BLOCK_SECTORS;
        let node = self.node_bytes();
        let (in_block, node_blocks) = ((BLOCK_BYTES / node).max(1), node.div_ceil(BLOCK_BYTES));
        let needed = u128::from(self.vectors.div_ceil(in_block)) * u128::from(node_blocks);
        if needed > u128::from(blocks) {
            let problem = format!(
                "{} nodes of {node} bytes, {in_block} to {}, do not fit into {}",
                self.vectors,
                Size::from_bytes(node_blocks * BLOCK_BYTES),
                Size::from_bytes(blocks * BLOCK_BYTES)
            );
            let keys = ["workload.vectors", "workload.dimensions", "workload.footprint"];
            return Err(Invalid::new(&keys, problem).into());
        }
        let chains = self.outstanding as usize;
        let index = Index {
            vectors: self.vectors,
            in_block,
            node_blocks,
            all_blocks: needed as u64,
            is_loading: self.load,
            beam: self.beam,
            hops: self.hops(),
            left: self.searches,
            searches: vec![Search::default(); chains],
            counts: Counts::default(),
            random: Xoshiro256::new(context.draws(), streams::ANN),
        };
        let depth = self.beam.max(LOAD_DEPTH);
        let cut = Cut { largest: largest.max(node_blocks) * BLOCK_SECTORS, depth };
        Ok(Box::new(Chains::new(limit, chains, cut, index)))
    }
}

/// Queue depth of the writes that load the index.
const LOAD_DEPTH: u32 = 4;

/// A search in progress.
#[derive(Debug, Clone, Copy, Default)]
struct Search {
    begun: Time,
    hops_left: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    searches: u64,
    hops: u64,
    ns: u64,
}

/// A running search of an index.
struct Index {
    vectors: u64,
    /// Nodes per block, or blocks per node.
    in_block: u64,
    node_blocks: u64,
    all_blocks: u64,
    is_loading: bool,
    beam: u32,
    hops: f64,
    /// Searches not yet started.
    left: u64,
    searches: Vec<Search>,
    counts: Counts,
    random: Xoshiro256,
}

impl Steps for Index {
    fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        if self.is_loading {
            if chain > 0 {
                return Next::Wait;
            }
            step.push_back(Piece::new(Op::Write, 0, self.all_blocks * BLOCK_SECTORS));
            return Next::Ask(now);
        }
        if self.searches[chain].hops_left == 0 {
            if self.left == 0 {
                return Next::End;
            }
            self.left -= 1;
            // The mean number, randomly rounded up or down.
            let more = self.random.unit() < self.hops - libm::floor(self.hops);
            let hops_left = libm::floor(self.hops) as u64 + u64::from(more);
            self.searches[chain] = Search { begun: now, hops_left };
        }
        for _ in 0..self.beam {
            let node = self.random.below(self.vectors);
            let block = node / self.in_block * self.node_blocks;
            let sectors = self.node_blocks * BLOCK_SECTORS;
            step.push_back(Piece::new(Op::Read, block * BLOCK_SECTORS, sectors));
        }
        Next::Ask(now)
    }

    fn finished(&mut self, chain: usize, now: Time) -> bool {
        if std::mem::take(&mut self.is_loading) {
            return true;
        }
        let search = &mut self.searches[chain];
        search.hops_left -= 1;
        self.counts.hops += 1;
        if search.hops_left == 0 {
            self.counts.searches += 1;
            self.counts.ns += now - search.begun;
        }
        false
    }

    fn notices(&self) -> Notices {
        let Counts { searches, hops, ns } = self.counts;
        vec![
            ("ann_searches", searches),
            ("ann_hops", hops),
            ("ann_search_mean_ns", ns.checked_div(searches).unwrap_or(0)),
        ]
    }
}

#[cfg(test)]
mod tests;
