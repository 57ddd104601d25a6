//! Events of the block layer as ftrace, trace-cmd and perf script print them.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};
use crate::record::Clock;

pub const FORMAT: Format = Format {
    clock: Clock::Epoch,
    may_state: &["columns", "event"],
    ..Format::new(
        "ftrace",
        "block_rq_* and block_bio_* events of ftrace, trace-cmd or perf script",
        Reader::Known(&Known(&[
            Pattern {
                needs: "block_",
                line: r" (?<time>\d+\.\d+): +(?:block:)?(?<event>block_(?:rq|bio|getrq|split)\w*): +(?<device>\d+,\d+) (?<op>[A-Za-z]+) (?:\d+ )?(?:\([^)]*\) )?(?<sector>\d+) \+ (?<sectors>\d+)",
                columns: "time=time:s,event=event,op=op,offset=sector*512,size=sectors*512,device=device",
                every: "",
            },
            // The tracer "blk" of ftrace (kernel/trace/blktrace.c, blk_log_action and blk_log_generic).
            Pattern {
                needs: " + ",
                line: r" (?<time>\d+\.\d+): +(?<device>\d+,\d+) +(?<event>[A-Za-z]+) +(?<op>[A-Za-z]+) (?<sector>\d+) \+ (?<sectors>\d+) ",
                columns: "time=time:s,event=event,op=op,offset=sector*512,size=sectors*512,device=device",
                every: "",
            },
        ])),
        || {
            b"# tracer: nop\n\
              \x20    fio-12      [000] .....  10.000001: block_rq_insert: 8,0 WS 4096 () 64 + 8 [fio]\n\
              \x20    fio-12      [000] .....  10.000002: block_rq_issue: 8,0 WS 4096 () 64 + 8 [fio]\n\
              \x20 <idle>-0       [000] d.h..  10.000102: block_rq_complete: 8,0 WS () 64 + 8 [0]\n\
              \x20    fio-12      [000] .....  10.000200: sched_switch: prev_comm=fio\n\
              \x20    fio-12      [000] .....  10.000202: block_rq_issue: 8,0 RA 131072 () 640 + 256 [fio]\n"
                .to_vec()
        },
    )
};

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_with, skipped};
    use super::*;
    use crate::read::stated::{BlockEvent, ReadOptions};
    use crate::record::device_number;
    use engine::Op;

    #[test]
    fn issues_are_arrivals_and_other_events_are_counted() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let found: Vec<_> = all.iter().map(|it| (it.at, it.op, it.sector, it.sectors)).collect();
        let expected = [(10_000_002_000, Op::Write, 64, 8), (10_000_202_000, Op::Read, 640, 256)];
        assert_eq!((found, all[0].device), (expected.to_vec(), device_number(8, 0)));
        let counted = skipped(&FORMAT, &(FORMAT.sample)());
        let expected = [("insert_events", 1), ("complete_events", 1), ("other_lines", 1)];
        assert_eq!(counted, expected);
        let ends = ReadOptions { event: BlockEvent::Complete, ..ReadOptions::default() };
        assert_eq!(read_with(&(FORMAT.sample)(), &ends).unwrap()[0].at, 10_000_102_000);
    }

    #[test]
    fn lines_of_perf_and_of_trace_cmd_are_read_and_a_flush_has_no_sectors() {
        let text = b"fio 77 [001]  3.000001: block:block_rq_issue: 259,0 FF 0 () 0 + 0 [fio]\n\
                     fio-77    [001]     3.000002: block_bio_queue:      259,0 WFS 8 + 8 [my fio]\n\
                     fio 77 [001]  3.000003: block:block_rq_issue: 259,0 FWS 4096 () 8 + 8 none,0,0 [fio]\n";
        let issues = ReadOptions { event: BlockEvent::Issue, ..ReadOptions::default() };
        let found: Vec<_> = read_with(text, &issues).unwrap().iter().map(|it| it.op).collect();
        assert_eq!(found, [Op::Flush, Op::Flush, Op::Write]);
        let queued = read_with(text, &ReadOptions::default()).unwrap();
        assert_eq!((queued.len(), queued[0].fua), (1, true));
    }

    #[test]
    fn the_tracer_of_the_block_layer_is_read_and_atomic_writes_have_a_letter() {
        let text = b"# tracer: blk\n#\n\
            dd-2345  [001] .....   12.000001:   8,0    Q   R 1234 + 8 [dd]\n\
            dd-2345  [001] .....   12.000002:   8,0    G   R 1234 + 8 [dd]\n\
            dd-2345  [001] .....   12.000003:   8,0    P   N [dd]\n\
            dd-2345  [001] .....   12.000004:   8,0    A  WS 1300 + 8 <- (8,1) 276\n\
            dd-2345  [001] .....   12.000005:   8,0    Q WSU 1300 + 8 [dd]\n";
        let found: Vec<_> =
            read(&FORMAT, text).iter().map(|it| (it.at, it.op, it.sector)).collect();
        assert_eq!(found, [(12_000_001_000, Op::Read, 1234), (12_000_005_000, Op::Write, 1300)]);
        let counted = skipped(&FORMAT, text);
        assert_eq!(counted, [("get_events", 1), ("other_lines", 1), ("remap_events", 1)]);
    }
}
