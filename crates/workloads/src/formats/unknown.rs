//! Messages about unrecognised files.

use super::{Format, Reader};
use crate::read::head::{Head, first_lines, form_of};

/// Number of similar formats named in the message.
const NEAREST: usize = 3;

/// Beginnings of files that are not traces, with advice.
const OTHERS: [(&[&str], &str); 29] = [
    (
        &["{", "\"fio version\""],
        "results of fio, which no trace can be made of: `ssdlab ask FILE` reads them, and `fio --write_iolog=TRACE` records a trace",
    ),
    (
        &["{", "\"experiment\"", "\"schema\""],
        "results of ssdlab: `ssdlab run FILE` repeats the experiment",
    ),
    (&["{", "percentage_used"], "what a drive says of its wear: `ssdlab ask FILE` reads it"),
    (&["{", "ata_smart_attributes"], "what a drive says of its wear: `ssdlab ask FILE` reads it"),
    (&["{", "\"sysstat\""], "a report of iostat: `ssdlab ask FILE` reads it"),
    (&["Linux ", "Device", "r/s"], "a report of iostat: `ssdlab ask FILE` reads it"),
    (&["Device", "r/s"], "a report of iostat: `ssdlab ask FILE` reads it"),
    (&["Linux ", "Device", "tps"], WITHOUT_READS),
    (&["Device", "tps"], WITHOUT_READS),
    (&["procs "], WITHOUT_DISKS),
    (&["\"Dstat"], WITHOUT_DISKS),
    (
        &["smartctl "],
        "what smartctl prints: `ssdlab ask FILE` reads what `smartctl -j -a DEVICE >FILE` writes",
    ),
    (
        &["Smart Log for NVME"],
        "what nvme prints: `ssdlab ask FILE` reads what `nvme smart-log -o json DEVICE >FILE` writes",
    ),
    (&["", ": (g=0): rw="], PRINTED_BY_FIO),
    (&["3;fio-"], PRINTED_BY_FIO),
    (&["4;fio-"], PRINTED_BY_FIO),
    (&["5;fio-"], PRINTED_BY_FIO),
    (&["", " -> ", ": count", "distribution"], "a histogram of latencies, which are no requests"),
    (
        &["", "pread64("],
        "calls that strace saw: `--pattern '^(?<time_s>[0-9.]+) p(?<op>read|write)64\\(.*, (?<bytes>\\d+), (?<offset>\\d+)\\)'` reads one file",
    ),
    (
        &["", " usertable "],
        "operations of YCSB on keys, which have no addresses: blktrace under the database records them",
    ),
    (&["<", "MQSim_IO_Scenarios"], "a scenario of MQSim: `ssdlab run --workload FILE` runs it"),
    (&["[global]"], "a job file of fio: `ssdlab run FILE` runs it"),
    (&["Tracing block I/O", "LATms"], WITHOUT_TIMES),
    (&["COMM ", "LATms"], WITHOUT_TIMES),
    (&["TIME(ms)", "DISK"], WITHOUT_SECTORS),
    (&["Attach", "TIME(ms)", "DISK"], WITHOUT_SECTORS),
    (&["@"], "maps of bpftrace, which are no requests: biosnoop of bcc prints one a line"),
    (
        &["{"],
        "JSON that is no trace, which is an object with a time, an operation, an offset and a size a line",
    ),
    (
        &["[{"],
        "a list of JSON, of which an object a line can be read: `jq -c '.[]' FILE` writes it",
    ),
];
const PRINTED_BY_FIO: &str =
    "what fio prints: `ssdlab ask FILE` reads what `fio --output-format=json --output=FILE` writes";
const WITHOUT_READS: &str = "a report of iostat without -x: `ssdlab ask` reads that of `iostat -x`";
const WITHOUT_DISKS: &str =
    "a report of means of the whole machine: `ssdlab ask` reads that of `iostat -x`";
const WITHOUT_TIMES: &str = "output of iosnoop without times: iosnoop -ts prints them";
const WITHOUT_SECTORS: &str =
    "output of biosnoop.bt of bpftrace, which prints no sectors: biosnoop of bcc does";
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
    let text = String::from_utf8_lossy(head.bytes);
    let is = |marks: &[&str]| head.starts(marks[0]) && marks.iter().all(|it| text.contains(it));
    if let Some((_, what)) = OTHERS.iter().find(|(marks, _)| is(marks)) {
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
