//! The account of energy against closed forms.

use crate::common::{Closed, run_closed};
use devices::energy::FOLLOWED;
use devices::ssd::account::Counter;
use devices::{DeviceConfig, DeviceKind as _, EnergyReport, Instruction, Model};
use engine::{Completion, Lba, Op, Random, Request, Time, Xoshiro256};
use serde_json::{Value, json};

/// 3.3 V x 25 mA.
const WATTS: f64 = 0.0825;

fn built(kind: &str, keys: Value) -> Box<dyn Model> {
    let config = DeviceConfig::resolve(kind, [keys]);
    config.unwrap_or_else(|error| panic!("{error:?}")).build(0).unwrap()
}

/// The currents of the baseline: 25 mA whatever is done.
fn currents() -> Value {
    json!({ "read": "25mA", "program": "25mA", "erase": "25mA", "bus": "25mA" })
}

/// The drive of Agrawal et al. but for the number of its blocks.
fn baseline(energy: &Value) -> Box<dyn Model> {
    let keys = json!({
        "blocks_per_plane": 64,
        "energy": energy,
        "cleaning": { "time": "blocking", "min_free": 0.05 },
    });
    built("ssd", keys)
}

/// Random requests of 4 KiB at a fixed queue depth.
fn random(
    device: &mut dyn Model,
    op: Op,
    outstanding: u32,
    requests: u64,
) -> (Time, Vec<Completion>) {
    let pages = device.capacity_sectors() / 8;
    let mut random = Xoshiro256::new(1, 0);
    let places: Vec<u64> = (0..requests).map(|_| random.below(pages) * 8).collect();
    let request = |id: u64| Request::new(id, op, Lba(places[id as usize]), 8);
    run_closed(device, &mut Closed::new(outstanding, requests, request))
}

fn energy(device: &dyn Model, end: Time) -> EnergyReport {
    device.energy_report(end).expect("it is known")
}

fn close(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found}, not {expected}");
}

/// Everything under way has ended.
fn drained(device: &mut dyn Model, end: Time) -> Time {
    let (mut now, mut done) = (end, Vec::new());
    while let Some(next) = device.next_event() {
        now = next;
        device.advance(now, &mut done);
    }
    now
}

#[test]
fn the_energy_of_a_page_is_that_of_its_stages() {
    let mut device = baseline(&currents());
    let (end, _) = random(device.as_mut(), Op::Read, 1, 1_000);
    let report = energy(device.as_ref(), end);
    // 25 us of sensing and 4,224 bytes at 25 ns.
    close(report.flash / 1e3, 2.0625e-6, 1e-9);
    close(report.bus / 1e3, 8.712e-6, 1e-9);
    close(report.joules() / 1e3, 10.8e-6, 0.01);
    assert_eq!(report.reads, Some(report.operations()));
    // A write of an erased drive also programs a summary page for each 63.
    let keys = json!({ "fill": "empty", "energy": currents() });
    let mut device = built("ssd", keys);
    let (end, _) = random(device.as_mut(), Op::Write, 1, 50_000);
    let report = energy(device.as_ref(), end);
    close(report.joules() / 50e3, 25.5e-6, 0.01);
    close(report.reads.unwrap() + 1.0, 1.0, 1e-12);
}

#[test]
fn with_one_current_power_is_that_of_the_busy_packages() {
    for op in [Op::Read, Op::Write] {
        let mut device = baseline(&currents());
        let (end, _) = random(device.as_mut(), op, 200, 20_000);
        let end = drained(device.as_mut(), end);
        let report = energy(device.as_ref(), end);
        let busy: f64 =
            device.report(end).list("units").iter().filter_map(|unit| unit.number("busy")).sum();
        assert!(busy > 7.0, "{busy} packages are busy");
        let seconds = end as f64 / 1e9;
        close(report.joules() / seconds, busy * WATTS, 1e-9);
        close(report.utilisation, busy / 8.0, 1e-12);
        // Eight packages that never rest take 0.66 W, whatever they do.
        close(report.joules() / seconds / report.utilisation, 0.66, 1e-9);
    }
}

#[test]
fn a_steady_random_write_takes_165_microjoules() {
    let mut device = baseline(&currents());
    let pages = device.facts().pages;
    let mut lots = Xoshiro256::new(2, 0);
    let places: Vec<u64> = (0..4 * pages).map(|_| lots.below(pages)).collect();
    device.overwrite_untimed(&places, 0);
    device.instruct(0, Instruction::ResetCounts).unwrap();
    let requests = 100_000;
    let (end, _) = random(device.as_mut(), Op::Write, 64, requests);
    let end = drained(device.as_mut(), end);
    let report = energy(device.as_ref(), end);
    let amplification = device.report(end).number("flash.write_amplification").unwrap();
    // The write, moves of what was valid and the share of an erase of 63 pages, all with a summary page
    // for each 63; a move crosses the bus twice.
    let (sense, cross, program, erase) = (25e-6, 105.6e-6, 200e-6, 1.5e-3 / 63.0);
    let summary = (200e-6 + 528.0 * 25e-9) / 63.0;
    let write = cross + program + summary;
    let moved = sense + 2.0 * cross + program + summary;
    let expected = WATTS * (write + (amplification - 1.0) * moved + amplification * erase);
    close(report.joules() / requests as f64, expected, 0.01);
    // At the amplification of the paper's baseline, without summary pages as the specification has it.
    let of = |amplification: f64| 25.5 + (amplification - 1.0) * 36.3 + amplification * 1.96;
    close(of(4.6), 165.0, 0.01);
    let per_write = report.joules() / requests as f64 * 1e6;
    close(per_write, of(amplification), 0.05);
}

#[test]
fn measured_energies_take_the_place_of_current_and_time() {
    let measured = json!({ "page_read": "3uJ", "page_program": "30uJ", "block_erase": "100uJ" });
    let mut device = baseline(&measured);
    let (end, _) = random(device.as_mut(), Op::Write, 8, 30_000);
    let end = drained(device.as_mut(), end);
    let counts = device.report(end);
    assert!(counts.count("flash.block_erases") > 0);
    let programs = counts.count("flash.page_programs") + counts.count("flash.summary_programs");
    let expected = 3e-6 * counts.count("flash.page_reads") as f64
        + 30e-6 * programs as f64
        + 100e-6 * counts.count("flash.block_erases") as f64;
    close(energy(device.as_ref(), end).joules(), expected, 1e-9);
}

/// Idle parts use their power all the time.
#[test]
fn standby_and_controller_draw_constant_power() {
    let mut device = baseline(&json!({ "standby": "50uA", "controller": "240mW" }));
    let (end, _) = random(device.as_mut(), Op::Read, 1, 100);
    let report = energy(device.as_ref(), end);
    let seconds = end as f64 / 1e9;
    close(report.idle, 16.0 * 50e-6 * 3.3 * seconds, 1e-9);
    close(report.controller, 0.24 * seconds, 1e-9);
    close(report.constant_watts, 0.24 + 16.0 * 50e-6 * 3.3, 1e-9);
    assert!(report.flash + report.bus <= 0.0);
}

/// A drive with a write buffer: three pages of each of two planes are programmed at once.
#[test]
fn the_energy_of_a_group_is_that_of_its_dies() {
    let keys = |energy: Value| {
        json!({
            "channels": 2, "dies_per_package": 2, "planes_per_die": 2, "blocks_per_plane": 32,
            "pages_per_block": 48, "summary_page": false, "cell": { "bits": 3 },
            "timing": { "read": "50us", "program": "1800us", "erase": "3ms" },
            "buffer": { "size": "4MiB" }, "energy": energy,
        })
    };
    let run = |energy_keys: Value, op: Op| {
        let mut device = built("ssd", keys(energy_keys));
        let (end, _) = random(device.as_mut(), op, 32, 30_000);
        let end = drained(device.as_mut(), end);
        let report = energy(device.as_ref(), end);
        (device.report(end), report)
    };
    let (counts, report) = run(json!({ "program": "20mA" }), Op::Write);
    assert!(counts.count("flash.block_erases") > 0);
    close(
        report.flash,
        3.3 * 0.02 * 1800e-6 * counts.count("buffer.groups_programmed") as f64,
        1e-9,
    );
    let (counts, report) = run(json!({ "page_program": "10uJ" }), Op::Write);
    close(report.flash, 10e-6 * 6.0 * counts.count("buffer.groups_programmed") as f64, 1e-9);
    let (counts, report) = run(json!({ "erase": "20mA" }), Op::Write);
    // A superblock of four dies is erased at once, and counted once.
    let dies = 4.0 * counts.count("flash.block_erases") as f64;
    close(report.flash, 3.3 * 0.02 * 3e-3 * dies, 1e-9);
    let (counts, report) = run(json!({ "read": "20mA" }), Op::Read);
    close(report.flash, 3.3 * 0.02 * 50e-6 * counts.count("flash.page_reads") as f64, 0.02);
    assert_eq!(report.reads, Some(report.flash));
    let (counts, report) = run(json!({ "bus": "20mA" }), Op::Read);
    close(report.bus, 3.3 * 0.02 * 25e-9 * 4224.0 * counts.count("flash.page_reads") as f64, 0.02);
}

#[test]
fn a_disk_draws_idle_seek_and_transfer_power() {
    let keys = json!({ "energy": { "idle": "8W", "seek": "4W", "transfer": "2W" } });
    let mut device = built("disk", keys);
    let (end, _) = random(device.as_mut(), Op::Read, 1, 2_000);
    let report = energy(device.as_ref(), end);
    let disk = device.report(end);
    let share = |ns: Time| ns as f64 / end as f64;
    let watts = 8.0
        + 4.0 * share(disk.count("disk.mean_us.seek"))
        + 2.0 * share(disk.count("disk.mean_us.transfer"));
    close(report.joules() / (end as f64 / 1e9), watts, 1e-9);
    assert!(watts > 10.0, "seeks take most of the time: {watts} W");
    assert_eq!(report.reads, Some(report.mechanics));
    close(report.constant_watts, 8.0, 1e-12);
}

#[test]
fn a_law_of_service_times_draws_active_or_idle_power() {
    let energy_keys = json!({ "active": "1W", "idle": "100mW" });
    let mut device = built("linear", json!({ "energy": energy_keys }));
    let (end, _) = random(device.as_mut(), Op::Read, 1, 100);
    close(energy(device.as_ref(), end).joules() / (end as f64 / 1e9), 1.0, 1e-9);
    // The same, and then nothing for as long.
    close(energy(device.as_ref(), 2 * end).joules() / (end as f64 / 1e9), 1.1, 1e-9);
    close(energy(device.as_ref(), 2 * end).utilisation, 0.5, 1e-9);
    // Of several at once, in proportion.
    let lines = json!("1: 1ms + 0us/KiB, 4: 1ms + 0us/KiB");
    let keys = json!({ "energy": { "active": "1W", "idle": "100mW" }, "random_read": lines,
        "sequential_read": lines, "random_write": lines, "sequential_write": lines });
    let mut device = built("parallel", keys);
    let (end, _) = random(device.as_mut(), Op::Read, 1, 100);
    close(energy(device.as_ref(), end).joules() / (end as f64 / 1e9), 0.1 + 0.9 / 4.0, 1e-9);
}

#[test]
fn the_energy_of_an_array_is_the_sum_over_its_members() {
    let member = json!({ "blocks_per_plane": 64, "energy": currents() });
    let keys = |redundancy: &str| json!({ "members": 4, "redundancy": redundancy });
    let array = |redundancy: &str| {
        let mut config = DeviceConfig::resolve("array", [keys(redundancy)]).unwrap();
        *config.within_mut().remove(0).1 = DeviceConfig::resolve("ssd", [member.clone()]).unwrap();
        config.build(0).unwrap()
    };
    let mut device = array("none");
    let (end, _) = random(device.as_mut(), Op::Read, 1, 1_000);
    let report = energy(device.as_ref(), end);
    close(report.joules() / 1e3, 10.77e-6, 0.01);
    assert_eq!(report.devices, 4);
    // A small write of parity reads two pages and writes two.
    let mut device = array("parity");
    let (end, _) = random(device.as_mut(), Op::Write, 1, 500);
    let report = energy(device.as_ref(), end);
    assert!(report.joules() / 500.0 > 2.0 * (10.7e-6 + 25.2e-6), "{}", report.joules());
    assert_eq!(report.reads, None, "what members read is not what the host does");
}

#[test]
fn devices_without_energy_keys_report_no_energy() {
    for (kind, keys) in
        [("ssd", json!({ "blocks_per_plane": 64 })), ("disk", json!({})), ("linear", json!({}))]
    {
        let mut device = built(kind, keys);
        let (end, _) = random(device.as_mut(), Op::Read, 1, 10);
        assert_eq!(device.energy_report(end), None, "{kind}");
    }
}

#[test]
fn a_reset_of_the_counts_resets_the_energy() {
    for (kind, keys) in [
        (
            "ssd",
            json!({ "blocks_per_plane": 64, "energy": { "read": "25mA", "controller": "1W" } }),
        ),
        ("disk", json!({ "energy": { "idle": "8W", "seek": "4W" } })),
        ("linear", json!({ "energy": { "active": "2W", "idle": "1W" } })),
    ] {
        let mut device = built(kind, keys);
        let (end, _) = random(device.as_mut(), Op::Read, 1, 50);
        device.instruct(end, Instruction::BeginAccount).unwrap();
        let report = energy(device.as_ref(), end + 1_000_000_000);
        assert_eq!(report.time_ns, 1_000_000_000, "{kind}");
        assert!(report.operations() <= 0.0, "{kind}");
        close(report.joules(), report.constant_watts, 1e-9);
    }
}

#[test]
fn an_active_device_takes_no_less_than_an_idle_one() {
    let keys = json!({ "energy": { "active": "1W", "idle": "2W" } });
    let error = DeviceConfig::resolve("linear", [keys]).unwrap().build(0).err().unwrap();
    assert_eq!(error.keys, ["device.energy.active", "device.energy.idle"]);
}

#[test]
fn no_counter_has_the_place_of_energy_among_sampled_figures() {
    assert!(Counter::over_time().iter().all(|(_, place, _)| *place != FOLLOWED));
}
