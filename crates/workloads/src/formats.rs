//! The table of trace formats: the name, detection, reading and writing of each.
//!
//! A new format is one file in `formats/` with a `FORMAT` row, and its word in the table below. A row is
//! `Format::new(..)` with its special fields overridden (`row.rs`); without `detect` users must name the format.
//! Its sample has at least two records, and the tests read it with every format. Readers of text see one line at a
//! time, readers of binary formats a stream of bytes; none sees a file. They accept any bytes without panicking,
//! and describe what they cannot read.
//!
//! A parser may have a fast path for plain lines (`LineParser::quick`, `read/plain.rs`). It gives up on all other
//! lines, and must read the same as `line`; `oracle` tests and the fuzzer compare them.

mod known;
mod row;
mod unknown;
mod writing;

use crate::read::head::Head;
use options::Invalid;
pub use row::Format;
pub(crate) use row::Reader;
pub use writing::Writer;

/// Declares the module and the row of each format.
macro_rules! formats {
    ($($format:ident),* $(,)?) => {
        $(mod $format;)*

        /// All trace formats, in the order of lists.
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
/// When there is none: names the formats there are, and the nearest.
pub fn format_named(name: &str) -> Result<&'static Format, Invalid> {
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let words = FORMATS.iter().map(|format| format.name);
        crate::checks::unknown_word("workload.format", name, words)
    })
}

/// The only format that recognises the file's beginning, or an error.
pub(crate) fn detect(head: &Head) -> Result<&'static Format, String> {
    only(FORMATS, head)
}

fn only<'a>(formats: &'a [Format], head: &Head) -> Result<&'a Format, String> {
    let mut claims: Vec<&Format> = formats.iter().filter(|row| row.claims(head)).collect();
    if head.states("csv") {
        // Declared columns require a format that takes them, or a table.
        let takes = |row: &&Format| row.may_state.contains(&"columns") && row.claims(head);
        let by_pattern: Vec<&Format> = formats.iter().filter(takes).collect();
        claims.retain(|row| by_pattern.is_empty() && row.name == "csv");
        claims.extend(by_pattern);
    }
    if let Some(table) = formats.iter().find(|row| row.otherwise.is_some_and(|is| is(head)))
        && !head.states("pattern")
    {
        // Without names of columns, the first line would be lost.
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
