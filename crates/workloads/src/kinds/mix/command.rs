//! `NVMe` commands that replace the reads and writes of a stream.

use engine::{Lba, Op, Request};

options::choices! {
    /// Command in place of a request of a stream of a mix.
    pub enum AsCommand {
        /// No command.
        None = "none",
        /// Writes become Write Zeroes.
        Zeroes = "zeroes",
        /// Reads become comparisons with equal data (Compare).
        Compare = "compare",
        /// Reads become comparisons with different data.
        Miscompare = "miscompare",
        /// Writes become fused pairs of an equal comparison and a write.
        CompareWrite = "compare_write",
        /// Writes become fused pairs with different data, which write nothing.
        MiscompareWrite = "miscompare_write",
        /// Reads become Verify, without a transfer.
        Verify = "verify",
        /// Writes become Write Uncorrectable.
        Uncorrectable = "uncorrectable",
        /// Writes become copies of the stream's earlier writes (Copy).
        Copy = "copy",
        /// Writes become durable on completion (FUA).
        Fua = "fua",
    }
}

impl AsCommand {
    /// Replacement for an operation.
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

    /// True if multi-step commands are issued.
    pub fn has_steps(self) -> bool {
        !matches!(self, AsCommand::None | AsCommand::Fua)
    }

    /// True if requests stay unchanged.
    pub fn is_none(&self) -> bool {
        *self == AsCommand::None
    }
}

/// Replacement of a stream's requests by a command, on `sectors` sectors.
#[derive(Debug, Clone)]
pub struct Becoming {
    pub command: AsCommand,
    pub sectors: u64,
    /// Range of the last write.
    written: u64,
    /// True if the range of the next copy was issued.
    has_range: bool,
}

impl Becoming {
    pub fn new(command: AsCommand, sectors: u64) -> Becoming {
        Becoming { command, sectors, written: 0, has_range: false }
    }

    /// The range request that precedes a copy, unless it was already issued.
    pub fn range_before(&mut self, request: &Request) -> Option<Request> {
        let needs = self.command == AsCommand::Copy && request.op == Op::Write;
        if !needs || std::mem::replace(&mut self.has_range, needs) {
            return None;
        }
        let first = self.written.min(self.sectors - u64::from(request.sectors));
        Some(Request { op: Op::Range, lba: Lba(first), ..*request })
    }

    /// Replacement for a request.
    pub fn becomes(&mut self, request: Request) -> Request {
        if request.op == Op::Write {
            self.written = request.lba.0;
            self.has_range = false;
        }
        let fua = request.fua || self.command == AsCommand::Fua && request.op == Op::Write;
        Request { op: self.command.of(request.op), fua, ..request }
    }
}
