//! Events of the `WiscSee` simulator: dispatches and completions, with offsets in bytes.
//!
//! The arrival time is the dispatch time; completions are skipped and counted.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};

pub const FORMAT: Format = Format {
    ..Format::new(
        "wiscsee",
        "WiscSee events: pid, D|C, read|write|discard, offset and size in bytes, time, wait, sync",
        Reader::Known(&Known(&[Pattern {
            needs: "",
            line: r"^\s*\d+\s+(?<event>[DC])\s+(?<op>read|write|discard)\s+(?<offset>\d+)\s+(?<size>\d+)\s+(?<time>\d+(?:\.\d+)?)\s+\S+\s+(?:True|False)$",
            columns: "time=time:s,event=event,op=op,offset=offset:bytes,size=size:bytes",
            every: "8 columns separated by blanks: pid, D or C, read or write or discard, offset in \
                    bytes, size in bytes, time in s, wait in s, True or False",
        }])),
        || {
            b"909 D read 0 4096 0.000000000 0 False\n\
              909 C read 0 4096 0.000100000 0 False\n\
              909 D discard 134217728 4096 0.023623389 0.023623389 True\n"
                .to_vec()
        },
    )
};

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused, skipped};
    use super::*;
    use engine::Op;

    #[test]
    fn dispatches_count_and_completions_do_not() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let rows: Vec<_> = all.iter().map(|r| (r.at, r.op, r.sector, r.sectors)).collect();
        assert_eq!(rows, [(0, Op::Read, 0, 8), (23_623_389, Op::Trim, 262_144, 8)]);
        assert_eq!(skipped(&FORMAT, &(FORMAT.sample)()), [("complete_events", 1)]);
        let no_line = "line 1: it is no line of this format, expected 8 columns";
        refused(&FORMAT, "1 D erase 0 4096 0.0 0 False\n", no_line);
    }
}
