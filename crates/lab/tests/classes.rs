//! Thread classes: each has its own statistics, and keys and errors refer to the right class.

use crate::common::{audited, experiment, outcome};
use serde_json::Value;

const DRIVE: &str = "
[device]
kind = 'ssd'
channels = 4
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 64
[workload]
preset = 'ssdiq-load'
requests = 20000
";

fn results(sets: &[&str]) -> Value {
    outcome(&experiment(&[DRIVE], sets).unwrap(), &audited()).unwrap()
}

fn refusal(text: &str, sets: &[&str]) -> String {
    match experiment(&[text], sets) {
        Err(message) => message,
        Ok(experiment) => outcome(&experiment, &audited()).unwrap_err().to_string(),
    }
}

fn figure(results: &Value, path: &str) -> f64 {
    results.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: no number"))
}

#[test]
fn the_classes_add_up_to_the_host() {
    let results = results(&["classes.measured.rate=1000", "workload.rate=5700"]);
    let names: Vec<&String> = results["classes"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["measured", "others"]);
    for kind in ["read", "write", "all"] {
        for key in ["requests", "bytes", "iops"] {
            let of = |section: &str| figure(&results, &format!("{section}/{kind}/{key}"));
            let sum = of("/classes/measured") + of("/classes/others");
            let host = of("/host");
            assert!((sum / host - 1.0).abs() < 1e-12, "{kind} {key}: {sum}, not {host}");
        }
    }
    // 1,000 of 1,700 requests per second, half of them reads; of the other class one percent are
    // reads.
    let share =
        |class: &str, kind: &str| figure(&results, &format!("/classes/{class}/{kind}/requests"));
    let measured = share("measured", "all") / 20_000.0;
    assert!((0.57..0.61).contains(&measured), "{measured}");
    let reads = share("others", "read") / share("others", "all");
    assert!((0.005..0.02).contains(&reads), "{reads}");
    assert!(figure(&results, "/classes/measured/read/percentiles_us/99.99") > 0.0);
}

#[test]
fn results_without_classes_do_not_mention_them() {
    assert_eq!(results(&["workload.kind=closed", "workload.requests=10"]).get("classes"), None);
}

/// The load exceeds the drive's write throughput, and the drive accepts 64 requests at a time.
#[test]
fn with_queues_in_turn_the_measured_thread_does_not_wait_behind_the_others() {
    let of = |more: &[&str]| {
        let load = ["workload.rate=400000", "classes.measured.rate=300"];
        let slots = ["device.host_link.queue_depth=64"];
        results(&[&load[..], &slots, more].concat())
    };
    let fifo = of(&["device.host_link.order=fifo"]);
    let in_turn = of(&["device.host_link.order=round-robin", "device.host_link.queues=7"]);
    let wait = |it: &Value| figure(it, "/classes/measured/write/breakdown_us/host_queue");
    let (before, after) = (wait(&fifo), wait(&in_turn));
    assert!(after < before / 3.0, "{before} -> {after}");
}

#[test]
fn keys_reach_a_class_and_layers_refine_it() {
    let sets = ["classes.measured.rate=2000", "workload.classes.third.depth=7"];
    let experiment = experiment(&[DRIVE, "workload.classes.others.threads = 2"], &sets).unwrap();
    let classes = &experiment.to_json()["workload"]["classes"];
    let get = |path: &str| classes.pointer(path).unwrap_or_else(|| panic!("{path}")).clone();
    assert_eq!(get("/measured/rate"), 2000.0);
    assert_eq!(get("/measured/arrivals"), "fixed");
    assert_eq!((get("/others/threads"), get("/others/depth")), (2.into(), 64.into()));
    assert_eq!((get("/third/depth"), get("/third/rate")), (7.into(), "unlimited".into()));
    // The resolved experiment can be parsed again.
    let text = experiment.to_toml();
    assert_eq!(crate::common::experiment::<&str>(&[&text], &[]).unwrap().to_toml(), text);
}

#[test]
fn mistakes_in_a_class_name_its_keys() {
    let keys = "the keys of workload.classes.a are threads, rate, rate_less, arrivals, depth, ";
    let file = |text: &str| refusal(&format!("[workload]\nkind = 'threads'\n{text}"), &[]);
    let message = file("[workload.classes.a]\ndept = 4\n");
    assert!(
        message.starts_with("e.toml:4: unknown key workload.classes.a.dept (did you mean depth?)")
    );
    let message = file("[workload.classes.a]\nzzzz = 4\n");
    assert!(message.contains(keys), "{message}");
    for (text, expected) in [
        (
            "classes.a = 4\n",
            "e.toml:3: workload.classes.a = 4: invalid type: integer `4`, expected",
        ),
        (
            "classes.a.rate = 'x'\n",
            "e.toml:3: workload.classes.a.rate = 'x': invalid value: string",
        ),
        ("classes.a.depth = 0\n", "e.toml:3: workload.classes.a.depth = 0: it is 0, but must be"),
        ("clases.a.depth = 1\n", "unknown key workload.clases (did you mean classes?)"),
        ("", "workload.classes: threads need at least one class"),
    ] {
        let message = file(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
    let message = refusal(DRIVE, &["workload.rate=5000"]);
    assert!(
        message.contains("workload.classes.others.rate_less: 5000, less 5000, is not above 0"),
        "{message}"
    );
}
