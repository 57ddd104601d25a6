//! Application presets: do they fit their drives, and match their closed forms there?

use crate::common::{audited, experiment, outcome};
use lab::{Experiment, preset_layer, set_layers};
use serde_json::Value;

/// The results of a preset on a drive of 14 GiB.
fn on_a_drive(name: &str, sets: &[&str]) -> Value {
    let sets: Vec<String> = sets.iter().map(|it| (*it).to_owned()).collect();
    let layers = [
        preset_layer("device", "tlc-enterprise").unwrap(),
        preset_layer("workload", name).unwrap(),
        set_layers(&sets).unwrap(),
    ];
    let found = outcome(&Experiment::from_layers(&layers).unwrap(), &audited());
    found.unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

fn noticed(results: &Value, name: &str) -> f64 {
    let notice = &results["workload"]["notices"][name];
    notice.as_f64().unwrap_or_else(|| panic!("{name}: {}", results["workload"]))
}

fn near(found: f64, expected: f64, share: f64, what: &str) {
    assert!((found / expected - 1.0).abs() <= share, "{what}: {found}, expected {expected}");
}

#[test]
fn a_cache_writes_its_shares_and_a_bucket_for_each_object() {
    let results = on_a_drive("cache", &["workload.requests=400000"]);
    let [small, large, inserted] =
        ["cache_small_bytes_written", "cache_large_bytes_written", "cache_small_bytes_inserted"]
            .map(|name| noticed(&results, name));
    // A region of large objects is always written whole: 16 MiB.
    near(small / (small + large), 0.82, 0.02, "share of small objects");
    near(small / inserted, 4096.0 / 944.0, 0.01, "write amplification of the application");
}

#[test]
fn a_tree_writes_between_its_bounds() {
    let results = on_a_drive("lsm", &["workload.requests=600000"]);
    let of = |name: &str| noticed(&results, name);
    let written = of("lsm_logged_bytes") + of("lsm_flushed_bytes") + of("lsm_merged_bytes");
    let amplification = written / of("lsm_user_bytes");
    // 8.4 GiB over 16 MiB: three levels of a fan-out of 10.
    let (levels, fan_out) = (3.0, 10.0);
    let bounds = levels * (fan_out / 2.0 + 1.0) + 2.0..levels * (fan_out + 1.0) + 4.0;
    assert!(amplification < bounds.end, "{amplification} {bounds:?}");
    assert!(amplification > 0.4 * bounds.start, "of a short run: {amplification} {bounds:?}");
    assert!(of("lsm_out_of_space") < 0.5);
}

#[test]
fn checkpoints_are_all_written_and_the_oldest_are_gone() {
    let results = on_a_drive("checkpoint", &[]);
    near(noticed(&results, "checkpoints"), 10.0, 1e-9, "checkpoints");
    let written = results["host"]["write"]["bytes"].as_f64().unwrap();
    near(written, 10.0 * 8.0 * f64::from(200 << 20), 1e-9, "bytes of ten checkpoints");
    // Two checkpoints are kept; each trim frees whole reclaim units, so no pages are moved.
    near(results["flash"]["write_amplification"].as_f64().unwrap(), 1.0, 0.001, "amplification");
    let trimmed = results["host"]["trim"]["bytes"].as_f64().unwrap();
    near(trimmed, 8.0 * 8.0 * f64::from(200 << 20), 1e-9, "bytes of the eight that are gone");
}

#[test]
fn prompts_hit_as_often_as_is_said_and_old_ones_are_evicted() {
    let results = on_a_drive("kv-offload", &["workload.requests=600000"]);
    let [hits, puts] = ["kv_hits", "kv_puts"].map(|name| noticed(&results, name));
    near(hits / (hits + puts), 0.92, 0.02, "hits");
    assert!(noticed(&results, "kv_evicted") > 0.0);
    assert!(results["host"]["trim"]["requests"].as_u64().unwrap() > 0);
}

#[test]
fn searches_read_a_beam_for_each_hop() {
    let results = on_a_drive("ann", &["workload.searches=1000"]);
    near(noticed(&results, "ann_searches"), 1000.0, 1e-9, "searches");
    let reads = results["host"]["read"]["requests"].as_f64().unwrap();
    near(reads, 4.0 * noticed(&results, "ann_hops"), 0.02, "reads");
}

#[test]
fn batches_read_pages_for_features() {
    let results = on_a_drive("gnn", &["workload.batches=1"]);
    let [needed, read] =
        ["gnn_feature_bytes_needed", "gnn_feature_bytes_read"].map(|name| noticed(&results, name));
    // A page holds eight features: at most eight times the needed bytes are read.
    assert!(read / needed > 4.0 && read / needed <= 8.0, "{}", read / needed);
    // At most the nodes of three layers, each once.
    let most = 1024.0 * (1.0 + 15.0 + 150.0 + 750.0);
    assert!(noticed(&results, "gnn_nodes") <= most);
}

#[test]
fn training_computes_nearly_all_the_time() {
    let results = on_a_drive("training", &[]);
    near(noticed(&results, "training_samples"), 20_000.0, 1e-9, "samples");
    let utilisation = noticed(&results, "training_compute_ns") / noticed(&results, "training_ns");
    assert!(utilisation > 0.9, "what MLPerf asks: {utilisation}");
}

#[test]
fn what_does_not_fit_is_refused_with_sizes() {
    let small =
        ["device.preset=tlc-enterprise", "workload.preset=checkpoint", "workload.footprint=0.2"];
    let found = experiment(&[], &small).map(|it| outcome(&it, &audited()));
    let refused = match found {
        Err(message) => message,
        Ok(Err(error)) => format!("{error:?}"),
        Ok(Ok(_)) => panic!("three checkpoints of 1.6 GiB each fit 2.8 GiB"),
    };
    assert!(refused.contains("workload.") && refused.contains("MiB"), "{refused}");
}
