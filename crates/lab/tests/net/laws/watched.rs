//! Laws on every request: the run loop with a check of submissions and completions.

use super::super::{quietly, samples};
use super::{Case, must};
use devices::DeviceKind as _;
use engine::{Completion, Device, Followed, Observer, Request, Standing, Time, drive};
use lab::Until;
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;
use workloads::{Context, Inputs};

/// Upper bound on the events of an experiment; a run that reaches it makes no progress.
const MOST_EVENTS: u64 = 20_000_000;

/// A device wrapper that records the outstanding requests, and their number over time.
struct Counted<'a> {
    device: &'a mut dyn Device,
    inside: BTreeMap<u64, Time>,
    now: Time,
    /// Integral over time of the number of outstanding requests.
    request_ns: u128,
    submitted: u64,
    events: u64,
    wrong: Option<String>,
}

impl Counted<'_> {
    fn pass(&mut self, now: Time) {
        if now < self.now {
            self.wrong = Some(format!("time goes back from {} to {now}", self.now));
        }
        self.request_ns += u128::from(now - self.now) * self.inside.len() as u128;
        self.now = now;
    }
}

impl Device for Counted<'_> {
    fn submit(&mut self, now: Time, request: Request) {
        self.pass(now);
        self.submitted += 1;
        if self.inside.insert(request.id, now).is_some() {
            self.wrong = Some(format!("request {} is asked twice", request.id));
        }
        self.device.submit(now, request);
    }

    fn next_event(&self) -> Option<Time> {
        self.device.next_event()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        self.pass(to);
        self.events += 1;
        assert!(self.events < MOST_EVENTS, "{MOST_EVENTS} events, and no end");
        let first = completions.len();
        self.device.advance(to, completions);
        for done in &completions[first..] {
            let Completion { request, submitted, at, breakdown, .. } = done;
            let parts = breakdown.total();
            if self.inside.remove(&request.id) != Some(*submitted) {
                self.wrong = Some(format!("request {} is answered, but not in there", request.id));
            } else if *at != to || *at < *submitted || at - submitted != parts {
                self.wrong = Some(format!(
                    "request {} from {submitted} ns, answered at {at} (now {to}), parts sum to {parts} ns",
                    request.id
                ));
            }
        }
    }

    fn standing(&self) -> Standing {
        self.device.standing()
    }

    fn followed(&self) -> Option<Followed> {
        self.device.followed()
    }

    fn capacity_sectors(&self) -> u64 {
        self.device.capacity_sectors()
    }
}

#[derive(Default)]
struct Sum {
    latency_ns: u128,
    requests: u64,
}

impl Observer for Sum {
    fn completed(&mut self, completion: &Completion) {
        self.latency_ns += u128::from(completion.latency());
        self.requests += 1;
    }

    fn tick(&mut self, _: Time) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a test reads its traces")]
fn open(path: &str) -> std::io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(std::fs::File::open(path)?))
}

pub fn little(case: &Case<'_>) -> Result<(), String> {
    if !case.is_timed() || case.is("run.until", "steady") {
        return Ok(());
    }
    let config = case.config.with("run.precondition", "\"none\"");
    let experiment = config.experiment()?;
    samples();
    let mut device =
        experiment.device.build(experiment.run.seed).map_err(|it| format!("refused: {it:?}"))?;
    let context = Context {
        capacity_sectors: device.capacity_sectors(),
        scale: experiment.device.scale(),
        volumes: device.facts().volumes,
        zones: None,
        seed: experiment.run.seed,
        pass: 0,
        // Repeatable like files: a trace is surveyed before it runs.
        inputs: Inputs { is_repeatable: Arc::new(|_| true), ..Inputs::streams(open) },
    };
    let Ok(mut workload) = experiment.workload.build(&context) else { return Ok(()) };
    let mut counted = Counted {
        device: &mut *device,
        inside: BTreeMap::new(),
        now: 0,
        request_ns: 0,
        submitted: 0,
        events: 0,
        wrong: None,
    };
    let mut sum = Sum::default();
    let until = match experiment.run.until {
        Until::Time(time) => time.ns(),
        Until::End | Until::Steady => Time::MAX,
    };
    let ran = quietly(|| drive(&mut counted, &mut *workload, until, &mut sum));
    match ran?.map_err(|error| error.to_string()) {
        // Without preconditioning a drive lives longer.
        Err(late) if late.contains("500 years") => return Ok(()),
        ran => ran?,
    };
    if let Some(wrong) = counted.wrong {
        return Err(wrong);
    }
    let left = counted.inside.len() as u64;
    must(counted.submitted == sum.requests + left, || {
        format!("{} submitted, {} answered, {left} left", counted.submitted, sum.requests)
    })?;
    let ended = counted.device.standing().has_ended;
    must(left == 0 || ended, || format!("{left} requests are never answered"))?;
    must(left > 0 || counted.request_ns == sum.latency_ns, || {
        format!(
            "latencies sum to {} ns, requests in the device over time to {} ns",
            sum.latency_ns, counted.request_ns
        )
    })
}
