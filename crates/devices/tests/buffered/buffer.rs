//! The write buffer: what is answered when, flushes, padding, and what need not reach the flash.

use super::{DIES, GROUP_NS, P, PAGE_NS, UNITS, drained, prepared, random_writes, run, with};
use crate::common::{Script, Step, run_on};
use devices::latency;
use devices::ssd::Ssd;
use engine::{Completion, Lba, Op, Request, Time};
use serde_json::json;

fn volatile() -> Vec<(&'static str, serde_json::Value)> {
    vec![("device.buffer.power_loss_protected", json!(false)), ("device.fill", json!("empty"))]
}

#[test]
fn a_write_with_room_takes_the_time_of_link_and_firmware() {
    let keys = [
        ("device.firmware.cores", json!(2)),
        ("device.firmware.write", json!("9us")),
        ("device.firmware.read", json!("13us")),
        ("device.firmware.per_page", json!("1us")),
        ("device.host_link.latency", json!("2us")),
        ("device.host_link.bandwidth", json!("1GB/s")),
    ];
    // A group each 240 us is half of what the dies program.
    let steps: Vec<Step> = (0..4000).map(|n| (n * 10_000, Op::Write, n, 1)).collect();
    let mut keys = keys.to_vec();
    keys.push(("device.fill", json!("empty")));
    for done in run(&keys, &steps) {
        assert_eq!(done.latency(), 2_000 + 4_096 + 9_000 + 1_000);
        assert_eq!(done.breakdown[latency::FIRMWARE], 10_000);
    }
    // Three reads at once on two cores: the third waits for the first.
    let steps: Vec<Step> = (0..3).map(|n| (0, Op::Read, n, 1)).collect();
    keys.retain(|(key, _)| !key.contains("host_link"));
    let done = run(&keys, &steps);
    assert_eq!(done.iter().map(|it| it.at).collect::<Vec<_>>(), [14_000, 14_000, 28_000]);
}

#[test]
fn above_the_steady_rate_writes_wait_for_one_another() {
    let mut ssd = prepared(&with(&[]), 2);
    let done = random_writes(&mut ssd, 700, 30_000);
    // Between two instants: the writes of it, and how long they took.
    let part = &done[10_000..28_000];
    let ns = (part.last().unwrap().at - part[0].at) as f64;
    let mean = part.iter().map(|it| it.latency() as f64).sum::<f64>() / part.len() as f64;
    super::near(mean * part.len() as f64 / ns, 700.0, 0.01, "Little's law");
    let buffer: Time = part
        .iter()
        .map(|it| it.breakdown[latency::BUFFER] + it.breakdown[latency::CLEANING_WAIT])
        .sum();
    let all: Time = part.iter().map(Completion::latency).sum();
    assert!(buffer as f64 > 0.99 * all as f64, "{buffer} of {all}");
}

#[test]
fn a_flush_waits_for_all_data_that_a_power_cut_would_lose() {
    // Seven pages: a group, padded.
    let mut steps: Vec<Step> = (0..7).map(|n| (n, Op::Write, n * 100, 1)).collect();
    steps.push((10_000, Op::Flush, 0, 0));
    let mut ssd = Ssd::new(&with(&volatile()), 0).unwrap();
    let done = run_on(&mut ssd, Script::pages(&steps));
    assert!(done[..7].iter().all(|it| it.latency() == 0));
    assert_eq!(done[7].at, 10_000 + GROUP_NS + P);
    let counts = ssd.account(0).counts;
    assert_eq!((counts.groups_programmed, counts.padding_pages), (1, UNITS - 7));
    assert_eq!(counts.page_programs, UNITS);
    // A buffer that survives: its way only.
    let mut keys = volatile();
    keys[0].1 = json!(true);
    keys.push(("device.host_link.latency", json!("3us")));
    let mut ssd = Ssd::new(&with(&keys), 0).unwrap();
    let done = run_on(&mut ssd, Script::pages(&steps));
    assert_eq!(done[7].latency(), 3_000);
    assert_eq!(ssd.account(0).counts.padding_pages, 0);
}

#[test]
fn a_flush_waits_for_exactly_the_groups_before_it() {
    // Groups on dies 0 to 7, then two more on dies 0 and 1, of which the second is padded.
    let steps: &[Step] = &[
        (0, Op::Write, 0, 8 * UNITS as u32),
        (0, Op::Write, 5000, UNITS as u32 + 5),
        (0, Op::Flush, 0, 0),
        (1, Op::Write, 6000, 100 * UNITS as u32 / 10),
    ];
    let done = run(&volatile(), steps);
    // Dies 0 and 4 share a channel, by the page: 0 is loaded after 11, and then programs twice.
    assert_eq!(done[2].at, 11 * PAGE_NS + 2 * P);
    // Nothing is left to wait for.
    let done = run(
        &volatile(),
        &[(0, Op::Write, 0, 1), (0, Op::Flush, 0, 0), (5_000_000, Op::Flush, 0, 0)],
    );
    assert_eq!(done[2].latency(), 0);
}

#[test]
fn a_forced_write_waits_for_its_group() {
    for (protected, expected) in [(true, 0), (false, GROUP_NS + P)] {
        let mut keys = volatile();
        keys[0].1 = json!(protected);
        let mut ssd = Ssd::new(&with(&keys), 0).unwrap();
        let make = |id| Request { fua: true, ..Request::new(id, Op::Write, Lba(id * 80), 8) };
        let mut load = crate::common::Closed::new(1, 5, make);
        let (_, done) = crate::common::run_closed(&mut ssd, &mut load);
        // One at a time: each pads a group of its own.
        assert!(done.iter().all(|it| it.latency() == expected), "{protected}: {done:?}");
        let padded = if protected { 0 } else { 5 * (UNITS - 1) };
        assert_eq!(ssd.account(0).counts.padding_pages, padded);
    }
}

#[test]
fn a_group_lingers_and_is_padded() {
    let mut keys = volatile();
    keys[0].1 = json!(true);
    keys.push(("device.buffer.linger", json!("1ms")));
    let mut ssd = Ssd::new(&with(&keys), 0).unwrap();
    // Five pages within a millisecond, three after it, a read of each kind.
    let steps: Vec<Step> = (0..8)
        .map(|n| (if n < 5 { n * 100_000 } else { 2_000_000 + n }, Op::Write, n, 1))
        .chain([(1_000_000 + GROUP_NS + P - 1, Op::Read, 0, 1)])
        .chain([(5_000_000, Op::Read, 0, 1), (5_000_000, Op::Read, 7, 1)])
        .collect();
    let done = run_on(&mut ssd, Script::pages(&steps));
    let counts = ssd.account(0).counts;
    assert_eq!((counts.groups_programmed, counts.padding_pages), (2, 2 * UNITS - 8));
    // Until the last nanosecond of its programming it is read from the buffer.
    assert_eq!(done[8].latency(), 0);
    assert!(done[9..].iter().all(|it| it.latency() >= 45_000 + 4096), "{:?}", &done[9..]);
    assert_eq!(counts.read_hits, 1);
}

#[test]
fn what_is_in_the_buffer_is_read_and_written_there() {
    let mut keys = volatile();
    keys[0].1 = json!(true);
    let mut ssd = Ssd::new(&with(&keys), 0).unwrap();
    let mut steps: Vec<Step> = (0..10).map(|n| (n, Op::Write, n, 1)).collect();
    steps.extend((0..100).map(|n| (1000 + n, Op::Write, n % 10, 1)));
    steps.extend((0..10).map(|n| (5000 + n, Op::Read, n, 1)));
    let done = run_on(&mut ssd, Script::pages(&steps));
    assert!(done.iter().all(|it| it.latency() == 0));
    let counts = ssd.account(0).counts;
    assert_eq!(
        (counts.read_hits, counts.replaced_pages, counts.host_pages_written),
        (10, 100, 110)
    );
    assert_eq!((counts.page_reads, counts.page_programs, counts.groups_programmed), (0, 10, 0));
    // A page that is on its way into the flash is not replaced, and its copy there is then superseded.
    let steps: Vec<Step> =
        (0..UNITS).map(|n| (0, Op::Write, n, 1)).chain([(1, Op::Write, 3, 1)]).collect();
    let mut ssd = Ssd::new(&with(&keys), 0).unwrap();
    run_on(&mut ssd, Script::pages(&steps));
    let counts = ssd.account(0).counts;
    assert_eq!((counts.replaced_pages, counts.page_programs), (0, UNITS + 1));
}

#[test]
fn a_partial_write_reads_the_rest_unless_it_is_in_the_buffer() {
    let mut ssd = Ssd::new(&with(&[("device.logical_page", json!("16KiB"))]), 0).unwrap();
    let steps = [(0, Op::Write, 8, 1), (1_000_000, Op::Write, 9, 1)];
    let done = run_on(&mut ssd, Script::pages(&steps));
    assert_eq!(done[0].latency(), 45_000 + PAGE_NS);
    assert_eq!(done[1].latency(), 0);
    assert_eq!(ssd.account(0).counts.merge_reads, 1);
}

#[test]
fn word_lines_stay_in_the_buffer_between_their_passes() {
    for distance in [1, 2, 3] {
        let keys = [
            ("device.fill", json!("empty")),
            ("device.pages_per_block", json!(48)),
            ("device.cell.program", json!("two-pass")),
            ("device.cell.distance", json!(distance)),
            ("device.buffer.size", json!("4MiB")),
        ];
        let mut ssd = Ssd::new(&with(&keys), 0).unwrap();
        let groups = 10 * DIES;
        let mut steps: Vec<Step> =
            (0..groups).map(|group| (0, Op::Write, group * UNITS, UNITS as u32)).collect();
        // Long after: a page of each group.
        steps.extend((0..groups).map(|group| (1_000_000_000, Op::Read, group * UNITS, 1)));
        let done = run_on(&mut ssd, Script::pages(&steps));
        let reads = &done[groups as usize..];
        let here: Vec<bool> = reads.iter().map(|it| it.latency() == 0).collect();
        let held = (distance * DIES) as usize;
        let flash = here.len() - held;
        assert!(here[..flash].iter().all(|here| !here), "{distance}: {here:?}");
        assert!(here[flash..].iter().all(|here| *here), "{distance}: {here:?}");
        assert_eq!(ssd.account(0).counts.read_hits, held as u64);
    }
}

#[test]
fn data_of_a_group_are_loaded_once_for_each_pass() {
    let bus = |program: &str| {
        let keys = [
            ("device.cell.program", json!(program)),
            ("device.buffer.size", json!("4MiB")),
            ("device.fill", json!("empty")),
        ];
        let mut ssd = Ssd::new(&with(&keys), 0).unwrap();
        // Whole superblocks.
        let groups = 4 * DIES * 4;
        let steps: Vec<Step> =
            (0..groups).map(|group| (0, Op::Write, group * UNITS, UNITS as u32)).collect();
        run_on(&mut ssd, Script::pages(&steps));
        let end = 1_000_000_000;
        engine::Device::advance(&mut ssd, end, &mut Vec::new());
        let busy: f64 = ssd.account(end).bus_busy.iter().sum();
        (busy * end as f64 / (groups * GROUP_NS) as f64).round()
    };
    assert_eq!((bus("one-shot"), bus("two-pass")), (1.0, 2.0));
    assert!(drained(&[], 8).1 >= GROUP_NS + P);
}
