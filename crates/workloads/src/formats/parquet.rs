//! Traces as Parquet, the form in which they are kept: compact, exact, read by any table tool.
//!
//! The columns, in any order: `at_ns` (time, ns), `op` (`read`, `write`, `trim` or `flush`),
//! `sector` and `sectors` (of 512 B); and if there are any `device` (0 if not) and `fua` (false if
//! not) and `end_ns` (when it was answered). Every row has a value in each; numbers may be 32 or 64 bits wide. Files may be compressed
//! by Snappy or zstd, which is what is written. Reading goes from one group of rows to the next, so
//! memory is bounded by a group.

use super::row::{Format, Reader};
use crate::error::BuildError;
use crate::read::fields::{DEVICE, Fault, Field, SECTORS};
use crate::read::inputs::Seekable;
use crate::read::inputs::reason;
use crate::read::source::{Counted, Opening, Source, Unreadable};
use crate::record::{Clock, LineError, Losses, Record};
use bytes::Bytes;
use engine::{Op, SECTOR_BYTES, Time};
use parquet::basic::{Compression, ConvertedType, Encoding, Type as Physical, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::{self, Read, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

pub(super) const FORMAT: Format = Format {
    detect: Some(|head: &crate::read::head::Head| head.bytes.starts_with(MAGIC)),
    clock: Clock::Epoch,
    write: Some(write),
    ..Format::new(
        "parquet",
        "Parquet with columns at_ns, op, sector, sectors and perhaps device, fua and end_ns",
        Reader::Bytes(open),
        sample,
    )
};

const MAGIC: &[u8] = b"PAR1";
const SCHEMA: &str = "message trace {
    required int64 at_ns (integer(64, false));
    required int32 device (integer(32, false));
    required binary op (string);
    required int64 sector (integer(64, false));
    required int32 sectors (integer(32, false));
    required boolean fua;
}";
/// Rows in a group that is written: some MB in memory.
const GROUP_ROWS: usize = 1 << 17;
/// Rows decoded at once.
const BATCH_ROWS: usize = 8192;

fn write(records: &mut dyn Iterator<Item = Record>, out: &mut dyn Write) -> io::Result<Losses> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_column_dictionary_enabled("at_ns".into(), false)
        .set_column_encoding("at_ns".into(), Encoding::DELTA_BINARY_PACKED);
    // The library wants to own what it writes to, so it writes to memory, group by group.
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
    let mut rows: Vec<Record> = Vec::with_capacity(GROUP_ROWS);
    loop {
        rows.clear();
        rows.extend(records.take(GROUP_ROWS));
        if rows.is_empty() {
            break;
        }
        let mut group = writer.next_row_group()?;
        write_group(&mut group, &rows)?;
        group.close()?;
        writer.flush()?;
        out.write_all(writer.inner())?;
        writer.inner_mut().clear();
    }
    out.write_all(&writer.into_inner()?)?;
    Ok(Vec::new())
}

fn write_group(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    rows: &[Record],
) -> Result<(), ParquetError> {
    column::<Int64Type>(group, rows, |row| row.at.cast_signed())?;
    column::<Int32Type>(group, rows, |row| row.device.cast_signed())?;
    let words = Op::ALL.map(|op| ByteArray::from(op.name()));
    let word = |op: Op| Op::ALL.iter().position(|other| *other == op).unwrap_or_default();
    column::<ByteArrayType>(group, rows, |row| words[word(row.op)].clone())?;
    column::<Int64Type>(group, rows, |row| row.sector.cast_signed())?;
    column::<Int32Type>(group, rows, |row| row.sectors.cast_signed())?;
    column::<BoolType>(group, rows, |row| row.fua)
}

/// Writes the next column.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    rows: &[Record],
    value: impl Fn(&Record) -> T::T,
) -> Result<(), ParquetError> {
    let values: Vec<T::T> = rows.iter().map(value).collect();
    if let Some(mut writer) = group.next_column()? {
        writer.typed::<T>().write_batch(&values, None, None)?;
        writer.close()?;
    }
    Ok(())
}

/// A file that the library reads from several places.
struct Chunks {
    file: Arc<Mutex<Box<dyn Seekable>>>,
    bytes: u64,
}

impl Chunks {
    fn new(mut file: Box<dyn Seekable>) -> io::Result<Self> {
        let bytes = file.seek(SeekFrom::End(0))?;
        Ok(Chunks { file: Arc::new(Mutex::new(file)), bytes })
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Chunks {
    type T = Part;

    fn get_read(&self, start: u64) -> Result<Part, ParquetError> {
        Ok(Part { file: Arc::clone(&self.file), at: start })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are not there")));
        }
        let mut bytes = vec![0; length];
        self.get_read(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// The file from some place on.
struct Part {
    file: Arc<Mutex<Box<dyn Seekable>>>,
    at: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The columns, in the order in which [`Batch`] has them.
const COLUMNS: [&str; 7] = ["at_ns", "device", "op", "sector", "sectors", "fua", "end_ns"];
const OPTIONAL: [&str; 3] = ["device", "fua", "end_ns"];
/// What the columns are called where a file says more of each request, such as the record of a run;
/// its other columns are times too, and say nothing of what was asked.
const OTHERWISE: [(&str, &str); 3] =
    [("arrival_ns", "at_ns"), ("offset_bytes", "sector"), ("size_bytes", "sectors")];
const OTHER_TIME: &str = "_ns";
/// And one says how it ended, which a replay finds out anew.
const STATUS: &str = "status";

/// Where a column is. A number's column may count below zero, or bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Column {
    index: usize,
    unsigned: bool,
    bytes: bool,
}

/// Rows decoded and not yet given out.
#[derive(Default)]
struct Batch {
    at: Vec<u64>,
    device: Vec<u64>,
    op: Vec<ByteArray>,
    sector: Vec<u64>,
    sectors: Vec<u64>,
    fua: Vec<bool>,
    end: Vec<u64>,
}

struct Table {
    of_a_run: bool,
    file: SerializedFileReader<Chunks>,
    columns: [Option<Column>; 7],
    group: usize,
    readers: Vec<Option<ColumnReader>>,
    left_in_group: usize,
    batch: Batch,
    next: usize,
    rows: u64,
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
        batch: Batch::default(),
        next: 0,
        rows: 0,
    }))
}

/// Where the columns are, or which are missing, unknown or of a wrong type.
fn columns(file: &SerializedFileReader<Chunks>) -> Result<[Option<Column>; 7], String> {
    let schema = file.metadata().file_metadata().schema_descr();
    let mut found = [None; 7];
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

/// What the library says is wrong.
struct Broken(String);

/// Calls the library, which gives up on some broken files by a panic.
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Broken> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Broken(format!("broken Parquet: {error}").replace('\n', " "))),
        Err(_) => Err(Broken("broken Parquet: its parts contradict one another".to_owned())),
    }
}

/// Reads `rows` values of a column, all of which must be there.
fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
) -> Result<Vec<T::T>, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::with_capacity(rows));
    let (records, found, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if (records, found) != (rows, rows) {
        return Err(ParquetError::General(format!("{found} values in {rows} rows")));
    }
    Ok(values)
}

/// Reads a column of whole numbers, none of them below zero.
fn numbers(
    reader: &mut ColumnReader,
    unsigned: bool,
    rows: usize,
) -> Result<Vec<u64>, ParquetError> {
    let negative = || ParquetError::General("a number is negative".to_owned());
    match reader {
        ColumnReader::Int32ColumnReader(reader) => {
            let values = values::<Int32Type>(reader, rows)?;
            if !unsigned && values.iter().any(|value| *value < 0) {
                return Err(negative());
            }
            Ok(values.into_iter().map(|value| u64::from(value.cast_unsigned())).collect())
        }
        ColumnReader::Int64ColumnReader(reader) => {
            let values = values::<Int64Type>(reader, rows)?;
            if !unsigned && values.iter().any(|value| *value < 0) {
                return Err(negative());
            }
            Ok(values.into_iter().map(i64::cast_unsigned).collect())
        }
        _ => Err(ParquetError::General("a number of another type".to_owned())),
    }
}

impl Table {
    /// Decodes the next rows; `false` at the end of the file.
    fn fetch(&mut self) -> Result<bool, ParquetError> {
        while self.left_in_group == 0 {
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.group)?;
            let open = |column: &Option<Column>| {
                column.map(|column| group.get_column_reader(column.index)).transpose()
            };
            self.readers = self.columns.iter().map(open).collect::<Result<_, _>>()?;
            let rows = group.metadata().num_rows();
            self.left_in_group = usize::try_from(rows)
                .map_err(|_| ParquetError::General(format!("a group of {rows} rows")))?;
            self.group += 1;
        }
        let rows = self.left_in_group.min(BATCH_ROWS);
        let mut number = |place: usize| match (&mut self.readers[place], self.columns[place]) {
            (Some(reader), Some(column)) => numbers(reader, column.unsigned, rows),
            _ => Ok(vec![0; rows]),
        };
        let (at, device, sector, sectors) = (number(0)?, number(1)?, number(3)?, number(4)?);
        let end = number(6)?;
        let op = match &mut self.readers[2] {
            Some(ColumnReader::ByteArrayColumnReader(reader)) => values(reader, rows)?,
            _ => Vec::new(),
        };
        let fua = match &mut self.readers[5] {
            Some(ColumnReader::BoolColumnReader(reader)) => values(reader, rows)?,
            _ => vec![false; rows],
        };
        self.batch = Batch { at, device, op, sector, sectors, fua, end };
        self.left_in_group -= rows;
        self.next = 0;
        Ok(true)
    }

    fn row(&self, row: usize) -> Result<Record, LineError> {
        let Batch { at, device, op, sector, sectors, fua, .. } = &self.batch;
        let op = match op[row].data() {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"flush" => Op::Flush,
            other => return Err(OP.fault(Fault::Bad, other)),
        };
        let small = |field: Field, value: u64| {
            let fault = |_| field.fault(Fault::TooLarge, value.to_string().as_bytes());
            u32::try_from(value).map_err(fault)
        };
        let of_sectors = |place: usize, value: u64| match self.columns[place] {
            Some(column) if column.bytes && !value.is_multiple_of(SECTOR_BYTES) => {
                Err(BYTES.fault(Fault::Bad, value.to_string().as_bytes()))
            }
            Some(column) if column.bytes => Ok(value / SECTOR_BYTES),
            _ => Ok(value),
        };
        let record = Record {
            at: at[row],
            device: small(DEVICE, device[row])?,
            op,
            sector: of_sectors(3, sector[row])?,
            sectors: small(SECTORS, of_sectors(4, sectors[row])?)?,
            fua: fua[row],
        };
        if record.sectors == 0 && op != Op::Flush {
            return Err(SECTORS.fault(Fault::Zero, b"0"));
        }
        Ok(record)
    }
}

const BYTES: Field = Field::new("offset or size", "bytes in whole sectors of 512");
const OP: Field = Field::new("op", "read, write, trim or flush");

impl Source for Table {
    fn next(&mut self, _: &mut Counted) -> Result<Option<Record>, Unreadable> {
        if self.next == self.batch.at.len() {
            match guarded(|| self.fetch()) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(Broken(problem)) => {
                    // Nothing that follows can be trusted.
                    self.left_in_group = 0;
                    self.group = self.file.num_row_groups();
                    return Err(Unreadable::Lost(problem));
                }
            }
        }
        let row = self.next;
        self.next += 1;
        self.rows += 1;
        Ok(Some(self.row(row)?))
    }

    fn number(&self) -> u64 {
        self.rows
    }

    /// The record of a run counts from its start.
    fn clock(&self) -> Option<Clock> {
        self.of_a_run.then_some(Clock::Start)
    }

    fn states_responses(&self) -> bool {
        self.columns[6].is_some()
    }

    fn response(&self) -> Option<Time> {
        let row = self.next.checked_sub(1).filter(|_| self.states_responses())?;
        self.batch.end.get(row)?.checked_sub(*self.batch.at.get(row)?).filter(|ns| *ns > 0)
    }
}

fn sample() -> Vec<u8> {
    let record =
        |at, op, sectors| Record { at, device: 1, op, sector: at * 8, sectors, fua: at == 2 };
    let records = [record(1, Op::Read, 8), record(2, Op::Write, 16), record(3, Op::Trim, 8)];
    let flush = Record { sector: 0, ..record(4, Op::Flush, 0) };
    let mut out = Vec::new();
    // Writing to memory does not fail; if it did, the test of samples would tell.
    let _ = write(&mut records.into_iter().chain([flush]), &mut out);
    out
}

#[cfg(test)]
#[path = "parquet_tests.rs"]
mod tests;
