//! The section `timeline` of the results: the flash operations of a window of the run.

use devices::ssd::timeline::{Timeline, Window};
use serde_json::{Value, json};

/// The section `timeline` of the results: the operations as columns, ordered by end time.
pub(crate) fn section(window: Window, recorded: &Timeline) -> Value {
    let spans = &recorded.spans;
    json!({
        "from_ns": window.from,
        "to_ns": window.to,
        "cut": recorded.cut,
        "lanes": recorded.lanes,
        "operations": {
            "lane": spans.iter().map(|span| span.lane).collect::<Vec<_>>(),
            "kind": spans.iter().map(|span| span.word.name()).collect::<Vec<_>>(),
            "start_ns": spans.iter().map(|span| span.start).collect::<Vec<_>>(),
            "end_ns": spans.iter().map(|span| span.end).collect::<Vec<_>>(),
            "bus_ns": spans.iter().map(|span| span.bus_ns).collect::<Vec<_>>(),
        },
    })
}
