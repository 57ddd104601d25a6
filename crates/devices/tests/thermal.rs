//! Drives that become hot: what is written then is what the cooling carries, whatever the drive does about it.

use crate::buffered::small;
use crate::common::{Closed, configured, run_closed};
use devices::ssd::{Ssd, SsdConfig, ThermalReport};
use devices::{DeviceConfig, Model};
use engine::{Completion, Lba, Op, Request, Time};
use serde_json::{Value, json};

fn config(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut keys = small();
    keys.push(("device.energy.program", json!("50mA")));
    keys.extend(changes.iter().cloned());
    match configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

fn hot(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut all = vec![
        ("device.thermal.limit", json!("50C")),
        ("device.thermal.resume", json!("45C")),
        ("device.thermal.resistance", json!(50)),
        ("device.thermal.time_constant", json!("20ms")),
    ];
    all.extend(changes.iter().cloned());
    config(&all)
}

/// A load of writes in sequence: when it ended, the energy that it took, the completions, and the heat.
fn write(config: &SsdConfig) -> (Time, f64, Vec<Completion>, Option<ThermalReport>) {
    let mut ssd = Ssd::new(config, 7).unwrap();
    let pages = 30_000;
    let make = |n: u64| Request::new(n, Op::Write, Lba(n % pages * 8), 8);
    let mut load = Closed::new(32, 120_000, make);
    let (end, done) = run_closed(&mut ssd, &mut load);
    ssd.check().unwrap();
    let energy = ssd.energy_report(end).unwrap();
    let report = ssd.account(end);
    (end, energy.flash + energy.bus, done, report.thermal)
}

/// (limit - ambient) / R and (resume - ambient) / R are 0.5 and 0.4 W: between them lies the mean power of a drive that
/// throttles, however it does that.
#[test]
fn a_hot_drive_takes_the_power_that_its_cooling_carries() {
    let (free, joules, ..) = write(&config(&[]));
    let watts = joules / (free as f64 / 1e9);
    assert!(watts > 0.65, "it takes more when it may: {watts}");
    let mut ends = Vec::new();
    for action in ["stop", "slow"] {
        let (end, joules, done, heat) = write(&hot(&[("device.thermal.action", json!(action))]));
        let heat = heat.unwrap();
        let mean = joules / (end as f64 / 1e9);
        // It begins cold: what it takes to become warm comes on top, 35 K / R for a time constant.
        let start = 0.5 * 0.02 / (end as f64 / 1e9);
        assert!((0.37..0.55 + start).contains(&mean), "{action}: {mean} W");
        assert!(heat.highest < 60.0 && heat.times >= 1, "{action}: {heat:?}");
        assert!(heat.throttled_ns > end / 4 && heat.throttled_ns < end, "{action}");
        assert!(heat.series.len() > 10);
        assert!(done.iter().all(|it| it.status.is_ok()));
        assert!(end > free * 5 / 4, "{action}: {end} {free}");
        ends.push(end as f64);
    }
    assert!((ends[0] / ends[1] - 1.0).abs() < 0.2, "{ends:?}");
}

/// A limit that is not reached changes nothing.
#[test]
fn a_cool_drive_is_as_one_without_heat() {
    let (_, _, off, none) = write(&config(&[]));
    let (_, _, on, heat) = write(&hot(&[("device.thermal.limit", json!("125C"))]));
    assert!(none.is_none() && heat.as_ref().unwrap().times == 0);
    assert!(heat.unwrap().highest > 50.0);
    assert_eq!(off.len(), on.len());
    assert!(off.iter().zip(&on).all(|(one, other)| one == other));
}

/// While writes wait, reads go on.
#[test]
fn reads_go_on_while_writes_wait() {
    let mut ssd = Ssd::new(
        &hot(&[
            ("device.thermal.time_constant", json!("200ms")),
            ("device.thermal.resume", json!("35C")),
        ]),
        7,
    )
    .unwrap();
    let make = |n: u64| {
        let op = if n.is_multiple_of(4) { Op::Read } else { Op::Write };
        Request::new(n, op, Lba(n % 30_000 * 8), 8)
    };
    let mut load = Closed::new(64, 400_000, make);
    let (_, done) = run_closed(&mut ssd, &mut load);
    let slowest = |op: Op| {
        done.iter().filter(|it| it.request.op == op).map(Completion::latency).max().unwrap()
    };
    assert!(slowest(Op::Write) > 10 * slowest(Op::Read));
}

#[test]
fn heat_that_cannot_be_is_refused() {
    let refuse = |changes: &[(&'static str, Value)], part: &str| {
        let problem = Ssd::new(&hot(changes), 0).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    };
    refuse(&[("device.energy.program", json!("0mA"))], "set keys of device.energy");
    refuse(&[("device.thermal.resume", json!("50C"))], "not below the limit");
    refuse(&[("device.thermal.resistance", json!(0.0))], "not above 0");
    refuse(&[("device.thermal.time_constant", json!("1us"))], "from 1ms to 1h");
    refuse(&[("device.energy.controller", json!("1W"))], "would never cool to 45C");
    let slow = ("device.thermal.action", json!("slow"));
    refuse(&[slow, ("device.thermal.floor", json!(0.0))], "above 0, and at most 1");
}
