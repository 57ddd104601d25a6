//! Two-plane commands: both planes of a pair program and erase in the time of one, and no other two planes do.

use crate::common::{Closed, Script, US, run_closed, run_on, small_blocking, times};
use devices::latency::{BUS, CELL, UNIT_WAIT};
use devices::ssd::config::{Interleave, PairCommands, Pool};
use devices::ssd::{Geometry, Ssd, SsdConfig};
use engine::{Lba, Op, Op::*, Request, Time};
use options::PerByte;

const SENSE: Time = 25_000;
const TRANSFER: Time = 105_600;
const PROGRAM: Time = 200_000;
const ERASE: Time = 1_500_000;
const READ: Time = SENSE + TRANSFER;
const WRITE: Time = TRANSFER + PROGRAM;

/// One package of one die of four planes; page n lies in plane n modulo 4.
fn drive(interleave: Interleave, pair_commands: PairCommands) -> SsdConfig {
    SsdConfig {
        channels: 1,
        planes_per_die: 4,
        pool: Pool::Plane,
        interleave,
        pair_commands,
        ..small_blocking()
    }
}

fn two_plane() -> SsdConfig {
    drive(Interleave::Plane, PairCommands::TwoPlane)
}

/// Two pages for the planes of a pair that wait together; and when a read before them has ended.
fn waiting(config: &SsdConfig) -> [Time; 2] {
    let steps = [(0, Read, 0, 1), (US, Write, 4, 1), (US, Write, 5, 1)];
    let ends = times(config, &steps);
    assert_eq!(ends[0], READ);
    [ends[1] - READ, ends[2] - READ]
}

#[test]
fn a_pair_programs_when_both_pages_are_loaded_and_ends_together() {
    assert_eq!(waiting(&two_plane()), [TRANSFER + WRITE; 2]);
    // Each by itself: the first programs while the second is loaded.
    let separate = drive(Interleave::Plane, PairCommands::Separate);
    assert_eq!(waiting(&separate), [WRITE, TRANSFER + WRITE]);
    // A pair without such commands takes them one after the other.
    let pairs = drive(Interleave::PlanePair, PairCommands::Separate);
    assert_eq!(waiting(&pairs), [WRITE, 2 * WRITE]);
    // What the first waited for is its unit, not the bus.
    let mut ssd = Ssd::new(&two_plane(), 0).unwrap();
    let steps = [(0, Read, 0, 1), (0, Write, 4, 1), (0, Write, 5, 1)];
    let first = run_on(&mut ssd, Script::pages(&steps))[1].breakdown;
    assert_eq!([first[BUS], first[CELL], first[UNIT_WAIT]], [TRANSFER, PROGRAM, READ + TRANSFER]);
}

#[test]
fn only_planes_of_one_pair_do_so() {
    for (first, second, joined) in
        [(0, 1, true), (2, 3, true), (1, 2, false), (0, 2, false), (0, 3, false), (1, 3, false)]
    {
        // A read of each plane, and behind it a write.
        let reads = [(0, Read, first, 1), (0, Read, second, 1)];
        let writes = [(US, Write, first + 4, 1), (US, Write, second + 4, 1)];
        let ends = times(&two_plane(), &[reads, writes].concat());
        let expected = if joined {
            [READ, 2 * READ, 2 * READ + TRANSFER + WRITE, 2 * READ + TRANSFER + WRITE]
        } else {
            // Only the bus is shared.
            let begins = READ + TRANSFER;
            [READ, begins, begins + WRITE, begins + TRANSFER + WRITE]
        };
        assert_eq!(ends, expected, "{first}, {second}");
    }
    // Reads are sensed together as they were, and a page alone is what it was.
    assert_eq!(times(&two_plane(), &[(0, Read, 0, 2)]), [READ + TRANSFER]);
    assert_eq!(times(&two_plane(), &[(0, Write, 0, 1)]), [WRITE]);
    // What has begun alone is not joined: the other plane waits for its end.
    let later = [(0, Write, 0, 1), (US, Write, 1, 1)];
    assert_eq!(times(&two_plane(), &later), [WRITE, 2 * WRITE]);
}

/// When pages of the planes 0 and 1 are written, in order and round and round, with a full queue and a bus that takes
/// no time; and the blocks erased.
fn filled(config: SsdConfig, pages: u64) -> (Time, u64) {
    let mut config = config;
    config.timing.bus_per_byte = PerByte::from_ps(0);
    config.fill = crate::common::fill("empty");
    let mut ssd = Ssd::new(&config, 0).unwrap();
    let rows = Geometry::new(&config).unwrap().exported_pages() / 4;
    let page = |n: u64| n / 2 % rows * 4 + n % 2;
    let mut load = Closed::new(16, pages, |n| Request::new(n, Op::Write, Lba(page(n) * 8), 8));
    let (end, _) = run_closed(&mut ssd, &mut load);
    (end, ssd.account(end).counts.block_erases)
}

/// The first page begins alone; from then on a pair programs two in the time of one.
#[test]
fn a_pair_programs_two_pages_in_the_time_of_one() {
    let end = |interleave, pair_commands| {
        let config = SsdConfig { summary_page: false, ..drive(interleave, pair_commands) };
        filled(config, 600)
    };
    assert_eq!(end(Interleave::Plane, PairCommands::TwoPlane), (301 * PROGRAM, 0));
    assert_eq!(end(Interleave::Plane, PairCommands::Separate), (301 * PROGRAM, 0));
    assert_eq!(end(Interleave::PlanePair, PairCommands::Separate), (600 * PROGRAM, 0));
}

/// Of what is written in order nothing is moved: for each block of a plane one is erased.
#[test]
fn a_pair_erases_two_blocks_in_the_time_of_one() {
    // All blocks of both planes were written long before. Without summaries, which each plane programs by itself: the
    // planes are a page apart, because the first page began alone.
    let of = |interleave, pair_commands, blocks: u64| {
        let config = SsdConfig { summary_page: false, ..drive(interleave, pair_commands) };
        filled(config, 2 * 64 * blocks)
    };
    let more = |interleave, pair_commands| {
        let [(some, few), (all, many)] = [100, 140].map(|it| of(interleave, pair_commands, it));
        assert_eq!(many - few, 80);
        all - some
    };
    let block = 64 * PROGRAM + ERASE;
    assert_eq!(more(Interleave::Plane, PairCommands::TwoPlane), 40 * block);
    assert_eq!(more(Interleave::PlanePair, PairCommands::Separate), 80 * block);
}
