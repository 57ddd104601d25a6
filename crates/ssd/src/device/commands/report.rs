//! Counters of commands and their outcomes.

use engine::{Op, Status};
use std::collections::BTreeMap;

/// Counters of commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandsReport {
    /// Bytes copied.
    pub copied_bytes: u64,
    /// Bytes zeroed.
    pub zeroed_bytes: u64,
    /// Bytes marked as unreadable.
    pub marked_bytes: u64,
    /// Ranges of copies and trims.
    pub ranges: u64,
    /// Number of comparisons.
    pub compared: u64,
    /// Number of comparisons with different data.
    pub differed: u64,
    /// Failed commands by the status's index in [`Status::ALL`].
    statuses: BTreeMap<u8, u64>,
    /// Mapped bytes of each namespace that counts them.
    pub mapped_bytes: Vec<Option<u64>>,
}

impl CommandsReport {
    /// Counts the start of a command of `bytes` bytes.
    pub fn begins(&mut self, op: Op, bytes: u64) {
        match op {
            Op::Copy => self.copied_bytes += bytes,
            Op::Zeroes => self.zeroed_bytes += bytes,
            Op::Uncorrectable => self.marked_bytes += bytes,
            Op::Range => self.ranges += 1,
            Op::Compare | Op::Miscompare | Op::CompareWrite | Op::MiscompareWrite => {
                self.compared += 1;
            }
            _ => {}
        }
    }

    /// The report, with the mapped bytes of each namespace.
    pub fn with(&self, mapped_bytes: Vec<Option<u64>>) -> Self {
        CommandsReport { mapped_bytes, ..self.clone() }
    }

    /// Counts the end of a command.
    pub fn ended(&mut self, status: Status) {
        if status.is_ok() {
            return;
        }
        self.differed += u64::from(status == Status::CompareFailure);
        *self.statuses.entry(status as u8).or_default() += 1;
    }

    /// Number of failed commands, by status.
    pub fn statuses(&self) -> impl Iterator<Item = (Status, u64)> + '_ {
        self.statuses.iter().map(|(place, count)| (Status::ALL[usize::from(*place)], *count))
    }
}
