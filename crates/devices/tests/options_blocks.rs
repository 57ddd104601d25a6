//! The rows of block buffers, of packages that share control pins, and of planes that share commands.

use super::*;

pub fn rows() -> Vec<Row> {
    [control(), vec![pair_commands()], block_buffer()].into_iter().flatten().collect()
}

/// Eight packages that share control pins.
fn control() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let shared = |key, values, load, effect| {
        row(key, values, load, effect)
            .given("device.channels", json!(1))
            .given("device.packages_per_channel", json!(8))
            .given("device.gang", json!("shared-control-async"))
    };
    let line = "device.control_line";
    vec![
        shared(line, words("held", "command"), MIXED, (TOTAL_TIME, Less)),
        shared("device.timing.command", words("0us", "20us"), READS, (MEAN_LATENCY, More))
            .given(line, json!("command")),
    ]
}

/// What is answered when both planes are done.
fn pair_commands() -> Row {
    let words = [json!("separate"), json!("two-plane")];
    row("device.pair_commands", words, WRITES, (MEAN_LATENCY, More))
        .given("device.interleave", json!("plane"))
        .given("device.planes_per_die", json!(2))
}

fn block_buffer() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let gathers = |key, values, load, effect| {
        row(key, values, load, effect)
            .given("device.spare_factor", json!(0.3))
            .given("device.block_buffer.size", json!("1MiB"))
            .given("device.block_buffer.block", json!("64KiB"))
    };
    let size = "device.block_buffer.size";
    vec![
        row(size, words("0B", "1MiB"), IN_PLACE, (MEAN_LATENCY, Less))
            .given("device.block_buffer.block", json!("64KiB")),
        gathers(size, words("128KiB", "2MiB"), SKEWED_WRITES, (AMPLIFICATION, Less)),
        gathers(
            "device.block_buffer.block",
            words("16KiB", "128KiB"),
            WRITES,
            (AMPLIFICATION, More),
        ),
        gathers(
            "device.block_buffer.page_padding",
            [json!(false), json!(true)],
            WRITES,
            (AMPLIFICATION, More),
        ),
        gathers(
            "device.block_buffer.compensation",
            [json!(false), json!(true)],
            STREAM_AND_HOT,
            (AMPLIFICATION, Less),
        ),
        gathers("device.block_buffer.flushes", [json!(1), json!(8)], WRITES, (TOTAL_TIME, Less))
            .given("device.block_buffer.block", json!("4KiB")),
        gathers(
            "device.block_buffer.power_loss_protected",
            [json!(true), json!(false)],
            FLUSHED_WRITES,
            (MEAN_LATENCY, More),
        ),
        row(
            "device.block_buffer.read_ahead",
            words("0B", "64KiB"),
            SEQUENTIAL_READS,
            (MEAN_LATENCY, Less),
        )
        .given("device.host_link.queue_depth", json!(1)),
    ]
}
