//! Each key of a zoned drive changes a result in the right direction, and what contradicts itself is refused.

use super::{SMALL, ask, closed, config, drive, report, request, settle, write_up_to};
use devices::ssd::zoned::ZonedDrive;
use devices::{DeviceKind as _, Report};
use engine::{Device, Op, Status, Time};
use options::Setting;

/// What a load of everything comes to: of 13 zones, of which some are reset, finished and read.
struct Load {
    figure: fn(&Outcome) -> f64,
}

struct Outcome {
    write_ns: f64,
    append_ns: f64,
    read_ns: f64,
    reset_ns: f64,
    manage_ns: f64,
    spread_ns: f64,
    elapsed_ns: f64,
    capacity: f64,
    report: Report,
    refused: f64,
}

fn run(text: &str) -> Outcome {
    let mut drive = drive(text);
    let capacity = drive.capacity_sectors();
    let limits = *drive.zones().limits();
    let mut now = 0;
    let mut failed = 0;
    let mut mean =
        |drive: &mut ZonedDrive, now: &mut Time, requests: &[engine::Request]| -> (f64, f64) {
            let answers = ask(drive, now, requests);
            failed += answers.iter().filter(|it| it.status != Status::Ok).count();
            let all: Vec<f64> = answers.iter().map(|it| it.latency() as f64).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let spread = all.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / all.len() as f64;
            (mean, spread.sqrt())
        };
    let first = (0..limits.zones).find(|zone| drive.zones().look(*zone).pointer == 0).unwrap_or(0);
    let at = |zone: u32| u64::from(first + zone) * limits.size;
    let writes: Vec<_> = (0..limits.capacity / 256 / 2)
        .flat_map(|number| (0..2).map(move |zone| (zone, number * 256)))
        .map(|(zone, sector)| request(Op::Write, at(zone) + sector, 256))
        .collect();
    let (write_ns, _) = mean(&mut drive, &mut now, &writes);
    // Reads of what is programmed, beside what is being programmed.
    settle(&mut drive, &mut now);
    let more: Vec<_> = (0..3).map(|number| request(Op::Write, at(2) + number * 256, 256)).collect();
    mean(&mut drive, &mut now, &more);
    let reads: Vec<_> = (0..40)
        .map(|number| request(Op::Read, at(number % 2) + u64::from(number) / 2 * 8, 8))
        .collect();
    let (read_ns, _) = mean(&mut drive, &mut now, &reads);
    let small: Vec<_> =
        (0..40).map(|number| request(Op::Write, at(2) + 768 + number * 8, 8)).collect();
    let (_, spread_ns) = mean(&mut drive, &mut now, &small);
    let appends: Vec<_> = (0..40).map(|_| request(Op::Append, at(3), 8)).collect();
    let (append_ns, _) = mean(&mut drive, &mut now, &appends);
    let opens: Vec<_> = (4..7).map(|zone| request(Op::Open, at(zone), 1)).collect();
    let (manage_ns, _) = mean(&mut drive, &mut now, &opens);
    mean(&mut drive, &mut now, &[request(Op::Finish, at(1), 1)]);
    let (reset_ns, _) = mean(&mut drive, &mut now, &[request(Op::Reset, at(0), 1)]);
    let across = request(Op::Read, at(1) - 8, 16);
    let large = request(Op::Append, at(3), 256);
    mean(&mut drive, &mut now, &[across, large]);
    for _ in 0..4 {
        write_up_to_if(&mut drive, &mut now, at(0));
        mean(&mut drive, &mut now, &[request(Op::Reset, at(0), 1)]);
    }
    let window = [
        request(Op::OpenWindow, at(9), 1),
        request(Op::Write, at(9) + 64, 8),
        request(Op::Commit, at(9), 32),
    ];
    mean(&mut drive, &mut now, &window);
    mean(&mut drive, &mut now, &[request(Op::Write, at(9) + 320, 8)]);
    mean(&mut drive, &mut now, &[request(Op::Flush, 0, 0)]);
    let many = closed(&mut drive, &mut now, 64, 200, |number| {
        request(Op::Read, at(1) + number % 64 * 8, 8)
    });
    let elapsed_ns = many.iter().map(engine::Completion::latency).sum::<Time>() as f64;
    settle(&mut drive, &mut now);
    let report = report(&drive, now);
    let refused = failed as f64;
    Outcome {
        write_ns,
        append_ns,
        read_ns,
        reset_ns,
        manage_ns,
        spread_ns,
        elapsed_ns,
        capacity: capacity as f64,
        report,
        refused,
    }
}

fn write_up_to_if(drive: &mut ZonedDrive, now: &mut Time, start: u64) {
    let zone = drive.zones().place(start).0;
    if drive.zones().look(zone).state == devices::ssd::zoned::State::Empty {
        write_up_to(drive, now, start, 0, 256.min(drive.zones().look(zone).capacity));
    }
}

fn busy(it: &Outcome) -> f64 {
    it.report.number("dies_busy").unwrap()
}

/// Keys of a table, one of them with two values, a figure, and whether it rises from the first to the second.
const ROWS: &[(&str, &str, [&str; 2], Load, bool)] = &[
    ("", "channels", ["2", "1"], Load { figure: |it| it.read_ns }, true),
    (
        "",
        "dies_per_channel",
        ["2", "4"],
        Load { figure: |it| it.report.count("erases") as f64 },
        true,
    ),
    ("", "planes_per_die", ["2", "4"], Load { figure: busy }, false),
    ("", "page_size", ["'16KiB'", "'32KiB'"], Load { figure: busy }, false),
    (
        "",
        "pages_per_block",
        ["6", "2"],
        Load { figure: |it| it.report.count("erases") as f64 },
        true,
    ),
    ("", "bits", ["2", "3"], Load { figure: busy }, false),
    ("", "zones.count", ["16", "20"], Load { figure: |it| it.capacity }, true),
    ("", "zones.size", ["'1MiB'", "'2MiB'"], Load { figure: |it| it.capacity }, true),
    (
        "",
        "zones.capacity",
        ["'768KiB'", "'512KiB'"],
        Load { figure: |it| it.report.count("padding_bytes") as f64 },
        false,
    ),
    (
        "",
        "zones.open",
        ["4", "6"],
        Load { figure: |it| it.report.count("closed_by_controller") as f64 + it.refused },
        false,
    ),
    ("", "zones.active", ["6", "12"], Load { figure: |it| it.refused }, false),
    ("", "zones.append_limit", ["'128KiB'", "'64KiB'"], Load { figure: |it| it.refused }, true),
    ("", "zones.width", ["4", "2"], Load { figure: |it| it.reset_ns }, true),
    (
        "pages_per_block = 12",
        "zones.parity_of",
        ["0", "4"],
        Load { figure: |it| it.report.count("parity_bytes") as f64 },
        true,
    ),
    ("", "zones.read_across", ["true", "false"], Load { figure: |it| it.refused }, true),
    (
        "zones.erase = 'at-open'",
        "zones.reset",
        ["'1ms'", "'2ms'"],
        Load { figure: |it| it.reset_ns },
        true,
    ),
    (
        "zones.erase = 'at-open'",
        "zones.reset_page",
        ["'0ns'", "'1us'"],
        Load { figure: |it| it.reset_ns },
        true,
    ),
    (
        "zones.erase = 'at-open'",
        "zones.close",
        ["'0ns'", "'1ms'"],
        Load { figure: |it| it.reset_ns },
        true,
    ),
    ("", "zones.erase", ["'at-reset'", "'at-open'"], Load { figure: |it| it.reset_ns }, false),
    (
        "",
        "zones.fill",
        ["0.0", "0.25"],
        Load { figure: |it| it.report.count("states.full") as f64 },
        true,
    ),
    (
        "zones.active = 12\nzones.zrwa.size = '256KiB'",
        "zones.zrwa.resources",
        ["0", "1"],
        Load { figure: |it| it.refused },
        false,
    ),
    (
        "zones.active = 12\nzones.zrwa.resources = 1\nzones.zrwa.granularity = '16KiB'",
        "zones.zrwa.size",
        ["'256KiB'", "'128KiB'"],
        Load { figure: |it| it.report.count("windows.commits") as f64 },
        true,
    ),
    (
        "zones.active = 12\nzones.zrwa.resources = 1\nzones.zrwa.size = '256KiB'",
        "zones.zrwa.granularity",
        ["'16KiB'", "'64KiB'"],
        Load { figure: |it| it.refused },
        true,
    ),
    (
        "suspend.step = '10us'",
        "timing.read",
        ["'50us'", "'90us'"],
        Load { figure: |it| it.read_ns },
        true,
    ),
    ("", "timing.program", ["'2ms'", "'4ms'"], Load { figure: |it| it.read_ns }, true),
    ("", "timing.erase", ["'5ms'", "'9ms'"], Load { figure: |it| it.reset_ns }, true),
    (
        "suspend.step = '10us'",
        "timing.bus_rate",
        ["'800MT/s'", "'200MT/s'"],
        Load { figure: |it| it.read_ns },
        true,
    ),
    (
        "suspend.step = '10us'\ntiming.bus_rate = '40MT/s'",
        "timing.cache_reads",
        ["true", "false"],
        Load { figure: |it| it.read_ns },
        true,
    ),
    ("", "suspend.step", ["'none'", "'100us'"], Load { figure: |it| it.read_ns }, false),
    (
        "suspend.step = '100us'",
        "suspend.limit",
        ["1", "8"],
        Load { figure: |it| it.report.count("suspensions") as f64 },
        true,
    ),
    ("", "firmware.write", ["'5us'", "'9us'"], Load { figure: |it| it.write_ns }, true),
    ("", "firmware.append", ["'5us'", "'9us'"], Load { figure: |it| it.append_ns }, true),
    (
        "",
        "firmware.spread",
        ["'constant'", "'exponential'"],
        Load { figure: |it| it.spread_ns },
        true,
    ),
    ("", "firmware.path_write", ["'0us'", "'9us'"], Load { figure: |it| it.write_ns }, true),
    ("", "firmware.path_append", ["'0us'", "'9us'"], Load { figure: |it| it.append_ns }, true),
    (
        "suspend.step = '10us'",
        "firmware.path_read",
        ["'0us'", "'90us'"],
        Load { figure: |it| it.read_ns },
        true,
    ),
    ("", "firmware.manage", ["'10us'", "'20us'"], Load { figure: |it| it.manage_ns }, true),
    ("", "link.command", ["'0us'", "'50us'"], Load { figure: |it| it.elapsed_ns }, true),
    ("", "link.page", ["'0us'", "'50us'"], Load { figure: |it| it.elapsed_ns }, true),
    (
        "",
        "wear.rated_cycles",
        ["1000", "1"],
        Load { figure: |it| it.report.count("erase_failures") as f64 },
        true,
    ),
    (
        "wear.rated_cycles = 3\nzones.erase = 'at-open'",
        "wear.variable_capacity",
        ["false", "true"],
        Load { figure: |it| it.report.count("states.offline") as f64 },
        false,
    ),
    (
        "",
        "wear.program_failures",
        ["0.0", "0.1"],
        Load { figure: |it| it.report.count("program_failures") as f64 },
        true,
    ),
    ("", "buffer.size", ["'4MiB'", "'448KiB'"], Load { figure: |it| it.write_ns }, true),
    (
        "",
        "buffer.power_loss_protected",
        ["true", "false"],
        Load { figure: |it| it.report.count("journal_bytes") as f64 },
        true,
    ),
];

#[test]
fn every_key_changes_a_result_in_the_right_direction() {
    let mut wrong = Vec::new();
    for (given, key, values, load, rises) in ROWS {
        let [first, second] = values.map(|value| {
            (load.figure)(&run(&format!("{SMALL}{given}\n{key} = {value}\n").replace("\n\n", "\n")))
        });
        if (second - first).abs() < 1e-12 || (second > first) != *rises {
            wrong.push(format!("{key}: {first} with {}, {second} with {}", values[0], values[1]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_key_has_a_row() {
    let mut keys = Vec::new();
    let default = devices::ssd::zoned::ZonedConfig::default();
    devices::ssd::zoned::ZonedConfig::describe("", "", &default, &mut keys);
    for key in keys {
        let own = key.path.trim_start_matches('.');
        let elsewhere = ["link.queue_depth", "adapt", "log.spare", "log.free", "log.batch"];
        let known = ROWS.iter().any(|row| row.1 == own) || elsewhere.contains(&own);
        assert!(known, "{own} has no row");
    }
}

/// A queue of the device that is full keeps commands in the host.
#[test]
fn commands_beyond_the_queue_depth_wait_in_the_host() {
    let waits = |depth: &str| {
        let (mut drive, mut now) = (drive(&format!("{SMALL}link.queue_depth = {depth}\n")), 0);
        write_up_to(&mut drive, &mut now, 0, 0, 512);
        settle(&mut drive, &mut now);
        let answers =
            closed(&mut drive, &mut now, 16, 160, |number| request(Op::Read, number % 64 * 8, 8));
        answers.iter().map(|it| it.breakdown[devices::latency::HOST_QUEUE]).sum::<Time>()
    };
    assert_eq!(waits("'unlimited'"), 0);
    assert!(waits("1") > waits("8") && waits("8") > 0);
}

#[test]
fn what_contradicts_itself_is_refused_with_its_keys() {
    let rows = [
        ("zones.open = 8", "zones.open", "8 open zones are more than 6 active ones"),
        ("zones.open = 0", "zones.open", "0 zones can be open"),
        ("zones.capacity = '2MiB'", "zones.capacity", "is more than the size of a zone, 1MiB"),
        ("zones.capacity = '5KiB'", "zones.capacity", "5KiB is no positive multiple of 4KiB"),
        (
            "zones.append_limit = '1MiB'",
            "zones.append_limit",
            "1MiB is not from 4KiB to the capacity",
        ),
        ("zones.width = 3", "zones.width", "a zone over 3 dies does not divide the 4 dies"),
        ("zones.count = 0", "zones.count", "0 is not possible"),
        ("page_size = '2KiB'", "page_size", "2KiB is no multiple of 4KiB"),
        ("pages_per_block = 7", "pages_per_block", "does not divide into word lines"),
        ("zones.parity_of = 1", "zones.parity_of", "cannot be parity"),
        ("zones.fill = 1.5", "zones.fill", "1.5 is no share"),
        ("wear.program_failures = 1.0", "wear.program_failures", "is no probability below 1"),
        ("buffer.size = '64KiB'", "buffer.size", "64KiB is too small: 6 active zones"),
        (
            "zones.zrwa.resources = 2\nzones.zrwa.size = '100KiB'\nzones.zrwa.granularity = '64KiB'",
            "zones.zrwa.size",
            "a window of 100KiB is no multiple of its granularity, 64KiB",
        ),
        (
            "zones.zrwa.resources = 1\nzones.zrwa.size = '1MiB'\nzones.zrwa.granularity = '64KiB'",
            "zones.zrwa.size",
            "a window of 1MiB is more than a zone has",
        ),
    ];
    for (text, key, problem) in rows {
        let built = ZonedDrive::with(&config(&format!("{SMALL}{text}\n")), 1);
        let error = built.err().unwrap_or_else(|| panic!("{text} is not refused"));
        assert_eq!(error.keys[0], format!("device.{key}"), "{text}: {error}");
        assert!(error.problem.contains(problem), "{text}: {error}");
    }
}

#[test]
fn an_array_of_zones_is_refused() {
    let kind = |kind: &str, table| devices::DeviceConfig::resolve(kind, [table]).unwrap();
    for (adapt, is_possible) in [("none", false), ("log", true)] {
        let zones = serde_json::json!({ "adapt": adapt, "zones": { "count": 32, "capacity": "1MiB", "size": "1MiB" },
                                        "log": { "spare": 0.4 } });
        let mut array = kind("array", serde_json::json!({ "members": 2 }));
        *array.within_mut().remove(0).1 = kind("zoned", zones);
        let built = array.build(1);
        assert_eq!(built.is_ok(), is_possible, "{adapt}");
        assert!(built.err().is_none_or(|error| error.keys[0] == "device.member.adapt"));
    }
}

/// Each status of zones, provoked once.
#[test]
fn every_refusal_of_zones_is_met() {
    let text = format!("{SMALL}zones.read_across = false\nzones.open = 2\nzones.active = 3\n");
    let (mut drive, mut now) = (drive(&text), 0);
    let zone = |number: u64| number * 2048;
    let rows = [
        (Op::Append, zone(0) + 8, 8, Status::InvalidField),
        (Op::Append, zone(0), 264, Status::InvalidField),
        (Op::Reset, zone(0) + 8, 1, Status::InvalidField),
        (Op::OpenWindow, 0, 0, Status::InvalidField),
        (Op::OpenWindow, zone(0), 1, Status::NoWindow),
        (Op::Read, zone(1) - 8, 16, Status::ZoneBoundary),
        (Op::Write, zone(0), 1544, Status::ZoneBoundary),
        (Op::Write, zone(0) + 8, 8, Status::InvalidWrite),
        (Op::Open, zone(0), 1, Status::Ok),
        (Op::Open, zone(1), 1, Status::Ok),
        (Op::Open, zone(2), 1, Status::TooManyOpen),
        (Op::Close, zone(1), 1, Status::Ok),
        (Op::Open, zone(2), 1, Status::Ok),
        (Op::Close, zone(2), 1, Status::Ok),
        (Op::Write, zone(3), 8, Status::TooManyActive),
        (Op::Open, 0, 0, Status::TooManyOpen),
        (Op::Close, zone(3), 1, Status::InvalidTransition),
        (Op::Offline, zone(3), 1, Status::InvalidTransition),
        (Op::Commit, zone(0), 32, Status::InvalidZoneOperation),
        (Op::Finish, zone(0), 1, Status::Ok),
        (Op::Write, zone(0), 8, Status::ZoneFull),
        (Op::Open, zone(0), 1, Status::InvalidTransition),
    ];
    for (op, sector, sectors, expected) in rows {
        let found = ask(&mut drive, &mut now, &[request(op, sector, sectors)])[0].status;
        assert_eq!(found, expected, "{op:?} {sector} + {sectors}");
    }
    // Programs that fail leave a zone that can be read, and which can be given up.
    let (mut failing, mut now) =
        (super::drive(&format!("{SMALL}wear.program_failures = 0.999\n")), 0);
    ask(&mut failing, &mut now, &[request(Op::Write, 0, 128)]);
    settle(&mut failing, &mut now);
    let rows = [
        (Op::Write, 128, 8, Status::ZoneReadOnly),
        (Op::Read, 0, 8, Status::Ok),
        (Op::Reset, 0, 1, Status::InvalidTransition),
        (Op::Offline, 0, 0, Status::Ok),
        (Op::Read, 0, 8, Status::ZoneOffline),
        (Op::Write, 0, 8, Status::ZoneOffline),
    ];
    for (op, sector, sectors, expected) in rows {
        let found = ask(&mut failing, &mut now, &[request(op, sector, sectors)])[0].status;
        assert_eq!(found, expected, "{op:?} {sector} + {sectors}");
    }
}
