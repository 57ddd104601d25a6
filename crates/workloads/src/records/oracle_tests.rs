//! Compares the reader with a simple line-by-line reader: equal requests, numbers, lines, counts
//! and messages, for any split of the input into pieces, and with or without a thread.

use super::*;
use crate::formats::tests::stated;
use crate::read::head::is_data;
use crate::read::lines::LineParser;
use crate::record::{Line, LineError, shown};
use engine::{Op, Random};
use proptest::prelude::*;
use std::sync::Arc;

/// A request with the number of its line, the line itself, and its response time.
type Request = (Record, u64, Option<Vec<u8>>, Option<Time>);

/// The output of a reader for a trace, step by step.
#[derive(Debug, Default, PartialEq)]
struct Told {
    requests: Vec<Request>,
    counted: Vec<Vec<(&'static str, u64)>>,
    error: Option<String>,
    lines: u64,
}

/// Output of [`Records`].
fn told(inputs: &Inputs, format: &'static Format, options: &ReadOptions) -> Told {
    let mut told = Told::default();
    let mut records = match Records::open(inputs, "t", Some(format), options) {
        Ok(records) => records,
        Err(error) => return Told { error: Some(error.to_string()), ..told },
    };
    loop {
        let found = records.next_record();
        told.counted.push(records.counted());
        match found {
            Ok(Some(record)) => {
                let line = records.raw_line().map(<[u8]>::to_vec);
                // Counting lines is slow.
                let number = if told.requests.len() % 17 < 2 { records.number() } else { 0 };
                told.requests.push((record, number, line, records.response()));
            }
            Ok(None) => break,
            Err(error) => {
                told.error = Some(error.0);
                break;
            }
        }
    }
    told.lines = records.number();
    told
}

/// The output expected for a text, from its lines parsed one by one.
fn oracle(text: &[u8], format: &'static Format, options: &ReadOptions) -> Told {
    let mut told = Told::default();
    let head = Head::new(&text[..text.len().min(HEAD_BYTES)], text.len() < HEAD_BYTES, options);
    let parser: Result<Box<dyn LineParser>, Invalid> = match &format.reader {
        Reader::Lines(parser) => parser(options, &head),
        Reader::Known(known) => known.parser(options, &head),
        Reader::Bytes(_) => panic!("{} is no text", format.name),
    };
    let mut parser = match parser {
        Ok(parser) => parser,
        // The head decides: for example, a declared column may be missing from a header line.
        Err(error) => return Told { error: Some(error.to_string()), ..told },
    };
    let stating = parser.responses();
    let (mut counted, mut tolerated) = (Counted::default(), options.skip_bad);
    let mut random = Xoshiro256::new(options.seed, streams::TRACE_DIRECTIONS);
    let pieces = text.split_inclusive(|byte| *byte == b'\n');
    for (line, whole) in
        pieces.map(|it| it.strip_suffix(b"\n").map_or((it, false), |it| (it, true)))
    {
        told.lines += 1;
        if line.len() >= HEAD_BYTES {
            let problem = "the line is longer than 64 KiB, expected a trace; it begins with";
            let problem = format!("{problem} \"{}\"", shown(line));
            told.error = Some(format!("trace t, line {}: {problem}", told.lines));
            break;
        }
        if !is_data(line) {
            continue;
        }
        let found = match parser.line(line) {
            Ok(Line::Record(record)) => vec![record],
            Ok(Line::AfterFlush(record)) => vec![Record::flush(record.at, record.device), record],
            Ok(Line::Noted(record, what)) => {
                counted.add_many(what, 1);
                vec![record]
            }
            Ok(Line::Skip(why)) => {
                counted.add_many(why, 1);
                continue;
            }
            Err(_) if tolerated > 0 => {
                tolerated -= 1;
                counted.add_many("unreadable_lines", 1);
                continue;
            }
            Err(LineError { problem, expected }) => {
                let end = if whole {
                    ""
                } else {
                    "; the line has no end, so the file is probably truncated"
                };
                let line = shown(line);
                let place = format!("trace t, line {}", told.lines);
                told.error = Some(format!(
                    "{place}: {problem}, expected {expected}; the line is \"{line}\"{end}"
                ));
                break;
            }
        };
        for mut record in found {
            if let Some(share) = options.read_share {
                record.op = if random.unit() < share { Op::Read } else { Op::Write };
                counted.add_many("drawn_directions", 1);
            }
            told.counted.push(counted.all().to_vec());
            let response = match &stating {
                Some(response) => response(line),
                None => format.response.and_then(|response| response(line)),
            };
            let number = if told.requests.len() % 17 < 2 { told.lines } else { 0 };
            told.requests.push((record, number, Some(line.to_vec()), response));
        }
    }
    told.counted.push(counted.all().to_vec());
    told
}

/// An input in pieces of odd sizes.
struct Pieces {
    bytes: Arc<[u8]>,
    at: usize,
    step: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let length = rest.len().min(buffer.len()).min(1 + self.at * 31 % self.step);
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        Ok(length)
    }
}

fn pieces(text: &[u8], step: usize) -> Inputs {
    let bytes: Arc<[u8]> = text.into();
    Inputs::streams(move |_| Ok(Box::new(Pieces { bytes: Arc::clone(&bytes), at: 0, step })))
}

fn text_formats() -> Vec<&'static Format> {
    FORMATS.iter().filter(|format| !matches!(format.reader, Reader::Bytes(_))).collect()
}

/// Asserts that all readers agree with the oracle.
fn check(text: &[u8], format: &'static Format, options: &ReadOptions) {
    if text.is_empty() {
        return;
    }
    let expected = oracle(text, format, options);
    let inputs = [
        Inputs::memory("t", text),
        Inputs::memory("t", text).with_threads(2),
        pieces(text, 100_000).with_threads(2),
        pieces(text, 97),
    ];
    for inputs in inputs {
        let found = told(&inputs, format, options);
        let name = format.name;
        for (index, (found, expected)) in found.requests.iter().zip(&expected.requests).enumerate()
        {
            assert_eq!(found, expected, "{name}: request {index}");
        }
        assert_eq!(found.error, expected.error, "{name}");
        assert_eq!(found.requests.len(), expected.requests.len(), "{name}");
        assert_eq!(found.lines, expected.lines, "{name}");
        // Counts at an error are not compared.
        let steps = expected.requests.len() + usize::from(expected.error.is_none());
        assert_eq!(found.counted[..steps], expected.counted[..steps], "{name}");
    }
}

/// Lines of a format: its sample's lines repeated with other digits.
fn lines(format: &Format, count: usize, seed: u64) -> Vec<Vec<u8>> {
    let sample = (format.sample)();
    let lines: Vec<&[u8]> =
        sample.split(|byte| *byte == b'\n').filter(|it| !it.is_empty()).collect();
    let mut random = Xoshiro256::new(seed, 1);
    let mut line = |index: usize| -> Vec<u8> {
        let line = lines[index % lines.len()];
        let mut change = |byte: &u8| match byte {
            b'1'..=b'9' if random.below(8) == 0 => b'1' + random.below(9) as u8,
            byte => *byte,
        };
        line.iter().map(&mut change).collect()
    };
    (0..count).map(&mut line).collect()
}

fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
    let mut text = lines.join(&b'\n');
    text.push(b'\n');
    text
}

#[test]
fn long_texts_of_every_format_are_read_as_by_the_oracle() {
    for format in text_formats() {
        let sample = (format.sample)();
        let line_bytes = sample.len() / sample.split(|byte| *byte == b'\n').count();
        let text = joined(&lines(format, 3 * HEAD_BYTES / line_bytes, 7));
        assert!(text.len() > 2 * HEAD_BYTES, "{}", format.name);
        let options = ReadOptions { skip_bad: u64::MAX, ..stated(format) };
        check(&text, format, &options);
        check(&text, format, &stated(format));
    }
}

#[test]
fn lines_without_end_or_too_long_are_refused_as_by_the_oracle() {
    let format = crate::formats::format_named("disksim").unwrap();
    let options = ReadOptions::default();
    let good = b"1.5 0 100 8 1\n".repeat(6000);
    for length in [HEAD_BYTES - 2, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1, 3 * HEAD_BYTES] {
        for start in [&good[..0], &good[..14], &good[..]] {
            for end in [&b""[..], b"\n", b"\n1.5 0 100 8 1\n"] {
                for filling in [b' ', b'1'] {
                    let mut line = b"2.5 0 100 8 1".to_vec();
                    line.resize(length, filling);
                    check(&[start, &line[..], end].concat(), format, &options);
                }
            }
        }
    }
}

#[test]
fn a_declared_column_that_a_first_line_of_names_lacks_is_refused_as_by_the_oracle() {
    let format = crate::formats::format_named("csv").unwrap();
    let columns = "time=1:us,op=3,offset=4:bytes,size=5,device=2".parse().ok();
    let options = ReadOptions { columns, ..ReadOptions::default() };
    check(b"r,r,R,w\n", format, &options);
    assert!(oracle(b"r,r,R,w\n", format, &options).error.is_some());
}

/// An endless input that reports its drop.
struct Endless {
    /// Shared reference that lives as long as the input.
    _held: Arc<()>,
    text: Vec<u8>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.text.len());
        buffer[..length].copy_from_slice(&self.text[..length]);
        self.text.rotate_left(length);
        Ok(length)
    }
}

#[test]
fn a_reader_that_is_dropped_leaves_no_thread() {
    let held = Arc::new(());
    let again = Arc::clone(&held);
    let text = b"1.5 0 100 8 1\n".repeat(100);
    let inputs = Inputs::streams(move |_| {
        Ok(Box::new(Endless { _held: Arc::clone(&again), text: text.clone() }))
    });
    let inputs = inputs.with_threads(2);
    for read in [0, 1, 100_000] {
        let mut records = Records::open(&inputs, "t", None, &ReadOptions::default()).unwrap();
        assert!(matches!(records.feeder, Feeder::Ahead(_)));
        (0..read).for_each(|_| assert!(records.next_record().unwrap().is_some()));
        drop(records);
        // The input, and the opener's copy.
        assert_eq!(Arc::strong_count(&held), 2, "after {read}");
    }
    let here = inputs.clone().with_threads(1);
    let records = Records::open(&here, "t", None, &ReadOptions::default()).unwrap();
    assert!(matches!(records.feeder, Feeder::Here(_)));
    let records = Records::open(&inputs, STANDARD_INPUT, None, &ReadOptions::default()).unwrap();
    assert!(matches!(records.feeder, Feeder::Here(_)), "standard input may never end");
}

/// An input that panics when read.
struct Panics(usize);

impl Read for Panics {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(self.0 > 0, "the input is broken by us");
        self.0 -= 1;
        let line = b"1.5 0 100 8 1\n";
        buffer.chunks_exact_mut(line.len()).for_each(|part| part.copy_from_slice(line));
        Ok(buffer.len() / line.len() * line.len())
    }
}

#[test]
#[should_panic(expected = "the input is broken by us")]
fn a_panic_of_the_thread_goes_on_in_the_caller() {
    let inputs = Inputs::streams(|_| Ok(Box::new(Panics(9)))).with_threads(2);
    let mut records = Records::open(&inputs, "t", None, &ReadOptions::default()).unwrap();
    while records.next_record().unwrap().is_some() {}
}

proptest! {
    #[test]
    fn changed_lines_are_read_as_by_the_oracle(
        which in 0..text_formats().len(), seed in any::<u64>(), count in 1..40_usize, skip_bad in 0..3_u64,
        changes in proptest::collection::vec(
            (any::<u16>(), prop::sample::select(b"0123456789.,- \t\r\nRWrwDxX#;\x00\xff".to_vec()),
             0..3_u8),
            0..8,
        ),
        read_share in prop::option::of(0.0..1.0),
    ) {
        let format = text_formats()[which];
        let mut text = joined(&lines(format, count, seed));
        for (place, byte, how) in changes {
            let place = usize::from(place) % text.len();
            match how {
                0 => text[place] = byte,
                1 => text.insert(place, byte),
                _ if text.len() > 1 => drop(text.remove(place)),
                _ => {}
            }
        }
        let mut options = ReadOptions { skip_bad, ..stated(format) };
        if format.may_state.contains(&"read_share") && let Some(share) = read_share {
            let columns = "time=1:us,device=2,offset=4:bytes,size=5";
            options.columns = columns.parse().ok();
            options.read_share = Some(share);
        }
        check(&text, format, &options);
    }

    #[test]
    fn declared_columns_are_read_as_by_the_oracle(
        columns in prop::sample::select(vec![
            "time=1:us,op=3,offset=4:bytes,size=5,device=2",
            "time=5:s,op=1:0=read,offset=2:sectors,size=3",
            "time=1:ns,op=2:1=read,offset=3:KiB,size=4:sectors",
            "time=2:filetime,op=4,offset=1:bytes,size=3",
            "time=1:ms,op=2,offset=3:bytes,size=3",
        ]),
        separator in prop::sample::select(vec![",", ";", "\t", " ", "  "]),
        rows in proptest::collection::vec(proptest::collection::vec(
            prop_oneof![
                3 => "[0-9]{1,6}", 2 => "[0-9]{1,3}00000", 1 => "[0-9]{1,12}\\.[0-9]{1,10}",
                2 => "[RWrw01]", 1 => "(read|Write|trim|flush)", 1 => "[-0-9.x]{0,5}", 1 => "[0-9]{18,21}",
            ], 4..7), 1..12),
    ) {
        let format = crate::formats::format_named("csv").unwrap();
        let rows: Vec<Vec<u8>> =
            rows.iter().map(|row| row.join(separator).into_bytes()).collect();
        let columns = columns.parse().ok();
        let options = ReadOptions { columns, skip_bad: 5, ..ReadOptions::default() };
        check(&joined(&rows), format, &options);
    }
}
