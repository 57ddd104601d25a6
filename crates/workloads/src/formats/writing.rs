//! Common code of format writers: counts of data that a format cannot express.

use crate::record::{Losses, Record};
use engine::{Handle, Op};
use std::io::{self, Write};

/// Writes records in a format's file syntax.
pub type Writer = fn(&mut dyn Iterator<Item = Record>, &mut dyn Write) -> io::Result<Losses>;

/// Data lost by formats without trims and flushes.
const NOT_READ_OR_WRITE: &str = "trims_and_flushes";
/// Data lost by formats without forced unit access.
pub(super) const FUA_LOST: &str = "fua_flags";
/// Data lost by formats without placement handles.
pub const HANDLE_LOST: &str = "placement_handles";
/// Data lost by formats without zones.
pub(super) const ZONES_LOST: &str = "zone_requests";
/// Requests whose offset in bytes exceeds 64 bits.
pub(super) const TOO_FAR: &str = "unaddressable_requests";
/// Data lost by formats with coarse times.
pub(super) const TIMES_ROUNDED: &str = "rounded_times";

/// Counts losses of a writer.
#[derive(Default)]
pub(super) struct Lost(pub(super) Losses);

impl Lost {
    /// Counts a loss of kind `what` if it `happened`.
    pub(super) fn count(&mut self, what: &'static str, happened: bool) {
        if !happened {
            return;
        }
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.0.push((what, 1)),
        }
    }

    /// Direction of a record in a format with only reads and writes and no forced unit access;
    /// counts the losses.
    pub(super) fn direction<T>(&mut self, record: &Record, read: T, write: T) -> Option<T> {
        let word = match record.op {
            Op::Read => read,
            Op::Write => write,
            Op::Trim | Op::Flush => {
                self.count(NOT_READ_OR_WRITE, true);
                return None;
            }
            _ => {
                self.count(ZONES_LOST, true);
                return None;
            }
        };
        self.count(FUA_LOST, record.fua);
        self.count(HANDLE_LOST, record.handle != Handle::NONE);
        Some(word)
    }
}
