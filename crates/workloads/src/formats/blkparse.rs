//! Output of blkparse: its default lines, or lines in a declared format (as for `-f`).
//!
//! A declared format contains `%` letters and must include action, direction, sector, size and
//! time. The summary at the end, and every line that begins with a word, is skipped.

use super::row::{Format, Reader};
use crate::read::block_events::{EventRequest, Seen, left_out, requested};
use crate::read::fields::{DEVICE, Fault, Field, S, SECTOR, SECTORS};
use crate::read::head::{Head, blank_fields, is_data, is_digits};
use crate::read::lines::LineParser;
use crate::read::stated::ReadOptions;
use crate::record::{Clock, Line, LineError, device_number};
use engine::{SECTOR_BYTES, Time};
use options::Invalid;

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.states("blkparse") || head.mostly(has_shape)),
    clock: Clock::Epoch,
    may_state: &["layout", "event"],
    ..Format::new(
        "blkparse",
        "blkparse text: major,minor, cpu, sequence, time in s, pid, action, RWBS, sector + sectors",
        Reader::Lines(|options, head| Ok(Box::new(Parser::new(options, head)?))),
        || SAMPLE.to_vec(),
    )
};

const SAMPLE: &[u8] = b"\
    259,2    0        1     0.000000000  4020  A  WS 282624 + 8 <- (259,3) 576\n\
    259,2    0        1     0.000000000  4020  Q  WS 282624 + 8 [java]\n\
    259,2    0        2     0.000001581  4020  G  WS 282624 + 8 [java]\n\
    259,2    0        3     0.000003650  4020  U   N [java] 1\n\
    259,2    0        4     0.000004650  4020  Q   R 4096 + 16 [my job]\n\
    259,2    0        5     0.000005650  4020  Q  DS 8192 + 64 [fstrim]\n\
    259,2    0        6     0.000006650  4020  Q FWFS 64 + 8 [jbd2]\n\
    CPU0 (259,2):\n Reads Queued:           1,        8KiB\n";

/// Default layout of blkparse.
const DEFAULT_LAYOUT: &str = "%D %c %s %T.%t %p %a %d %S + %n";
const LINE: &str = "a line of blkparse: major,minor, cpu, sequence, time in s, pid, action, RWBS, \
     first sector + sectors, or as workload.layout declares";
const KEY: &str = "workload.layout";
const TIME: Field = Field::new("time", "a time in s with nanoseconds");
const BYTES: Field = Field::new("size", "a number of bytes");
const LAYOUT: Field = Field::new("text", LINE);

fn has_shape(line: &str) -> bool {
    let fields = blank_fields(line);
    let pair = |text: &str| text.split_once(',').is_some_and(|(a, b)| is_digits(a) && is_digits(b));
    fields.len() >= 6
        && pair(fields[0])
        && is_digits(fields[1])
        && is_digits(fields[2])
        && fields[3].split_once('.').is_some_and(|(s, ns)| is_digits(s) && ns.len() == 9)
}

/// One element of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// A literal character; a blank matches any run of blanks.
    Text(u8),
    /// The meaning of a `%` letter.
    Value(u8),
}

/// The elements of a layout up to the last required one.
fn pieces(layout: &str) -> Result<Vec<Piece>, Invalid> {
    let refuse = |problem: String| Invalid::new(&[KEY], problem);
    let mut pieces = Vec::new();
    let mut letters = layout.trim().trim_end_matches("\\n").bytes();
    while let Some(letter) = letters.next() {
        if letter != b'%' {
            pieces.push(Piece::Text(if letter.is_ascii_whitespace() { b' ' } else { letter }));
            continue;
        }
        let value = letters.find(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'.'));
        match value {
            Some(b'%') => pieces.push(Piece::Text(b'%')),
            Some(known) if b"acCdDegmMnNpPsStTuU".contains(&known) => {
                pieces.push(Piece::Value(known));
            }
            other => {
                let letter = other.map_or(String::new(), |byte| char::from(byte).to_string());
                return Err(refuse(format!("\"%{letter}\" is no value that blkparse prints")));
            }
        }
    }
    let has = |wanted: &[u8]| {
        pieces.iter().any(|piece| matches!(piece, Piece::Value(v) if wanted.contains(v)))
    };
    for (wanted, what) in [
        (&b"a"[..], "the action (%a)"),
        (b"d", "the direction (%d)"),
        (b"S", "the sector (%S)"),
        (b"nN", "the size (%n or %N)"),
        (b"T", "the time (%T.%t)"),
    ] {
        if !has(wanted) {
            return Err(refuse(format!("\"{layout}\" lacks {what}")));
        }
    }
    let needed = |piece: &Piece| matches!(piece, Piece::Value(v) if b"acdDmMnNSTt".contains(v));
    let last = pieces.iter().rposition(needed).unwrap_or(0);
    pieces.truncate(last + 1);
    Ok(pieces)
}

/// Values of one line.
#[derive(Default)]
struct Values<'a> {
    seconds: &'a [u8],
    nanoseconds: &'a [u8],
    device: Option<(&'a [u8], &'a [u8])>,
    rwbs: &'a [u8],
    sector: &'a [u8],
    size: &'a [u8],
    size_in_bytes: bool,
    /// True if the line has no sectors, but a process or the bytes of a command in their place.
    bare: bool,
}

/// True if the text in the sector's place belongs to an event without sectors: a process in
/// brackets, the bytes of a command in parentheses, or either after a number.
fn has_no_sector(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    matches!(text[digits..].trim_ascii_start().first(), Some(b'[' | b'('))
}

struct Parser {
    pieces: Vec<Piece>,
    chosen: u8,
}

/// A line split into its elements.
enum Split<'a> {
    Values(Values<'a>),
    Other(u8),
}

impl Parser {
    fn new(options: &ReadOptions, head: &Head) -> Result<Self, Invalid> {
        let pieces = pieces(options.layout.as_deref().unwrap_or(DEFAULT_LAYOUT))?;
        let mut parser = Parser { pieces, chosen: 0 };
        let mut seen = Seen::default();
        for line in head.bytes.split(|byte| *byte == b'\n').filter(|line| is_data(line)) {
            if let Ok(Split::Other(action)) = parser.split(line) {
                seen.note(action);
            }
        }
        parser.chosen = seen.chosen(options.event);
        Ok(parser)
    }

    /// Splits a line; for an event of another action, returns only its letter.
    fn split<'a>(&self, line: &'a [u8]) -> Result<Split<'a>, LineError> {
        let mut values = Values::default();
        let mut rest = line;
        let mut at_sector = None;
        for (index, piece) in self.pieces.iter().enumerate() {
            match *piece {
                Piece::Text(b' ') => rest = rest.trim_ascii_start(),
                Piece::Text(byte) => {
                    rest = rest.trim_ascii_start();
                    let Some(after) = rest.strip_prefix(&[byte]) else {
                        if at_sector.is_some_and(has_no_sector) {
                            values.bare = true;
                            break;
                        }
                        return Err(LAYOUT.fault(Fault::Bad, rest));
                    };
                    rest = after;
                }
                Piece::Value(letter) => {
                    rest = rest.trim_ascii_start();
                    if letter == b'S' {
                        at_sector = Some(rest);
                    }
                    let stop = match self.pieces.get(index + 1) {
                        Some(Piece::Text(byte)) => *byte,
                        _ => b' ',
                    };
                    // Only a process name may contain blanks.
                    let blank = if letter == b'C' { stop } else { b' ' };
                    let end = rest.iter().position(|byte| *byte == stop || *byte == blank);
                    let end = end.unwrap_or(rest.len());
                    let (value, after) = rest.split_at(end);
                    rest = after;
                    if letter == b'a' {
                        let action = value.first().copied().unwrap_or_default();
                        if value.len() != 1 || action != self.chosen {
                            return Ok(Split::Other(action));
                        }
                    }
                    values.take(letter, value);
                }
            }
        }
        Ok(Split::Values(values))
    }
}

impl<'a> Values<'a> {
    fn take(&mut self, letter: u8, value: &'a [u8]) {
        match letter {
            b'T' => self.seconds = value,
            b't' => self.nanoseconds = value,
            b'd' => self.rwbs = value,
            b'S' => self.sector = value,
            b'n' | b'N' => {
                self.size = value;
                self.size_in_bytes = letter == b'N';
            }
            b'D' => {
                let comma = value.iter().position(|byte| *byte == b',').unwrap_or(value.len());
                self.device = Some((&value[..comma], value.get(comma + 1..).unwrap_or_default()));
            }
            b'M' => self.device = Some((value, self.device.map_or(b"0", |pair| pair.1))),
            b'm' => self.device = Some((self.device.map_or(b"0", |pair| pair.0), value)),
            _ => {}
        }
    }

    fn at(&self) -> Result<Time, LineError> {
        let fraction = if self.nanoseconds.is_empty() { 0 } else { TIME.u64(self.nanoseconds)? };
        TIME.u64(self.seconds)?
            .checked_mul(S)
            .and_then(|ns| ns.checked_add(fraction))
            .filter(|_| fraction < S)
            .ok_or_else(|| TIME.fault(Fault::TooLarge, self.seconds))
    }

    fn line(&self) -> Result<Line, LineError> {
        let numbers = [self.sector, self.size];
        // A line without sectors is a flush or a pass-through command.
        let bare = self.bare || !numbers.iter().all(|text| text.iter().all(u8::is_ascii_digit));
        let at = self.at()?;
        let device = match self.device {
            Some((major, minor)) => device_number(DEVICE.u32(major)?, DEVICE.u32(minor)?),
            None => 0,
        };
        let sector = if bare { 0 } else { SECTOR.u64(self.sector)? };
        let sectors = if bare {
            0
        } else if self.size_in_bytes {
            let sectors = BYTES.u64(self.size)?.div_ceil(SECTOR_BYTES);
            u32::try_from(sectors).map_err(|_| BYTES.fault(Fault::TooLarge, self.size))?
        } else {
            SECTORS.u32(self.size)?
        };
        Ok(match requested(self.rwbs, at, device, sector, sectors) {
            EventRequest::One(record) => Line::Record(record),
            EventRequest::AfterFlush(record) => Line::AfterFlush(record),
            EventRequest::Nothing => Line::Skip("without_data"),
        })
    }
}

impl LineParser for Parser {
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError> {
        let start = line.trim_ascii_start();
        if start.first().is_some_and(u8::is_ascii_alphabetic)
            && self.pieces[0] != Piece::Value(b'a')
        {
            return Ok(Line::Skip("text_lines"));
        }
        match self.split(start)? {
            Split::Values(values) => values.line(),
            Split::Other(action) if action.is_ascii_alphabetic() => {
                Ok(Line::Skip(left_out(action)))
            }
            Split::Other(_) => Err(LAYOUT.fault(Fault::Bad, start)),
        }
    }
}

#[cfg(test)]
#[path = "blkparse_tests.rs"]
mod tests;
