//! Report of zones: results section `zones`.

use super::automaton::{Tally, Zones};
use super::media::Work;
use super::states::State;
use crate::device::{Field, Report};
use engine::{Op, SECTOR_BYTES, Status, Time};
use serde_json::{Map, Value, json};

/// Times of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Number of commands.
    pub count: u64,
    /// Total time, ns.
    pub sum_ns: u64,
    /// Maximum time, ns.
    pub max_ns: Time,
}

impl Times {
    fn note(&mut self, ns: Time) {
        self.count += 1;
        self.sum_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    fn section(self) -> Report {
        let max = (self.count > 0).then(|| Field::most(self.max_ns as f64 / 1e3));
        section! {
            "count": self.count,
            "mean": Field::Ratio(self.sum_ns, self.count, 1e3),
            "max": max,
        }
    }
}

/// Counters of the drive itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    appends: u64,
    host_sectors: u64,
    padding_sectors: u64,
    program_failures: u64,
    erase_failures: u64,
    resets: u64,
    reset_times: Times,
    finish_times: Times,
    refused: [u64; Status::ALL.len()],
}

impl Counts {
    /// Counts sectors written or appended by the host.
    pub fn note_write(&mut self, op: Op, sectors: u64) {
        self.appends += u64::from(op == Op::Append);
        self.host_sectors += sectors;
    }

    /// Counts sectors of a zone that a finish gave up.
    pub fn note_padding(&mut self, sectors: u64) {
        self.padding_sectors += sectors;
    }

    /// Counts a failed program or erase.
    pub fn note_failure(&mut self, of_program: bool) {
        self.program_failures += u64::from(of_program);
        self.erase_failures += u64::from(!of_program);
    }

    /// Counts a reset by a command.
    pub fn note_reset(&mut self) {
        self.resets += 1;
    }

    /// Counts a completed command with its time in the device.
    pub fn note_answer(&mut self, op: Op, status: Status, took: Time) {
        if !status.is_ok() {
            self.refused[status as usize] += 1;
            return;
        }
        match op {
            Op::Reset => self.reset_times.note(took),
            Op::Finish => self.finish_times.note(took),
            _ => {}
        }
    }

    /// Results section `zones`: states, and the causes of opening, closing, filling and emptying.
    pub fn section(
        &self,
        zones: &Zones,
        work: Work,
        group_bytes: u64,
        dies_busy: &[f64],
    ) -> Report {
        let all = (0..zones.limits().zones).map(|zone| zones.look(zone).state);
        let all: Vec<State> = all.collect();
        let states = State::ALL
            .map(|(state, name)| (name, all.iter().filter(|own| **own == state).count() as u64));
        let Tally { opened_implicitly, opened_explicitly, closed_by_controller, absorbed, commits } =
            zones.tally();
        let refused = Status::ALL.into_iter().zip(self.refused).filter(|(_, count)| *count > 0);
        let statuses = refused.clone().filter_map(|(status, count)| {
            let (kind, code) = status.nvme()?;
            Some((format!("{kind}/{code:02X}h"), json!(count)))
        });
        let mean = dies_busy.iter().sum::<f64>() / dies_busy.len() as f64;
        section! {
            "states": Report::counts(states),
            "opened_implicitly": opened_implicitly,
            "opened_explicitly": opened_explicitly,
            "closed_by_controller": closed_by_controller,
            "resets": self.resets,
            "reset_us": self.reset_times.section(),
            "finishes": self.finish_times.count,
            "finish_us": self.finish_times.section(),
            "appends": self.appends,
            "host_bytes": self.host_sectors * SECTOR_BYTES,
            "data_bytes": work.data_groups * group_bytes,
            "parity_bytes": work.parity_groups * group_bytes,
            "padded_bytes": work.pad_groups * group_bytes,
            "journal_bytes": work.journal_groups * group_bytes,
            "padding_bytes": self.padding_sectors * SECTOR_BYTES,
            "windows": section! { "absorbed_bytes": absorbed * SECTOR_BYTES, "commits": commits },
            "erases": work.erases,
            "page_reads": work.page_reads,
            "suspensions": work.suspensions,
            "program_failures": self.program_failures,
            "erase_failures": self.erase_failures,
            "dies_busy": Field::same(json!((!dies_busy.is_empty()).then_some(mean))),
            "refused": Report::counts(refused.map(|(status, count)| (status.name(), count))),
            "statuses": Field::same(statuses.collect::<Map<String, Value>>()),
        }
    }
}
