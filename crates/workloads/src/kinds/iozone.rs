//! `IOzone`'s sequential tests: passes over a file, record by record.
//!
//! Known (Norcott and Capps, the `IOzone` manual): the tests write a new file, rewrite it, read it
//! and reread it, in records from start to end, one record at a time. By default files are 64 KiB
//! to 512 MiB and records 4 KiB to 16 MiB. Assumed: the file system of [`files`](crate::files). The
//! inode is written when the file is created, and when it is closed at the end of each writing
//! pass. There is no operating system cache, as with `-I`. The file is deleted at the end, as
//! without `-w`, and each further run creates it again.

use crate::checks;
use crate::closed_loop::ClosedLoop;
use crate::error::BuildError;
use crate::file_program::{Program, Running};
use crate::files::{BLOCK_BYTES, Files};
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use engine::Workload;
use options::{Invalid, Size};

options::options! {
    /// Sequential tests of `IOzone` on one file.
    pub struct Iozone as IozonePartial {
        /// Maximum number of requests; if not given, until the last run ends.
        requests: Option<u64> = None,
        /// Size of the file, a multiple of the record.
        file_size: Size = Size::from_bytes(512 << 20),
        /// Record size of reads and writes, a multiple of 4KiB.
        record_size: Size = Size::from_bytes(64 << 10),
        /// The passes in order: any of write, rewrite, read and reread, separated by spaces.
        passes: String = "write rewrite read reread".to_owned(),
        /// Number of times all passes are run.
        runs: u64 = 1,
        /// Maximum request size, a multiple of 4KiB; larger records are split.
        request_size: Size = Size::from_bytes(128 << 10),
        /// Queue depth (outstanding requests); a record may start before the previous one completes.
        outstanding: u32 = 1,
        /// Trim the file's blocks on deletion.
        trim: bool = false,
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
    }
}

/// A pass over the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    Write,
    Rewrite,
    Read,
}

impl WorkloadKind for Iozone {
    const SUMMARY: &'static str =
        "IOzone: passes over a file on a simple file system, record by record";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        let limit = checks::limit(self.requests)?;
        checks::positive("workload.runs", self.runs)?;
        checks::positive("workload.outstanding", u64::from(self.outstanding))?;
        let record = checks::blocks("workload.record_size", self.record_size)? * BLOCK_BYTES;
        let largest = checks::blocks("workload.request_size", self.request_size)?;
        let bytes = self.file_size.bytes();
        if bytes == 0 || !bytes.is_multiple_of(record) {
            let keys = ["workload.file_size", "workload.record_size"];
            let problem = format!("{} is no multiple of {}", self.file_size, self.record_size);
            return Err(Invalid::new(&keys, problem).into());
        }
        let passes = passes(&self.passes)?;
        let sectors = self.footprint.sectors(context.capacity_sectors)?;
        let blocks = sectors * engine::SECTOR_BYTES / BLOCK_BYTES;
        let files = Files::new(sectors, 1, largest, self.trim)
            .filter(|_| blocks > bytes / BLOCK_BYTES)
            .ok_or_else(|| {
                let problem = format!("{} and its inode do not fit", self.file_size);
                Invalid::new(&["workload.file_size", "workload.footprint"], problem)
            })?;
        let tests = Tests { passes, bytes, record, runs_left: self.runs, step: 0, at: 0 };
        Ok(Box::new(ClosedLoop::single(limit, self.outstanding, Running::new(files, tests))))
    }
}

/// The passes listed in a text.
fn passes(text: &str) -> Result<Vec<Pass>, Invalid> {
    const WORDS: [(&str, Pass); 4] = [
        ("write", Pass::Write),
        ("rewrite", Pass::Rewrite),
        ("read", Pass::Read),
        ("reread", Pass::Read),
    ];
    let refuse = |problem: String| Invalid::new(&["workload.passes"], problem);
    let mut passes = Vec::new();
    for word in text.split_whitespace() {
        let known = WORDS.iter().find(|(name, _)| *name == word);
        let words = WORDS.iter().map(|(name, _)| *name);
        let unknown = || checks::unknown_word("workload.passes", word, words);
        passes.push(known.ok_or_else(unknown)?.1);
    }
    match passes.first() {
        None => Err(refuse("there must be at least one pass".to_owned())),
        Some(Pass::Write) if passes[1..].contains(&Pass::Write) => {
            Err(refuse("the file is written once, by the first pass; rewrite it later".to_owned()))
        }
        Some(Pass::Write) => Ok(passes),
        Some(_) => {
            Err(refuse("the first pass must be write, because there is no file yet".to_owned()))
        }
    }
}

/// Running tests.
struct Tests {
    passes: Vec<Pass>,
    bytes: u64,
    record: u64,
    runs_left: u64,
    /// Number of the current pass; the deletion follows the last pass.
    step: usize,
    at: u64,
}

impl Program for Tests {
    fn step(&mut self, files: &mut Files) -> bool {
        if self.runs_left == 0 {
            return false;
        }
        let Some(pass) = self.passes.get(self.step).copied() else {
            files.delete(0);
            self.runs_left -= 1;
            self.step = 0;
            return true;
        };
        let (at, record) = (self.at, self.record);
        match pass {
            Pass::Write => {
                if at == 0 {
                    files.create(0);
                }
                assert!(files.append(0, record, false), "the file fits");
            }
            Pass::Rewrite => files.rewrite(0, at, record),
            Pass::Read => files.read(0, at, record),
        }
        self.at += record;
        if self.at == self.bytes {
            self.at = 0;
            self.step += 1;
            if pass != Pass::Read {
                files.write_inode(0);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_refused, assert_three_outstanding, run};
    use engine::Op;

    /// Requests as (operation, first block, blocks).
    fn blocks(text: &str) -> Vec<(Op, u64, u32)> {
        let arrivals = run("iozone", text);
        arrivals
            .iter()
            .map(|a| (a.request.op, a.request.lba.0 / 8, a.request.sectors / 8))
            .collect()
    }

    #[test]
    fn the_passes_go_over_the_file() {
        let (r, w, t) = (Op::Read, Op::Write, Op::Trim);
        let text = "file_size = '32KiB'\nrecord_size = '16KiB'\nrequest_size = '12KiB'\n\
                    trim = true\npasses = 'write read rewrite'";
        let write = [(w, 0, 1), (w, 1, 3), (w, 4, 1), (w, 5, 3), (w, 8, 1), (w, 0, 1)];
        let read = [(r, 1, 3), (r, 4, 1), (r, 5, 3), (r, 8, 1)];
        let rewrite = [(w, 1, 3), (w, 4, 1), (w, 5, 3), (w, 8, 1), (w, 0, 1)];
        let delete = [(w, 0, 1), (t, 1, 3), (t, 4, 3), (t, 7, 2)];
        let all = [&write[..], &read, &rewrite, &delete].concat();
        assert_eq!(blocks(text), all);
        assert_eq!(blocks(&format!("{text}\nruns = 2")), [&all[..], &all].concat());
    }

    #[test]
    fn every_option_changes_the_requests() {
        let small = "file_size = '1MiB'\n";
        let base = blocks(small);
        // 17 requests of 64 KiB, metadata, then the same three times without the creation.
        assert_eq!(base.len(), 4 * 16 + 1 + 2 + 1);
        for text in [
            "requests = 5",
            "record_size = '32KiB'",
            "passes = 'write'",
            "runs = 2",
            "request_size = '32KiB'",
            "trim = true",
        ] {
            assert_ne!(blocks(&format!("{small}{text}")), base, "{text}");
        }
        assert_ne!(blocks("file_size = '2MiB'"), base);
        assert_three_outstanding("iozone");
        assert_eq!(blocks(&format!("{small}requests = 5")), base[..5]);
    }

    #[test]
    fn impossible_settings_are_refused() {
        for (text, key, problem) in [
            ("requests = 0", "workload.requests", "at least 1"),
            ("runs = 0", "workload.runs", "at least 1"),
            ("outstanding = 0", "workload.outstanding", "at least 1"),
            ("record_size = '512B'", "workload.record_size", "no multiple of 4KiB"),
            ("request_size = '0B'", "workload.request_size", "no multiple of 4KiB"),
            ("file_size = '100KiB'", "workload.file_size", "100KiB is no multiple of 64KiB"),
            ("file_size = '1GiB'", "workload.file_size", "1GiB and its inode do not fit"),
            ("footprint = '1MiB'", "workload.file_size", "512MiB and its inode do not fit"),
            ("passes = ''", "workload.passes", "at least one pass"),
            ("passes = 'read'", "workload.passes", "the first pass must be write"),
            ("passes = 'write write'", "workload.passes", "rewrite it later"),
            ("passes = 'write raed'", "workload.passes", "did you mean \"read\"?"),
        ] {
            assert_refused("iozone", text, key, problem);
        }
    }
}
