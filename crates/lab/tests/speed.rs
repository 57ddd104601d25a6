//! README's speed figures equal the measured ones. `SSDLAB_UPDATE=1 cargo test -p ssdlab-lab speed::`
//! updates README's sentence from the table that `benches/speed.rs` writes.

use crate::loads::LOADS;

const TABLE: &str = include_str!("../../../docs/speed.md");

/// Cells of the rows of the table.
fn rows() -> Vec<Vec<&'static str>> {
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.skip(1).map(|row| row.split(" | ").collect()).collect()
}

fn row(device: &str, name: &str) -> Vec<&'static str> {
    let found = rows().into_iter().find(|row| row[..2] == [device, name]);
    found.unwrap_or_else(|| panic!("docs/speed.md has no row of {device}, {name}"))
}

/// Requests per CPU second, in millions.
fn rate(device: &str, name: &str) -> String {
    let rate: f64 = row(device, name)[4].parse().expect("a number");
    if rate < 9.5 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

const BEGINS: &str = "It is fast: ";
const ENDS: &str = "[the table](docs/speed.md), `make bench`).";

/// README's sentence about speed.
fn sentence() -> String {
    let (tlc, old) = ("tlc-enterprise", "agrawal2008");
    let operations: f64 = row(tlc, "random writes")[3].parse().expect("a number");
    let memory = TABLE.split_once(" bytes of memory").expect("memory").0.rsplit(' ').next();
    let memory: f64 = memory.and_then(|it| it.parse().ok()).expect("a number");
    format!(
        "{BEGINS}on one core, {} million random reads or {} million steady random writes a second on\na current TLC \
         drive (`{tlc}`; each write takes {operations:.1} flash operations, cleaning included),\nand {} and {} \
         million on the simpler drive of 2008, in {memory:.0} bytes of memory per flash page\n({ENDS}",
        rate(tlc, "random reads"),
        rate(tlc, "random writes"),
        rate(old, "random reads"),
        rate(old, "random writes"),
    )
}

#[test]
fn readme_says_what_was_measured() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    #[expect(clippy::disallowed_methods, reason = "a test reads a page")]
    let page = std::fs::read_to_string(path).unwrap();
    let from = page.find(BEGINS).expect("README has a sentence on speed");
    let to = from + page[from..].find(ENDS).expect("it ends with the table") + ENDS.len();
    let said = &page[from..to];
    let is_to_say = sentence();
    if said != is_to_say && std::env::var_os("SSDLAB_UPDATE").is_some() {
        std::fs::write(path, format!("{}{is_to_say}{}", &page[..from], &page[to..])).unwrap();
        return;
    }
    assert_eq!(said, is_to_say, "SSDLAB_UPDATE=1 cargo test -p ssdlab-lab speed::");
}

#[test]
fn the_table_has_every_load() {
    let rows = rows();
    let measured: Vec<_> = rows.iter().map(|row| (row[0], row[1])).collect();
    let wanted: Vec<_> = LOADS.iter().map(|load| (load.device, load.name)).collect();
    assert_eq!(measured, wanted, "SSDLAB_UPDATE=1 cargo bench -p ssdlab-lab --bench speed");
}
