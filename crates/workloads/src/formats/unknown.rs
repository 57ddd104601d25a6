//! Messages about unrecognised files.

use super::{Format, Reader, others};
use crate::read::head::{Head, first_lines, form_of};

/// Number of similar formats named in the message.
const NEAREST: usize = 3;

/// Beginnings of binary recordings that another program can print as text.
const RECORDINGS: [(&[u8], &str); 8] = [
    (b"PERFILE2", "a recording of perf: `perf script -i FILE` prints it"),
    (b"\x17\x08Dtracing", "a recording of trace-cmd: `trace-cmd report FILE` prints it"),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"PK\x03\x04", "a workbook or another archive of ZIP: save its sheet as CSV"),
    (b"SQLite format 3", "a database of SQLite: `sqlite3 -header -csv FILE` prints its tables"),
    (b"\x7fELF", "a program"),
    (b"\xc1\x1f\xfc\xc1", "a stream of LTTng: `babeltrace DIRECTORY` prints it"),
];
const UTF_16: &str = "text in UTF-16: `iconv -f UTF-16 -t UTF-8 FILE` makes it one that is read";
/// Section names at the beginning of experiment files.
const SECTIONS: [&str; 3] = ["[device", "[workload", "[run"];

/// Explains an unrecognised file: its actual type, or the formats with the most similar first line.
pub fn explained(formats: &[Format], head: &Head) -> String {
    let rows = |binary: bool| {
        formats.iter().filter(move |row| matches!(row.reader, Reader::Bytes(_)) == binary)
    };
    if let Some((_, what)) = RECORDINGS.iter().find(|(magic, _)| head.bytes.starts_with(magic)) {
        return format!("this is {what}");
    }
    let Some(first) = head.lines.first() else {
        let names: Vec<&str> = rows(true).map(|row| row.name).collect();
        return format!(
            "binary data in no known format: name one of {} by workload.format",
            names.join(", ")
        );
    };
    if !head.bytes.contains(&b'\n') && head.bytes.contains(&b'\r') {
        return "its lines end in a carriage return alone: `tr '\\r' '\\n' <FILE` mends them"
            .to_owned();
    }
    if let Some(what) = others::named(head.bytes) {
        return format!("this is {what}");
    }
    if SECTIONS.iter().any(|it| head.starts(it)) {
        return "this is an experiment: `ssdlab run FILE` runs it".to_owned();
    }
    let form = form_of(first.as_bytes());
    if ["9, 9, 9, 9", "9, 9, 9, 9, 9", "9, 9, 9, 9, 9, 9"].contains(&form.as_str()) {
        return "this may be a log of latencies or rates by fio: with log_offset=1, \
                `--columns time=1:ms,op=3,size=4,offset=5` reads it; `--write_iolog` records a trace"
            .to_owned();
    }
    let likeness = |row: &Format| {
        let sample = (row.sample)();
        let lines = first_lines(&sample, true).into_iter();
        lines.map(|line| likeness_of(&form_of(line), &form)).fold(0.0, f64::max)
    };
    let mut near: Vec<_> = rows(false).map(|row| (likeness(row), row)).collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let near: Vec<_> = near.iter().take(NEAREST).map(|(_, row)| row.name).collect();
    format!(
        "the lines are in no known format; the nearest are {}: name one by workload.format, or the \
         columns by --columns",
        near.join(", ")
    )
}

/// Similarity of two texts, from 0 to 1: the share of letters that match when one is edited into
/// the other.
fn likeness_of(one: &str, other: &str) -> f64 {
    let mut changes: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut changes[0], row + 1);
        for (column, b) in other.bytes().enumerate() {
            let best =
                (diagonal + usize::from(a != b)).min(changes[column].min(changes[column + 1]) + 1);
            diagonal = std::mem::replace(&mut changes[column + 1], best);
        }
    }
    1.0 - changes[other.len()] as f64 / one.len().max(other.len()).max(1) as f64
}
