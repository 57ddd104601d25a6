//! The window of a run whose flash operations are recorded, and the section of the results that
//! lists them.

use devices::ssd::timeline::{Timeline, Window};
use options::{Duration, text_setting};
use serde_json::{Value, json};
use std::fmt;
use std::str::FromStr;

/// Operations recorded at most.
const MOST_OPERATIONS: usize = 20_000;

/// A window of simulated time, such as "10ms..12ms", or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineWindow {
    /// Nothing is recorded.
    None,
    /// From the first to the second.
    Between(Duration, Duration),
}

text_setting!(TimelineWindow: "\"none\", or a window of simulated time such as \"10ms..12ms\"");

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
    /// What a device is asked to record.
    pub(crate) fn window(self) -> Option<Window> {
        match self {
            TimelineWindow::None => None,
            TimelineWindow::Between(from, to) => {
                Some(Window { from: from.ns(), to: to.ns(), most: MOST_OPERATIONS })
            }
        }
    }
}

/// The section `timeline` of the results: the operations as columns, in order of their ends.
pub(crate) fn section(window: Window, recorded: &Timeline) -> Value {
    let spans = &recorded.spans;
    json!({
        "from_ns": window.from,
        "to_ns": window.to,
        "cut": recorded.cut,
        "lanes": recorded.lanes,
        "operations": {
            "lane": spans.iter().map(|span| span.lane).collect::<Vec<_>>(),
            "kind": spans.iter().map(|span| span.word).collect::<Vec<_>>(),
            "start_ns": spans.iter().map(|span| span.start).collect::<Vec<_>>(),
            "end_ns": spans.iter().map(|span| span.end).collect::<Vec<_>>(),
            "bus_ns": spans.iter().map(|span| span.bus_ns).collect::<Vec<_>>(),
        },
    })
}
