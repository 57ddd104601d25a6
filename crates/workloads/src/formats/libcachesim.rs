//! The CSV form of the `CloudPhysics` traces from libCacheSim: SCSI codes in hex, times in whole
//! seconds.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};
use crate::read::fields::S;
use crate::read::head::Head;
use crate::record::Clock;

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.starts(HEADER)),
    has_header: true,
    clock: Clock::Epoch,
    tick_ns: Some(S),
    ..Format::new(
        "libcachesim",
        "libCacheSim CSV: header version,time,op,size,lbn, time in s, SCSI opcode in hex, bytes",
        Reader::Known(&Known(&[Pattern {
            needs: HEADER,
            line: r"^\s*\d+\s*,\s*(?<time>\d*\.?\d+)\s*,\s*(?:0x)?0*(?<op>[0-9a-fA-F]+)\s*,\s*(?<size>\d+)\s*,\s*(?<lbn>\d+)$",
            // Codes of SPC-4 and SBC-3.
            columns: "time=time:s,offset=lbn:sectors,size=size:bytes,op=op:8=read,28=read,a8=read,88=read,\
                      a=write,2a=write,aa=write,8a=write,2e=write,8e=write,42=trim,35=flush,91=flush,*=skip",
            every: HEADER,
        }])),
        || {
            b"version,time,op,size,lbn\n1,5633898,2a,512,42932745\n1,5633899,28,4096,42932752\n\
              1,5633899,91,0,0\n"
                .to_vec()
        },
    )
};

const HEADER: &str = "version,time,op,size,lbn";

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused, skipped};
    use super::*;
    use crate::record::Record;
    use engine::Op;

    #[test]
    fn lines_are_read_exactly() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let first = Record {
            at: 5_633_898 * S,
            device: 0,
            op: Op::Write,
            sector: 42_932_745,
            sectors: 1,
            fua: false,
            handle: engine::Handle::NONE,
        };
        assert_eq!((all.len(), all[0], all[1].op, all[2].op), (3, first, Op::Read, Op::Flush));
        let others = b"version,time,op,size,lbn\n1,1,12,512,1\n1,1,0x0A,512,1\n1,1,2A,512,1\n";
        assert_eq!(read(&FORMAT, others).len(), 2);
        assert_eq!(skipped(&FORMAT, others), [("header_lines", 1), ("other_commands", 1)]);
        refused(&FORMAT, "1,1,2x,512,1\n", "it is no line of this format, expected version,time");
        refused(&FORMAT, "1,1,2a,0,1\n", "zero size");
    }
}
