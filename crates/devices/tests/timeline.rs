//! The record of flash operations: exact spans on a small drive.

use crate::common;

use crate::common::{Closed, Keep, Script, small};
use devices::ssd::account::FlashCounts;
use devices::ssd::config::Cleaning;
use devices::ssd::timeline::{Timeline, Window};
use devices::ssd::{Ssd, SsdConfig};
use devices::{Instruction, Model};
use engine::{Device, Lba, Op, Request, Time, drive};

fn recorded(config: &SsdConfig, steps: &[common::Step], window: Window) -> Timeline {
    let mut ssd = Ssd::new(config, 0).unwrap();
    ssd.instruct(0, Instruction::Record(window)).unwrap();
    drive(&mut ssd, &mut Script::pages(steps), Time::MAX, &mut Keep::default()).unwrap();
    let timeline = ssd.take_operations().unwrap();
    assert!(ssd.take_operations().is_none());
    timeline
}

#[test]
fn a_read_and_a_program_are_recorded_to_the_nanosecond() {
    let steps = [(0, Op::Read, 0, 1), (10_000, Op::Write, 1, 1)];
    let all = Window { from: 0, to: Time::MAX, most: 10 };
    let config = small();
    let times = common::times(&config, &steps);
    let timeline = recorded(&config, &steps, all);
    assert_eq!(timeline.lanes, ["package 0", "package 1"]);
    assert!(!timeline.cut);
    let spans: Vec<_> = timeline
        .spans
        .iter()
        .map(|it| (it.word.name(), it.lane, it.start, it.end, it.bus_ns))
        .collect();
    let (sense, program) = (config.timing.read.of_type(0).ns(), config.timing.program.ns());
    let bus = config.timing.bus_per_byte.time_ns(4096 + config.spare_size.bytes());
    let reads = spans.iter().find(|it| it.0 == "read").unwrap();
    let programs = spans.iter().find(|it| it.0 == "program").unwrap();
    assert_eq!((reads.2, reads.3, reads.4), (0, sense + bus, bus));
    assert_eq!((programs.2, programs.3, programs.4), (10_000, 10_000 + bus + program, bus));
    assert_ne!(reads.1, programs.1, "the pages lie in two packages");
    assert_eq!(spans.len(), 2);
    assert_eq!(times, [reads.3, programs.3], "nothing lies between them and the host");

    // A window keeps all operations that overlap it, even slightly, up to its limit.
    let ended = reads.3;
    let kept = |from, to, most| {
        let timeline = recorded(&config, &steps, Window { from, to, most });
        (timeline.spans.iter().map(|it| it.word.name()).collect::<Vec<_>>(), timeline.cut)
    };
    assert_eq!(kept(0, 10_000, 10), (vec!["read"], false));
    assert_eq!(kept(ended, Time::MAX, 10), (vec!["program"], false));
    assert_eq!(kept(ended - 1, Time::MAX, 10), (vec!["read", "program"], false));
    assert_eq!(kept(0, Time::MAX, 1), (vec!["read"], true));
}

#[test]
fn the_record_has_every_operation_that_the_drive_counts_and_no_lane_does_two_at_once() {
    for copy_back in [false, true] {
        let config =
            SsdConfig { cleaning: Cleaning { copy_back, ..Cleaning::default() }, ..small() };
        let mut ssd = Ssd::new(&config, 0).unwrap();
        ssd.instruct(0, Instruction::Record(Window { from: 0, to: Time::MAX, most: usize::MAX }))
            .unwrap();
        let pages = ssd.capacity_sectors() / 8;
        let write = |id: u64| {
            let lba = Lba(id * 7919 % pages * 8);
            Request::new(id, Op::Write, lba, 8)
        };
        let mut load = Closed::new(4, 4000, write);
        let end = drive(&mut ssd, &mut load, Time::MAX, &mut Keep::default()).unwrap().last;
        let timeline = ssd.take_operations().unwrap();
        let report = ssd.account(end);
        let count =
            |word: &str| timeline.spans.iter().filter(|it| it.word.name() == word).count() as u64;
        let moves = if copy_back { "copy-back" } else { "move" };
        assert!(count("erase") > 0 && count(moves) > 0);
        assert_eq!(count("program"), report.counts.host_pages_written);
        assert_eq!(count(moves), report.counts.pages_moved);
        assert_eq!(count("erase"), report.counts.block_erases);
        assert_eq!(timeline.spans.len() as u64, 4000 + count(moves) + count("erase"));
        for lane in 0..timeline.lanes.len() as u32 {
            let own: Vec<_> = timeline.spans.iter().filter(|it| it.lane == lane).collect();
            assert!(own.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
        let counts = FlashCounts::from(ssd.followed().unwrap());
        assert_eq!(
            (counts.host_pages_written, counts.block_erases),
            (4000, report.counts.block_erases)
        );
        assert_eq!(counts.page_programs, report.counts.page_programs);
        assert_eq!(counts.free_blocks, u64::from(ssd.free_blocks(0) + ssd.free_blocks(1)));
    }
}
