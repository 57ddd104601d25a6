//! The SLC cache: when it is full, how fast each state is, what a rest gives back, and what is counted.

use super::{DIES, UNITS, small};
use crate::common::{Closed, configured, run_closed, seeds};
use devices::ssd::{SlcReport, Ssd, SsdConfig, SsdReport};
use devices::{DeviceConfig, Model};
use engine::{Device, Lba, Op, Random, Request, Time, Xoshiro256};
use serde_json::{Value, json};

pub const PAGE: u64 = 4096;
/// Logical pages of a block, and those that it holds with one bit a cell.
pub const BLOCK: u64 = 4 * DIES * UNITS;
pub const HELD: u64 = BLOCK / 3;
/// Programming a group with three bits a cell, and a row with one, ns.
pub const NATIVE_NS: f64 = 1.2e6;
pub const SLC_NS: f64 = 0.3e6;

/// An empty drive of three-bit cells with a cache, and changes.
pub fn cached(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut keys = small();
    keys.extend([
        ("device.fill", json!("empty")),
        ("device.slc_cache.dynamic", json!(1.0)),
        ("device.slc_cache.program", json!("0.3ms")),
        ("device.slc_cache.read", json!("20us")),
        ("device.slc_cache.fold_after", json!("10ms")),
    ]);
    keys.extend(changes.iter().cloned());
    match configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

pub fn report(ssd: &Ssd, end: Time) -> (SsdReport, SlcReport) {
    let all = ssd.account(end);
    let slc = all.slc_cache.clone().expect("it has a cache");
    (all, slc)
}

/// Writes pages in sequence, from one on, 8 pages a request, and audits the drive; when the last was answered.
pub fn copy(ssd: &mut Ssd, from: u64, pages: u64, at: Time) -> Time {
    let mut load = Closed::new(32, pages / 8, move |id| {
        Request::new(id, Op::Write, Lba((from + id * 8) * 8), 64)
    });
    load.begin_at(at);
    run_closed(ssd, &mut load).0
}

/// Seconds of each state, by name.
pub fn seconds(slc: &SlcReport, state: &str) -> f64 {
    slc.states.iter().find(|it| it.0 == state).expect("a state").1 as f64 / 1e9
}

/// Bytes a second of the first phase of a state.
pub fn rate(slc: &SlcReport, state: &str) -> f64 {
    let phase = slc.phases.iter().find(|it| it.state == state && it.written > 0);
    let phase = phase.unwrap_or_else(|| panic!("no {state} in {:?}", slc.phases));
    phase.written as f64 / (phase.time as f64 / 1e9)
}

pub fn near(found: f64, expected: f64, percent: f64) {
    let off = 100.0 * (found / expected - 1.0).abs();
    assert!(off <= percent, "{found} and not {expected}: {off:.2} %");
}

#[test]
pub fn a_copy_falls_off_when_the_cache_is_full_to_a_block() {
    let mut fast = Vec::new();
    for limit in [10, 20] {
        let bytes = limit * HELD * PAGE;
        let config = cached(&[("device.slc_cache.limit", json!(format!("{bytes}B")))]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let end = copy(&mut ssd, 0, 20 * BLOCK / 8 * 8, 0);
        let (all, slc) = report(&ssd, end);
        assert_eq!(slc.cliff_at, Some(bytes));
        assert_eq!(slc.written, bytes);
        assert_eq!(slc.held, bytes);
        assert_eq!(slc.written + slc.direct, all.media.host);
        assert_eq!(all.media.fold, 0, "nothing is folded during a burst");
        near(rate(&slc, "direct"), (DIES * UNITS * PAGE) as f64 / NATIVE_NS * 1e9, 4.0);
        fast.push((bytes as f64, seconds(&slc, "fast")));
        let sum: f64 =
            ["fast", "direct", "forced", "idle"].iter().map(|it| seconds(&slc, it)).sum();
        near(sum, end as f64 / 1e9, 1e-6);
    }
    // What the buffer takes at once is the same for both.
    let [few, many] = [fast[0], fast[1]];
    let rate = (many.0 - few.0) / (many.1 - few.1);
    near(rate, (DIES * UNITS * PAGE) as f64 / 3.0 / SLC_NS * 1e9, 4.0);
}

/// A drive that uses all its free blocks holds as much of them as a cell has bits.
#[test]
pub fn a_cache_without_a_limit_holds_the_free_space_over_the_bits() {
    let mut ssd = Ssd::new(&cached(&[]), 1).unwrap();
    let end = copy(&mut ssd, 0, 24 * BLOCK, 0);
    let at = report(&ssd, end).1.cliff_at.unwrap() / PAGE;
    // Of 64 blocks those that cleaning keeps, two open ones and three more remain.
    assert!((56 * HELD..=62 * HELD).contains(&at), "{} blocks of one bit", at / HELD);
    // Half of the blocks, and half of those: less than that.
    let half = cached(&[("device.slc_cache.dynamic", json!(0.5))]);
    let mut ssd = Ssd::new(&half, 1).unwrap();
    let end = copy(&mut ssd, 0, 16 * BLOCK, 0);
    let half = report(&ssd, end).1.cliff_at.unwrap() / PAGE;
    assert!((31 * HELD..=32 * HELD).contains(&half), "{} blocks of one bit", half / HELD);
}

/// A cache that is gone at half of the drive is half as large at a quarter.
#[test]
pub fn a_cache_shrinks_as_the_drive_fills() {
    let at = |fill: f64| {
        let keys = [("device.slc_cache.gone_at", json!(0.5)), ("device.fill", json!(fill))];
        let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
        let pages = ssd.capacity_sectors() / 8;
        let from = (pages as f64 * fill) as u64 / 8 * 8 + 8;
        let end = copy(&mut ssd, from, (pages - from) / 2 / 8 * 8, 0);
        report(&ssd, end).1.written
    };
    let (empty, quarter, half) = (at(0.0), at(0.25), at(0.5));
    assert_eq!(half, 0);
    assert!(quarter > 0 && quarter < empty / 2 + empty / 5, "{quarter} of {empty}");
}

/// When no native block is left, each byte of the host waits for half a byte that is folded: the times add up.
#[test]
fn forced_folding_follows_its_law() {
    let fold = 40e6;
    let keys = [
        ("device.slc_cache.limit", json!(format!("{}B", 24 * HELD * PAGE))),
        ("device.slc_cache.fold_rate", json!("40MB/s")),
    ];
    let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
    let pages = ssd.capacity_sectors() / 8;
    let end = copy(&mut ssd, 0, pages / 8 * 8, 0);
    let (all, slc) = report(&ssd, end);
    assert!(slc.forced > 2 * BLOCK * PAGE, "{slc:?}");
    let native = (DIES * UNITS * PAGE) as f64 / NATIVE_NS * 1e9;
    let expected = 1.0 / (1.0 / native + 1.0 / (2.0 * fold));
    near(rate(&slc, "forced"), expected, 10.0);
    assert_eq!(slc.folded, all.media.fold);
    assert!(all.media.host <= all.counts.host_bytes_written, "a fold is not the host's");
}

/// A rest gives back as much as is folded meanwhile, and another copy is fast again.
#[test]
fn a_rest_gives_back_what_was_folded() {
    let rate = 100e6;
    let keys = [
        ("device.slc_cache.limit", json!(format!("{}B", 20 * HELD * PAGE))),
        ("device.slc_cache.fold_rate", json!("100MB/s")),
    ];
    let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
    let end = copy(&mut ssd, 0, 22 * HELD, 0);
    let rest = 100_000_000;
    let again = copy(&mut ssd, 24 * BLOCK, 8, end + rest);
    let (all, slc) = report(&ssd, again);
    let expected = rate * (rest - 10_000_000) as f64 / 1e9;
    let block = (HELD * PAGE) as f64;
    let found = (20 * HELD * PAGE - slc.held) as f64;
    assert!((found - expected).abs() <= 2.0 * block, "{found} bytes, and not {expected}");
    assert!(seconds(&slc, "idle") > 0.08);
    // With time enough all of it is, and everything that went to the cache was programmed twice.
    let end = copy(&mut ssd, 25 * BLOCK, 8, again + 2_000_000_000);
    let (all_after, slc) = report(&ssd, end);
    assert!(slc.held <= HELD * PAGE, "{slc:?}");
    assert!(all_after.media.fold + HELD * PAGE >= 20 * HELD * PAGE);
    assert!(all_after.media.fold > all.media.fold);
    assert_eq!(slc.phases.last().unwrap().state, "fast");
}

/// Everything that went to the cache and was folded was programmed twice, and only once for the host.
#[test]
pub fn all_that_is_folded_is_programmed_twice() {
    let keys = [("device.slc_cache.fold", json!("eager"))];
    let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
    let bytes = 12 * HELD * PAGE;
    let end = copy(&mut ssd, 0, 12 * HELD, 0);
    let end = copy(&mut ssd, 0, 8, end + 2_000_000_000);
    let (all, slc) = report(&ssd, end);
    assert_eq!(all.media.host, bytes + 8 * PAGE, "what the host wrote");
    assert_eq!(slc.written, bytes + 8 * PAGE);
    // The last block may still be open.
    assert!(all.media.fold <= bytes && all.media.fold + HELD * PAGE >= bytes, "{:?}", all.media);
}

/// What is superseded in the cache is not folded.
#[test]
fn superseded_data_of_the_cache_cost_nothing() {
    let mut ssd = Ssd::new(&cached(&[]), 1).unwrap();
    let mut end = 0;
    for _ in 0..4 {
        end = copy(&mut ssd, 0, 4 * HELD, end + 1000);
    }
    end = copy(&mut ssd, 0, 8, end + 2_000_000_000);
    let (all, slc) = report(&ssd, end);
    assert_eq!(slc.written, all.media.host);
    assert!(all.media.fold <= 5 * HELD * PAGE, "{} blocks", all.media.fold / HELD / PAGE);
}

/// Folding beside the host takes its share of the dies.
#[test]
fn folding_beside_the_host_slows_it_by_its_share() {
    let rate_of = |share: f64| {
        let keys = [
            ("device.slc_cache.limit", json!(format!("{}B", 20 * HELD * PAGE))),
            ("device.slc_cache.fold_share", json!(share)),
            // Erasures come on top of the share; of blocks as small as these they would be most of it.
            ("device.timing.erase", json!("50us")),
        ];
        let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
        let end = copy(&mut ssd, 0, 20 * HELD + 8 * BLOCK, 0);
        let (all, slc) = report(&ssd, end);
        (rate(&slc, "direct"), all.media.fold)
    };
    let (alone, none) = rate_of(0.0);
    let (beside, some) = rate_of(0.25);
    assert!(none == 0 && some > 0);
    near(beside / alone, 0.75, 8.0);
}

#[test]
fn reads_of_the_cache_are_faster() {
    let cell = |keys: &[(&'static str, Value)]| {
        let mut ssd = Ssd::new(&cached(keys), 1).unwrap();
        let end = copy(&mut ssd, 0, 2 * HELD, 0);
        let mut load = Closed::new(1, 100, |id| Request::new(id, Op::Read, Lba(id * 8), 8));
        load.begin_at(end + 1_000_000);
        let (_, done) = run_closed(&mut ssd, &mut load);
        done.iter().map(|it| it.breakdown[devices::latency::CELL]).sum::<Time>() / 100
    };
    assert_eq!(cell(&[]), 20_000);
    assert_eq!(cell(&[("device.slc_cache.limit", json!("1B"))]), 20_000, "a block at least");
    assert_eq!(cell(&[("device.slc_cache.read", json!("30us"))]), 30_000);
}

/// Other features beside the cache; none on some drives.
fn beside(seed: u64) -> Vec<(&'static str, Value)> {
    let random = &mut Xoshiro256::new(seed, 34);
    let mut pick = |of: &[Value]| of[random.below(of.len() as u64) as usize].clone();
    let summary = pick(&[json!(false), json!(true), json!(true)]);
    let recovery = match summary == json!(true) {
        true => pick(&[json!("spare"), json!("summary"), json!("checkpoint"), json!("checkpoint")]),
        false => json!("spare"),
    };
    let handles = pick(&[json!(0), json!(0), json!(1), json!(3)]);
    let told = handles == json!(3);
    let mut keys = vec![
        ("device.summary_page", summary),
        ("device.persistence.recovery", recovery),
        ("device.persistence.checkpoint", json!("20ms")),
        ("device.parity.of", pick(&[json!(0), json!(0), json!(4), json!(8)])),
        ("device.cleaning.pace", pick(&[json!("token"), json!("burst"), json!("adaptive")])),
        (
            "device.cleaning.levelling.rule",
            pick(&[json!("none"), json!("rate-limit"), json!("migrate")]),
        ),
        ("device.wear.rated_cycles", pick(&[json!(100_000), json!(60)])),
        ("device.fdp.handles", handles),
    ];
    if told {
        keys.extend([
            ("device.fdp.isolation", pick(&[json!("initial"), json!("persistent")])),
            ("device.fdp.place", json!("address(0-30%:1, 30-60%:2)")),
            ("device.buffer.size", json!("8MiB")),
            ("device.spare_factor", json!(0.6)),
            ("device.blocks_per_plane", json!(64)),
        ]);
    } else {
        let frontiers = pick(&[json!("auto"), json!("auto"), json!("single"), json!("hot-cold")]);
        keys.push(("device.cleaning.frontiers", frontiers));
        keys.extend([
            ("device.spare_factor", json!(0.5)),
            ("device.blocks_per_plane", json!(64)),
            ("device.buffer.size", json!("8MiB")),
        ]);
    }
    keys
}

/// Random drives with a cache under mixed loads pass the audit, with rests, and through power cuts.
#[test]
fn random_caches_pass_the_audit_and_cuts_lose_nothing() {
    seeds(0..40, |seed| {
        let random = &mut Xoshiro256::new(seed, 31);
        let mut pick = |of: &[Value]| of[random.below(of.len() as u64) as usize].clone();
        let keys = [
            ("device.fill", pick(&[json!("empty"), json!(0.5), json!("full")])),
            ("device.spare_factor", pick(&[json!(0.3), json!(0.5)])),
            ("device.blocks_per_plane", pick(&[json!(40), json!(64)])),
            ("device.slc_cache.dynamic", pick(&[json!(0.2), json!(1.0)])),
            ("device.slc_cache.static", pick(&[json!("0B"), json!("0B"), json!("600KiB")])),
            (
                "device.slc_cache.when_full",
                pick(&[json!("direct"), json!("direct"), json!("fold")]),
            ),
            ("device.slc_cache.reuse", pick(&[json!("any"), json!("empty")])),
            ("device.slc_cache.fold", pick(&[json!("idle"), json!("lazy"), json!("eager")])),
            ("device.slc_cache.fold_after", pick(&[json!("1us"), json!("3ms")])),
            ("device.slc_cache.fold_rate", pick(&[json!("unlimited"), json!("200MB/s")])),
            ("device.slc_cache.fold_share", pick(&[json!(0.0), json!(0.0), json!(0.4)])),
            ("device.buffer.power_loss_protected", pick(&[json!(true), json!(false)])),
            ("device.persistence.recovery", json!("spare")),
        ];
        let config = cached(&[&keys[..], &beside(seed)].concat());
        let mut ssd = Ssd::new(&config, seed).unwrap();
        let pages = ssd.capacity_sectors() / 8;
        let mut now = 0;
        let mut random = Xoshiro256::new(seed, 32);
        for round in 0..4u64 {
            let drawn = random.below(u64::MAX);
            let mut own = Xoshiro256::new(drawn, 33);
            let mut load = Closed::new(16, 1200, move |id| {
                let lba = Lba(own.below(pages - 8) * 8);
                match own.below(20) {
                    0 => Request::new(id, Op::Read, lba, 8),
                    1 => Request::new(id, Op::Trim, lba, 64),
                    2 if id % 50 == 0 => Request::new(id, Op::Flush, Lba(0), 0),
                    _ => Request::new(id, Op::Write, lba, 8 * (1 + own.below(8) as u32)),
                }
            });
            load.begin_at(now + 20_000_000);
            now = run_closed(&mut ssd, &mut load).0;
            if round % 2 == 1 {
                let mut done = Vec::new();
                now += 100 + random.below(5_000_000);
                ssd.cut(now, &mut done);
                now += 1_000_000;
                ssd.power_on(now);
                while !ssd.standing().is_ready {
                    now = ssd.next_event().expect("it recovers");
                    ssd.advance(now, &mut done);
                }
                ssd.audit().unwrap();
            }
        }
        let (all, slc) = report(&ssd, now);
        assert_eq!(all.power.as_ref().unwrap().durable_lost, 0, "seed {seed}");
        let sum: u64 = all.media.rows().iter().map(|it| it.1).sum();
        assert_eq!(sum, all.counts.bytes_programmed, "seed {seed}: {:?}", all.media);
        assert_eq!(slc.folded, all.media.fold);
    });
}

#[test]
fn a_cache_refuses_what_it_cannot_do() {
    for (key, value, words) in [
        ("device.slc_cache.program", json!("1ms"), "at most 800us"),
        ("device.slc_cache.dynamic", json!(1.5), "share"),
        ("device.cleaning.reclaim", json!("block"), "superblock"),
        ("device.cell.program", json!("per-page"), "one-shot"),
    ] {
        let refused = Ssd::new(&cached(&[(key, value)]), 0).map(drop);
        let message = refused.expect_err(key).to_string();
        assert!(message.contains(words) && message.contains("device."), "{key}: {message}");
    }
    let mut config = cached(&[]);
    config.slc_cache.program = None;
    let message = Ssd::new(&config, 0).map(drop).expect_err("it needs a time").to_string();
    assert!(message.contains("device.slc_cache.program"), "{message}");
}

/// Blocks that are set aside may leave the drive low, from the start and when it is taken up again.
#[test]
fn a_drive_knows_that_it_is_low_whatever_is_set_aside() {
    let keys = json!({
        "channels": 2, "packages_per_channel": 1, "dies_per_package": 2, "spare_size": "0B", "scale": 2,
        "summary_page": false, "cell": {"preset": "tlc-by-page-type", "planes": "independent"},
        "pages_per_block": 6, "logical_page": "16KiB", "buffer": {"size": "3MiB", "copies": "768MiB", "linger": "1ms"},
        "blocks_per_plane": 64, "spare_factor": 0.2,
        "slc_cache": {
            "program": "20us", "read": "1us", "fold_after": "10ms", "static": "64KiB", "when_full": "fold",
            "reuse": "empty",
        },
    });
    let DeviceConfig::Ssd(config) = DeviceConfig::resolve("ssd", [keys]).unwrap() else {
        unreachable!("it was asked for")
    };
    let mut ssd = Ssd::new(&config, 1).unwrap();
    let (pages, random) = (ssd.facts().pages, &mut Xoshiro256::new(1, 0));
    let (mut rests, mut now) = (0, 0);
    for round in 0..8 {
        let mut done = Vec::new();
        for number in 0..1_501 {
            while let Some(at) = ssd.next_event()
                && number - done.len() as u64 >= 32
            {
                ssd.advance(at, &mut done);
                now = at;
            }
            let page = random.below(pages);
            ssd.submit(now, Request::new(number, Op::Write, Lba(page * 32), 32));
        }
        while let Some(at) = ssd.next_event() {
            ssd.advance(at, &mut done);
            now = at;
        }
        ssd.check().unwrap_or_else(|problem| panic!("round {round}: {problem}"));
        if ssd.condition().rests {
            let mut other = Ssd::new(&config, 1).unwrap();
            other.restore(ssd.save().unwrap()).unwrap();
            other.check().unwrap_or_else(|problem| panic!("round {round}, restored: {problem}"));
            (ssd, rests) = (other, rests + 1);
        }
    }
    assert!(rests > 0, "it never rested");
}
