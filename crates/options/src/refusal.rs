//! Rejection of a key whose value contradicts another, or that has no effect.

use std::fmt;

/// A config value that contradicts another or cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// Keys involved, the most likely culprit first.
    pub keys: Vec<String>,
    /// The value and the violated rule, in one sentence.
    pub problem: String,
}

impl Invalid {
    /// An error about some keys.
    pub fn new(keys: &[&str], problem: impl Into<String>) -> Self {
        Invalid { keys: keys.iter().map(ToString::to_string).collect(), problem: problem.into() }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.keys.join(", "), self.problem)
    }
}

impl std::error::Error for Invalid {}

/// A key that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// Full path of the key.
    pub path: String,
    /// Condition under which the key applies, completing "applies ..".
    pub applies: &'static str,
    /// True if the key has its default value.
    pub is_default: bool,
}

impl Idle {
    /// Error for a layer that states this key.
    pub fn refusal(&self) -> Invalid {
        let problem = format!("this has no effect here; the key applies {}", self.applies);
        Invalid::new(&[&self.path], problem)
    }
}
