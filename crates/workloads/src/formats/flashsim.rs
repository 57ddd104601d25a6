//! The variant of `DiskSim`'s columns used by flash simulators: sizes in pages of 4 KiB.
//!
//! It is indistinguishable from `DiskSim` ASCII, and a mix-up makes sizes wrong by a factor of
//! eight. `DiskSim`'s own format is far more common, so this one must be named.

use super::row::{Format, Reader};
use crate::read::fields::{DEVICE, Fault, Field, MS, SECTOR, blanks, columns};
use crate::record::{Line, LineError, Record};
use crate::units::PAGE_SECTORS;
use engine::Op;

pub const FORMAT: Format = Format::new(
    "flashsim",
    "FlashSim ASCII: as disksim, but sizes in 4 KiB pages; only if it is named",
    Reader::Line(parse),
    || b"26.214000\t0\t303574\t1\t0\n26.214000\t0\t240840\t2\t1\n".to_vec(),
);

const COLUMNS: &str = "5 columns separated by tabs: \
     time in ms, device number, first sector, pages, 0 for a write or 1 for a read";
const TIME: Field = Field::new("time", "a time in ms such as 26.214000");
const PAGES: Field = Field::new("size", "a number of 4 KiB pages from 1 to 536870911");
const OP: Field = Field::new("type", "0 for a write or 1 for a read");

fn parse(line: &[u8]) -> Result<Line, LineError> {
    let [time, device, sector, size, op] = blanks(line).map_err(|count| columns(count, COLUMNS))?;
    let at = TIME.time(time, MS)?;
    let device = DEVICE.u32(device)?;
    let sector = SECTOR.u64(sector)?;
    let sectors = PAGES.positive(size)?.checked_mul(PAGE_SECTORS as u32);
    let sectors = sectors.ok_or_else(|| PAGES.fault(Fault::TooLarge, size))?;
    let op = match op {
        b"0" => Op::Write,
        b"1" => Op::Read,
        _ => return Err(OP.fault(Fault::Bad, op)),
    };
    Ok(Line::Record(Record {
        at,
        device,
        op,
        sector,
        sectors,
        fua: false,
        handle: engine::Handle::NONE,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_with};
    use super::*;
    use crate::read::stated::ReadOptions;

    #[test]
    fn sizes_are_pages_and_the_format_must_be_named() {
        let sample = (FORMAT.sample)();
        let all = read(&FORMAT, &sample);
        let sizes: Vec<_> = all.iter().map(|record| (record.sectors, record.op)).collect();
        assert_eq!(sizes, [(8, Op::Write), (16, Op::Read)]);
        let taken_for_disksim = read_with(&sample, &ReadOptions::default()).unwrap();
        assert_eq!(taken_for_disksim[0].sectors, 1);
    }
}
