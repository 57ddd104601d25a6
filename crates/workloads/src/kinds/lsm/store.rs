//! The store: its log, flushes and merges, as chains of steps.

use super::config::{Classes, Keys, Lsm};
use super::tree::{Merge, Shape, Tree};
use crate::chains::{Next, Piece, Steps};
use crate::closed_loop::Notices;
use crate::extents::{Allocator, Extent};
use crate::files::BLOCK_BYTES;
use engine::{Handle, Op, Time};
use std::collections::VecDeque;

/// Thresholds at which the writer stalls: memtables waiting for their flush, and size of level 0
/// relative to its merge trigger.
const MOST_WAITING: usize = 2;
pub const STOP: usize = 9;

/// The log of the memtable being filled.
#[derive(Debug, Default)]
struct Log {
    extents: Vec<Extent>,
    /// Blocks appended.
    written: u64,
    must_sync: bool,
}

/// State of the flush of the oldest full memtable.
#[derive(Debug)]
enum Flush {
    Idle,
    Writing(Vec<Extent>),
    Syncing(Vec<Extent>),
    /// Deletes files that are no longer needed.
    Deleting(Vec<Extent>),
}

/// A merge in progress.
struct Merging {
    merge: Merge,
    /// Extents of each file.
    places: Vec<Vec<Extent>>,
    writes: Vec<Extent>,
    read: u64,
    written: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reading,
    Writing,
    Syncing,
    Deleting,
}

/// Counts for the notices, in blocks except for the last two.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    flushed_memtables: u64,
    logged: u64,
    flushed: u64,
    merged: u64,
    read: u64,
    waits: u64,
}

/// A running store.
pub struct Store {
    options: Lsm,
    memtable: u64,
    append: u64,
    buffer: u64,
    tree: Tree,
    allocator: Allocator,
    /// Initial files not yet loaded, next one last, and the extents of the current one.
    unloaded: Vec<(usize, std::ops::Range<f64>, f64)>,
    loading: Vec<Extent>,
    log: Log,
    /// Logs of the memtables that wait for their flush.
    full: VecDeque<Vec<Extent>>,
    flush: Flush,
    merges: Vec<Option<Merging>>,
    is_out_of_space: bool,
    counts: Counts,
}

fn blocks_of(bytes: f64) -> u64 {
    (bytes as u64).div_ceil(BLOCK_BYTES).max(1)
}

fn blocks(extents: &[Extent]) -> u64 {
    extents.iter().map(|extent| extent.blocks).sum()
}

/// Pieces of a range within extents.
fn pieces(
    op: Op,
    extents: &[Extent],
    from: u64,
    to: u64,
    handle: Handle,
) -> impl Iterator<Item = Piece> + '_ {
    let mut at = 0;
    extents.iter().filter_map(move |extent| {
        let begin = at;
        at += extent.blocks;
        let (first, end) = (from.max(begin), to.min(at));
        let part = Extent {
            first: extent.first + first.saturating_sub(begin),
            blocks: end.saturating_sub(first),
        };
        (first < end).then(|| Piece::of(op, part).with(handle))
    })
}

impl Store {
    /// A store before its first request; memtable, append and buffer in blocks, data in bytes,
    /// device in blocks.
    pub fn new(
        options: &Lsm,
        (memtable, append, buffer): (u64, u64, u64),
        (data, blocks): (f64, u64),
    ) -> Store {
        let shape = Shape {
            fan_out: options.fan_out,
            l1: options.l1.bytes() as f64,
            l0_files: options.l0_files as usize,
            file: options.file.bytes() as f64,
            overwrites: options.overwrites,
        };
        let tree = Tree::new(shape, data);
        let mut unloaded = match (options.load, options.keys) {
            (false, _) => Vec::new(),
            (true, Keys::Uniform) => tree.settled(),
            (true, Keys::Sequential) => tree.only_last((memtable * BLOCK_BYTES) as f64),
        };
        // The last file is loaded first: with ordered keys the oldest, otherwise the largest level.
        if options.keys == Keys::Sequential {
            unloaded.reverse();
        }
        Store {
            memtable,
            append,
            buffer,
            tree,
            allocator: Allocator::new(0, blocks),
            unloaded,
            loading: Vec::new(),
            log: Log::default(),
            full: VecDeque::new(),
            flush: Flush::Idle,
            merges: (0..options.merges).map(|_| None).collect(),
            is_out_of_space: false,
            counts: Counts::default(),
            options: options.clone(),
        }
    }

    /// The placement handle of a level, or of the log.
    fn handle(&self, level: Option<usize>) -> Handle {
        let borders: &[usize] = match self.options.placement {
            Classes::None => return Handle::NONE,
            Classes::Hints => &[0, 2, 3],
            Classes::Shifted => &[0, 4, 5],
            Classes::Level => &[0, 1, 2, 3, 4, 5, 6],
        };
        Handle::new(
            level.map_or(0, |level| borders.partition_point(|border| *border <= level)) as u64
        )
    }

    fn take(&mut self, blocks: u64) -> Option<Vec<Extent>> {
        let taken = self.allocator.take(blocks);
        self.is_out_of_space |= taken.is_none();
        taken
    }

    fn give(&mut self, extents: Vec<Extent>) {
        for extent in extents {
            self.allocator.give(extent);
        }
    }

    fn must_wait(&self) -> bool {
        self.full.len() >= MOST_WAITING || self.tree.l0() >= STOP * self.options.l0_files as usize
    }

    /// Next step of the writer, which appends to the log.
    fn append(&mut self, now: Time, step: &mut VecDeque<Piece>) -> Next {
        if !self.options.log {
            return Next::End;
        }
        if std::mem::take(&mut self.log.must_sync) {
            step.push_back(Piece::flush());
            return Next::Ask(now);
        }
        if self.log.extents.is_empty() {
            if self.must_wait() {
                self.counts.waits += 1;
                return Next::Wait;
            }
            let Some(extents) = self.take(self.memtable) else { return Next::End };
            self.log = Log { extents, ..Log::default() };
        }
        let (from, handle) = (self.log.written, self.handle(None));
        let to = (from + self.append).min(self.memtable);
        step.extend(pieces(Op::Write, &self.log.extents, from, to, handle));
        self.log.written = to;
        self.log.must_sync = self.options.sync;
        self.counts.logged += to - from;
        Next::Ask(now)
    }

    /// Next step of the thread that flushes memtables.
    fn flush(&mut self, now: Time, step: &mut VecDeque<Piece>) -> Next {
        match &self.flush {
            Flush::Idle => {}
            Flush::Writing(_) => unreachable!("it syncs when it has written"),
            Flush::Syncing(_) => {
                step.push_back(Piece::flush());
                return Next::Ask(now);
            }
            Flush::Deleting(extents) => {
                step.extend(extents.iter().map(|extent| Piece::of(Op::Trim, *extent)));
                return Next::Ask(now);
            }
        }
        if !self.options.log && self.full.is_empty() && !self.must_wait() {
            // Without a log, the next memtable is full as soon as the store admits it.
            self.full.push_back(Vec::new());
        }
        if self.full.is_empty() {
            return Next::Wait;
        }
        let bytes = (self.memtable * BLOCK_BYTES) as f64 * self.options.compression;
        let Some(extents) = self.take(blocks_of(bytes)) else { return Next::End };
        let handle = self.handle(Some(0));
        self.counts.flushed += blocks(&extents);
        step.extend(pieces(Op::Write, &extents, 0, u64::MAX, handle));
        self.flush = Flush::Writing(extents);
        Next::Ask(now)
    }

    /// Completes the flush of a memtable to level 0.
    fn flushed(&mut self, extents: Vec<Extent>) {
        let bytes = (blocks(&extents) * BLOCK_BYTES) as f64;
        let mut gone = self.full.pop_front().unwrap_or_default();
        self.counts.flushed_memtables += 1;
        match self.options.keys {
            Keys::Uniform => self.tree.flushed(bytes, extents),
            Keys::Sequential => gone.extend(self.tree.appended(bytes, extents)),
        }
        if self.options.trim && !gone.is_empty() {
            self.flush = Flush::Deleting(gone);
        } else {
            self.give(gone);
        }
    }

    /// Writes the initial files.
    fn load(&mut self, now: Time, step: &mut VecDeque<Piece>) -> Next {
        let Some((level, _, bytes)) = self.unloaded.last() else { unreachable!("it is not empty") };
        let (level, count) = (*level, blocks_of(*bytes));
        let Some(extents) = self.take(count) else { return Next::End };
        step.extend(pieces(Op::Write, &extents, 0, u64::MAX, self.handle(Some(level))));
        self.loading = extents;
        Next::Ask(now)
    }

    /// Next step of a merging thread.
    fn merge(&mut self, thread: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        if self.merges[thread].is_none() {
            let Some(merge) = self.tree.next_merge() else { return Next::Wait };
            let mut places = Vec::with_capacity(merge.files.len());
            for (_, bytes) in &merge.files {
                let Some(extents) = self.take(blocks_of(*bytes)) else { return Next::End };
                places.push(extents);
            }
            let writes = places.concat();
            let merging =
                Merging { merge, places, writes, read: 0, written: 0, stage: Stage::Reading };
            self.merges[thread] = Some(merging);
        }
        let to = self.merges[thread].as_ref().map(|it| it.merge.to);
        let (buffer, handle) = (self.buffer, self.handle(to));
        let Some(own) = &mut self.merges[thread] else { unreachable!("it has begun") };
        let (all_in, all_out) = (blocks(&own.merge.reads), blocks(&own.writes));
        match own.stage {
            Stage::Reading => {
                let to = (own.read + buffer).min(all_in);
                step.extend(pieces(Op::Read, &own.merge.reads, own.read, to, Handle::NONE));
                self.counts.read += to - own.read;
                own.read = to;
            }
            Stage::Writing => {
                let to = (u128::from(all_out) * u128::from(own.read) / u128::from(all_in)) as u64;
                step.extend(pieces(Op::Write, &own.writes, own.written, to, handle));
                self.counts.merged += to - own.written;
                own.written = to;
            }
            Stage::Syncing => step.push_back(Piece::flush()),
            Stage::Deleting => {
                step.extend(own.merge.reads.iter().map(|extent| Piece::of(Op::Trim, *extent)));
            }
        }
        Next::Ask(now)
    }

    /// Completes a stage of a merge; returns true if the tree has changed.
    fn merged(&mut self, thread: usize) -> bool {
        let Some(own) = &mut self.merges[thread] else { return false };
        let (all_in, all_out) = (blocks(&own.merge.reads), blocks(&own.writes));
        let due = (u128::from(all_out) * u128::from(own.read) / u128::from(all_in)) as u64;
        own.stage = match own.stage {
            Stage::Reading if due > own.written => Stage::Writing,
            Stage::Reading | Stage::Writing if own.read < all_in => Stage::Reading,
            Stage::Reading | Stage::Writing => Stage::Syncing,
            Stage::Syncing => {
                let places = std::mem::take(&mut own.places);
                self.tree.merged_into(&own.merge, places);
                Stage::Deleting
            }
            Stage::Deleting => {
                if let Some(done) = self.merges[thread].take() {
                    self.give(done.merge.reads);
                }
                return true;
            }
        };
        let deletes = self.merges[thread].as_ref().is_some_and(|it| it.stage == Stage::Deleting);
        if deletes && !self.options.trim {
            return self.merged(thread);
        }
        deletes
    }
}

impl Steps for Store {
    fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        if self.is_out_of_space {
            return Next::End;
        }
        if !self.unloaded.is_empty() {
            return if chain == 2 { self.load(now, step) } else { Next::Wait };
        }
        match chain {
            0 => self.append(now, step),
            1 => self.flush(now, step),
            _ => self.merge(chain - 2, now, step),
        }
    }

    fn finished(&mut self, chain: usize, _now: Time) -> bool {
        if let Some((level, keys, bytes)) = self.unloaded.pop() {
            let extents = std::mem::take(&mut self.loading);
            self.tree.insert(level, keys, bytes, extents);
            return self.unloaded.is_empty();
        }
        match chain {
            0 => {
                let is_full = self.log.written == self.memtable && !self.log.must_sync;
                if is_full {
                    let log = std::mem::take(&mut self.log);
                    self.full.push_back(log.extents);
                }
                is_full
            }
            1 => {
                match std::mem::replace(&mut self.flush, Flush::Idle) {
                    Flush::Idle => {}
                    Flush::Writing(extents) => self.flush = Flush::Syncing(extents),
                    Flush::Syncing(extents) => self.flushed(extents),
                    Flush::Deleting(extents) => self.give(extents),
                }
                matches!(self.flush, Flush::Idle | Flush::Deleting(_))
            }
            _ => self.merged(chain - 2),
        }
    }

    fn notices(&self) -> Notices {
        let Counts { flushed_memtables, logged, flushed, merged, read, waits } = self.counts;
        let bytes = |blocks: u64| blocks * BLOCK_BYTES;
        let user = flushed_memtables * bytes(self.memtable);
        vec![
            ("lsm_user_bytes", user),
            ("lsm_values", user / self.options.value.bytes()),
            ("lsm_logged_bytes", bytes(logged)),
            ("lsm_flushed_bytes", bytes(flushed)),
            ("lsm_merged_bytes", bytes(merged)),
            ("lsm_merge_read_bytes", bytes(read)),
            ("lsm_writer_waits", waits),
            ("lsm_out_of_space", u64::from(self.is_out_of_space)),
        ]
    }
}
