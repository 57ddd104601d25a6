//! Invariants of every accepted experiment and of every refusal.
//!
//! A law is a function and a row of [`LAWS`]. It sees the configuration and its results and may run
//! variants: timed instead of untimed, repeated, saved and loaded. It describes violations with
//! figures.

use super::{Config, Outcome, outcome};
use serde_json::Value;

mod alone;
mod pairs;
mod watched;

/// A violated law.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken {
    /// Name of the law.
    pub law: &'static str,
    /// The figures that show the violation.
    pub detail: String,
}

/// The verdict of the laws on an experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The experiment is refused, with a valid message.
    Refused,
    /// It completes, and all laws hold.
    Holds,
    /// It violates these laws.
    Breaks(Vec<Broken>),
}

/// One experiment and its results.
pub struct Case<'a> {
    /// The experiment.
    pub config: &'a Config,
    /// The results.
    pub results: &'a Value,
}

/// A law: its sentence, and the check that describes a violation.
type Law = (&'static str, fn(&Case<'_>) -> Result<(), String>);

/// The laws on a single run, followed by laws that run variants.
pub const LAWS: &[Law] = &[
    ("the breakdown adds up to the latency", alone::breakdown),
    ("programs = host + moved + migrated", alone::programs),
    ("bytes programmed have a cause", alone::media),
    ("busy is a share", alone::busy),
    ("nothing is below 0 but what says so", alone::signs),
    ("amplification is at least 1 without trims", alone::amplification),
    ("cleaning efficiency is a share", alone::efficiency),
    ("requests asked = answered + refused", alone::requests),
    ("a refused write is not a success", alone::refused),
    ("the timeline adds up to the results", alone::time_series),
    ("energy adds up", alone::energy),
    ("lifetimes are of bytes that were written", alone::lifetime),
    ("a lone request's time adds up", alone::clock),
    ("wear agrees with the erasures", alone::wear),
    ("health agrees with wear", alone::health),
    ("the order of --set does not matter", pairs::order),
    ("every request is answered once, Little's law", watched::little),
    ("the same bits twice", pairs::twice),
    ("timed and untimed agree", pairs::timed_and_untimed),
    ("saved and loaded = uninterrupted", pairs::saved),
    ("twice the times, twice the latencies", pairs::doubled),
    ("one drive = an array of one", pairs::array_of_one),
];

/// Laws on a whole run; with a warm-up, results cover only the rest.
const OF_ALL: [&str; 10] = [
    "programs = host + moved + migrated",
    "amplification is at least 1 without trims",
    "a refused write is not a success",
    "lifetimes are of bytes that were written",
    "a lone request's time adds up",
    "wear agrees with the erasures",
    "every request is answered once, Little's law",
    "timed and untimed agree",
    "saved and loaded = uninterrupted",
    "twice the times, twice the latencies",
];

/// The law that every accepted experiment completes.
pub const ENDS: &str = "it runs to its end, and the audit holds";
/// The law of refusals.
pub const REFUSES: &str = "a refusal names its key";

/// Judges an experiment by all laws.
pub fn judge(config: &Config) -> Verdict {
    judge_by(config, |_| true)
}

/// Judges an experiment by some laws.
pub fn judge_by(config: &Config, wanted: impl Fn(&str) -> bool) -> Verdict {
    judge_outcome(config, outcome(config), wanted)
}

/// Judges an outcome by some laws.
pub fn judge_outcome(config: &Config, outcome: Outcome, wanted: impl Fn(&str) -> bool) -> Verdict {
    let one = |law, detail: String| Verdict::Breaks(vec![Broken { law, detail }]);
    match outcome {
        Outcome::Refused(message) if is_clean(&message) => Verdict::Refused,
        Outcome::Refused(message) => one(REFUSES, message),
        Outcome::Broken(message) => one(ENDS, message),
        Outcome::Results(results) => {
            let case = Case { config, results: &results };
            let is_whole = !case.warms_up();
            let applies = |name: &str| is_whole || OF_ALL.iter().all(|law| *law != name);
            let laws = LAWS.iter().filter(|(name, _)| wanted(name) && applies(name));
            let broken: Vec<Broken> = laws
                .filter_map(|(law, holds)| {
                    let detail = super::quietly(|| holds(&case));
                    let detail = detail.unwrap_or_else(|panic| Err(format!("panic: {panic}")));
                    detail.err().map(|detail| Broken { law, detail })
                })
                .collect();
            if broken.is_empty() { Verdict::Holds } else { Verdict::Breaks(broken) }
        }
    }
}

/// True if a refusal is one line that names its cause: a key, the file of a trace, or a request
/// beyond the clock's range.
fn is_clean(message: &str) -> bool {
    let named = ["device.", "workload.", "run.", "ssdlab-samples", "workload: request "];
    !message.contains('\n') && named.iter().any(|word| message.contains(word))
}

impl Case<'_> {
    /// A number of the results; `None` if null or absent.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.results.pointer(path).and_then(Value::as_f64)
    }

    /// A count of the results; 0 if absent.
    pub fn count(&self, path: &str) -> u64 {
        self.results.pointer(path).and_then(Value::as_u64).unwrap_or(0)
    }

    /// True if the drive reached end of life.
    pub fn has_ended(&self) -> bool {
        self.results.pointer("/wear/ended") == Some(&Value::Bool(true))
    }

    /// The resolved value of a key, such as `device.kind`.
    pub fn resolved(&self, key: &str) -> Option<&Value> {
        self.results["experiment"].pointer(&format!("/{}", key.replace('.', "/")))
    }

    /// True if a key was resolved to this word.
    pub fn is(&self, key: &str, word: &str) -> bool {
        self.resolved(key).and_then(Value::as_str) == Some(word)
    }

    /// True for a drive with a write buffer, or an array of such drives.
    pub fn is_buffered(&self) -> bool {
        self.results.get("buffer").is_some()
    }

    /// True if requests take time.
    pub fn is_timed(&self) -> bool {
        self.resolved("run.timed") != Some(&Value::Bool(false))
    }

    /// True if data age by a clock that untimed writes do not have.
    pub fn ages_by_time(&self) -> bool {
        let ages =
            self.resolved("device.media.model").is_some() && !self.is("device.media.model", "none");
        ages && self.config.get("run.pace").is_none()
    }

    /// True if a patrol goes by such a clock.
    pub fn patrols_by_time(&self) -> bool {
        let patrols = self.resolved("device.scrub.period").is_some()
            && !self.is("device.scrub.period", "none");
        patrols && self.ages_by_time()
    }

    /// True if the results exclude the beginning of the run.
    pub fn warms_up(&self) -> bool {
        let warm_up = self.resolved("run.warm_up").and_then(Value::as_str);
        warm_up.is_some_and(|it| it.parse() != Ok(options::Duration::from_ns(0)))
    }

    /// True if the run lasted to the end of its workload.
    pub fn is_whole(&self) -> bool {
        self.is("run.until", "end") && !self.has_ended()
    }
}

/// `Ok` if `is`, otherwise the figures.
pub fn must(is: bool, figures: impl FnOnce() -> String) -> Result<(), String> {
    if is { Ok(()) } else { Err(figures()) }
}

/// True if two figures are equal up to rounding.
pub fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-9
}
