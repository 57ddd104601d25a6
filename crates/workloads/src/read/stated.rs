//! Properties of a trace stated by the user, because the file lacks them.
//!
//! Readers never guess: a missing property that the user does not state is an error.

use super::columns::Columns;
use options::Invalid;

options::choices! {
    /// Unit of the times of a trace, if its file does not state it.
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

    /// Arrival event of a request, in traces with several events per request.
    pub enum BlockEvent {
        /// The first of queue, issue, complete that occurs at the start of the trace.
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
    /// Length of the unit in nanoseconds; `None` for the format's own unit.
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

/// Declared properties of a trace besides name and format.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Unit of times.
    pub time_unit: TimeUnit,
    /// Columns of a table without a known format.
    pub columns: Option<Columns>,
    /// The pattern of lines that are requests; its groups are columns.
    pub pattern: Option<String>,
    /// The `-f` format of blkparse.
    pub layout: Option<String>,
    /// Event that counts as the arrival.
    pub event: BlockEvent,
    /// Share of reads to draw if the file has no direction, 0 to 1.
    pub read_share: Option<f64>,
    /// Seed for drawing directions.
    pub seed: u64,
    /// Maximum number of unreadable lines or records to skip.
    pub skip_bad: u64,
}

impl ReadOptions {
    /// Keys about reading a trace, with true for stated ones.
    pub(crate) fn stated(&self) -> [(&'static str, bool); 6] {
        [
            ("time_unit", self.time_unit.ns().is_some()),
            ("columns", self.columns.is_some()),
            ("pattern", self.pattern.is_some()),
            ("layout", self.layout.is_some()),
            ("read_share", self.read_share.is_some()),
            ("event", self.event != BlockEvent::Auto),
        ]
    }

    /// True if a key, given with its section, is stated; always true for other keys.
    pub(crate) fn states(&self, path: &str) -> bool {
        let key = path.trim_start_matches("workload.");
        self.stated().into_iter().find(|(it, _)| *it == key).is_none_or(|(_, is)| is)
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            time_unit: TimeUnit::Own,
            columns: None,
            pattern: None,
            layout: None,
            event: BlockEvent::Auto,
            read_share: None,
            seed: 0,
            skip_bad: 0,
        }
    }
}

impl ReadOptions {
    /// The stated time unit in ns, for a format without a unit.
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
