//! Rates of dies, channels and planes, to the nanosecond.

use super::{DIES, GROUP_NS, P, PAGE_NS, UNITS, drained, run, with};
use crate::common::Closed;
use crate::common::run_closed;
use devices::ssd::Ssd;
use engine::{Lba, Op, Request, Time};
use serde_json::{Value, json};

/// Duration of a round over the dies in a steady stream of writes.
fn round_ns(changes: &super::Keys) -> Time {
    let [(_, few), (_, many)] = [40, 80].map(|rounds| drained(changes, rounds * DIES));
    assert_eq!((many - few) % 40, 0, "{few} and {many}");
    (many - few) / 40
}

#[test]
fn dies_program_as_fast_as_cells_or_channels_allow() {
    // Transfers hide behind programs, of two dies on a channel.
    assert_eq!(round_ns(&[]), P);
    // Where they take longer, the channel decides.
    let slow = [("device.timing.bus_rate", json!("100MT/s"))];
    assert_eq!(round_ns(&slow), 2 * 10 * GROUP_NS);
    // Without cache registers a die waits for its data; here each has a channel.
    let alone = ("device.channels", json!(8));
    let one = ("device.dies_per_package", json!(1));
    let plain = ("device.cache_commands", json!(false));
    assert_eq!(round_ns(&[alone.clone(), one.clone(), plain.clone()]), P + GROUP_NS);
    // Commands and spare areas cross the bus with each page.
    let more = [
        alone,
        one,
        plain,
        ("device.timing.command", json!("200ns")),
        ("device.spare_size", json!("1024B")),
    ];
    assert_eq!(round_ns(&more), P + 6 * (PAGE_NS + 1024 + 200));
}

#[test]
fn a_word_line_takes_its_time_however_it_is_programmed() {
    let per_page = [("device.cell.program", json!("per-page")), ("device.fill", json!("empty"))];
    // A group is then a page of each plane: a third of the bytes in a third of the time.
    let [few, many] = [40, 80].map(|rounds| {
        let mut keys = per_page.to_vec();
        keys.push(("device.buffer.power_loss_protected", json!(false)));
        let mut steps: Vec<_> =
            (0..rounds * DIES).map(|group| (0, Op::Write, group * 8, 8)).collect();
        steps.push((0, Op::Flush, 0, 0));
        run(&keys, &steps).last().unwrap().at
    });
    assert_eq!(many - few, 40 * P / 3);
    // Two passes of half the time each; since a flush does not wait for them, measured by the
    // completions. Over whole blocks, at whose ends the last word lines get their second pass.
    let [few, many] = [40, 80].map(|rounds| {
        let keys = [
            ("device.cell.program", json!("two-pass")),
            ("device.buffer.power_loss_protected", json!(true)),
            ("device.buffer.size", json!("4MiB")),
        ];
        drained(&keys, rounds * DIES).0
    });
    assert_eq!(many - few, 40 * P);
}

#[test]
fn writes_in_order_are_as_fast_with_any_map() {
    let of_map = |unit: &str, buffered: bool| -> (Time, u64) {
        let units = 98_304 / unit.parse::<options::Size>().unwrap().bytes();
        let config = with(&[("device.logical_page", json!(unit)), ("device.fill", json!("empty"))]);
        let mut ssd = Ssd::new(&config, 0).unwrap();
        let make = |id| Request::new(id, Op::Write, Lba(id * 192), 192);
        let (end, _) = run_closed(&mut ssd, &mut Closed::new(64, 1000, make));
        let report = ssd.account(end);
        assert!(buffered && report.buffered);
        assert_eq!((report.counts.padding_pages, report.counts.pages_moved), (0, 0));
        assert_eq!(report.write_amplification, Some(1.0));
        assert_eq!(report.counts.bytes_programmed, report.counts.host_bytes_written);
        assert!(report.counts.groups_programmed * units >= 1000 * units);
        (end, report.counts.groups_programmed)
    };
    let four = of_map("4KiB", true);
    assert_eq!(four.1, 1000, "groups are full");
    assert_eq!([of_map("8KiB", true), of_map("16KiB", true)], [four; 2]);
    // One that spans both planes.
    assert_eq!(of_map("32KiB", true), four);
}

#[test]
fn one_of_k_groups_is_parity() {
    let written = |of: u32, groups: u64| -> (Time, u64) {
        let config = with(&[("device.parity.of", json!(of)), ("device.fill", json!("empty"))]);
        let mut ssd = Ssd::new(&config, 0).unwrap();
        let make = |id| Request::new(id, Op::Write, Lba(id * 192), 192);
        let (end, _) = run_closed(&mut ssd, &mut Closed::new(64, groups, make));
        (end, ssd.account(end).counts.parity_pages)
    };
    for of in [2u32, 4, 8] {
        // As many groups of data as fill 8 and 16 blocks of 32 groups.
        let data = u64::from(32 / of * (of - 1));
        let [few, many] = [8, 16].map(|blocks| written(of, blocks * data));
        // It is counted when a block is full, which the last are not when the last write is answered.
        let parity = (many.1 - few.1) * u64::from(of - 1);
        assert_eq!(parity, 8 * data * UNITS, "one for each {} of data", of - 1);
        // Each block is four rounds, whatever its groups hold.
        assert_eq!(many.0 - few.0, 8 * 4 * P, "1 of {of}");
    }
    // A rest gets parity too: 32 groups are six times four and one, and seven of parity.
    let config = with(&[("device.parity.of", json!(5))]);
    let capacity = |of: u32| {
        let ssd = Ssd::new(&with(&[("device.parity.of", json!(of))]), 0).unwrap();
        engine::Device::capacity_sectors(&ssd)
    };
    assert_eq!(config.parity.of, 5);
    super::near(capacity(5) as f64, capacity(0) as f64 * 25.0 / 32.0, 1e-4, "exported");
}

/// Time of `rounds` reads of 4 KiB on each plane of each die, or on one plane of each.
fn reads_ns(changes: &super::Keys, planes: u64, rounds: u64) -> Time {
    let mut ssd = Ssd::new(&with(changes), 0).unwrap();
    let make = |id: u64| {
        let (die, plane) = (id % DIES, id / DIES % planes);
        // Another row of 64 KiB each time; a group has three.
        let row = id / DIES / planes;
        let page = (row / 3 % 100 * DIES + die) * UNITS + row % 3 * 8 + plane * 4;
        Request::new(id, Op::Read, Lba(page * 8), 8)
    };
    run_closed(&mut ssd, &mut Closed::new(128, DIES * planes * rounds, make)).0
}

#[test]
fn saturated_reads_are_as_fast_as_planes_and_bus_allow() {
    const SENSE: Time = 45_000;
    const PART: Time = 4096;
    let plain = ("device.cache_commands", json!(false));
    let independent = ("device.cell.planes", json!("independent"));
    let slow = ("device.timing.bus_rate", json!("100MT/s"));
    // Duration of a round over all planes.
    let round = |changes: &[(&'static str, Value)]| -> Time {
        let [few, many] = [100, 200].map(|rounds| reads_ns(changes, 2, rounds));
        assert_eq!((many - few) % 100, 0, "{few} and {many}");
        (many - few) / 100
    };
    assert_eq!(round(std::slice::from_ref(&plain)), 2 * (SENSE + PART));
    assert_eq!(round(&[plain.clone(), independent.clone()]), SENSE + PART);
    // With cache registers data leave while the next are sensed.
    assert_eq!(round(&[]), 2 * SENSE);
    assert_eq!(round(std::slice::from_ref(&independent)), SENSE);
    // Four planes of two dies on a channel: 4 x 41 us on the bus.
    assert_eq!(round(&[independent.clone(), slow.clone()]), 4 * 10 * PART);
    assert_eq!(round(&[plain, independent, slow]), 4 * 10 * PART);
}

#[test]
fn more_planes_of_smaller_pages_write_as_fast() {
    // A die on each channel: two would take turns by the page.
    let mut keys = vec![("device.channels", json!(8)), ("device.dies_per_package", json!(1))];
    let few = drained(&keys, 400);
    keys.extend([("device.planes_per_die", json!(4)), ("device.page_size", json!("8KiB"))]);
    assert_eq!(drained(&keys, 400), few);
}
