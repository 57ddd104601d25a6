//! Why a workload cannot be built.

use options::Invalid;

/// Why a configured workload cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A key has a value that cannot be.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// An input is missing or broken; one line that names it.
    #[error("{0}")]
    Input(String),
}
