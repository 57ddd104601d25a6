//! Detection of overload: compares arrivals with completions, for every workload with timed
//! arrivals ([`Workload::has_rate`]).
//!
//! Waiting requests are due but not completed: they queue in the device, or the workload holds them
//! back at its maximum queue depth. The queue of a device below saturation fluctuates; in overload
//! it grows until the last request. Only this module decides between the two.

use engine::{Driven, Load, Time, Workload};

/// State of a workload with timed arrivals at the end of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offered {
    /// Time of the last submission.
    pub(crate) last: Time,
    /// Requests due by then but held back.
    pub(crate) held_back: u64,
}

impl Offered {
    /// `None` if all requests wait for completions.
    pub(crate) fn of(workload: &dyn Workload, driven: &Driven) -> Option<Offered> {
        let last = driven.last_asked;
        workload.has_rate().then(|| Offered { last, held_back: workload.held_back(last) })
    }
}

/// Arrivals and completions over time, in a bounded number of steps; their length doubles as the
/// run grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backlog {
    steps: Steps,
    /// Steps up to the end of arrivals: after the last request they may be much longer.
    asked: Option<Steps>,
}

#[derive(Debug, Clone)]
struct Steps {
    ns: Time,
    begin: Option<Load>,
    /// Load at the end of each step.
    ends: Vec<Load>,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps { ns: FIRST_STEP_NS, begin: None, ends: Vec::new() }
    }
}

const FIRST_STEP_NS: Time = 1_000;
/// Maximum number of steps.
const STEPS: u64 = 128;

/// Step length of a run after this much time.
fn step_ns(since_start: Time) -> Time {
    let mut ns = FIRST_STEP_NS;
    while since_start / ns >= STEPS {
        ns *= 2;
    }
    ns
}

impl Steps {
    fn note(&mut self, since_start: Time, load: Load) {
        self.begin.get_or_insert(load);
        let ns = step_ns(since_start);
        while self.ns < ns {
            self.ns *= 2;
            self.ends = self.ends.iter().skip(1).step_by(2).copied().collect();
        }
        let ended = (since_start / ns) as usize;
        if self.ends.len() < ended {
            self.ends.resize(ended, load);
        }
    }
}

impl Backlog {
    /// Records the requests due and completed before a time, with no events since the scheduled
    /// sample.
    pub(crate) fn sample(&mut self, since_start: Time, load: Load) {
        let continues = self.steps.ends.last().is_none_or(|end| end.due < load.due);
        if continues {
            self.asked = None;
        } else if self.asked.is_none() {
            self.asked = Some(self.steps.clone());
        }
        self.steps.note(since_start, load);
    }

    /// Time of the next step.
    pub(crate) fn end_of_step(since_start: Time) -> Time {
        let ns = step_ns(since_start);
        (since_start / ns + 1) * ns
    }

    /// The overload up to the last request, if any.
    pub(crate) fn overload(&self, last_since_start: Time) -> Option<Overload> {
        let Steps { ns, begin, ends } = self.asked.as_ref().unwrap_or(&self.steps);
        let whole = ((last_since_start / ns) as usize).min(ends.len());
        judge((*begin)?, &ends[..whole], *ns)
    }
}

/// A load beyond the capacity of the device.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Overload {
    /// Arrivals per second, until the last one.
    pub(crate) offered_iops: f64,
    pub(crate) served_iops: f64,
    /// Waiting requests at the end of each fifth.
    pub(crate) waiting: Vec<u64>,
    pub(crate) requests: u64,
}

/// Number of compared parts of the run. The first part is ignored, because the queue fills during
/// it at any load.
const FIFTHS: usize = 5;
/// Batches in the other four fifths, from which the variance of arrivals and service is estimated.
const BATCHES: usize = 16;
/// Growth of the queue, in standard deviations, above which the load is too high. At exactly the
/// capacity the queue is a random walk: about one run in several hundred exceeds the limit, and at
/// 0.98 of the capacity one in ten thousand.
const LEAST_DEVIATIONS: f64 = 3.0;
/// Minimum share of the growth in the last two of four fifths; the expected share is half.
const LEAST_LATE: f64 = 0.25;

/// Detects a queue that grew significantly and until the end.
///
/// The standard deviation is the square root of the number of arrivals (exact for a Poisson
/// process), or follows from the batches if service or arrivals vary more, as with bursts or
/// garbage collection.
fn judge(begin: Load, ends: &[Load], ns: Time) -> Option<Overload> {
    let from = ends.len() / FIFTHS;
    if ends.len() < from + BATCHES {
        return None;
    }
    let waiting = |load: &Load| load.due as f64 - load.answered as f64;
    let (first, last) = (ends[from], ends[ends.len() - 1]);
    let at = |batch: usize| waiting(&ends[from + (ends.len() - 1 - from) * batch / BATCHES]);
    let grew = waiting(&last) - waiting(&first);
    let mean = grew / BATCHES as f64;
    let squares: f64 =
        (0..BATCHES).map(|batch| at(batch + 1) - at(batch) - mean).map(|it| it * it).sum();
    let of_batches = (squares / (BATCHES - 1) as f64 * BATCHES as f64).sqrt();
    let of_arrivals = ((last.due - first.due) as f64).sqrt();
    let grows = grew > LEAST_DEVIATIONS * of_batches.max(of_arrivals);
    if !grows || waiting(&last) - at(BATCHES / 2) < LEAST_LATE * grew {
        return None;
    }
    let seconds = (ends.len() as Time * ns) as f64 / 1e9;
    Some(Overload {
        offered_iops: (last.due - begin.due) as f64 / seconds,
        served_iops: (last.answered - begin.answered) as f64 / seconds,
        waiting: (1..=FIFTHS)
            .map(|it| waiting(&ends[ends.len() * it / FIFTHS - 1]) as u64)
            .collect(),
        requests: last.due - begin.due,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Distribution, Xoshiro256};

    /// Simulates random arrivals at a server with service time `1 / share` of the mean gap, and
    /// returns the verdict.
    fn queue(requests: u64, share: f64, seed: u64) -> Option<Overload> {
        let mut random = Xoshiro256::new(seed, 1);
        let gap = Distribution::Exponential { base: 0.0, mean: 10_000.0 / share };
        let (mut at, mut free) = (0.0_f64, 0.0_f64);
        let (mut arrivals, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..requests {
            at += gap.sample(&mut random);
            free = free.max(at) + 10_000.0;
            arrivals.push(at as Time);
            answers.push(free as Time);
        }
        let mut backlog = Backlog::default();
        let (mut due, mut answered, mut next) = (0, 0, 0);
        while due + answered < 2 * requests as usize {
            let arrival = arrivals.get(due).copied().unwrap_or(Time::MAX);
            let now = arrival.min(answers[answered]);
            if now >= next {
                backlog.sample(now, Load { due: due as u64, answered: answered as u64 });
                next = Backlog::end_of_step(now);
            }
            if answers[answered] <= arrival { answered += 1 } else { due += 1 }
        }
        backlog.overload(arrivals[arrivals.len() - 1])
    }

    #[test]
    fn a_queue_that_grows_is_told_from_chance() {
        for (requests, seeds) in [(2_000, 100), (20_000, 30), (200_000, 2)] {
            let found =
                |share: f64| (0..seeds).filter_map(move |seed| queue(requests, share, seed));
            for share in [0.5, 0.8, 0.9, 0.95, 0.98] {
                assert_eq!(found(share).next(), None, "{share}, of {requests}");
            }
            for share in [1.05, 1.1, 1.3, 2.0, 20.0] {
                // With few requests, 5 % is within the random variation.
                if requests as f64 * (share - 1.0) * (share - 1.0) < 60.0 {
                    continue;
                }
                assert!(found(share).count() as f64 >= 0.98 * seeds as f64, "{share}, {requests}");
                for it in found(share) {
                    let ratio = it.offered_iops / it.served_iops;
                    assert!((ratio / share - 1.0).abs() < 0.12, "{share}: {ratio}");
                    assert!(it.waiting.is_sorted(), "{share}: {it:?}");
                }
            }
        }
    }

    #[test]
    fn a_long_end_without_requests_leaves_the_steps_before_it_as_they_were() {
        let mut backlog = Backlog::default();
        let (mut now, mut due) = (0, 0);
        // Arrivals every 1 us, completions every 100 us.
        while now < 10_000_000 {
            if now < 100_000 {
                due += 1;
            }
            backlog.sample(now, Load { due, answered: now / 100_000 });
            now += 1_000;
        }
        let it = backlog.overload(100_000).unwrap();
        assert!((it.offered_iops / 1e6 - 1.0).abs() < 0.03 && it.requests > 95, "{it:?}");
    }
}
