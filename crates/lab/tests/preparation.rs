//! Pages written by a preparation: pages with data, within the reach of the load.

use crate::common::{audited, experiment, outcome};
use serde_json::Value;

const DRIVE: &str = "
[device]
kind = 'ssd'
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 128
cleaning.time = 'blocking'
[workload]
kind = 'closed'
read_share = 0.0
requests = 6000
[run]
precondition = 'random:3'
";

fn run(sets: &[&str]) -> Value {
    outcome(&experiment(&[DRIVE], sets).unwrap(), &audited()).unwrap()
}

fn amplification(sets: &[&str]) -> f64 {
    run(sets)["flash"]["write_amplification"].as_f64().unwrap()
}

#[test]
fn preparation_keeps_to_what_the_drive_holds_and_to_the_footprint() {
    let full = amplification(&[]);
    assert!(full > 3.0, "{full}");
    let half = ["device.fill=0.5", "workload.footprint=0.5"];
    for way in ["random:3", "sequential", "random:0.5"] {
        let with = |more: &[&str]| {
            let way = format!("run.precondition={way}");
            amplification(&[more, &[way.as_str()]].concat())
        };
        // A half-written drive has much spare space.
        let filled = with(&half);
        assert!(filled < 1.3, "{way}: {filled}");
        // On an empty drive, only the pages within the load's reach are written.
        let empty = with(&["device.fill=empty", "workload.footprint=0.5"]);
        assert!(empty < 1.3, "{way}: {empty}");
    }
    // If the rest holds data at rest, garbage collection keeps these in separate blocks.
    let beside = amplification(&["workload.footprint=0.5"]);
    assert!(beside < 0.75 * full, "{beside} of {full}");
    // Only the footprint counts, regardless of the option that states it.
    let text = "[j]\\nrw=randwrite\\nbs=4k\\nsize=50%\\nnumber_ios=6000\\nnorandommap";
    let fio = format!("[workload]\nkind = 'fio'\njob = \"{text}\"\n");
    let set = ["device.fill=empty"];
    let results = outcome(&experiment(&[DRIVE, &fio], &set).unwrap(), &audited()).unwrap();
    let of_job = results["flash"]["write_amplification"].as_f64().unwrap();
    assert!(of_job < 1.3, "{of_job}");
}

/// The written half is distributed over all members, and several threads give equal results.
#[test]
fn what_the_members_of_an_array_do_not_hold_stays_so() {
    let array =
        DRIVE.replace("kind = 'ssd'", "kind = 'array'\nmembers = 2\n[device.member]\nkind = 'ssd'");
    for set in ["device.member.fill=0.5", "device.member.fill=empty"] {
        let sets = [set, "workload.footprint=0.5"];
        let experiment = experiment(&[&array], &sets).unwrap();
        let of = |threads| {
            let settings = lab::RunSettings { threads, ..audited() };
            let results = outcome(&experiment, &settings).unwrap();
            results["flash"]["write_amplification"].as_f64().unwrap()
        };
        let (one, two) = (of(1), of(2));
        assert!(one < 1.3 && (one - two).abs() < 1e-12, "{set}: {one} and {two}");
    }
}
