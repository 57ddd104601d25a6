//! The effects of cleaning together and in turn on an array, compared with those published.
//!
//! Harmonia (Kim et al., MSST 2011) found response times 69 % and their variability 71 % lower under bursts of
//! writes when the members of an array clean together.

use crate::common::{self, seeds};
use devices::array::{ArrayConfig, CleaningTogether, Redundancy};
use devices::ssd::SsdConfig;
use devices::{DeviceConfig, DeviceKind, Model};
use engine::{Completion, Lba, Op, Random, Request, Time, Xoshiro256};
use options::Size;
use serde_json::json;

/// Eight drives, a page of each in a stripe.
fn array(redundancy: Redundancy, cleaning_together: CleaningTogether) -> ArrayConfig {
    let member = SsdConfig { blocks_per_plane: 256, ..common::small_blocking() };
    ArrayConfig {
        members: 8,
        stripe: Size::from_bytes(4096),
        redundancy,
        cleaning_together,
        member: DeviceConfig::Ssd(Box::new(member)),
        ..ArrayConfig::default()
    }
}

/// A prepared array under bursts of requests of 32 KiB, a fifth of them reads: twenty, 5 ms apart, and nothing
/// for a second.
fn bursts(config: &ArrayConfig, seed: u64) -> Found {
    under(config, seed, (1500, 20, [5_000_000, 1_000_000_000]))
}

/// Mean and standard deviation of all requests, and of reads, us; the array, and when it was done.
type Found = ([f64; 2], [f64; 2], Box<dyn Model>, Time);

/// The same with bursts of another length, and other times between requests and between bursts, ns.
fn under(config: &ArrayConfig, seed: u64, (requests, burst, gaps): (u64, u64, [Time; 2])) -> Found {
    let mut device = config.build(seed).unwrap();
    let mut random = Xoshiro256::new(seed, 0);
    let pages = device.facts().pages;
    let fill: Vec<u64> = (0..pages).chain((0..2 * pages).map(|_| random.below(pages))).collect();
    device.overwrite_untimed(&fill, 0);
    let most = device.capacity_sectors() / 64;
    let (mut done, mut now): (Vec<Completion>, Time) = (Vec::new(), 0);
    for id in 0..requests {
        now += gaps[usize::from(id % burst == 0)];
        while let Some(at) = device.next_event().filter(|at| *at <= now) {
            device.advance(at, &mut done);
        }
        let op = if random.below(5) == 0 { Op::Read } else { Op::Write };
        device.submit(now, Request::new(id, op, Lba(random.below(most) * 64), 64));
    }
    while let Some(at) = device.next_event() {
        now = at;
        device.advance(at, &mut done);
    }
    device.audit().unwrap();
    assert_eq!(done.len() as u64, requests);
    let of = |only: Option<Op>| {
        let all: Vec<f64> = done
            .iter()
            .filter(|it| only.is_none_or(|op| it.request.op == op))
            .map(|it| it.latency() as f64 / 1e3)
            .collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let square = all.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / all.len() as f64;
        [mean, square.sqrt()]
    };
    (of(None), of(Some(Op::Read)), device, now)
}

/// At least half of what Harmonia found.
#[test]
fn members_that_clean_together_answer_bursts_sooner_and_more_evenly() {
    seeds(0..3, |seed| {
        for redundancy in [Redundancy::None, Redundancy::Parity] {
            let free = bursts(&array(redundancy, CleaningTogether::Free), seed).0;
            let together = bursts(&array(redundancy, CleaningTogether::Synchronized), seed).0;
            println!("{redundancy}: {free:?} -> {together:?}");
            assert!(together[0] < 0.655 * free[0], "mean {free:?} {together:?}");
            assert!(together[1] < 0.645 * free[1], "deviation {free:?} {together:?}");
        }
    });
}

/// Reads go around the member whose turn it is.
#[test]
fn members_that_clean_by_turns_are_read_around() {
    for redundancy in [Redundancy::Parity, Redundancy::DoubleParity, Redundancy::Mirror] {
        let free = bursts(&array(redundancy, CleaningTogether::Free), 1).1;
        let (_, reads, device, end) = bursts(&array(redundancy, CleaningTogether::Staggered), 1);
        println!("{redundancy}: reads {free:?} -> {reads:?}");
        assert!(reads[0] < 0.5 * free[0], "{redundancy}: {free:?} {reads:?}");
        let report = device.report(end);
        assert_eq!(report.count("array.degraded_reads"), 0);
        assert_eq!(report.count("array.reads_around") > 0, redundancy != Redundancy::Mirror);
    }
}

#[test]
fn members_whose_cleaning_cannot_be_coordinated_are_refused_with_their_keys() {
    let law = DeviceConfig::Law(Box::default());
    let refused = |config: ArrayConfig| config.build(0).err().unwrap();
    let turns = refused(array(Redundancy::None, CleaningTogether::Staggered));
    assert_eq!(turns.keys, ["device.cleaning_together", "device.redundancy"]);
    let together = array(Redundancy::Parity, CleaningTogether::Synchronized);
    let laws = refused(ArrayConfig { member: law, ..together.clone() });
    assert_eq!(laws.keys[0], "device.cleaning_together");
}

/// Six members with write buffers, a parity among them.
fn buffered(cleaning_together: CleaningTogether, pace: &str) -> ArrayConfig {
    let mut keys = crate::buffered::small();
    keys.push(("device.cleaning.pace", json!(pace)));
    keys.push(("device.cleaning.min_free", json!(0.06)));
    let DeviceConfig::Ssd(member) = common::configured(&keys) else { unreachable!("a drive") };
    ArrayConfig {
        members: 6,
        stripe: Size::from_bytes(32 << 10),
        member: DeviceConfig::Ssd(member),
        ..array(Redundancy::Parity, cleaning_together)
    }
}

/// A hundred requests, 50 us apart, and nothing for 100 ms.
const LONG_BURSTS: (u64, u64, [Time; 2]) = (10_000, 100, [50_000, 100_000_000]);

#[test]
fn members_with_write_buffers_clean_together() {
    for (pace, most) in [("token", 0.85), ("burst", 0.65), ("adaptive", 0.75)] {
        let mean = |rule| under(&buffered(rule, pace), 1, LONG_BURSTS).0[0];
        let [free, together] = [CleaningTogether::Free, CleaningTogether::Synchronized].map(mean);
        println!("{pace}: {free} -> {together}");
        assert!(together < most * free, "{pace}: {free} {together}");
    }
}

#[test]
fn members_with_write_buffers_clean_by_turns_and_are_read_around() {
    for load in [LONG_BURSTS, (10_000, 1, [300_000; 2])] {
        let of = |rule| under(&buffered(rule, "token"), 1, load);
        let free = of(CleaningTogether::Free).1[0];
        let (_, [reads, _], device, end) = of(CleaningTogether::Staggered);
        let around = device.report(end).count("array.reads_around");
        println!("{load:?}: {free} -> {reads}, {around} around");
        assert!(reads < 0.8 * free && around > 100, "{free} {reads} {around}");
    }
}
