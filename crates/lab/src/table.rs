//! Tables as Parquet: the results of a sweep, for pandas, Polars and similar libraries.

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// Values of a column, one per row; `None` is null.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Truth values.
    Bools(Vec<Option<bool>>),
    /// Whole numbers.
    Integers(Vec<Option<i64>>),
    /// Floats.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

impl Column {
    fn rows(&self) -> usize {
        match self {
            Column::Bools(values) => values.len(),
            Column::Integers(values) => values.len(),
            Column::Numbers(values) => values.len(),
            Column::Texts(values) => values.len(),
        }
    }

    fn field(&self, name: &str) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self {
            Column::Bools(_) => (Physical::BOOLEAN, None),
            Column::Integers(_) => (Physical::INT64, None),
            Column::Numbers(_) => (Physical::DOUBLE, None),
            Column::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    }
}

/// The bytes of a Parquet file, compressed by zstd. `types` has a column of each type, and
/// `values` gives the content, one column after the other, so that memory has one at a time.
/// Equal columns give equal bytes.
///
/// # Errors
/// Columns of different lengths or of another type than stated, two of one name, or an error of
/// `values`.
pub fn to_parquet(
    types: &[(String, Column)],
    values: impl FnMut(usize) -> Result<Column, String>,
) -> Result<Vec<u8>, String> {
    for (index, (name, _)) in types.iter().enumerate() {
        if types[..index].iter().any(|(other, _)| other == name) {
            return Err(format!("two columns are called {name}"));
        }
    }
    encoded(types, values).map_err(|error| match error {
        ParquetError::General(why) => why,
        other => other.to_string(),
    })
}

fn encoded(
    types: &[(String, Column)],
    mut values: impl FnMut(usize) -> Result<Column, String>,
) -> Result<Vec<u8>, ParquetError> {
    let fields = types.iter().map(|(name, column)| column.field(name));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("table").with_fields(fields).build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("ssdlab ", env!("CARGO_PKG_VERSION")).to_owned());
    let properties = Arc::new(properties.build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut group = writer.next_row_group()?;
    let mut rows = None;
    for (index, (name, kind)) in types.iter().enumerate() {
        let column = values(index).map_err(ParquetError::General)?;
        let (own, others) = (column.rows(), *rows.get_or_insert(column.rows()));
        if own != others || std::mem::discriminant(&column) != std::mem::discriminant(kind) {
            let why = format!("column {name} has {own} rows, others {others}, or another type");
            return Err(ParquetError::General(why));
        }
        match column {
            Column::Bools(values) => write::<BoolType>(&mut group, values.into_iter()),
            Column::Integers(values) => write::<Int64Type>(&mut group, values.into_iter()),
            Column::Numbers(values) => write::<DoubleType>(&mut group, values.into_iter()),
            Column::Texts(values) => write::<ByteArrayType>(
                &mut group,
                values.iter().map(|text| text.as_deref().map(ByteArray::from)),
            ),
        }?;
    }
    group.close()?;
    writer.into_inner()
}

/// Writes the next column: its non-null values, and their positions.
fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let mut there = Vec::new();
    let mut levels = Vec::new();
    for value in values {
        levels.push(i16::from(value.is_some()));
        there.extend(value);
    }
    if let Some(mut writer) = group.next_column()? {
        writer.typed::<T>().write_batch(&there, Some(&levels), None)?;
        writer.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn tables_are_read_back_as_written() {
        let columns = vec![
            ("device.channels".to_owned(), Column::Integers(vec![Some(4), Some(8)])),
            ("host.all.mean_us".to_owned(), Column::Numbers(vec![Some(1.5), None])),
            ("error".to_owned(), Column::Texts(vec![None, Some("broken".to_owned())])),
            ("pareto".to_owned(), Column::Bools(vec![Some(true), Some(false)])),
        ];
        let written = || to_parquet(&columns, |index| Ok(columns[index].1.clone())).unwrap();
        let bytes = written();
        assert_eq!(bytes, written());
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<Vec<(String, Field)>> =
            file.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns()).collect();
        let field = |row: usize, column: usize| rows[row][column].1.clone();
        assert_eq!(rows[0][0].0, "device.channels");
        assert_eq!(field(0, 0), Field::Long(4));
        assert_eq!(field(0, 1), Field::Double(1.5));
        assert_eq!(field(0, 2), Field::Null);
        assert_eq!(field(1, 1), Field::Null);
        assert_eq!(field(1, 2), Field::Str("broken".to_owned()));
        assert_eq!(field(1, 3), Field::Bool(false));
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        let column = |rows| Column::Integers(vec![None; rows]);
        let refused = |a: &str, b: &str, rows| {
            let columns = [(a.to_owned(), column(2)), (b.to_owned(), column(rows))];
            to_parquet(&columns, |index| Ok(columns[index].1.clone())).unwrap_err()
        };
        assert!(refused("a", "b", 3).contains("column b has 3 rows"));
        assert!(refused("a", "a", 2).contains("two columns are called a"));
        let types = [("a".to_owned(), column(0))];
        assert_eq!(to_parquet(&types, |_| Err("no disk".to_owned())).unwrap_err(), "no disk");
        let other = |_| Ok(Column::Numbers(vec![None]));
        assert!(to_parquet(&types, other).unwrap_err().contains("another type"));
    }
}
