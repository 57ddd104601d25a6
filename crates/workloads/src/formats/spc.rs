//! The SPC trace format of the `UMass` repository: one line of comma-separated fields per request.
//!
//! An application storage unit (ASU) is a device with its own address space. Fields after the fifth
//! are optional and ignored, as the specification requires. Addresses are in blocks of 512 B, sizes
//! in bytes.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};

pub const FORMAT: Format = Format::new(
    "spc",
    "SPC or UMass: ASU, first sector, bytes, R|W, time in s, separated by commas",
    Reader::Known(&Known(&[Pattern {
        needs: "",
        line: r"^\s*(?<asu>\d+)\s*,\s*(?<sector>\d+)\s*,\s*(?<bytes>\d+)\s*,\s*(?<op>[RrWw])\s*,\s*(?<time>\d*\.?\d+)\s*(?:,.*)?$",
        columns: "time=time:s,device=asu,offset=sector:sectors,size=bytes:bytes,op=op",
        every: "5 or more columns separated by commas: ASU, first sector, bytes, R or W, time in s",
    }])),
    || b"0,303567,3584,w,0.000000\n1,55590,3072,R,0.000000\n0,303574,512,w,0.026214\n".to_vec(),
);

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused};
    use super::*;
    use crate::record::Record;
    use engine::Op;

    #[test]
    fn lines_of_the_specification_are_read() {
        let text = b"0, 20941264, 8192, W, 0.551706, Alpha/NT\n1,1,100,r,1.5\n";
        let expected = [
            Record {
                at: 551_706_000,
                device: 0,
                op: Op::Write,
                sector: 20_941_264,
                sectors: 16,
                fua: false,
                handle: engine::Handle::NONE,
            },
            Record {
                at: 1_500_000_000,
                device: 1,
                op: Op::Read,
                sector: 1,
                sectors: 1,
                fua: false,
                handle: engine::Handle::NONE,
            },
        ];
        assert_eq!(read(&FORMAT, text), expected);
        let no_line = "it is no line of this format, expected 5 or more columns";
        refused(&FORMAT, "0,1,512,w\n", no_line);
        refused(&FORMAT, "0,1,0,w,0.1\n", "zero size");
        refused(&FORMAT, "0,99999999999999999,512,w,0.1\n", "too large a");
        refused(&FORMAT, "0,1,512,x,0.1\n", no_line);
    }
}
