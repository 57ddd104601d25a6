//! Drives with a write buffer: losses in a cut, how long capacitors last, and how long a start
//! takes.

use crate::drives;
use devices::Model;
use devices::ssd::config::{LevellingRule, Pace, Persistence, Program, Reclaim, Recovery};
use devices::ssd::power::PowerReport;
use devices::ssd::{Geometry, Ssd, SsdConfig};
use engine::{Device, Lba, Op, Request, Time};
use options::{BusRate, Duration, Size};

/// Planes of a die of [`drive`], and bytes of a group: a word line of three bits of all planes.
const PLANES: u32 = 2;
const GROUP: u64 = 3 * 2 * 16_384;
/// A page and its spare area over the bus, and a group; programming it.
const PAGE_NS: Time = (16_384 + 1_024) * 1_000 / 400;
const PROGRAM_NS: Time = 1_200_000;

/// Two channels with two dies each, which work in parallel.
fn drive(protected: bool) -> SsdConfig {
    let mut config = SsdConfig {
        channels: 2,
        packages_per_channel: 2,
        dies_per_package: 1,
        planes_per_die: PLANES,
        blocks_per_plane: 32,
        pages_per_block: 48,
        page_size: Size::from_bytes(16_384),
        spare_size: Size::from_bytes(1_024),
        logical_page: Some(Size::from_bytes(4_096)),
        summary_page: false,
        spare_factor: Some(0.3),
        ..SsdConfig::default()
    };
    config.fill = serde_json::from_str("\"empty\"").expect("a word");
    config.cell.bits = 3;
    config.timing.program = Duration::from_ns(PROGRAM_NS);
    config.timing.bus_rate = Some(BusRate::of(400));
    config.buffer.size = Size::from_bytes(16 * GROUP);
    config.buffer.power_loss_protected = protected;
    config.persistence = Persistence { recovery: Recovery::Spare, ..Persistence::default() };
    config
}

/// Writes `groups` groups, cuts the power at once, and returns the report.
fn cut_after(config: &SsdConfig, groups: u64, flushes: bool) -> PowerReport {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let sectors = (GROUP / 512) as u32;
    let mut done = Vec::new();
    for id in 0..groups {
        ssd.submit(0, Request::new(id, Op::Write, Lba(id * u64::from(sectors)), sectors));
    }
    let mut now = 0;
    if flushes {
        ssd.submit(0, Request::new(groups, Op::Flush, Lba(0), 0));
    }
    let asked = groups as usize + usize::from(flushes);
    while done.len() < asked {
        now = ssd.next_event().expect("it is being served");
        ssd.advance(now, &mut done);
    }
    ssd.cut(now, &mut done);
    ssd.power_on(now);
    while let Some(at) = ssd.next_event() {
        ssd.advance(at, &mut done);
    }
    ssd.audit().unwrap();
    ssd.power_report().unwrap().clone()
}

#[test]
fn a_volatile_buffer_is_lost_and_a_flush_saves_it() {
    let report = cut_after(&drive(false), 6, false);
    assert_eq!((report.acknowledged_lost, report.durable_lost), (6 * 24, 0));
    let report = cut_after(&drive(false), 6, true);
    assert_eq!((report.acknowledged_lost, report.durable_lost), (0, 0));
    assert_eq!(report.unacknowledged_lost, 0);
}

#[test]
fn a_protected_buffer_is_programmed_when_the_power_goes() {
    let report = cut_after(&drive(true), 6, false);
    assert_eq!((report.acknowledged_lost, report.durable_lost), (0, 0));
}

/// The number of groups that each die must still program is known, each after its transfer. Capacitors
/// with that energy lose nothing; with less, each die loses an acknowledged group.
#[test]
fn capacitors_suffice_or_do_not() {
    let load = u64::from(PLANES) * 3 * PAGE_NS;
    // Two dies of a channel take turns on its bus, and a die loads and programs in turn: the second
    // begins later by a load. Of eight groups each die has two, the first of which is on its way.
    let needed = load + 2 * (load + PROGRAM_NS);
    let held = |ns: Time| {
        let mut config = drive(true);
        // E = P t and C = 2 E / (eta (V1^2 - V2^2)).
        let joules = config.power.watts.0.watts() * ns as f64 / 1e9;
        let (high, low) = (config.power.voltage.0.volts(), config.power.cutoff.0.volts());
        let farads = 2.0 * joules / (config.power.efficiency * (high * high - low * low));
        config.power.capacitance = Some(format!("{:.0}nF", farads * 1e9).parse().unwrap());
        cut_after(&config, 8, false)
    };
    assert_eq!(held(needed + 1_000).durable_lost, 0);
    let units = GROUP / 4_096;
    let lost = held(load + PROGRAM_NS + load + 1_000).durable_lost;
    assert_eq!(lost, 4 * units);
    assert_eq!(held(1_000).durable_lost, 8 * units);
}

/// Word lines between their passes are programmed again from the buffer, or lost with it.
#[test]
fn the_energy_of_two_passes_is_that_of_both() {
    let mut config = drive(true);
    config.cell.program = Program::TwoPass;
    let report = cut_after(&config, 12, false);
    assert_eq!((report.durable_lost, report.torn_pages), (0, 0));
    config.power.capacitance = "100nF".parse().ok();
    let report = cut_after(&config, 12, false);
    assert!(report.durable_lost > 0, "{report:?}");
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.01, "{found} s, and {expected} s expected");
}

/// With n reads of b bytes on a bus that k dies share: `T = max(n t(b), n (t_R + t(b)) / k)`.
#[test]
fn a_start_takes_the_reads_of_its_dies() {
    let bus = |bytes: f64| bytes / 400e6;
    let form = |reads: f64, bytes: f64, dies: f64| {
        (reads * bus(bytes)).max(reads * (25e-6 + bus(bytes)) / dies)
    };
    // Two pages are written by each start.
    let group = f64::from(PLANES * 3) * PAGE_NS as f64 / 1e9;
    let records = 2.0 * (group + PROGRAM_NS as f64 / 1e9);
    for (packages, reclaim) in
        [(1, Reclaim::Superblock), (2, Reclaim::Superblock), (2, Reclaim::Block)]
    {
        let mut config = SsdConfig { packages_per_channel: packages, ..drive(true) };
        config.cleaning.reclaim = reclaim;
        let dies = f64::from(packages);
        let report = cut_after(&config, 0, true);
        // 32 blocks of 48 rows of two planes.
        let reads = dies * 32.0 * 48.0;
        near(report.recoveries_ns[0] as f64 / 1e9, form(reads, 2.0 * 1_024.0, dies) + records);
        assert_eq!(report.pages_read, 2 * reads as u64);

        config.summary_page = true;
        config.persistence.recovery = Recovery::Summary;
        let geometry = Geometry::new(&config).unwrap();
        let report = cut_after(&config, 0, true);
        let blocks = f64::from(geometry.blocks()) / 2.0;
        let bytes = f64::from(geometry.data_pages) * 8.0 + 24.0;
        let row = 2.0 * 16_384.0;
        let parts = (bytes / row).ceil();
        // And a spare area on each die of each erased or open block.
        let rest = report.pages_read as f64 / 2.0 - blocks * parts;
        let found = report.recoveries_ns[0] as f64 / 1e9;
        near(
            found,
            form(blocks * parts, bytes / parts, dies) + form(rest, 2_048.0, dies) + records,
        );
    }
}

/// The drives of the search are of all kinds.
#[test]
fn buffered_drives_of_all_kinds_are_cut() {
    let all: Vec<SsdConfig> = (0..3000).map(drives::config).collect();
    let some = |wanted: &dyn Fn(&SsdConfig) -> bool| {
        let possible = |config: &&SsdConfig| {
            wanted(config) && drives::with_least_spare(&mut (*config).clone()).is_some()
        };
        assert!(all.iter().filter(|it| it.is_buffered()).filter(possible).count() > 5);
    };
    for recovery in [Recovery::Spare, Recovery::Summary, Recovery::Checkpoint] {
        for protected in [true, false] {
            some(&|it| {
                let buffer = &it.buffer;
                it.persistence.recovery == recovery && buffer.power_loss_protected == protected
            });
        }
    }
    for program in [Program::OneShot, Program::TwoPass, Program::PerPage] {
        some(&|it| it.cell.program == program);
    }
    some(&|it| it.parity.of > 0);
    some(&|it| it.cleaning.reclaim == Reclaim::Block);
    let caches = |it: &SsdConfig| it.slc_cache.dynamic > 0.0;
    let by_summary = |it: &SsdConfig| it.persistence.recovery != Recovery::Spare;
    let levels = |it: &SsdConfig| it.cleaning.levelling.rule != LevellingRule::None;
    some(&|it| caches(it) && by_summary(it));
    some(&|it| caches(it) && it.parity.of > 0);
    some(&|it| caches(it) && levels(it));
    some(&|it| caches(it) && it.fdp.handles > 1);
    some(&|it| levels(it) && it.fdp.handles > 1);
    some(&|it| caches(it) && it.cleaning.pace != Pace::Token);
}
