//! Access to traces and job files: the caller of a workload opens them.

use std::io::{self, Read, Seek};
use std::sync::Arc;

/// A stream with random access.
pub trait Seekable: Read + Seek + Send {}

impl<T: Read + Seek + Send> Seekable for T {}

/// Opens an input by name, at its start; `"-"` is standard input, which can be opened only once.
pub type Opener = Arc<dyn Fn(&str) -> io::Result<Box<dyn Read + Send>> + Send + Sync>;

/// Opens an input by name for random access, which only files allow.
pub type SeekableOpener = Arc<dyn Fn(&str) -> io::Result<Box<dyn Seekable>> + Send + Sync>;

/// Source of inputs.
#[derive(Clone)]
pub struct Inputs {
    /// Opens an input as a stream.
    pub open: Opener,
    /// Opens an input with random access.
    pub open_seekable: SeekableOpener,
    /// True if an input can be reopened from its start.
    pub is_repeatable: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Maximum number of threads: with 1, everything is read on demand on the calling thread; with
    /// more, a separate thread reads a trace ahead.
    pub threads: usize,
}

impl Inputs {
    /// Inputs without random access.
    pub fn streams(
        open: impl Fn(&str) -> io::Result<Box<dyn Read + Send>> + Send + Sync + 'static,
    ) -> Self {
        Inputs {
            open: Arc::new(open),
            open_seekable: Arc::new(|_| Err(io::ErrorKind::Unsupported.into())),
            is_repeatable: Arc::new(|_| false),
            threads: 1,
        }
    }

    /// A named input in memory.
    pub fn memory(name: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into();
        let name = name.to_owned();
        let open = Arc::new(move |other: &str| {
            if other == name {
                Ok(io::Cursor::new(Arc::clone(&bytes)))
            } else {
                Err(io::Error::from(io::ErrorKind::NotFound))
            }
        });
        let again = Arc::clone(&open);
        Inputs {
            open: Arc::new(move |name| Ok(Box::new(open(name)?))),
            open_seekable: Arc::new(move |name| Ok(Box::new(again(name)?))),
            is_repeatable: Arc::new(|_| true),
            threads: 1,
        }
    }

    /// The inputs with `threads` threads, at least 1.
    pub fn with_threads(self, threads: usize) -> Self {
        Inputs { threads: threads.max(1), ..self }
    }
}

/// The name of standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// Message of an error, without the operating system's error number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
