//! Errors of a user: wrong input, an interruption, a broken invariant.

use std::{fmt, io};

/// A user error, with position and remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError(pub String);

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InputError {}

/// Reasons for a run without results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// Invalid input: a contradiction in the configuration, or an unreadable trace.
    Input(String),
    /// The caller ended the run.
    Interrupted {
        /// Number of requests completed before.
        requests: u64,
    },
    /// The supplied cleaning policy violated a rule or failed; with the state of its pool.
    Policy {
        /// The policy, the violated rule, and the state.
        problem: String,
        /// Completed requests at detection.
        requests: u64,
    },
    /// An output of a run, such as a record or a drive, cannot be written. The run itself has
    /// completed.
    Unwritten {
        /// The output that cannot be written, the reason, and the output's substitute location.
        problem: String,
        /// The results of the run, as JSON text.
        results: String,
    },
    /// The audit found a violated invariant: a defect of this program.
    Check(String),
    /// The operating system refused an operation, such as writing a file.
    System(String),
}

impl RunError {
    /// The results of a run as JSON text, or an error that contains them if other outputs could not
    /// be written.
    ///
    /// # Errors
    /// If `unwritten` has messages.
    pub fn or_results(
        results: &serde_json::Value,
        unwritten: &[String],
    ) -> Result<String, RunError> {
        let results =
            serde_json::to_string(results).map_err(|error| RunError::Check(error.to_string()))?;
        if unwritten.is_empty() {
            return Ok(results);
        }
        Err(RunError::Unwritten { problem: unwritten.join("; "), results })
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Input(message) | RunError::System(message) => f.write_str(message),
            RunError::Policy { problem, .. } | RunError::Unwritten { problem, .. } => {
                f.write_str(problem)
            }
            RunError::Interrupted { requests } => {
                write!(f, "interrupted after {requests} requests")
            }
            RunError::Check(message) => write!(f, "the audit failed: {message}"),
        }
    }
}

impl std::error::Error for RunError {}

/// The operating system's message, without the error number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
