//! The request in a split line: from a table's columns, or from a pattern's groups.
//!
//! A completion time becomes an arrival by subtracting the latency and the queue time.

use super::block_events::{EventRequest, left_out, requested};
use super::clock::Form;
use super::columns::{Directions, Mark, ONE, Step, after, fixed, has_bit};
use super::fields::{DEVICE, Extent, Fault, Field, Names, S};
use super::words;
use crate::record::{Line, LineError, Record, device_number};
use engine::{Handle, Op, SECTOR_BYTES, Time};

const LINE: &str = "a line with every column that is declared";
const TIME: Field = Field::new("time", "a time as declared, or as the first line has it");
const OP: Field = Field::new(
    "operation",
    "read, write, trim, flush, a command of zones or NVMe, the block layer's letters, or as declared (--columns op=COLUMN:1=write,2=read)",
);
const SIZE: Field = Field::new("size", "a size above 0 in the declared unit");
const HANDLE: Field = Field::new("handle", "a number of a placement handle");
const FUA: Field = Field::new("fua", "1 for a write that is durable when it is answered, else 0");
const OFFSET: Field = Field::new("offset", "an offset in the declared unit");

/// A column of numbers.
#[derive(Debug, Clone)]
pub(crate) struct Numbers {
    pub(crate) index: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) unit: u64,
}

/// A column of times.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    pub(crate) index: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) form: Form,
}

/// Values of a line's columns.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) time: Option<Times>,
    pub(crate) end: Option<Times>,
    pub(crate) latency: Option<Times>,
    pub(crate) queued: Option<Times>,
    pub(crate) op: Option<(usize, Directions)>,
    pub(crate) offset: Option<Numbers>,
    pub(crate) size: Option<Numbers>,
    pub(crate) device: Option<usize>,
    pub(crate) handle: Option<usize>,
    /// The column of forced unit access, and its bit if the column has several flags.
    pub(crate) fua: Option<(usize, Option<u32>)>,
    /// The event column, and the letter of the event that counts.
    pub(crate) event: Option<(usize, u8)>,
    /// True for captures of observed events: a time or a disk may be missing, and requests may have
    /// no data.
    pub(super) is_capture: bool,
    /// Observations from earlier lines.
    pub(crate) seen: Seen,
}

/// Observations from earlier lines.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    devices: Names,
    /// Last time of day, and the sum of earlier days.
    last: Time,
    days: Time,
}

/// Role of a column in the fast parser of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plainly {
    Nothing,
    /// A time in units of 10^n ns.
    Time(usize),
    Word,
    ReadIs(bool),
    Offset(u64),
    Size(u64),
    Device,
    Handle,
    Fua,
}

impl Reading {
    /// Index of the time column.
    pub(crate) fn time_index(&self) -> usize {
        self.time.as_ref().or(self.end.as_ref()).map_or(0, |times| times.index)
    }

    /// True if a column has the operation.
    pub(crate) fn has_op(&self) -> bool {
        self.op.is_some()
    }

    /// The unit of the times in ns.
    pub(crate) fn tick_ns(&self) -> Option<Time> {
        match self.time.as_ref().or(self.end.as_ref())?.form {
            Form::Unit(unit) => Some(unit),
            Form::Date | Form::Day => None,
        }
    }

    /// The event letter of a line, if lines are events.
    pub(crate) fn event<'a>(&self, field: impl Fn(usize) -> Option<&'a [u8]>) -> Option<u8> {
        self.event.map(|(index, _)| words::event(field(index).unwrap_or_default()))
    }

    /// Marks the lines as a capture.
    pub(crate) fn capture(&mut self) {
        self.is_capture = true;
    }

    /// Sets the event that counts.
    pub(crate) fn choose(&mut self, letter: u8) {
        self.event = self.event.map(|(index, _)| (index, letter));
    }

    /// Parser of response times, if the lines state them.
    pub(crate) fn stating_responses(&self) -> Option<Reading> {
        let states = self.latency.is_some() || (self.end.is_some() && self.time.is_some());
        let (time, end) = (self.time.clone(), self.end.clone());
        let (latency, queued) = (self.latency.clone(), self.queued.clone());
        states.then(|| Reading { time, end, latency, queued, ..Reading::default() })
    }

    /// The response time stated in a line, ns.
    pub(crate) fn response<'a>(&self, field: impl Fn(usize) -> Option<&'a [u8]>) -> Option<Time> {
        let of = |times: &Times| times.form.ns(field(times.index)?.trim_ascii(), &times.steps).ok();
        let found = match (&self.latency, &self.end, &self.time) {
            (Some(latency), _, _) => {
                of(latency)?.checked_add(self.queued.as_ref().map_or(Some(0), of)?)
            }
            (None, Some(end), Some(time)) => of(end)?.checked_sub(of(time)?),
            _ => None,
        };
        found.filter(|ns| *ns > 0)
    }

    /// True if the disk column exists and is blank.
    fn is_blank<'a>(&self, field: impl Fn(usize) -> Option<&'a [u8]>) -> bool {
        self.device.and_then(field).is_some_and(|text| !text.is_empty())
    }

    /// Parses the request from a line's fields.
    pub(crate) fn line<'a>(
        &mut self,
        field: impl Fn(usize) -> Option<&'a [u8]>,
    ) -> Result<Line, LineError> {
        let given = field;
        let field = |index: usize| match given(index) {
            Some(field) => Ok(field.trim_ascii()),
            None => Err(LineError { problem: format!("no column {}", index + 1), expected: LINE }),
        };
        if let Some((index, chosen)) = self.event {
            let letter = words::event(field(index)?);
            if letter != chosen {
                return Ok(Line::Skip(left_out(letter)));
            }
        }
        let (at, is_early) = self.at(field)?;
        let device = match self.device.map(field).transpose()? {
            // A blank column means an unknown disk. A line without the column has one disk.
            Some(b"") if self.is_capture && self.is_blank(&given) => {
                return Ok(Line::Skip("without_device"));
            }
            Some(text) => self.device(text)?,
            None => 0,
        };
        let line = self.request(field, at, device)?;
        Ok(match line {
            Line::Record(record) if is_early => Line::Noted(record, "arrived_before_the_trace"),
            other => other,
        })
    }

    /// Arrival of a request, and true if it was before the start of the trace.
    fn at<'a>(
        &mut self,
        field: impl Fn(usize) -> Result<&'a [u8], LineError>,
    ) -> Result<(Time, bool), LineError> {
        let ns = |times: &Times| {
            let text = field(times.index)?;
            times.form.ns(text, &times.steps).map_err(|fault| TIME.fault(fault, text))
        };
        let Some(stated) = self.time.as_ref().or(self.end.as_ref()) else { return Ok((0, false)) };
        let (mut stated, is_day) = (ns(stated)?, stated.form == Form::Day);
        if is_day {
            // The time has passed midnight.
            if stated + 12 * 3600 * S < self.seen.last {
                self.seen.days += 24 * 3600 * S;
            }
            self.seen.last = stated;
            stated += self.seen.days;
        }
        if self.time.is_some() {
            return Ok((stated, false));
        }
        let mut took = self.latency.as_ref().map_or(Ok(0), ns)?;
        if let Some(queued) = self.queued.as_ref().filter(|_| self.latency.is_some()) {
            let is_unseen = self.is_capture && field(queued.index)?.is_empty();
            took = took.saturating_add(if is_unseen { 0 } else { ns(queued)? });
        }
        Ok((stated.saturating_sub(took), stated < took))
    }

    fn device(&mut self, text: &[u8]) -> Result<u32, LineError> {
        if text.iter().all(u8::is_ascii_digit) && !(self.is_capture && text.is_empty()) {
            return DEVICE.u32(text);
        }
        let mut pair = text.splitn(2, |byte| matches!(byte, b',' | b':'));
        let (major, minor) = (pair.next().unwrap_or_default(), pair.next().unwrap_or_default());
        if let (Ok(major), Ok(minor)) = (DEVICE.u32(major), DEVICE.u32(minor)) {
            return Ok(device_number(major, minor));
        }
        self.seen.devices.number(text).ok_or_else(|| DEVICE.fault(Fault::Bad, text))
    }

    fn request<'a>(
        &self,
        field: impl Fn(usize) -> Result<&'a [u8], LineError>,
        at: Time,
        device: u32,
    ) -> Result<Line, LineError> {
        let asked = match &self.op {
            None => Asked::Op(Op::Read),
            Some((index, directions)) => operation(field(*index)?, directions)?,
        };
        let whole = |numbers: &Option<Numbers>, what: Field| {
            let Some(numbers) = numbers else { return Ok((0, &b""[..])) };
            let text = field(numbers.index)?;
            whole(text, numbers)
                .map(|number| (number, text))
                .map_err(|fault| what.fault(fault, text))
        };
        let op = match asked {
            Asked::Nothing => return Ok(Line::Skip("other_commands")),
            Asked::Op(Op::Flush) => return Ok(Line::Record(Record::flush(at, device))),
            Asked::Op(op) | Asked::AfterFlush(op) => op,
            Asked::Letters => {
                let letters = self.op.as_ref().map_or(Ok(&b""[..]), |(index, _)| field(*index))?;
                let sectors = whole(&self.size, SIZE)?.0.div_ceil(SECTOR_BYTES);
                let sectors = u32::try_from(sectors).unwrap_or(u32::MAX);
                let first = if sectors == 0 { 0 } else { whole(&self.offset, OFFSET)?.0 };
                let sector = first / SECTOR_BYTES;
                return Ok(match requested(letters, at, device, sector, sectors) {
                    EventRequest::One(record) => Line::Record(record),
                    EventRequest::AfterFlush(record) => Line::AfterFlush(record),
                    EventRequest::Nothing => Line::Skip("without_data"),
                });
            }
        };
        // In a capture, a request without data has no valid position.
        if self.is_capture && !op.is_zoned() && whole(&self.size, SIZE)?.0 == 0 {
            return Ok(Line::Skip("without_data"));
        }
        let (first, (bytes, length)) = (whole(&self.offset, OFFSET)?.0, whole(&self.size, SIZE)?);
        if op.is_zoned() && bytes == 0 {
            // A zone command without a length applies to all zones.
            let sector = first / SECTOR_BYTES;
            return Ok(Line::Record(Record { op, sector, ..Record::flush(at, device) }));
        }
        let extent = Extent::of(first, bytes).map_err(|fault| SIZE.fault(fault, length))?;
        // Reads usually have no handle.
        let handle = match self.handle.map_or(Ok(&b""[..]), &field)? {
            b"" | b"-" => Handle::NONE,
            text => Handle::new(HANDLE.u64(text)?),
        };
        let fua = match (self.fua.map_or(Ok(&b""[..]), |(index, _)| field(index))?, self.fua) {
            (text, Some((_, Some(bit)))) => has_bit(text, bit),
            (b"" | b"-" | b"0" | b"false" | b"False" | b"FALSE", _) => false,
            (b"1" | b"true" | b"True" | b"TRUE", _) => true,
            (text, _) => return Err(FUA.fault(Fault::Bad, text)),
        };
        let stated = |record: Record| Record { fua, handle, ..record };
        Ok(match (extent.line(at, device, op), asked) {
            (Line::Record(record) | Line::Noted(record, _), Asked::AfterFlush(_)) => {
                Line::AfterFlush(stated(record))
            }
            (Line::Record(record), _) => Line::Record(stated(record)),
            (Line::Noted(record, what), _) => Line::Noted(stated(record), what),
            (other, _) => other,
        })
    }

    /// Role of each column up to the last used one; empty if the fast path cannot read a line.
    pub(crate) fn plainly(&self) -> Vec<Plainly> {
        let time = |times: &Times| match times.form {
            Form::Unit(unit) if times.steps.is_empty() => {
                Some((times.index, Plainly::Time(unit.ilog10() as usize)))
            }
            _ => None,
        };
        let numbers = |numbers: &Numbers, role: fn(u64) -> Plainly| {
            numbers.steps.is_empty().then_some((numbers.index, role(numbers.unit)))
        };
        let (Some(at), Some(offset), Some(size)) = (&self.time, &self.offset, &self.size) else {
            return Vec::new();
        };
        let op = match &self.op {
            None => None,
            Some((index, Directions::Words)) => Some((*index, Plainly::Word)),
            Some((index, Directions::ReadIs(digit))) => {
                Some((*index, Plainly::ReadIs(*digit == 1)))
            }
            Some((_, Directions::Marks(_))) => return Vec::new(),
        };
        let needed = [time(at), numbers(offset, Plainly::Offset), numbers(size, Plainly::Size)];
        let is_bit = self.fua.is_some_and(|(_, bit)| bit.is_some());
        if needed.contains(&None) || self.event.is_some() || is_bit {
            return Vec::new();
        }
        let more = [
            op,
            self.device.map(|index| (index, Plainly::Device)),
            self.handle.map(|index| (index, Plainly::Handle)),
            self.fua.map(|(index, _)| (index, Plainly::Fua)),
        ];
        let said: Vec<(usize, Plainly)> = needed.into_iter().chain(more).flatten().collect();
        let last = said.iter().map(|(index, _)| index + 1).max().unwrap_or(0);
        let mut all = vec![Plainly::Nothing; last];
        for (index, role) in said {
            if std::mem::replace(&mut all[index], role) != Plainly::Nothing {
                return Vec::new();
            }
        }
        all
    }
}

/// A whole number of bytes.
fn whole(text: &[u8], numbers: &Numbers) -> Result<u64, Fault> {
    if numbers.steps.is_empty()
        && let found @ Ok(_) = super::fields::integer(text, 10)
    {
        return found?.checked_mul(numbers.unit).ok_or(Fault::TooLarge);
    }
    let Some(number) = fixed(text) else {
        // The slow parser distinguishes the errors: too large, or not a number.
        return super::fields::integer(text, 10).and(Err(Fault::Bad));
    };
    if numbers.steps.is_empty() && number % ONE != 0 {
        return Err(Fault::Bad);
    }
    let number = after(number, &numbers.steps).ok_or(Fault::TooLarge)?.div_euclid(ONE);
    let bytes = number.checked_mul(i128::from(numbers.unit)).ok_or(Fault::TooLarge)?;
    if bytes < 0 { Err(Fault::Negative) } else { u64::try_from(bytes).map_err(|_| Fault::TooLarge) }
}

/// Meaning of an operation's field.
enum Asked {
    Op(Op),
    /// A flush, followed by this operation.
    AfterFlush(Op),
    /// Letters of the block layer, possibly a flush and a write.
    Letters,
    /// No request.
    Nothing,
}

/// Meaning of an operation field.
fn operation(text: &[u8], directions: &Directions) -> Result<Asked, LineError> {
    let bad = || OP.fault(Fault::Bad, text);
    match directions {
        Directions::ReadIs(read) => match text {
            b"0" | b"false" | b"False" => {
                Ok(Asked::Op(if *read == 0 { Op::Read } else { Op::Write }))
            }
            b"1" | b"true" | b"True" => {
                Ok(Asked::Op(if *read == 1 { Op::Read } else { Op::Write }))
            }
            _ => Err(bad()),
        },
        Directions::Marks(marks) => {
            let number = fixed(text).filter(|it| it % ONE == 0).map(|it| it / ONE);
            let fits = |mark: &Mark| match mark {
                Mark::Number(known) => number == Some(i128::from(*known)),
                Mark::Bit(bit) => has_bit(text, *bit),
                Mark::Text(known) => text.eq_ignore_ascii_case(known.as_bytes()),
                Mark::Other => true,
            };
            let is_flush = |(mark, op): &(Mark, Option<Op>)| {
                matches!((mark, op), (Mark::Bit(_), Some(Op::Flush))) && fits(mark)
            };
            match marks.iter().find(|(mark, _)| fits(mark)) {
                Some((Mark::Bit(_), Some(op)))
                    if *op != Op::Flush && marks.iter().any(is_flush) =>
                {
                    Ok(Asked::AfterFlush(*op))
                }
                Some((_, op)) => Ok(op.map_or(Asked::Nothing, Asked::Op)),
                None => Err(bad()),
            }
        }
        Directions::Words => match words::operation(text) {
            Some(words::Said::Op(op)) => Ok(Asked::Op(op)),
            Some(words::Said::Letters) => Ok(Asked::Letters),
            None => Err(bad()),
        },
    }
}
