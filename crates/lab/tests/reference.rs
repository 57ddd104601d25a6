//! Is `docs/configuration.md` what the program reads? It is generated from the tables of keys;
//! `SSDLAB_UPDATE=1 cargo test -p lab reference::` writes it anew.

use std::fmt::Write;

const HEAD: &str = "# Configuration

An experiment is a TOML file of three sections. Every key has a default; a file needs only what it
changes. `device.preset` and `workload.preset` begin from a built-in one (`ssdlab list devices`,
`ssdlab list workloads`); without either, and without a `kind`, the keys refine the presets
`agrawal2008` and `mixed`. `--set KEY=VALUE` sets a key from the command line and may abbreviate it to
an unambiguous end (`--set cleaning.min_free=0.1`). Quantities carry their unit: `\"25us\"`, `\"4KiB\"`,
`\"300MB/s\"`.

Layers lie on one another, and the upper one wins: presets, the file, `--device`, `--workload` or
`--trace`, then all `--set` together, whose order says nothing. A layer that names a `kind` or a
`preset` replaces all that those below it say of the section, and its own other keys are laid over
that. Within a layer a key has one value, a section a kind or a preset, and the spare space one
definition; what contradicts itself is refused, as is a key that the kind does not have. In a sweep
what varies and `--set` are one layer.

A file is data: a policy in Python that it names is loaded only with `--allow-code`
([what is trusted](security.md)).

This page is generated from the program's own tables.
";

#[test]
#[expect(clippy::disallowed_methods, reason = "compares a file of the repository")]
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
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    if std::env::var_os("SSDLAB_UPDATE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(page == written, "docs/configuration.md is stale; run with SSDLAB_UPDATE=1");
}
