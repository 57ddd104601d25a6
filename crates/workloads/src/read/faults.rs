//! Errors of unreadable traces, with file and position.

use super::inputs::reason;
use engine::WorkloadError;
use std::io;

/// An error about a line of text, or a record of a binary file.
#[cold]
pub(crate) fn error_at(name: &str, is_text: bool, number: u64, problem: &str) -> WorkloadError {
    let unit = if is_text { "line" } else { "record" };
    WorkloadError(format!("trace {name}, {unit} {number}: {problem}"))
}

/// The error for input that fails after `place`; empty for the start.
#[cold]
pub(crate) fn broken(name: &str, place: &str, error: &io::Error) -> WorkloadError {
    let place = if place.is_empty() { "at its start".to_owned() } else { format!("after {place}") };
    let reason = reason(error);
    WorkloadError(if error.kind() == io::ErrorKind::UnexpectedEof {
        format!("trace {name} is truncated {place}: the data end early ({reason})")
    } else {
        format!("trace {name} cannot be read {place}: {reason}")
    })
}
