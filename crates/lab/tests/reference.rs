//! Is `docs/configuration.md` what the program reads, and `docs/counters.md` what it counts? They are
//! generated from the tables of keys and of counters; `SSDLAB_UPDATE=1 cargo test -p lab reference::`
//! writes them anew.

use std::fmt::Write;

const HEAD: &str = "# Configuration

An experiment is a TOML file of three sections. Every key has a default; a file needs only what it
changes. `device.preset` and `workload.preset` begin from a built-in one (`ssdlab list devices`,
`ssdlab list workloads`); without either, and without a `kind`, the keys refine the presets
`agrawal2008` and `mixed`. `--set KEY=VALUE` sets a key from the command line and may abbreviate it to
an unambiguous end (`--set cleaning.min_free=0.1`). Quantities carry their unit: `\"25us\"`, `\"4KiB\"`,
`\"300MB/s\"`.

Later layers override earlier ones: presets, the file, `--device`, `--workload` or `--trace`, then all
`--set` together, whose order does not matter. A layer that names a `kind` or a `preset` resets the
section before its other keys apply. Within a layer a key has one value, a section a kind or a preset,
and the spare space one definition; contradictions are errors, as is a key that the kind does not have.
In a sweep, `--vary` and `--set` are one layer.

A key says where it applies. Setting a key that has no effect on this drive, in a file, `--set` or `--vary`, is an
error. Later layers override earlier ones: `--set suspend.program=none` switches the suspension of programs off,
whatever a preset or a file has of it. `ssdlab run --show` and the
`experiment.toml` of `--out` list the keys in force.

A file is data: a policy in Python that it names is loaded only with `--allow-code`
([what is trusted](security.md)).

This page is generated from the program's own tables, as is the schema with which an editor completes
and checks experiment files: [Write experiments in an editor](editor.md).
";

#[test]
fn the_key_reference_is_fresh() {
    let mut page = HEAD.to_owned();
    for section in lab::keys() {
        let _ = write!(page, "\n## {}\n\n| key | meaning | value | default |\n", section.title);
        page.push_str("|---|---|---|---|\n");
        for key in section.keys {
            let doc = key.doc.split_whitespace().collect::<Vec<_>>().join(" ");
            let expected = key.expected.replace('|', "\\|");
            let default = match key.default.as_str() {
                "" => String::new(),
                default => format!("`{default}`"),
            };
            let _ = writeln!(page, "| `{}` | {doc} | {expected} | {default} |", key.path);
        }
    }
    is_fresh(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md"), &page);
}

const COUNTERS_HEAD: &str = "# Counters

The counters of a drive, and their place in the results. Counters are reset after preconditioning, and
are the same in timed and untimed runs; an array reports sums over its members. A page is a flash
page, or a logical page where that is smaller.

This page is generated from the program's own table.

| in the results | meaning | unit | over time |
|---|---|---|---|
";

#[test]
fn the_counter_reference_is_fresh() {
    let mut page = COUNTERS_HEAD.to_owned();
    for counter in devices::ssd::account::COUNTERS {
        let path = match counter.section.path() {
            "" => String::new(),
            section => format!("`{section}.{}`", counter.key),
        };
        let over_time = counter.over_time.map(|(_, name)| format!("`time_series.{name}`"));
        let (doc, unit) = (counter.doc, counter.measure.unit());
        let _ = writeln!(page, "| {path} | {doc} | {unit} | {} |", over_time.unwrap_or_default());
    }
    is_fresh(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/counters.md"), &page);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "looks into a file of the repository")]
fn the_model_says_where_each_part_of_a_latency_is_spent() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model.md");
    let page = std::fs::read_to_string(path).unwrap();
    for part in devices::latency::LATENCY_PARTS {
        let row = format!("| `{}` | {} |", part.key, part.doc);
        assert!(page.contains(&row), "{path} lacks \"{row}\"");
    }
}

#[expect(clippy::disallowed_methods, reason = "compares a file of the repository")]
fn is_fresh(path: &str, page: &str) {
    if std::env::var_os("SSDLAB_UPDATE").is_some() {
        std::fs::write(path, page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(page == written, "{path} is stale; run with SSDLAB_UPDATE=1");
}
