//! The rows of power cuts: each run is cut once, in its middle.

use super::*;

const RECOVERY: Figure = |o| o.power().recoveries_ns[0] as f64;
const CHECKPOINTS: Figure = |o| o.power().checkpoint_programs as f64;
const UNDONE: Figure = |o| o.power().trims_undone as f64;
const KEPT_WRITES: Figure = |o| o.power().unacknowledged_kept as f64;

const LOST: Figure = |o| o.power().durable_lost as f64;

/// Trims, and never a flush.
const TRIMS: Load = |n, pages, random| {
    let op = if n % 4 == 0 { Op::Trim } else { Op::Write };
    (op, random.below(pages), 1)
};

pub fn rows() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let of = |key, values, load, effect| {
        let mut row = row(key, values, load, effect).requests(2_000);
        row.cut = Some(20_000_000);
        row
    };
    let spare = |key, values, load, effect| {
        of(key, values, load, effect).given("device.persistence.recovery", json!("spare"))
    };
    let promised = |key, values, effect| {
        let mut row = spare(key, values, WRITES, effect);
        row.buffered = true;
        row.requests(20_000).given("device.power.capacitance", json!("300uF"))
    };
    let gathered = |key, values, effect| {
        spare(key, values, WRITES, effect)
            .given("device.block_buffer.size", json!("480KiB"))
            .given("device.block_buffer.power_loss_protected", json!(true))
            .given("device.power.capacitance", json!("200uF"))
    };
    // In the middle of programs.
    let mut paired = spare("device.cell.pairing", words("none", "next"), WRITES, (LOST, More));
    paired.cut = Some(21_450_000);
    vec![
        promised("device.power.capacitance", words("1uF", "10mF"), (LOST, Less)),
        promised("device.power.voltage", [json!(6.0), json!("12V")], (LOST, Less)),
        promised("device.power.cutoff", [json!("1000mV"), json!(11.5)], (LOST, More)),
        promised("device.power.watts", [json!("2W"), json!(60)], (LOST, More)),
        promised("device.power.efficiency", [json!(0.1), json!(1.0)], (LOST, Less)),
        gathered("device.power.capacitance", words("1uF", "10mF"), (LOST, Less)),
        gathered("device.power.watts", [json!("2W"), json!(60)], (LOST, More)),
        paired.given("device.persistence.tear", json!("0, 1, 0")),
        spare("device.cell.pairing_guard", words("none", "copy"), WRITES, (TOTAL_TIME, More))
            .given("device.cell.pairing", json!("next")),
        of("device.persistence.recovery", words("spare", "summary"), WRITES, (RECOVERY, Less)),
        of("device.persistence.recovery", words("summary", "nvram"), WRITES, (RECOVERY, Less))
            .given("device.persistence.map_write", json!("2us")),
        of("device.persistence.map_write", words("1us", "100us"), WRITES, (MEAN_LATENCY, More))
            .given("device.persistence.recovery", json!("nvram")),
        of("device.persistence.checkpoint", words("3ms", "15ms"), WRITES, (CHECKPOINTS, Less))
            .given("device.persistence.recovery", json!("checkpoint")),
        spare("device.persistence.trims", words("volatile", "logged"), TRIMS, (UNDONE, Less)),
        spare("device.persistence.ready", words("0ns", "10ms"), WRITES, (RECOVERY, More)),
        spare("device.persistence.tear", words("1, 0, 0", "0, 0, 1"), WRITES, (KEPT_WRITES, More)),
    ]
}
