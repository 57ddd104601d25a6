//! Workloads in the languages of other programs: job files and command lines.
//!
//! They are given as the path of a file or as text. Errors name the invalid line by number.

use crate::error::BuildError;
use crate::kind::Context;
use options::Invalid;
use std::io::Read;

/// Maximum length of a text, bytes.
const LARGEST_FILE: u64 = 1 << 20;

/// An invalid line, and the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    pub line: usize,
    pub problem: String,
}

impl BadLine {
    pub fn new(line: usize, problem: impl Into<String>) -> Self {
        BadLine { line, problem: problem.into() }
    }

    /// The error, with the name of the text.
    pub fn of(self, name: &str) -> BuildError {
        BuildError::Input(format!("{name}, line {}: {}", self.line, self.problem))
    }
}

/// Wording of messages about a workload's text.
pub struct Script {
    /// Words before the path: "fio job".
    pub named: &'static str,
    /// Name of a file in that language: "job file".
    pub what: &'static str,
    /// Key of the text, without and with its section.
    pub key: &'static str,
    pub full_key: &'static str,
    /// Message if neither path nor text is given.
    pub missing: &'static str,
}

impl Script {
    /// The name of the text in messages, and the text.
    pub fn read(
        &self,
        path: &str,
        text: &str,
        context: &Context,
    ) -> Result<(String, String), BuildError> {
        let keys = ["workload.path", self.full_key];
        match (path, text) {
            ("", "") => Err(Invalid::new(&keys, self.missing).into()),
            ("", text) => Ok((self.full_key.to_owned(), text.to_owned())),
            (path, "") => {
                let name = format!("{} {path}", self.named);
                let mut bytes = Vec::new();
                let opened = (context.inputs.open)(path);
                opened
                    .and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
                    .map_err(|error| BuildError::Input(format!("cannot open {name}: {error}")))?;
                if bytes.len() as u64 > LARGEST_FILE {
                    let problem = format!("{name} is larger than 1 MiB, and so no {}", self.what);
                    return Err(BuildError::Input(problem));
                }
                let text = String::from_utf8(bytes)
                    .map_err(|_| BuildError::Input(format!("{name} is not text")))?;
                Ok((name, text))
            }
            _ => {
                let problem = format!("path and {} exclude each other", self.key);
                Err(Invalid::new(&keys, problem).into())
            }
        }
    }
}
