//! Tests of Parquet: round trips are lossless, wrong columns are named, corrupt files are errors.

use super::super::tests::{read, read_inputs, read_with};
use super::writer::{GROUP_ROWS, write};
use super::*;
use crate::read::inputs::Inputs;
use crate::read::stated::ReadOptions;
use parquet::basic::Encoding;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use std::io;
use std::sync::Arc;

fn written(records: &[Record]) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(write(&mut records.iter().copied(), &mut out).unwrap().is_empty());
    out
}

fn error(bytes: &[u8]) -> String {
    read_with(bytes, &ReadOptions::default()).unwrap_err()
}

/// A file with one row group and these columns, all with equal values.
fn file(schema: &str, number: i64, op: &str) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let optional = schema.get_fields()[0].is_optional();
    let levels = optional.then_some(&[1_i16][..]);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        use parquet::column::writer::ColumnWriter as Any;
        match column.untyped() {
            Any::Int64ColumnWriter(writer) => writer.write_batch(&[number], levels, None),
            Any::Int32ColumnWriter(writer) => writer.write_batch(&[number as i32], levels, None),
            Any::ByteArrayColumnWriter(writer) => writer.write_batch(&[op.into()], levels, None),
            _ => panic!("another type"),
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn more_rows_than_a_group_and_a_batch_read_back() {
    let record = |n: u64| Record {
        at: n * n,
        device: n as u32 % 7,
        op: Op::ALL[n as usize % 3],
        sector: n << 20,
        sectors: 1 + n as u32 % 9,
        fua: n.is_multiple_of(2),
        handle: engine::Handle::NONE,
    };
    let records: Vec<Record> = (0..GROUP_ROWS as u64 + 9000).map(record).collect();
    assert_eq!(read(&FORMAT, &written(&records)), records);
    assert!(read(&FORMAT, &written(&[])).is_empty());
}

#[test]
fn handles_are_kept_where_a_trace_names_them() {
    let record = |n: u64| Record {
        at: n,
        device: 0,
        op: Op::Write,
        sector: 8 * n,
        sectors: 8,
        fua: false,
        handle: if n.is_multiple_of(3) { Handle::NONE } else { Handle::new(n % 5) },
    };
    let records: Vec<Record> = (0..1000).map(record).collect();
    assert_eq!(read(&FORMAT, &written(&records)), records);
    // Files without handles lack the column.
    let without: Vec<Record> =
        records.iter().map(|it| Record { handle: Handle::NONE, ..*it }).collect();
    let has_column = |bytes: &[u8]| bytes.windows(6).any(|it| it == b"handle");
    assert!(has_column(&written(&records)) && !has_column(&written(&without)));
}

/// Words in every encoding and both page versions, in required and optional columns.
#[test]
fn operations_are_read_in_every_encoding() {
    use parquet::column::writer::ColumnWriter as Any;
    use parquet::file::properties::WriterVersion::{PARQUET_1_0, PARQUET_2_0};
    let encodings = [
        None,
        Some(Encoding::PLAIN),
        Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
        Some(Encoding::DELTA_BYTE_ARRAY),
    ];
    let rows = 20_000_usize;
    let of_row = |row: usize| Op::ALL[row.wrapping_mul(0x9E37_79B9) >> 7 & 3];
    for (version, encoding) in [PARQUET_1_0, PARQUET_2_0]
        .iter()
        .zip([encodings; 2])
        .flat_map(|(version, encodings)| encodings.map(|encoding| (*version, encoding)))
    {
        for repetition in ["required", "optional"] {
            let text = format!(
                "message m {{ {repetition} binary op (string); {repetition} int64 at_ns;
                {repetition} int64 sectors; {repetition} int64 sector; }}"
            );
            let schema = Arc::new(parse_message_type(&text).unwrap());
            let properties = WriterProperties::builder()
                .set_writer_version(version)
                .set_data_page_row_count_limit(3000)
                .set_write_batch_size(1000)
                .set_column_dictionary_enabled("op".into(), encoding.is_none());
            let properties = match encoding {
                Some(encoding) => properties.set_column_encoding("op".into(), encoding),
                None => properties,
            };
            let properties = Arc::new(properties.build());
            let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
            let mut group = writer.next_row_group().unwrap();
            let levels = (repetition == "optional").then(|| vec![1_i16; rows]);
            while let Some(mut column) = group.next_column().unwrap() {
                let levels = levels.as_deref();
                let numbers = (1_i64..).take(rows).collect::<Vec<_>>();
                let mut words: Vec<ByteArray> =
                    (0..rows).map(|row| of_row(row).name().into()).collect();
                words[rows - 1] = "reed".into();
                match column.untyped() {
                    Any::Int64ColumnWriter(writer) => writer.write_batch(&numbers, levels, None),
                    Any::ByteArrayColumnWriter(writer) => writer.write_batch(&words, levels, None),
                    _ => panic!("another type"),
                }
                .unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
            let file = writer.into_inner().unwrap();
            let what = format!("{version:?}, {encoding:?}, {repetition}");
            let problem = error(&file);
            assert!(problem.contains("record 20000: bad op \"reed\""), "{what}: {problem}");
            let options = ReadOptions { skip_bad: 1, ..ReadOptions::default() };
            let found = read_with(&file, &options).unwrap();
            assert_eq!(found.len(), rows - 1, "{what}");
            let ops = found
                .iter()
                .enumerate()
                .all(|(row, record)| record.op == of_row(row) && record.at == row as u64 + 1);
            assert!(ops, "{what}");
        }
    }
}

#[test]
fn bytes_are_read_in_whole_sectors_and_other_times_passed_over() {
    let text = "message run { required int64 arrival_ns; required int64 end_ns;
        required binary op (string); required int64 offset_bytes; required int64 size_bytes; }";
    let expected = Record {
        at: 1024,
        device: 0,
        op: Op::Read,
        sector: 2,
        sectors: 2,
        fua: false,
        handle: engine::Handle::NONE,
    };
    assert_eq!(read(&FORMAT, &file(text, 1024, "read")), [expected]);
    let odd = error(&file(text, 1000, "read"));
    assert!(odd.contains("\"1000\"") && odd.contains("whole sectors of 512"), "{odd}");
    let twice = text.replace("end_ns", "at_ns");
    assert!(error(&file(&twice, 512, "read")).contains("there are two columns for at_ns"));
}

#[test]
fn files_of_other_writers_are_read() {
    let text = "message any { optional binary op (string); optional int64 at_ns;
        optional int64 sectors; optional int32 sector; }";
    let expected = Record {
        at: 9,
        device: 0,
        op: Op::Trim,
        sector: 9,
        sectors: 9,
        fua: false,
        handle: engine::Handle::NONE,
    };
    assert_eq!(read(&FORMAT, &file(text, 9, "trim")), [expected]);
    let rows = [
        (text, -1, "trim", "broken Parquet: Parquet error: a number is negative"),
        (text, 0, "trim", "record 1: zero size"),
        (text, 9, "Trim", "record 1: bad op \"Trim\", expected read, write, trim or flush"),
        ("message m { required int64 at_ns; }", 1, "", "trace t: there is no column op"),
        ("message m { required int64 at; }", 1, "", "\"at\" is not one of the columns at_ns, dev"),
        ("message m { required int64 op; }", 1, "", "column op is of type INT64"),
    ];
    for (schema, number, op, part) in rows {
        let error = error(&file(schema, number, op));
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_stream_or_a_broken_file_is_refused() {
    let sample = sample();
    let again = sample.clone();
    let inputs = Inputs::streams(move |_| Ok(Box::new(io::Cursor::new(again.clone()))));
    let error_of = |inputs: &Inputs| read_inputs(inputs, "-", &ReadOptions::default()).unwrap_err();
    assert!(error_of(&inputs).contains("needs a file, not a stream"));
    let packed = zstd::encode_all(&sample[..], 1).unwrap();
    assert!(error(&packed).contains("within another compression must be unpacked"));
    for keep in [4, 12, sample.len() / 2, sample.len() - 1] {
        assert!(error(&sample[..keep]).contains("broken Parquet"), "{keep}");
    }
}

proptest! {
    #[test]
    fn traces_are_read_back_as_written(
        rows in proptest::collection::vec(
            (any::<u64>(), any::<u32>(), 0..4_usize, any::<u64>(), 1..=u32::MAX, any::<bool>()),
            0..50,
        ),
    ) {
        let records: Vec<Record> = rows
            .into_iter()
            .map(|(at, device, op, sector, sectors, fua)| match Op::ALL[op] {
                Op::Flush => Record::flush(at, device),
                op => Record { at, device, op, sector, sectors, fua, handle: engine::Handle::NONE },
            })
            .collect();
        prop_assert_eq!(read(&FORMAT, &written(&records)), records);
    }
}
