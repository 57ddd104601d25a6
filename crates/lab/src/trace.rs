//! Traces without a device: statistics, parsed lines, and conversion to other formats.
//!
//! Traces are streamed: memory grows with the pages that a trace accesses, not with its length.
//! Requests are processed in file order, without sorting or mapping to a device.

mod arrivals;
mod bytes;
mod density;
pub(crate) mod output;
mod pages;
mod services;
mod sketch;
mod statistics;

use crate::error::reason;
use crate::inputs::counting_inputs;
pub(crate) use output::{Output, target_format};
use serde_json::{Value, json};
pub use services::{trace_response_times, trace_services};
use statistics::Statistics;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workloads::{
    BuildError, Devices, FORMATS, Format, Limit, Record, Records, ResolveError, Trace,
    WorkloadConfig, format_named,
};

/// Error about a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceError {
    /// The trace or a declared property is invalid.
    Input(String),
    /// Stopped by the caller.
    Interrupted {
        /// Number of requests read before.
        requests: u64,
    },
    /// The result cannot be written.
    Output(String),
}

impl std::fmt::Display for TraceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TraceError::Input(message) | TraceError::Output(message) => f.write_str(message),
            TraceError::Interrupted { requests } => {
                write!(f, "interrupted after {requests} requests")
            }
        }
    }
}

impl std::error::Error for TraceError {}

/// Position in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceProgress {
    /// Requests read.
    pub requests: u64,
    /// Raw bytes read from the file.
    pub bytes: u64,
    /// Size of the file, if known.
    pub expected_bytes: Option<u64>,
}

/// Called every few thousand requests; may stop the work.
pub type Watch<'a> = &'a mut dyn FnMut(&TraceProgress) -> ControlFlow<()>;

/// Keys of the trace kind for reading and selection.
const READING: [&str; 11] = [
    "format",
    "time_unit",
    "columns",
    "pattern",
    "layout",
    "event",
    "read_share",
    "skip_bad",
    "devices",
    "requests",
    "duration",
];

/// Counts of changed requests, as opposed to skipped lines or records.
const CHANGES: [&str; 3] = ["drawn_directions", "rounded_to_sectors", "arrived_before_the_trace"];

/// Requests between two reports.
const REPORT_REQUESTS: u64 = 4096;

/// Seed for drawing directions in an inspected trace; a run has its own.
const SEED: u64 = 42;

/// A trace being read from its start.
pub struct Reading {
    records: Records,
    devices: Devices,
    first_device: Option<u32>,
    first_at: Option<u64>,
    left: u64,
    duration: Limit,
    taken: u64,
    other_devices: u64,
    read: Arc<AtomicU64>,
    expected_bytes: Option<u64>,
}

impl Reading {
    pub fn open(path: &str, options_json: &str) -> Result<Self, TraceError> {
        let trace = trace_options(path, options_json)?;
        let stated = |error: options::Invalid| TraceError::Input(error.to_string());
        let format = trace.named_format().map_err(stated)?;
        let options = trace.read_options(SEED).map_err(stated)?;
        let read = Arc::default();
        let inputs = counting_inputs(&read);
        let records = Records::open(&inputs, path, format, &options).map_err(|error| {
            TraceError::Input(match error {
                BuildError::Invalid(invalid) => format!("trace {path}: {invalid}"),
                BuildError::Input(message) => message,
            })
        })?;
        let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        Ok(Reading {
            records,
            devices: trace.devices,
            first_device: None,
            first_at: None,
            left: trace.requests.unwrap_or(u64::MAX),
            duration: trace.duration,
            taken: 0,
            other_devices: 0,
            read,
            expected_bytes: metadata.map(|metadata| metadata.len()),
        })
    }

    /// The next request of the selected devices.
    pub fn next(&mut self, watch: Watch<'_>) -> Result<Option<Record>, TraceError> {
        while self.left > 0 {
            self.report(watch)?;
            let next = self.records.next_record();
            let Some(record) = next.map_err(|error| TraceError::Input(error.to_string()))? else {
                break;
            };
            let first = *self.first_device.get_or_insert(record.device);
            let chosen = match &self.devices {
                Devices::All => true,
                Devices::First => record.device == first,
                Devices::These(list) => list.contains(&record.device),
            };
            if !chosen {
                self.other_devices += 1;
                continue;
            }
            let since = record.at.saturating_sub(*self.first_at.get_or_insert(record.at));
            if self.duration.ns().is_some_and(|duration| since >= duration) {
                break;
            }
            self.left -= 1;
            self.taken += 1;
            return Ok(Some(record));
        }
        self.left = 0;
        Ok(None)
    }

    /// Reports progress to the caller periodically.
    fn report(&self, watch: Watch<'_>) -> Result<(), TraceError> {
        let seen = self.taken + self.other_devices;
        if seen == 0 || !seen.is_multiple_of(REPORT_REQUESTS) {
            return Ok(());
        }
        let progress = TraceProgress {
            requests: self.taken,
            bytes: self.read.load(Ordering::Relaxed),
            expected_bytes: self.expected_bytes,
        };
        match watch(&progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(TraceError::Interrupted { requests: self.taken }),
        }
    }

    /// Name of the format.
    pub fn format(&self) -> &'static str {
        self.records.format().name
    }

    /// Counts of skipped and of changed requests, by reason.
    pub fn counted(&self) -> (Value, Value) {
        let object = |changes: bool| -> serde_json::Map<String, Value> {
            let all = self.records.counted().into_iter();
            all.filter(|(what, _)| CHANGES.contains(what) == changes)
                .map(|(what, count)| (what.to_owned(), json!(count)))
                .collect()
        };
        let mut skipped = object(false);
        if self.other_devices > 0 {
            skipped.insert("left_out_device_requests".to_owned(), json!(self.other_devices));
        }
        (skipped.into(), object(true).into())
    }
}

/// Trace options from an object with keys of the trace kind.
fn trace_options(path: &str, options_json: &str) -> Result<Trace, TraceError> {
    let stated: serde_json::Map<String, Value> =
        serde_json::from_str(options_json).map_err(|error| {
            TraceError::Input(format!("the options are not a JSON object: {error}"))
        })?;
    let keys: Vec<&String> = stated.keys().collect();
    if let Some(key) = keys.iter().find(|key| !READING.contains(&key.as_str())) {
        let hint = options::nearest(key, READING)
            .map(|near| format!(" (did you mean workload.{near}?)"))
            .unwrap_or_default();
        let problem =
            format!("workload.{key} does not affect how a trace is read; these keys do: ");
        return Err(TraceError::Input(format!("{problem}{}{hint}", READING.join(", "))));
    }
    // Each key is a separate layer, so that errors name the key.
    let layers = stated.iter().map(|(key, value)| json!({ key: value }));
    match WorkloadConfig::resolve("trace", layers) {
        Ok(WorkloadConfig::Trace(trace)) => Ok(Trace { path: path.to_owned(), ..trace }),
        Err(ResolveError::Layer { index, error }) => {
            Err(TraceError::Input(format!("workload.{}: {error}", keys[index])))
        }
        Ok(_) | Err(ResolveError::Kind(_)) => unreachable!("trace is a kind of workload"),
    }
}

/// Removes the key `capacity`, which does not affect reading, from the options.
fn take_capacity(options_json: &str) -> Result<(Option<u64>, String), TraceError> {
    let Ok(mut stated) = serde_json::from_str::<serde_json::Map<String, Value>>(options_json)
    else {
        return Ok((None, options_json.to_owned()));
    };
    let Some(value) = stated.remove("capacity") else { return Ok((None, options_json.to_owned())) };
    let bytes = serde_json::from_value::<options::Size>(value)
        .map_err(|error| TraceError::Input(format!("workload.capacity: {error}")))?;
    Ok((Some(bytes.bytes() / engine::SECTOR_BYTES), Value::Object(stated).to_string()))
}

/// Statistics of a trace, as JSON text; `options_json` is an object of keys for reading the trace,
/// with an optional `capacity` of the target device.
///
/// # Errors
/// When the trace or an option is invalid, or `watch` stops the work.
pub fn trace_info(path: &str, options_json: &str, watch: Watch<'_>) -> Result<String, TraceError> {
    let (capacity, options_json) = take_capacity(options_json)?;
    let mut reading = Reading::open(path, &options_json)?;
    let mut statistics = Statistics::new(capacity);
    while let Some(record) = reading.next(watch)? {
        statistics.record(&record);
    }
    let (skipped, changed) = reading.counted();
    let mut info = json!({ "format": reading.records.format().name });
    if let (Value::Object(info), Value::Object(found)) = (&mut info, statistics.to_json()) {
        info.extend(found);
        info.insert("skipped".to_owned(), skipped);
        info.insert("changed".to_owned(), changed);
    }
    Ok(info.to_string())
}

/// The first `count` requests of a trace, each with its source line, as JSON text.
///
/// # Errors
/// When the trace or an option is invalid, or `watch` stops the work.
pub fn trace_head(
    path: &str,
    options_json: &str,
    count: u64,
    watch: Watch<'_>,
) -> Result<String, TraceError> {
    let mut reading = Reading::open(path, options_json)?;
    let mut rows = Vec::new();
    while (rows.len() as u64) < count {
        let Some(record) = reading.next(watch)? else { break };
        let raw = reading.records.raw_line();
        let raw = raw.map(|line| String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
        rows.push(json!({
            "number": reading.records.number(),
            "raw": raw,
            "at_ns": record.at,
            "device": record.device,
            "op": record.op.name(),
            "sector": record.sector,
            "sectors": record.sectors,
            "fua": record.fua,
        }));
    }
    let format = reading.records.format();
    let (skipped, changed) = reading.counted();
    Ok(json!({
        "format": format.name,
        "text": reading.records.raw_line().is_some(),
        "requests": rows,
        "skipped": skipped,
        "changed": changed,
    })
    .to_string())
}

/// Converts the trace `source` to the file `target`, "-" being standard output. Returns as JSON
/// text the number of requests written, and the data that the target's format cannot represent.
///
/// The target is written atomically. `format` names its format; without it the extension does. A
/// further extension `.gz` or `.zst` selects compression.
///
/// # Errors
/// When the trace, an option or the format is invalid, the target cannot be written, or `watch`
/// stops the work.
pub fn trace_convert(
    source: &str,
    target: &str,
    format: Option<&str>,
    options_json: &str,
    watch: Watch<'_>,
) -> Result<String, TraceError> {
    let (format, compression) = target_format(target, format).map_err(TraceError::Input)?;
    let Some(write) = format.write else { unreachable!("only such formats are chosen") };
    let mut reading = Reading::open(source, options_json)?;
    let failed = |error: &std::io::Error| {
        TraceError::Output(format!("{target}: cannot be written: {}", reason(error)))
    };
    let mut output = Output::create(target, compression).map_err(|error| failed(&error))?;
    let mut ended = Ok(());
    let records = std::iter::from_fn(|| {
        reading.next(watch).unwrap_or_else(|error| {
            ended = Err(error);
            None
        })
    });
    // Fused, because a writer may read on after the end, and a failed trace has ended.
    let written = write(&mut records.fuse(), &mut output);
    ended?;
    let lost = written.map_err(|error| failed(&error))?;
    if let Some(moved) = output.finish().map_err(|error| failed(&error))? {
        return Err(TraceError::Output(format!("{target}: {moved}")));
    }
    let lost: serde_json::Map<String, Value> =
        lost.into_iter().map(|(what, count)| (what.to_owned(), json!(count))).collect();
    let (skipped, changed) = reading.counted();
    Ok(json!({
        "from": reading.records.format().name,
        "to": format.name,
        "requests": reading.taken,
        "lost": lost,
        "skipped": skipped,
        "changed": changed,
    })
    .to_string())
}

/// The formats with a writer.
fn writable() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| format.write.is_some())
}

/// The table row of a format with a writer.
fn writable_named(name: &str) -> Result<&'static Format, String> {
    let names = || writable().map(|format| format.name).collect::<Vec<_>>().join(", ");
    match format_named(name) {
        Ok(format) if format.write.is_some() => Ok(format),
        Ok(_) => {
            Err(format!("format {name} can be read but not written; choose one of {}", names()))
        }
        Err(_) => Err(format!("unknown format \"{name}\"; choose one of {}", names())),
    }
}

#[cfg(test)]
#[path = "trace/tests.rs"]
mod tests;
