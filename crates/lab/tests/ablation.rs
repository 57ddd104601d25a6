//! Attribution of results to mechanisms: current drives under the SSD-iq load, with one mechanism
//! removed or changed at a time. Only directions are tested; `ssdlab paper` measures the accuracy
//! of the figures.

use crate::common::{experiment, outcome};
use lab::RunSettings;
use serde_json::Value;
use std::fmt::Write;
use std::sync::OnceLock;

/// Request rates, half of them writes of the measured thread: light, half of the drive's write
/// throughput, and beyond saturation.
const LIGHT: u32 = 10_000;
const HALF: u32 = 40_000;
const SATURATED: u32 = 120_000;

const NO_SUSPEND: [&str; 2] = ["suspend.program=none", "suspend.erase=none"];

/// Latencies of the measured thread, us.
#[derive(Debug, Clone, Copy)]
struct Seen {
    read_mean: f64,
    read_p99: f64,
    write_p50: f64,
    write_mean: f64,
    write_p999: f64,
}

/// A drive at a rate, with some of its keys changed.
fn seen(device: &str, rate: u32, keys: &[&str]) -> Seen {
    let mut text = format!("device.preset = '{device}'\nworkload.preset = 'ssdiq-load'\n");
    writeln!(text, "workload.rate = {rate}\nworkload.requests = 100000").unwrap();
    text += "run.precondition = 'random:1'\n";
    let sets: Vec<String> = keys.iter().map(|key| format!("device.{key}")).collect();
    let experiment = experiment(&[&text], &sets).unwrap();
    let results = outcome(&experiment, &RunSettings::default()).unwrap();
    let figure = |path: &str| {
        let value = results.pointer(&format!("/classes/measured/{path}"));
        value.and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: no number"))
    };
    Seen {
        read_mean: figure("read/mean_us"),
        read_p99: figure("read/percentiles_us/99"),
        write_p50: figure("write/percentiles_us/50"),
        write_mean: figure("write/mean_us"),
        write_p999: figure("write/percentiles_us/99.9"),
    }
}

/// Results of the PM9A3; the unchanged drive, the usual baseline, is simulated once per rate.
fn pm9a3(rate: u32, keys: &[&str]) -> Seen {
    static WHOLE: [OnceLock<Seen>; 3] = [const { OnceLock::new() }; 3];
    let of = |keys: &[&str]| seen("samsung-pm9a3", rate, keys);
    let known = [LIGHT, HALF, SATURATED].iter().position(|it| *it == rate);
    match known {
        Some(place) if keys.is_empty() => *WHOLE[place].get_or_init(|| of(&[])),
        _ => of(keys),
    }
}

/// Asserts equality within a relative tolerance.
#[track_caller]
fn same(a: f64, b: f64, share: f64) {
    assert!((a / b - 1.0).abs() <= share, "{a} against {b}");
}

#[test]
fn without_suspending_reads_wait_for_whole_programs() {
    for rate in [LIGHT, HALF] {
        let (whole, without) = (pm9a3(rate, &[]), pm9a3(rate, &NO_SUSPEND));
        assert!(without.read_mean > 1.5 * whole.read_mean, "{whole:?} {without:?}");
        assert!(whole.read_p99 < 500.0 && without.read_p99 > 1000.0, "{whole:?} {without:?}");
        // The result with one suspension per operation lies between the two.
        let once = pm9a3(rate, &["suspend.limit=1"]);
        let between = |a: f64, b: f64, c: f64| assert!(a * 1.2 < b && b * 1.03 < c, "{a} {b} {c}");
        between(whole.read_mean, once.read_mean, without.read_mean);
        between(whole.read_p99, once.read_p99, without.read_p99);
    }
}

/// With waiting writes the drive suspends nothing, as if it could not suspend; otherwise reads
/// would be fast at the expense of writes.
#[test]
fn under_backlog_it_is_the_rule_that_decides_about_suspending() {
    let whole = pm9a3(SATURATED, &[]);
    let without = pm9a3(SATURATED, &NO_SUSPEND);
    same(without.read_mean, whole.read_mean, 0.15);
    same(without.write_mean, whole.write_mean, 0.15);
    let always = ["suspend.unless_backlog=unlimited"];
    let suspends = pm9a3(SATURATED, &always);
    assert!(suspends.read_mean < 0.5 * whole.read_mean, "{whole:?} {suspends:?}");
    assert!(suspends.write_mean > 1.02 * whole.write_mean, "{whole:?} {suspends:?}");
    let (whole, suspends) = (pm9a3(HALF, &[]), pm9a3(HALF, &always));
    same(suspends.read_mean, whole.read_mean, 0.02);
    same(suspends.read_p99, whole.read_p99, 0.02);
}

/// Both the order and the batching of GC reads delay host reads, because operations in progress are
/// not interrupted.
#[test]
fn cleaning_reads_make_the_tail_of_reads() {
    let overtakes = ["cleaning.read_order=host-first", "cleaning.read_batch=1"];
    for rate in [LIGHT, HALF] {
        let (whole, first) = (pm9a3(rate, &[]), pm9a3(rate, &overtakes));
        assert!(first.read_p99 < 0.8 * whole.read_p99, "{whole:?} {first:?}");
        assert!(first.read_mean < whole.read_mean, "{whole:?} {first:?}");
    }
    let (whole, first) = (pm9a3(HALF, &[]), pm9a3(HALF, &overtakes[..1]));
    assert!(first.read_p99 < whole.read_p99, "{whole:?} {first:?}");
}

/// A meter without a limit on concurrent commands has no effect.
#[test]
fn the_meter_is_for_saturation() {
    let none = ["cleaning.meter_depth=100000"];
    for rate in [LIGHT, HALF] {
        let (whole, without) = (pm9a3(rate, &[]), pm9a3(rate, &none));
        same(without.read_p99, whole.read_p99, 0.02);
        same(without.write_p999, whole.write_p999, 0.02);
    }
    let (whole, without) = (pm9a3(SATURATED, &[]), pm9a3(SATURATED, &none));
    assert!(without.read_mean > 1.3 * whole.read_mean, "{whole:?} {without:?}");
    assert!(without.write_mean > 1.1 * whole.write_mean, "{whole:?} {without:?}");
}

/// With buffer space for all host writes during a burst, bursts are visible only at saturation.
#[test]
fn bursts_hide_behind_room_for_the_host() {
    let burst = ["cleaning.pace=burst", "cleaning.quantum=100", "cleaning.host_room=1536"];
    let (whole, bursts) = (pm9a3(HALF, &[]), pm9a3(HALF, &burst));
    same(bursts.write_p50, whole.write_p50, 0.01);
    same(bursts.write_p999, bursts.write_p50, 0.1);
    assert!(bursts.read_p99 < 1.3 * whole.read_p99, "{whole:?} {bursts:?}");
    let (whole, bursts) = (pm9a3(SATURATED, &[]), pm9a3(SATURATED, &burst));
    assert!(bursts.read_mean > 2.0 * whole.read_mean, "{whole:?} {bursts:?}");
    assert!(bursts.write_mean > 1.3 * whole.write_mean, "{whole:?} {bursts:?}");
}

#[test]
fn writes_wait_as_long_as_a_burst_is() {
    let of = |keys: &[&str]| seen("micron-7450-pro", 30_000, keys);
    let [shorter, whole, longer] =
        ["40", "80", "160"].map(|groups| of(&[&format!("cleaning.quantum={groups}")]).write_p999);
    assert!(shorter < 0.5 * whole && 1.8 * whole < longer, "{shorter} {whole} {longer}");
    // Without bursts, or with space for their writes, no write waits.
    for key in ["cleaning.pace=token", "cleaning.host_room=1536"] {
        let smooth = of(&[key]);
        assert!(smooth.write_p999 < 50.0 && whole > 1000.0, "{key}: {smooth:?}, not {whole}");
    }
}

/// Writes that wait for a burst fill the command slots, so reads wait as well.
#[test]
fn reads_wait_for_bursts_where_slots_run_out() {
    let of = |keys: &[&str]| seen("micron-7450-max", 60_000, keys);
    let (whole, slots) = (of(&[]), of(&["host_link.queue_depth=2000"]));
    assert!(slots.read_p99 < 0.2 * whole.read_p99, "{whole:?} {slots:?}");
    same(slots.write_p50, whole.write_p50, 0.1);
}
