//! Writes a trace as Parquet, one row group at a time.
//!
//! The column of placement handles is written only if the first row group contains one, so other
//! traces stay small.

use crate::formats::writing::{HANDLE_LOST, Lost};
use crate::record::{Losses, Record};
use engine::{Handle, Op};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::{self, Write};
use std::sync::Arc;

/// Number for a request without a placement handle.
pub const NO_HANDLE: u64 = 255;

const COLUMNS: &str = "required int64 at_ns (integer(64, false));
    required int32 device (integer(32, false));
    required binary op (string);
    required int64 sector (integer(64, false));
    required int32 sectors (integer(32, false));
    required boolean fua;";
const HANDLE: &str = "required int32 handle (integer(32, false));";
/// Rows per written row group: a few MB in memory.
pub(super) const GROUP_ROWS: usize = 1 << 17;

pub(super) fn write(
    records: &mut dyn Iterator<Item = Record>,
    out: &mut dyn Write,
) -> io::Result<Losses> {
    let mut rows: Vec<Record> = records.take(GROUP_ROWS).collect();
    let names = rows.iter().any(|row| row.handle != Handle::NONE);
    let handle = if names { HANDLE } else { "" };
    let schema = Arc::new(parse_message_type(&format!("message trace {{ {COLUMNS} {handle} }}"))?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_column_dictionary_enabled("at_ns".into(), false)
        .set_column_encoding("at_ns".into(), Encoding::DELTA_BINARY_PACKED);
    // The library owns its output, so it writes to memory, group by group.
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
    let mut lost = Lost::default();
    while !rows.is_empty() {
        let mut group = writer.next_row_group()?;
        write_group(&mut group, &rows, names)?;
        for row in &rows {
            lost.count(HANDLE_LOST, !names && row.handle != Handle::NONE);
        }
        group.close()?;
        writer.flush()?;
        out.write_all(writer.inner())?;
        writer.inner_mut().clear();
        rows.clear();
        rows.extend(records.take(GROUP_ROWS));
    }
    out.write_all(&writer.into_inner()?)?;
    Ok(lost.0)
}

fn write_group(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    rows: &[Record],
    names: bool,
) -> Result<(), ParquetError> {
    column::<Int64Type>(group, rows, |row| row.at.cast_signed())?;
    column::<Int32Type>(group, rows, |row| row.device.cast_signed())?;
    let words = Op::ALL.map(|op| ByteArray::from(op.name()));
    let word = |op: Op| Op::ALL.iter().position(|other| *other == op).unwrap_or_default();
    column::<ByteArrayType>(group, rows, |row| words[word(row.op)].clone())?;
    column::<Int64Type>(group, rows, |row| row.sector.cast_signed())?;
    column::<Int32Type>(group, rows, |row| row.sectors.cast_signed())?;
    column::<BoolType>(group, rows, |row| row.fua)?;
    if names {
        let number = |row: &Record| row.handle.number().map_or(NO_HANDLE, u64::from);
        column::<Int32Type>(group, rows, |row| number(row) as i32)?;
    }
    Ok(())
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
