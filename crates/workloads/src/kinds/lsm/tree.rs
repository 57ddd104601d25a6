//! The tree: files of sorted keys in levels, and the choice of the next merge.
//!
//! Keys are uniformly dense numbers from 0 to 1. A file is a range of keys and a number of bytes,
//! and the size of merged files follows from the expected number of shared keys. Levels, targets
//! and the choice of files follow `RocksDB` with dynamic level sizes. The last of seven levels (6)
//! holds the data. Each level above has a share 1/T of the next, up to a base level of at most `l1`
//! bytes, into which all files of level 0 are merged together. In other levels one file at a time,
//! in key order, is merged with the overlapping files below.

use crate::extents::Extent;
use std::ops::Range;

/// The index of the last level.
pub const LAST: usize = 6;

/// A file of sorted keys.
#[derive(Debug, Clone)]
pub struct File {
    number: u64,
    pub keys: Range<f64>,
    pub bytes: f64,
    pub extents: Vec<Extent>,
    /// True while the file is part of a merge.
    is_busy: bool,
}

/// Parameters of the shape of the tree.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Size ratio of consecutive levels.
    pub fan_out: f64,
    /// Maximum bytes of the base level.
    pub l1: f64,
    /// Number of level 0 files that triggers their merge.
    pub l0_files: usize,
    /// Approximate bytes of a file below level 0.
    pub file: f64,
    /// Share of writes to existing keys.
    pub overwrites: f64,
}

/// A merge: its input and output files.
#[derive(Debug, Clone)]
pub struct Merge {
    inputs: Vec<u64>,
    from: usize,
    /// The level that receives the files.
    pub to: usize,
    /// Extents to read.
    pub reads: Vec<Extent>,
    /// Keys and bytes of the output files.
    pub files: Vec<(Range<f64>, f64)>,
}

/// The tree.
#[derive(Debug)]
pub struct Tree {
    shape: Shape,
    levels: [Vec<File>; LAST + 1],
    /// Key position of each level's next merge.
    cursors: [f64; LAST + 1],
    /// Bytes of all distinct keys.
    all_keys: f64,
    numbered: u64,
    merges_l0: bool,
}

/// A range of keys with its bytes.
type Segment = (Range<f64>, f64);

impl Tree {
    /// An empty tree for `data` bytes of keys.
    pub fn new(shape: Shape, data: f64) -> Self {
        Tree {
            shape,
            levels: Default::default(),
            cursors: [0.0; LAST + 1],
            all_keys: data,
            numbered: 0,
            merges_l0: false,
        }
    }

    /// Number of files in level 0.
    pub fn l0(&self) -> usize {
        self.levels[0].len()
    }

    /// Bytes of a level.
    pub fn bytes(&self, level: usize) -> f64 {
        self.levels[level].iter().map(|file| file.bytes).sum()
    }

    /// The first used level below level 0, and the target size of each level.
    pub fn targets(&self, last: f64) -> (usize, [f64; LAST + 1]) {
        let (mut base, mut size) = (LAST, last.max(1.0));
        while base > 1 && size > self.shape.l1 {
            base -= 1;
            size /= self.shape.fan_out;
        }
        let mut targets = [0.0; LAST + 1];
        for target in &mut targets[base..] {
            *target = size;
            size *= self.shape.fan_out;
        }
        (base, targets)
    }

    /// The files of a tree in steady state: each level is full.
    pub fn settled(&self) -> Vec<(usize, Range<f64>, f64)> {
        let (base, targets) = self.targets(self.all_keys);
        let mut files = Vec::new();
        for (level, target) in targets.iter().enumerate().skip(base) {
            let all = [(0.0..1.0, *target)];
            files.extend(
                cut(&all, self.shape.file).into_iter().map(|(keys, bytes)| (level, keys, bytes)),
            );
        }
        files
    }

    /// The files of a store written in key order, all in the last level.
    pub fn only_last(&self, file: f64) -> Vec<(usize, Range<f64>, f64)> {
        let files = cut(&[(0.0..1.0, self.all_keys)], file).into_iter();
        files.map(|(keys, bytes)| (LAST, keys, bytes)).collect()
    }

    /// Inserts a file in the order of keys.
    pub fn insert(&mut self, level: usize, keys: Range<f64>, bytes: f64, extents: Vec<Extent>) {
        self.numbered += 1;
        let files = &mut self.levels[level];
        let at = match level {
            0 => files.len(),
            _ => files.partition_point(|file| file.keys.start < keys.start),
        };
        files.insert(at, File { number: self.numbered, keys, bytes, extents, is_busy: false });
    }

    /// Adds a flushed memtable as a file of level 0.
    pub fn flushed(&mut self, bytes: f64, extents: Vec<Extent>) {
        self.all_keys += (1.0 - self.shape.overwrites) * bytes;
        self.insert(0, 0.0..1.0, bytes, extents);
    }

    /// Moves a file whose keys exceed all others to the last level unchanged; returns the extents
    /// of the oldest files beyond the data size.
    pub fn appended(&mut self, bytes: f64, extents: Vec<Extent>) -> Vec<Extent> {
        let after = self.levels[LAST].last().map_or(0.0, |file| file.keys.end);
        self.insert(LAST, after..after + bytes / self.all_keys, bytes, extents);
        let mut gone = Vec::new();
        while self.bytes(LAST) > self.all_keys && self.levels[LAST].len() > 1 {
            gone.extend(self.levels[LAST].remove(0).extents);
        }
        gone
    }

    /// The most urgent merge, if any.
    pub fn next_merge(&mut self) -> Option<Merge> {
        loop {
            let (base, targets) = self.targets(self.bytes(LAST));
            let free = |level: usize| {
                let files = self.levels[level].iter().filter(|file| !file.is_busy);
                files.map(|file| file.bytes).sum::<f64>()
            };
            let l0 = if self.merges_l0 { 0.0 } else { self.l0() as f64 };
            let mut due: Vec<(f64, usize)> = (1..LAST)
                .map(|level| (free(level) / targets[level].max(1.0), level))
                .chain([(l0 / self.shape.l0_files as f64, 0)])
                .filter(|(score, level)| *score > 1.0 || *level == 0 && *score >= 1.0)
                .collect();
            due.sort_by(|a, b| b.0.total_cmp(&a.0));
            let mut has_moved = false;
            for (_, level) in due {
                if level == 0 {
                    if let Some(merge) = self.merge_l0(base) {
                        return Some(merge);
                    }
                    continue;
                }
                match self.merge_one(level) {
                    Chosen::Merge(merge) => return Some(merge),
                    Chosen::Moved => has_moved = true,
                    Chosen::Nothing => {}
                }
            }
            if !has_moved {
                return None;
            }
        }
    }

    /// Merges level 0 with the base level.
    fn merge_l0(&mut self, base: usize) -> Option<Merge> {
        if self.levels[base].iter().any(|file| file.is_busy) {
            return None;
        }
        let newer = self.levels[0].iter().fold(0.0, |sum, file| self.union(sum, file.bytes, 1.0));
        self.merges_l0 = true;
        let count = self.levels[base].len();
        let newer_files = (0..self.levels[0].len()).collect();
        Some(self.merge((0, newer_files), &(0.0..1.0, newer), (base, 0..count)))
    }

    /// The next file of a level in key order, with the overlapping ones below.
    fn merge_one(&mut self, level: usize) -> Chosen {
        let from = self.levels[level].partition_point(|file| file.keys.start < self.cursors[level]);
        let count = self.levels[level].len();
        for at in (0..count).map(|at| (from + at) % count) {
            let file = &self.levels[level][at];
            let keys = file.keys.clone();
            let below = &self.levels[level + 1];
            let first = below.partition_point(|other| other.keys.end <= keys.start);
            let end = below.partition_point(|other| other.keys.start < keys.end);
            if file.is_busy || below[first..end].iter().any(|other| other.is_busy) {
                continue;
            }
            self.cursors[level] = if keys.end >= 1.0 { 0.0 } else { keys.end };
            if first == end {
                let file = self.levels[level].remove(at);
                self.insert(level + 1, file.keys, file.bytes, file.extents);
                return Chosen::Moved;
            }
            let newer = (keys, file.bytes);
            return Chosen::Merge(self.merge((level, vec![at]), &newer, (level + 1, first..end)));
        }
        Chosen::Nothing
    }

    /// Expected size of the union of two key sets of given sizes on a share of the keys.
    fn union(&self, newer: f64, older: f64, share: f64) -> f64 {
        let all = self.all_keys * share;
        newer + older - self.shape.overwrites * newer * older / all.max(1.0)
    }

    fn merge(
        &mut self,
        (from, newer_files): (usize, Vec<usize>),
        newer: &Segment,
        (to, older_files): (usize, Range<usize>),
    ) -> Merge {
        let older: Vec<Segment> = self.levels[to][older_files.clone()]
            .iter()
            .map(|file| (file.keys.clone(), file.bytes))
            .collect();
        let files = cut(&self.merged(newer, &older), self.shape.file);
        let (mut inputs, mut reads) = (Vec::new(), Vec::new());
        let mut take = |file: &mut File| {
            file.is_busy = true;
            inputs.push(file.number);
            reads.extend(file.extents.iter().copied());
        };
        for at in newer_files {
            take(&mut self.levels[from][at]);
        }
        self.levels[to][older_files].iter_mut().for_each(take);
        Merge { inputs, from, to, reads, files }
    }

    /// The bytes of merged keys, piece by piece.
    fn merged(&self, newer: &Segment, older: &[Segment]) -> Vec<Segment> {
        let mut ends: Vec<f64> = vec![newer.0.start, newer.0.end];
        ends.extend(older.iter().flat_map(|(keys, _)| [keys.start, keys.end]));
        ends.sort_by(f64::total_cmp);
        ends.dedup();
        let part = |(keys, bytes): &Segment, of: &Range<f64>| {
            let inside = keys.end.min(of.end) - keys.start.max(of.start);
            if inside <= 0.0 { 0.0 } else { bytes * inside / (keys.end - keys.start) }
        };
        ends.windows(2)
            .map(|ends| {
                let keys = ends[0]..ends[1];
                let below: f64 = older.iter().map(|it| part(it, &keys)).sum();
                let bytes = self.union(part(newer, &keys), below, keys.end - keys.start);
                (keys, bytes)
            })
            .filter(|(_, bytes)| *bytes > 0.0)
            .collect()
    }

    /// Completes a merge with its files at `places`; returns the extents of the input files.
    pub fn merged_into(&mut self, merge: &Merge, places: Vec<Vec<Extent>>) -> Vec<Extent> {
        for level in [merge.from, merge.to] {
            self.levels[level].retain(|file| !merge.inputs.contains(&file.number));
        }
        if merge.from == 0 {
            self.merges_l0 = false;
        }
        for ((keys, bytes), extents) in merge.files.iter().zip(places) {
            self.insert(merge.to, keys.clone(), *bytes, extents);
        }
        merge.reads.clone()
    }

    /// The files of a level.
    #[cfg(test)]
    pub fn files(&self, level: usize) -> &[File] {
        &self.levels[level]
    }
}

enum Chosen {
    Merge(Merge),
    /// The file moved down unchanged, because no file below overlaps.
    Moved,
    Nothing,
}

/// Divides sorted keys into files of equal size, near `file` bytes.
fn cut(segments: &[Segment], file: f64) -> Vec<Segment> {
    let total: f64 = segments.iter().map(|(_, bytes)| bytes).sum();
    let count = libm::round(total / file).max(1.0) as usize;
    let each = total / count as f64;
    let (mut files, mut filled) = (Vec::with_capacity(count), 0.0);
    let Some(mut begin) = segments.first().map(|(keys, _)| keys.start) else { return files };
    for (keys, bytes) in segments {
        let mut done = 0.0;
        while files.len() + 1 < count && filled + (bytes - done) >= each {
            done += each - filled;
            let end = keys.start + (keys.end - keys.start) * done / bytes;
            files.push((begin..end, each));
            (begin, filled) = (end, 0.0);
        }
        filled += bytes - done;
    }
    let end = segments.last().map_or(begin, |(keys, _)| keys.end);
    files.push((begin..end, each));
    files
}
