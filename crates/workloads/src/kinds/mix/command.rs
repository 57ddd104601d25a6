//! Commands of `NVMe` in place of reads and writes of a stream.

use engine::{Lba, Op, Request};

options::choices! {
    /// Command in place of a request of a stream of a mix.
    pub enum AsCommand {
        /// Nothing else.
        None = "none",
        /// Its writes, zeroes (Write Zeroes).
        Zeroes = "zeroes",
        /// Its reads, comparisons with data that are the same (Compare).
        Compare = "compare",
        /// Its reads, comparisons with data that differ.
        Miscompare = "miscompare",
        /// Its writes, comparisons with data that are the same, and a write (a fused pair).
        CompareWrite = "compare_write",
        /// Its writes, fused pairs that find other data and write nothing.
        MiscompareWrite = "miscompare_write",
        /// Its reads, reads whose data stay in the drive (Verify).
        Verify = "verify",
        /// Its writes, marks that their range cannot be read (Write Uncorrectable).
        Uncorrectable = "uncorrectable",
        /// Its writes, copies of what the stream wrote before (Copy).
        Copy = "copy",
        /// Its writes, writes that are durable when they are answered (FUA).
        Fua = "fua",
    }
}

impl AsCommand {
    /// Operation in place of another.
    fn of(self, op: Op) -> Op {
        match (op, self) {
            (Op::Write, AsCommand::Zeroes) => Op::Zeroes,
            (Op::Write, AsCommand::CompareWrite) => Op::CompareWrite,
            (Op::Write, AsCommand::MiscompareWrite) => Op::MiscompareWrite,
            (Op::Write, AsCommand::Uncorrectable) => Op::Uncorrectable,
            (Op::Write, AsCommand::Copy) => Op::Copy,
            (Op::Read, AsCommand::Compare) => Op::Compare,
            (Op::Read, AsCommand::Miscompare) => Op::Miscompare,
            (Op::Read, AsCommand::Verify) => Op::Verify,
            _ => op,
        }
    }

    /// True if it asks for what is done in steps.
    pub fn has_steps(self) -> bool {
        !matches!(self, AsCommand::None | AsCommand::Fua)
    }

    /// True if they stay what they are.
    pub fn is_none(&self) -> bool {
        *self == AsCommand::None
    }
}

/// The commands that the requests of a stream are, which is `sectors` long.
#[derive(Debug, Clone)]
pub struct Becoming {
    pub command: AsCommand,
    pub sectors: u64,
    /// Where it wrote last.
    written: u64,
    /// The range of the next copy was given.
    has_range: bool,
}

impl Becoming {
    pub fn new(command: AsCommand, sectors: u64) -> Becoming {
        Becoming { command, sectors, written: 0, has_range: false }
    }

    /// The range that comes before a request, where it becomes a copy that has none.
    pub fn range_before(&mut self, request: &Request) -> Option<Request> {
        let needs = self.command == AsCommand::Copy && request.op == Op::Write;
        if !needs || std::mem::replace(&mut self.has_range, needs) {
            return None;
        }
        let first = self.written.min(self.sectors - u64::from(request.sectors));
        Some(Request { op: Op::Range, lba: Lba(first), ..*request })
    }

    /// Request in place of another.
    pub fn becomes(&mut self, request: Request) -> Request {
        if request.op == Op::Write {
            self.written = request.lba.0;
            self.has_range = false;
        }
        let fua = request.fua || self.command == AsCommand::Fua && request.op == Op::Write;
        Request { op: self.command.of(request.op), fua, ..request }
    }
}
