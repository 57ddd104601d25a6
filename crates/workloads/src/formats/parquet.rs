//! Traces in Parquet, the storage format: compact, exact, read by any table tool.
//!
//! The columns, in any order: `at_ns` (time, ns), `op` (`read`, `write`, `trim` or `flush`),
//! `sector` and `sectors` (of 512 B); optional are `device` (default 0), `fua` (false), `handle`
//! (placement handle of a write, 255 for none) and `end_ns` (completion). No value may be null;
//! numbers may be 32 or 64 bits wide. Files compressed by Snappy or zstd are read; zstd is written.
//! Files are read by row group, so memory is bounded by one row group.

mod chunks;
mod words;
mod writer;

use super::row::{Format, Reader};
use crate::error::BuildError;
use crate::read::batch::Batch;
use crate::read::fields::{DEVICE, Fault, Field, SECTORS};
use crate::read::inputs::reason;
use crate::read::source::{BATCH_RECORDS, Opening, Source, Unreadable};
use crate::record::{Clock, LineError, Record};
use chunks::Chunks;
use engine::{Handle, Op, SECTOR_BYTES};
use parquet::basic::{ConvertedType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::io::Read;
use words::Codes;
use writer::NO_HANDLE;

pub const FORMAT: Format = Format {
    detect: Some(|head: &crate::read::head::Head| head.bytes.starts_with(MAGIC)),
    clock: Clock::Epoch,
    write: Some(writer::write),
    ..Format::new(
        "parquet",
        "Parquet with columns at_ns, op, sector, sectors and perhaps device, fua, handle and end_ns",
        Reader::Bytes(open),
        sample,
    )
};

const MAGIC: &[u8] = b"PAR1";
/// Rows decoded at once.
const BATCH_ROWS: usize = BATCH_RECORDS;

/// Columns by position.
const COLUMNS: [&str; 8] =
    ["at_ns", "device", "op", "sector", "sectors", "fua", "handle", "end_ns"];
const OPTIONAL: [&str; 4] = ["device", "fua", "handle", "end_ns"];
/// Column names in files with more data per request, such as the record of a run; other columns
/// that end in `_ns` are ignored.
const OTHERWISE: [(&str, &str); 3] =
    [("arrival_ns", "at_ns"), ("offset_bytes", "sector"), ("size_bytes", "sectors")];
const OTHER_TIME: &str = "_ns";
/// Name of the status column, which is ignored.
const STATUS: &str = "status";

/// Position of a column; its numbers may be signed, and in bytes instead of sectors.
#[derive(Debug, Clone, Copy, Default)]
struct Column {
    index: usize,
    unsigned: bool,
    bytes: bool,
}

/// Decoded rows, not yet returned, by column. `numbers` is in the order of [`COLUMNS`], empty for a
/// missing column. Operations are stored as codes.
#[derive(Default)]
struct Rows {
    numbers: [Vec<u64>; COLUMNS.len()],
    codes: Codes,
    fua: Vec<bool>,
    count: usize,
}

const AT: usize = 0;
const DEVICE_AT: usize = 1;
const OP_AT: usize = 2;
const SECTOR_AT: usize = 3;
const SECTORS_AT: usize = 4;
const HANDLE_AT: usize = 6;
const END_AT: usize = 7;

struct Table {
    of_a_run: bool,
    file: SerializedFileReader<Chunks>,
    columns: [Option<Column>; COLUMNS.len()],
    group: usize,
    readers: Vec<Option<ColumnReader>>,
    left_in_group: usize,
    rows: Rows,
    /// First of the rows not yet returned.
    next: usize,
    given: u64,
}

fn open(opening: Opening<'_>) -> Result<Box<dyn Source>, BuildError> {
    let name = opening.name;
    let refuse = |problem: String| BuildError::Input(format!("trace {name}: {problem}"));
    drop(opening.input);
    let mut file = (opening.inputs.open_seekable)(name).map_err(|error| {
        refuse(format!(
            "Parquet is read from several places, which needs a file, not a stream ({})",
            reason(&error)
        ))
    })?;
    let mut magic = [0; 4];
    let begun = file.read_exact(&mut magic);
    if begun.is_err() || magic != MAGIC {
        return Err(refuse("Parquet within another compression must be unpacked first".to_owned()));
    }
    let chunks = Chunks::new(file).map_err(|error| refuse(reason(&error)))?;
    let file = guarded(|| SerializedFileReader::new(chunks)).map_err(|error| refuse(error.0))?;
    let columns = columns(&file).map_err(refuse)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let of_a_run = schema.columns().iter().any(|column| column.name() == OTHERWISE[0].0);
    Ok(Box::new(Table {
        of_a_run,
        file,
        columns,
        group: 0,
        readers: Vec::new(),
        left_in_group: 0,
        rows: Rows::default(),
        next: 0,
        given: 0,
    }))
}

/// Positions of the columns, or an error about missing columns, unknown columns and wrong types.
fn columns(file: &SerializedFileReader<Chunks>) -> Result<[Option<Column>; COLUMNS.len()], String> {
    let schema = file.metadata().file_metadata().schema_descr();
    let mut found = [None; COLUMNS.len()];
    for (index, column) in schema.columns().iter().enumerate() {
        let path = column.path().string();
        let otherwise = OTHERWISE.iter().find(|(name, _)| *name == path);
        let name = otherwise.map_or(&path[..], |(_, name)| name);
        let Some(place) = COLUMNS.iter().position(|known| *known == name) else {
            if path.ends_with(OTHER_TIME) || path == STATUS {
                continue;
            }
            return Err(format!("\"{path}\" is not one of the columns {}", COLUMNS.join(", ")));
        };
        let fits = match (COLUMNS[place], column.physical_type()) {
            ("op", physical) => physical == Physical::BYTE_ARRAY,
            ("fua", physical) => physical == Physical::BOOLEAN,
            (_, physical) => matches!(physical, Physical::INT32 | Physical::INT64),
        };
        if !fits || column.max_rep_level() > 0 {
            return Err(format!("column {path} is of type {}", column.physical_type()));
        }
        let unsigned = matches!(
            column.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        );
        let bytes = path.ends_with("_bytes");
        if found[place].replace(Column { index, unsigned, bytes }).is_some() {
            return Err(format!("there are two columns for {}", COLUMNS[place]));
        }
    }
    for (name, column) in COLUMNS.iter().zip(&found) {
        if column.is_none() && !OPTIONAL.contains(name) {
            return Err(format!("there is no column {name}"));
        }
    }
    Ok(found)
}

/// Error of the Parquet library.
struct Broken(String);

/// Calls the Parquet library, which panics on some corrupt files.
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Broken> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Broken(format!("broken Parquet: {error}").replace('\n', " "))),
        Err(_) => Err(Broken("broken Parquet: its parts contradict one another".to_owned())),
    }
}

/// Reads `rows` values of a complete column.
fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    let mut levels = Vec::new();
    values.clear();
    let (records, found, _) = reader.read_records(rows, Some(&mut levels), None, values)?;
    if (records, found) != (rows, rows) {
        return Err(ParquetError::General(format!("{found} values in {rows} rows")));
    }
    Ok(())
}

/// Reads a column of non-negative integers.
fn numbers(
    reader: &mut ColumnReader,
    unsigned: bool,
    rows: usize,
    numbers: &mut Vec<u64>,
) -> Result<(), ParquetError> {
    let negative = || ParquetError::General("a number is negative".to_owned());
    numbers.clear();
    match reader {
        ColumnReader::Int32ColumnReader(reader) => {
            let mut found = Vec::with_capacity(rows);
            values::<Int32Type>(reader, rows, &mut found)?;
            if !unsigned && found.iter().any(|value| *value < 0) {
                return Err(negative());
            }
            numbers.extend(found.into_iter().map(|value| u64::from(value.cast_unsigned())));
        }
        ColumnReader::Int64ColumnReader(reader) => {
            let mut found = Vec::with_capacity(rows);
            values::<Int64Type>(reader, rows, &mut found)?;
            if !unsigned && found.iter().any(|value| *value < 0) {
                return Err(negative());
            }
            // Reuses the allocation.
            *numbers = found.into_iter().map(i64::cast_unsigned).collect();
        }
        _ => return Err(ParquetError::General("a number of another type".to_owned())),
    }
    Ok(())
}

impl Table {
    /// Decodes the next rows; `false` at the end of the file.
    fn fetch(&mut self) -> Result<bool, ParquetError> {
        (self.rows.count, self.next) = (0, 0);
        while self.left_in_group == 0 {
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.group)?;
            self.rows.codes = Codes::default();
            let open = |(place, column): (usize, &Option<Column>)| match column {
                Some(column) if place == OP_AT => {
                    self.rows.codes.reader(&*group, column.index).map(Some)
                }
                Some(column) => group.get_column_reader(column.index).map(Some),
                None => Ok(None),
            };
            self.readers = self.columns.iter().enumerate().map(open).collect::<Result<_, _>>()?;
            let rows = group.metadata().num_rows();
            self.left_in_group = usize::try_from(rows)
                .map_err(|_| ParquetError::General(format!("a group of {rows} rows")))?;
            self.group += 1;
        }
        let count = self.left_in_group.min(BATCH_ROWS);
        let rows = &mut self.rows;
        for (place, (reader, column)) in self.readers.iter_mut().zip(self.columns).enumerate() {
            match (reader, column) {
                (Some(ColumnReader::ByteArrayColumnReader(reader)), _) => {
                    let mut words = Vec::new();
                    values(reader, count, &mut words)?;
                    rows.codes.of_all(&words, &mut rows.numbers[place]);
                }
                (Some(ColumnReader::BoolColumnReader(reader)), _) => {
                    values(reader, count, &mut rows.fua)?;
                }
                (Some(reader), Some(column)) => {
                    numbers(reader, column.unsigned, count, &mut rows.numbers[place])?;
                }
                _ => {}
            }
        }
        // Missing values are 0 or false.
        rows.numbers[DEVICE_AT].resize(count, 0);
        rows.fua.resize(count, false);
        rows.numbers[HANDLE_AT].resize(count, NO_HANDLE);
        self.left_in_group -= count;
        rows.count = count;
        Ok(true)
    }

    /// Returns rows up to the first faulty one.
    fn quick_rows(&mut self, batch: &mut Batch) {
        let are_sectors = |place: usize| self.columns[place].is_none_or(|column| !column.bytes);
        if !(are_sectors(SECTOR_AT) && are_sectors(SECTORS_AT)) {
            return;
        }
        let Rows { numbers, fua, .. } = &self.rows;
        let rest = |column: usize| numbers[column][self.next..].iter();
        let places = rest(AT).zip(rest(DEVICE_AT)).zip(rest(SECTOR_AT).zip(rest(SECTORS_AT)));
        let rest = rest(OP_AT).zip(&fua[self.next..]).zip(rest(HANDLE_AT));
        let before = batch.records.len();
        for ((((at, device), (sector, sectors)), ((code, fua), handle)), number) in
            places.zip(rest).zip(self.given + 1..)
        {
            let Some(op) = Codes::operation(*code) else { break };
            let (Ok(device), Ok(sectors)) = (u32::try_from(*device), u32::try_from(*sectors))
            else {
                break;
            };
            if sectors == 0 && op != Op::Flush && !op.is_zoned() {
                break;
            }
            let record = Record {
                at: *at,
                device,
                op,
                sector: *sector,
                sectors,
                fua: *fua,
                handle: named(*handle),
            };
            batch.push(record, number);
        }
        let given = batch.records.len() - before;
        self.next += given;
        self.given += given as u64;
    }

    /// Adds the response times of the rows returned since `first`.
    fn respond(&self, batch: &mut Batch, first: usize) {
        if self.columns[END_AT].is_some() {
            let [at, .., end] = &self.rows.numbers;
            let pairs = at[first..self.next].iter().zip(&end[first..self.next]);
            batch.responses.extend(pairs.map(|(at, end)| end.saturating_sub(*at)));
        }
    }

    /// Parses any row, or returns its error.
    fn row(&self, row: usize) -> Result<Record, LineError> {
        let Rows { numbers, codes, fua, .. } = &self.rows;
        let code = numbers[OP_AT][row];
        let bad = || OP.fault(Fault::Bad, &codes.other(code));
        let op = Codes::operation(code).ok_or_else(bad)?;
        let small = |field: Field, value: u64| {
            let fault = |_| field.fault(Fault::TooLarge, value.to_string().as_bytes());
            u32::try_from(value).map_err(fault)
        };
        let of_sectors = |place: usize| {
            let value = numbers[place][row];
            match self.columns[place] {
                Some(column) if column.bytes && !value.is_multiple_of(SECTOR_BYTES) => {
                    Err(BYTES.fault(Fault::Bad, value.to_string().as_bytes()))
                }
                Some(column) if column.bytes => Ok(value / SECTOR_BYTES),
                _ => Ok(value),
            }
        };
        let record = Record {
            at: numbers[AT][row],
            device: small(DEVICE, numbers[DEVICE_AT][row])?,
            op,
            sector: of_sectors(SECTOR_AT)?,
            sectors: small(SECTORS, of_sectors(SECTORS_AT)?)?,
            fua: fua[row],
            handle: named(numbers[HANDLE_AT][row]),
        };
        if record.sectors == 0 && op != Op::Flush && !op.is_zoned() {
            return Err(SECTORS.fault(Fault::Zero, b"0"));
        }
        Ok(record)
    }
}

/// The placement handle for a number in the column.
fn named(number: u64) -> Handle {
    if number == NO_HANDLE { Handle::NONE } else { Handle::new(number) }
}

const BYTES: Field = Field::new("offset or size", "bytes in whole sectors of 512");
const OP: Field = Field::new(
    "op",
    "read, write, trim or flush, or of zones append, open, open_window, close, finish, reset, offline, commit, report",
);

impl Source for Table {
    fn read(&mut self, batch: &mut Batch) -> Result<bool, Unreadable> {
        if self.next == self.rows.count {
            match guarded(|| self.fetch()) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(Broken(problem)) => {
                    // The rest is unreliable.
                    self.left_in_group = 0;
                    self.group = self.file.num_row_groups();
                    return Err(Unreadable::Lost(problem));
                }
            }
        }
        while self.next < self.rows.count {
            let first = self.next;
            self.quick_rows(batch);
            self.respond(batch, first);
            if self.next < self.rows.count {
                let row = self.next;
                self.next += 1;
                self.given += 1;
                batch.push(self.row(row)?, self.given);
                self.respond(batch, row);
            }
        }
        Ok(true)
    }

    fn number(&self) -> u64 {
        self.given
    }

    /// Times in the record of a run are relative to its start.
    fn clock(&self) -> Option<Clock> {
        self.of_a_run.then_some(Clock::Start)
    }

    fn states_responses(&self) -> bool {
        self.columns[END_AT].is_some()
    }
}

fn sample() -> Vec<u8> {
    let record = |at, op, sectors| Record {
        at,
        device: 1,
        op,
        sector: at * 8,
        sectors,
        fua: at == 2,
        handle: engine::Handle::NONE,
    };
    let records = [record(1, Op::Read, 8), record(2, Op::Write, 16), record(3, Op::Trim, 8)];
    let flush = Record { sector: 0, ..record(4, Op::Flush, 0) };
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let _ = writer::write(&mut records.into_iter().chain([flush]), &mut out);
    out
}

#[cfg(test)]
#[path = "parquet_tests.rs"]
mod tests;
