//! Packages that share their control pins, with a data path each: what they hold them for.

use crate::common::{Closed, run_closed};
use devices::DeviceKind;
use devices::ssd::config::{ControlLine, Gang, Interleave};
use devices::ssd::{Ssd, SsdConfig};
use engine::{Completion, Device, Lba, Op, Request, Time};
use options::Duration;

/// Transfer and sensing of a page, its program.
const BUS: Time = 105_600;
const SENSE: Time = 25_000;
const PROGRAM: Time = 200_000;

/// Eight packages of one die on one channel, or on as many.
fn drive(control_line: ControlLine, command: Time) -> SsdConfig {
    let mut config = SsdConfig {
        channels: 1,
        packages_per_channel: 8,
        gang: Gang::SharedControlAsync,
        control_line,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 64,
        ..SsdConfig::default()
    };
    config.timing.command = Duration::from_ns(command);
    config
}

/// Latencies of requests to one page each, all submitted at once.
fn latencies(config: &SsdConfig, requests: &[(Op, u64)]) -> Vec<Time> {
    let mut ssd = Ssd::new(config, 1).unwrap();
    for (id, (op, page)) in requests.iter().enumerate() {
        ssd.submit(0, Request::new(id as u64, *op, Lba(page * 8), 8));
    }
    let mut all = Vec::new();
    while let Some(at) = ssd.next_event() {
        ssd.advance(at, &mut all);
    }
    ssd.check().unwrap();
    all.sort_by_key(|it| it.request.id);
    all.iter().map(Completion::latency).collect()
}

#[test]
fn a_package_reads_while_another_programs_once_the_command_is_issued() {
    let both = [(Op::Write, 0), (Op::Read, 1)];
    let alone = [BUS + PROGRAM, SENSE + BUS];
    assert_eq!(latencies(&drive(ControlLine::Command, 0), &both), alone);
    // Held, the read waits for all of the write.
    assert_eq!(latencies(&drive(ControlLine::Held, 0), &both), [alone[0], alone[0] + alone[1]]);
}

#[test]
fn commands_take_turns_and_what_they_begin_does_not() {
    let command = 10_000;
    let reads: Vec<_> = (0..8).map(|page| (Op::Read, page)).collect();
    let expected: Vec<Time> = (1..=8).map(|turn| turn * command + SENSE + BUS).collect();
    assert_eq!(latencies(&drive(ControlLine::Command, command), &reads), expected);
    // A command crosses the bus with its page where each package has pins of its own.
    let own =
        SsdConfig { channels: 8, packages_per_channel: 1, ..drive(ControlLine::Held, command) };
    let own = SsdConfig { gang: Gang::SharedBus, ..own };
    assert_eq!(latencies(&own, &reads), [SENSE + command + BUS; 8]);
}

/// Requests a second of half reads, half writes, in a closed loop of 32.
fn rate(config: &SsdConfig) -> f64 {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let pages = ssd.capacity_sectors() / 8;
    let ask = |id: u64| {
        let page = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) % pages;
        let op =
            if id.wrapping_mul(0xD1B5_4A32_D192_ED03) >> 63 == 0 { Op::Read } else { Op::Write };
        Request::new(id, op, Lba(page * 8), 8)
    };
    let count = 20_000;
    let (end, _) = run_closed(&mut ssd, &mut Closed::new(32, count, ask));
    ssd.check().unwrap();
    count as f64 * 1e9 / end as f64
}

#[test]
fn shared_control_is_nearly_as_good_as_own_pins_and_better_than_a_shared_bus() {
    let held = rate(&drive(ControlLine::Held, 200));
    let command = rate(&drive(ControlLine::Command, 200));
    let bus = rate(&SsdConfig { gang: Gang::SharedBus, ..drive(ControlLine::Held, 200) });
    let own = SsdConfig { channels: 8, packages_per_channel: 1, ..drive(ControlLine::Held, 200) };
    let own = rate(&SsdConfig { gang: Gang::SharedBus, ..own });
    println!(
        "held {held:.0}, command {command:.0}, shared bus {bus:.0}, own pins {own:.0} a second"
    );
    assert!(held < 0.9 * command && 1.5 * bus < command, "{held}, {bus}, {command}");
    assert!((command / own - 1.0).abs() < 0.03, "{command} and {own}");
}

#[test]
fn dies_interleave_where_the_control_pins_are_not_held() {
    let dies =
        |line| SsdConfig { dies_per_package: 2, interleave: Interleave::Die, ..drive(line, 0) };
    assert!(dies(ControlLine::Command).check_shape().is_ok());
    let refused = dies(ControlLine::Held).check_shape().expect_err("held");
    assert!(format!("{refused:?}").contains("device.gang"), "{refused:?}");
}
