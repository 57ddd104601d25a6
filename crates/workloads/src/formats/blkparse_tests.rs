//! Tests of blkparse's text: counting, skipped events, and declared layouts.

use super::super::tests::{read, read_as, read_with, refused, skipped};
use super::*;
use crate::read::stated::BlockEvent;
use crate::record::Record;
use engine::Op;

const DEVICE_259_2: u32 = (259 << 20) + 2;

#[test]
fn each_request_counts_once_and_a_flush_before_it_is_kept() {
    let record = |at, op, sector, sectors| Record {
        at,
        device: DEVICE_259_2,
        op,
        sector,
        sectors,
        fua: false,
        handle: engine::Handle::NONE,
    };
    let expected = [
        record(0, Op::Write, 282_624, 8),
        record(4650, Op::Read, 4096, 16),
        record(5650, Op::Trim, 8192, 64),
        Record::flush(6650, DEVICE_259_2),
        Record { fua: true, ..record(6650, Op::Write, 64, 8) },
    ];
    assert_eq!(read(&FORMAT, SAMPLE), expected);
    let counted = [("remap_events", 1), ("get_events", 1), ("plug_events", 1), ("text_lines", 2)];
    assert_eq!(skipped(&FORMAT, SAMPLE), counted);
}

#[test]
fn commands_of_zones_have_letters_of_their_own() {
    let line =
        |letters: &str, place: &str| format!("8,0 0 1 1.000000000 7 Q {letters} {place} [a]\n");
    let rows = [
        ("ZA", "0 + 8", Op::Append, 0, 8),
        ("ZR", "4096 + 0", Op::Reset, 4096, 1),
        ("ZRA", "0 + 0", Op::Reset, 0, 0),
        ("ZF", "8192 + 0", Op::Finish, 8192, 1),
        ("ZO", "8192 + 0", Op::Open, 8192, 1),
        ("ZC", "8192 + 0", Op::Close, 8192, 1),
        ("WS", "64 + 8", Op::Write, 64, 8),
    ];
    for (letters, place, op, sector, sectors) in rows {
        let all = read(&FORMAT, line(letters, place).as_bytes());
        let found: Vec<_> = all.iter().map(|it| (it.op, it.sector, it.sectors)).collect();
        assert_eq!(found, [(op, sector, sectors)], "{letters}");
    }
}

#[test]
fn the_event_that_counts_is_the_first_there_is_or_the_stated() {
    let text = b"8,0 0 1 1.000000000 7 D R 8 + 8 [a]\n8,0 0 2 2.000000000 0 C R 8 + 8 [0]\n";
    let times = |event| {
        let options = ReadOptions { event, ..ReadOptions::default() };
        let all = read_with(text, &options).unwrap();
        all.iter().map(|record| record.at / S).collect::<Vec<_>>()
    };
    assert_eq!(times(BlockEvent::Auto), [1]);
    assert_eq!(times(BlockEvent::Issue), [1]);
    assert_eq!(times(BlockEvent::Complete), [2]);
    assert!(times(BlockEvent::Queue).is_empty());
}

#[test]
fn declared_layouts_are_read() {
    let text = b"Q 1.000000005 WS 64+4096 8:1 (my, job)\nC 2.000000000 WS 64+4096 8:1 (0)\n";
    let with =
        |layout: &str| ReadOptions { layout: Some(layout.to_owned()), ..ReadOptions::default() };
    let all = read_as(&FORMAT, text, &with("%a %5T.%9t %3d %S+%N %M:%m (%C)\\n")).unwrap();
    let expected = Record {
        at: S + 5,
        device: (8 << 20) + 1,
        op: Op::Write,
        sector: 64,
        sectors: 8,
        fua: false,
        handle: engine::Handle::NONE,
    };
    assert_eq!(all, [expected]);
    let rows = [
        ("%a %d %S %n", "lacks the time (%T.%t)"),
        ("%a %d %S %n %T %x", "\"%x\" is no value that blkparse prints"),
        ("%", "\"%\" is no value"),
    ];
    for (layout, problem) in rows {
        let error = read_as(&FORMAT, text, &with(layout)).unwrap_err();
        assert!(error.starts_with("workload.layout") && error.contains(problem), "{error}");
    }
}

/// Events as printed by the kernel: without a sector, or with a size of zero bytes and no sector.
#[test]
fn a_flush_without_a_sector_is_a_flush() {
    let lines = [
        "259,0 11 2 0.024124474 1889 Q FWFS [jbd2/dm-4-8]\n",
        "259,0 11 5 0.024124474 901 D FN [kworker/11:1H]\n",
        "259,0 11 6 0.024124474 0 C FN 0 [0]\n",
        "259,0 11 6 0.024124474 12 Q FWS [my job]\n",
    ];
    for line in lines {
        assert_eq!(
            read(&FORMAT, line.as_bytes()),
            [Record::flush(24_124_474, 259 << 20)],
            "{line}"
        );
    }
    for line in ["8,0 0 1 1.000000000 7 D N 0 (00 ..) [a]\n", "8,0 0 1 1.000000000 7 D N [a b]\n"] {
        assert!(read(&FORMAT, line.as_bytes()).is_empty(), "{line}");
        assert_eq!(skipped(&FORMAT, line.as_bytes()), [("without_data", 1)], "{line}");
    }
    // A line without sectors and without a process is refused.
    refused(&FORMAT, "8,0 0 1 1.000000000 7 Q FWS x [a]\n", "bad text");
    refused(&FORMAT, "8,0 0 1 1.000000000 7 Q FWS 8 8 [a]\n", "bad text");
}

#[test]
fn broken_lines_are_refused() {
    refused(&FORMAT, "8,0 0 1 1.000000000 7 Q R 8 x 8 [a]\n", "bad text \"x 8 [a]\"");
    refused(&FORMAT, "8,0 0 1 1.9999999999 7 Q R 8 + 8 [a]\n", "too large a time");
    refused(&FORMAT, "8,0 0 1\n", "bad text");
    assert_eq!(skipped(&FORMAT, b"8,0 0 1 1.000000000 7 Q N 0 + 0 [a]\n"), [("without_data", 1)]);
}
