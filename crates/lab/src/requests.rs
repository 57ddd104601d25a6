//! The record of every request of a run, as a Parquet file that is also a trace.
//!
//! Rows are in order of arrival and are written in groups, so memory is bounded by a group plus the
//! outstanding requests. The file gets its name once it is complete.

use crate::trace::output::{Compression as Wrapping, Output};
use devices::latency::{HOST_QUEUE, LATENCY_PARTS};
use engine::{Completion, Op, Status, Time};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows per group: a few MB in memory.
const GROUP_ROWS: usize = 1 << 16;

/// Value of a column for a completion.
type Number = fn(&Completion) -> u64;

/// The whole-number columns after `op`. `start_ns` is the time at which the request left the host.
const NUMBERS: [(&str, Number); 4] = [
    ("offset_bytes", |it| it.request.lba.0 * engine::SECTOR_BYTES),
    ("size_bytes", |it| it.request.bytes()),
    ("start_ns", |it| it.submitted + it.breakdown[HOST_QUEUE]),
    ("end_ns", |it| it.at),
];

/// Writes the completions of a run in order of arrival.
pub(crate) struct RequestLog {
    writer: SerializedFileWriter<Vec<u8>>,
    output: Output,
    rows: Vec<Completion>,
    /// Completions from the first outstanding request on; requests are numbered in order of
    /// arrival.
    waiting: VecDeque<Option<Completion>>,
    first_waiting: u64,
    /// Start of the record; earlier requests have no row.
    from: Time,
    failed: Option<io::Error>,
}

impl RequestLog {
    /// Creates a file to be named `path`, for requests that arrive at `from` or later.
    pub(crate) fn create(path: &str, from: Time) -> io::Result<Self> {
        let output = Output::create(path, Wrapping::None)?;
        let mut schema = "message requests { required int64 arrival_ns (integer(64, false)); \
                          required binary op (string);"
            .to_owned();
        let parts = LATENCY_PARTS.iter().map(|part| format!("{}_ns", part.key));
        for column in NUMBERS.iter().map(|row| row.0.to_owned()).chain(parts) {
            let _ = write!(schema, " required int64 {column} (integer(64, false));");
        }
        schema.push_str(" required binary status (string); }");
        let schema = Arc::new(parse_message_type(&schema)?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_column_dictionary_enabled("arrival_ns".into(), false)
            .set_column_encoding("arrival_ns".into(), Encoding::DELTA_BINARY_PACKED)
            .set_column_dictionary_enabled("end_ns".into(), false)
            .set_column_encoding("end_ns".into(), Encoding::DELTA_BINARY_PACKED);
        // The library owns its output, so it writes to memory, group by group.
        let writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
        Ok(RequestLog {
            writer,
            output,
            rows: Vec::with_capacity(GROUP_ROWS),
            waiting: VecDeque::new(),
            first_waiting: 0,
            from,
            failed: None,
        })
    }

    /// Adds a completion. After a write error nothing more is written; [`finish`](Self::finish)
    /// returns the error.
    pub(crate) fn record(&mut self, completion: &Completion) {
        if self.failed.is_some() {
            return;
        }
        let place = (completion.request.id - self.first_waiting) as usize;
        while self.waiting.len() <= place {
            self.waiting.push_back(None);
        }
        self.waiting[place] = Some(*completion);
        while let Some(Some(completion)) = self.waiting.front() {
            if completion.submitted >= self.from {
                self.rows.push(*completion);
            }
            self.waiting.pop_front();
            self.first_waiting += 1;
        }
        if self.rows.len() >= GROUP_ROWS {
            self.failed = self.write_rows().err();
        }
    }

    /// Completes the file and names it; returns a message if it had to be stored elsewhere.
    pub(crate) fn finish(mut self) -> io::Result<Option<String>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.write_rows()?;
        self.output.write_all(&self.writer.into_inner()?)?;
        self.output.finish()
    }

    fn write_rows(&mut self) -> io::Result<()> {
        if !self.rows.is_empty() {
            let mut group = self.writer.next_row_group()?;
            write_group(&mut group, &self.rows)?;
            group.close()?;
            self.writer.flush()?;
            self.output.write_all(self.writer.inner())?;
            self.writer.inner_mut().clear();
            self.rows.clear();
        }
        Ok(())
    }
}

fn write_group(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    rows: &[Completion],
) -> Result<(), ParquetError> {
    numbers(group, rows, |row| row.submitted)?;
    let words = Op::ALL.map(|op| ByteArray::from(op.name()));
    column::<ByteArrayType>(group, rows.iter().map(|it| words[it.request.op as usize].clone()))?;
    for (_, of) in NUMBERS {
        numbers(group, rows, of)?;
    }
    for row in LATENCY_PARTS {
        numbers(group, rows, |it| it.breakdown[row.part])?;
    }
    let words = Status::ALL.map(|status| ByteArray::from(status.name()));
    column::<ByteArrayType>(group, rows.iter().map(|it| words[it.status as usize].clone()))?;
    Ok(())
}

fn numbers(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    rows: &[Completion],
    of: impl Fn(&Completion) -> u64,
) -> Result<(), ParquetError> {
    column::<Int64Type>(group, rows.iter().map(|row| of(row).cast_signed()))
}

/// Writes the next column.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: impl Iterator<Item = T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<T::T> = values.collect();
    if let Some(mut writer) = group.next_column()? {
        writer.typed::<T>().write_batch(&values, None, None)?;
        writer.close()?;
    }
    Ok(())
}
