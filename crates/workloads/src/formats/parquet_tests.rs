//! Tests of Parquet: nothing is lost, wrong columns are named, broken files are errors.

use super::super::tests::{read, read_inputs, read_with};
use super::*;
use crate::read::inputs::Inputs;
use crate::read::stated::ReadOptions;
use proptest::prelude::*;

fn written(records: &[Record]) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(write(&mut records.iter().copied(), &mut out).unwrap().is_empty());
    out
}

fn error(bytes: &[u8]) -> String {
    read_with(bytes, &ReadOptions::default()).unwrap_err()
}

/// A file of one group with these columns, all filled with the same.
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
    };
    let records: Vec<Record> = (0..GROUP_ROWS as u64 + 9000).map(record).collect();
    assert_eq!(read(&FORMAT, &written(&records)), records);
    assert!(read(&FORMAT, &written(&[])).is_empty());
}

#[test]
fn bytes_are_read_in_whole_sectors_and_other_times_passed_over() {
    let text = "message run { required int64 arrival_ns; required int64 end_ns;
        required binary op (string); required int64 offset_bytes; required int64 size_bytes; }";
    let expected = Record { at: 1024, device: 0, op: Op::Read, sector: 2, sectors: 2, fua: false };
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
    let expected = Record { at: 9, device: 0, op: Op::Trim, sector: 9, sectors: 9, fua: false };
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
                op => Record { at, device, op, sector, sectors, fua },
            })
            .collect();
        prop_assert_eq!(read(&FORMAT, &written(&records)), records);
    }
}
