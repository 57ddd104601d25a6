//! Checkpoints of language-model training: all ranks write in parallel, wait at a barrier, and the
//! oldest checkpoint is deleted.
//!
//! Sizes and numbers of ranks follow `MLPerf` Storage 2.0: 105 GB, 912 GB, 5.29 TB and 18 TB at 8,
//! 64, 512 and 1024 ranks. Here each rank writes an equal share, and each file ends with an fsync.
//! The period is given, or Young's optimum ("A first order approximation to the optimum checkpoint
//! interval", CACM 17(9), 1974): sqrt(2 C M), where C is the duration of the first checkpoint and M
//! the job's mean time between failures. A checkpoint is complete when its slowest rank is; then
//! the oldest one is deleted, and only then can the next begin.

use crate::chains::{Chains, Cut, Next, Piece, Steps};
use crate::checks;
use crate::closed_loop::Notices;
use crate::error::BuildError;
use crate::extents::{Allocator, Extent};
use crate::files::BLOCK_BYTES;
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use engine::{Handle, Op, SECTOR_BYTES, Time, Workload};
use options::{Duration, Invalid, Size};
use std::collections::VecDeque;

options::choices! {
    /// Trained models of `MLPerf` Storage 2.0.
    pub enum Model {
        /// 8 billion parameters: 105 GB from 8 ranks.
        Llama8b = "llama-8b",
        /// 70 billion parameters: 912 GB from 64 ranks.
        Llama70b = "llama-70b",
        /// 405 billion parameters: 5.29 TB from 512 ranks.
        Llama405b = "llama-405b",
        /// A trillion parameters: 18 TB from 1024 ranks.
        Llama1t = "llama-1t",
    }

    /// Separation of data by placement handle.
    pub enum Slots {
        /// No handle is named.
        None = "none",
        /// A handle for each stored checkpoint.
        Checkpoint = "checkpoint",
    }
}

options::conditions! { Checkpoint:
    OF_MODEL = "without `rank_size`", |it| it.rank_size.is_none();
    BY_FAILURES = "without `period`", |it| it.period.is_none();
}

options::options! {
    /// Checkpoints of the training of a language model. Its many fields are its keys: the model, the ranks, and when
    /// they write.
    pub struct Checkpoint as CheckpointPartial {
        /// Maximum number of requests; if not given, until the last checkpoint is written and read.
        requests: Option<u64> = None,
        /// The model that is trained, which decides how much a rank writes.
        model: Model where OF_MODEL = Model::Llama8b,
        /// Ranks that write to this device.
        ranks: u32 = 8,
        /// Data of a rank in a checkpoint; if not given, the model's.
        rank_size: Option<Size> = None,
        /// Files of a rank in a checkpoint.
        files: u32 = 2,
        /// Size of each request, a multiple of 4KiB.
        request_size: Size = Size::from_bytes(1 << 20),
        /// Queue depth of each rank.
        outstanding: u32 = 1,
        /// Each file ends with a flush (fsync); without it a checkpoint may not outlive a power cut.
        fsync: bool = true,
        /// Number of checkpoints.
        checkpoints: u64 = 10,
        /// Checkpoints to keep; while one is written there is room for one more.
        keep: u32 = 2,
        /// Time between the starts of consecutive checkpoints; if not given, sqrt(2 C M), where C
        /// is the time that the first one takes and M is `mtbf`.
        period: Option<Duration> = None,
        /// Mean time between failures of the job.
        mtbf: Duration where BY_FAILURES = Duration::from_ns(3 * 3_600_000_000_000),
        /// Number of times that all ranks read the newest checkpoint at the end.
        restarts: u64 = 0,
        /// Trim the files of a checkpoint that is deleted.
        trim: bool = true,
        /// Separation of data by placement handle.
        placement: Slots = Slots::None,
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
    }
}

impl Model {
    /// Bytes of a checkpoint, and number of writing ranks.
    fn size(self) -> (f64, f64) {
        match self {
            Model::Llama8b => (105e9, 8.0),
            Model::Llama70b => (912e9, 64.0),
            Model::Llama405b => (5.29e12, 512.0),
            Model::Llama1t => (18e12, 1024.0),
        }
    }
}

/// Limits of ranks and files, which bound memory.
const MOST_RANKS: u64 = 1 << 14;
const MOST_FILES: u64 = 1 << 10;

impl Checkpoint {
    /// Bytes of a rank's file, in whole blocks.
    fn file_bytes(&self) -> u64 {
        let rank = self.rank_size.map_or_else(
            || {
                let (bytes, ranks) = self.model.size();
                (bytes / ranks) as u64
            },
            options::Size::bytes,
        );
        rank.div_ceil(u64::from(self.files)).next_multiple_of(BLOCK_BYTES)
    }
}

impl WorkloadKind for Checkpoint {
    const SUMMARY: &'static str = "checkpoints of a training run: all ranks write at once, a barrier, and the oldest is deleted";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn draws(&self) -> bool {
        false
    }

    fn guessed(&self) -> Vec<&'static str> {
        let default = Checkpoint::default();
        let rows = [
            ("workload.files", self.files == default.files),
            ("workload.keep", self.keep == default.keep),
            ("workload.mtbf", self.period.is_none() && self.mtbf == default.mtbf),
        ];
        rows.into_iter().filter(|(_, is_default)| *is_default).map(|(key, _)| key).collect()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        let limit = checks::limit(self.requests)?;
        checks::within("workload.ranks", u64::from(self.ranks), 1, MOST_RANKS)?;
        checks::within("workload.files", u64::from(self.files), 1, MOST_FILES)?;
        checks::within("workload.keep", u64::from(self.keep), 1, MOST_FILES)?;
        checks::positive("workload.outstanding", u64::from(self.outstanding))?;
        checks::positive("workload.checkpoints", self.checkpoints)?;
        let largest = checks::blocks("workload.request_size", self.request_size)?;
        let sectors = self.footprint.sectors(context.capacity_sectors)?;
        let blocks = sectors * SECTOR_BYTES / BLOCK_BYTES;
        let bytes = self.file_bytes();
        let one = u128::from(bytes) * u128::from(self.files) * u128::from(self.ranks);
        let needed = one * (u128::from(self.keep) + 1);
        if bytes == 0 || needed > u128::from(blocks * BLOCK_BYTES) {
            let size = |bytes: u128| Size::from_bytes(u64::try_from(bytes).unwrap_or(u64::MAX));
            let problem = format!(
                "{} checkpoints of {} from {} ranks do not fit into {}: keep = {}, and one more while it is written; \
                 give fewer ranks, or a smaller rank_size",
                self.keep + 1,
                size(one),
                self.ranks,
                Size::from_bytes(blocks * BLOCK_BYTES),
                self.keep,
            );
            let keys =
                ["workload.rank_size", "workload.ranks", "workload.keep", "workload.footprint"];
            return Err(Invalid::new(&keys, problem).into());
        }
        let job = Job {
            file_blocks: bytes / BLOCK_BYTES,
            allocator: Allocator::new(0, blocks),
            phase: Phase::Writing,
            begun: 0,
            ranks: vec![Rank::default(); self.ranks as usize],
            complete: 0,
            written: Vec::new(),
            kept: VecDeque::new(),
            dying: Vec::new(),
            period_ns: self.period.map(Duration::ns),
            done: 0,
            restarted: 0,
            times: Times::default(),
            options: self.clone(),
        };
        let cut = Cut { largest: largest * BLOCK_BYTES / SECTOR_BYTES, depth: self.outstanding };
        Ok(Box::new(Chains::new(limit, self.ranks as usize, cut, job)))
    }
}

/// Common phase of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The ranks write a checkpoint.
    Writing,
    /// The first rank deletes the oldest checkpoint while the others wait.
    Deleting,
    /// All ranks read the newest checkpoint.
    Reading,
    Over,
}

/// State of a rank in the current phase.
#[derive(Debug, Clone, Copy, Default)]
struct Rank {
    /// Number of files written or read.
    files: u32,
    /// True until the last checkpoint is durable.
    must_flush: bool,
    is_done: bool,
}

/// Durations.
#[expect(clippy::struct_field_names, reason = "all are times in nanoseconds")]
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    /// Total and maximum time of a checkpoint.
    writing_ns: u64,
    slowest_ns: u64,
    /// Time from the start of the first checkpoint to the start of the last one.
    between_ns: u64,
    reading_ns: u64,
}

/// A running job.
struct Job {
    options: Checkpoint,
    file_blocks: u64,
    allocator: Allocator,
    phase: Phase,
    /// Start of the current phase, possibly in the future.
    begun: Time,
    ranks: Vec<Rank>,
    /// Number of ranks at the barrier.
    complete: usize,
    /// Files of the stored checkpoints, with their ranks; the newest may be in progress.
    written: Vec<(usize, Vec<Extent>)>,
    kept: VecDeque<Vec<(usize, Vec<Extent>)>>,
    /// Extents of the checkpoint being deleted.
    dying: Vec<Extent>,
    /// Period of checkpoints; unknown until the first one is complete.
    period_ns: Option<u64>,
    done: u64,
    restarted: u64,
    times: Times,
}

impl Job {
    fn handle(&self) -> Handle {
        match self.options.placement {
            Slots::None => Handle::NONE,
            Slots::Checkpoint => Handle::new(self.done % (u64::from(self.options.keep) + 1)),
        }
    }

    fn begin(&mut self, phase: Phase, at: Time) {
        self.phase = phase;
        self.begun = at;
        self.complete = 0;
        self.ranks.fill(Rank::default());
    }

    /// Starts the next checkpoint or restart, or ends the job.
    fn proceed(&mut self, now: Time) {
        if self.done < self.options.checkpoints {
            let at = now.max(self.begun.saturating_add(self.period_ns.unwrap_or(0)));
            self.times.between_ns += at - self.begun;
            self.begin(Phase::Writing, at);
        } else if self.restarted < self.options.restarts {
            self.begin(Phase::Reading, now);
        } else {
            self.phase = Phase::Over;
        }
    }

    /// Handles the barrier: all ranks have arrived.
    fn barrier(&mut self, now: Time) {
        let took = now - self.begun;
        if self.phase == Phase::Reading {
            self.times.reading_ns += took;
            self.restarted += 1;
            self.proceed(now);
            return;
        }
        self.times.writing_ns += took;
        self.times.slowest_ns = self.times.slowest_ns.max(took);
        self.done += 1;
        let mtbf_ns = self.options.mtbf.ns() as f64;
        self.period_ns.get_or_insert_with(|| libm::sqrt(2.0 * took as f64 * mtbf_ns) as u64);
        self.kept.push_back(std::mem::take(&mut self.written));
        if self.kept.len() > self.options.keep as usize {
            let oldest = self.kept.pop_front().expect("it is longer than that");
            let dying = oldest.into_iter().flat_map(|(_, extents)| extents).collect();
            if self.options.trim {
                self.dying = dying;
                self.phase = Phase::Deleting;
                return;
            }
            for extent in dying {
                self.allocator.give(extent);
            }
        }
        self.proceed(now);
    }

    /// Appends the requests of a rank's next file.
    fn file(&mut self, rank: usize, step: &mut VecDeque<Piece>) {
        let own = self.ranks[rank].files as usize;
        self.ranks[rank].files += 1;
        if self.phase == Phase::Reading {
            let newest = self.kept.back().expect("a checkpoint was written");
            let (_, extents) =
                newest.iter().filter(|(of, _)| *of == rank).nth(own).expect("it wrote as many");
            step.extend(extents.iter().map(|extent| Piece::of(Op::Read, *extent)));
            return;
        }
        let handle = self.handle();
        let extents = self.allocator.take(self.file_blocks).expect("it was checked that they fit");
        step.extend(extents.iter().map(|extent| Piece::of(Op::Write, *extent).with(handle)));
        self.ranks[rank].must_flush = self.options.fsync;
        self.written.push((rank, extents));
    }
}

impl Steps for Job {
    fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        match self.phase {
            Phase::Over => return Next::End,
            Phase::Deleting if chain == 0 => {
                step.extend(self.dying.iter().map(|extent| Piece::of(Op::Trim, *extent)));
                return Next::Ask(now);
            }
            Phase::Deleting => return Next::Wait,
            Phase::Writing | Phase::Reading => {}
        }
        let rank = &mut self.ranks[chain];
        if rank.is_done {
            return Next::Wait;
        }
        if std::mem::take(&mut rank.must_flush) {
            step.push_back(Piece::flush());
        } else {
            self.file(chain, step);
        }
        Next::Ask(now.max(self.begun))
    }

    fn finished(&mut self, chain: usize, now: Time) -> bool {
        if self.phase == Phase::Deleting {
            for extent in std::mem::take(&mut self.dying) {
                self.allocator.give(extent);
            }
            self.proceed(now);
            return true;
        }
        let rank = &mut self.ranks[chain];
        if rank.must_flush || rank.files < self.options.files {
            return false;
        }
        rank.is_done = true;
        self.complete += 1;
        let all = self.complete == self.ranks.len();
        if all {
            self.barrier(now);
        }
        all
    }

    fn notices(&self) -> Notices {
        let Times { writing_ns, slowest_ns, between_ns, reading_ns } = self.times;
        let mut notices = vec![
            ("checkpoints", self.done),
            ("checkpoints_ns", writing_ns),
            ("slowest_checkpoint_ns", slowest_ns),
            (
                "checkpoint_period_ns",
                between_ns.checked_div(self.done.saturating_sub(1)).unwrap_or(0),
            ),
        ];
        if self.restarted > 0 {
            notices.extend([("restarts", self.restarted), ("restarts_ns", reading_ns)]);
        }
        notices
    }
}

#[cfg(test)]
mod tests;
