//! How a trace is to be read: what its file cannot say of itself, and where its bytes come from.
//!
//! Everything here is stated by the user. Where nothing is stated and the file does not say it,
//! readers refuse rather than guess.

use crate::columns::Columns;
use crate::formats::Format;
use options::{Duration, Invalid};
use std::fmt;
use std::io::{self, Read, Seek};
use std::str::FromStr;
use std::sync::Arc;

options::choices! {
    /// The unit of a trace's times, where its file does not carry one.
    pub enum TimeUnit {
        /// The unit that the format defines.
        Own = "own",
        /// Nanoseconds.
        Ns = "ns",
        /// Microseconds.
        Us = "us",
        /// Milliseconds.
        Ms = "ms",
        /// Seconds.
        S = "s",
    }

    /// Which event of a request is its arrival, in traces that have several for each.
    pub enum BlockEvent {
        /// The first of these that occurs at the beginning of the trace: queue, issue, complete.
        Auto = "auto",
        /// Entry to the block layer (Q).
        Queue = "queue",
        /// Hand-over to the driver (D).
        Issue = "issue",
        /// Completion (C).
        Complete = "complete",
    }
}

impl TimeUnit {
    /// Nanoseconds in the unit; `None` if it is the format's own.
    pub(crate) fn ns(self) -> Option<u64> {
        match self {
            TimeUnit::Own => None,
            TimeUnit::Ns => Some(1),
            TimeUnit::Us => Some(1_000),
            TimeUnit::Ms => Some(1_000_000),
            TimeUnit::S => Some(1_000_000_000),
        }
    }
}

/// A time up to which something goes, or the word `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(Option<Duration>);

impl Limit {
    /// What a config value of this type must look like.
    pub const EXPECTED: &'static str = "a time with its unit, such as \"1ms\", or \"none\"";

    /// No limit.
    pub const NONE: Limit = Limit(None);

    /// A limit of so many ns.
    pub const fn from_ns(ns: u64) -> Self {
        Limit(Some(Duration::from_ns(ns)))
    }

    /// The limit in ns, if there is one.
    pub fn ns(self) -> Option<u64> {
        self.0.map(Duration::ns)
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "none" => Ok(Limit::NONE),
            time => match time.parse() {
                Ok(duration) => Ok(Limit(Some(duration))),
                Err(error) => Err(format!("{error}; expected {}", Limit::EXPECTED)),
            },
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(duration) => duration.fmt(f),
            None => f.write_str("none"),
        }
    }
}

options::text_setting!(Limit: Limit::EXPECTED);

/// A stream that can also be read from several places.
pub trait Seekable: Read + Seek + Send {}

impl<T: Read + Seek + Send> Seekable for T {}

/// Opens an input by name from its start; `"-"` is standard input, which opens only once.
pub type Opener = Arc<dyn Fn(&str) -> io::Result<Box<dyn Read + Send>> + Send + Sync>;

/// Opens an input by name for reading from several places, which only files allow.
pub type SeekableOpener = Arc<dyn Fn(&str) -> io::Result<Box<dyn Seekable>> + Send + Sync>;

/// Where inputs come from.
#[derive(Clone)]
pub struct Inputs {
    /// Opens an input as a stream.
    pub open: Opener,
    /// Opens an input that readers go back and forth in.
    pub open_seekable: SeekableOpener,
}

impl Inputs {
    /// Inputs that are only streams.
    pub fn streams(
        open: impl Fn(&str) -> io::Result<Box<dyn Read + Send>> + Send + Sync + 'static,
    ) -> Self {
        Inputs {
            open: Arc::new(open),
            open_seekable: Arc::new(|_| Err(io::ErrorKind::Unsupported.into())),
        }
    }

    /// One input in memory, by its name.
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
        }
    }
}

/// The name of standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// What is stated about a trace beside its name.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Its format; without it the beginning of the file decides.
    pub format: Option<&'static Format>,
    /// The unit of its times.
    pub time_unit: TimeUnit,
    /// The columns of a table that no other format describes.
    pub columns: Option<Columns>,
    /// The `-f` format that blkparse printed it with.
    pub layout: Option<String>,
    /// Which event counts.
    pub event: BlockEvent,
    /// Share of reads to draw where the file has no direction, 0 to 1.
    pub read_share: Option<f64>,
    /// The seed of those draws.
    pub seed: u64,
    /// How many unreadable lines or records to leave out.
    pub skip_bad: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            format: None,
            time_unit: TimeUnit::Own,
            columns: None,
            layout: None,
            event: BlockEvent::Auto,
            read_share: None,
            seed: 0,
            skip_bad: 0,
        }
    }
}

impl ReadOptions {
    /// The stated time unit, ns, of a format that does not carry one.
    pub(crate) fn stated_unit_ns(&self, format: &str) -> Result<u64, Invalid> {
        self.time_unit.ns().ok_or_else(|| {
            let problem = format!(
                "{format} files do not say in which unit their times are (nanoseconds for SSDsim, \
                 a setting for MQSim): state ns, us, ms or s"
            );
            Invalid::new(&["workload.time_unit"], problem)
        })
    }
}
