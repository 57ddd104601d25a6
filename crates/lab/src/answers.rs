//! Statistics of the completed requests: latencies and status, by operation.

use crate::energy::Answered;
use devices::latency::{BUFFER, CLEANING_WAIT, HOST_QUEUE, LATENCY_PARTS, SUSPEND, UNIT_WAIT};
use engine::{Class, Completion, LatencyStats, Op, Part, Status, Time};
use serde_json::{Map, Value, json};

/// Percentiles in every latency summary.
const PERCENTILES: [&str; 7] = ["50", "90", "95", "99", "99.9", "99.99", "99.999"];

/// Bounds of the rank bands, from the fastest requests on; each band has a breakdown of its
/// latency.
const RANKS: [f64; 6] = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0];

/// Unsuccessful outcomes of requests.
#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    /// Requests by status.
    statuses: [u64; Status::ALL.len()],
    /// Bytes of refused requests.
    failed_bytes: u64,
}

impl Ended {
    fn merge(&mut self, other: &Ended) {
        let pairs = self.statuses.iter_mut().zip(other.statuses);
        pairs.for_each(|(sum, count)| *sum += count);
        self.failed_bytes += other.failed_bytes;
    }
}

/// Latency parts that are pure waiting; for the link and the bus, waiting is not separated from
/// transfer.
const WAITS: [Part; 5] = [HOST_QUEUE, BUFFER, UNIT_WAIT, CLEANING_WAIT, SUSPEND];

/// Number of requests by cause of waiting.
#[derive(Debug, Clone, Copy, Default)]
struct Met {
    /// Requests without waiting.
    nothing: u64,
    /// Requests that waited for a unit with garbage collection in progress.
    cleaning: u64,
}

impl Met {
    #[inline]
    fn record(&mut self, completion: &Completion) {
        let breakdown = &completion.breakdown;
        let waited = WAITS.iter().fold(0, |waited, part| waited | breakdown[*part]);
        self.nothing += u64::from(waited == 0);
        self.cleaning += u64::from(breakdown[CLEANING_WAIT] > 0);
    }

    fn merge(&mut self, other: &Met) {
        self.nothing += other.nothing;
        self.cleaning += other.cleaning;
    }
}

/// Statistics of requests by operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers {
    by_op: [LatencyStats; Op::ALL.len()],
    /// Causes of waiting of successful requests.
    met: [Met; Op::ALL.len()],
    /// Outcomes of requests by operation.
    ended: [Ended; Op::ALL.len()],
}

impl Answers {
    /// The operations listed in results: block operations, and others that occurred. A range is
    /// part of a request.
    fn listed(&self) -> impl Iterator<Item = Op> + '_ {
        let was_asked = |op: Op| self.ended[op as usize].statuses.iter().any(|count| *count > 0);
        let is_listed = move |op: &Op| op.is_block() || *op != Op::Range && was_asked(*op);
        Op::ALL.into_iter().filter(is_listed)
    }

    /// Counts a request. Returns true if it succeeded.
    #[expect(
        clippy::inline_always,
        reason = "every request passes here, from one place nearly always"
    )]
    #[inline(always)]
    pub(crate) fn record(&mut self, completion: &Completion) -> bool {
        let op = completion.request.op as usize;
        let ended = &mut self.ended[op];
        ended.statuses[completion.status as usize] += 1;
        if completion.status.is_ok() {
            self.by_op[op].record(completion);
            self.met[op].record(completion);
            return true;
        }
        ended.failed_bytes += completion.request.bytes();
        false
    }

    /// Counts a request of unknown latency. Returns true if it succeeded.
    #[inline]
    pub(crate) fn pass(&mut self, completion: &Completion) -> bool {
        let op = completion.request.op as usize;
        let ended = &mut self.ended[op];
        ended.statuses[completion.status as usize] += 1;
        if completion.status.is_ok() {
            self.by_op[op].pass(completion);
            return true;
        }
        ended.failed_bytes += completion.request.bytes();
        false
    }

    /// Completed requests, successful or not.
    pub(crate) fn count(&self) -> u64 {
        self.ended.iter().flat_map(|ended| ended.statuses).sum()
    }

    /// Ranges of commands, submitted as requests.
    pub fn ranges(&self) -> u64 {
        self.ended[Op::Range as usize].statuses.iter().sum()
    }

    /// Bytes of the successful requests of an operation.
    pub(crate) fn bytes(&self, op: Op) -> u64 {
        self.by_op[op as usize].bytes()
    }

    /// Number of successful requests, and their bytes.
    pub(crate) fn answered(&self) -> Answered {
        let of = |op: Op| &self.by_op[op as usize];
        Answered {
            reads: of(Op::Read).requests(),
            writes: of(Op::Write).requests() + of(Op::Append).requests(),
            requests: self.by_op.iter().map(LatencyStats::requests).sum(),
            bytes: of(Op::Read).bytes() + of(Op::Write).bytes() + of(Op::Append).bytes(),
        }
    }

    /// Counts so far by operation, compact enough for several calls per second: latencies are
    /// listed by non-empty bin, with its index and count.
    pub(crate) fn so_far(&self) -> Value {
        let each = self.listed().map(|op| {
            let (stats, ended) = (&self.by_op[op as usize], &self.ended[op as usize]);
            let counted = stats.bins().enumerate().filter(|(_, count)| *count > 0);
            let bins: Vec<u64> = counted.flat_map(|(bin, count)| [bin as u64, count]).collect();
            let value = json!({
                "requests": stats.requests(),
                "failed": ended.statuses.iter().sum::<u64>() - stats.requests(),
                "bytes": stats.bytes(),
                "latency_seconds": stats.sum_ns() / 1e9,
                "bins": bins,
            });
            (op.name().to_owned(), value)
        });
        Value::Object(each.collect())
    }

    /// A summary per operation, and one over all operations.
    pub(crate) fn to_json(&self, simulated_ns: Time) -> Value {
        let mut all = LatencyStats::new();
        let mut all_ended = Ended::default();
        let mut all_met = Met::default();
        let mut summaries = Map::new();
        for op in self.listed() {
            let stats = &self.by_op[op as usize];
            let ended = &self.ended[op as usize];
            let met = &self.met[op as usize];
            all.merge(stats);
            all_ended.merge(ended);
            all_met.merge(met);
            summaries.insert(op.name().to_owned(), latency(stats, ended, met, simulated_ns));
        }
        summaries.insert("all".to_owned(), latency(&all, &all_ended, &all_met, simulated_ns));
        Value::Object(summaries)
    }
}

/// Statistics of each class of a workload.
#[derive(Debug, Clone, Default)]
pub(crate) struct Classes {
    each: Vec<(Class, Answers)>,
    /// Time span of each class, from its first request to its last completion, ns.
    spans: Vec<(Time, Time)>,
    /// Class of each submission queue.
    of_queue: Vec<Option<u16>>,
}

impl Classes {
    pub(crate) fn new(classes: Vec<Class>) -> Self {
        let queues = classes.iter().map(|class| class.queues.end as usize).max();
        let mut of_queue = vec![None; queues.unwrap_or(0)];
        for (index, class) in classes.iter().enumerate() {
            of_queue[class.queues.start as usize..class.queues.end as usize]
                .fill(Some(index as u16));
        }
        let spans = vec![(Time::MAX, 0); classes.len()];
        let classes = classes.into_iter().map(|class| (class, Answers::default()));
        Classes { each: classes.collect(), spans, of_queue }
    }

    /// Counts a request in its class.
    pub(crate) fn record(&mut self, completion: &Completion, is_timed: bool) {
        let queue = usize::from(completion.request.queue);
        if let Some(Some(index)) = self.of_queue.get(queue) {
            let index = usize::from(*index);
            let answers = &mut self.each[index].1;
            if is_timed {
                answers.record(completion)
            } else {
                answers.pass(completion)
            };
            let (first, last) = &mut self.spans[index];
            *first = (*first).min(completion.submitted);
            *last = (*last).max(completion.at);
        }
    }

    /// The `classes` object, by name; `None` without classes.
    pub(crate) fn to_json(&self, simulated_ns: Time) -> Option<Value> {
        let classes = self.each.iter().zip(&self.spans);
        let all: Map<String, Value> = classes
            .map(|((class, answers), (first, last))| {
                let over =
                    if class.has_own_period { last.saturating_sub(*first) } else { simulated_ns };
                (class.name.clone(), answers.to_json(over))
            })
            .collect();
        (!all.is_empty()).then_some(Value::Object(all))
    }
}

fn latency(stats: &LatencyStats, ended: &Ended, met: &Met, simulated_ns: Time) -> Value {
    let seconds = simulated_ns as f64 / 1e9;
    let requests = stats.requests();
    let timed = stats.timed();
    let us = |ns: f64| (timed > 0).then_some(ns / 1e3);
    let share = |count: u64| (timed > 0).then_some(count as f64 / timed as f64);
    let rate = |amount: f64| (seconds > 0.0).then_some(amount / seconds);
    let latencies = stats.histogram();
    let percentiles: Map<String, Value> = PERCENTILES
        .iter()
        .map(|percent| {
            let ns = latencies.percentile_ns(percent.parse().expect("percentiles are numbers"));
            ((*percent).to_owned(), json!(us(ns as f64)))
        })
        .collect();
    let bins = latencies.bins();
    let breakdown: Map<String, Value> = LATENCY_PARTS
        .iter()
        .zip(stats.mean_breakdown_ns())
        .filter(|(part, ns)| *ns > 0.0 || !part.may_be_left_out)
        .map(|(part, ns)| (part.key.to_owned(), json!(us(ns))))
        .collect();
    // Losses by power cuts or failed members, and refusals by zones, are listed only if they occur.
    let is_listed = |status: Status, count| match status {
        Status::Ok => false,
        Status::ReadOnly => true,
        _ => count > 0,
    };
    let failed = Status::ALL.iter().zip(ended.statuses);
    let failed = failed.filter(|(status, count)| is_listed(**status, *count));
    let failed: Map<String, Value> =
        failed.map(|(status, count)| (status.name().to_owned(), json!(count))).collect();
    json!({
        "requests": requests,
        "failed": failed.values().filter_map(Value::as_u64).sum::<u64>(),
        "failed_bytes": ended.failed_bytes,
        "failures": failed,
        "bytes": stats.bytes(),
        "mean_us": us(stats.mean_ns()),
        "std_us": us(stats.std_ns()),
        "min_us": us(stats.min_ns() as f64),
        "max_us": us(stats.max_ns() as f64),
        "iops": rate(requests as f64),
        "mb_per_s": rate(stats.bytes() as f64 / 1e6),
        "percentiles_us": percentiles,
        "breakdown_us": breakdown,
        "no_wait_share": share(met.nothing),
        "met_cleaning_share": share(met.cleaning),
        "bands": bands(stats),
        "histogram": {
            "below_us": bins.iter().map(|(bound, _)| *bound as f64 / 1e3).collect::<Vec<_>>(),
            "requests": bins.iter().map(|(_, requests)| *requests).collect::<Vec<_>>(),
        },
    })
}

/// Latency parts by rank band; empty bands are omitted.
fn bands(stats: &LatencyStats) -> Vec<Value> {
    let latencies = stats.histogram();
    let at = |share: f64| match share {
        0.0 => stats.min_ns(),
        _ => latencies.percentile_ns(100.0 * share),
    };
    let mean = stats.mean_breakdown_ns();
    let between = stats.between(&RANKS);
    let found = RANKS.windows(2).zip(&between).filter(|(_, band)| band.requests > 0);
    found
        .map(|(ranks, band)| {
            let requests = band.requests as f64;
            let parts: Map<String, Value> = LATENCY_PARTS
                .iter()
                .zip(band.parts_ns)
                .zip(mean)
                .filter(|((part, _), mean)| *mean > 0.0 || !part.may_be_left_out)
                .map(|((part, ns), _)| (part.key.to_owned(), json!(ns / requests / 1e3)))
                .collect();
            json!({
                "from_share": ranks[0],
                "to_share": ranks[1],
                "requests": band.requests,
                "from_us": at(ranks[0]) as f64 / 1e3,
                "to_us": at(ranks[1]) as f64 / 1e3,
                "mean_us": band.parts_ns.iter().sum::<f64>() / requests / 1e3,
                "breakdown_us": parts,
            })
        })
        .collect()
}
