//! Errors when building a workload.

use options::Invalid;

/// Error when building a configured workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A key has an invalid value.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// An input is missing or corrupt; the text is one line that names it.
    #[error("{0}")]
    Input(String),
}
