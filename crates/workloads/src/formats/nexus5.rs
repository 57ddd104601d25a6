//! Traces of a Nexus 5 phone (Zhou et al.): eight columns separated by tabs.
//!
//! The arrival time is the time at which the request was generated. Bit 0 of the status is set for
//! a write.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};
use crate::record::Clock;

pub const FORMAT: Format = Format {
    clock: Clock::Epoch,
    disorder_ns: 60_000_000_000,
    ..Format::new(
        "nexus5",
        "Nexus 5: first sector, sectors, bytes, status (1 = write), four times in s",
        Reader::Known(&Known(&[Pattern {
            needs: "",
            line: r"^\s*(?<sector>\d+)\s+(?<sectors>\d+)\s+\d+\s+(?<op>\d+)\s+(?<time>0|\d+\.\d+)\s+(?:0|\d+\.\d+)\s+(?:0|\d+\.\d+)\s+(?<end>0|\d+\.\d+)$",
            columns: "time=time:s,end=end:s,offset=sector:sectors,size=sectors:sectors,\
                      op=op:bit0=write,0=read,4=read,bit1=read,bit2=read,bit3=read",
            every: "8 columns separated by tabs: first sector, sectors, bytes, status, times in s of \
                    generation, processing, submission and end",
        }])),
        || {
            b"0\t\t8\t\t4096\t\t4\t\t1.740780627\t\t1.740812815\t\t1.740851877\t\t1.741075471\n\
              8\t\t8\t\t4096\t\t5\t\t1.741165940\t\t1.741177190\t\t1.741193648\t\t1.741418961\n"
                .to_vec()
        },
    )
};

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused};
    use super::*;
    use crate::read::inputs::Inputs;
    use crate::read::stated::ReadOptions;
    use crate::record::Record;
    use crate::records::Records;
    use engine::Op;

    #[test]
    fn requests_arrive_when_they_are_generated() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let expected = Record {
            at: 1_741_165_940,
            device: 0,
            op: Op::Write,
            sector: 8,
            sectors: 8,
            fua: false,
            handle: engine::Handle::NONE,
        };
        assert_eq!((all[0].op, all[1]), (Op::Read, expected));
        refused(&FORMAT, "0\t8\t4096\t4\t1.7\t1.7\t1.7\n", "expected 8 columns separated");
    }

    #[test]
    fn the_response_is_from_generation_to_end() {
        let inputs = Inputs::memory("t", *b"0\t8\t4096\t4\t1.5\t1.6\t1.7\t1.500250\n");
        let mut records = Records::open(&inputs, "t", None, &ReadOptions::default()).unwrap();
        assert!(records.states_responses() && FORMAT.states_responses());
        assert!(records.next_record().unwrap().is_some());
        assert_eq!(records.response(), Some(250_000));
    }
}
