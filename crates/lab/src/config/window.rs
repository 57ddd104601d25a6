//! The window in which flash operations are recorded: the key `run.timeline`.

use devices::ssd::timeline::Window;
use options::{Duration, Values, text_setting};
use std::fmt;
use std::str::FromStr;

/// Maximum number of recorded operations.
const MOST_OPERATIONS: usize = 20_000;

/// A window of simulated time, such as "10ms..12ms", or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineWindow {
    /// No recording.
    None,
    /// From the first time to the second.
    Between(Duration, Duration),
}

text_setting!(
    TimelineWindow: "\"none\", or a window of simulated time such as \"10ms..12ms\"",
    Values::words_or(&["none"], format!(r"{0}\.\.{0}", Duration::pattern()))
);

impl fmt::Display for TimelineWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimelineWindow::None => f.write_str("none"),
            TimelineWindow::Between(from, to) => write!(f, "{from}..{to}"),
        }
    }
}

impl FromStr for TimelineWindow {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(TimelineWindow::None);
        }
        let window = || format!("\"{text}\" is not \"none\" or a window such as \"10ms..12ms\"");
        let (from, to) = text.split_once("..").ok_or_else(window)?;
        let time = |text: &str| -> Result<Duration, String> {
            text.trim().parse().map_err(|error| format!("{}: {error}", window()))
        };
        let (from, to) = (time(from)?, time(to)?);
        if from >= to {
            return Err(format!("a window ends after it begins, and {to} is not after {from}"));
        }
        Ok(TimelineWindow::Between(from, to))
    }
}

impl TimelineWindow {
    /// Window in which a device records.
    pub(crate) fn window(self) -> Option<Window> {
        match self {
            TimelineWindow::None => None,
            TimelineWindow::Between(from, to) => {
                Some(Window { from: from.ns(), to: to.ns(), most: MOST_OPERATIONS })
            }
        }
    }
}
