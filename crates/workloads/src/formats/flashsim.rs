//! The variant of `DiskSim`'s columns used by flash simulators: sizes in pages of 4 KiB.
//!
//! It is indistinguishable from `DiskSim` ASCII, and a mix-up makes sizes wrong by a factor of
//! eight. `DiskSim`'s own format is far more common, so this one must be named.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};

pub const FORMAT: Format = Format::new(
    "flashsim",
    "FlashSim ASCII: as disksim, but sizes in 4 KiB pages; only if it is named",
    Reader::Lines(|options, head| LINES.parser(options, head)),
    || b"26.214000\t0\t303574\t1\t0\n26.214000\t0\t240840\t2\t1\n".to_vec(),
);

const LINES: Known = Known(&[Pattern {
    needs: "",
    line: r"^\s*(?<time>\d*\.?\d+)\s+(?<device>\d+)\s+(?<sector>\d+)\s+(?<pages>\d+)\s+(?<op>[01])$",
    columns: "time=time:ms,device=device,offset=sector:sectors,size=pages*4096,op=op:0=write,1=read",
    every: "5 columns separated by tabs: time in ms, device number, first sector, pages, \
            0 for a write or 1 for a read",
}]);

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_with, refused};
    use super::*;
    use crate::read::stated::ReadOptions;
    use engine::Op;

    #[test]
    fn sizes_are_pages_and_the_format_must_be_named() {
        let sample = (FORMAT.sample)();
        let all = read(&FORMAT, &sample);
        let sizes: Vec<_> = all.iter().map(|record| (record.sectors, record.op)).collect();
        assert_eq!(sizes, [(8, Op::Write), (16, Op::Read)]);
        assert_eq!((all[0].at, all[0].device, all[0].sector), (26_214_000, 0, 303_574));
        let taken_for_disksim = read_with(&sample, &ReadOptions::default()).unwrap();
        assert_eq!(taken_for_disksim[0].sectors, 1);
        refused(&FORMAT, "1.5 0 8 536870912 1\n", "too large a size");
        refused(&FORMAT, "1.5 0 8 1 2\n", "it is no line of this format, expected 5 columns");
    }
}
