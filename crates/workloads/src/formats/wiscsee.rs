//! Events of the `WiscSee` simulator: dispatches and completions, with offsets in bytes.
//!
//! A request arrives when it is dispatched; completions are left out and counted.

use super::row::{Format, Reader};
use crate::read::fields::{Extent, Fault, Field, S, blanks, columns};
use crate::read::head::{Head, blank_fields, is_decimal, is_digits};
use crate::record::{Line, LineError};
use engine::Op;

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.mostly(has_shape)),
    ..Format::new(
        "wiscsee",
        "WiscSee events: pid, D|C, read|write|discard, offset and size in bytes, time, wait, sync",
        Reader::Line(parse),
        || {
            b"909 D read 0 4096 0.000000000 0 False\n\
              909 C read 0 4096 0.000100000 0 False\n\
              909 D discard 134217728 4096 0.023623389 0.023623389 True\n"
                .to_vec()
        },
    )
};

const COLUMNS: &str = "8 columns separated by blanks: pid, D or C, read or write or discard, \
     offset in bytes, size in bytes, time in s, wait in s, True or False";
const ACTION: Field = Field::new("event", "D for a dispatch or C for a completion");
const OP: Field = Field::new("operation", "read, write or discard");
const TIME: Field = Field::new("time", "a time in s such as 0.023623389");

fn has_shape(line: &str) -> bool {
    let fields = blank_fields(line);
    let [pid, action, op, offset, size, time, _, sync] = fields[..] else { return false };
    [pid, offset, size].into_iter().all(is_digits)
        && matches!(action, "D" | "C")
        && matches!(op, "read" | "write" | "discard")
        && (is_decimal(time) || is_digits(time))
        && matches!(sync, "True" | "False")
}

fn parse(line: &[u8]) -> Result<Line, LineError> {
    let [_, action, op, offset, size, time, _, _] =
        blanks(line).map_err(|count| columns(count, COLUMNS))?;
    match action {
        b"D" => {}
        b"C" => return Ok(Line::Skip("completions")),
        _ => return Err(ACTION.fault(Fault::Bad, action)),
    }
    let op = if op == b"discard" { Op::Trim } else { OP.direction(op)? };
    Ok(Extent::parse(offset, size)?.line(TIME.time(time, S)?, 0, op))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused, skipped};
    use super::*;

    #[test]
    fn dispatches_count_and_completions_do_not() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let rows: Vec<_> = all.iter().map(|r| (r.at, r.op, r.sector, r.sectors)).collect();
        assert_eq!(rows, [(0, Op::Read, 0, 8), (23_623_389, Op::Trim, 262_144, 8)]);
        assert_eq!(skipped(&FORMAT, &(FORMAT.sample)()), [("completions", 1)]);
        refused(&FORMAT, "1 D erase 0 4096 0.0 0 False\n", "bad operation \"erase\"");
    }
}
