//! The table of workload kinds: config sections from which workloads are built.
//!
//! A new kind is one file in `kinds/` with its options and their [`WorkloadKind`], and its row in
//! the table below; configuration, lists and reference follow from there. The caller parses files
//! of any syntax and passes deserializers.

use crate::error::BuildError;
use crate::kind::{Context, WorkloadKind};
use engine::Workload;
use options::{Idle, Invalid, KeyInfo, Setting};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Error when resolving layers of configuration to a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveError<E> {
    /// The kind is unknown.
    Kind(Invalid),
    /// A layer has a wrong key or value.
    Layer {
        /// Index of the layer, from 0.
        index: usize,
        /// Its deserialisation error.
        error: E,
    },
}

impl<E: fmt::Display> fmt::Display for ResolveError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResolveError::Kind(invalid) => invalid.fmt(f),
            ResolveError::Layer { error, .. } => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for ResolveError<E> {}

/// Section of the workload's keys in an experiment.
const SECTION: &str = "workload";

/// Declares each kind's module, which is also its word in configurations, and its options.
macro_rules! workloads {
    ($($module:ident: $Options:ident),* $(,)?) => {
        $(
            pub mod $module;
            pub use $module::$Options;
        )*

        /// A workload as configured: its kind and all its options.
        ///
        /// It is serialised as its options plus the key `kind`.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum WorkloadConfig {
            $(
                #[doc = concat!("Kind `", stringify!($module), "`.")]
                $Options($Options),
            )*
        }

        impl WorkloadConfig {
            /// The named kind with default options.
            ///
            /// # Errors
            /// When the kind does not exist: the error lists the kinds and suggests the nearest.
            pub fn of_kind(kind: &str) -> Result<Self, Invalid> {
                match kind {
                    $(stringify!($module) => Ok(Self::$Options($Options::default())),)*
                    _ => Err(unknown_kind(kind)),
                }
            }

            /// The named kind with the values of the layers, later ones overriding earlier ones,
            /// and defaults for the rest. A layer must not contain the key `kind` itself.
            ///
            /// # Errors
            /// When the kind is unknown, or a layer has an unknown key or an ill-formed value.
            pub fn resolve<'de, D: Deserializer<'de>>(
                kind: &str,
                layers: impl IntoIterator<Item = D>,
            ) -> Result<Self, ResolveError<D::Error>> {
                match kind {
                    $(stringify!($module) => merged(layers).map(Self::$Options),)*
                    _ => Err(ResolveError::Kind(unknown_kind(kind))),
                }
            }

            /// The word of the kind.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$Options(_) => stringify!($module),)* }
            }

            /// Keys without effect given the values of other keys, by path within the kind.
            pub fn idle(&self) -> Vec<Idle> {
                match self { $(Self::$Options(own) => options::idle("", own),)* }
            }

            /// The workload with every key that has no effect reset to its default.
            #[must_use]
            pub fn settled(self) -> Self {
                match self { $(Self::$Options(own) => Self::$Options(options::settled(own)),)* }
            }

            /// Builds the workload.
            ///
            /// # Errors
            /// When a key's value is invalid, or an input cannot be read.
            pub fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
                match self { $(Self::$Options(options) => options.build(context),)* }
            }

            /// True if each write covers one page of `page_sectors` and all pages of the device are
            /// equally likely. The state is then equal to random overwrites of pages.
            pub fn writes_uniformly(&self, capacity_sectors: u64, page_sectors: u64) -> bool {
                match self {
                    $(Self::$Options(it) => it.writes_uniformly(capacity_sectors, page_sectors),)*
                }
            }

            /// Number of leading sectors that contain all requests to the device; `None` if
            /// unknown.
            pub fn reach(&self, context: &Context) -> Option<u64> {
                match self { $(Self::$Options(options) => options.reach(context),)* }
            }

            /// True if any stretch of the load is like any other.
            pub fn is_stationary(&self) -> bool {
                match self { $(Self::$Options(_) => $Options::IS_STATIONARY,)* }
            }

            /// True if the seed affects the requests.
            pub fn draws(&self) -> bool {
                match self { $(Self::$Options(options) => options.draws(),)* }
            }

            /// Keys with default values that are not from a publication.
            pub fn guessed(&self) -> Vec<&'static str> {
                match self { $(Self::$Options(options) => options.guessed(),)* }
            }

            /// Appends the reference of the kind's keys.
            pub fn describe(&self, rows: &mut Vec<KeyInfo>) {
                match self {
                    $(Self::$Options(_) => {
                        $Options::describe(SECTION, "", &$Options::default(), rows);
                    })*
                }
            }
        }

        /// Every kind: its word and summary.
        pub fn kinds() -> &'static [(&'static str, &'static str)] {
            &[$((stringify!($module), $Options::SUMMARY)),*]
        }
    };
}

workloads! {
    closed: Closed,
    open: Open,
    generators: Generators,
    trace: Trace,
    bursts: Bursts,
    jesd219: Jesd219,
    mix: Mix,
    threads: Threads,
    fio: Fio,
    diskspd: Diskspd,
    iozone: Iozone,
    postmark: Postmark,
    checkpoint: Checkpoint,
    cache: Cache,
    lsm: Lsm,
    kv_offload: KvOffload,
    ann: Ann,
    gnn: Gnn,
    training: Training,
    paging: Paging,
}

/// The error for a kind that does not exist; it lists the kinds and suggests the nearest.
pub fn unknown_kind(kind: &str) -> Invalid {
    crate::checks::unknown_word("workload.kind", kind, kinds().iter().map(|(word, _)| *word))
}

/// Merges the layers with the defaults.
fn merged<'de, T: WorkloadKind, D: Deserializer<'de>>(
    layers: impl IntoIterator<Item = D>,
) -> Result<T, ResolveError<D::Error>> {
    let mut partial = T::Partial::default();
    for (index, layer) in layers.into_iter().enumerate() {
        let over =
            T::Partial::deserialize(layer).map_err(|error| ResolveError::Layer { index, error })?;
        T::overlay(&mut partial, over);
    }
    Ok(T::complete(partial, T::default()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::read::inputs::Inputs;
    use engine::{Arrival, Breakdown, Completion, Request, Status, Time};

    /// A context without inputs.
    pub(crate) fn context(capacity_sectors: u64, seed: u64) -> Context {
        let inputs = Inputs::streams(|_| Err(std::io::ErrorKind::NotFound.into()));
        Context { capacity_sectors, scale: 1, volumes: 1, zones: None, seed, pass: 0, inputs }
    }

    /// The completion of a request at `at`.
    pub(crate) fn answer(request: Request, at: Time) -> Completion {
        Completion {
            request,
            submitted: at,
            at,
            breakdown: Breakdown::default(),
            status: Status::Ok,
        }
    }

    /// The arrivals of an open workload, or of a closed one whose requests complete instantly.
    pub(crate) fn arrivals(workload: &mut dyn Workload) -> Vec<Arrival> {
        let mut all = Vec::new();
        while let Some(arrival) = workload.next(0).unwrap() {
            workload.completed(&answer(arrival.request, arrival.at));
            all.push(arrival);
        }
        all
    }

    /// The requests of the kind that `text` (TOML) describes, on 1 GiB.
    pub(crate) fn run(kind: &str, text: &str) -> Vec<Arrival> {
        arrivals(&mut *build(kind, text).unwrap())
    }

    /// Builds the kind that `text` (TOML) describes, on 1 GiB, with seed 42.
    pub(crate) fn build(kind: &str, text: &str) -> Result<Box<dyn Workload>, BuildError> {
        let layer: toml::Table = toml::from_str(text).unwrap();
        WorkloadConfig::resolve(kind, [layer]).unwrap().build(&context(1 << 21, 42))
    }

    /// Asserts that a config is refused, with the first key and a part of the message.
    pub(crate) fn assert_refused(kind: &str, text: &str, key: &str, problem: &str) {
        match build(kind, text).err() {
            Some(BuildError::Invalid(error)) => {
                assert_eq!(error.keys[0], key, "{text}: {error}");
                assert!(error.problem.contains(problem), "{text}: {error}");
            }
            other => panic!("{text}: not refused as invalid: {other:?}"),
        }
    }

    /// Asserts that a kind with `outstanding = 3` issues three requests and then waits for a
    /// completion.
    pub(crate) fn assert_three_outstanding(kind: &str) {
        let mut workload = build(kind, "outstanding = 3").unwrap();
        for _ in 0..3 {
            assert!(workload.next(0).unwrap().is_some());
        }
        assert!(workload.next(0).unwrap().is_none());
    }

    #[test]
    fn every_kind_is_named_described_and_written_with_its_word() {
        for (word, summary) in kinds() {
            let config = WorkloadConfig::of_kind(word).unwrap();
            assert_eq!(config.kind(), *word);
            assert!(!summary.is_empty() && !summary.contains('\n'));
            let mut rows = Vec::new();
            config.describe(&mut rows);
            assert!(rows.iter().all(|row| row.path.starts_with("workload.")), "{rows:?}");
            let mut written = toml::Table::try_from(&config).unwrap();
            assert_eq!(written.remove("kind").unwrap().as_str(), Some(*word));
            assert_eq!(WorkloadConfig::resolve(word, [written]), Ok(config));
        }
    }

    /// Requests of a kind in a pass: the first arrivals, each completed 1 us after its issue.
    fn pass(kind: &str, text: &str, pass: u64) -> Vec<Request> {
        let layer: toml::Table = toml::from_str(text).unwrap();
        let config = WorkloadConfig::resolve(kind, [layer]).unwrap();
        let mut workload = config.build(&Context { pass, ..context(1 << 21, 42) }).unwrap();
        let mut asked = Vec::new();
        let mut now = 0;
        while asked.len() < 4000 {
            let Some(arrival) = workload.next(now).unwrap() else { break };
            now = arrival.at + 1000;
            workload.completed(&answer(arrival.request, now));
            asked.push(arrival.request);
        }
        asked
    }

    #[test]
    fn a_pass_has_other_draws_and_the_same_hot_blocks() {
        let class = "requests = 4000\n[classes.a]\nread_share = 0.0\nlocality = 'zipf(1.2)'";
        let closed = "requests = 4000\nlocality = 'zipf(1.2)'";
        let mix = format!("[[streams]]\nkind = 'closed'\n{closed}");
        let fio = r#"job = "[a]\nrw=randwrite\nbs=4k\nnorandommap\nrandom_distribution=zipf:1.2""#;
        let rows = [
            ("closed", closed, true),
            ("bursts", closed, true),
            ("threads", class, true),
            ("mix", &mix, true),
            ("fio", fio, true),
            ("fio", r#"job = "[a]\nrw=randwrite\nbs=4k\nsize=16m""#, false),
            ("open", "requests = 4000", false),
            ("open", "requests = 4000\ngenerator = 'drand48'", false),
            ("jesd219", "requests = 4000", false),
            ("postmark", "", false),
        ];
        for (kind, text, is_skewed) in rows {
            let [run, first, second] = [0, 1, 2].map(|number| pass(kind, text, number));
            assert!(run.len() > 1000, "{kind}: {}", run.len());
            assert!(run != first && run != second && first != second, "{kind} {text}");
            assert_eq!(first, pass(kind, text, 1), "{kind}");
            let hottest = |asked: &[Request]| {
                let mut counts = std::collections::BTreeMap::new();
                for it in asked {
                    *counts.entry(it.lba.0).or_insert(0) += 1;
                }
                counts.into_iter().max_by_key(|(_, count)| *count).unwrap().0
            };
            if is_skewed {
                assert_eq!(hottest(&run), hottest(&first), "{kind} {text}");
                assert_eq!(hottest(&run), hottest(&second), "{kind} {text}");
            }
        }
    }

    #[test]
    fn a_load_is_uniform_where_each_page_is_written_as_often() {
        let class = |keys: &str| format!("[classes.a]\nread_share = 1.0\n[classes.b]\n{keys}");
        let rows = [
            ("closed", "read_share = 0.5".to_owned(), true),
            ("bursts", "read_share = 0.5".to_owned(), true),
            ("threads", class("read_share = 0.0"), true),
            ("closed", "read_share = 1.0".to_owned(), false),
            ("closed", "read_share = 0.5\nrandom_share = 0.9".to_owned(), false),
            ("closed", "read_share = 0.5\nlocality = 'zipf(0.0)'".to_owned(), false),
            ("closed", "read_share = 0.5\nblock_size = '8KiB'".to_owned(), false),
            ("closed", "read_share = 0.5\nfootprint = 0.5".to_owned(), false),
            ("threads", class("read_share = 0.0\nfootprint = 0.5"), false),
            ("threads", class("read_share = 1.0"), false),
            ("jesd219", String::new(), false),
        ];
        for (kind, text, is_uniform) in rows {
            let layer: toml::Table = toml::from_str(&text).unwrap();
            let config = WorkloadConfig::resolve(kind, [layer]).unwrap();
            assert_eq!(config.writes_uniformly(1 << 21, 8), is_uniform, "{kind} {text}");
        }
    }

    #[test]
    fn layers_are_merged_and_blamed() {
        let layer = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
        let layers = [layer("outstanding = 4\nrequests = 9"), layer("outstanding = 5")];
        let WorkloadConfig::Closed(closed) = WorkloadConfig::resolve("closed", layers).unwrap()
        else {
            panic!("another kind")
        };
        assert_eq!((closed.outstanding, closed.requests, closed.read_share), (5, 9, 1.0));
        let error = WorkloadConfig::resolve("closed", [layer(""), layer("outstandig = 1")]);
        let Err(ResolveError::Layer { index: 1, error }) = error else { panic!("{error:?}") };
        assert!(error.to_string().contains("expected one of `requests`, `outstanding`"), "{error}");
    }

    #[test]
    fn unknown_kinds_are_refused_with_the_nearest() {
        let message = unknown_kind("clsed").to_string();
        let list = "workload.kind: \"clsed\" is not one of closed, open, generators, trace, ";
        assert!(message.starts_with(list), "{message}");
        assert!(message.ends_with(" (did you mean \"closed\"?)"), "{message}");
        assert!(WorkloadConfig::of_kind("fro").is_err());
    }
}
