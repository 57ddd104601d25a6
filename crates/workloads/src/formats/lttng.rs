//! Events of the block layer of `LTTng`, as printed by babeltrace.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};
use crate::record::Clock;

pub const FORMAT: Format = Format {
    clock: Clock::Epoch,
    may_state: &["columns", "event"],
    ..Format::new(
        "lttng",
        "block_rq_* and block_bio_* events of LTTng, as babeltrace prints them",
        Reader::Known(&Known(&[Pattern {
            needs: "nr_sector = ",
            line: r"^\[(?<time>[^\]]+)\] .*?(?<event>block_\w+):.*\bdev = (?<device>\d+), sector = (?<sector>\d+), nr_sector = (?<sectors>\d+),.*\brwbs = (?<op>\d+)",
            // The bits of lttng-modules: write, discard, read, read ahead, flush, forced unit access.
            columns: "time=time,event=event,op=op:bit1=trim,bit0=write,bit2=read,bit3=read,bit8=flush,bit10=flush,0=skip,\
                      offset=sector*512,size=sectors*512,device=device,fua=op:bit9",
            every: "",
        }])),
        || {
            b"[10:15:01.000001100] (+?.?????????) host block_rq_issue: { cpu_id = 2 }, { dev = 8388608, \
              sector = 2048, nr_sector = 8, bytes = 4096, tid = 1, rwbs = 17, comm = \"a\" }\n\
              [10:15:01.000201100] (+0.000200000) host block_rq_issue: { cpu_id = 2 }, { dev = 8388608, \
              sector = 4096, nr_sector = 16, bytes = 8192, tid = 1, rwbs = 12, comm = \"a\" }\n\
              [10:15:01.000301100] (+0.000100000) host block_rq_complete: { cpu_id = 2 }, { dev = 8388608, \
              sector = 2048, nr_sector = 8, errors = 0, rwbs = 17 }\n"
                .to_vec()
        },
    )
};

#[cfg(test)]
mod tests {
    use super::super::tests::{read, skipped};
    use super::*;
    use engine::Op;

    #[test]
    fn the_bits_say_the_operation_and_days_go_on_behind_midnight() {
        let sample = (FORMAT.sample)();
        let all = read(&FORMAT, &sample);
        let found: Vec<_> = all.iter().map(|it| (it.at, it.op, it.sector, it.sectors)).collect();
        let expected =
            [(36_901_000_001_100, Op::Write, 2048, 8), (36_901_000_201_100, Op::Read, 4096, 16)];
        assert_eq!((found, all[0].device), (expected.to_vec(), 8_388_608));
        assert_eq!(skipped(&FORMAT, &sample), [("complete_events", 1)]);
        let text = String::from_utf8(sample).unwrap();
        // Older versions print neither a context nor a blank before the fields.
        let older = text.replace(" { cpu_id = 2 }, {", "{");
        assert_eq!(read(&FORMAT, older.as_bytes()), all);
        let late = text.replacen("10:15:01", "23:59:59", 1).replace("10:15:01", "00:00:00");
        let all = read(&FORMAT, late.as_bytes());
        assert!(all[1].at - all[0].at < 1_001_000_000);
    }

    #[test]
    fn a_flush_before_a_write_and_forced_unit_access_are_kept() {
        let sample = String::from_utf8((FORMAT.sample)()).unwrap();
        let text = sample.replacen("rwbs = 17,", "rwbs = 1057,", 1).replacen("= 12,", "= 545,", 1);
        let found: Vec<_> =
            read(&FORMAT, text.as_bytes()).iter().map(|it| (it.op, it.fua)).collect();
        assert_eq!(found, [(Op::Flush, false), (Op::Write, false), (Op::Write, true)]);
    }
}
