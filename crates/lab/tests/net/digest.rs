//! Digests of results: a changed bit is detected and located.
//!
//! Only the fields named here enter a digest, so additional keys in results do not change it.

use super::Outcome;
use serde_json::Value;
use std::fmt::Write as _;

const OPS: [&str; 5] = ["read", "write", "trim", "flush", "all"];
const LATENCY: [&str; 6] = ["requests", "bytes", "mean_us", "std_us", "min_us", "max_us"];
const PERCENTILES: [&str; 7] = ["50", "90", "95", "99", "99.9", "99.99", "99.999"];
const PARTS: [&str; 6] = ["host_queue", "host_link", "unit_wait", "cleaning_wait", "bus", "cell"];
const FLASH: [&str; 18] = [
    "page_reads",
    "page_programs",
    "summary_programs",
    "block_erases",
    "copy_backs",
    "pages_moved",
    "pages_migrated",
    "host_pages_read",
    "host_pages_written",
    "merge_reads",
    "unmapped_pages_read",
    "pages_trimmed",
    "write_amplification",
    "cleaning/blocks_cleaned",
    "cleaning/blocks_migrated",
    "cleaning/efficiency",
    "cleaning/mean_block_us",
    "cleaning/busy_us",
];
const WEAR: [&str; 8] = [
    "mean_erases",
    "std_erases",
    "max_erases",
    "mean_remaining",
    "std_remaining",
    "retired_blocks",
    "ended",
    "refused_pages",
];
const UNIT: [&str; 5] = ["name", "busy", "cleaning", "queue_mean", "operations"];

/// The columns of a digest.
pub const COLUMNS: &str = "host\tflash\twear\tunits\tmean_us\tA\terases";

/// Digest of an outcome, in the columns of [`COLUMNS`].
pub fn digest(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Results(results) => of_results(results),
        Outcome::Refused(_) => "refused\t-\t-\t-\t-\t-\t-".to_owned(),
        Outcome::Broken(message) => {
            // Numbers are omitted, because unrelated changes alter them.
            let words: String = message.chars().filter(|c| !c.is_ascii_digit()).take(70).collect();
            format!("broken\t-\t-\t-\t-\t-\t{}", words.replace(['\t', '\n'], " "))
        }
    }
}

fn of_results(results: &Value) -> String {
    let mut host = field(results, "/simulated_seconds");
    for op in OPS {
        for key in LATENCY {
            host += &field(results, &format!("/host/{op}/{key}"));
        }
        for percent in PERCENTILES {
            host += &field(results, &format!("/host/{op}/percentiles_us/{percent}"));
        }
        for part in PARTS {
            host += &field(results, &format!("/host/{op}/breakdown_us/{part}"));
        }
    }
    let section = |name: &str, keys: &[&str]| -> String {
        keys.iter().map(|key| field(results, &format!("/{name}/{key}"))).collect()
    };
    let mut units = field(results, "/buses/busy");
    for index in 0..results["units"].as_array().map_or(0, Vec::len) {
        units += &section(&format!("units/{index}"), &UNIT);
    }
    let figure = |path: &str, digits: usize| {
        let number = results.pointer(path).and_then(Value::as_f64);
        number.map_or("-".to_owned(), |number| format!("{number:.digits$}"))
    };
    [
        mark(&host),
        mark(&section("flash", &FLASH)),
        mark(&section("wear", &WEAR)),
        mark(&units),
        figure("/host/all/mean_us", 3),
        figure("/flash/write_amplification", 4),
        figure("/flash/block_erases", 0),
    ]
    .join("\t")
}

/// A field as text; a missing field is marked as absent.
fn field(results: &Value, path: &str) -> String {
    let mut line = path.to_owned();
    let value = results.pointer(path).map_or("absent".to_owned(), Value::to_string);
    let _ = writeln!(line, "={value}");
    line
}

/// FNV-1a over the text, half of its digits.
fn mark(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:08x}", hash >> 32)
}
