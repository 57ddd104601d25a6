//! A table of text: its header names the columns, or the user declares the role of each column.
//!
//! Columns are separated by tabs, commas, semicolons, bars or blanks. If the time field of the
//! first line is not a number, the line is a header. Without a direction column, the share of reads
//! must be stated. In files separated by semicolons, decimal commas are accepted.

use super::row::{Format, Reader};
use crate::read::head::{Head, is_data};
use crate::read::lines::{LineParser, ResponseOf};
use crate::read::names;
use crate::read::plain::{Plain, of_bytes};
use crate::read::reading::{Plainly, Reading};
use crate::read::resolve::{Sample, reading};
use crate::read::stated::ReadOptions;
use crate::record::{Clock, Line, LineError, Record};
use engine::{Handle, Op, Time};
use options::Invalid;
use std::borrow::Cow;

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.states("csv")),
    otherwise: Some(|head: &Head| Table::of(head).is_some_and(|table| table.is_filled(head))),
    clock: Clock::Epoch,
    stated: &[("columns", "time=1:us,op=3,offset=4:bytes,size=5,device=2")],
    may_state: &["read_share"],
    ..Format::new(
        "csv",
        "a table of text with a header, or with workload.columns saying which column is what",
        Reader::Lines(parser),
        || b"time_us,disk,kind,from,bytes\n1.5,0,R,4096,512\n2,1,write,8192,4096\n".to_vec(),
    )
};

const KEY: &str = "workload.columns";

/// The header of a table.
struct Table {
    names: Vec<String>,
    /// Separator of columns; runs of blanks if there is none.
    separator: Option<u8>,
    /// True if the header is a line of its own, false if it is a comment.
    is_line: bool,
}

impl Table {
    /// The header in the first line of a text, or in a comment above it.
    fn of(head: &Head) -> Option<Table> {
        let first = head.lines.first()?;
        if let Some((names, separator)) = names::header(first) {
            return Some(Table { names, separator, is_line: true });
        }
        let lines = head.bytes.split(|byte| *byte == b'\n');
        let comments: Vec<&[u8]> = lines.take_while(|line| !is_data(line)).collect();
        let of = |line: &&[u8]| names::header(std::str::from_utf8(line).ok()?);
        let (names, separator) = comments.iter().rev().find_map(of)?;
        Some(Table { names, separator, is_line: false })
    }

    /// True if the lines below have the same number of fields.
    fn is_filled(&self, head: &Head) -> bool {
        let below = head.lines.get(usize::from(self.is_line)..).unwrap_or_default();
        let fits = below
            .iter()
            .filter(|line| cut(line.as_bytes(), self.separator).count() == self.names.len());
        fits.count() * 2 >= below.len()
    }
}

/// The fields of a line; quoted fields may contain the separator.
fn cut(line: &[u8], separator: Option<u8>) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line.strip_suffix(b"\r").unwrap_or(line));
    std::iter::from_fn(move || {
        let mut line = rest?;
        let is_end = |byte: &u8| match separator {
            Some(mark) => *byte == mark,
            None => byte.is_ascii_whitespace(),
        };
        if separator.is_none() {
            line = line.trim_ascii_start();
            if line.is_empty() {
                return None;
            }
        }
        if line.first() == Some(&b'"')
            && let Some(end) = line[1..].iter().position(|byte| *byte == b'"')
            && line.get(end + 2).is_none_or(is_end)
        {
            rest = line.get(end + 3..);
            return Some(&line[1..=end]);
        }
        let end = line.iter().position(is_end).unwrap_or(line.len());
        rest = line.get(end + 1..);
        Some(&line[..end])
    })
}

/// True if numbers have decimal commas, as many locales write them in files separated by
/// semicolons.
fn has_comma(line: &[u8], separator: Option<u8>) -> bool {
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let of = |field: &[u8]| {
        let mut parts = field.trim_ascii().split(|byte| *byte == b',');
        let both = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
        both && parts.next().is_none()
    };
    separator == Some(b';') && cut(line, separator).any(of)
}

/// The line with commas replaced by points.
fn pointed(line: &[u8]) -> Vec<u8> {
    line.iter().map(|byte| if *byte == b',' { b'.' } else { *byte }).collect()
}

fn parser(options: &ReadOptions, head: &Head) -> Result<Box<dyn LineParser>, Invalid> {
    let table = Table::of(head);
    let given = options.columns.as_ref();
    if given.is_none() && table.is_none() {
        let problem = "a table needs its columns declared, such as \
                       \"time=1:us,op=3,offset=4:bytes,size=5\"";
        return Err(Invalid::new(&[KEY], problem));
    }
    let first = head.lines.first().copied().unwrap_or_default();
    let stated = "\t,;|".chars().find(|mark| first.contains(*mark)).map(|mark| mark as u8);
    let separator = table.as_ref().map_or(stated, |table| table.separator);
    let names = table.as_ref().map_or(&[][..], |table| &table.names);
    let below = usize::from(table.as_ref().is_some_and(|table| table.is_line));
    let lines: Vec<&[u8]> = head.lines.iter().skip(below).map(|line| line.as_bytes()).collect();
    let is_comma = lines.iter().any(|line| has_comma(line, separator));
    let lines: Vec<_> = lines
        .into_iter()
        .map(|line| if is_comma { Cow::Owned(pointed(line)) } else { Cow::Borrowed(line) })
        .collect();
    let rows = lines.iter().map(|line| cut(line, separator).collect());
    let sample = Sample { names, rows: rows.collect() };
    let reading = reading(given, options.read_share.is_some(), &sample)?;
    let roles = reading.plainly();
    let time = reading.time_index();
    let has_header = below > 0;
    Ok(Box::new(Parser { reading, separator, is_comma, roles, time, first: true, has_header }))
}

struct Parser {
    reading: Reading,
    /// Separator of columns; runs of blanks if there is none.
    separator: Option<u8>,
    /// True if numbers have decimal commas.
    is_comma: bool,
    /// Role of each column, up to the last declared one; empty if the fast path does not apply.
    roles: Vec<Plainly>,
    /// The column of the time.
    time: usize,
    first: bool,
    has_header: bool,
}

impl LineParser for Parser {
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError> {
        let separator = self.separator;
        let own = self.is_comma.then(|| pointed(line));
        let line = own.as_deref().unwrap_or(line);
        let field = |index: usize| cut(line, separator).nth(index);
        if std::mem::replace(&mut self.first, false) {
            let says_time =
                || field(self.time).is_none_or(|text| text.iter().any(u8::is_ascii_digit));
            if self.has_header || !says_time() {
                return Ok(Line::Skip("header_lines"));
            }
        }
        self.reading.line(field)
    }

    fn responses(&self) -> Option<Box<ResponseOf>> {
        let (reading, separator) = (self.reading.stating_responses()?, self.separator);
        let is_comma = self.is_comma;
        Some(Box::new(move |line| {
            let own = is_comma.then(|| pointed(line));
            let line = own.as_deref().unwrap_or(line);
            reading.response(|index| cut(line, separator).nth(index))
        }))
    }

    fn tick_ns(&self) -> Option<Time> {
        self.reading.tick_ns()
    }

    #[inline]
    fn quick(&mut self, text: &[u8]) -> Option<(Record, usize)> {
        if self.first || self.roles.is_empty() {
            return None;
        }
        let mut line = Plain::new(text);
        let between = |line: &mut Plain| match self.separator {
            Some(mark) => line.byte(mark),
            None => line.blanks(),
        };
        let (mut at, mut device, mut op, mut offset, mut size) = (0, 0, Op::Read, 0, 0);
        let (mut handle, mut fua) = (Handle::NONE, false);
        for (index, role) in self.roles.iter().enumerate() {
            if index > 0 {
                between(&mut line)?;
            }
            match *role {
                Plainly::Time(places) => at = line.decimal(places)?,
                Plainly::Word => op = line.direction()?,
                Plainly::ReadIs(read) => {
                    op = if line.bit()? == read { Op::Read } else { Op::Write };
                }
                Plainly::Offset(unit) => offset = line.number()?.checked_mul(unit)?,
                Plainly::Size(unit) => size = line.number()?.checked_mul(unit)?,
                Plainly::Device => device = line.small()?,
                Plainly::Handle => handle = Handle::new(line.number()?),
                Plainly::Fua => fua = line.bit()?,
                Plainly::Nothing => line.field(self.separator)?,
            }
        }
        let record = Record { fua, handle, ..of_bytes(at, device, op, offset, size)? };
        let bytes = match between(&mut line) {
            Some(()) => line.skip_to_end()?,
            None => line.end()?,
        };
        Some((record, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_as, read_with};
    use super::*;
    use crate::record::Record;

    fn with(columns: &str) -> ReadOptions {
        ReadOptions { columns: Some(columns.parse().unwrap()), ..ReadOptions::default() }
    }

    #[test]
    fn tables_of_sheets_and_scripts_are_read() {
        let comma = b"time_ms;op;offset;size\n0,5;W;0;4096\n1;R;4096;4096\n1,75;R;4096;4096\n";
        let at = |text: &[u8]| {
            let all = read_with(text, &ReadOptions::default()).unwrap();
            all.iter().map(|it| it.at).collect::<Vec<_>>()
        };
        assert_eq!(at(comma), [500_000, 1_000_000, 1_750_000]);
        let blanks = b"time_ms  op offset size\n0.5 W 0    4096\n1.75 R 4096 4096\n";
        assert_eq!(at(blanks), [500_000, 1_750_000]);
        let comments = b"# a capture, of mine, today\n#\ntime_ms,op,offset,size\n2,W,0,4096\n";
        assert_eq!(at(comments), [2_000_000]);
        let commented = b"# a capture\n# time_ms,op,offset,size\n3,W,0,4096\n";
        assert_eq!(at(commented), [3_000_000]);
    }

    #[test]
    fn declared_columns_are_read_whatever_separates_them() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let first = Record {
            at: 1500,
            device: 0,
            op: Op::Read,
            sector: 8,
            sectors: 1,
            fua: false,
            handle: engine::Handle::NONE,
        };
        let second = Record {
            at: 2000,
            device: 1,
            op: Op::Write,
            sector: 16,
            sectors: 8,
            fua: false,
            handle: engine::Handle::NONE,
        };
        assert_eq!(all, [first, second]);
        for text in ["7\t0\t8\t16", "7;0;8;16", " 7  0 8 16"] {
            let options = with("time=1:ms,op=2:0=read,offset=3:sectors,size=4:KiB");
            let all = read_with(text.as_bytes(), &options).unwrap();
            let expected = Record {
                at: 7_000_000,
                device: 0,
                op: Op::Read,
                sector: 8,
                sectors: 32,
                fua: false,
                handle: engine::Handle::NONE,
            };
            assert_eq!(all, [expected], "{text}");
        }
        let file_time = with("time=1:filetime,op=2,offset=3:bytes,size=4");
        let all = read_with(b"128166385295514663,TRIM,0,512", &file_time).unwrap();
        assert_eq!((all[0].at, all[0].op), (12_816_638_529_551_466_300, Op::Trim));
    }

    #[test]
    fn commands_of_zones_have_words_and_concern_all_without_a_length() {
        let options = with("time=1:us,op=2,offset=3:bytes,size=4");
        let text = b"1,append,0,4096\n2,reset,4096,512\n3,reset,0,0\n4,OPEN_WINDOW,8192,512\n";
        let all = read_with(text, &options).unwrap();
        let found: Vec<_> = all.iter().map(|it| (it.op, it.sector, it.sectors)).collect();
        let expected =
            [(Op::Append, 0, 8), (Op::Reset, 8, 1), (Op::Reset, 0, 0), (Op::OpenWindow, 16, 1)];
        assert_eq!(found, expected);
    }

    #[test]
    fn commands_have_words_and_writes_may_be_forced() {
        let options = with("time=1:us,op=2,offset=3:bytes,size=4,fua=5");
        let text = b"1,compare_write,0,4096,1\n2,RANGE,4096,512,0\n3,copy,0,512,-\n4,w,8192,512,1\n5,w,0,512,0\n";
        let all = read_with(text, &options).unwrap();
        let found: Vec<_> = all.iter().map(|it| (it.op, it.sector, it.sectors, it.fua)).collect();
        let expected = [
            (Op::CompareWrite, 0, 8, true),
            (Op::Range, 8, 1, false),
            (Op::Copy, 0, 1, false),
            (Op::Write, 16, 1, true),
            (Op::Write, 0, 1, false),
        ];
        assert_eq!(found, expected);
        let error = read_with(b"1,w,0,512,x\n", &options).unwrap_err();
        assert!(error.contains("bad fua \"x\", expected 1 for a write"), "{error}");
    }

    #[test]
    fn missing_columns_are_named() {
        let error =
            |text: &str, columns: &str| read_with(text.as_bytes(), &with(columns)).unwrap_err();
        let no_op = error("1,2,3\n", "time=1:s,offset=2:bytes,size=3");
        assert!(no_op.starts_with("workload.read_share, workload.columns: there is no column"));
        let few = error("1,r\n", "time=1:s,op=2,offset=3:bytes,size=4");
        assert!(few.contains("line 1: no column 3, expected a line with every column"), "{few}");
        let word = error("1,x,0,512\n", "time=1:s,op=2,offset=3:bytes,size=4");
        assert!(word.contains("bad operation \"x\", expected read, write"), "{word}");
        let undeclared = read_as(&FORMAT, b"1,2,3\n", &ReadOptions::default()).unwrap_err();
        assert!(undeclared.starts_with("workload.columns: a table needs its columns"));
    }
}
