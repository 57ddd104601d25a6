//! Closed-form checks of sampling, without a device.

#![expect(clippy::float_cmp, reason = "counts are whole numbers")]

use super::super::tests::{assert_refused, build};
use super::Gnn;
use crate::chains::tests::{Asked, against};
use engine::{Op, Time};

/// 100,000 nodes; lists of 240 bytes and features of 512 bytes.
const SMALL: &str =
    "nodes = 100000\nbatches = 8\nbatch = 64\nfan_out = '4, 3'\nworkers = 2\nload = false\n";

fn run(text: &str) -> (Vec<Asked>, impl Fn(&str) -> f64 + use<>) {
    let own: toml::Table = toml::from_str(text).unwrap();
    let kept = SMALL.lines().filter(|line| !own.contains_key(line.split(' ').next().unwrap()));
    let text = format!("{}\n{text}", kept.collect::<Vec<_>>().join("\n"));
    let mut workload = build("gnn", &text).unwrap();
    let asked = against(&mut *workload, usize::MAX, |_| 1000);
    let notices = workload.notices();
    (asked, move |name: &str| notices.iter().find(|(it, _)| *it == name).unwrap().1 as f64)
}

#[test]
fn a_batch_meets_at_most_the_nodes_of_its_tree() {
    // 1024 x (1 + 15 + 150 + 750) = 1024 x 916.
    assert_eq!(Gnn::default().layers().unwrap(), (vec![15, 10, 5], 1024 * 916));
    let (_, count) = run("");
    let most = 64.0 * (1.0 + 4.0 + 12.0);
    let found = count("gnn_nodes") / count("gnn_batches");
    assert!(found <= most && found > 0.3 * most, "{found} of {most}");
    assert_eq!(count("gnn_batches"), 8.0);
}

#[test]
fn distinct_nodes_follow_the_law_of_degrees() {
    // One layer with many neighbours: for n draws by Zipf's law with exponent 1/1.1, the expected
    // number of distinct ranks is the sum of 1 - (1 - p)^n.
    let (nodes, batch, fan_out) = (20_000u64, 256u64, 40u64);
    let text = format!("nodes = {nodes}\nbatch = {batch}\nfan_out = '{fan_out}'\nbatches = 20");
    let (_, count) = run(&text);
    let weights: Vec<f64> = (1..=nodes).map(|rank| libm::pow(rank as f64, -1.0 / 1.1)).collect();
    let sum: f64 = weights.iter().sum();
    let seed = |draws: f64, p: f64| libm::pow(1.0 - p, draws);
    let seeds = nodes as f64 * (1.0 - seed(batch as f64, 1.0 / nodes as f64));
    let drawn = seeds * fan_out as f64;
    let missed = seed(batch as f64, 1.0 / nodes as f64);
    let expected: f64 = weights.iter().map(|weight| 1.0 - missed * seed(drawn, weight / sum)).sum();
    let found = count("gnn_nodes") / count("gnn_batches");
    assert!((found / expected - 1.0).abs() < 0.01, "{found}, {expected}");
}

#[test]
fn a_feature_of_512_bytes_is_read_with_seven_others() {
    // Few of many nodes: rarely two in one block.
    let (_, count) =
        run("batch = 8\nfan_out = '2'\nbatches = 50\ndegree_exponent = 10\nnodes = 400000");
    let amplification = count("gnn_feature_bytes_read") / count("gnn_feature_bytes_needed");
    assert!((7.9..=8.0).contains(&amplification), "{amplification}");
    let (_, count) = run("feature = '4KiB'\nnodes = 100000");
    assert_eq!(count("gnn_feature_bytes_read"), count("gnn_feature_bytes_needed"));
    // Popular nodes are in memory.
    let (_, all) = run("workers = 1");
    let (_, less) = run("workers = 1\ncached = 0.05");
    assert!(less("gnn_feature_bytes_needed") < 0.7 * all("gnn_feature_bytes_needed"));
    assert_eq!(less("gnn_nodes"), all("gnn_nodes"));
}

#[test]
fn a_layer_is_read_when_the_one_before_is_answered() {
    let (asked, _) = run("workers = 1\nbatches = 3");
    // Reads of two layers of lists and of the features, three times, with at most 64 outstanding
    // and no other requests.
    let list_blocks = (100_000u64 * 240).div_ceil(4096);
    let mut phases: Vec<(bool, Time, Time, usize)> = Vec::new();
    for it in &asked {
        let is_list = it.blocks().start < list_blocks;
        match phases.last_mut() {
            Some(last)
                if it.at < last.2 || (last.0 == is_list && it.at == last.2 && last.3 % 64 == 0) =>
            {
                last.2 = last.2.max(it.end);
                last.3 += 1;
            }
            _ => phases.push((is_list, it.at, it.end, 1)),
        }
        assert_eq!(phases.last().unwrap().0, is_list, "lists and features are not read together");
    }
    let kinds: Vec<bool> = phases.iter().map(|it| it.0).collect();
    assert!(kinds.iter().filter(|is_list| !**is_list).count() >= 3, "{kinds:?}");
    // Within a step no block is read twice.
    for (_, begin, end, _) in phases.into_iter().filter(|it| !it.0) {
        let mut blocks: Vec<u64> = asked
            .iter()
            .filter(|it| it.at >= begin && it.end <= end && it.blocks().start >= list_blocks)
            .flat_map(Asked::blocks)
            .collect();
        let count = blocks.len();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), count);
    }
}

#[test]
fn every_option_changes_the_requests() {
    let base = run("").0;
    for text in [
        "requests = 50",
        "batches = 4",
        "workers = 1",
        "outstanding = 8",
        "nodes = 90000",
        "degree = 60",
        "degree_exponent = 3.0",
        "feature = '1KiB'",
        "batch = 32",
        "fan_out = '4, 2'",
        "cached = 0.1",
        "load = true",
    ] {
        assert_ne!(run(text).0, base, "{text}");
    }
    let load = run("load = true").0;
    let written: u64 =
        load.iter().filter(|it| it.request.op == Op::Write).map(|it| it.request.bytes()).sum();
    assert_eq!(written, ((100_000u64 * 240).div_ceil(4096) + 12_500) * 4096);
    assert_ne!(run("load = true\nrequest_size = '64KiB'").0, load);
}

#[test]
fn impossible_settings_are_refused() {
    for (text, key, problem) in [
        ("requests = 0", "workload.requests", "at least 1"),
        ("workers = 0", "workload.workers", "0 is not possible"),
        ("fan_out = '15, x'", "workload.fan_out", "\"x\" is no number of neighbours"),
        ("fan_out = '1000, 1000'", "workload.fan_out", "would meet"),
        ("degree_exponent = 1", "workload.degree_exponent", "1 is no exponent above 1"),
        ("nodes = 1000000000", "workload.nodes", "1000000000 nodes with lists of 240 bytes"),
    ] {
        assert_refused("gnn", text, key, problem);
    }
}
