//! A table that no other format describes: the user declares which column says what.
//!
//! Columns are separated by tabs, commas, semicolons or blanks, whichever of these the first line
//! has first in this order. A first line whose time is no number is a header. Without a column for
//! the direction, the share of reads must be stated.

use super::row::{Format, Reader};
use crate::read::columns::{Columns, Directions};
use crate::read::fields::{DEVICE, Extent, Fault, Field};
use crate::read::head::Head;
use crate::read::lines::LineParser;
use crate::read::plain::{Plain, of_bytes};
use crate::read::stated::ReadOptions;
use crate::record::{Clock, Line, LineError, Record};
use engine::{Handle, Op};
use options::Invalid;

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.columns_stated),
    clock: Clock::Epoch,
    stated: &[("columns", "time=1:us,op=3,offset=4:bytes,size=5,device=2")],
    may_state: &["read_share"],
    ..Format::new(
        "csv",
        "any table of text, with workload.columns saying which column is what",
        Reader::Lines(parser),
        || b"time_us,disk,kind,from,bytes\n1.5,0,R,4096,512\n2,1,write,8192,4096\n".to_vec(),
    )
};

const LINE: &str = "a line with every column that is declared";
const TIME: Field = Field::new("time", "a time as a number in the declared unit");
const OP: Field = Field::new(
    "operation",
    "r, read, w, write, trim, discard, unmap, flush, sync, a command of zones or of NVMe (zeroes, compare, copy and more), or as declared",
);
const SIZE: Field = Field::new("size", "a size above 0 in the declared unit");
const HANDLE: Field = Field::new("handle", "a number of a placement handle");
const FUA: Field = Field::new("fua", "1 for a write that is durable when it is answered, else 0");
const OFFSET: Field = Field::new("offset", "an offset in the declared unit");

fn parser(options: &ReadOptions, head: &Head) -> Result<Box<dyn LineParser>, Invalid> {
    let Some(columns) = options.columns.clone() else {
        let problem = "a table needs its columns declared, such as \
                       \"time=1:us,op=3,offset=4:bytes,size=5\"";
        return Err(Invalid::new(&["workload.columns"], problem));
    };
    match (columns.op, options.read_share) {
        (None, None) => {
            let problem = "there is no column for the operation: state the share of reads, 0 to 1, \
                           to have it drawn, or declare the column";
            return Err(Invalid::new(&["workload.read_share", "workload.columns"], problem));
        }
        (Some(_), Some(_)) => {
            let problem = "the columns say what reads and what writes";
            return Err(Invalid::new(&["workload.read_share", "workload.columns"], problem));
        }
        _ => {}
    }
    let first = head.lines.first().copied().unwrap_or_default();
    let separator = "\t,;".chars().find(|mark| first.contains(*mark)).map(|mark| mark as u8);
    let roles = roles(&columns);
    Ok(Box::new(Parser { columns, separator, roles, first: true }))
}

/// What a column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Nothing,
    /// A time in units of a power of ten of ns.
    Time(usize),
    FileTime,
    Word,
    ReadIs(bool),
    Offset(u64),
    Size(u64),
    Device,
    Handle,
    Fua,
}

fn roles(columns: &Columns) -> Vec<Role> {
    let time = match columns.time.1 {
        100 => Role::FileTime,
        unit_ns => Role::Time(unit_ns.ilog10() as usize),
    };
    let op = columns.op.map(|(column, directions)| match directions {
        Directions::Words => (column, Role::Word),
        Directions::ReadIs(digit) => (column, Role::ReadIs(digit == 1)),
    });
    let (offset, size) = (columns.offset, columns.size);
    let declared = [
        Some((columns.time.0, time)),
        Some((offset.0, Role::Offset(offset.1))),
        Some((size.0, Role::Size(size.1))),
        op,
        columns.device.map(|column| (column, Role::Device)),
        columns.handle.map(|column| (column, Role::Handle)),
        columns.fua.map(|column| (column, Role::Fua)),
    ];
    let last = declared.iter().flatten().map(|(column, _)| *column).max().unwrap_or(0);
    let mut roles = vec![Role::Nothing; last];
    for (column, role) in declared.into_iter().flatten() {
        if std::mem::replace(&mut roles[column - 1], role) != Role::Nothing {
            return Vec::new();
        }
    }
    roles
}

struct Parser {
    columns: Columns,
    /// What stands between columns; runs of blanks if there is none.
    separator: Option<u8>,
    /// What each column says, up to the last that is declared; none if one says two things.
    roles: Vec<Role>,
    first: bool,
}

impl Parser {
    /// The column of that number, from 1.
    fn column<'a>(&self, line: &'a [u8], number: usize) -> Result<&'a [u8], LineError> {
        let found = match self.separator {
            Some(mark) => line.split(|byte| *byte == mark).nth(number - 1),
            None => line
                .split(u8::is_ascii_whitespace)
                .filter(|field| !field.is_empty())
                .nth(number - 1),
        };
        match found {
            Some(field) => Ok(field.trim_ascii()),
            None => Err(LineError { problem: format!("no column {number}"), expected: LINE }),
        }
    }

    fn request(&self, line: &[u8]) -> Result<Line, LineError> {
        let Columns { time, offset, size, op, device, handle, fua } = &self.columns;
        let column = |number: usize| self.column(line, number);
        let time_text = column(time.0)?;
        // A file time's unit is no power of ten of a ns that decimals could be read in.
        let at = if time.1 == 100 {
            TIME.u64(time_text)?.checked_mul(100)
        } else {
            Some(TIME.time(time_text, time.1)?)
        };
        let at = at.ok_or_else(|| TIME.fault(Fault::TooLarge, time_text))?;
        let device = device.map_or(Ok(0), |number| DEVICE.u32(column(number)?))?;
        let op = match op {
            None => Op::Read,
            Some((number, directions)) => operation(column(*number)?, *directions)?,
        };
        if op == Op::Flush {
            return Ok(Line::Record(Record::flush(at, device)));
        }
        let (start, length) = (column(offset.0)?, column(size.0)?);
        let first = OFFSET.u64(start)?.checked_mul(offset.1);
        let first = first.ok_or_else(|| OFFSET.fault(Fault::TooLarge, start))?;
        let bytes = SIZE.u64(length)?.checked_mul(size.1);
        let bytes = bytes.ok_or_else(|| SIZE.fault(Fault::TooLarge, length))?;
        if op.is_zoned() && bytes == 0 {
            // A command of zones without a length concerns all of them.
            let sector = first / engine::SECTOR_BYTES;
            return Ok(Line::Record(Record { op, sector, ..Record::flush(at, device) }));
        }
        let extent = Extent::of(first, bytes).map_err(|fault| SIZE.fault(fault, length))?;
        // Reads of a table mostly have none.
        let named = |number: usize| match column(number)? {
            b"" | b"-" => Ok(Handle::NONE),
            text => HANDLE.u64(text).map(Handle::new),
        };
        let handle = handle.map_or(Ok(Handle::NONE), named)?;
        let fua = fua.map_or(Ok(false), |number| match column(number)? {
            b"" | b"-" | b"0" => Ok(false),
            b"1" => Ok(true),
            text => Err(FUA.fault(Fault::Bad, text)),
        })?;
        Ok(match extent.line(at, device, op) {
            Line::Record(record) => Line::Record(Record { fua, handle, ..record }),
            Line::Rounded(record) => Line::Rounded(Record { fua, handle, ..record }),
            other => other,
        })
    }
}

fn operation(text: &[u8], directions: Directions) -> Result<Op, LineError> {
    if let Directions::ReadIs(read) = directions {
        return match text {
            [digit @ (b'0' | b'1')] if digit - b'0' == read => Ok(Op::Read),
            b"0" | b"1" => Ok(Op::Write),
            _ => Err(OP.fault(Fault::Bad, text)),
        };
    }
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()));
    if is(&["t", "d", "trim", "discard", "unmap"]) {
        Ok(Op::Trim)
    } else if is(&["f", "flush", "sync"]) {
        Ok(Op::Flush)
    } else if let Some(op) =
        Op::ALL.into_iter().filter(|op| !op.is_block()).find(|op| is(&[op.name()]))
    {
        Ok(op)
    } else {
        OP.direction(text)
    }
}

impl LineParser for Parser {
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError> {
        let first = std::mem::replace(&mut self.first, false);
        if first && !self.column(line, self.columns.time.0)?.iter().any(u8::is_ascii_digit) {
            return Ok(Line::Skip("header_lines"));
        }
        self.request(line)
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
                Role::Time(places) => at = line.decimal(places)?,
                Role::FileTime => at = line.number()?.checked_mul(100)?,
                Role::Word => op = line.direction()?,
                Role::ReadIs(read) => {
                    op = if line.bit()? == read { Op::Read } else { Op::Write };
                }
                Role::Offset(unit) => offset = line.number()?.checked_mul(unit)?,
                Role::Size(unit) => size = line.number()?.checked_mul(unit)?,
                Role::Device => device = line.small()?,
                Role::Handle => handle = Handle::new(line.number()?),
                Role::Fua => fua = line.bit()?,
                Role::Nothing => line.field(self.separator)?,
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
        assert!(word.contains("bad operation \"x\", expected r, read"), "{word}");
        let undeclared = read_as(&FORMAT, b"1,2,3\n", &ReadOptions::default()).unwrap_err();
        assert!(undeclared.starts_with("workload.columns: a table needs its columns"));
    }
}
