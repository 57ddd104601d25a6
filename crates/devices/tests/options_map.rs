//! The rows of map caches.

use super::*;

/// The time in the map of a request.
const IN_MAP: Figure = |o| o.mean_of(|c| c.breakdown[latency::MAP]);
const MISSES: Figure = |o| o.report.counts.misses as f64;
const OF_MAP: Figure = |o| o.report.media.map as f64;

pub fn rows() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let cached = |key, values, load, effect| {
        row(key, values, load, effect)
            .given("device.map.page", json!("512B"))
            .given("device.map.memory", json!("1KiB"))
    };
    let hosted = |key, values, effect| {
        cached(key, values, READS, effect)
            .given("device.map.memory", json!("all"))
            .given("device.map.place", json!("host"))
    };
    let buffered = |key, values, load, effect| {
        let mut row = cached(key, values, load, effect)
            .given("device.map.read", json!("20us"))
            .given("device.map.program", json!("0.2ms"))
            .given("device.map.cells", json!("slc"))
            .requests(20_000);
        row.buffered = true;
        row
    };
    vec![
        cached("device.map.memory", words("512B", "2KiB"), READS, (MISSES, Less)),
        cached("device.map.memory", words("512B", "all"), READS, (MEAN_LATENCY, Less)),
        cached("device.map.place", words("sram", "host"), IN_PLACE, (IN_MAP, More)),
        hosted("device.map.sram", words("0B", "1KiB"), (IN_MAP, Less)),
        hosted("device.map.host_latency", words("1us", "3us"), (IN_MAP, More)),
        cached("device.map.entry", words("4B", "8B"), READS, (MISSES, More)),
        // Fewer pages of the map hold as many entries, but more of them is programmed at a time.
        cached("device.map.page", words("512B", "1KiB"), WRITES, (OF_MAP, More))
            .given("device.map.memory", json!("1KiB")),
        buffered("device.map.cells", words("native", "slc"), READS, (IN_MAP, Less)),
        buffered("device.map.read", words("10us", "40us"), READS, (IN_MAP, More)),
        buffered("device.map.program", words("0.1ms", "2ms"), WRITES, (TOTAL_TIME, More)),
    ]
}
