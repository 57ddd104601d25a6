//! The table of formats in `docs/traces.md` equals the program's. `SSDLAB_UPDATE=1 cargo test -p
//! lab traces::` updates it.

use std::fmt::Write;
use workloads::FORMATS;

const BEGIN: &str = "<!-- The table is generated; see crates/lab/tests/traces.rs. -->\n";
const END: &str = "<!-- End of the generated table. -->\n";

#[test]
#[expect(clippy::disallowed_methods, reason = "compares a file of the repository")]
fn the_table_of_formats_is_fresh() {
    let mut table = "| format | what it is | to be stated |\n|---|---|---|\n".to_owned();
    for format in FORMATS {
        let (name, summary) = (format.name, format.summary.replace('|', "\\|"));
        let named = (!format.is_recognised()).then_some("format");
        let stated: Vec<String> =
            named.into_iter().chain(format.must_state()).map(|key| format!("`{key}`")).collect();
        let _ = writeln!(table, "| `{name}` | {summary} | {} |", stated.join(", "));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/traces.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page marks its table");
    let (written, after) = rest.split_once(END).expect("the page marks its table's end");
    if std::env::var_os("SSDLAB_UPDATE").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert!(table == written, "docs/traces.md is stale; run with SSDLAB_UPDATE=1");
    }
}
