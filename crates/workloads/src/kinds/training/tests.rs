//! Closed-form checks of training, without a device.

#![expect(clippy::float_cmp, reason = "counts are whole numbers")]

use super::super::tests::{assert_refused, build};
use crate::chains::tests::{Asked, against};
use engine::{Op, Request, Time};

/// 400 samples of 1 MiB in batches of 10, with 10 ms of computing per batch.
const SMALL: &str =
    "samples = 400\nsample = '1MiB'\nbatch = 10\ncompute = '10ms'\nload = false\nreaders = 4\n";

/// Requests and notices of a config whose keys replace those of the base, with constant latency.
fn run(text: &str, takes: Time) -> (Vec<Asked>, impl Fn(&str) -> f64 + use<>) {
    let own: toml::Table = toml::from_str(text).unwrap();
    let kept = SMALL.lines().filter(|line| !own.contains_key(line.split(' ').next().unwrap()));
    let text = format!("{}\n{text}", kept.collect::<Vec<_>>().join("\n"));
    let mut workload = build("training", &text).unwrap();
    let asked = against(&mut *workload, usize::MAX, |_: &Request| takes);
    let notices = workload.notices();
    (asked, move |name: &str| notices.iter().find(|(it, _)| *it == name).unwrap().1 as f64)
}

fn utilisation(count: &impl Fn(&str) -> f64) -> f64 {
    count("training_compute_ns") / count("training_ns")
}

#[test]
fn utilisation_is_the_time_that_computes_or_the_share_of_the_needed_bandwidth() {
    // Four readers with one outstanding request each: a batch of 10 samples takes 10/4 service
    // times, against 10 ms of computing.
    for (takes, expected) in
        [(1_000_000, 1.0), (3_900_000, 1.0), (8_000_000, 0.5), (16_000_000, 0.25)]
    {
        let (_, count) = run("epochs = 5", takes);
        let found = utilisation(&count);
        // The first batches are read before the first computation: 4 of 200 batches at most.
        assert!((found - expected).abs() < 0.03 * expected, "{takes}: {found}, {expected}");
        assert_eq!(count("training_batches"), 200.0);
    }
    // With independent requests, accelerators are independent.
    let (_, count) = run("epochs = 5\naccelerators = 4", 1_000_000);
    assert!(utilisation(&count) > 0.97);
}

#[test]
fn each_sample_is_read_once_an_epoch_in_another_order() {
    for (text, accelerators) in [("", 1), ("accelerators = 3", 3)] {
        let (asked, count) = run(&format!("epochs = 3\n{text}"), 500_000);
        assert_eq!(count("training_samples"), 1200.0);
        let of =
            |number: u64| asked.iter().filter(move |it| it.request.lba.0 / 2048 == number).count();
        assert!((0..400).all(|number| of(number) == 3), "{accelerators}");
        assert!(asked.iter().all(|it| it.request.sectors == 2048 && it.request.op == Op::Read));
    }
    let firsts = |text: &str| -> Vec<u64> {
        run(text, 500_000).0.iter().map(|it| it.request.lba.0 / 2048).collect()
    };
    let shuffled = firsts("epochs = 2");
    assert_ne!(shuffled[..400], shuffled[400..]);
    let mut sorted = shuffled[..400].to_vec();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..400).collect::<Vec<_>>());
    assert_eq!(firsts("shuffle = false"), (0..400).collect::<Vec<_>>());
}

#[test]
fn readers_are_ahead_by_the_prefetch_and_no_more() {
    for prefetch in [1u64, 2, 5] {
        let (asked, _) = run(&format!("prefetch = {prefetch}"), 100_000);
        // Batch k is taken 10 ms x k after the first, and only then may batch k + prefetch be
        // requested.
        let first = asked[..10].iter().map(|it| it.end).max().unwrap();
        for (at, it) in asked.iter().enumerate() {
            let batch = at as u64 / 10;
            if let Some(before) = batch.checked_sub(prefetch) {
                assert!(
                    it.at >= first + before * 10_000_000,
                    "{prefetch}: sample {at} at {}",
                    it.at
                );
            }
        }
        // The request is issued as early as possible: the readers have long finished the preceding
        // samples.
        let last = asked.len() - 10;
        let taken = first + (last as u64 / 10 - prefetch) * 10_000_000;
        assert_eq!(asked[last].at, taken);
    }
}

#[test]
fn records_of_shards_follow_one_another_and_files_begin_with_a_block() {
    let sizes = |text: &str| -> Vec<(u64, u64)> {
        let text = format!(
            "shuffle = false\nsamples = 100\nbatch = 10\nsample = '10000B'\nload = true\n{text}"
        );
        let mut workload = build("training", &text).unwrap();
        let asked = against(&mut *workload, usize::MAX, |_| 1000);
        let written = asked.iter().filter(|it| it.request.op == Op::Write).map(Asked::blocks);
        let end = written.map(|it| it.end).max().unwrap();
        let reads = asked.iter().filter(|it| it.request.op == Op::Read).map(Asked::blocks);
        let reads: Vec<_> = reads.map(|it| (it.start, it.end)).collect();
        assert!(reads.iter().all(|(_, last)| *last <= end), "reads follow writes");
        reads
    };
    assert_eq!(sizes("model = 'cosmoflow'")[..3], [(0, 3), (3, 6), (6, 9)]);
    assert_eq!(sizes("model = 'resnet50'")[..3], [(0, 3), (2, 5), (4, 8)]);
}

#[test]
fn models_need_the_bandwidth_of_their_samples() {
    // accelerators x batch x sample / time: 3.18 GB/s, 205 MB/s and 808 MB/s for one H100.
    for (model, expected) in [("unet3d", 3.177e9), ("resnet50", 2.0475e8), ("cosmoflow", 8.081e8)] {
        let options = super::Training {
            model: toml::Value::String(model.to_owned()).try_into().unwrap(),
            ..Default::default()
        };
        let known = options.known();
        let needed =
            known.sample as f64 * f64::from(known.batch) / (known.compute_ns as f64 * 1e-9);
        assert!((needed / expected - 1.0).abs() < 1e-3, "{model}: {needed}");
    }
}

#[test]
fn every_option_changes_the_requests() {
    let base = run("", 500_000).0;
    for text in [
        "requests = 50",
        "model = 'resnet50'\nsample = '10000B'",
        "accelerators = 2",
        "sample = '512KiB'",
        "batch = 20",
        "compute = '20ms'",
        "readers = 2",
        "prefetch = 3",
        "samples = 300",
        "epochs = 2",
        "shuffle = false",
        "request_size = '256KiB'",
        "outstanding = 2\nrequest_size = '128KiB'",
        "load = true",
    ] {
        assert_ne!(run(text, 500_000).0, base, "{text}");
    }
}

#[test]
fn impossible_settings_are_refused() {
    for (text, key, problem) in [
        ("requests = 0", "workload.requests", "at least 1"),
        ("batch = 0", "workload.batch", "0 is not possible"),
        ("prefetch = 0", "workload.prefetch", "0 is not possible"),
        ("sample = '0B'", "workload.sample", "at least 1"),
        ("", "workload.samples", "1000 samples of 146600628B do not fit into 1GiB"),
        (
            "sample = '4KiB'\nsamples = 6",
            "workload.samples",
            "6 samples are less than a batch of 7",
        ),
        (
            "compute = \"1000000000s\"\nsamples = 64\nsample = '4KiB'\nbatch = 1",
            "workload.compute",
            "longer than a century",
        ),
    ] {
        assert_refused("training", text, key, problem);
    }
}
