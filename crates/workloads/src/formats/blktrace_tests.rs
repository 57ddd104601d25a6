//! Tests of binary events: either byte order, several processors, a tar, and damaged files.

use super::super::tests::{read, read_inputs, read_with, skipped};
use super::*;
use crate::read::batch::Counted;
use crate::read::inputs::Inputs;
use crate::read::siblings::tar;
use crate::read::stated::{BlockEvent, ReadOptions};
use engine::{Op, Random, Xoshiro256};
use std::io::{self, Cursor};

fn queue(at: u64, sector: u64, category: u32) -> Vec<u8> {
    event(false, at, sector, 512, ((category | 0x10) << 16) | 1)
}

fn sectors(all: &[Record]) -> Vec<u64> {
    all.iter().map(|record| record.sector).collect()
}

#[test]
fn either_byte_order_gives_the_same() {
    let little = read(&FORMAT, &sample(false));
    let first = Record {
        at: 1000,
        device: (8 << 20) + 1,
        op: Op::Read,
        sector: 64,
        sectors: 8,
        fua: false,
        handle: engine::Handle::NONE,
    };
    let second = Record { at: 2000, op: Op::Write, sector: 128, sectors: 16, fua: true, ..first };
    assert_eq!(little, [first, second]);
    assert_eq!(read(&FORMAT, &sample(true)), little);
    assert_eq!(skipped(&FORMAT, &sample(false)), [("messages", 1), ("issue_events", 1)]);
    let options = ReadOptions { event: BlockEvent::Issue, ..ReadOptions::default() };
    assert_eq!(read_with(&sample(false), &options).unwrap()[0].at, 1500);
}

#[test]
fn flushes_are_kept_and_remaps_and_merges_are_not_counted_twice() {
    let remap = event(false, 1, 9, 512, (0x11 << 16) | 15);
    let merge = event(false, 1, 9, 512, (0x11 << 16) | 2);
    let flush = event(false, 3, 0, 0, ((4 | 0x10) << 16) | 1);
    let trace = [remap, queue(1, 9, 1), merge, queue(2, 10, 6), flush].concat();
    let ops: Vec<Op> = read(&FORMAT, &trace).iter().map(|record| record.op).collect();
    assert_eq!(ops, [Op::Read, Op::Flush, Op::Write, Op::Flush]);
    assert_eq!(skipped(&FORMAT, &trace), [("remap_events", 1), ("merge_events", 1)]);
}

/// Three processors; the second was idle.
fn files() -> [(&'static str, Vec<u8>); 3] {
    [
        ("a.blktrace.0", [queue(10, 1, 1), queue(30, 3, 1)].concat()),
        ("a.blktrace.1", Vec::new()),
        ("a.blktrace.2", [queue(20, 2, 1), queue(30, 4, 2), queue(40, 5, 1)].concat()),
    ]
}

#[test]
fn processors_are_merged_by_time_from_files_or_a_tar() {
    let inputs = Inputs::streams(|name| {
        let found = files().into_iter().find(|(known, _)| *known == name);
        let (_, bytes) = found.ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(bytes)))
    });
    for name in ["a.blktrace.0", "a"] {
        let all = read_inputs(&inputs, name, &ReadOptions::default()).unwrap();
        assert_eq!(sectors(&all), [1, 2, 3, 4, 5], "{name}");
    }
    let alone = read_inputs(&inputs, "a.blktrace.2", &ReadOptions::default()).unwrap();
    assert_eq!(sectors(&alone), [2, 4, 5]);
    let files = files();
    let members: Vec<(&str, &[u8])> = files.iter().map(|(n, bytes)| (*n, &bytes[..])).collect();
    let tar = tar(&members);
    assert_eq!(sectors(&read_with(&tar, &ReadOptions::default()).unwrap()), [1, 2, 3, 4, 5]);
    let error = read_inputs(&Inputs::memory("-", tar), "-", &ReadOptions::default()).unwrap_err();
    assert!(error.contains("standard input does not allow"), "{error}");
}

#[test]
fn errors_in_broken_traces_name_the_place() {
    let mut bytes = sample(false);
    bytes.truncate(bytes.len() - 1);
    let error = read_with(&bytes, &ReadOptions::default()).unwrap_err();
    assert!(error.starts_with("trace t is truncated after record 3: "), "{error}");
    let wrong = [sample(false), vec![1; 48]].concat();
    let error = read_with(&wrong, &ReadOptions::default()).unwrap_err();
    assert!(error.contains("record 4: an event begins with 0x01010101, expected"), "{error}");
}

/// Returns a few bytes per read.
struct Pieces(Cursor<Vec<u8>>, usize);

impl io::Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.1);
        io::Read::read(&mut self.0, &mut buffer[..most])
    }
}

/// Records with their numbers, and the events skipped before each.
type All = (Vec<(Record, u64)>, Vec<(&'static str, u64)>);

fn all_of(source: &mut dyn Source) -> All {
    let (mut found, mut counted) = (Vec::new(), Counted::default());
    loop {
        let mut batch = Batch::default();
        let continues = source.read(&mut batch).unwrap();
        found.extend((0..batch.records.len()).map(|at| (batch.records[at], batch.number_of(at))));
        batch.notes.count_into(&mut counted, usize::MAX);
        if !continues {
            return (found, counted.all().to_vec());
        }
    }
}

#[test]
fn events_taken_in_one_loop_are_those_taken_one_by_one() {
    let mut random = Xoshiro256::new(5, 0);
    for (big, piece) in [(false, 1), (false, 100), (true, 47), (true, 5000), (false, 1 << 20)] {
        let mut bytes = Vec::new();
        for number in 0..20_000 {
            let category = [1, 2, 3, 4, 0x8002, 0x8006, 0x2002, 0x400, 0x201, 0x10];
            let category = category[random.below(category.len() as u64) as usize];
            let action = (category << 16) | (random.below(19) as u32 / 6 * 6 + 1);
            let mut one =
                event(big, number * 7, random.below(99), random.below(9) as u32 * 512, action);
            let behind = random.below(4) as u16 * 9;
            let length = if big { behind.to_be_bytes() } else { behind.to_le_bytes() };
            one[46..48].copy_from_slice(&length);
            bytes.extend(one);
            bytes.extend(vec![7; usize::from(behind)]);
        }
        let merged = || Merged {
            streams: vec![Stream {
                bytes: Bytes::new(Box::new(Pieces(Cursor::new(bytes.clone()), piece))),
                big,
                events: 0,
            }],
            waiting: vec![None],
            order: BinaryHeap::new(),
            chosen: b'Q',
            started: false,
            behind_flush: None,
        };
        let (found, counted) = all_of(&mut Alone(merged()));
        assert_eq!((found.clone(), counted), all_of(&mut merged()));
        assert!(found.len() > 1000 && found.iter().any(|(it, _)| it.op == Op::Flush));
    }
}
