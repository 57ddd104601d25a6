//! The replayed requests of a trace in file order: of the selected devices, up to a limit, once per
//! repetition.

use super::covered::Covered;
use super::keys::Trace;
use super::selection::{Combine, Devices, Selection, Spans};
use crate::error::BuildError;
use crate::formats::Format;
use crate::kind::Context;
use crate::read::batch::Counted;
use crate::read::inputs::Inputs;
use crate::read::stated::ReadOptions;
use crate::record::Record;
use crate::records::Records;
use engine::{Time, WorkloadError};
use options::Invalid;
use std::collections::BTreeSet;

/// Maximum number of devices in a message.
const SHOWN: usize = 8;

/// The file of a trace, which can be reopened.
pub(super) struct TraceFile {
    inputs: Inputs,
    path: String,
    format: Option<&'static Format>,
    read_options: ReadOptions,
}

impl TraceFile {
    /// The file named by the keys.
    ///
    /// # Errors
    /// When a key is invalid.
    pub(super) fn new(options: &Trace, context: &Context) -> Result<Self, Invalid> {
        Ok(TraceFile {
            inputs: context.inputs.clone(),
            path: options.path.clone(),
            format: options.named_format()?,
            read_options: options.read_options(context.seed)?,
        })
    }

    /// True if the file can be reopened.
    pub(super) fn is_repeatable(&self) -> bool {
        (self.inputs.is_repeatable)(&self.path)
    }

    /// Opens the file at its first record.
    ///
    /// # Errors
    /// When the file cannot be opened or is not a trace.
    pub(super) fn open(&self) -> Result<Records, BuildError> {
        let found = Records::open(&self.inputs, &self.path, self.format, &self.read_options);
        found.map_err(|error| match error {
            // Properties that the file lacks have no key in the experiment, so the message names
            // the file.
            BuildError::Invalid(invalid) if !self.read_options.states(&invalid.keys[0]) => {
                BuildError::Input(format!("trace {}: {invalid}", self.path))
            }
            other => other,
        })
    }
}

/// Requests being read.
pub(super) struct Feed {
    file: TraceFile,
    records: Records,
    devices: Devices,
    selection: Selection,
    limit: u64,
    /// Requests left to read in this repetition.
    left: u64,
    is_overlaid: bool,
    covered: Covered,
    first_device: Option<u32>,
    other_device: u64,
    left_out_device: u64,
    /// The first unselected devices, recorded until a request is selected.
    not_chosen: BTreeSet<u32>,
    /// Skipped or changed records of earlier repetitions.
    earlier: Counted,
}

impl Feed {
    /// Opens the file for reading.
    ///
    /// # Errors
    /// When the file cannot be opened or is not a trace.
    pub(super) fn new(mut file: TraceFile, options: &Trace) -> Result<Self, BuildError> {
        let limit = options.requests.unwrap_or(u64::MAX);
        let records = file.open()?;
        // A repetition need not detect it again, which takes longer than reading a short trace.
        file.format = Some(records.format());
        Ok(Feed {
            records,
            file,
            devices: options.devices.clone(),
            selection: Selection::new(&options.devices),
            limit,
            left: limit,
            is_overlaid: options.combine == Combine::Overlay,
            covered: Covered::default(),
            first_device: None,
            other_device: 0,
            left_out_device: 0,
            not_chosen: BTreeSet::new(),
            earlier: Counted::default(),
        })
    }

    /// Records at their current position.
    pub(super) fn records(&self) -> &Records {
        &self.records
    }

    /// The next request of this repetition; `None` at its end.
    pub(super) fn next(&mut self) -> Result<Option<Record>, WorkloadError> {
        let record = loop {
            if self.left == 0 {
                return Ok(None);
            }
            let Some(record) = self.records.next_record()? else {
                self.left = 0;
                return Ok(None);
            };
            if self.selection.takes(record.device) {
                break record;
            }
            self.left_out_device += 1;
            if self.first_device.is_none() && self.not_chosen.len() < SHOWN {
                self.not_chosen.insert(record.device);
            }
        };
        self.left -= 1;
        self.covered.note(&record);
        let first = *self.first_device.get_or_insert(record.device);
        self.other_device += u64::from(self.is_overlaid && record.device != first);
        Ok(Some(record))
    }

    /// Extent of the recorded requests.
    pub(super) fn covered(&self) -> &Covered {
        &self.covered
    }

    /// Starts the next repetition: reopens the file.
    pub(super) fn repeat(&mut self) -> Result<(), WorkloadError> {
        self.left = self.limit;
        self.earlier.merge(&self.records.counts());
        self.selection = Selection::new(&self.devices);
        let opened = self.file.open();
        self.records = opened.map_err(|error| WorkloadError(error.to_string()))?;
        Ok(())
    }

    /// The error if no request was selected.
    pub(super) fn nothing(&self) -> Option<WorkloadError> {
        if self.first_device.is_some() {
            return None;
        }
        let path = &self.file.path;
        if self.not_chosen.is_empty() {
            let counts = self.counted();
            let left_out: Vec<_> =
                counts.all().iter().map(|(what, n)| format!("{n} {what}")).collect();
            let of = if left_out.is_empty() { "" } else { "; left out were " };
            let said = left_out.join(", ");
            return Some(WorkloadError(format!(
                "trace {path}: there are no requests in it{of}{said}"
            )));
        }
        let found = Devices::These(self.not_chosen.iter().copied().collect());
        let more = if self.not_chosen.len() < SHOWN { "" } else { " and more" };
        Some(WorkloadError(format!(
            "trace {path}: workload.devices = \"{}\": no request is of such a device; the trace has {found}{more}",
            self.devices
        )))
    }

    /// Skips the rest of this repetition.
    pub(super) fn finish(&mut self) {
        self.left = 0;
    }

    /// Requests of other devices: overlaid on the first device's addresses, or skipped.
    pub(super) fn notices(&self) -> [(&'static str, u64); 2] {
        [
            ("other_device_requests", self.other_device),
            ("left_out_device_requests", self.left_out_device),
        ]
    }

    /// Skipped or changed records of all repetitions.
    pub(super) fn counted(&self) -> Counted {
        let mut counted = self.earlier.clone();
        counted.merge(&self.records.counts());
        counted
    }
}

/// Maximum time between the first and the last replayed request, on the trace's clock.
fn last_ns(options: &Trace, format: &Format) -> Time {
    let window = options.reorder_window.ns().unwrap_or(format.disorder_ns);
    match (options.duration.ns(), options.max_gap.ns()) {
        (Some(duration), None) => duration.saturating_add(2 * window),
        _ => Time::MAX,
    }
}

/// Result of a pass over the trace.
pub(super) struct Survey {
    pub(super) spans: Spans,
    pub(super) requests: u64,
}

impl Survey {
    /// Reads `file` to its end or replay limit.
    ///
    /// # Errors
    /// When the file cannot be read or has too many devices.
    pub(super) fn new(file: &TraceFile, options: &Trace) -> Result<Self, BuildError> {
        let mut records = file.open()?;
        let mut survey = Survey { spans: Spans::default(), requests: 0 };
        let mut selection = Selection::new(&options.devices);
        let limit = options.requests.unwrap_or(u64::MAX);
        let last = last_ns(options, records.format());
        let mut first = None;
        let input = |error: WorkloadError| BuildError::Input(error.0);
        while survey.requests < limit {
            let Some(record) = records.next_record().map_err(input)? else { break };
            if !selection.takes(record.device) {
                continue;
            }
            if record.at.saturating_sub(*first.get_or_insert(record.at)) > last {
                break;
            }
            survey.requests += 1;
            let end = record.sector.saturating_add(u64::from(record.sectors));
            if !survey.spans.note(record.device, end) {
                let problem = format!("there are more than {} devices", Spans::LIMIT);
                return Err(input(records.error(&problem)));
            }
        }
        Ok(survey)
    }
}
