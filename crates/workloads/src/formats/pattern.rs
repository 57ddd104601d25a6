//! Lines that match a user pattern, whose named groups are columns.

use super::known::of_user;
use super::row::{Format, Reader};
use crate::read::head::Head;
use crate::record::Clock;

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.states("pattern")),
    clock: Clock::Epoch,
    disorder_ns: 60_000_000_000,
    stated: &[("pattern", r"^at (?<time_us>\d+): (?<op>\w+) of (?<bytes>\d+) from (?<offset>\d+)")],
    may_state: &["columns", "read_share", "event"],
    ..Format::new(
        "pattern",
        "any lines, with workload.pattern naming the groups that say what",
        Reader::Lines(of_user),
        || b"begin\nat 5: read of 4096 from 8192\nat 9: W of 512 from 0\n".to_vec(),
    )
};
