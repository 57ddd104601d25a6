//! Sampling for graph neural network training: neighbours of neighbours, then the features of all
//! sampled nodes.
//!
//! Known (`GraphSAGE`: Hamilton et al., `NeurIPS` 2017): a batch begins with 1024 nodes. For each
//! node, `fan_out` neighbours of the layer are drawn, then their neighbours, and so on; then the
//! feature of each sampled node is read once. A batch samples at most 1024 x (1 + 15 + 15 x 10 + 15
//! x 10 x 5) nodes. Neighbour lists and features are stored contiguously in node order; a step
//! reads each block of 4 KiB once. Assumed: degrees follow a power law, so nodes are sampled by
//! Zipf's law with exponent 1 / (`degree_exponent` - 1), scattered over the graph by a permutation.
//! The features of the most popular nodes are in memory.

use crate::chains::{Chains, Cut, Next, Piece, Steps};
use crate::checks;
use crate::closed_loop::Notices;
use crate::error::BuildError;
use crate::files::{BLOCK_BYTES, BLOCK_SECTORS};
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use crate::permutation::Permutation;
use crate::streams;
use crate::zipf::Zipf;
use engine::{Op, Random, Time, Workload, Xoshiro256};
use options::{Invalid, Size};
use std::collections::VecDeque;

options::options! {
    /// Sampling for the training of a graph neural network.
    pub struct Gnn as GnnPartial {
        /// Maximum number of requests; if not given, until the last batch.
        requests: Option<u64> = None,
        /// Number of batches.
        batches: u64 = 100,
        /// Batches that are sampled at once.
        workers: u32 = 4,
        /// Requests of a worker at once.
        outstanding: u32 = 64,
        /// Nodes of the graph.
        nodes: u64 = 1_000_000,
        /// Neighbours of a node on average; of each 8 bytes are kept.
        degree: u32 = 30,
        /// Exponent of the power law of degrees.
        degree_exponent: f64 = 2.1,
        /// Size of a feature.
        feature: Size = Size::from_bytes(512),
        /// Nodes that a batch begins with.
        batch: u32 = 1024,
        /// Neighbours that are drawn of a node, layer by layer.
        fan_out: String = "15, 10, 5".to_owned(),
        /// Share of the nodes, the most popular ones, whose features are in memory.
        cached: f64 as Ratio = 0.0,
        /// Lists and features are written first.
        load: bool = true,
        /// Size of the requests that write the graph, a multiple of 4KiB.
        request_size: Size where LOADS = Size::from_bytes(1 << 20),
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
    }
}

options::conditions! { Gnn:
    LOADS = "with `load`", |it| it.load;
}

/// Bytes per neighbour in a list.
const NEIGHBOUR_BYTES: u64 = 8;
/// Maximum workers, layers, and nodes per batch.
const MOST_WORKERS: u64 = 1 << 10;
const MOST_LAYERS: usize = 8;
const MOST_OF_BATCH: u64 = 1 << 24;

impl Gnn {
    /// The layers, and the maximum number of nodes in a batch.
    fn layers(&self) -> Result<(Vec<u64>, u64), Invalid> {
        const KEY: &str = "workload.fan_out";
        let wrong = |problem: String| Invalid::new(&[KEY], problem);
        let number = |text: &str| {
            let found =
                text.trim().parse::<u64>().ok().filter(|it| (1..=MOST_OF_BATCH).contains(it));
            found.ok_or_else(|| {
                wrong(format!(
                    "\"{}\" is no number of neighbours; give such as \"15, 10, 5\"",
                    text.trim()
                ))
            })
        };
        let layers = self.fan_out.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        if layers.len() > MOST_LAYERS {
            return Err(wrong(format!("{} layers are more than {MOST_LAYERS}", layers.len())));
        }
        let (mut met, mut layer) = (u64::from(self.batch), u64::from(self.batch));
        for fan_out in &layers {
            layer = layer.saturating_mul(*fan_out);
            met = met.saturating_add(layer);
        }
        if met > MOST_OF_BATCH {
            let problem = format!(
                "a batch of {} would meet {met} nodes, more than {MOST_OF_BATCH}",
                self.batch
            );
            return Err(Invalid::new(&[KEY, "workload.batch"], problem));
        }
        Ok((layers, met))
    }
}

impl WorkloadKind for Gnn {
    const SUMMARY: &'static str = "sampling of a graph for training: lists of neighbours layer by layer, then the features of all nodes met";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn guessed(&self) -> Vec<&'static str> {
        let default = Gnn::default();
        let exponent = self.degree_exponent.to_bits() == default.degree_exponent.to_bits();
        let rows = [
            ("workload.nodes", self.nodes == default.nodes),
            ("workload.degree", self.degree == default.degree),
            ("workload.degree_exponent", exponent),
            ("workload.workers", self.workers == default.workers),
            ("workload.outstanding", self.outstanding == default.outstanding),
        ];
        rows.into_iter().filter(|(_, is_default)| *is_default).map(|(key, _)| key).collect()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        let limit = checks::limit(self.requests)?;
        checks::positive("workload.batches", self.batches)?;
        checks::within("workload.workers", u64::from(self.workers), 1, MOST_WORKERS)?;
        checks::positive("workload.outstanding", u64::from(self.outstanding))?;
        checks::within("workload.nodes", self.nodes, 1, 1 << 40)?;
        checks::within("workload.batch", u64::from(self.batch), 1, MOST_OF_BATCH)?;
        checks::positive("workload.degree", u64::from(self.degree))?;
        checks::share("workload.cached", self.cached)?;
        if !(self.degree_exponent > 1.0 && self.degree_exponent <= 10.0) {
            let problem = format!("{} is no exponent above 1 and up to 10", self.degree_exponent);
            return Err(Invalid::new(&["workload.degree_exponent"], problem).into());
        }
        let feature = self.feature.bytes();
        checks::within("workload.feature", feature, 1, 1 << 30)?;
        let largest = checks::blocks("workload.request_size", self.request_size)?;
        let (fan_out, _) = self.layers()?;
        let blocks = self.footprint.sectors(context.capacity_sectors)? / BLOCK_SECTORS;
        let list = u64::from(self.degree) * NEIGHBOUR_BYTES;
        let of = |bytes: u64| {
            (u128::from(self.nodes) * u128::from(bytes)).div_ceil(u128::from(BLOCK_BYTES))
        };
        let (lists, features) = (of(list), of(feature));
        if lists + features > u128::from(blocks) {
            let problem = format!(
                "{} nodes with lists of {list} bytes and features of {} do not fit into {}",
                self.nodes,
                self.feature,
                Size::from_bytes(blocks * BLOCK_BYTES)
            );
            let keys =
                ["workload.nodes", "workload.feature", "workload.degree", "workload.footprint"];
            return Err(Invalid::new(&keys, problem).into());
        }
        let mut keys = Xoshiro256::new(context.seed, streams::SCATTER);
        let graph = Graph {
            lists: Table { first: 0, each: list },
            features: Table { first: lists as u64, each: feature },
            blocks: (lists + features) as u64,
            is_loading: self.load,
            nodes: self.nodes,
            zipf: Zipf::new(self.nodes, 1.0 / (self.degree_exponent - 1.0)),
            place: Permutation::new(self.nodes, &mut keys),
            cached: (self.nodes as f64 * self.cached) as u64,
            batch: u64::from(self.batch),
            fan_out,
            left: self.batches,
            workers: (0..self.workers).map(|_| Batch::default()).collect(),
            counts: Counts::default(),
            random: Xoshiro256::new(context.draws(), streams::GNN),
        };
        let cut = Cut { largest: largest * BLOCK_SECTORS, depth: self.outstanding };
        Ok(Box::new(Chains::new(limit, self.workers as usize, cut, graph)))
    }
}

/// A table with one entry per node.
#[derive(Debug, Clone, Copy)]
struct Table {
    first: u64,
    each: u64,
}

impl Table {
    /// Reads the blocks of the sorted nodes, each block once.
    fn read(self, nodes: Vec<u64>, step: &mut VecDeque<Piece>) {
        let mut next = 0;
        for node in nodes {
            let from = (node * self.each / BLOCK_BYTES).max(next);
            let to = ((node + 1) * self.each).div_ceil(BLOCK_BYTES);
            if from < to {
                let (first, sectors) = (self.first + from, (to - from) * BLOCK_SECTORS);
                step.push_back(Piece::new(Op::Read, first * BLOCK_SECTORS, sectors));
                next = to;
            }
        }
    }
}

/// A batch during sampling; nodes are popularity ranks.
#[derive(Debug, Default)]
struct Batch {
    begun: Time,
    /// Number of layers whose lists were read.
    layers: usize,
    /// Nodes of the last layer, and all sampled nodes.
    last: Vec<u64>,
    met: Vec<u64>,
    reads_features: bool,
    is_under_way: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    batches: u64,
    nodes: u64,
    read_features: u64,
    feature_bytes_read: u64,
    ns: u64,
}

/// A running graph workload.
struct Graph {
    lists: Table,
    features: Table,
    blocks: u64,
    is_loading: bool,
    nodes: u64,
    zipf: Zipf,
    /// Maps popularity ranks to node numbers.
    place: Permutation,
    /// Ranks whose features are in memory.
    cached: u64,
    batch: u64,
    fan_out: Vec<u64>,
    left: u64,
    workers: Vec<Batch>,
    counts: Counts,
    random: Xoshiro256,
}

/// Sorts and removes duplicates.
fn distinct(mut ranks: Vec<u64>) -> Vec<u64> {
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

impl Graph {
    /// Sorted node numbers of these ranks.
    fn placed(&self, ranks: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut nodes: Vec<u64> = ranks.map(|rank| self.place.apply(rank)).collect();
        nodes.sort_unstable();
        nodes
    }

    /// Reads the lists of the last layer, or the features of all nodes.
    fn read(&mut self, worker: usize, step: &mut VecDeque<Piece>) {
        if self.workers[worker].layers < self.fan_out.len() {
            let nodes = self.placed(self.workers[worker].last.iter().copied());
            self.lists.read(nodes, step);
            return;
        }
        let met = distinct(std::mem::take(&mut self.workers[worker].met));
        let cached = self.cached;
        let read = met.iter().copied().filter(|rank| *rank >= cached);
        self.counts.read_features += read.clone().count() as u64;
        self.counts.nodes += met.len() as u64;
        let nodes = self.placed(read);
        self.features.read(nodes, step);
        self.counts.feature_bytes_read += step.iter().map(Piece::bytes).sum::<u64>();
        self.workers[worker].reads_features = true;
    }

    /// Draws the neighbours of the last layer once its lists are read.
    fn draw(&mut self, worker: usize) {
        let batch = &mut self.workers[worker];
        let fan_out = self.fan_out[batch.layers];
        let drawn =
            (0..batch.last.len() as u64 * fan_out).map(|_| self.zipf.rank(&mut self.random));
        let drawn = distinct(drawn.collect());
        batch.met.extend(&drawn);
        batch.last = drawn;
        batch.layers += 1;
    }

    fn end(&mut self, worker: usize, now: Time) {
        let batch = std::mem::take(&mut self.workers[worker]);
        self.counts.batches += 1;
        self.counts.ns += now - batch.begun;
    }
}

impl Steps for Graph {
    fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        if self.is_loading {
            if chain > 0 {
                return Next::Wait;
            }
            step.push_back(Piece::new(Op::Write, 0, self.blocks * BLOCK_SECTORS));
            return Next::Ask(now);
        }
        loop {
            if !self.workers[chain].is_under_way {
                if self.left == 0 {
                    return Next::End;
                }
                self.left -= 1;
                // Training nodes are drawn uniformly.
                let seeds = (0..self.batch).map(|_| self.random.below(self.nodes)).collect();
                let seeds = distinct(seeds);
                let (last, met) = (seeds.clone(), seeds);
                let begun = Batch { begun: now, last, met, is_under_way: true, ..Batch::default() };
                self.workers[chain] = begun;
            }
            self.read(chain, step);
            if !step.is_empty() {
                return Next::Ask(now);
            }
            // All features are in memory.
            self.end(chain, now);
        }
    }

    fn finished(&mut self, chain: usize, now: Time) -> bool {
        if std::mem::take(&mut self.is_loading) {
            return true;
        }
        if self.workers[chain].reads_features {
            self.end(chain, now);
        } else {
            self.draw(chain);
        }
        false
    }

    fn notices(&self) -> Notices {
        let Counts { batches, nodes, read_features, feature_bytes_read, ns } = self.counts;
        vec![
            ("gnn_batches", batches),
            ("gnn_nodes", nodes),
            ("gnn_feature_bytes_needed", read_features * self.features.each),
            ("gnn_feature_bytes_read", feature_bytes_read),
            ("gnn_batch_mean_ns", ns.checked_div(batches).unwrap_or(0)),
        ]
    }
}

#[cfg(test)]
mod tests;
