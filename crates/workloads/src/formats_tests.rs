//! Tests over the table of formats, and helpers for tests of single formats.

use super::known::Known;
use super::*;
use crate::error::BuildError;
use crate::read::inputs::Inputs;
use crate::read::stated::{ReadOptions, TimeUnit};
use crate::record::Record;
use crate::records::Records;
use engine::Op;
use proptest::prelude::*;

/// The table's row for a format.
fn row(format: &Format) -> &'static Format {
    format_named(format.name).unwrap()
}

/// The keys required to read the format's sample, besides the format's name.
pub(crate) fn stated(format: &Format) -> ReadOptions {
    let mut options = ReadOptions::default();
    for (key, value) in format.stated {
        match *key {
            "time_unit" => options.time_unit = value.parse::<TimeUnit>().unwrap(),
            "read_share" => options.read_share = value.parse().ok(),
            "pattern" => options.pattern = Some((*value).to_owned()),
            "columns" => options.columns = value.parse().ok(),
            _ => panic!("{key} is not stated anywhere"),
        }
    }
    options
}

/// Reads the whole trace `name` of `inputs`, in a named or detected format.
fn read_all(
    inputs: &Inputs,
    name: &str,
    format: Option<&'static Format>,
    options: &ReadOptions,
) -> Result<Vec<Record>, String> {
    let mut records =
        Records::open(inputs, name, format, options).map_err(|error| match error {
            BuildError::Input(text) => text,
            BuildError::Invalid(invalid) => invalid.to_string(),
        })?;
    let all = std::iter::from_fn(|| records.next_record().transpose());
    all.collect::<Result<_, _>>().map_err(|error| error.0)
}

/// Reads the trace `name` of `inputs` with the given options.
pub(crate) fn read_inputs(
    inputs: &Inputs,
    name: &str,
    options: &ReadOptions,
) -> Result<Vec<Record>, String> {
    read_all(inputs, name, None, options)
}

/// Reads a trace `t` from memory with the given options.
pub(crate) fn read_with(bytes: &[u8], options: &ReadOptions) -> Result<Vec<Record>, String> {
    read_inputs(&Inputs::memory("t", bytes), "t", options)
}

/// Reads a trace `t` from memory in a named format.
pub(crate) fn read_as(
    format: &Format,
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<Vec<Record>, String> {
    read_all(&Inputs::memory("t", bytes), "t", Some(row(format)), options)
}

/// Reads a trace in a named format with its required declarations.
pub(crate) fn read(format: &Format, bytes: &[u8]) -> Vec<Record> {
    read_as(format, bytes, &stated(format)).unwrap()
}

/// Asserts that a trace is refused, with a part of the message.
pub(crate) fn refused(format: &Format, text: &str, part: &str) {
    let error = read_as(format, text.as_bytes(), &stated(format)).unwrap_err();
    assert!(error.contains(part) && !error.contains('\n'), "{error}");
}

/// Lines of a trace that are not requests, by reason.
pub(crate) fn skipped(format: &Format, bytes: &[u8]) -> Vec<(&'static str, u64)> {
    let (inputs, named) = (Inputs::memory("t", bytes), Some(row(format)));
    let mut records = Records::open(&inputs, "t", named, &stated(format)).unwrap();
    while records.next_record().unwrap().is_some() {}
    records.counted()
}

#[test]
fn every_sample_is_its_own_format_and_no_other() {
    for format in FORMATS {
        let (sample, options) = ((format.sample)(), stated(format));
        let head = Head::new(&sample, true, &options);
        let claims = FORMATS.iter().filter(|row| row.claims(&head));
        let names: Vec<&str> = claims.map(|row| row.name).collect();
        // FlashSim is indistinguishable from the far more common DiskSim; it must be named.
        let expected = if format.name == "flashsim" { "disksim" } else { format.name };
        assert_eq!(names, [expected]);
        assert!(read(format, &sample).len() > 1, "{}", format.name);
        assert!(!format.summary.contains('\n'));
    }
}

#[test]
fn a_wrong_format_is_an_error_and_never_another_reading() {
    for format in FORMATS {
        let sample = (format.sample)();
        for other in FORMATS.iter().filter(|other| other.name != format.name) {
            let result = read_as(other, &sample, &stated(other));
            let same_columns = |name: &str| matches!(name, "disksim" | "mqsim" | "flashsim");
            match (format.name, other.name) {
                // The five columns are equal; the unit or the size differs.
                (a, b) if same_columns(a) && same_columns(b) => {}
                // Columns of a table are declared, and names of devices may contain a letter.
                ("wiscsee", "csv") => {}
                _ => assert!(
                    result.as_ref().map_or(true, Vec::is_empty),
                    "{} read as {}: {result:?}",
                    format.name,
                    other.name
                ),
            }
        }
    }
}

#[test]
fn what_a_format_writes_it_reads_back() {
    let record = |at, device, op, sector| Record {
        at,
        device,
        op,
        sector,
        sectors: 8,
        fua: false,
        handle: engine::Handle::NONE,
    };
    let records = [
        record(1_000_000, 0, Op::Read, 64),
        record(2_000_000, 1, Op::Write, 128),
        record(2_000_000, 0, Op::Write, 1 << 40),
    ];
    let others = [
        Record { fua: true, ..record(3_000_000, 0, Op::Write, 8) },
        record(3_000_000, 0, Op::Trim, 8),
        Record::flush(4_000_050, 0),
    ];
    for format in FORMATS {
        let Some(write) = format.write else { continue };
        let mut bytes = Vec::new();
        let lost = write(&mut records.iter().copied(), &mut bytes).unwrap();
        assert!(lost.is_empty(), "{}", format.name);
        assert_eq!(read_with(&bytes, &stated(format)).unwrap(), records, "{}", format.name);
        let lost = write(&mut others.iter().copied(), &mut bytes.split_off(0)).unwrap();
        let expected: &[_] = match format.name {
            "parquet" => &[],
            "fio" => &[("fua_flags", 1), ("rounded_times", 1)],
            _ => &[("fua_flags", 1), ("trims_and_flushes", 2)],
        };
        assert_eq!(lost, expected, "{}", format.name);
    }
}

#[test]
fn files_that_fit_no_format_or_several_are_refused_with_the_names() {
    let claim = |name: &'static str, detect: fn(&Head) -> bool| Format {
        detect: Some(detect),
        ..Format::new(name, "s", Reader::Known(&Known(&[])), Vec::new)
    };
    let options = ReadOptions::default();
    let head = Head::new(b"x\n", true, &options);
    let none = only(&[claim("a", |_| false), claim("b", |_| false)], &head).unwrap_err();
    assert!(none.contains("nearest are a, b: name one by workload.format"), "{none}");
    let both = only(&[claim("a", |_| true), claim("b", |_| true)], &head).unwrap_err();
    assert_eq!(both, "its beginning could be a or b: name one with workload.format");
}

#[test]
fn a_header_makes_a_table_of_columns_that_a_format_has_without() {
    let text = b"Timestamp,Offset,Size,IOType,VolumeID\n1538323200,16,8,1,7\n1538323200,24,8,0,7\n";
    let all = read_with(text, &ReadOptions::default()).unwrap();
    let found: Vec<_> = all.iter().map(|it| (it.op, it.sector, it.device)).collect();
    assert_eq!(found, [(Op::Write, 16, 7), (Op::Read, 24, 7)]);
    let tabs = b"time_us\top\toffset\tsize\thandle\n1\tw\t0\t512\t3\n2\tw\t0\t512\t\r\n";
    let handles = read_with(tabs, &ReadOptions::default()).unwrap();
    let numbers: Vec<_> = handles.iter().map(|it| it.handle.number()).collect();
    assert_eq!(numbers, [Some(3), None]);
}

#[test]
fn formats_are_found_by_name() {
    assert_eq!(format_named("disksim").unwrap().name, "disksim");
    let error = format_named("dsiksim").unwrap_err().to_string();
    assert!(error.starts_with("workload.format: \"dsiksim\" is none of its "), "{error}");
    assert!(error.ends_with("(did you mean \"disksim\"?)"), "{error}");
}

#[test]
fn statements_that_a_format_has_no_use_for_are_refused() {
    let sample = b"1.5 0 100 8 1\n";
    let stated = ReadOptions { time_unit: TimeUnit::Us, ..ReadOptions::default() };
    let error = read_with(sample, &stated).unwrap_err();
    assert_eq!(
        error,
        "workload.time_unit, workload.format: traces in format disksim say this themselves"
    );
    let stated = ReadOptions { read_share: Some(0.5), ..ReadOptions::default() };
    assert!(read_with(sample, &stated).unwrap_err().starts_with("workload.read_share"));
}

proptest! {
    #[test]
    fn changed_samples_are_read_or_refused_without_a_panic(
        which in 0..FORMATS.len(), changes in proptest::collection::vec(any::<(u16, u8)>(), 0..6),
        cut in any::<u16>(),
    ) {
        let format = &FORMATS[which];
        let mut bytes = (format.sample)();
        for (place, byte) in changes {
            let place = usize::from(place) % bytes.len();
            bytes[place] = byte;
        }
        bytes.truncate(bytes.len() - usize::from(cut) % (bytes.len() / 2));
        let _ = read_as(format, &bytes, &stated(format));
        let _ = read_with(&bytes, &ReadOptions::default());
    }

    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(
        which in 0..FORMATS.len(), bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let format = &FORMATS[which];
        let _ = read_as(format, &bytes, &stated(format));
        let _ = read_with(&bytes, &ReadOptions::default());
    }
}
