//! Sampled runs: flash counts are of the whole load, latencies are like the whole run's, and a run that cannot be
//! sampled says why.

use crate::common::{audited, experiment, outcome};
use serde_json::Value;

/// A current drive in steady state.
const DRIVE: &str = "
[device]
preset = 'tlc-enterprise'
[workload]
preset = 'random-write'
requests = 1_500_000
[run]
precondition = 'steady'
";

fn run(sets: &[&str]) -> Value {
    outcome(&experiment(&[DRIVE], sets).unwrap(), &audited()).unwrap()
}

fn number(results: &Value, path: &str) -> f64 {
    results.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: no number"))
}

/// Half of the requests are served in time as well; the drive itself is in no way different from an untimed one.
#[test]
fn the_flash_does_what_it_does_untimed_and_latencies_are_those_of_the_whole_run() {
    let load = ["workload.read_share=0.3"];
    let sampled = run(&[load[0], "run.sample=50%"]);
    let untimed = run(&[load[0], "run.timed=false"]);
    // Reads pass writes that gather, and so find a few in the flash instead of the buffer.
    let but_reads = |results: &Value| {
        let mut flash = results["flash"].clone();
        for reads in ["host_pages_read", "page_reads"] {
            let all = flash[reads].take().as_f64().unwrap();
            let untimed = number(&untimed, &format!("/flash/{reads}"));
            assert!((all / untimed - 1.0).abs() < 1e-4, "{reads}: {all} of {untimed}");
        }
        (flash, results["wear"]["blocks_by_erases"].clone())
    };
    assert_eq!(but_reads(&sampled), but_reads(&untimed));
    let whole = run(&load);
    assert_eq!(sampled["host"]["all"]["requests"], whole["host"]["all"]["requests"]);
    for (op, percentile) in [("read", "50"), ("read", "99"), ("write", "50"), ("write", "99")] {
        let path = format!("/host/{op}/percentiles_us/{percentile}");
        let (ours, all) = (number(&sampled, &path), number(&whole, &path));
        assert!((ours / all - 1.0).abs() < 0.05, "{path}: {ours} of {all}");
    }
    let rate = number(&sampled, "/host/all/iops") / number(&whole, "/host/all/iops");
    assert!((rate - 1.0).abs() < 0.03, "{rate}");
    let sample = &sampled["sample"];
    assert_eq!(sample["is_complete"], true);
    let [slices, share] = ["/slices", "/timed_share"].map(|path| number(sample, path));
    assert!((18.0..24.0).contains(&slices) && (0.45..0.55).contains(&share), "{sample}");
    let measured = number(sample, "/requests");
    assert!(slices * 11_000.0 < measured && measured <= slices * 12_000.0, "{sample}");
    for op in ["read", "write"] {
        for figure in ["mean_us", "p50_us", "p99_us", "p99.9_us"] {
            let of = |at: usize| sample[op][figure][at].as_f64().unwrap();
            assert!(of(1) <= of(0) && of(0) <= of(2) && of(1) < of(2), "{op} {figure}: {sample}");
        }
        let mean = number(&sampled, &format!("/host/{op}/mean_us"));
        assert!((sample[op]["mean_us"][0].as_f64().unwrap() / mean - 1.0).abs() < 1e-9);
    }
}

/// A load of which any stretch is like any other ends with its twentieth slice, if that settles it.
#[test]
fn a_stationary_load_ends_when_its_intervals_are_narrow_and_repeats_bit_by_bit() {
    let mut both = [(); 2].map(|()| run(&["run.sample=auto", "workload.requests=20_000_000"]));
    let asked = number(&both[0], "/workload/asked");
    assert!((1_400_000.0..2_500_000.0).contains(&asked), "{asked}");
    assert_eq!(both[0]["sample"]["is_complete"], false);
    both.iter_mut().for_each(|it| it["elapsed"] = Value::Null);
    assert_eq!(both[0], both[1]);
}

#[test]
fn what_cannot_be_sampled_runs_whole_and_says_why_or_is_refused() {
    for (sets, because) in [
        (&["workload.requests=20000"][..], "too short for 20 slices"),
        (&["run.until=steady", "run.steady.rounds=5", "run.steady.round=1ms"], "settled"),
        (&["workload.requests=1000", "run.warm_up=1ms"], "warm-up"),
        (&["device.media.model=tlc-3d", "workload.requests=1000"], "age"),
    ] {
        let found = run(&[sets, &["run.sample=auto", "run.precondition=none"]].concat());
        let said = found["sample"]["whole"].as_str().unwrap();
        assert!(said.contains(because), "{said}");
    }
    for (set, part) in [
        ("run.timed=false", "run.timed"),
        ("run.power_cut=at 1ms", "power cuts"),
        ("run.timeline=0ms..1ms", "window"),
        ("run.sample=0%", "at most 50%"),
        ("run.sample=5", "\"auto\""),
        ("run.sample=atuo", "\"auto\""),
    ] {
        let refusal = experiment(&[DRIVE], &["run.sample=5%", set]).unwrap_err();
        assert!(refusal.contains(part), "{set}: {refusal}");
    }
}
