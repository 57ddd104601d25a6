//! Counts of commands and their outcomes.

use engine::{Op, Status};
use std::collections::BTreeMap;

/// Counts of commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandsReport {
    /// Copied.
    pub copied_bytes: u64,
    /// Made zeroes.
    pub zeroed_bytes: u64,
    /// Made unreadable.
    pub marked_bytes: u64,
    /// Ranges that were given for copies and trims.
    pub ranges: u64,
    /// Comparisons.
    pub compared: u64,
    /// Comparisons with different data.
    pub differed: u64,
    /// Statuses by index in [`Status::ALL`]: commands that ended so.
    statuses: BTreeMap<u8, u64>,
    /// Mapped bytes of each counted namespace.
    pub mapped_bytes: Vec<Option<u64>>,
}

impl CommandsReport {
    /// Counts a starting command of that size.
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

    /// The report with the mapped bytes of each namespace.
    pub fn with(&self, mapped_bytes: Vec<Option<u64>>) -> Self {
        CommandsReport { mapped_bytes, ..self.clone() }
    }

    /// A command has ended.
    pub fn ended(&mut self, status: Status) {
        if status.is_ok() {
            return;
        }
        self.differed += u64::from(status == Status::CompareFailure);
        *self.statuses.entry(status as u8).or_default() += 1;
    }

    /// Number of commands that ended with an error, by type and code of the status.
    pub fn statuses(&self) -> impl Iterator<Item = (Status, u64)> + '_ {
        self.statuses.iter().map(|(place, count)| (Status::ALL[usize::from(*place)], *count))
    }
}
