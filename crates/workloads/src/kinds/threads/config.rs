//! Keys of thread classes, and their constraints.

use crate::checks;
use crate::footprint::Footprint;
use crate::locality::Locality;
use crate::pattern::{AccessPattern, PatternKeys, pattern_keys};
use options::{Invalid, Named, Size, Values};
use std::fmt;

options::choices! {
    /// Arrival process of a class with a rate.
    pub enum Arrivals {
        /// Evenly spaced; the threads of the class take turns.
        Fixed = "fixed",
        /// Poisson arrivals, independent per thread.
        Poisson = "poisson",
    }
}

options::options! {
    /// A class of threads; `*` stands for its name.
    pub struct ThreadClass as ThreadClassPartial {
        /// Number of threads, each with its own position and submission queue.
        threads: u32 = 1,
        /// Request rate of all threads of the class together, requests/s; "workload" is `workload.rate`.
        rate: ClassRate = ClassRate::Unlimited,
        /// Part of `workload.rate` issued by other classes, requests/s; subtracted from the rate of
        /// this class.
        rate_less: f64 = 0.0,
        /// Arrival process, if the class has a rate.
        arrivals: Arrivals = Arrivals::Poisson,
        /// Maximum queue depth of each thread. A request due while the queue is full is issued at the next
        /// completion, and its latency counts from then.
        depth: u32 = 1,
        /// Share of reads; the rest are writes.
        read_share: f64 as Ratio = 1.0,
        /// Share of random requests; the rest are sequential to the previous one.
        random_share: f64 as Ratio = 1.0,
        /// Distribution of random requests over the footprint.
        locality: Locality = Locality::UNIFORM,
        /// Scatter hot blocks over the footprint; else they are at its start.
        scatter: bool = true,
        /// Size of each request, a multiple of 512B.
        block_size: Size = Size::from_bytes(4096),
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
        /// Share of writes with forced unit access (FUA): durable when acknowledged.
        fua: f64 as Ratio = 0.0,
        /// A thread flushes after this many writes, as soon as its queue depth allows; 0: never.
        flush_every: u64 = 0,
    }

    /// Threads in classes: each class has its rate, its mix of requests and its statistics.
    pub struct Threads as ThreadsPartial {
        /// Total number of requests.
        requests: u64 = 1_000_000,
        /// Request rate of each class whose own rate is "workload", requests/s.
        rate: Option<f64> = None,
        /// The classes, by name: letters, digits, - and _.
        classes: Named<ThreadClass> = Named::default(),
    }
}

/// Rate of a class, requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClassRate {
    /// Limited only by completions.
    Unlimited,
    /// The rate of the workload.
    Workload,
    /// A rate of its own.
    Number(f64),
}

/// Maximum rate: one request per nanosecond.
const HIGHEST_RATE: f64 = 1e9;

/// Maximum number of threads: each has its own submission queue.
const MOST_THREADS: u64 = 1 << 16;

/// Maximum requests outstanding over all threads.
const MOST_OUTSTANDING: u64 = 1 << 24;

impl fmt::Display for ClassRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassRate::Unlimited => f.write_str("unlimited"),
            ClassRate::Workload => f.write_str("workload"),
            ClassRate::Number(rate) => write!(f, "{rate}"),
        }
    }
}

options::word_or_number!(
    ClassRate,
    "a number above 0, \"workload\" or \"unlimited\"",
    Values::Either(vec![
        Values::Number,
        Values::words(&[
            ("workload", "`workload.rate` less `rate_less`."),
            ("unlimited", "As many as are answered: the depth is always used.")
        ])
    ]),
    |text: &str| match text {
        "unlimited" => Some(ClassRate::Unlimited),
        "workload" => Some(ClassRate::Workload),
        _ => None,
    },
    |rate: f64| (rate > 0.0 && rate <= HIGHEST_RATE).then_some(ClassRate::Number(rate)),
    |rate: ClassRate, serializer: S| match rate {
        ClassRate::Number(rate) => serializer.serialize_f64(rate),
        word => serializer.collect_str(&word),
    }
);

/// The full name of a class's key.
fn key(name: &str, key: &str) -> String {
    format!("workload.classes.{name}.{key}")
}

/// Adds the class to an error.
pub(super) fn within(name: &str, mut invalid: Invalid) -> Invalid {
    for path in &mut invalid.keys {
        *path = path.replacen("workload", &format!("workload.classes.{name}"), 1);
    }
    invalid
}

impl Threads {
    /// Refuses contradictory keys.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        if self.classes.0.is_empty() {
            let problem = "threads need at least one class, a table [workload.classes.NAME]";
            return Err(Invalid::new(&["workload.classes"], problem));
        }
        let (mut threads, mut outstanding) = (0, 0);
        for (name, class) in &self.classes.0 {
            let letter = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            if name.is_empty() || !name.chars().all(letter) {
                let problem =
                    format!("a class is named by letters, digits, - and _, not \"{name}\"");
                return Err(Invalid::new(&["workload.classes"], problem));
            }
            self.check_rate(name, class)?;
            checks::positive(&key(name, "depth"), u64::from(class.depth))?;
            checks::share(&key(name, "fua"), class.fua)?;
            checks::positive(&key(name, "threads"), u64::from(class.threads))?;
            threads += u64::from(class.threads);
            outstanding += u64::from(class.threads) * u64::from(class.depth);
            checks::within(&key(name, "threads"), threads, 1, MOST_THREADS)?;
            checks::within(&key(name, "depth"), outstanding, 1, MOST_OUTSTANDING)?;
        }
        let is_used = self.classes.0.values().any(|class| class.rate == ClassRate::Workload);
        if self.rate.is_some() && !is_used {
            let problem = "no class has it: none says rate = \"workload\"";
            return Err(Invalid::new(&["workload.rate"], problem));
        }
        Ok(())
    }

    fn check_rate(&self, name: &str, class: &ThreadClass) -> Result<(), Invalid> {
        let less = key(name, "rate_less");
        if !(0.0..=HIGHEST_RATE).contains(&class.rate_less) {
            let problem = format!("{} is not a rate from 0 up", class.rate_less);
            return Err(Invalid::new(&[&less], problem));
        }
        if class.rate != ClassRate::Workload {
            if class.rate_less > 0.0 {
                let problem = format!("it has no effect with a rate of {}", class.rate);
                return Err(Invalid::new(&[&less, &key(name, "rate")], problem));
            }
            return Ok(());
        }
        let Some(rate) = self.rate else {
            let problem = "it is \"workload\", but workload.rate is not given";
            return Err(Invalid::new(&[&key(name, "rate"), "workload.rate"], problem));
        };
        let left = rate - class.rate_less;
        if !(left > 0.0 && left <= HIGHEST_RATE) {
            let problem = match class.rate_less {
                0.0 => format!("{rate} is not a rate above 0 and up to {HIGHEST_RATE}"),
                less => format!("{rate}, less {less}, is not above 0 and up to {HIGHEST_RATE}"),
            };
            return Err(Invalid::new(&["workload.rate", &less], problem));
        }
        Ok(())
    }

    /// Rate of a class, requests/s, if limited.
    pub(super) fn rate_of(&self, class: &ThreadClass) -> Option<f64> {
        match class.rate {
            ClassRate::Unlimited => None,
            ClassRate::Workload => self.rate.map(|rate| rate - class.rate_less),
            ClassRate::Number(rate) => Some(rate),
        }
    }
}

impl ThreadClass {
    /// Keys of the access pattern.
    pub(super) fn keys(&self) -> PatternKeys<'_> {
        pattern_keys!(self)
    }

    /// Access pattern of a class.
    pub(super) fn pattern(
        &self,
        capacity_sectors: u64,
        seed: u64,
    ) -> Result<AccessPattern, Invalid> {
        AccessPattern::new(&self.keys(), capacity_sectors, seed)
    }
}
