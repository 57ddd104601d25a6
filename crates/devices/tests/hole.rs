//! The write hole of arrays with redundancy: what its remedies cost, and what they find after a power cut of SSDs.
//!
//! That nothing is wrong after a cut at any event is held inside the crate (`array/raid/hole_property.rs`).

use crate::common::{self, Closed, run_closed, run_cut};
use crate::raid::{array, build};
use devices::Report;
use devices::array::{ArrayConfig, CleaningTogether, HoleRule, Redundancy};
use devices::ssd::SsdConfig;
use devices::ssd::config::{Buffer, Persistence, Recovery};
use devices::{DeviceConfig, DeviceKind as _};
use engine::{Completion, Lba, Op, Random, Request, Status, Time, Xoshiro256};
use options::Size;

fn of(redundancy: Redundancy, hole: HoleRule) -> ArrayConfig {
    ArrayConfig { hole, ..array(redundancy, 4) }
}

/// Requests to members, and the latency, of a write of 4 KiB.
fn one_write(config: &ArrayConfig) -> (u64, Time) {
    let mut device = build(config);
    let mut load = Closed::new(1, 1, |id| Request::new(id, Op::Write, Lba(1000), 8));
    let (end, completions) = run_closed(&mut *device, &mut load);
    let report = device.report(end);
    assert_eq!(report.section("array.hole"), None, "no power cut, no word of it");
    (crate::raid::requests_of(&report).iter().sum(), completions[0].latency())
}

#[test]
fn a_remedy_costs_the_writes_of_its_log() {
    let (requests, latency) = one_write(&of(Redundancy::Parity, HoleRule::Resync));
    assert_eq!(requests, 4);
    // Of linear members: a header and 4 KiB are a write of 8 KiB.
    let log = 770_000 + 8 * 5_382;
    let partial = one_write(&of(Redundancy::Parity, HoleRule::PartialParity));
    assert_eq!(partial, (requests + 1, latency + log));
    let journal = one_write(&of(Redundancy::Parity, HoleRule::Journal));
    assert_eq!(journal, (requests + 2, latency + log));
    let copies = one_write(&of(Redundancy::Mirror, HoleRule::Resync));
    let journal = one_write(&of(Redundancy::Mirror, HoleRule::Journal));
    assert_eq!(journal, (copies.0 + 2, copies.1 + log));
}

/// Four SSDs of two packages that recover.
fn ssds(redundancy: Redundancy, hole: HoleRule) -> ArrayConfig {
    let persistence = Persistence { recovery: Recovery::Summary, ..Persistence::default() };
    let member = SsdConfig { pages_per_block: 16, persistence, ..common::small() };
    let stripe = Size::from_bytes(16 << 10);
    let member = DeviceConfig::Ssd(Box::new(member));
    let mut config = ArrayConfig { stripe, member, ..of(redundancy, hole) };
    config.rebuild.unit = Size::from_bytes(64 << 10);
    config
}

const CUT: Time = 20_000_000;

/// What small random writes came to whose power went once.
fn cut(config: &ArrayConfig, requests: u64) -> (Report, Vec<Completion>, u64) {
    let mut device = build(config);
    let most = device.capacity_sectors() / 8;
    let mut random = Xoshiro256::new(5, 0);
    let mut load =
        Closed::new(16, requests, |id| Request::new(id, Op::Write, Lba(random.below(most) * 8), 8));
    let (end, completions) = run_cut(&mut *device, &mut load, CUT);
    let power = device.report(end).section("power").unwrap().clone();
    assert_eq!((power.count("cuts"), power.count("durable_lost")), (1, 0));
    assert_eq!(completions.len() as u64, requests);
    // The recovery continues when the load is over.
    let (mut now, mut done) = (end, Vec::new());
    while let Some(at) = device.next_event() {
        now = at;
        device.advance(at, &mut done);
    }
    device.audit().unwrap();
    let stripes = device.capacity_sectors() / (3 * 32);
    (device.report(now).section("array.hole").unwrap().clone(), completions, stripes)
}

fn seconds(hole: &Report) -> f64 {
    hole.number("resync_seconds").unwrap()
}

#[test]
fn an_array_resyncs_its_stripes_after_a_power_cut() {
    for redundancy in [Redundancy::Parity, Redundancy::DoubleParity, Redundancy::Mirror] {
        let (report, completions, _) = cut(&ssds(redundancy, HoleRule::Resync), 2000);
        let lost = completions.iter().filter(|it| it.status == Status::PowerLost).count();
        assert_eq!(lost, 16, "{redundancy}: all that was outstanding");
        assert!(report.count("stripes_dirty") > 0, "{redundancy} {report:?}");
        assert!(
            seconds(&report) > 0.0 && report.count("chunks_wrong") == 0,
            "{redundancy} {report:?}"
        );
    }
    let parity = ssds(Redundancy::Parity, HoleRule::Resync);
    let (all, _, stripes) = cut(&parity, 2000);
    assert_eq!(all.count("stripes_resynced"), stripes, "every one");
    let mut slow = parity.clone();
    slow.rebuild.rate = "1MB/s".parse().unwrap();
    let (slow, ..) = cut(&slow, 2000);
    assert!(seconds(&slow) > 2.0 * seconds(&all), "{slow:?} {all:?}");
    // What a log has is all that is gone through.
    for hole in [HoleRule::PartialParity, HoleRule::Journal] {
        let (few, ..) = cut(&ssds(Redundancy::Parity, hole), 2000);
        assert!(
            few.count("stripes_dirty") > 0
                && few.count("stripes_resynced") == few.count("stripes_dirty"),
            "{few:?}"
        );
        assert!(seconds(&few) < seconds(&all) / 10.0, "{hole} {few:?} {all:?}");
    }
}

/// A member that is lost before the recovery ends: the control finds wrong chunks.
#[test]
fn the_write_hole_is_found_and_logs_close_it() {
    let wrong = |hole: HoleRule| {
        let mut all = 0;
        for member in 0..4 {
            // The power is away for 1 ms, and members are not ready at once.
            let failed = format!("{member} at 21001us").parse().unwrap();
            let config = ArrayConfig { failed, ..ssds(Redundancy::Parity, hole) };
            all += cut(&config, 500).0.count("chunks_wrong");
        }
        all
    };
    assert!(wrong(HoleRule::Resync) > 0);
    assert_eq!(wrong(HoleRule::PartialParity), 0);
    assert_eq!(wrong(HoleRule::Journal), 0);
}

#[test]
fn arrays_that_do_not_support_power_cuts_are_refused_with_their_keys() {
    type Change = fn(&mut ArrayConfig);
    let good = ssds(Redundancy::Parity, HoleRule::Resync);
    good.check_power_cuts().unwrap();
    let rows: [(Change, &str); 5] = [
        (|it| it.redundancy = Redundancy::None, "device.redundancy"),
        (|it| it.cleaning_together = CleaningTogether::Staggered, "device.cleaning_together"),
        (|it| it.member = DeviceConfig::Law(Box::default()), "run.power_cut"),
        (
            |it| {
                let DeviceConfig::Ssd(member) = &mut it.member else { panic!("SSDs") };
                member.persistence.recovery = Recovery::None;
            },
            "device.member.persistence.recovery",
        ),
        (
            |it| {
                let DeviceConfig::Ssd(member) = &mut it.member else { panic!("SSDs") };
                let size = Size::from_bytes(1 << 20);
                member.buffer = Buffer { size, power_loss_protected: false, ..Buffer::default() };
            },
            "device.member.buffer.power_loss_protected",
        ),
    ];
    for (change, key) in rows {
        let mut config = good.clone();
        change(&mut config);
        let refusal = config.check_power_cuts().unwrap_err();
        assert_eq!(refusal.keys[0], key, "{refusal}");
    }
}
