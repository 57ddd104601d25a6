//! The cache of prepared states: results are bit-identical with and without it, a state never
//! belongs to another drive, and a corrupt file only causes a notice.

use crate::common::{experiment, outcome};
use crate::depth::depth;
use crate::net::dice::Dice;
use crate::net::values::value;
use crate::net::{Config, Outcome, generate, on_two_threads, outcome_with};
use lab::{CacheSettings, RunSettings, cache_clear, cache_entries, list};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A cache in this folder that stores every prepared state.
fn all_in(folder: &Path) -> CacheSettings {
    CacheSettings { least_writes: 1, ..CacheSettings::new(folder.to_owned()) }
}

fn with(cache: Option<CacheSettings>) -> RunSettings {
    RunSettings { check: true, cache, ..RunSettings::default() }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn hits(folder: &Path) -> u64 {
    cache_entries(folder).iter().map(|it| it.hits).sum()
}

/// Results without elapsed times.
fn lasting(outcome: Outcome) -> Outcome {
    let Outcome::Results(mut results) = outcome else { return outcome };
    results.as_object_mut().unwrap().remove("elapsed");
    Outcome::Results(results)
}

/// Checks an experiment without a cache against one that stores the state and one that restores it;
/// returns true if it was stored.
fn hold(config: &Config) -> bool {
    let folder = folder();
    let without = lasting(outcome_with(config, &with(None)));
    let kept = lasting(outcome_with(config, &with(Some(all_in(folder.path())))));
    assert!(kept == without, "keeping the state changes {config}");
    let count = cache_entries(folder.path()).len();
    let found = lasting(outcome_with(config, &with(Some(all_in(folder.path())))));
    assert!(found == without, "a state that was kept gives other results: {config}");
    assert_eq!(hits(folder.path()) > 0, count > 0, "{config}");
    count > 0
}

#[test]
fn random_experiments_are_the_same_bits_with_the_cache_and_without() {
    let drawn = depth(20, 120, 2_000);
    let mut kept = 0;
    for seed in 0..drawn {
        let mut config = generate::experiment(12_000_000 + seed);
        // A disk behind a cache is written completely, line by line, before it is steady, and its
        // state is not stored.
        if config.get("device.kind") == Some("cache") {
            continue;
        }
        let ways = ["\"random:1.5\"", "\"steady\"", "\"sequential\""];
        config.set("run.precondition", ways[(seed % 3) as usize]);
        kept += u64::from(hold(&config));
    }
    assert!(kept * 3 > drawn, "{kept} of {drawn}");
}

const SMALL: &str = "
[device]
kind = 'ssd'
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 128
[workload]
kind = 'closed'
requests = 200
outstanding = 4
read_share = 0.2
[run]
precondition = 'random:2'
";

/// The results of an experiment with the cache, without elapsed times.
fn run(folder: &Path, sets: &[&str]) -> Value {
    run_with(&with(Some(all_in(folder))), sets)
}

fn run_with(settings: &RunSettings, sets: &[&str]) -> Value {
    let mut results = outcome(&experiment(&[SMALL], sets).unwrap(), settings).unwrap();
    results.as_object_mut().unwrap().remove("elapsed");
    results
}

/// The files of entries.
fn states(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut states: Vec<_> =
        files.filter(|it| it.extension().is_some_and(|of| of == "state")).collect();
    states.sort();
    states
}

#[test]
fn presets_are_the_same_bits_with_the_cache_and_without() {
    let mut kept = 0;
    for (device, _) in list("devices").expect("a category") {
        let mut config = Config::default();
        config.set("device.preset", format!("\"{device}\""));
        for (key, value) in
            [("device.blocks_per_plane", "24"), ("device.member.blocks_per_plane", "24")]
        {
            let smaller = config.with(key, value);
            if smaller.experiment().is_ok() {
                config = smaller;
            }
        }
        // The device behind a cache has millions of lines, which are written one by one.
        let is_cache = config.with("device.replacement", "\"lru\"").experiment().is_ok();
        config.set("run.precondition", if is_cache { "\"random:0.0001\"" } else { "\"random:1\"" });
        config.set("workload.requests", "100");
        if config.experiment().is_ok() {
            kept += u64::from(hold(&config));
        }
    }
    assert!(kept > 4, "{kept}");
}

#[test]
fn whatever_decides_a_state_makes_another_entry_and_nothing_else_does() {
    let folder = folder();
    let first = run(folder.path(), &[]);
    assert_eq!(cache_entries(folder.path()).len(), 1);
    // The measured load and its measurement do not affect the prepared state.
    let same = [
        &["workload.requests=100"][..],
        &["workload.outstanding=1", "run.warm_up=1us"],
        &["run.until=1s"],
        &["run.timed=false"],
        &["run.steady.rounds=30"],
        &["device.timing.read=1us", "device.host_link.queue_depth=3"],
        &["cost.power_dollars_per_kwh=0.1"],
    ];
    for sets in same {
        run(folder.path(), sets);
        assert_eq!(cache_entries(folder.path()).len(), 1, "{sets:?}");
    }
    assert_eq!(hits(folder.path()), same.len() as u64);
    let others = [
        &["run.seed=7"][..],
        &["run.precondition=random:2.5"],
        &["run.precondition=sequential"],
        &["run.precondition=steady"],
        &["run.precondition=steady", "run.steady.round_writes=0.25"],
        &["run.precondition=steady", "workload.read_share=0.3", "workload.locality=zipf(1.1)"],
        &["run.precondition=steady", "workload.read_share=0.4", "workload.locality=zipf(1.1)"],
        &["device.blocks_per_plane=130"],
        &["device.cleaning.policy=fifo"],
        &["device.over_provisioning=0.3"],
    ];
    for (number, sets) in others.into_iter().enumerate() {
        run(folder.path(), sets);
        assert_eq!(cache_entries(folder.path()).len(), number + 2, "{sets:?}");
    }
    assert_eq!(run(folder.path(), &[]), first);
    assert_eq!(cache_clear(folder.path()).unwrap().0, others.len() as u64 + 1);
    assert!(cache_entries(folder.path()).is_empty());
    // States of new or loaded drives are not stored.
    run(folder.path(), &["run.precondition=none"]);
    let drive = folder.path().join("a.drive");
    let path = |key: &str| format!("run.{key}='{}'", drive.display());
    run(folder.path(), &["run.precondition=none", &path("save_drive")]);
    run(folder.path(), &[&path("load_drive")]);
    assert!(cache_entries(folder.path()).is_empty());
}

/// A trace of 4 KiB requests that cycle over the first `count` pages.
fn trace(path: &Path, count: u64) {
    let lines = (0..400u64).map(|n| format!("{} 0 {} 8 0\n", n as f64 / 10.0, n * 7 % count * 8));
    std::fs::write(path, lines.collect::<String>()).unwrap();
}

#[test]
fn a_trace_decides_by_its_content_and_seeds_share_a_state_that_draws_nothing() {
    let (folder, traces) = (folder(), folder());
    let file = traces.path().join("a.disksim");
    let path = format!("workload.path='{}'", file.display());
    let of = |more: &[&str]| {
        let mut sets = vec!["workload.kind=trace", &path, "run.precondition=steady"];
        sets.extend(more);
        let cached = with(Some(all_in(folder.path())));
        let found = experiment(&[SMALL.split("[workload]").next().unwrap()], &sets).unwrap();
        let mut results = [with(None), cached].map(|settings| outcome(&found, &settings).unwrap());
        for it in &mut results {
            it.as_object_mut().unwrap().remove("elapsed");
        }
        assert_eq!(results[0], results[1], "{more:?}");
        cache_entries(folder.path()).len()
    };
    trace(&file, 90);
    assert_eq!(of(&[]), 1);
    assert_eq!(of(&["run.seed=7"]), 1, "nothing is drawn");
    assert_eq!(of(&["run.seed=8"]), 1);
    assert_eq!(hits(folder.path()), 2);
    let drawing = ["device.cleaning.policy=random", "device.fill_order=random"];
    for (number, key) in drawing.into_iter().enumerate() {
        assert_eq!(of(&[key]), 2 * number + 2);
        assert_eq!(of(&[key, "run.seed=7"]), 2 * number + 3);
    }
    // An equal name with different content; equal content in another folder.
    trace(&file, 91);
    assert_eq!(of(&[]), 6);
    trace(&file, 90);
    assert_eq!(of(&[]), 6);
}

#[test]
fn a_damaged_entry_is_removed_and_the_drive_prepared_anew() {
    let folder = folder();
    let expected = run(folder.path(), &[]);
    let [file] = &states(folder.path())[..] else { panic!("one entry") };
    let whole = std::fs::read(file).unwrap();
    let lengths = [0, 1, 15, 17, 40, 100, whole.len() / 2, whole.len() - 1];
    let cut = lengths.map(|length| whole[..length].to_vec());
    let flips = [3, 17, 25, 50, whole.len() / 3, whole.len() / 2, whole.len() - 3];
    let flipped = flips.map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        bytes
    });
    let longer = [[&whole[..], b"more"].concat()];
    for (number, bytes) in cut.into_iter().chain(flipped).chain(longer).enumerate() {
        std::fs::write(file, bytes).unwrap();
        assert_eq!(run(folder.path(), &[]), expected, "{number}");
        assert_eq!(std::fs::read(file).unwrap().len(), whole.len(), "{number}: it is there again");
        // Other tests of this process issue notices at the same time.
        let mut notices = lab::take_notices();
        notices.retain(|it| it.starts_with(&folder.path().display().to_string()));
        assert!(
            number > 0 || notices.len() == 1 && notices[0].contains("the drive is prepared anew"),
            "{notices:?}"
        );
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_only_said() {
    let folder = folder();
    let expected = run_with(&with(None), &[]);
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for below in [file.clone(), file.join("cache")] {
        assert_eq!(run(&below, &[]), expected);
    }
    assert_eq!(std::fs::read(file).unwrap(), b"");
}

#[test]
fn the_entries_that_were_not_used_for_longest_leave_first() {
    let folder = folder();
    let seeds = [1, 2, 3, 4].map(|seed| format!("run.seed={seed}"));
    run(folder.path(), &[&seeds[0]]);
    let [entry] = &cache_entries(folder.path())[..] else { panic!("one entry") };
    let bound = CacheSettings { most_bytes: entry.bytes * 5 / 2, ..all_in(folder.path()) };
    let bounded = with(Some(bound.clone()));
    #[expect(clippy::disallowed_methods, reason = "files remember when they were used")]
    let pause = || std::thread::sleep(std::time::Duration::from_millis(20));
    pause();
    run_with(&bounded, &[&seeds[1]]);
    pause();
    run_with(&bounded, &[&seeds[0]]); // used again
    pause();
    run_with(&bounded, &[&seeds[2]]);
    let of = |seed: u64| {
        let wanted = format!("\"seed\":{seed}");
        cache_entries(folder.path())
            .iter()
            .any(|it| it.decided_by.as_ref().unwrap().contains(&wanted))
    };
    assert_eq!([1, 2, 3].map(of), [true, false, true]);
    // A state larger than the total limit is not stored, and evicts nothing.
    let none = CacheSettings { most_bytes: 10, ..bound };
    run_with(&with(Some(none)), &[&seeds[3]]);
    assert_eq!([1, 2, 3, 4].map(of), [true, false, true, false]);
}

#[test]
fn a_converted_trace_and_a_state_share_one_bound() {
    let folder = folder();
    run(folder.path(), &[]);
    let [entry] = &cache_entries(folder.path())[..] else { panic!("one entry") };
    let traces = folder.path().join("traces");
    std::fs::create_dir(&traces).unwrap();
    let trace = traces.join("requests-1.parquet");
    let bytes = entry.bytes as usize;
    std::fs::write(&trace, vec![0; bytes]).unwrap();
    let bound = |most_bytes| CacheSettings { most_bytes, ..all_in(folder.path()) };
    assert!(lab::cache_make_room(&bound(entry.bytes * 3), entry.bytes));
    assert!(trace.exists() && !cache_entries(folder.path()).is_empty());
    // The state is older, so it is evicted first; a file larger than the limit evicts nothing.
    assert!(!lab::cache_make_room(&bound(entry.bytes), entry.bytes + 1));
    assert!(lab::cache_make_room(&bound(entry.bytes * 2), entry.bytes));
    assert!(trace.exists() && cache_entries(folder.path()).is_empty());
    // A new state in turn evicts the trace.
    run_with(&with(Some(bound(entry.bytes * 3 / 2))), &[]);
    assert!(!trace.exists() && cache_entries(folder.path()).len() == 1);
}

#[test]
fn several_that_want_the_same_state_prepare_it_once() {
    let folder = folder();
    let expected = run_with(&with(None), &[]);
    std::thread::scope(|scope| {
        let runs = [0; 4].map(|_| scope.spawn(|| run(folder.path(), &[])));
        for it in runs {
            assert_eq!(it.join().unwrap(), expected);
        }
    });
    let hits = hits(folder.path());
    assert!(if cfg!(unix) { hits == 3 } else { hits <= 3 }, "{hits}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "an entry and its hits: {left:?}");
}

/// The keys that a user can set for a drive, with values drawn at random.
#[test]
fn a_key_makes_another_entry_or_leaves_the_state_as_it_is() {
    let section = generate::catalogue().iter().find(|it| it.title == "device, kind ssd").unwrap();
    let keys: Vec<_> = section
        .keys
        .iter()
        .filter(|it| it.path.rsplit('.').next() != Some("kind") && it.path != "device.preset")
        .collect();
    let mut dice = Dice::new(11);
    let mut cases = Vec::new();
    for (device, key) in
        DRIVES.into_iter().flat_map(|device| keys.iter().map(move |key| (device, key)))
    {
        for _ in 0..depth(1, 1, 8) {
            let drawn = value("ssd", key, &Config::default(), &mut dice).unwrap_or_default();
            if !drawn.is_empty() {
                cases.push((device, format!("{}={drawn}", key.path)));
            }
        }
    }
    let bases: BTreeMap<_, _> = DRIVES.into_iter().map(|device| (device, base(device))).collect();
    let found = on_two_threads(&cases, |(device, set)| decides(device, set, bases[device].path()));
    let count = |wanted: Decided| found.iter().filter(|it| **it == wanted).count();
    // Ensures that the test is not vacuous.
    assert!(count(Decided::Shared) > 20, "{}", count(Decided::Shared));
    assert!(count(Decided::Apart) > 40, "{}", count(Decided::Apart));
}

/// Effect of a drive's key on its cache entry.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Decided {
    Refused,
    Shared,
    Apart,
}

/// The drives under test.
const DRIVES: [&str; 2] = ["agrawal2008", "tlc-enterprise"];

/// Runs a small drive with the values set; returns the file of its state, if it runs.
fn saved(device: &str, settings: &RunSettings, set: Option<&str>) -> Option<Vec<u8>> {
    let folder = folder();
    let below = format!(
        "[device]\npreset = '{device}'\nblocks_per_plane = 32\nspare_factor = 0.3\n\
         [workload]\nkind = 'closed'\nrequests = 20\n[run]\nprecondition = 'random:{}'\n",
        depth(3, 3, 10) as f64 / 10.0
    );
    let drive = folder.path().join("drive");
    let save = format!("run.save_drive='{}'", drive.display());
    let sets: Vec<_> = set.into_iter().chain([&save[..]]).collect();
    let experiment = experiment(&[&below], &sets).ok()?;
    outcome(&experiment, settings).ok()?;
    // The keys at the start of the file precede the state, and may include keys without effect on
    // it.
    Some(std::fs::read(drive).unwrap())
}

/// A folder with the state of a drive with default keys.
fn base(device: &str) -> TempDir {
    let folder = folder();
    saved(device, &with(Some(all_in(folder.path()))), None).expect("the base runs");
    folder
}

/// Sets a key and determines if the state has an entry other than the base's; in both cases it must
/// equal the state without the cache.
fn decides(device: &str, set: &str, base: &Path) -> Decided {
    let folder = folder();
    for entry in std::fs::read_dir(base).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let Some(varied) = saved(device, &with(None), Some(set)) else { return Decided::Refused };
    let cached = with(Some(all_in(folder.path())));
    let found = saved(device, &cached, Some(set)).expect("it ran before");
    assert!(found == varied, "{device} with {set} has another state, and the same entry");
    if states(folder.path()).len() > 1 {
        return Decided::Apart;
    }
    if hits(folder.path()) == 0 {
        return Decided::Refused; // a state of a drive that has worn out is not kept
    }
    Decided::Shared
}
