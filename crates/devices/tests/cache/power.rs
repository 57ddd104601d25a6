//! Power cuts: what a cache has promised is there, on every mode, policy and pair of devices.

use super::{US, config, disk, fixed};
use crate::common::depth::depth;
use crate::common::small;
use devices::cache::CacheConfig;
use devices::disk::{DiskConfig, WriteCache};
use devices::ssd::SsdConfig;
use devices::ssd::config::{Persistence, Recovery};
use devices::{DeviceConfig, DeviceKind as _, Instruction, Model, Report};
use engine::{Completion, Lba, Op, Random, Request, Status, Time, Xoshiro256};
use serde_json::json;

/// Events of a run at most: one with more would never end.
const MOST_EVENTS: u64 = 200_000;

fn pick<T: Clone>(random: &mut Xoshiro256, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize].clone()
}

/// A small drive that recovers.
fn ssd() -> DeviceConfig {
    DeviceConfig::Ssd(Box::new(SsdConfig {
        channels: 1,
        blocks_per_plane: 32,
        pages_per_block: 16,
        persistence: Persistence { recovery: Recovery::Summary, ..Persistence::default() },
        ..small()
    }))
}

/// Five disks with rotated parity, which answer when data are on the media.
fn raid() -> DeviceConfig {
    let keys = json!({"members": 5, "redundancy": "parity", "stripe": "16KiB", "member": {"kind": "disk"}});
    match DeviceConfig::resolve("array", [keys]) {
        Ok(DeviceConfig::Array(mut array)) => {
            let disk = DiskConfig { write_cache: WriteCache::Off, ..disk() };
            array.member = DeviceConfig::Disk(Box::new(disk));
            DeviceConfig::Array(array)
        }
        other => panic!("{other:?}"),
    }
}

/// The cache of a seed; `cuts` are possible or not.
pub fn drawn(seed: u64, cuts: bool) -> CacheConfig {
    let random = &mut Xoshiro256::new(seed, 1);
    let mode =
        pick(random, &["write-back", "write-back", "write-back", "write-through", "read-only"]);
    let recovery = match (cuts, mode) {
        (false, _) => "none",
        (true, "write-back") => "warm",
        (true, _) => pick(random, &["warm", "cold"]),
    };
    let high = pick(random, &[0.0, 0.3, 0.7, 1.0]);
    let keys = json!({
        "mode": mode,
        "restart": recovery,
        "replacement": pick(random, &["lru", "lfu", "arc"]),
        "line": pick(random, &["512B", "4KiB", "4KiB", "16KiB"]),
        "bypass": pick(random, &["0B", "0B", "16KiB"]),
        "pinned": pick(random, &["none", "none", "64KiB-96KiB"]),
        "destage": {
            "pause": pick(random, &["none", "0ns", "1ms"]),
            "max_age": pick(random, &["none", "none", "3ms"]),
            "high": high,
            "low": pick(random, &[0.0, high]),
            "in_flight": pick(random, &[1, 2, 8]),
            "run_lines": pick(random, &[1, 4, 64]),
        },
    });
    let on_disk = |write_cache| DeviceConfig::Disk(Box::new(DiskConfig { write_cache, ..disk() }));
    let backing = match random.below(10) {
        0..4 => on_disk(WriteCache::On),
        4..7 => on_disk(WriteCache::Off),
        7 => ssd(),
        8 if cuts => raid(),
        _ => fixed(1 << 10, 700 * US),
    };
    let (fast, share) = match random.below(10) {
        0 => (ssd(), 0.1),
        // A disk that answers before: the fast device may lose what it has answered.
        1..3 => (on_disk(WriteCache::On), 0.001),
        _ => (fixed(128, 20 * US), pick(random, &[0.3, 1.0])),
    };
    let mut cache = CacheConfig { fast, backing, share, ..config(&[keys]) };
    // What is pinned must leave room.
    if DeviceConfig::Cache(Box::new(cache.clone())).build(0).is_err() {
        cache.pinned = devices::cache::Ranges::default();
        cache.share = cache.share.clamp(0.4, 1.0);
        cache.line = options::Size::from_bytes(4096);
        if !matches!(cache.fast, DeviceConfig::Law(_)) {
            cache.fast = fixed(128, 20 * US);
        }
    }
    cache
}

pub fn request(id: u64, sectors: u64, stream: &mut u64, random: &mut Xoshiro256) -> Request {
    let op = match random.below(20) {
        0..11 => Op::Write,
        11..17 => Op::Read,
        17 => Op::Trim,
        _ => Op::Flush,
    };
    if op == Op::Flush {
        return Request::new(id, op, Lba(0), 0);
    }
    let span = sectors.min(1_024);
    let count = 1 + random.below(24);
    let lba = match random.below(6) {
        // Goes on where the last one ended.
        0 => *stream % (span - count),
        1..3 => random.below(8) * 8,
        _ => random.below(span - count),
    };
    *stream = lba + count;
    Request {
        fua: op == Op::Write && random.below(8) == 0,
        ..Request::new(id, op, Lba(lba), count as u32)
    }
}

/// What a run came to.
#[derive(Debug, Default)]
pub struct Came {
    pub events: u64,
    pub cuts: u64,
    pub power: Report,
}

struct Run {
    device: Box<dyn Model>,
    keeps: bool,
    open: u64,
    now: Time,
    came: Came,
    done: Vec<Completion>,
}

impl Run {
    fn step(&mut self) -> bool {
        let Some(at) = self.device.next_event() else { return false };
        assert!(at >= self.now, "time goes backwards");
        self.now = at;
        self.came.events += 1;
        self.device.advance(at, &mut self.done);
        self.open -= self.done.len() as u64;
        for completion in self.done.drain(..) {
            assert_eq!(completion.latency(), completion.breakdown.total());
        }
        true
    }

    fn cut(&mut self, off: Time) -> Result<(), String> {
        self.device.cut(self.now, &mut self.done);
        self.open -= self.done.len() as u64;
        assert!(self.open == 0, "what was asked is answered, or lost");
        // A flush that has nothing to do is answered when it comes, and may not have been fetched.
        let is_over = |it: Completion| it.status == Status::PowerLost || it.request.op == Op::Flush;
        assert!(self.done.drain(..).all(is_over));
        self.now += off;
        self.device.power_on(self.now);
        self.came.cuts += 1;
        while !self.device.standing().is_ready {
            assert!(self.step(), "it is never ready");
        }
        self.device.audit()?;
        let report = self.device.report(self.now);
        let power = report.section("cache.power").expect("the power went");
        self.came.power = power.clone();
        if power.count("durable_lost") > 0
            || power.count("stale") > 0
            || self.keeps && power.count("acknowledged_lost") > 0
        {
            return Err(format!("{power:?}"));
        }
        assert_eq!(report.count("power.durable_lost"), 0, "a drive within");
        Ok(())
    }
}

/// Runs the load of a seed with cuts after these events.
fn go(seed: u64, requests: u64, cuts: &[u64], with_cuts: bool) -> Result<Came, String> {
    let cache = drawn(seed, with_cuts);
    let keeps = cache.fast.keeps_answers() && cache.backing.keeps_answers();
    let config = DeviceConfig::Cache(Box::new(cache));
    let device = config.build(seed).unwrap_or_else(|refusal| panic!("{seed}: {refusal}"));
    let random = &mut Xoshiro256::new(seed, 2);
    let (depth, off) = (pick(random, &[1, 4, 16]), 1 + random.below(1_000_000));
    let (mut stream, sectors) = (0, device.capacity_sectors());
    let mut run = Run { device, keeps, open: 0, now: 0, came: Came::default(), done: Vec::new() };
    let (mut asked, mut cuts) = (0, cuts.iter().peekable());
    loop {
        if cuts.next_if(|cut| **cut <= run.came.events).is_some() {
            run.cut(off)?;
        }
        if asked < requests && run.open < depth {
            let request = request(asked, sectors, &mut stream, random);
            asked += 1;
            run.open += 1;
            run.device.submit(run.now, request);
            // Some wait a little.
            if random.below(4) > 0 {
                continue;
            }
        }
        if run.came.events > MOST_EVENTS {
            return Err(format!("it goes on for ever, with {} requests open", run.open));
        }
        if !run.step() {
            if run.open > 0 {
                return Err(format!("{} requests hang", run.open));
            }
            if asked == requests {
                break;
            }
        }
    }
    run.device.audit()?;
    Ok(run.came)
}

/// Mixtures without cuts.
pub fn mixtures(cases: u64) {
    for seed in 0..cases {
        // With a ledger, so that the audit looks at the content.
        go(seed, 150, &[], true).unwrap_or_else(|problem| panic!("{seed}: {problem}"));
        go(seed, 40, &[], false).unwrap_or_else(|problem| panic!("{seed}: {problem}"));
    }
}

/// Cuts loads until so many cuts were made; how many, and what was lost first.
fn search(cuts: u64) -> (u64, Option<String>) {
    let mut made = 0;
    for seed in 0.. {
        let random = &mut Xoshiro256::new(seed, 3);
        let requests = 20 + random.below(60);
        let events = requests * 3;
        let mut at: Vec<u64> = (0..=random.below(5)).map(|_| 1 + random.below(events)).collect();
        at.sort_unstable();
        match go(seed, requests, &at, true) {
            Ok(came) => made += came.cuts,
            Err(problem) => {
                return (made + at.len() as u64, Some(format!("seed {seed}: {problem}")));
            }
        }
        if made >= cuts {
            break;
        }
    }
    (made, None)
}

#[test]
fn ten_thousand_cuts_lose_nothing_that_was_promised() {
    let (made, found) = search(depth(500, 10_000, 100_000));
    assert_eq!(found, None, "after {made} cuts");
}

/// A log in memory that needs no power, before an array of disks (as in the filers of Hitz, Lau and Malcolm): what it has
/// answered for is there after a cut, and is written to the disks then.
#[test]
fn what_memory_before_an_array_has_answered_for_is_written_to_it_after_a_cut() {
    let keys = json!({"mode": "write-back", "restart": "warm", "destage": {"pause": "100ms"}});
    let config = CacheConfig { backing: raid(), ..config(&[keys]) };
    let device = DeviceConfig::Cache(Box::new(config));
    device.check_power_cuts().unwrap();
    let mut device = device.build(1).unwrap();
    let (mut now, mut done) = (0, Vec::new());
    for id in 0..30 {
        device.submit(now, Request::new(id, Op::Write, Lba(id * 160), 8));
        while done.len() as u64 <= id {
            now = device.next_event().expect("it is answered");
            device.advance(now, &mut done);
        }
    }
    let dirty = |device: &dyn Model, now| device.report(now).count("cache.lines_dirty");
    let before = dirty(&*device, now);
    device.cut(now, &mut done);
    assert!(before > 20 && done.iter().all(|it| it.status.is_ok()), "{before} in memory alone");
    now += 1_000_000 * US;
    device.power_on(now);
    while let Some(at) = device.next_event() {
        now = at;
        device.advance(now, &mut done);
    }
    let report = device.report(now);
    let power = report.section("cache.power").unwrap();
    let lost = ["durable_lost", "acknowledged_lost", "stale"].map(|name| power.count(name));
    assert_eq!((lost, dirty(&*device, now)), ([0; 3], 0), "{power:?}");
    assert!(report.count("cache.destaged_bytes") >= before * 4096, "{report:?}");
}

/// What may be lost is, so that the search would see it.
#[test]
fn a_volatile_backing_device_loses_what_no_flush_had_reached() {
    let (mut lost, mut kept, mut cuts) = (0, 0, 0);
    for seed in 0..400 {
        let came = go(seed, 60, &[40, 90, 140], true).unwrap();
        lost += came.power.count("acknowledged_lost");
        kept += came.power.count("unacknowledged_kept");
        cuts += came.cuts;
    }
    assert!(lost > 20 && kept > 20 && cuts > 800, "{lost} lost, {kept} kept, {cuts} cuts");
}

/// A map in memory is lost, one that needs no power is not.
#[test]
fn a_warm_start_has_the_lines_that_a_cold_one_reads_again() {
    let hits = |recovery: &str| {
        let keys = json!({"mode": "write-through", "restart": recovery});
        let config = DeviceConfig::Cache(Box::new(config(&[keys])));
        let mut device = config.build(0).unwrap();
        super::run(&mut *device, (Op::Read, 60, 1), |id, _| id);
        let end = 60 * 6_000 * US;
        // What was read last has come into the cache.
        while let Some(at) = device.next_event() {
            device.advance(at, &mut Vec::new());
        }
        device.cut(end, &mut Vec::new());
        device.power_on(end);
        device.instruct(0, Instruction::ResetCounts).unwrap();
        let mut hits = 0;
        for id in 0..60 {
            device.submit(end + id * 10_000 * US, Request::new(id, Op::Read, Lba(id * 8), 8));
            while let Some(at) = device.next_event() {
                device.advance(at, &mut Vec::new());
            }
            hits = device.report(end).count("cache.read_hits");
        }
        hits
    };
    assert_eq!((hits("warm"), hits("cold")), (60, 0));
}

/// Each is found by a cut; how many it takes is printed.
#[cfg(feature = "planted")]
#[test]
#[ignore = "needs mistakes to plant: make prove"]
fn planted_mistakes_of_caches_in_front_are_found() {
    use devices::cache::planted::{Slip, plant};
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for slip in Slip::ALL {
        plant(Some(slip));
        // Of tiers there are two.
        let found = catch_unwind(AssertUnwindSafe(|| match super::tiers::search(100) {
            None => search(10_000),
            found => (800, found),
        }));
        match found {
            Ok((made, Some(problem))) => println!("{slip:?}: {made} cuts: {problem}"),
            Ok((_, None)) => missed.push(slip),
            Err(_) => println!("{slip:?}: an assertion"),
        }
    }
    plant(None);
    set_hook(hook);
    assert!(missed.is_empty(), "not found: {missed:?}");
}
