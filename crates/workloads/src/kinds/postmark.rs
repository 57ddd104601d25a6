//! Postmark: transactions on a pool of small files, as on a mail server.
//!
//! Known (Katcher, "`PostMark`: a new file system benchmark", Network Appliance TR3022, 1997, and
//! version 1.5 of the program): first a pool of files of uniformly distributed size is created.
//! Each transaction reads a whole file or appends to one, and creates or deletes a file, with equal
//! probabilities and on random files. At the end all files are deleted. Defaults are 500 files of
//! 500 to 10,000 bytes and 500 transactions, with both biases 5 of 10. An append adds a random part
//! of the difference to the largest size. Assumed: the file system of [`files`](crate::files).
//! Operations are sequential and uncached (as after a sync), but each may have several requests
//! outstanding. Subdirectories and the block sizes of reads and writes have no effect at 4 KiB. As
//! in the original, transactions end when the pool is empty; when the pool or the space is full, a
//! creation is skipped and counted.

use crate::closed_loop::{ClosedLoop, Notices};
use crate::error::BuildError;
use crate::file_program::{Program, Running};
use crate::files::{BLOCK_BYTES, Files};
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use crate::{checks, streams};
use engine::{Random, Workload, Xoshiro256};
use options::{Invalid, Size};

options::options! {
    /// Postmark: small files that are created, read, appended to and deleted.
    pub struct Postmark as PostmarkPartial {
        /// Maximum number of requests; if not given, until all files are deleted.
        requests: Option<u64> = None,
        /// Number of files created initially.
        files: u64 = 500,
        /// Minimum size of a new file.
        min_size: Size = Size::from_bytes(500),
        /// Maximum size of a file.
        max_size: Size = Size::from_bytes(10_000),
        /// Number of transactions, each a read or an append plus a creation or a deletion.
        transactions: u64 = 500,
        /// Share of transactions that read; the rest append.
        read_share: f64 as Ratio = 0.5,
        /// Share of transactions that create; the rest delete.
        create_share: f64 as Ratio = 0.5,
        /// Maximum request size, a multiple of 4KiB.
        request_size: Size = Size::from_bytes(128 << 10),
        /// Queue depth (outstanding requests).
        outstanding: u32 = 1,
        /// Trim the blocks of deleted files.
        trim: bool = false,
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
    }
}

/// Maximum initial number of files, which bounds memory.
const MOST_FILES: u64 = 1 << 26;

impl WorkloadKind for Postmark {
    const SUMMARY: &'static str =
        "Postmark: small files on a simple file system, created, read, appended to and deleted";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        let limit = checks::limit(self.requests)?;
        checks::within("workload.files", self.files, 1, MOST_FILES)?;
        checks::share("workload.read_share", self.read_share)?;
        checks::share("workload.create_share", self.create_share)?;
        checks::positive("workload.outstanding", u64::from(self.outstanding))?;
        let largest = checks::blocks("workload.request_size", self.request_size)?;
        let (min, max) = (self.min_size.bytes(), self.max_size.bytes());
        if min == 0 || min > max {
            let problem = format!("from {} to {} is not possible", self.min_size, self.max_size);
            let keys = ["workload.min_size", "workload.max_size"];
            return Err(Invalid::new(&keys, problem).into());
        }
        // As in the original, the limit includes the files that transactions may create.
        let most = self.files.saturating_add(self.transactions).min(2 * MOST_FILES);
        let sectors = self.footprint.sectors(context.capacity_sectors)?;
        let needed = u128::from(self.files) * u128::from(max.div_ceil(BLOCK_BYTES));
        let data = (sectors * engine::SECTOR_BYTES / BLOCK_BYTES).saturating_sub(most / 16 + 1);
        let files = Files::new(sectors, most, largest, self.trim)
            .filter(|_| needed <= u128::from(data))
            .ok_or_else(|| {
                let max = self.max_size;
                let problem = format!("{} files of up to {max} do not fit", self.files);
                Invalid::new(&["workload.files", "workload.footprint"], problem)
            })?;
        let pool = Pool {
            options: self.clone(),
            used: Vec::new(),
            unused: (0..most as usize).rev().collect(),
            created: 0,
            done: 0,
            skipped: 0,
            random: Xoshiro256::new(context.draws(), streams::POSTMARK),
        };
        Ok(Box::new(ClosedLoop::single(limit, self.outstanding, Running::new(files, pool))))
    }
}

/// A running pool.
struct Pool {
    options: Postmark,
    /// Numbers of existing files, unordered, and of files that may be created.
    used: Vec<usize>,
    unused: Vec<usize>,
    /// Files created initially, transactions done, and creations skipped.
    created: u64,
    done: u64,
    skipped: u64,
    random: Xoshiro256,
}

impl Pool {
    fn transaction(&mut self, files: &mut Files) {
        let file = self.used[self.random.below(self.used.len() as u64) as usize];
        let bytes = files.bytes(file);
        if self.random.unit() < self.options.read_share {
            files.read(file, 0, bytes);
        } else {
            let room = self.options.max_size.bytes().saturating_sub(bytes);
            let more = if room > 0 { self.random.below(room) } else { 0 };
            if more > 0 && !files.append(file, more, true) {
                self.skipped += 1;
            }
        }
        if self.random.unit() < self.options.create_share {
            self.create(files);
        } else {
            let index = self.random.below(self.used.len() as u64) as usize;
            let file = self.used.swap_remove(index);
            files.delete(file);
            self.unused.push(file);
        }
    }

    fn create(&mut self, files: &mut Files) {
        let (min, max) = (self.options.min_size.bytes(), self.options.max_size.bytes());
        let bytes = min + if max > min { self.random.below(max - min) } else { 0 };
        let Some(file) = self.unused.pop() else {
            self.skipped += 1;
            return;
        };
        files.create(file);
        if files.append(file, bytes, true) {
            self.used.push(file);
        } else {
            files.delete(file);
            self.unused.push(file);
            self.skipped += 1;
        }
    }
}

impl Program for Pool {
    fn step(&mut self, files: &mut Files) -> bool {
        if self.created < self.options.files {
            self.created += 1;
            self.create(files);
        } else if self.done < self.options.transactions && !self.used.is_empty() {
            self.done += 1;
            self.transaction(files);
        } else {
            self.done = self.options.transactions;
            let Some(file) = self.used.pop() else { return false };
            files.delete(file);
        }
        true
    }

    fn notices(&self) -> Notices {
        let skipped = Some(("postmark_operations_without_space", self.skipped));
        skipped.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{arrivals, assert_refused, assert_three_outstanding, build, run};
    use engine::Op;

    fn count(text: &str, op: Op) -> usize {
        run("postmark", text).iter().filter(|a| a.request.op == op).count()
    }

    #[test]
    fn the_phases_follow_one_another() {
        let text = "files = 100\ntransactions = 0\ntrim = true";
        let requests: Vec<_> = run("postmark", text).iter().map(|a| a.request).collect();
        let trims = requests.iter().filter(|r| r.op == Op::Trim);
        let first = requests.iter().position(|r| r.op == Op::Trim).unwrap();
        // Each file: its inode, its data, its inode again; then inode and trim.
        assert_eq!((first, requests.len(), trims.clone().count()), (301, 500, 100));
        let written: u32 = requests[..300].iter().skip(1).step_by(3).map(|r| r.sectors).sum();
        assert_eq!(written, trims.map(|r| r.sectors).sum::<u32>(), "all is trimmed");
        // Sizes are uniform from 500 to 10,000 bytes: 1 to 3 blocks, 1.95 on average.
        assert!((1_380..1_740).contains(&written), "{written} sectors");
        assert_eq!(count("files = 100", Op::Trim), 0);
    }

    #[test]
    fn transactions_have_their_shares() {
        let base = "files = 1000\ntransactions = 10000\n";
        // 5,000 reads; a file that grew may have several extents.
        let reads = count(base, Op::Read);
        assert!((4_800..8_000).contains(&reads), "{reads}");
        assert!(count(&format!("{base}read_share = 0.9"), Op::Read) > 8_800);
        assert_eq!(count(&format!("{base}read_share = 0.0"), Op::Read), 0);
        let more = count(&format!("{base}create_share = 0.9"), Op::Write);
        assert!(more > count(base, Op::Write) + 5_000, "{more}");
    }

    #[test]
    fn an_empty_pool_ends_the_transactions() {
        let text = "files = 10\ntransactions = 1000\ncreate_share = 0.0\nread_share = 1.0";
        assert!((10..30).contains(&count(text, Op::Read)), "one or a few a transaction");
    }

    #[test]
    fn a_full_disk_is_counted_and_survived() {
        let text = "files = 20\nmax_size = '40KiB'\nmin_size = '40KiB'\ntransactions = 1000\n\
                    create_share = 1.0\nfootprint = '2MiB'";
        let mut workload = build("postmark", text).unwrap();
        let last = arrivals(&mut *workload);
        assert!(last.iter().all(|a| a.request.lba.0 + u64::from(a.request.sectors) <= 4096));
        let [(what, count)] = workload.notices()[..] else { panic!("no notice") };
        assert_eq!(what, "postmark_operations_without_space");
        assert!((950..1_000).contains(&count), "{count}");
    }

    #[test]
    fn every_option_changes_the_requests() {
        let base = run("postmark", "");
        for text in [
            "requests = 5",
            "files = 400",
            "min_size = '5kB'",
            "max_size = '20kB'",
            "transactions = 600",
            "read_share = 0.6",
            "create_share = 0.6",
            "request_size = '4KiB'",
            "trim = true",
        ] {
            assert_ne!(run("postmark", text), base, "{text}");
        }
        assert_eq!(run("postmark", "requests = 5"), base[..5]);
        assert_eq!(run("postmark", ""), base);
        assert_three_outstanding("postmark");
    }

    #[test]
    fn impossible_settings_are_refused() {
        for (text, key, problem) in [
            ("requests = 0", "workload.requests", "at least 1"),
            ("files = 0", "workload.files", "0 is not possible"),
            ("min_size = '0B'", "workload.min_size", "from 0B to 10000B is not possible"),
            ("min_size = '20kB'", "workload.min_size", "from 20000B to 10000B"),
            ("read_share = 2", "workload.read_share", "2 is not a share"),
            ("create_share = -1", "workload.create_share", "-1 is not a share"),
            ("request_size = '6KiB'", "workload.request_size", "no multiple of 4KiB"),
            ("outstanding = 0", "workload.outstanding", "at least 1"),
            ("footprint = '1MiB'", "workload.files", "500 files of up to 10000B do not fit"),
        ] {
            assert_refused("postmark", text, key, problem);
        }
    }
}
