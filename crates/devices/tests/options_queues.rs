//! The rows of the submission queues of the host.

use super::*;

/// What the order of two submission queues does to the one that has few requests.
fn in_turn(key: &'static str, values: [Value; 2], order: &str, direction: Direction) -> Row {
    row(key, values, READS, (WAIT_OF_THE_FEW, direction))
        .given("device.host_link.order", json!(order))
        .given("device.host_link.queue_depth", json!(1))
}

pub fn rows() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let of_two = |row: Row| row.given("device.host_link.queues", json!(2));
    let rows = [
        // A turn of the queue of many lasts longer.
        in_turn("device.host_link.burst", [json!(1), json!(16)], "round-robin", More),
        in_turn(
            "device.host_link.priorities",
            words("urgent, low", "low, urgent"),
            "weighted",
            Less,
        ),
        in_turn("device.host_link.weights", words("3, 0, 0", "0, 0, 3"), "weighted", Less)
            .given("device.host_link.priorities", json!("high, low")),
    ];
    // A queue of few requests does not wait behind one of many.
    let queues = [json!(1), json!(2)];
    let mut found = vec![in_turn("device.host_link.queues", queues, "round-robin", Less)];
    let completions = words("as-done", "in-order");
    found.push(row("device.host_link.completions", completions, MIXED, (HOST_QUEUE, More)));
    found.extend(rows.map(of_two));
    found.extend(snapshots());
    found
}

/// Copy-on-write snapshots, which one of the queues reads.
fn snapshots() -> Vec<Row> {
    const MADE: Figure = |o| o.report.snapshots.as_ref().unwrap().made as f64;
    const CROWDED_OUT: Figure = |o| o.report.snapshots.as_ref().unwrap().crowded_out as f64;
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let kept = |key, values, load, effect| {
        row(key, values, load, effect)
            .given("device.spare_factor", json!(0.3))
            .given("device.snapshots.most", json!(3))
    };
    let early = |row: Row| {
        row.given("device.fill", json!("empty")).given("device.snapshots.every", json!("1MiB"))
    };
    let reads_of = |key, values, direction| {
        let row = kept(key, values, MIXED, (CELL, direction));
        early(row).given("device.snapshots.space", json!(0.15))
    };
    let buffered = |row: Row| Row { buffered: true, ..row }.requests(40_000);
    vec![
        row("device.snapshots.most", [json!(0), json!(1)], WRITES, (AMPLIFICATION, More))
            .given("device.spare_factor", json!(0.3))
            .given("device.snapshots.every", json!("256KiB")),
        buffered(row("device.snapshots.most", [json!(0), json!(1)], WRITES, (AMPLIFICATION, More)))
            .given("device.spare_factor", json!(0.2))
            .given("device.snapshots.every", json!("16MiB")),
        // What was written since is in the snapshot nowhere, and no longer in the buffer.
        buffered(reads_of("device.snapshots.queue", [json!(5), json!(0)], Less))
            .given("device.snapshots.every", json!("16MiB")),
        kept("device.snapshots.every", words("256KiB", "2MiB"), WRITES, (MADE, Less)),
        kept("device.snapshots.space", [json!(0.02), json!(0.1)], WRITES, (CROWDED_OUT, Less))
            .given("device.snapshots.every", json!("256KiB")),
        kept("device.snapshots.orders", words("none", "200: make"), WRITES, (MADE, More)),
        reads_of("device.snapshots.queue", [json!(5), json!(0)], Less),
        // Until there are three it is the drive that is read.
        reads_of("device.snapshots.back", [json!(1), json!(3)], More)
            .given("device.snapshots.queue", json!(0)),
    ]
}
