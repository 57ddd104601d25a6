//! What contradicts itself is refused, with the keys and the arithmetic.

use super::small;
use devices::{DeviceConfig, DeviceKind as _, Model};
use serde_json::{Value, json};

/// The messages of refusals: of a stated key that has no effect, and of what contradicts itself.
fn refusal(keys: &[(&'static str, Value)]) -> String {
    let layer = |(path, value): &(&str, Value)| {
        let parts = path.split('.').skip(1).collect::<Vec<_>>();
        let nest = |inner, part: &&str| json!({ *part: inner });
        parts.iter().rev().fold(value.clone(), nest)
    };
    let config = match DeviceConfig::resolve("ssd", keys.iter().map(layer)) {
        Ok(config) => config,
        Err(error) => return format!("{error:?}"),
    };
    let DeviceConfig::Ssd(options) = &config else { panic!("it is a drive") };
    let idle = options::idle("device", &**options);
    let idle = idle.iter().find(|it| !it.is_default).map(|it| it.refusal().to_string());
    let built: Result<Box<dyn Model>, _> = config.build(0);
    let contradicts = built.err().map(|it| it.to_string());
    let said: Vec<String> = idle.into_iter().chain(contradicts).collect();
    if said.is_empty() { "accepted".to_owned() } else { said.join("; ") }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of contradictions")]
fn every_contradiction_is_refused_with_its_keys() {
    let with_buffer: Vec<(&str, Value, &[&str])> = vec![
        ("device.cell.bits", json!(6), &["device.cell.bits", "6 is not possible", "1 to 5 bits"]),
        ("device.cell.bits", json!(0), &["device.cell.bits", "1 to 5 bits"]),
        ("device.planes_per_die", json!(64), &["device.planes_per_die", "64 is too many", "32"]),
        (
            "device.dies_per_package",
            json!(2048),
            &["8192 dies are too many", "4096", "device.channels"],
        ),
        ("device.pages_per_block", json!(13), &["13 pages", "word lines of 3", "device.cell.bits"]),
        (
            "device.scale",
            json!(3),
            &["4 word lines (12 pages / 3 bits)", "one part of 3", "device.scale"],
        ),
        ("device.scale", json!(0), &["device.scale", "one part of 0"]),
        (
            "device.logical_page",
            json!("3KiB"),
            &["3KiB", "a page of 16KiB", "32KiB (2 planes x 16KiB)"],
        ),
        ("device.logical_page", json!("64KiB"), &["64KiB", "device.planes_per_die"]),
        ("device.logical_page", json!("256B"), &["256B", "device.logical_page"]),
        (
            "device.parity.of",
            json!(1),
            &["device.parity.of", "one of 1 groups", "32 groups", "4 of each of 8 dies"],
        ),
        ("device.parity.of", json!(33), &["device.parity.of", "one of 33 groups"]),
        (
            "device.buffer.size",
            json!("512KiB"),
            &["device.buffer.size", "8 dies x 96KiB (2 planes x 3 x 16KiB) = 768KiB"],
        ),
        (
            "device.buffer.copies",
            json!("1KiB"),
            &["device.buffer.copies", "8 dies x 96KiB", "= 768KiB"],
        ),
        ("device.interleave", json!("die"), &["device.interleave", "without a write buffer"]),
        ("device.gang", json!("shared-control-async"), &["device.gang", "without a write buffer"]),
        ("device.page_span", json!(2), &["device.page_span", "without a write buffer"]),
        ("device.pool", json!("ssd"), &["device.pool", "without a write buffer"]),
        (
            "device.active_blocks",
            json!("plane"),
            &["device.active_blocks", "without a write buffer"],
        ),
        ("device.stripe", json!("64KiB"), &["device.stripe", "without a write buffer"]),
        (
            "device.cleaning.time",
            json!("blocking"),
            &["device.cleaning.time", "without a write buffer"],
        ),
        (
            "device.cleaning.background",
            json!(true),
            &["device.cleaning.background", "without a write buffer"],
        ),
        (
            "device.cleaning.copy_back",
            json!(true),
            &["device.cleaning.copy_back", "without a write buffer"],
        ),
        (
            "device.cleaning.stream",
            json!(true),
            &["device.cleaning.stream", "without a write buffer"],
        ),
        (
            "device.persistence.recovery",
            json!("summary"),
            &["device.persistence.recovery", "device.summary_page"],
        ),
        ("device.power.watts", json!(8.0), &["device.power.watts", "device.persistence.recovery"]),
        (
            "device.cleaning.meter_above",
            json!(1.5),
            &["device.cleaning.meter_above", "1.5", "0 to 1"],
        ),
        ("device.firmware.cores", json!(0), &["device.firmware.cores", "at least 1"]),
        ("device.cleaning.read_batch", json!(0), &["device.cleaning.read_batch", "at least 1"]),
        ("device.cleaning.meter_depth", json!(0), &["device.cleaning.meter_depth", "at least 1"]),
        ("device.cleaning.quantum", json!(0), &["device.cleaning.quantum", "at least 1"]),
        (
            "device.timing.read",
            json!("1us, 2us"),
            &["2 times", "3 types of page", "device.cell.bits"],
        ),
        (
            "device.timing.program",
            json!("400us"),
            &["400us is too short", "3 x 400us = 1.2ms", "device.timing.program"],
        ),
        (
            "device.suspend.step",
            json!("20us"),
            &["device.suspend.step", "no effect", "(device.suspend.program)"],
        ),
        (
            "device.suspend.erase_step",
            json!("20us"),
            &["device.suspend.erase_step", "no effect", "(device.suspend.erase)"],
        ),
        (
            "device.suspend.unless_backlog",
            json!(8),
            &["device.suspend.unless_backlog", "no effect", "device.suspend.program"],
        ),
    ];
    for (key, value, parts) in with_buffer {
        let mut keys = small();
        keys.retain(|(given, _)| *given != key);
        keys.push((key, value.clone()));
        let message = refusal(&keys);
        println!("{key} = {value}: {message}");
        for part in parts {
            assert!(message.contains(part), "{key} = {value}: {part:?} is not in {message}");
        }
    }
}

#[test]
fn keys_of_a_buffer_need_one() {
    let own: Vec<(&'static str, Value)> = vec![
        ("device.timing.read_part", json!("20us")),
        ("device.cell.program", json!("two-pass")),
        ("device.cell.distance", json!(3)),
        ("device.cell.planes", json!("independent")),
        ("device.suspend.unless_backlog", json!(1)),
        ("device.buffer.copies", json!("1MiB")),
        ("device.buffer.linger", json!("1ms")),
        ("device.buffer.power_loss_protected", json!(false)),
        ("device.parity.of", json!(4)),
        ("device.cleaning.reclaim", json!("block")),
        ("device.cleaning.pace", json!("burst")),
        ("device.cleaning.quantum", json!(4)),
        ("device.cleaning.host_room", json!(4)),
        ("device.cleaning.read_batch", json!(1)),
        ("device.cleaning.read_order", json!("host-first")),
        ("device.cleaning.meter_depth", json!(4)),
        ("device.cleaning.meter_above", json!(0.2)),
    ];
    for (key, value) in own {
        let message = refusal(&[(key, value)]);
        assert!(
            message.contains(key) && message.contains("with a write buffer"),
            "{key}: {message}"
        );
    }
    let message = refusal(&[("device.timing.read", json!("1us, 2us"))]);
    assert!(message.contains("device.timing.read") && message.contains("2 times"), "{message}");
    for scale in [0, 3, 64] {
        let message = refusal(&[("device.scale", json!(scale))]);
        assert!(message.contains("device.scale") && message.contains("64 pages"), "{message}");
    }
}

#[test]
fn buffers_have_room_for_what_is_held_and_what_is_copied() {
    let refused = |more: &[(&'static str, Value)], parts: &[&str]| {
        let mut keys = small();
        keys.retain(|(key, _)| more.iter().all(|(other, _)| other != key));
        keys.extend(more.iter().cloned());
        let message = refusal(&keys);
        assert!(parts.iter().all(|part| message.contains(part)), "{parts:?} in {message}");
    };
    let two_pass = ("device.cell.program", json!("two-pass"));
    refused(
        std::slice::from_ref(&two_pass),
        &["device.buffer.size", "8 dies x 4 word lines between two passes", "= 3MiB"],
    );
    refused(
        &[
            two_pass,
            ("device.buffer.size", json!("8MiB")),
            ("device.buffer.power_loss_protected", json!(false)),
        ],
        &["device.buffer.power_loss_protected", "device.cell.program", "two passes"],
    );
    refused(
        &[("device.cell.program", json!("two-pass")), ("device.cell.distance", json!(0))],
        &["device.cell.distance", "at least 1"],
    );
    let recovers = [
        ("device.persistence.recovery", json!("spare")),
        ("device.power.capacitance", json!("1mF")),
    ];
    refused(&[&recovers[..], &[("device.power.cutoff", json!(13.0))]].concat(), &["13V", "12V"]);
    // Each die has a group of copies that fills, and one more is read.
    refused(
        &[("device.cleaning.reclaim", json!("block")), ("device.buffer.copies", json!("768KiB"))],
        &["device.buffer.copies", "9 x 96KiB", "= 864KiB"],
    );
    let mut keys = small();
    keys.retain(|(key, _)| *key != "device.spare_factor");
    keys.push(("device.capacity", json!("2GiB")));
    let message = refusal(&keys);
    // 64 superblocks of 8 dies x 2 planes x 12 pages of 16 KiB.
    assert!(message.contains("device.capacity") && message.contains("192MiB"), "{message}");
}
