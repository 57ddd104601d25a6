//! Tables of the engine, for display.

use devices::latency::{LATENCY_PARTS, LatencyPart};
use devices::ssd::account::{COUNTERS, Counter};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// All counters of a drive, in the order of results: dicts with `key`, `section` (path in results,
/// empty if only in the time series), `label`, `meaning`, `unit`, `terminal` (True if shown there)
/// and `over_time` (name in the time series, or None).
#[pyfunction]
pub(crate) fn counters(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |counter: &Counter| {
        let row = PyDict::new(py);
        row.set_item("key", counter.key)?;
        row.set_item("section", counter.section.path())?;
        row.set_item("label", counter.label())?;
        row.set_item("meaning", counter.doc)?;
        row.set_item("unit", counter.measure.unit())?;
        row.set_item("terminal", counter.terminal.is_some())?;
        row.set_item("over_time", counter.over_time.map(|(_, name)| name))?;
        Ok(row)
    };
    COUNTERS.iter().map(row).collect()
}

/// All latency parts, in the order of a request's path: dicts with `key`, `label` and `meaning`.
#[pyfunction]
pub(crate) fn latency_parts(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |part: &LatencyPart| {
        let row = PyDict::new(py);
        row.set_item("key", part.key)?;
        row.set_item("label", part.label)?;
        row.set_item("meaning", part.doc)?;
        Ok(row)
    };
    LATENCY_PARTS.iter().map(row).collect()
}

/// Kinds of flash operations in a recorded window, in the order of charts.
#[pyfunction]
pub(crate) fn operations() -> Vec<&'static str> {
    lab::operations()
}

/// Kinds of requests, in the order of results.
#[pyfunction]
pub(crate) fn request_kinds() -> Vec<&'static str> {
    lab::request_kinds()
}

/// Synonyms of keys: each word with the endings of matching keys, and other answers.
#[pyfunction]
pub(crate) fn synonyms() -> Vec<SynonymRow> {
    lab::SYNONYMS.iter().map(synonym_row).collect()
}

/// The row of `synonyms` for a word, in any spelling, or None.
#[pyfunction]
pub(crate) fn synonym(word: &str) -> Option<SynonymRow> {
    lab::synonym(word).map(synonym_row)
}

type SynonymRow = (&'static str, Vec<&'static str>, &'static str);

fn synonym_row(row: &lab::Synonym) -> SynonymRow {
    (row.word, row.terms.to_vec(), row.note)
}
