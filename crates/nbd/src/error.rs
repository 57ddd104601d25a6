//! Errors when a live device starts, with the system's reason.

use std::fmt;
use std::io;

/// Reason why a live device cannot start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The user's input cannot be satisfied.
    Input(String),
    /// The system refuses a resource that every server needs.
    System(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input(problem) | Error::System(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for Error {}

/// The system's message without the error number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
