//! Benefit of placement for a trace: the trace is read once, and replayed untimed under each
//! policy.
//!
//! Policies and the untimed drive are in the crate `placement`; this module converts a trace to its
//! load, distributes the studies over threads, and writes the results as JSON. Results do not
//! depend on the number of threads.

mod figures;
mod row;

use crate::trace::{Reading, TraceError, Watch};
use ::placement::{
    Builder, Classes, Ended, Isolation, Load, LoadError, Measured, PAGE_BYTES, Policy, Rule, Shape,
    Victim, Zoned, greedy, study, study_log,
};
use row::{MEDIA, Medium, Row};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Interval at which the caller may stop the study.
const TICK: Duration = Duration::from_millis(20);

/// Parameters of the simulated drive, and the policies to try.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacementSettings {
    /// Number of placement handles.
    pub handles: u8,
    /// Number of reclaim units of the drive.
    pub units: u32,
    /// Spare space as a share of the capacity.
    pub spare: f64,
    /// Sizes of the trace's data, as shares of the capacity.
    pub utilisations: Vec<f64>,
    /// "initial", "persistent" or "zones".
    pub isolations: Vec<String>,
    /// Names of policies; "own" is the caller's, given as handles.
    pub policies: Vec<String>,
    /// Maximum parallel studies.
    pub threads: usize,
}

/// Called at intervals with the number of replayed requests; may stop the work.
pub type PlacementWatch<'a> = &'a mut dyn FnMut(u64) -> ControlFlow<()>;

/// The writes and trims of a trace, ready for placement.
pub struct PlacementLoad {
    load: Load,
    format: &'static str,
    requests: u64,
    duration_ns: u64,
    skipped: Value,
}

/// A policy to try: its handles and its drives.
struct Job {
    name: String,
    policy: Option<Policy>,
}

impl PlacementLoad {
    /// Reads the trace `path` with `options_json`, as for [`trace_info`](crate::trace_info).
    ///
    /// # Errors
    /// When the trace or an option is invalid, the trace has no writes, or `watch` stops the work.
    pub fn read(path: &str, options_json: &str, watch: Watch<'_>) -> Result<Self, TraceError> {
        let wrong = |error: LoadError| TraceError::Input(format!("trace {path}: {error}"));
        let mut reading = Reading::open(path, options_json)?;
        let mut builder = Builder::default();
        let (mut first, mut last, mut requests) = (u64::MAX, 0, 0);
        while let Some(record) = reading.next(watch)? {
            requests += 1;
            (first, last) = (first.min(record.at), last.max(record.at));
            let offset = record.sector.checked_mul(engine::SECTOR_BYTES);
            let offset = offset.ok_or_else(|| wrong(LoadError::Beyond))?;
            let bytes = u64::from(record.sectors) * engine::SECTOR_BYTES;
            match record.op {
                engine::Op::Read => builder.read(record.device, offset, bytes),
                engine::Op::Write
                | engine::Op::CompareWrite
                | engine::Op::Copy
                | engine::Op::Trim
                | engine::Op::Zeroes => {
                    let is_trim = matches!(record.op, engine::Op::Trim | engine::Op::Zeroes);
                    let handle = record.handle.number();
                    builder.write_with(
                        record.device,
                        (offset, bytes),
                        (is_trim, record.fua),
                        handle,
                    )
                }
                // Failed comparisons write nothing. Zone appends are skipped, because a drive does
                // not place them.
                _ => Ok(()),
            }
            .map_err(wrong)?;
        }
        let load = builder.finish().map_err(wrong)?;
        let duration_ns = last.saturating_sub(first);
        let (skipped, _) = reading.counted();
        Ok(PlacementLoad { load, format: reading.format(), requests, duration_ns, skipped })
    }

    /// Facts of the trace, as JSON text.
    pub fn facts(&self) -> String {
        json!({
            "format": self.format,
            "requests": self.requests,
            "writes": self.load.iter().filter(|write| !write.is_trim).count(),
            "duration_s": self.duration_ns as f64 / 1e9,
            "written_bytes": self.load.bytes,
            "written_pages": self.load.written,
            "footprint_bytes": u64::from(self.load.pages) * PAGE_BYTES,
            "devices": self.load.devices,
            "is_permutation": self.load.is_permutation(),
            "skipped": self.skipped,
        })
        .to_string()
    }

    /// Number of writes and trims; each needs a handle.
    pub fn count(&self) -> usize {
        self.load.len()
    }

    /// Byte offset, length, device and FUA flag of at most `most` writes and trims, from index
    /// `from` on; trims have negative lengths.
    pub fn requests(&self, from: usize, most: usize) -> Vec<(u64, i64, u32, bool)> {
        let end = self.load.len().min(from.saturating_add(most));
        let one = |at| {
            let write = self.load.get(at);
            let (device, offset) = self.load.address(write.first);
            let bytes = i64::from(write.pages) * PAGE_BYTES.cast_signed();
            (offset, if write.is_trim { -bytes } else { bytes }, device, write.fua)
        };
        (from..end).map(one).collect()
    }

    /// Bytes written until the pages of each write or trim are overwritten, in a repeated trace; -1
    /// for never.
    pub fn next_overwrites(&self) -> Vec<i64> {
        let bytes = |pages: u32| match pages {
            ::placement::ALWAYS => -1,
            pages => i64::from(pages) * PAGE_BYTES.cast_signed(),
        };
        ::placement::lifetimes(&self.load).into_iter().map(bytes).collect()
    }

    /// Tries the policies on the drives of the settings; returns JSON text. `own` has the handle of
    /// each write or trim for the policy "own".
    ///
    /// # Errors
    /// When a setting is invalid, or `watch` stops the work.
    pub fn study(
        &self,
        settings_json: &str,
        own: Option<&[u8]>,
        watch: PlacementWatch<'_>,
    ) -> Result<String, TraceError> {
        let settings: PlacementSettings = serde_json::from_str(settings_json)
            .map_err(|error| TraceError::Input(format!("the settings are wrong: {error}")))?;
        let jobs = jobs(&settings, own.map(<[u8]>::len), self.load.len())?;
        let rows = self.on_threads(&settings, &jobs, own, watch)?;
        Ok(figures::of_rows(&self.load, &rows).to_string())
    }

    fn on_threads(
        &self,
        settings: &PlacementSettings,
        jobs: &[Job],
        own: Option<&[u8]>,
        watch: PlacementWatch<'_>,
    ) -> Result<Vec<Row>, TraceError> {
        let (next, replayed) = (AtomicUsize::new(0), AtomicU64::new(0));
        let ended = AtomicBool::new(false);
        let stop = |requests: u64| {
            replayed.fetch_add(requests, Ordering::Relaxed);
            ended.load(Ordering::Relaxed)
        };
        let mut rows: Vec<Option<Vec<Row>>> = jobs.iter().map(|_| None).collect();
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            for _ in 0..settings.threads.clamp(1, jobs.len().max(1)) {
                let (sender, stop, next) = (sender.clone(), &stop, &next);
                scope.spawn(move || {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = jobs.get(at) else { return };
                        let done = self.one(settings, job, own, stop);
                        // The send fails if the study was stopped.
                        let _ = sender.send((at, done));
                    }
                });
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(TICK) {
                    Ok((at, done)) => rows[at] = Some(done),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                if watch(replayed.load(Ordering::Relaxed)).is_break() {
                    ended.store(true, Ordering::Relaxed);
                    next.store(jobs.len(), Ordering::Relaxed);
                }
            }
        });
        let stopped = ended.load(Ordering::Relaxed);
        let all: Option<Vec<Vec<Row>>> = rows.into_iter().collect();
        match all {
            Some(all) if !stopped => Ok(all.into_iter().flatten().collect()),
            _ => Err(TraceError::Interrupted { requests: self.requests }),
        }
    }

    /// Tries a policy on all drives.
    fn one(
        &self,
        settings: &PlacementSettings,
        job: &Job,
        own: Option<&[u8]>,
        stop: &(dyn Fn(u64) -> bool + Sync),
    ) -> Vec<Row> {
        let classes = match (job.policy, own) {
            (Some(policy), _) => policy.classes(&self.load, settings.handles),
            (None, Some(own)) => {
                let handles = own.iter().max().map_or(1, |most| most + 1);
                Some(Classes { of: own.to_vec(), rule: Rule::One, handles })
            }
            (None, None) => None,
        };
        let Some(classes) = classes else { return Vec::new() };
        let mut rows = Vec::new();
        let mut has_drive = false;
        for utilisation in &settings.utilisations {
            for medium in settings.isolations.iter().filter_map(|name| Medium::named(name)) {
                // Isolation has no effect with a single handle.
                let is_drive = medium != Medium::Zones;
                if is_drive && classes.handles == 1 && std::mem::replace(&mut has_drive, true) {
                    continue;
                }
                let shape = self.shape(settings, *utilisation, classes.handles, medium.isolation());
                let found = self.replayed(&classes.of, shape, medium, stop);
                if found == Err(Ended::Stopped) {
                    return rows;
                }
                rows.push(Row {
                    policy: job.name.clone(),
                    utilisation: *utilisation,
                    medium,
                    shape,
                    rule: classes.rule.clone(),
                    found,
                });
            }
            has_drive = false;
        }
        rows
    }

    /// Replays the writes on a drive or on zones.
    fn replayed(
        &self,
        of: &[u8],
        shape: Shape,
        medium: Medium,
        stop: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Measured, Ended> {
        match medium {
            Medium::Drive(_) => study(&self.load, of, shape, stop),
            Medium::Zones => study_log(&self.load, of, (zoned(shape), Box::new(greedy)), stop),
        }
    }

    /// Tries the caller's host log on zones: it gives a stream for each write or trim and chooses
    /// the victim zone. Returns one row as JSON text. `watch` may stop it.
    ///
    /// # Errors
    /// When a setting is invalid, or `watch` or `victim` stops the work.
    pub fn study_log(
        &self,
        settings_json: &str,
        streams: &[u8],
        victim: Victim<'_>,
        stop: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<String, TraceError> {
        let settings: PlacementSettings = serde_json::from_str(settings_json)
            .map_err(|error| TraceError::Input(format!("the settings are wrong: {error}")))?;
        jobs(&settings, Some(streams.len()), self.load.len())?;
        let handles = streams.iter().max().map_or(1, |most| most + 1);
        let utilisation = settings.utilisations.iter().copied().fold(0.01, f64::max);
        let shape = self.shape(&settings, utilisation, handles, Isolation::Initial);
        let found = study_log(&self.load, streams, (zoned(shape), victim), stop);
        if found == Err(Ended::Stopped) {
            return Err(TraceError::Interrupted { requests: self.requests });
        }
        let row = Row {
            policy: "own".to_owned(),
            utilisation,
            medium: Medium::Zones,
            shape,
            rule: Rule::One,
            found,
        };
        Ok(figures::of_rows(&self.load, &[row]).to_string())
    }

    /// The drive that the trace's data fill to a given share.
    fn shape(
        &self,
        settings: &PlacementSettings,
        utilisation: f64,
        handles: u8,
        isolation: Isolation,
    ) -> Shape {
        let flash = f64::from(self.load.pages) / utilisation * (1.0 + settings.spare);
        // For small traces, a reclaim unit has at least two pages.
        let unit_pages = (flash / f64::from(settings.units)).round().max(2.0) as u32;
        let units = (flash / f64::from(unit_pages)).round() as u32;
        Shape { pages: self.load.pages, unit_pages, units, handles, isolation }
    }
}

/// Zones of the size of reclaim units, with one stream per handle.
fn zoned(shape: Shape) -> Zoned {
    let Shape { pages, unit_pages, units, handles, .. } = shape;
    Zoned { pages, zone_pages: unit_pages, zones: units, streams: handles }
}

/// Checks the requested policies; `own` is the number of given handles, for `requests` requests.
fn jobs(
    settings: &PlacementSettings,
    own: Option<usize>,
    requests: usize,
) -> Result<Vec<Job>, TraceError> {
    let wrong = |message: String| Err(TraceError::Input(message));
    if !(1..=128).contains(&settings.handles) {
        return wrong(format!("handles = {}: give 1 to 128", settings.handles));
    }
    if !(16..=1 << 20).contains(&settings.units) {
        return wrong(format!("units = {}: give 16 to 1048576", settings.units));
    }
    if !(0.0..=10.0).contains(&settings.spare) {
        return wrong(format!("spare = {}: give a share of 0 to 10", settings.spare));
    }
    if let Some(it) = settings.utilisations.iter().find(|it| !(0.01..=1.0).contains(*it)) {
        return wrong(format!("utilisation = {it}: give a share of 0.01 to 1"));
    }
    if let Some(it) = settings.isolations.iter().find(|it| Medium::named(it).is_none()) {
        let names: Vec<&str> = MEDIA.iter().map(|(name, _)| *name).collect();
        return wrong(format!("isolation = \"{it}\": choose of {}", names.join(", ")));
    }
    if let Some(given) = own.filter(|given| *given != requests) {
        return wrong(format!("{given} handles were given for {requests} writes and trims"));
    }
    let named = |name: &String| {
        let policy = ::placement::ALL.into_iter().find(|policy| policy.name() == name);
        if policy.is_none() && (name != "own" || own.is_none()) {
            let names: Vec<&str> = ::placement::ALL.iter().map(|policy| policy.name()).collect();
            let names = names.join(", ");
            return Err(TraceError::Input(format!("policy \"{name}\": choose of {names}")));
        }
        Ok(Job { name: name.clone(), policy })
    };
    settings.policies.iter().map(named).collect()
}
