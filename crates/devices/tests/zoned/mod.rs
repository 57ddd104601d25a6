//! Drives of zones: their states, their times, their windows, and what power cuts leave.

mod automaton;
mod host_log;
mod keys;
mod power;
mod times;
mod windows;

use devices::Model;
use devices::Report;
use devices::ssd::zoned::{ZonedConfig, ZonedDrive};
use engine::{Completion, Device, Lba, Op, Request, SECTOR_BYTES, Status, Time};
use options::Setting;
use serde::Deserialize;
use serde_json::json;

/// Sectors of 4 KiB.
pub const PAGE: u64 = 4096 / SECTOR_BYTES;

/// A drive with the defaults but for what a text says: lines of `key = value`, of which the last of a key holds.
pub fn config(text: &str) -> ZonedConfig {
    let mut all = json!({});
    for line in text.lines() {
        let (key, value) = line.split_once(" = ").expect("key = value");
        let mut at = &mut all;
        for part in key.split('.') {
            at = &mut at[part];
        }
        *at = match value.strip_prefix('\'') {
            Some(text) => json!(text.trim_end_matches('\'')),
            None => serde_json::from_str(value).expect("a number, true or false"),
        };
    }
    let partial = <ZonedConfig as Setting>::Partial::deserialize(all).unwrap();
    ZonedConfig::complete(partial, ZonedConfig::default())
}

/// The same, built.
pub fn drive(text: &str) -> ZonedDrive {
    ZonedDrive::with(&config(text), 1).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A small drive: 16 zones of 1 MiB in addresses and 768 KiB in capacity, on 4 dies with groups of 64 KiB.
pub const SMALL: &str = "channels = 2\ndies_per_channel = 2\nplanes_per_die = 2\npage_size = '16KiB'\nbits = 2\n\
    pages_per_block = 6\nbuffer.size = '4MiB'\nzones.count = 16\nzones.size = '1MiB'\nzones.capacity = '768KiB'\n\
    zones.open = 4\nzones.active = 6\nzones.append_limit = '128KiB'\n";

/// Asks one request after the other, each when the one before is answered; their answers.
pub fn ask(drive: &mut ZonedDrive, now: &mut Time, requests: &[Request]) -> Vec<Completion> {
    let mut all = Vec::new();
    for request in requests {
        all.extend(closed(drive, now, 1, 1, |_| *request));
    }
    all
}

/// Asks `count` requests, of which `depth` are outstanding; their answers in order.
pub fn closed(
    drive: &mut ZonedDrive,
    now: &mut Time,
    depth: u64,
    count: u64,
    mut next: impl FnMut(u64) -> Request,
) -> Vec<Completion> {
    let mut answers = Vec::new();
    let (mut asked, mut done) = (0, 0);
    while done < count {
        while asked < count && asked - done < depth {
            drive.submit(*now, Request { id: asked, ..next(asked) });
            asked += 1;
        }
        let at = drive.next_event().expect("something is outstanding");
        *now = (*now).max(at);
        let before = answers.len();
        drive.advance(*now, &mut answers);
        done += (answers.len() - before) as u64;
    }
    drive.audit().unwrap();
    answers
}

/// Lets the drive come to rest.
pub fn settle(drive: &mut ZonedDrive, now: &mut Time) {
    let mut none = Vec::new();
    while let Some(at) = drive.next_event() {
        *now = at;
        drive.advance(at, &mut none);
    }
    assert!(none.is_empty());
    drive.audit().unwrap();
}

pub fn request(op: Op, sector: u64, sectors: u64) -> Request {
    Request::new(0, op, Lba(sector), sectors as u32)
}

/// Writes a zone of `size` sectors from its pointer `from` up to `to`, by 128 KiB.
pub fn write_up_to(drive: &mut ZonedDrive, now: &mut Time, start: u64, from: u64, to: u64) {
    let mut at = from;
    while at < to {
        let sectors = (to - at).min(256);
        let answer = ask(drive, now, &[request(Op::Write, start + at, sectors)])[0];
        assert_eq!(answer.status, Status::Ok, "at {at}");
        at += sectors;
    }
}

pub fn report(drive: &ZonedDrive, now: Time) -> Report {
    drive.report(now).section("zones").expect("it has zones").clone()
}
