//! The table of trace formats: the name, detection, reading and writing of each.
//!
//! A new format is one file in `formats/` with a `FORMAT` row, and its word in the table below. A
//! row is `Format::new(..)` with its special fields overridden (`row.rs`); without `detect` users
//! must name the format. Its sample has at least two records, and the tests read it with every
//! format. Readers of text formats receive one line at a time, readers of binary formats a stream
//! of bytes; none opens files. They never panic on any input, and their errors describe the
//! unreadable bytes.
//!
//! A parser may have a fast path for plain lines (`LineParser::quick`, `read/plain.rs`). It returns
//! `None` for all other lines, and must agree with `line`; `oracle` tests and the fuzzer compare
//! the two.

mod known;
mod others;
mod row;
mod unknown;
mod writing;

use crate::read::head::{HEAD_BYTES, Head};
use crate::read::stated::ReadOptions;
use options::Invalid;
pub use row::Format;
pub(crate) use row::Reader;
pub use writing::Writer;

/// Declares the module and the row of each format.
macro_rules! formats {
    ($($format:ident),* $(,)?) => {
        $(mod $format;)*

        /// All trace formats, in display order.
        pub static FORMATS: &[Format] = &[$($format::FORMAT),*];
    };
}

formats! {
    disksim,
    validate,
    mqsim,
    flashsim,
    spc,
    msr,
    etw,
    blkparse,
    blktrace,
    fio,
    srt,
    systor17,
    alibaba,
    tencent,
    fiu,
    vscsi,
    libcachesim,
    oracle_general,
    nexus5,
    wiscsee,
    biosnoop,
    iosnoop,
    ftrace,
    nvme_trace,
    lttng,
    pattern,
    csv,
    parquet,
}

/// The format of that name.
///
/// # Errors
/// When the format does not exist: the error lists the formats and suggests the nearest.
pub fn format_named(name: &str) -> Result<&'static Format, Invalid> {
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let words = FORMATS.iter().map(|format| format.name);
        crate::checks::unknown_word("workload.format", name, words)
    })
}

/// The one format that recognises the beginning of the file; an error if there are none or several.
pub(crate) fn detect(head: &Head) -> Result<&'static Format, String> {
    only(FORMATS, head)
}

/// The kind of file of which `bytes` are the beginning, with the command that takes it; `None` if it
/// is not known.
pub fn known_as(bytes: &[u8]) -> Option<String> {
    let head = Head::new(bytes, bytes.len() < HEAD_BYTES, &ReadOptions::default());
    if let Ok(format) = detect(&head) {
        let name = format.name;
        return Some(format!("a trace of format {name}: `ssdlab run --trace FILE` replays it"));
    }
    others::named(bytes).map(str::to_owned)
}

fn only<'a>(formats: &'a [Format], head: &Head) -> Result<&'a Format, String> {
    let mut claims: Vec<&Format> = formats.iter().filter(|row| row.claims(head)).collect();
    if head.states("csv") {
        // With declared columns, only formats that accept them qualify, or a table.
        let takes = |row: &&Format| row.may_state.contains(&"columns") && row.claims(head);
        let by_pattern: Vec<&Format> = formats.iter().filter(takes).collect();
        claims.retain(|row| by_pattern.is_empty() && row.name == "csv");
        claims.extend(by_pattern);
    }
    if let Some(table) = formats.iter().find(|row| row.otherwise.is_some_and(|is| is(head)))
        && !head.states("pattern")
    {
        // Tables without column names are excluded: their first line would be lost.
        claims.retain(|row| row.has_header || matches!(row.reader, Reader::Known(_)));
        claims.extend(claims.is_empty().then_some(table));
    }
    match claims[..] {
        [format] => Ok(format),
        [] => Err(unknown::explained(formats, head)),
        _ => {
            let names: Vec<&str> = claims.iter().map(|format| format.name).collect();
            let names = names.join(" or ");
            Err(format!("its beginning could be {names}: name one with workload.format"))
        }
    }
}

#[cfg(test)]
#[path = "formats_tests.rs"]
pub(crate) mod tests;
