//! Regression test of results: digests of a variety of experiments, stored in `digests/`.
//!
//! `presets.tsv` has every device preset under every workload preset, reduced in size and length.
//! `random.tsv` has 500 random experiments, 200 of drives with a write buffer, and 30 of buffered
//! drives with frontiers or wear levelling. They are stored as text, so changes of the generator do
//! not affect them. A change that intends to alter results updates the files (`SSDLAB_UPDATE=1
//! cargo test -p ssdlab-lab digests::`) and lists the altered results in its commit message; all other
//! changes must leave them unchanged.

use crate::depth::depth;
use crate::net::digest::{COLUMNS, digest};
use crate::net::{Config, Outcome, generate, on_two_threads, outcome};
use std::fmt::Write as _;
use std::path::PathBuf;

/// An experiment, its special properties, and the digest of its results.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    name: String,
    tags: String,
    digest: String,
    config: String,
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests")).join(name)
}

#[expect(clippy::disallowed_methods, reason = "a test reads its data")]
fn rows(name: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(file(name)).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [name, tags, digest @ .., config] = cells.as_slice() else {
            panic!("{line}: not a row of digests");
        };
        let own = |text: &str| text.to_owned();
        Row { name: own(name), tags: own(tags), digest: digest.join("\t"), config: own(config) }
    };
    lines.map(row).collect()
}

/// Runs the experiments and compares the digests with the file, or updates it.
fn hold(name: &str, experiments: &[Row]) {
    let digests = on_two_threads(experiments, |row| {
        let outcome = outcome(&Config::from_line(&row.config));
        // A preset with an invalid key would guard nothing.
        if name == "presets.tsv" {
            assert!(matches!(outcome, Outcome::Results(_)), "{}: {outcome:?}", row.name);
        }
        digest(&outcome)
    });
    let known = rows(name);
    if std::env::var_os("SSDLAB_UPDATE").is_some() {
        let mut text = format!("# name\ttags\t{COLUMNS}\tconfiguration\n");
        for (row, digest) in experiments.iter().zip(&digests) {
            let _ = writeln!(text, "{}\t{}\t{digest}\t{}", row.name, row.tags, row.config);
        }
        std::fs::write(file(name), text).unwrap();
    }
    let mut changed = String::new();
    let mut count = 0;
    for (row, digest) in experiments.iter().zip(&digests) {
        let was = known.iter().find(|it| it.name == row.name).map_or("-", |it| it.digest.as_str());
        if was != digest {
            count += 1;
            let _ = writeln!(
                changed,
                "{} [{}]\n  was {was}\n  now {digest}\n  {}",
                row.name,
                row.tags,
                Config::from_line(&row.config)
            );
        }
    }
    if std::env::var_os("SSDLAB_UPDATE").is_some() {
        eprintln!("{name}: {count} of {} digests changed\n{changed}", digests.len());
        return;
    }
    assert!(
        changed.is_empty(),
        "{count} of {} digests of {name} changed ({COLUMNS}); where that is meant, refresh them with \
         SSDLAB_UPDATE=1\n{changed}",
        digests.len()
    );
}

/// Presets of applications need drives of several GiB, so they run on two drives only.
const APPLICATIONS: [&str; 7] =
    ["ann", "cache", "checkpoint", "gnn", "kv-offload", "lsm", "training"];

#[test]
fn presets_under_workloads_are_as_they_were() {
    let presets = |what: &str| -> Vec<String> {
        let all = lab::list(what).expect("a category").into_iter().map(|(name, _)| name);
        all.filter(|name| !name.starts_with("kind = ")).collect()
    };
    let mut experiments = Vec::new();
    for device in presets("devices") {
        let smaller = match device.as_str() {
            // Not preconditioned: laws of service times, hard disks, and devices composed of them.
            "null" | "zeus-linear" | "intel-p4800x" | "atlas10k" | "barracuda" | "cheetah9lp"
            | "hp-c3323a" | "nearline-24tb" | "sata-2008" | "scsi-15k" | "hybrid-disk"
            | "nvram-raid5" => "",
            // These workloads do not support zones.
            "wd-zn540" => "; device.adapt=\"log\"; device.zones.count=24; device.log.spare=0.5",
            name if name.contains("-array-") => "; device.member.blocks_per_plane=32",
            "disksim-ssd" => {
                "; device.blocks_per_plane=32; device.spare_blocks_per_plane=5; \
                 run.precondition=\"random:1\""
            }
            // Fewer blocks need another spare share; the nominal capacity would not fit.
            name if ["iops-", "micron-", "samsung-", "tlc-", "qlc-", "wd-"]
                .iter()
                .any(|it| name.starts_with(it)) =>
            {
                "; device.blocks_per_plane=32; device.spare_factor=0.3; run.precondition=\"random:1\""
            }
            _ => "; device.blocks_per_plane=32; run.precondition=\"random:1\"",
        };
        for workload in presets("workloads") {
            if APPLICATIONS.contains(&&*workload) {
                continue;
            }
            let shorter = match workload.as_str() {
                "iozone" => "; workload.file_size=\"16MiB\"",
                "postmark" => "; workload.files=2000",
                _ => "",
            };
            experiments.push(Row {
                name: format!("{device} {workload}"),
                tags: "-".to_owned(),
                digest: String::new(),
                config: format!(
                    "device.preset=\"{device}\"{smaller}; workload.preset=\"{workload}\"; \
                     workload.requests=2000{shorter}"
                ),
            });
        }
    }
    // At full size: the data set of an application does not fit a smaller drive.
    for device in ["tlc-enterprise", "samsung-870evo"] {
        for workload in APPLICATIONS {
            experiments.push(Row {
                name: format!("{device} {workload}"),
                tags: "-".to_owned(),
                digest: String::new(),
                config: format!(
                    "device.preset=\"{device}\"; workload.preset=\"{workload}\"; workload.requests=2000"
                ),
            });
        }
    }
    hold("presets.tsv", &some(&experiments, 3));
}

#[test]
fn random_experiments_are_as_they_were() {
    let mut known = rows("random.tsv");
    if known.is_empty() {
        known = draw("r", 500, |_| true);
    }
    if std::env::var_os("SSDLAB_UPDATE").is_some() && !known.iter().any(is_buffered) {
        let buffered = |config: &Config| config.0.iter().any(|(key, _)| key.ends_with(BUFFER));
        known.extend(draw("b", 200, buffered));
    }
    if std::env::var_os("SSDLAB_UPDATE").is_some() && !known.iter().any(is_apart) {
        let apart = |config: &Config| {
            let has = |key: &str| config.0.iter().any(|(given, _)| given.ends_with(key));
            has(BUFFER) && (has(".cleaning.frontiers") || has(".cleaning.levelling.rule"))
        };
        known.extend(draw("f", 30, apart));
    }
    hold("random.tsv", &some(&known, 1));
}

/// All rows at night and for updates; in a commit every `commit`th row, or a few of each part of
/// the file if the tests must end within a minute.
fn some(rows: &[Row], commit: u64) -> Vec<Row> {
    let is_update = std::env::var_os("SSDLAB_UPDATE").is_some();
    let step = if is_update { 1 } else { depth(19, commit, 1) as usize };
    rows.iter().step_by(step).cloned().collect()
}

/// The key of a write buffer, absent in the drives of the first rows.
const BUFFER: &str = ".buffer.size";

fn is_buffered(row: &Row) -> bool {
    row.name.starts_with('b')
}

/// True for rows of buffered drives with frontiers or wear levelling.
fn is_apart(row: &Row) -> bool {
    row.name.starts_with('f')
}

/// Draws experiments of a kind for the file; only every tenth refusal is kept.
fn draw(name: &str, count: usize, wanted: impl Fn(&Config) -> bool) -> Vec<Row> {
    let mut refused = 0;
    let mut rows = Vec::new();
    for seed in 1.. {
        let config = generate::experiment(seed);
        if !wanted(&config) {
            continue;
        }
        let line = config.line();
        assert_eq!(Config::from_line(&line), config, "a line brings its configuration back");
        if matches!(outcome(&config), Outcome::Refused(_)) {
            refused += 1;
            if refused % 10 != 0 {
                continue;
            }
        }
        let tags = tags(&config);
        rows.push(Row { name: format!("{name}{seed}"), tags, digest: String::new(), config: line });
        if rows.len() == count {
            break;
        }
    }
    rows
}

/// Properties of an experiment that are prone to alter results, as tags.
fn tags(config: &Config) -> String {
    let get = |key: &str, default: &'static str| config.get(key).unwrap_or(default).to_owned();
    let count = |key: &str| get(key, "1").parse::<u64>().unwrap_or(1);
    let kind = get("device.kind", "ssd");
    let interleave = get("device.interleave", "none");
    let packages = count("device.packages_per_channel");
    let units_of_pool = match get("device.pool", "package").as_str() {
        "plane" => 0,
        "die" => u64::from(interleave.starts_with("plane")),
        "package" => u64::from(interleave != "none"),
        "gang" => packages - 1 + u64::from(interleave != "none"),
        _ => packages * count("device.channels") - 1 + u64::from(interleave != "none"),
    };
    let page = get("device.page_size", "4KiB");
    let pages = count("device.pages_per_block");
    let blocks = count("device.blocks_per_plane");
    let rated = config.get("device.wear.rated_cycles").and_then(|it| it.parse().ok());
    let frontiers = get("device.cleaning.frontiers", "single");
    let tags = [
        ("array", kind == "array"),
        ("buffer", config.0.iter().any(|(key, _)| key.ends_with(BUFFER))),
        ("law", !["ssd", "array"].contains(&kind.as_str())),
        ("untimed", config.get("run.timed") == Some("false")),
        // A pool of several units.
        ("pool", units_of_pool > 0),
        // The logical page differs from the flash page.
        ("page", config.get("device.logical_page").is_some_and(|it| it != page)),
        ("span", config.get("device.page_span").is_some_and(|it| it != "1")),
        ("frontiers", frontiers != "single"),
        // Blocks may wear out.
        ("wears", rated.is_some_and(|cycles: u64| cycles <= 20)),
        ("tiny", kind == "ssd" && (blocks <= 8 || pages <= 4)),
        ("min-free", kind == "ssd" && config.get("device.cleaning.min_free").is_none()),
        ("think", get("workload.think_time", "").starts_with("9000000000")),
    ];
    let words: Vec<&str> = tags.iter().filter(|(_, is)| *is).map(|(word, _)| *word).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(",") }
}

#[test]
fn every_key_can_be_drawn() {
    assert_eq!(generate::keys_without_row(), Vec::<String>::new());
}
