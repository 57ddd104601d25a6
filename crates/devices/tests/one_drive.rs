//! What drives of today have, on a drive without a write buffer: processors, cells of several bits, commands on
//! the bus, and programs and erases that reads stop.

use crate::common::{Script, Step, US, run, run_on, small};
use devices::latency;
use devices::ssd::config::Interleave;
use devices::ssd::{Ssd, SsdConfig};
use engine::{Completion, Device, Op, Random, Time, Xoshiro256};
use options::{Duration, PageTimes};

/// Of the small drive: sensing a page, its way over the bus, programming it.
const SENSE: Time = 25 * US;
const BUS: Time = 105_600;
const PROGRAM: Time = 200 * US;

fn us(time: u64) -> Duration {
    Duration::from_ns(time * US)
}

#[test]
fn commands_wait_for_a_processor_and_the_wait_counts_as_firmware() {
    let mut config = small();
    config.firmware.read = us(10);
    config.firmware.per_page = us(1);
    // Of two packages, so that nothing but the processor is waited for.
    let steps: [Step; 2] = [(0, Op::Read, 0, 1), (0, Op::Read, 1, 1)];
    let both = |config: &SsdConfig| {
        let done = run(config, &steps);
        [0, 1].map(|it: usize| (done[it].at, done[it].breakdown[latency::FIRMWARE]))
    };
    let read = SENSE + BUS;
    assert_eq!(both(&config), [(11 * US + read, 11 * US), (22 * US + read, 22 * US)]);
    config.firmware.cores = 2;
    assert_eq!(both(&config), [(11 * US + read, 11 * US); 2]);
}

#[test]
fn a_page_of_several_bits_takes_the_time_of_its_type_to_read_and_its_share_to_program() {
    let mut config = SsdConfig { channels: 1, ..small() };
    config.cell.bits = 3;
    config.timing.program = us(1_500);
    config.timing.read = "40us, 60us, 90us".parse::<PageTimes>().expect("three times");
    let mut steps: Vec<Step> = (0..6).map(|page| (page * 10_000 * US, Op::Read, page, 1)).collect();
    steps.push((100_000 * US, Op::Write, 0, 1));
    let done = run(&config, &steps);
    let cells: Vec<Time> = done.iter().map(|it| it.breakdown[latency::CELL] / US).collect();
    assert_eq!(cells, [40, 60, 90, 40, 60, 90, 500]);
}

#[test]
fn a_command_takes_its_time_of_the_bus() {
    let mut config = small();
    let bus = |config: &SsdConfig| run(config, &[(0, Op::Read, 0, 1)])[0].breakdown[latency::BUS];
    let before = bus(&config);
    config.timing.command = us(2);
    assert_eq!(bus(&config), before + 2 * US);
}

#[test]
fn a_part_of_each_block_stands_for_the_whole_with_its_share_of_capacity_and_erase_time() {
    let whole = SsdConfig { summary_page: false, spare_factor: Some(0.25), ..small() };
    let part = SsdConfig { scale: 4, ..whole.clone() };
    let of = |config: &SsdConfig| {
        let mut ssd = Ssd::new(config, 0).unwrap();
        let pages = ssd.capacity_sectors() / 8;
        let (mut random, mut steps) = (Xoshiro256::new(2, 2), Vec::<Step>::new());
        (0..4 * pages).for_each(|n| steps.push((n * 300 * US, Op::Write, random.below(pages), 1)));
        run_on(&mut ssd, Script::pages(&steps));
        let report = ssd.account(pages * 300 * US * 4);
        (pages, report.counts.page_programs as f64 / report.counts.host_pages_written as f64)
    };
    let ((pages, a), (fewer, b)) = (of(&whole), of(&part));
    assert_eq!(fewer, pages / 4);
    assert!((b / a - 1.0).abs() < 0.1, "write amplification is {a} of the whole, {b} of a part");
}

/// A program with 35 us to stop, in the middle of which a read comes.
#[test]
fn a_read_stops_a_program_which_then_has_the_rest_of_its_time() {
    let mut config = SsdConfig { channels: 1, ..small() };
    config.suspend.program = "35us".parse().expect("a time");
    config.suspend.resume = us(5);
    let steps: [Step; 2] = [(0, Op::Write, 0, 1), (BUS + 50 * US, Op::Read, 1, 1)];
    let done = run(&config, &steps);
    let stopped = BUS + (50 + 35) * US;
    assert_eq!(done[1].at, stopped + SENSE + BUS);
    assert_eq!(done[1].breakdown[latency::SUSPEND], 35 * US);
    // What it did while it stopped counts for nothing.
    assert_eq!(done[0].at, stopped + SENSE + BUS + 150 * US + 5 * US);
    // One that is nearly through goes on, and what is on the bus does too.
    for at in [BUS / 2, BUS + 170 * US] {
        let done = run(&config, &[(0, Op::Write, 0, 1), (at, Op::Read, 1, 1)]);
        assert_eq!(done[0].at, BUS + PROGRAM);
    }
}

#[test]
fn a_program_that_is_stopped_while_it_resumes_resumes_twice() {
    let mut config = SsdConfig { channels: 1, ..small() };
    config.suspend.program = "0ns".parse().expect("a time");
    config.suspend.resume = us(200);
    let first = BUS + 10 * US;
    let second = first + SENSE + BUS + 50 * US;
    let done =
        run(&config, &[(0, Op::Write, 0, 1), (first, Op::Read, 1, 1), (second, Op::Read, 2, 1)]);
    assert_eq!(done[2].at, second + SENSE + BUS);
    // 190 us of the program and 200 of resuming, of which 50 are over, and resuming again.
    assert_eq!(done[0].at, done[2].at + (190 + 150 + 200) * US);
}

/// A load of reads and writes at random instants: the mean latency of its reads, pages programmed, suspensions.
fn mixed(config: &SsdConfig) -> (f64, u64, u64) {
    let mut ssd = Ssd::new(config, 0).unwrap();
    let (mut random, mut steps, mut at) = (Xoshiro256::new(4, 4), Vec::<Step>::new(), 0);
    let pages = ssd.capacity_sectors() / 8;
    for _ in 0..20_000 {
        at += random.below(700 * US);
        let op = if random.below(3) == 0 { Op::Write } else { Op::Read };
        steps.push((at, op, random.below(pages), 1));
    }
    let done = run_on(&mut ssd, Script::pages(&steps));
    let reads: Vec<&Completion> = done.iter().filter(|it| it.request.op == Op::Read).collect();
    let mean = reads.iter().map(|it| it.latency() as f64).sum::<f64>() / reads.len() as f64;
    let counts = ssd.account(0).counts;
    (mean, counts.host_pages_written, counts.suspensions)
}

#[test]
fn reads_are_faster_where_they_stop_programs_and_erases_and_no_work_is_lost() {
    for interleave in [Interleave::None, Interleave::Die] {
        let mut config = SsdConfig { interleave, dies_per_package: 2, ..small() };
        let (waiting, programs, none) = mixed(&config);
        config.suspend.program = "20us".parse().expect("a time");
        let (with_programs, same, some) = mixed(&config);
        config.suspend.erase = "20us".parse().expect("a time");
        let (with_both, same_again, more) = mixed(&config);
        assert_eq!((none, [same, same_again]), (0, [programs; 2]), "{interleave}");
        assert!(0 < some && some < more, "{interleave}: {some} and {more} suspensions");
        assert!(
            with_both < with_programs && with_programs < waiting,
            "{interleave}: {waiting:.0}, {with_programs:.0}, {with_both:.0} ns"
        );
    }
}
