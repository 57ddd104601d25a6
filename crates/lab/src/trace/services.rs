//! Response times in a trace: mean service times by pattern, size and queue depth, for `ssdlab
//! calibrate`.
//!
//! A trace with response times is read once. For Linux's block layer, with separate issue and
//! completion events, the two are read in parallel, and each completion ends the oldest issue of
//! the same request.

use super::{Reading, TraceError, Watch};
use engine::{Op, Time};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use workloads::{FORMATS, Record};

/// State of one device before its next request.
#[derive(Debug, Default)]
struct Before {
    /// Direction and end of the previous read or write.
    previous: Option<(Op, u64)>,
    /// Completion times of outstanding requests.
    ends: BinaryHeap<Reverse<Time>>,
}

/// Requests with one pattern and size at one queue depth.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    requests: u64,
    sum_ns: u128,
    sum_of_squares: f64,
}

/// Pattern, bytes, queue depth.
type Key = (&'static str, u64, usize);

#[derive(Debug, Default)]
struct Services {
    devices: BTreeMap<u32, Before>,
    groups: BTreeMap<Key, Group>,
    without: u64,
}

impl Services {
    /// Adds a request, in order of arrival, with its response time.
    fn request(&mut self, record: &Record, response: Option<Time>) {
        if !matches!(record.op, Op::Read | Op::Write) {
            return;
        }
        let before = self.devices.entry(record.device).or_default();
        let sequential = before.previous == Some((record.op, record.sector));
        before.previous = Some((record.op, record.sector + u64::from(record.sectors)));
        while before.ends.peek().is_some_and(|Reverse(end)| *end <= record.at) {
            before.ends.pop();
        }
        let Some(response) = response else {
            self.without += 1;
            return;
        };
        before.ends.push(Reverse(record.at.saturating_add(response)));
        let pattern = match (record.op, sequential) {
            (Op::Read, true) => "seq_read",
            (Op::Read, false) => "rand_read",
            (_, true) => "seq_write",
            (_, false) => "rand_write",
        };
        let key = (pattern, u64::from(record.sectors) * 512, before.ends.len());
        let group = self.groups.entry(key).or_default();
        group.requests += 1;
        group.sum_ns += u128::from(response);
        group.sum_of_squares += (response as f64).powi(2);
    }

    fn to_json(&self) -> Value {
        let group = |((pattern, bytes, outstanding), group): (&Key, &Group)| {
            let mean = group.sum_ns as f64 / group.requests as f64;
            let variance = group.sum_of_squares / group.requests as f64 - mean * mean;
            json!({
                "pattern": pattern,
                "bytes": bytes,
                "outstanding": outstanding,
                "requests": group.requests,
                "mean_us": mean / 1e3,
                "std_us": variance.max(0.0).sqrt() / 1e3,
            })
        };
        self.groups.iter().map(group).collect()
    }
}

/// The mean service times of a trace with response times, as JSON text: the format, the groups (by
/// pattern, size and queue depth of the device on arrival, including the request itself), and the
/// number of requests without a time.
///
/// # Errors
/// When the trace or an option is invalid, no service times are stated, or `watch` stops the work.
pub fn trace_services(
    path: &str,
    options_json: &str,
    watch: Watch<'_>,
) -> Result<String, TraceError> {
    let mut reading = Reading::open(path, options_json)?;
    let format = reading.records.format();
    let mut services = Services::default();
    if reading.records.states_responses() {
        while let Some(record) = reading.next(watch)? {
            let response = reading.records.response();
            services.request(&record, response);
        }
    } else if format.has_events() {
        if path == "-" {
            let problem =
                "issues and completions are read in two passes, and standard input only allows one";
            return Err(TraceError::Input(format!("trace -: {problem}; name a file")));
        }
        join(path, options_json, &mut services, watch)?;
    } else {
        let have = FORMATS.iter().filter(|row| row.states_responses() || row.has_events());
        let names: Vec<&str> = have.map(|row| row.name).collect();
        return Err(TraceError::Input(format!(
            "trace {path}: format {} has no service times; these have: {}, parquet with end_ns",
            format.name,
            names.join(", ")
        )));
    }
    if services.groups.is_empty() {
        let problem = "no read or write in it states how long it took";
        return Err(TraceError::Input(format!("trace {path}: {problem}")));
    }
    Ok(json!({
        "format": format.name,
        "groups": services.to_json(),
        "without_time": services.without,
    })
    .to_string())
}

/// Response times of a trace's requests, us, in order; requests without one are skipped.
///
/// # Errors
/// When the trace or an option is invalid, its format has no response times, or `watch` stops the
/// work.
pub fn trace_response_times(
    path: &str,
    options_json: &str,
    watch: Watch<'_>,
) -> Result<Vec<f64>, TraceError> {
    let mut reading = Reading::open(path, options_json)?;
    if !reading.records.states_responses() {
        let format = reading.records.format().name;
        let problem = format!("trace {path}: format {format} does not state response times");
        return Err(TraceError::Input(problem));
    }
    let mut times = Vec::new();
    while reading.next(watch)?.is_some() {
        times.extend(reading.records.response().map(|ns| ns as f64 / 1e3));
    }
    Ok(times)
}

/// Maximum number of queued issues; older ones are dropped.
const MOST_WAITING: usize = 1 << 16;

/// Key shared by an issue and its completion.
fn identity(record: &Record) -> (u32, u64, u32, Op) {
    (record.device, record.sector, record.sectors, record.op)
}

/// Reads issues and completions in parallel.
fn join(
    path: &str,
    options_json: &str,
    services: &mut Services,
    watch: Watch<'_>,
) -> Result<(), TraceError> {
    let event = |event: &str| -> Result<Reading, TraceError> {
        let mut options: serde_json::Map<String, Value> =
            serde_json::from_str(options_json).unwrap_or_default();
        if options.insert("event".to_owned(), json!(event)).is_some() {
            let problem = "calibration uses both issues and completions; remove the event";
            return Err(TraceError::Input(format!("workload.event: {problem}")));
        }
        Reading::open(path, &Value::from(options).to_string())
    };
    let (mut issues, mut completions) = (event("issue")?, event("complete")?);
    // Issues by sequence number; completed ones wait for earlier ones.
    let mut open: HashMap<_, VecDeque<u64>> = HashMap::new();
    let mut waiting: VecDeque<(Record, Option<Time>)> = VecDeque::new();
    let (mut first, mut next_issue) = (0_u64, issues.next(watch)?);
    while let Some(done) = completions.next(watch)? {
        while let Some(issue) = next_issue.filter(|issue| issue.at <= done.at) {
            open.entry(identity(&issue)).or_default().push_back(first + waiting.len() as u64);
            waiting.push_back((issue, None));
            next_issue = issues.next(watch)?;
        }
        if let Some(place) = open.get_mut(&identity(&done)).and_then(VecDeque::pop_front) {
            let issue = place.checked_sub(first).and_then(|place| waiting.get_mut(place as usize));
            if let Some((issue, response)) = issue {
                *response = Some((done.at - issue.at).max(1));
            }
        }
        // An issue without a completion must not keep all later ones in memory.
        while waiting.front().is_some_and(|(_, response)| response.is_some())
            || waiting.len() > MOST_WAITING
        {
            let Some((issue, response)) = waiting.pop_front() else { break };
            services.request(&issue, response);
            first += 1;
        }
    }
    for (issue, response) in waiting {
        services.request(&issue, response);
    }
    Ok(())
}
