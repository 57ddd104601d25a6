//! What zones did: the section `zones` of results.

use super::automaton::{Tally, Zones};
use super::media::Work;
use super::states::State;
use engine::{Op, SECTOR_BYTES, Status, Time};

/// Times of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Their sum, ns.
    pub sum_ns: u64,
    /// The longest, ns.
    pub max_ns: Time,
}

impl Times {
    fn note(&mut self, ns: Time) {
        self.count += 1;
        self.sum_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }
}

/// What is counted by the drive itself.
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

/// What a log of the host has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogReport {
    /// Written by the programs, in whole pages; and moved by cleaning; bytes.
    pub user_bytes: u64,
    /// See `user_bytes`.
    pub moved_bytes: u64,
    /// Zones cleaned.
    pub cleaned: u64,
    /// Free zones at the end.
    pub free: u64,
}

// As many fields as there are figures.
/// What the zones of a device did during a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZonesReport {
    /// Zones in each state at the end.
    pub states: Vec<(&'static str, u64)>,
    /// Zones opened by writes, by the host, and closed by the controller for others.
    pub opened_implicitly: u64,
    /// See `opened_implicitly`.
    pub opened_explicitly: u64,
    /// See `opened_implicitly`.
    pub closed_by_controller: u64,
    /// Zones reset.
    pub resets: u64,
    /// Commands that reset zones.
    pub reset: Times,
    /// Commands that finished zones.
    pub finish: Times,
    /// Appends that were decided.
    pub appends: u64,
    /// Written by the host, bytes.
    pub host_bytes: u64,
    /// Programmed: data, parity, padding of finished zones, and copies for flushes; bytes.
    pub data_bytes: u64,
    /// See `data_bytes`.
    pub parity_bytes: u64,
    /// See `data_bytes`.
    pub padded_bytes: u64,
    /// See `data_bytes`.
    pub journal_bytes: u64,
    /// Capacity that finishes gave up, bytes.
    pub padding_bytes: u64,
    /// Overwritten in windows before it was committed, bytes; and commits.
    pub absorbed_bytes: u64,
    /// See `absorbed_bytes`.
    pub commits: u64,
    /// Blocks erased, of each plane of a die together.
    pub erases: u64,
    /// Pages of 4 KiB read from the flash.
    pub page_reads: u64,
    /// Programs and erases that reads stopped.
    pub suspensions: u64,
    /// Programs and erases that failed.
    pub program_failures: u64,
    /// See `program_failures`.
    pub erase_failures: u64,
    /// Commands refused, by status.
    pub refused: Vec<(Status, u64)>,
    /// Share of its time that each die was busy.
    pub dies_busy: Vec<f64>,
    /// What a log of the host did, if there is one.
    pub log: Option<LogReport>,
}

impl Counts {
    /// The host has written, or appended, sectors.
    pub fn note_write(&mut self, op: Op, sectors: u64) {
        self.appends += u64::from(op == Op::Append);
        self.host_sectors += sectors;
    }

    /// A finish has given up sectors of a zone.
    pub fn note_padding(&mut self, sectors: u64) {
        self.padding_sectors += sectors;
    }

    /// A program, or an erase, has failed.
    pub fn note_failure(&mut self, of_program: bool) {
        self.program_failures += u64::from(of_program);
        self.erase_failures += u64::from(!of_program);
    }

    /// A zone was reset by a command.
    pub fn note_reset(&mut self) {
        self.resets += 1;
    }

    /// A command was answered after so long in the device.
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

    /// The report of the zones as they are.
    pub fn report(
        &self,
        zones: &Zones,
        work: Work,
        group_bytes: u64,
        dies_busy: Vec<f64>,
    ) -> ZonesReport {
        let all = (0..zones.limits().zones).map(|zone| zones.look(zone).state);
        let all: Vec<State> = all.collect();
        let states = State::ALL
            .map(|(state, name)| (name, all.iter().filter(|own| **own == state).count() as u64));
        let Tally { opened_implicitly, opened_explicitly, closed_by_controller, absorbed, commits } =
            zones.tally();
        let refused = Status::ALL.into_iter().zip(self.refused);
        ZonesReport {
            states: states.to_vec(),
            opened_implicitly,
            opened_explicitly,
            closed_by_controller,
            resets: self.resets,
            reset: self.reset_times,
            finish: self.finish_times,
            appends: self.appends,
            host_bytes: self.host_sectors * SECTOR_BYTES,
            data_bytes: work.data_groups * group_bytes,
            parity_bytes: work.parity_groups * group_bytes,
            padded_bytes: work.pad_groups * group_bytes,
            journal_bytes: work.journal_groups * group_bytes,
            padding_bytes: self.padding_sectors * SECTOR_BYTES,
            absorbed_bytes: absorbed * SECTOR_BYTES,
            commits,
            erases: work.erases,
            page_reads: work.page_reads,
            suspensions: work.suspensions,
            program_failures: self.program_failures,
            erase_failures: self.erase_failures,
            refused: refused.filter(|(_, count)| *count > 0).collect(),
            dies_busy,
            log: None,
        }
    }
}
