//! Application workloads: drawn from a separate generator, so that experiments of existing seeds do
//! not change.

use super::Config;
use super::dice::Dice;

/// The kinds of workload that are drawn only here.
pub const KINDS: [&str; 8] =
    ["cache", "checkpoint", "lsm", "kv_offload", "ann", "gnn", "training", "paging"];

/// A value of a key that only these kinds have.
#[expect(clippy::match_same_arms, reason = "a row for each kind of workload")]
pub fn value(path: &str, dice: &mut Dice) -> Option<String> {
    let value = match path.strip_prefix("workload.")? {
        "small" | "small_share" | "overwrites" => dice.share(),
        "bucket" | "large_item" | "append" | "buffer" => dice.text(&["4KiB", "8KiB", "16KiB"]),
        "item" | "value" => dice.text(&["1B", "944B", "4KiB"]),
        "region" | "file" | "memtable" => dice.text(&["4KiB", "16KiB", "32KiB", "64KiB"]),
        "l1" => dice.text(&["16KiB", "64KiB", "128KiB"]),
        "ranks" => dice.whole(&[1, 2, 3, 8]),
        "rank_size" => dice.text(&["1B", "8KiB", "20KiB", "64KiB"]),
        "checkpoints" | "keep" => dice.whole(&[1, 2, 5]),
        "period" | "mtbf" => dice.text(&["0ns", "1ns", "1ms", "20ms"]),
        "restarts" => dice.whole(&[0, 1, 3]),
        "data" => dice.number(&[0.05, 0.2, 0.4]),
        "l0_files" | "merges" => dice.whole(&[1, 2, 4]),
        "fan_out" => dice.number(&[2.0, 4.0, 10.0]),
        "compression" => dice.number(&[0.3, 1.0]),
        "workers" | "prompt" | "accelerators" | "readers" | "prefetch" | "epochs" | "beam" => {
            dice.whole(&[1, 2, 3])
        }
        "objects" => dice.text(&["4KiB", "8KiB, 16KiB", ""]),
        "layers" | "heads" | "head_dimension" | "chunk" => dice.whole(&[1, 2, 4]),
        "hit_share" | "cached" => dice.share(),
        "skew" => dice.number(&[0.0, 0.9, 3.0]),
        "compute" | "ttl" => dice.text(&["0ns", "1us", "5ms"]),
        "searches" | "batches" => dice.whole(&[1, 10, 200]),
        "vectors" | "nodes" => dice.whole(&[2, 100, 1000]),
        "dimensions" | "degree" => dice.whole(&[2, 16, 96]),
        "number_bytes" => dice.whole(&[1, 4]),
        "list" => dice.whole(&[3, 10, 100]),
        "cached_hops" => dice.number(&[0.0, 2.0, 2.5]),
        "degree_exponent" => dice.number(&[1.5, 2.1, 3.0]),
        "feature" => dice.text(&["100B", "512B", "4KiB", "5KiB"]),
        "batch" => dice.whole(&[1, 4, 30]),
        "sample" => dice.text(&["1B", "5000B", "16KiB"]),
        "samples" => dice.whole(&[1, 20, 90]),
        "working_set" => dice.text(&["1600KiB", "2MiB", "8MiB"]),
        "memory" => dice.text(&["600KiB", "1MiB", "1540KiB"]),
        "touches" => dice.whole(&[1, 300, 5000]),
        "threads" => dice.whole(&[1, 2, 10]),
        "read_ahead" => dice.whole(&[1, 4, 8]),
        "cluster" => dice.whole(&[1, 16, 32]),
        _ => return None,
    };
    Some(value)
}

/// Replaces the load of some experiments by one of these.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(23) ^ 0x6E6E);
    if !dice.chance(0.06) {
        return;
    }
    config.0.retain(|(key, _)| !key.starts_with("workload.") || key == "workload.requests");
    let kind = dice.pick(&KINDS);
    config.set("workload.kind", format!("\"{kind}\""));
    for (key, share) in of_kind(kind) {
        if !dice.chance(*share) {
            continue;
        }
        let path = format!("workload.{key}");
        let words = match (kind, *key) {
            ("cache", "placement") => Some(dice.text(&["none", "engine"])),
            ("checkpoint", "placement") => Some(dice.text(&["none", "checkpoint"])),
            ("lsm", "placement") => Some(dice.text(&["none", "hints", "shifted", "level"])),
            ("kv_offload", "placement") => Some(dice.text(&["none", "worker", "size"])),
            ("gnn", "fan_out") => Some(dice.text(&["1", "3, 2", "15, 10, 5"])),
            (_, "eviction") => Some(dice.text(&["lru", "fifo", "ttl"])),
            (_, "model") => Some(dice.text(&["unet3d", "resnet50", "cosmoflow"])),
            (_, "keys") => Some(dice.text(&["uniform", "sequential"])),
            (_, "trim" | "fsync" | "log" | "sync" | "load" | "shuffle") => {
                Some(dice.pick(&["true", "false"]).to_owned())
            }
            (_, "files") => Some(dice.whole(&[1, 2, 5])),
            (_, "outstanding") => Some(dice.whole(&[1, 2, 7])),
            (_, "request_size") => Some(dice.text(&["4KiB", "16KiB"])),
            (_, "read_share") => Some(dice.share()),
            (_, "locality") => Some(dice.text(&["uniform", "zipf(0.99)"])),
            _ => value(&path, &mut dice),
        };
        config.set(&path, words.expect("a row of a key"));
    }
}

/// Keys of a kind with their probabilities; keys that keep it small are likely.
#[expect(clippy::too_many_lines, reason = "a table")]
fn of_kind(kind: &str) -> &'static [(&'static str, f64)] {
    match kind {
        "cache" => &[
            ("outstanding", 0.4),
            ("small", 0.8),
            ("small_share", 0.3),
            ("bucket", 0.3),
            ("region", 0.97),
            ("large_item", 0.9),
            ("request_size", 0.9),
            ("read_share", 0.5),
            ("locality", 0.2),
            ("trim", 0.5),
            ("placement", 0.5),
        ],
        "checkpoint" => &[
            ("ranks", 0.9),
            ("rank_size", 0.98),
            ("files", 0.4),
            ("request_size", 0.8),
            ("outstanding", 0.4),
            ("fsync", 0.3),
            ("checkpoints", 0.4),
            ("keep", 0.9),
            ("period", 0.5),
            ("restarts", 0.4),
            ("trim", 0.4),
            ("placement", 0.5),
        ],
        "kv_offload" => &[
            ("workers", 0.9),
            ("outstanding", 0.4),
            ("objects", 0.98),
            ("prompt", 0.8),
            ("hit_share", 0.4),
            ("skew", 0.3),
            ("compute", 0.3),
            ("eviction", 0.5),
            ("request_size", 0.8),
            ("trim", 0.4),
            ("placement", 0.5),
        ],
        "ann" => &[
            ("searches", 0.8),
            ("outstanding", 0.8),
            ("vectors", 0.99),
            ("dimensions", 0.4),
            ("number_bytes", 0.4),
            ("degree", 0.4),
            ("list", 0.4),
            ("beam", 0.4),
            ("cached_hops", 0.3),
            ("load", 0.5),
        ],
        "gnn" => &[
            ("batches", 0.9),
            ("workers", 0.9),
            ("outstanding", 0.4),
            ("nodes", 0.99),
            ("degree", 0.8),
            ("degree_exponent", 0.3),
            ("feature", 0.8),
            ("batch", 0.95),
            ("fan_out", 0.9),
            ("cached", 0.3),
            ("load", 0.5),
        ],
        "training" => &[
            ("model", 0.4),
            ("accelerators", 0.8),
            ("sample", 0.99),
            ("batch", 0.99),
            ("compute", 0.8),
            ("readers", 0.5),
            ("prefetch", 0.5),
            ("samples", 0.99),
            ("epochs", 0.5),
            ("shuffle", 0.4),
            ("request_size", 0.6),
            ("outstanding", 0.4),
            ("load", 0.5),
        ],
        "paging" => &[
            ("touches", 0.95),
            ("threads", 0.4),
            ("working_set", 0.98),
            ("memory", 0.98),
            ("compute", 0.4),
            ("read_share", 0.5),
            ("locality", 0.3),
            ("read_ahead", 0.4),
            ("cluster", 0.4),
            ("load", 0.5),
        ],
        _ => &[
            ("data", 0.98),
            ("memtable", 0.98),
            ("l0_files", 0.3),
            ("fan_out", 0.3),
            ("l1", 0.95),
            ("file", 0.98),
            ("keys", 0.2),
            ("overwrites", 0.2),
            ("compression", 0.2),
            ("merges", 0.4),
            ("buffer", 0.9),
            ("request_size", 0.8),
            ("log", 0.2),
            ("append", 0.9),
            ("sync", 0.3),
            ("load", 0.4),
            ("trim", 0.4),
            ("placement", 0.5),
        ],
    }
}
