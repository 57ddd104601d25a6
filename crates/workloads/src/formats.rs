//! The table of trace formats: what each is called, how it is recognised, how a line is read.
//!
//! A new format is one file in `formats/` with a `FORMAT` row, and its word in the table below.
//! Parsers see one line at a time and never a file; they accept any bytes without panicking, and
//! what they cannot read they describe.

use engine::{Op, Time};
use options::Invalid;

/// What one line of a trace says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Arrival, ns, as the trace counts it.
    pub at: Time,
    /// The trace's number for the device that was asked.
    pub device: u32,
    /// What was asked.
    pub op: Op,
    /// First sector of 512 B.
    pub sector: u64,
    /// Length in sectors, at least 1.
    pub sectors: u32,
}

/// Why a line is not a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// What is wrong, with the offending text.
    pub problem: String,
    /// What a correct line or field looks like.
    pub expected: &'static str,
}

/// One row of the table of formats.
#[derive(Debug)]
pub struct Format {
    /// The word that names it.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Whether the first lines with data (no comments, never none) look like this format.
    pub sniff: fn(&[&str]) -> bool,
    /// Reads one line, handed over without its end.
    pub parse: fn(&[u8]) -> Result<Record, LineError>,
    /// A short valid trace; its first lines are recognised as this format and as no other.
    pub sample: &'static str,
}

/// Declares the module and the row of each format.
macro_rules! formats {
    ($($format:ident),* $(,)?) => {
        $(mod $format;)*

        /// Every trace format, in the order in which lists show them.
        pub static FORMATS: &[Format] = &[$($format::FORMAT),*];
    };
}

formats! { disksim }

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

/// The only one of `formats` that recognises the first lines, or why there is none.
pub(crate) fn detect<'a>(formats: &'a [Format], lines: &[&str]) -> Result<&'a Format, String> {
    let claims: Vec<&Format> = formats.iter().filter(|format| (format.sniff)(lines)).collect();
    match claims[..] {
        [format] => Ok(format),
        [] => {
            let rows: Vec<String> =
                formats.iter().map(|row| format!("{} ({})", row.name, row.summary)).collect();
            Err(format!(
                "the lines are in no known format; the formats are: {}; if it is one of them, \
                 name it with workload.format",
                rows.join(", ")
            ))
        }
        _ => {
            let names: Vec<&str> = claims.iter().map(|format| format.name).collect();
            let names = names.join(" or ");
            Err(format!("its lines could be {names}: name one with workload.format"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_its_own_format_and_no_other() {
        for format in FORMATS {
            let lines: Vec<&str> = format.sample.lines().collect();
            assert_eq!(detect(FORMATS, &lines).unwrap().name, format.name);
            for line in lines {
                assert!((format.parse)(line.as_bytes()).is_ok(), "{}: {line}", format.name);
            }
        }
    }

    #[test]
    fn what_nobody_or_everybody_claims_is_an_error_with_names() {
        let row = |name, sniff| Format { name, sniff, ..disksim::FORMAT };
        let none = detect(&[row("a", |_| false), row("b", |_| false)], &["x"]).unwrap_err();
        assert!(none.contains("are: a (") && none.contains(", b ("), "{none}");
        let both = detect(&[row("a", |_| true), row("b", |_| true)], &["x"]).unwrap_err();
        assert_eq!(both, "its lines could be a or b: name one with workload.format");
    }

    #[test]
    fn formats_are_found_by_name() {
        assert_eq!(format_named("disksim").unwrap().name, "disksim");
        let error = format_named("dsiksim").unwrap_err();
        assert_eq!(
            error.to_string(),
            "workload.format: \"dsiksim\" is not one of disksim (did you mean \"disksim\"?)"
        );
    }
}
