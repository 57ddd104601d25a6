//! Data loading of a training run: readers fetch samples of batches ahead of computing
//! accelerators.
//!
//! Models of `MLPerf` Storage 2.0 on H100 accelerators (its configuration files): size of a sample,
//! samples per batch, computing time per batch, readers per accelerator, and the utilisation
//! required to pass. An accelerator takes its batches in order; its readers read samples up to
//! `prefetch` batches ahead. All samples are read once per epoch, in an order drawn for each epoch
//! (`shuffle`), and are divided among the accelerators. Utilisation is computing time / total time.
//! Assumed: all samples of a model have equal size.

use crate::chains::{Chains, Cut, Next, Piece, Steps};
use crate::checks;
use crate::closed_loop::Notices;
use crate::error::BuildError;
use crate::files::{BLOCK_BYTES, BLOCK_SECTORS};
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use crate::permutation::Permutation;
use crate::streams;
use engine::{Op, Time, Workload, Xoshiro256};
use options::{Duration, Invalid, Size};
use std::collections::{BTreeMap, VecDeque};

options::choices! {
    /// A model that is trained.
    pub enum Trained {
        /// 3D U-Net: a file of 146.6 MB a sample, 7 a batch, 323 ms; 90 % utilisation.
        Unet3d = "unet3d",
        /// ResNet-50: records of 114.7 kB in shards, 400 a batch, 224 ms; 90 %.
        Resnet50 = "resnet50",
        /// CosmoFlow: a file of 2.83 MB a sample, 1 a batch, 3.5 ms; 70 %.
        Cosmoflow = "cosmoflow",
    }
}

options::options! {
    /// Reading the data of a training run.
    pub struct Training as TrainingPartial {
        /// Maximum number of requests; if not given, until the last epoch.
        requests: Option<u64> = None,
        /// The model, which decides about sample, batch and time where these are not given.
        model: Trained = Trained::Unet3d,
        /// Accelerators.
        accelerators: u32 = 1,
        /// Size of a sample.
        sample: Option<Size> = None,
        /// Samples of a batch.
        batch: Option<u32> = None,
        /// Time that an accelerator computes on a batch.
        compute: Option<Duration> = None,
        /// Readers per accelerator, each with one sample at a time; if not given, 4, and 8 of
        /// resnet50.
        readers: Option<u32> = None,
        /// Batches that are read ahead.
        prefetch: u32 = 2,
        /// Samples of the data set.
        samples: u64 = 1000,
        /// Passes over all samples.
        epochs: u32 = 1,
        /// The order of samples is drawn anew for each epoch; else samples follow the order of the files.
        shuffle: bool = true,
        /// Largest size of a request, a multiple of 4KiB.
        request_size: Size = Size::from_bytes(1 << 20),
        /// Queue depth of a reader.
        outstanding: u32 = 1,
        /// The data set is written first.
        load: bool = true,
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
    }
}

/// Maximum accelerators and readers, and maximum samples per batch.
const MOST: u64 = 1 << 12;
const MOST_SAMPLES: u64 = 1 << 32;
/// Maximum computing time of a run: a century, so that times do not overflow.
const LONGEST_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// Parameters of a model.
struct Known {
    sample: u64,
    batch: u32,
    compute_ns: u64,
    readers: u32,
    is_sharded: bool,
}

impl Trained {
    fn known(self) -> Known {
        let (sample, batch, compute_ns, readers, is_sharded) = match self {
            Trained::Unet3d => (146_600_628, 7, 323_000_000, 4, false),
            Trained::Resnet50 => (114_660, 400, 224_000_000, 8, true),
            Trained::Cosmoflow => (2_828_486, 1, 3_500_000, 4, false),
        };
        Known { sample, batch, compute_ns, readers, is_sharded }
    }
}

impl Training {
    /// Parameters of the model, overridden by given keys.
    fn known(&self) -> Known {
        let known = self.model.known();
        Known {
            sample: self.sample.map_or(known.sample, options::Size::bytes),
            batch: self.batch.unwrap_or(known.batch),
            compute_ns: self.compute.map_or(known.compute_ns, Duration::ns),
            readers: self.readers.unwrap_or(known.readers),
            ..known
        }
    }
}

impl WorkloadKind for Training {
    const SUMMARY: &'static str = "reading the data of a training run: readers ahead of accelerators, each sample once an epoch";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn draws(&self) -> bool {
        self.shuffle
    }

    fn guessed(&self) -> Vec<&'static str> {
        let default = Training::default();
        let rows = [
            ("workload.samples", self.samples == default.samples),
            ("workload.prefetch", self.prefetch == default.prefetch),
            ("workload.request_size", self.request_size == default.request_size),
            ("workload.outstanding", self.outstanding == default.outstanding),
        ];
        rows.into_iter().filter(|(_, is_default)| *is_default).map(|(key, _)| key).collect()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        let limit = checks::limit(self.requests)?;
        let Known { sample, batch, compute_ns, readers, is_sharded } = self.known();
        for (key, value) in [
            ("workload.accelerators", self.accelerators),
            ("workload.batch", batch),
            ("workload.readers", readers),
            ("workload.prefetch", self.prefetch),
            ("workload.epochs", self.epochs),
            ("workload.outstanding", self.outstanding),
        ] {
            checks::within(key, u64::from(value), 1, MOST)?;
        }
        checks::within("workload.samples", self.samples, 1, MOST_SAMPLES)?;
        checks::positive("workload.sample", sample)?;
        let largest = checks::blocks("workload.request_size", self.request_size)?;
        let blocks = self.footprint.sectors(context.capacity_sectors)? / BLOCK_SECTORS;
        // Files begin at block boundaries; records of a shard are contiguous.
        let each = if is_sharded { sample } else { sample.next_multiple_of(BLOCK_BYTES) };
        let needed =
            (u128::from(each) * u128::from(self.samples)).div_ceil(u128::from(BLOCK_BYTES));
        if needed > u128::from(blocks) {
            let problem = format!(
                "{} samples of {} do not fit into {}",
                self.samples,
                Size::from_bytes(sample),
                Size::from_bytes(blocks * BLOCK_BYTES)
            );
            let keys = ["workload.samples", "workload.sample", "workload.footprint"];
            return Err(Invalid::new(&keys, problem).into());
        }
        if self.samples < u64::from(self.accelerators) * u64::from(batch) {
            let problem = format!(
                "{} samples are less than a batch of {batch} for each of {} accelerators",
                self.samples, self.accelerators
            );
            let keys = ["workload.samples", "workload.batch", "workload.accelerators"];
            return Err(Invalid::new(&keys, problem).into());
        }
        let share = u128::from(batch) * u128::from(self.accelerators);
        let batches = u128::from(self.samples) * u128::from(self.epochs) / share;
        if batches * u128::from(compute_ns) > u128::from(LONGEST_NS) {
            let problem = format!(
                "{batches} batches of {} on each accelerator take longer than a century",
                Duration::from_ns(compute_ns)
            );
            let keys = ["workload.compute", "workload.samples", "workload.epochs"];
            return Err(Invalid::new(&keys, problem).into());
        }
        let run = Run {
            each,
            sample,
            data_blocks: needed as u64,
            is_loading: self.load,
            accelerators: (0..self.accelerators).map(|_| Accelerator::default()).collect(),
            readers: readers as usize,
            batch: u64::from(batch),
            compute_ns,
            prefetch: u64::from(self.prefetch),
            order: Order {
                samples: self.samples,
                accelerators: u64::from(self.accelerators),
                epochs: u64::from(self.epochs),
                seed: self.shuffle.then(|| context.draws()),
                known: VecDeque::new(),
                first: 0,
            },
            read_samples: 0,
            begun: 0,
        };
        let cut = Cut { largest: largest * BLOCK_SECTORS, depth: self.outstanding };
        let chains = run.accelerators.len() * run.readers;
        Ok(Box::new(Chains::new(limit, chains, cut, run)))
    }
}

/// Order of the samples.
struct Order {
    samples: u64,
    accelerators: u64,
    epochs: u64,
    /// Seed of the epochs' orders, if shuffled.
    seed: Option<u64>,
    /// Permutations of the epochs from `first` on.
    known: VecDeque<Permutation>,
    first: u64,
}

impl Order {
    /// Samples that each accelerator reads per epoch; equal for all, as batches are taken in step.
    fn of_one(&self) -> u64 {
        self.samples / self.accelerators
    }

    /// The `number`th sample of an accelerator; `None` after the last epoch.
    fn sample(&mut self, accelerator: u64, number: u64) -> Option<u64> {
        // The first accelerators read the remainder of an uneven division.
        let own = self.of_one() + u64::from(accelerator < self.samples % self.accelerators);
        let epoch = number / own;
        if epoch >= self.epochs {
            return None;
        }
        let place = number % own * self.accelerators + accelerator;
        let Some(seed) = self.seed else { return Some(place) };
        while self.first + self.known.len() as u64 <= epoch {
            let next = self.first + self.known.len() as u64;
            let mut random = Xoshiro256::new(streams::derived(seed, next), streams::TRAINING);
            self.known.push_back(Permutation::new(self.samples, &mut random));
        }
        while self.known.len() > 4 {
            self.known.pop_front();
            self.first += 1;
        }
        if let Some(at) = epoch.checked_sub(self.first) {
            Some(self.known[at as usize].apply(place))
        } else {
            let mut random = Xoshiro256::new(streams::derived(seed, epoch), streams::TRAINING);
            Some(Permutation::new(self.samples, &mut random).apply(place))
        }
    }
}

/// An accelerator with its readers.
#[derive(Debug, Default)]
struct Accelerator {
    /// Number of samples requested.
    asked: u64,
    /// Number of samples read, by incomplete batch.
    partial: BTreeMap<u64, u64>,
    /// Completely read batches after the first incomplete one, with their times.
    complete: BTreeMap<u64, Time>,
    /// Times at which batches were taken; the oldest are dropped.
    taken: VecDeque<Time>,
    forgotten: u64,
    /// The batch of the sample that each reader reads.
    reading: Vec<u64>,
}

impl Accelerator {
    /// Time at which a batch was taken, if any.
    fn took(&self, batch: u64) -> Option<Time> {
        self.taken.get(batch.checked_sub(self.forgotten)? as usize).copied()
    }

    fn batches(&self) -> u64 {
        self.forgotten + self.taken.len() as u64
    }

    /// Completes the read of a batch at `now`; returns true if the accelerator takes a batch.
    fn complete(&mut self, batch: u64, now: Time, compute_ns: u64) -> bool {
        self.complete.insert(batch, now);
        let before = self.batches();
        while let Some(ready) = self.complete.remove(&self.batches()) {
            let free = self.taken.back().map_or(0, |last| last + compute_ns);
            self.taken.push_back(ready.max(free));
        }
        self.batches() > before
    }
}

/// The run.
struct Run {
    /// Distance between samples, and sample size, bytes.
    each: u64,
    sample: u64,
    data_blocks: u64,
    is_loading: bool,
    accelerators: Vec<Accelerator>,
    readers: usize,
    batch: u64,
    compute_ns: u64,
    prefetch: u64,
    order: Order,
    read_samples: u64,
    /// Start of reading.
    begun: Time,
}

impl Run {
    fn piece(&self, sample: u64) -> Piece {
        let (from, to) = (sample * self.each, sample * self.each + self.sample);
        let (first, end) = (from / BLOCK_BYTES, to.div_ceil(BLOCK_BYTES));
        Piece::new(Op::Read, first * BLOCK_SECTORS, (end - first) * BLOCK_SECTORS)
    }
}

impl Steps for Run {
    fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        if self.is_loading {
            if chain > 0 {
                return Next::Wait;
            }
            step.push_back(Piece::new(Op::Write, 0, self.data_blocks * BLOCK_SECTORS));
            return Next::Ask(now);
        }
        let (number, reader) = (chain / self.readers, chain % self.readers);
        let own = &mut self.accelerators[number];
        let batch = own.asked / self.batch;
        // The prefetch buffer has space once the accelerator has taken the batch `prefetch` before.
        let from = match batch.checked_sub(self.prefetch) {
            None => now,
            Some(before) => match own.took(before) {
                Some(at) => at,
                None => return Next::Wait,
            },
        };
        while own.forgotten + self.prefetch < batch && own.taken.len() > 1 {
            own.taken.pop_front();
            own.forgotten += 1;
        }
        let Some(sample) = self.order.sample(number as u64, own.asked) else { return Next::End };
        own.asked += 1;
        own.reading.resize(self.readers, 0);
        own.reading[reader] = batch;
        step.push_back(self.piece(sample));
        Next::Ask(from)
    }

    fn finished(&mut self, chain: usize, now: Time) -> bool {
        if std::mem::take(&mut self.is_loading) {
            self.begun = now;
            return true;
        }
        self.read_samples += 1;
        let own = &mut self.accelerators[chain / self.readers];
        let batch = own.reading[chain % self.readers];
        let read = own.partial.entry(batch).or_default();
        *read += 1;
        if *read < self.batch {
            return false;
        }
        own.partial.remove(&batch);
        own.complete(batch, now, self.compute_ns)
    }

    fn notices(&self) -> Notices {
        let all = || self.accelerators.iter();
        let ends =
            all().map(|it| it.taken.back().map_or(self.begun, |last| last + self.compute_ns));
        vec![
            ("training_samples", self.read_samples),
            ("training_batches", all().map(Accelerator::batches).sum()),
            ("training_compute_ns", all().map(|it| it.batches() * self.compute_ns).sum()),
            ("training_ns", ends.map(|end| end - self.begun).sum()),
        ]
    }
}

#[cfg(test)]
mod tests;
