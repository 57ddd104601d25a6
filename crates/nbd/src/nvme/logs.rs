//! Log pages of a controller: errors, health, firmware, commands, and discovery.

use super::command::{Status, admin, io};
use super::limits::{MOST_ERRORS, QUEUE_ENTRIES};
use crate::health::{Health, Served};
use std::collections::VecDeque;

/// Identifiers of log pages.
pub const SUPPORTED: u8 = 0x00;
pub const ERRORS: u8 = 0x01;
pub const HEALTH: u8 = 0x02;
pub const FIRMWARE: u8 = 0x03;
pub const EFFECTS: u8 = 0x05;
pub const DISCOVERY: u8 = 0x70;
pub const CHANGED_ZONES: u8 = 0xbf;

/// Log pages of every controller of drives.
pub const EVERYWHERE: [u8; 5] = [SUPPORTED, ERRORS, HEALTH, FIRMWARE, EFFECTS];

const ERROR_BYTES: usize = 64;
/// Reported temperature, kelvin: room temperature, because none is modelled.
const TEMPERATURE: u16 = 298;
/// Spare threshold for a critical warning, percent.
const SPARE_THRESHOLD: u8 = 10;
/// A unit of data in the health log.
const UNIT_BYTES: u64 = 512_000;
/// Codes of the discovery log: transport TCP, address families IPv4 and IPv6, subsystem of drives.
const TRANSPORT_TCP: u8 = 3;
const INTERNET_4: u8 = 1;
const INTERNET_6: u8 = 2;
const SUBSYSTEM_NVM: u8 = 2;
const RECORD_BYTES: usize = 1024;
/// Controller id that lets the target choose one.
const ANY_CONTROLLER: u16 = 0xffff;

/// Error log of a controller.
#[derive(Debug, Default)]
pub struct Errors {
    count: u64,
    last: VecDeque<[u8; ERROR_BYTES]>,
}

impl Errors {
    /// Logs a command that completed with an error.
    pub fn note(&mut self, queue: u16, id: u16, status: Status) {
        self.count += 1;
        let mut entry = [0; ERROR_BYTES];
        entry[..8].copy_from_slice(&self.count.to_le_bytes());
        entry[8..10].copy_from_slice(&queue.to_le_bytes());
        entry[10..12].copy_from_slice(&id.to_le_bytes());
        entry[12..14].copy_from_slice(&status.field().to_le_bytes());
        entry[29] = TRANSPORT_TCP;
        self.last.push_front(entry);
        self.last.truncate(MOST_ERRORS);
    }

    /// Number of errors since the controller started.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The log page, latest error first.
    pub fn page(&self) -> Vec<u8> {
        let mut page: Vec<u8> = self.last.iter().flatten().copied().collect();
        page.resize(MOST_ERRORS * ERROR_BYTES, 0);
        page
    }
}

/// Combined health of several drives: counters are summed, conditions are the worst.
pub fn together(all: impl Iterator<Item = Health>) -> Health {
    all.reduce(|one, other| {
        let (a, b) = (one.served, other.served);
        Health {
            critical_warning: one.critical_warning | other.critical_warning,
            percentage_used: one.percentage_used.max(other.percentage_used),
            available_spare: [one.available_spare, other.available_spare]
                .into_iter()
                .flatten()
                .min(),
            data_units_written: match (one.data_units_written, other.data_units_written) {
                (None, None) => None,
                (one, other) => Some(one.unwrap_or(0) + other.unwrap_or(0)),
            },
            served: Served {
                reads: a.reads + b.reads,
                read_bytes: a.read_bytes + b.read_bytes,
                writes: a.writes + b.writes,
                written_bytes: a.written_bytes + b.written_bytes,
                errors: a.errors + b.errors,
            },
        }
    })
    .unwrap_or_default()
}

/// Health log page; `errors` is the number of error log entries.
pub fn health(health: &Health, errors: u64) -> Vec<u8> {
    let mut page = vec![0; 512];
    page[0] = health.critical_warning;
    page[1..3].copy_from_slice(&TEMPERATURE.to_le_bytes());
    page[3] = health.available_spare.unwrap_or(100);
    page[4] = SPARE_THRESHOLD;
    page[5] = health.percentage_used;
    let served = health.served;
    let written = served.written_bytes.div_ceil(UNIT_BYTES);
    let numbers = [
        (32, served.read_bytes.div_ceil(UNIT_BYTES)),
        (48, health.data_units_written.unwrap_or(written)),
        (64, served.reads),
        (80, served.writes),
        (112, 1),
        (160, served.errors),
        (176, errors),
    ];
    for (at, number) in numbers {
        page[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    page
}

/// Firmware log page: one slot, which is active.
pub fn firmware(revision: [u8; 8]) -> Vec<u8> {
    let mut page = vec![0; 512];
    page[0] = 1;
    page[8..16].copy_from_slice(&revision);
    page
}

/// Log page of supported commands and effects. Placement handles and zones add their commands.
pub fn effects(places: bool, zones: bool) -> Vec<u8> {
    let mut page = vec![0; 4096];
    let mut set = |at: usize, bits: u32| page[at..at + 4].copy_from_slice(&bits.to_le_bytes());
    for opcode in [
        admin::GET_LOG_PAGE,
        admin::IDENTIFY,
        admin::ABORT,
        admin::SET_FEATURES,
        admin::GET_FEATURES,
        admin::ASYNC_EVENT_REQUEST,
        admin::KEEP_ALIVE,
    ] {
        set(4 * usize::from(opcode), 1);
    }
    for opcode in [io::FLUSH, io::READ, io::COMPARE, io::VERIFY] {
        set(1024 + 4 * usize::from(opcode), 1);
    }
    // Bit 1: the command changes the content of blocks.
    if places {
        for opcode in [admin::DIRECTIVE_SEND, admin::DIRECTIVE_RECEIVE] {
            set(4 * usize::from(opcode), 1);
        }
        for opcode in [io::MANAGEMENT_RECEIVE, io::MANAGEMENT_SEND] {
            set(1024 + 4 * usize::from(opcode), 1);
        }
    }
    for opcode in
        [io::WRITE, io::WRITE_ZEROES, io::DATASET_MANAGEMENT, io::WRITE_UNCORRECTABLE, io::COPY]
    {
        set(1024 + 4 * usize::from(opcode), 3);
    }
    if zones {
        let set =
            |page: &mut Vec<u8>, opcode: u8, bits: u8| page[1024 + 4 * usize::from(opcode)] = bits;
        set(&mut page, io::ZONE_RECEIVE, 1);
        set(&mut page, io::ZONE_SEND, 3);
        set(&mut page, io::ZONE_APPEND, 3);
        set(&mut page, io::WRITE_UNCORRECTABLE, 0);
    }
    page
}

/// Log page of changed zones by first block; without starts there were too many to list.
pub fn changed_zones(starts: Option<&[u64]>) -> Vec<u8> {
    let mut page = vec![0; 4096];
    let starts = starts.filter(|all| all.len() < page.len() / 8);
    let count = starts.map_or(u16::MAX, |all| all.len() as u16);
    page[..2].copy_from_slice(&count.to_le_bytes());
    for (start, field) in starts.unwrap_or(&[]).iter().zip(page[8..].chunks_exact_mut(8)) {
        field.copy_from_slice(&start.to_le_bytes());
    }
    page
}

/// Log page of the supported log pages.
pub fn supported(pages: &[u8]) -> Vec<u8> {
    let mut page = vec![0; 1024];
    for number in pages {
        page[4 * usize::from(*number)] = 1;
    }
    page
}

/// Log page of a discovery controller: the only subsystem, at an address and port.
pub fn discovery(name: &str, address: &str, port: &str) -> Vec<u8> {
    let mut page = vec![0; 2 * RECORD_BYTES];
    page[..8].copy_from_slice(&1u64.to_le_bytes());
    page[8..16].copy_from_slice(&1u64.to_le_bytes());
    let record = &mut page[RECORD_BYTES..];
    record[0] = TRANSPORT_TCP;
    record[1] = if address.contains(':') { INTERNET_6 } else { INTERNET_4 };
    record[2] = SUBSYSTEM_NVM;
    record[4..6].copy_from_slice(&1u16.to_le_bytes());
    record[6..8].copy_from_slice(&ANY_CONTROLLER.to_le_bytes());
    record[8..10].copy_from_slice(&QUEUE_ENTRIES.to_le_bytes());
    let mut text = |at: usize, most: usize, text: &str, fill: u8| {
        let bytes = &text.as_bytes()[..text.len().min(most)];
        record[at..at + most].fill(fill);
        record[at..at + bytes.len()].copy_from_slice(bytes);
    };
    text(32, 32, port, b' ');
    text(256, 256, name, 0);
    text(512, 256, address, b' ');
    page
}
