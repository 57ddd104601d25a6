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
    found.extend(rows.map(of_two));
    found
}
