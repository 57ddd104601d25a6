//! Timing accuracy of replies against the model, and the verdict.

use crate::overhead::Overhead;
use engine::Op;

/// A request is late if its latency exceeds the model's by this share.
const LATE: f64 = 0.05;
/// Maximum share of late requests, and maximum deviation of the mean latency, in a valid run.
const MOST_LATE: f64 = 0.01;
const MOST_DIFFERENCE: f64 = 0.05;

/// Statistics of all completed requests in wall-clock time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Punctuality {
    /// Number of completed requests.
    pub requests: u64,
    /// Requests whose model latency is below the round trip to the client.
    pub below_overhead: u64,
    /// Total excess of the round trip over the model latency of these requests, ns.
    pub overhead_excess_ns: u64,
    /// Other requests more than 5 % later than in the model.
    pub late: u64,
    /// Late requests that waited for the backing file's sync.
    pub late_by_backing: u64,
    /// Sum of measured latencies: time in the server plus the measured overhead, ns.
    pub measured_ns: u64,
    /// Sum of model latencies, ns.
    pub model_ns: u64,
    /// Requests that waited in the socket for an unknown time, because the client was at its
    /// limits.
    pub held_back: u64,
    /// Maximum lateness, ns.
    pub latest_ns: u64,
    /// Time that the server waited for a processor, ns, where the system reports it.
    pub waited_ns: Option<u64>,
}

/// Verdict: clients see the latencies of the model, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Timing is valid.
    Valid,
    /// Timing is invalid, with the reason.
    Invalid(String),
}

/// A completed request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivered {
    pub(crate) op: Op,
    pub(crate) bytes: u64,
    pub(crate) measured_ns: u64,
    pub(crate) model_ns: u64,
    /// True if only the backing file delayed the reply.
    pub(crate) held_by_backing: bool,
}

impl Punctuality {
    pub(crate) fn record(&mut self, answer: &Delivered, overhead: &Overhead) {
        let &Delivered { op, bytes, measured_ns, model_ns, held_by_backing } = answer;
        self.requests += 1;
        self.measured_ns += measured_ns;
        self.model_ns += model_ns;
        self.latest_ns = self.latest_ns.max(measured_ns.saturating_sub(model_ns));
        let least = overhead.least(op, bytes);
        if model_ns < least {
            self.below_overhead += 1;
            self.overhead_excess_ns += least - model_ns;
        } else if measured_ns as f64 > model_ns as f64 * (1.0 + LATE) {
            self.late += 1;
            self.late_by_backing += u64::from(held_by_backing);
        }
    }

    /// Share of late requests among all above the transport latency.
    pub fn late_share(&self) -> f64 {
        self.late as f64 / (self.requests - self.below_overhead).max(1) as f64
    }

    /// Verdict on the timing: valid if the mean latency of clients is within 5 % of the model.
    pub fn verdict(&self) -> Verdict {
        if self.requests == 0 {
            return Verdict::Invalid("no request was answered".to_owned());
        }
        let requests = self.requests as f64;
        let (measured, model) = (self.measured_ns as f64, self.model_ns as f64);
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        if self.overhead_excess_ns as f64 > model * MOST_DIFFERENCE {
            return Verdict::Invalid(format!(
                "{} of the requests take less in the model than the round trip to the client: this \
                 host is too slow for the device; use `--time-scale 10`",
                percent(self.below_overhead as f64 / requests)
            ));
        }
        if self.late_share() > MOST_LATE {
            let cause = if self.late_by_backing * 2 > self.late {
                "most of them waited for the backing file; put it on a RAM disk (tmpfs), or use none"
            } else {
                "the machine is too busy, or too slow"
            };
            let late = percent(self.late_share());
            return Verdict::Invalid(format!(
                "{late} of the requests were late by over 5 %: {cause}"
            ));
        }
        if self.held_back as f64 > requests * MOST_LATE {
            return Verdict::Invalid(format!(
                "{} of the requests waited because their client exceeded its limit of outstanding requests, \
                 512 or 64 MiB",
                percent(self.held_back as f64 / requests)
            ));
        }
        if (measured - model).abs() > model * MOST_DIFFERENCE {
            let difference = percent((measured - model) / model.max(1.0));
            return Verdict::Invalid(format!("the mean latency is off by {difference}"));
        }
        let waited = self.waited_ns.unwrap_or(0) as f64;
        if waited > model * MOST_DIFFERENCE {
            return Verdict::Invalid(format!(
                "the server waited for a processor for {:.0} us a request, which clients saw too; \
                 the machine is too busy",
                waited / requests / 1e3
            ));
        }
        Verdict::Valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completed requests as pairs (model, measured) in us, over a transport of 20 us.
    fn punctuality(answers: &[(u64, u64)]) -> Punctuality {
        let overhead = Overhead::constant(20_000);
        let mut punctuality = Punctuality::default();
        for (model, measured) in answers {
            let answer = Delivered {
                op: Op::Read,
                bytes: 4096,
                measured_ns: measured * 1000,
                model_ns: model * 1000,
                held_by_backing: false,
            };
            punctuality.record(&answer, &overhead);
        }
        punctuality
    }

    fn reason(punctuality: &Punctuality) -> String {
        match punctuality.verdict() {
            Verdict::Valid => String::new(),
            Verdict::Invalid(reason) => reason,
        }
    }

    #[test]
    fn a_run_answered_in_time_is_valid() {
        assert_eq!(punctuality(&[(100, 104); 1000]).verdict(), Verdict::Valid);
        assert_eq!(punctuality(&[(100, 99); 1000]).verdict(), Verdict::Valid);
    }

    #[test]
    fn one_in_a_hundred_may_be_late() {
        let mut answers = vec![(100, 100); 990];
        answers.resize(1000, (100, 200));
        assert_eq!(punctuality(&answers).verdict(), Verdict::Valid);
        answers.push((100, 200));
        let punctuality = punctuality(&answers);
        assert_eq!((punctuality.late, punctuality.latest_ns), (11, 100_000));
        assert!(reason(&punctuality).contains("1.1 % of the requests were late"));
    }

    #[test]
    fn a_few_very_late_ones_spoil_the_mean() {
        let mut answers = vec![(100, 100); 999];
        answers.push((100, 12_000));
        assert!(reason(&punctuality(&answers)).contains("mean latency is off by 11.9 %"));
    }

    #[test]
    fn replies_due_sooner_than_the_transport_allows_are_counted_apart() {
        let punctuality = punctuality(&[(10, 20), (10, 20), (10, 20), (100, 100)]);
        assert_eq!((punctuality.below_overhead, punctuality.late), (3, 0));
        assert!(reason(&punctuality).contains("75.0 % of the requests take less in the model"));
        // A few cheap requests, such as flushes, do not change the verdict.
        let mut answers = vec![(1000, 1000); 90];
        answers.resize(100, (0, 20));
        assert_eq!(super::tests::punctuality(&answers).verdict(), Verdict::Valid);
    }

    #[test]
    fn a_server_that_waits_is_heard_of_its_requests_too_late() {
        let punctuality =
            Punctuality { waited_ns: Some(6_000_000), ..punctuality(&[(100, 100); 1000]) };
        assert!(reason(&punctuality).contains("waited for a processor for 6 us a request"));
        let backing = Punctuality { late: 500, late_by_backing: 400, ..punctuality };
        assert!(reason(&backing).contains("waited for the backing file"));
        assert!(reason(&Punctuality::default()).contains("no request"));
    }
}
