//! Is the timing right? Single operations on small drives, to the nanosecond.
//!
//! The expected figures are sums of Table 1 of the 2008 paper: sense 25 us, program 200 us, erase
//! 1.5 ms, 4224 bytes over the bus 105.6 us, a summary of 528 bytes 13.2 us.

use crate::common::{Script, Step, US, fill, run, run_on, small, small_blocking, times};
use devices::latency::{BUS, CELL, CLEANING_WAIT, HOST_LINK, HOST_QUEUE, UNIT_WAIT};
use devices::ssd::config::{
    Cleaning, Depth, Duplex, FillOrder, HostLink, HostOrder, Interleave, Pool,
};
use devices::ssd::{Ssd, SsdConfig};
use devices::{Instruction, Model};
use engine::{Completion, Device, Lba, Op::*, Request, Time};

const READ: Time = 130_600;
const WRITE: Time = 305_600;
const CLOSING_WRITE: Time = 518_800;
const COPY_BACK: Time = 225_000;
const MOVE: Time = 436_200;
const ERASE: Time = 1_500_000;
/// A move that fills its block also writes a summary.
const SUMMARY: Time = 213_200;

/// Logical pages of each of the two packages of `small()`: 85 % of 64 x 63.
const EXPORTED: u32 = 3427;

#[test]
fn a_read_takes_130_600_ns_and_not_one_less() {
    let mut ssd = Ssd::new(&small(), 0).unwrap();
    ssd.submit(0, Request::new(0, Read, Lba(0), 8));
    let mut done = Vec::new();
    assert_eq!(ssd.next_event(), Some(READ));
    ssd.advance(READ - 1, &mut done);
    assert!(done.is_empty(), "not ready at t - 1");
    ssd.advance(READ, &mut done);
    assert_eq!(done.len(), 1, "ready at t");
    assert_eq!((done[0].breakdown[CELL], done[0].breakdown[BUS]), (25_000, 105_600));
}

#[test]
fn a_write_takes_305_600_ns() {
    let done = run(&small(), &[(0, Write, 0, 1)]);
    assert_eq!(done[0].at, WRITE);
    assert_eq!((done[0].breakdown[BUS], done[0].breakdown[CELL]), (105_600, 200_000));
}

#[test]
fn the_write_that_fills_a_block_pays_for_its_summary() {
    // Even pages go to the first package; its frontier is fresh after the fill but for 25 pages.
    let config = SsdConfig { fill: fill("empty"), ..small() };
    let steps: Vec<Step> = (0..64).map(|i| (i * 1000 * US, Write, 2 * i, 1)).collect();
    let latencies: Vec<Time> = run(&config, &steps).iter().map(Completion::latency).collect();
    assert_eq!(latencies[61], WRITE);
    assert_eq!(latencies[62], CLOSING_WRITE);
    assert_eq!(latencies[63], WRITE);
    let mean = latencies[..63].iter().sum::<Time>() as f64 / 63.0;
    assert!((mean - 308_984.1).abs() < 0.1, "the paper's 309 us: {mean}");
    let without = SsdConfig { summary_page: false, ..config };
    assert!(run(&without, &steps).iter().all(|c| c.latency() == WRITE));
}

#[test]
fn packages_share_nothing_and_a_package_does_one_thing_at_a_time() {
    assert_eq!(times(&small(), &[(0, Read, 0, 1), (0, Read, 1, 1)]), [READ, READ]);
    assert_eq!(times(&small(), &[(0, Read, 0, 1), (0, Read, 2, 1)]), [READ, 2 * READ]);
    let waiting = run(&small(), &[(0, Write, 0, 1), (100, Read, 2, 1)])[1].breakdown;
    assert_eq!(waiting[UNIT_WAIT], WRITE - 100);
    assert_eq!(waiting[CLEANING_WAIT], 0);
}

#[test]
fn two_dies_share_their_bus_and_nothing_else() {
    let dies = SsdConfig {
        channels: 1,
        dies_per_package: 2,
        interleave: Interleave::Die,
        pool: Pool::Die,
        ..small()
    };
    // Both sense until 25 us; the second transfer waits for the first.
    let reads = run(&dies, &[(0, Read, 0, 1), (0, Read, 1, 1)]);
    assert_eq!(reads[0].at, 130_600);
    assert_eq!(reads[1].at, 236_200);
    assert_eq!(reads[1].breakdown[BUS], 2 * 105_600);
    // Transfers in turn, programs side by side.
    let writes = times(&dies, &[(0, Write, 0, 1), (0, Write, 1, 1)]);
    assert_eq!(writes, [305_600, 411_200]);
    // The bus is taken when the read needs it, not when it was issued: the write goes first.
    let mixed = times(&dies, &[(0, Read, 0, 1), (US, Write, 1, 1)]);
    assert_eq!(mixed, [1_000 + 105_600 + 105_600, 306_600]);
    // Without interleaving the package serves one after the other.
    let alone = SsdConfig { interleave: Interleave::None, ..dies };
    assert_eq!(times(&alone, &[(0, Read, 0, 1), (0, Read, 1, 1)]), [READ, 2 * READ]);
}

#[test]
fn packages_of_a_gang_share_the_bus_of_their_channel() {
    let gang = SsdConfig { channels: 1, packages_per_channel: 2, ..small() };
    assert_eq!(times(&gang, &[(0, Read, 0, 1), (0, Read, 1, 1)]), [130_600, 236_200]);
    assert_eq!(times(&gang, &[(0, Write, 0, 1), (0, Write, 1, 1)]), [305_600, 411_200]);
}

/// A drive whose next write on the first package starts a cleaning, and the pages that its victim
/// still holds: every page but `valid` of logical block 0 has been overwritten.
fn about_to_clean(config: &SsdConfig, valid: u32) -> Ssd {
    let mut ssd = Ssd::new(config, 0).unwrap();
    let stale: Vec<u64> = (u64::from(valid)..63).collect();
    let mut next = 0;
    // Every overwrite eats one page of the frontier; stop when the free blocks reach the mark.
    while ssd.account(1).counts.block_erases == 0 && free_blocks(&ssd) > 3 {
        let index = stale[next % stale.len()];
        ssd.overwrite_untimed(&[2 * index], 0);
        next += 1;
    }
    ssd.instruct(0, Instruction::ResetCounts).unwrap();
    ssd
}

fn free_blocks(ssd: &Ssd) -> u32 {
    ssd.free_blocks(0)
}

/// What the first read on the package waits for when cleaning begins with it.
fn cleaning_wait(config: &SsdConfig, valid: u32) -> (Time, Ssd) {
    let mut ssd = about_to_clean(config, valid);
    let done = run_on(&mut ssd, Script::pages(&[(0, Read, 0, 1)]));
    assert_eq!(done[0].breakdown[UNIT_WAIT], 0);
    assert_eq!(done[0].latency(), done[0].breakdown[CLEANING_WAIT] + READ);
    (done[0].breakdown[CLEANING_WAIT], ssd)
}

#[test]
fn blocking_cleaning_costs_its_moves_and_an_erase() {
    let pins = small_blocking();
    let cleaning = Cleaning { copy_back: true, ..pins.cleaning.clone() };
    let inside = SsdConfig { cleaning, ..pins.clone() };
    for (config, move_ns) in [(&pins, MOVE), (&inside, COPY_BACK)] {
        for valid in [0, 1, 5] {
            let (wait, ssd) = cleaning_wait(config, valid);
            let report = ssd.account(1);
            // Blocks that hold nothing valid are cleaned first; the last one holds `valid` pages.
            let erases = report.counts.block_erases;
            let expected = erases * ERASE
                + report.counts.pages_moved * move_ns
                + report.counts.summary_programs * SUMMARY;
            assert_eq!(wait, expected, "{valid} valid");
            assert_eq!(report.counts.pages_moved, 0);
            assert_eq!(erases, 1, "one block brings the free list above its mark");
        }
    }
}

#[test]
fn moves_inside_a_plane_and_across_the_pins() {
    // A drive in which every block is half stale: the victim's valid pages must move.
    for (copy_back, move_ns) in [(false, MOVE), (true, COPY_BACK)] {
        let mut config = small_blocking();
        config.cleaning.copy_back = copy_back;
        config.fill_order = FillOrder::Random;
        let mut ssd = Ssd::new(&config, 3).unwrap();
        for i in 0..20_000u32 {
            ssd.overwrite_untimed(&[u64::from(i.wrapping_mul(2_654_435_761) % (2 * EXPORTED))], 0);
        }
        while free_blocks(&ssd) > 3 {
            ssd.overwrite_untimed(&[0], 0);
        }
        ssd.instruct(0, Instruction::ResetCounts).unwrap();
        let done = run_on(&mut ssd, Script::pages(&[(0, Read, 0, 1)]));
        let report = ssd.account(1);
        assert!(report.counts.pages_moved > 10, "the victims hold valid pages");
        assert_eq!(report.counts.copy_backs, if copy_back { report.counts.pages_moved } else { 0 });
        let expected = report.counts.block_erases * ERASE
            + report.counts.pages_moved * move_ns
            + report.counts.summary_programs * SUMMARY;
        assert_eq!(done[0].breakdown[CLEANING_WAIT], expected);
    }
}

#[test]
fn a_read_queued_behind_an_erase_waits_for_it_and_no_longer() {
    // Interleaved: the erase begins in the background when the write has gone.
    let mut ssd = about_to_clean(&small(), 0);
    let steps = [(0, Read, 1, 1), (0, Write, 0, 1), (WRITE + 500 * US, Read, 0, 1)];
    let done = run_on(&mut ssd, Script::pages(&steps));
    assert_eq!(done[1].at, WRITE, "a foreground write goes before cleaning");
    assert_eq!(done[2].breakdown[CLEANING_WAIT], ERASE - 500 * US);
    assert_eq!(done[2].at, WRITE + ERASE + READ);
    // The other package was never disturbed.
    assert_eq!(done[0].at, READ);
}

#[test]
fn partial_writes_read_the_page_first() {
    let done = run_on(
        &mut Ssd::new(&small(), 0).unwrap(),
        Script::sectors(&[(0, Write, 1, 3), (0, Read, 9, 1), (10_000 * US, Write, 6, 4)]),
    );
    assert_eq!(done[0].at, READ + WRITE);
    assert_eq!(done[0].breakdown.total(), READ + WRITE);
    assert_eq!(done[1].at, READ, "a read of one sector reads its page");
    // Misaligned: two pages, both partial, on two packages side by side.
    assert_eq!(done[2].latency(), READ + WRITE);
    // On an empty drive there is nothing to merge with.
    let empty = SsdConfig { fill: fill("empty"), ..small() };
    let done = run_on(&mut Ssd::new(&empty, 0).unwrap(), Script::sectors(&[(0, Write, 1, 3)]));
    assert_eq!(done[0].at, WRITE);
}

#[test]
fn the_host_link_moves_one_request_at_a_time() {
    let host_link = HostLink { bandwidth: "1GB/s".parse().unwrap(), ..HostLink::default() };
    let config = SsdConfig { host_link, ..small() };
    // Two writes cross in turn (4096 ns each); two reads finish together and answer in turn.
    assert_eq!(times(&config, &[(0, Write, 0, 1), (0, Write, 1, 1)]), [WRITE + 4096, WRITE + 8192]);
    assert_eq!(times(&config, &[(0, Read, 0, 1), (0, Read, 1, 1)]), [READ + 4096, READ + 8192]);
    let done = run(&config, &[(0, Read, 0, 1), (0, Read, 1, 1)]);
    assert_eq!(done[1].breakdown[HOST_LINK], 8192);
    // A read queues behind a write's transfer on its way in.
    let done = run(&config, &[(0, Write, 0, 1), (0, Read, 1, 1)]);
    assert_eq!(done[1].at, 4096 + READ + 4096);
    let slow = HostLink { latency: "7us".parse().unwrap(), ..HostLink::default() };
    let config = SsdConfig { host_link: slow, ..small() };
    let done = run(&config, &[(0, Read, 0, 1), (US, Write, 1, 1)]);
    assert_eq!((done[0].at, done[1].latency()), (READ + 7000, WRITE + 7000));
    assert_eq!(done[1].breakdown[HOST_LINK], 7000);
}

#[test]
fn full_duplex_moves_reads_and_writes_at_once() {
    let bandwidth = "1GB/s".parse().unwrap();
    let steps = [(0, Read, 0, 1), (READ - 1000, Write, 1, 1)];
    let ends = |duplex| {
        let host_link = HostLink { bandwidth, duplex, ..HostLink::default() };
        times(&SsdConfig { host_link, ..small() }, &steps)
    };
    // The write's data take the link first: the read's wait for the other 3096 ns.
    assert_eq!(ends(Duplex::Half), [READ + 3096 + 4096, READ - 1000 + 4096 + WRITE]);
    assert_eq!(ends(Duplex::Full), [READ + 4096, READ - 1000 + 4096 + WRITE]);
}

#[test]
fn submission_queues_take_turns_for_the_places_in_the_device() {
    let ends = |order, queues| {
        let queue_depth = Depth::of(1);
        let host_link = HostLink { queue_depth, order, queues, ..HostLink::default() };
        let mut ssd = Ssd::new(&SsdConfig { host_link, ..small() }, 0).unwrap();
        for id in 0..5 {
            let queue = u16::from(id == 4);
            ssd.submit(0, Request { queue, ..Request::new(id, Read, Lba(0), 8) });
        }
        let mut done = Vec::new();
        while let Some(at) = ssd.next_event() {
            ssd.advance(at, &mut done);
        }
        done.iter().map(|c| (c.request.id, c.at)).collect::<Vec<_>>()
    };
    let in_turn = |ids: [u64; 5]| ids.into_iter().zip((1..).map(|n| n * READ)).collect::<Vec<_>>();
    assert_eq!(ends(HostOrder::Fifo, 1), in_turn([0, 1, 2, 3, 4]));
    assert_eq!(ends(HostOrder::RoundRobin, 1), in_turn([0, 1, 2, 3, 4]));
    // The first is in the device at once, and takes no turn.
    assert_eq!(ends(HostOrder::RoundRobin, 2), in_turn([0, 1, 4, 2, 3]));
}

#[test]
fn submission_queues_beyond_those_of_the_specification_are_refused() {
    for (queues, key, problem) in
        [(0, "queues", "1 to 65535 submission queues, not 0"), (65_536, "queues", "not 65536")]
    {
        let order = HostOrder::RoundRobin;
        let queue_depth = Depth::of(1);
        let host_link = HostLink { order, queues, queue_depth, ..HostLink::default() };
        let refusal = Ssd::new(&SsdConfig { host_link, ..small() }, 0).unwrap_err();
        assert_eq!(refusal.keys[0], format!("device.host_link.{key}"));
        assert!(refusal.problem.contains(problem), "{refusal}");
    }
}

#[test]
fn beyond_the_queue_depth_requests_wait_in_the_host() {
    let host_link = HostLink { queue_depth: Depth::of(1), ..HostLink::default() };
    let config = SsdConfig { host_link, ..small() };
    let done = run(&config, &[(0, Read, 0, 1), (0, Read, 1, 1), (0, Read, 3, 1)]);
    let ends: Vec<Time> = done.iter().map(|c| c.at).collect();
    assert_eq!(ends, [READ, 2 * READ, 3 * READ]);
    assert_eq!(done[2].breakdown[HOST_QUEUE], 2 * READ);
    assert_eq!(done[2].breakdown[UNIT_WAIT], 0);
}

#[test]
fn a_flush_waits_for_the_writes_before_it_only() {
    let steps = [(0, Flush, 0, 0), (0, Write, 0, 1), (0, Flush, 0, 0), (0, Write, 2, 1)];
    let done = run(&small(), &steps);
    let ends: Vec<Time> = done.iter().map(|c| c.at).collect();
    assert_eq!(ends, [0, WRITE, WRITE, 2 * WRITE]);
    assert_eq!(done[2].breakdown[UNIT_WAIT], WRITE);
}

#[test]
fn trimmed_and_unwritten_pages_are_answered_without_the_flash() {
    let steps = [(0, Trim, 0, 2), (1, Read, 0, 1), (1, Read, 1, 1), (1, Read, 2, 1)];
    assert_eq!(times(&small(), &steps), [0, 1, 1, 1 + READ]);
    // Sectors that do not cover a page whole leave it alone.
    let done = run_on(
        &mut Ssd::new(&small(), 0).unwrap(),
        Script::sectors(&[(0, Trim, 1, 14), (1, Read, 0, 8)]),
    );
    assert_eq!(done[1].at, 1 + READ);
}

#[test]
fn a_read_follows_its_page_to_another_package() {
    // Pages 0 and 1 begin on the first package. While that one reads page 0, page 1 is rewritten
    // on the second: the read of it that waits here goes there when its turn comes.
    let config = SsdConfig { pool: Pool::Ssd, ..small() };
    let done = run(&config, &[(0, Read, 0, 1), (0, Read, 1, 1), (0, Write, 1, 1)]);
    let ends: Vec<Time> = done.iter().map(|c| c.at).collect();
    assert_eq!(ends, [READ, WRITE + READ, WRITE]);
    assert_eq!(done[1].breakdown[UNIT_WAIT], WRITE);
}

#[test]
fn a_request_of_many_pages_ends_with_its_last() {
    let done = run(&small(), &[(0, Read, 0, 4)]);
    assert_eq!(done[0].at, 2 * READ);
    assert_eq!(done[0].breakdown[UNIT_WAIT], READ);
}
