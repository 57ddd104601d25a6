//! Drives that map in blocks and gather writes in log blocks: merges have closed forms, and the data stays.

use crate::common::{Closed, run_closed, seeds};
use devices::ssd::config::{
    CleaningTime, FillOrder, Interleave, LogBlocks, LogScheme, Persistence, Pool,
};
use devices::ssd::{Geometry, Ssd, SsdConfig};
use devices::{DeviceKind, Model};
use engine::{Completion, Device, Lba, Op, Random, Request, Time, Xoshiro256};

const SCHEMES: [LogScheme; 3] = [LogScheme::Replacement, LogScheme::Bast, LogScheme::Fast];
const SECTORS: u64 = 8;

/// One package, 40 blocks of 16 pages, in which `count` log blocks gather.
fn drive(scheme: LogScheme, count: u32) -> SsdConfig {
    SsdConfig {
        channels: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 40,
        pages_per_block: 16,
        summary_page: false,
        spare_factor: Some(0.4),
        log_blocks: LogBlocks { scheme, count },
        persistence: Persistence { order: true, ..Persistence::default() },
        ..SsdConfig::default()
    }
}

/// What merges were made, and what was programmed and erased.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
struct Done {
    switch: u64,
    partial: u64,
    full: u64,
    programs: u64,
    erases: u64,
}

fn done(ssd: &Ssd) -> Done {
    ssd.check().unwrap();
    let counts = ssd.account(1).counts;
    assert!(counts.victim_pages_moved <= counts.victim_pages);
    Done {
        switch: counts.switch_merges,
        partial: counts.partial_merges,
        full: counts.full_merges,
        programs: counts.page_programs,
        erases: counts.block_erases,
    }
}

/// Writes pages one by one in time, and erases what is to be erased then.
fn write_timed(config: &SsdConfig, pages: &[u64]) -> Ssd {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let page = |id| Request::new(id, Op::Write, Lba(pages[id as usize] * SECTORS), SECTORS as u32);
    run_closed(&mut ssd, &mut Closed::new(1, pages.len() as u64, page));
    while let Some(at) = ssd.next_event() {
        ssd.advance(at, &mut Vec::new());
    }
    ssd
}

/// The same without time.
fn write_untimed(config: &SsdConfig, pages: &[u64]) -> Ssd {
    let mut ssd = Ssd::new(config, 1).unwrap();
    ssd.overwrite_untimed(pages, 0);
    ssd
}

#[test]
fn writes_in_sequence_are_merged_by_switches_alone() {
    for scheme in SCHEMES {
        let config = drive(scheme, 2);
        let pages = Geometry::new(&config).unwrap().exported_pages();
        assert_eq!(pages % 16, 0, "a drive exports whole blocks");
        let order: Vec<u64> = (0..pages).collect();
        let blocks = pages / 16;
        let expected =
            Done { switch: blocks, partial: 0, full: 0, programs: pages, erases: blocks };
        assert_eq!(done(&write_timed(&config, &order)), expected, "{scheme}");
        let Done { erases, .. } = done(&write_untimed(&config, &order));
        // The last is erased before the next write.
        assert_eq!(erases, blocks - 1, "{scheme}");
    }
}

#[test]
fn writes_to_other_blocks_each_cost_a_full_merge() {
    // With one log block each write to another block ends what the log block holds: a page that is not the
    // first of its block, so that the whole block is copied, and two are erased.
    let config = drive(LogScheme::Bast, 1);
    let order: Vec<u64> = (0..20).map(|block| block * 16 + 5).collect();
    let merges = order.len() as u64 - 1;
    let expected = Done {
        switch: 0,
        partial: 0,
        full: merges,
        programs: order.len() as u64 + merges * 16,
        erases: 2 * merges,
    };
    assert_eq!(done(&write_timed(&config, &order)), expected);
}

#[test]
fn what_begins_a_block_is_filled_up() {
    // The first three pages of each block, in order: the thirteen behind them are copied.
    for scheme in SCHEMES {
        let config = drive(scheme, 1);
        let order: Vec<u64> = (0..20).flat_map(|it| (0..3).map(move |at| it * 16 + at)).collect();
        let merges = 19;
        let expected = Done {
            switch: 0,
            partial: merges,
            full: 0,
            programs: 60 + merges * 13,
            erases: merges,
        };
        assert_eq!(done(&write_timed(&config, &order)), expected, "{scheme}");
    }
}

#[test]
fn a_replacement_block_has_each_page_in_its_place() {
    // The five pages before are copied first, and the ten behind when another block needs the place.
    let config = drive(LogScheme::Replacement, 1);
    let order: Vec<u64> = (0..20).map(|block| block * 16 + 5).collect();
    let expected = Done { switch: 0, partial: 19, full: 0, programs: 20 * 6 + 19 * 10, erases: 19 };
    assert_eq!(done(&write_timed(&config, &order)), expected);
}

#[test]
fn blocks_share_the_log_blocks_of_fast() {
    // One log block takes a page of sixteen blocks; then each of these is copied whole, and the log block is
    // erased with them.
    let config = drive(LogScheme::Fast, 1);
    let order: Vec<u64> = (0..17).map(|block| block * 16 + 5).collect();
    let expected = Done { switch: 0, partial: 0, full: 16, programs: 17 + 16 * 16, erases: 17 };
    assert_eq!(done(&write_timed(&config, &order)), expected);
    // A page that is written over and over has its block copied once for each full log block.
    let again: Vec<u64> = (0..=16 * 10).map(|_| 5).collect();
    let Done { full, erases, programs, .. } = done(&write_timed(&config, &again));
    assert_eq!((full, programs), (10, 161 + 10 * 16));
    assert_eq!(erases, 20);
}

#[test]
fn more_log_blocks_merge_less() {
    for scheme in SCHEMES {
        let mut before = u64::MAX;
        for count in [1, 3, 9] {
            let config = drive(scheme, count);
            let random = &mut Xoshiro256::new(5, 5);
            let pages: Vec<u64> =
                (0..2_000).map(|_| random.below(8) * 16 + random.below(16)).collect();
            let Done { programs, .. } = done(&write_untimed(&config, &pages));
            assert!(
                programs < before,
                "{scheme}: {programs} with {count} log blocks, and {before}"
            );
            before = programs;
        }
    }
}

/// Small drives of all schemes, some of several pools, some that hold only a part.
fn random_drive(seed: u64) -> (SsdConfig, Xoshiro256) {
    let mut random = Xoshiro256::new(seed, 0);
    let mut config = drive(SCHEMES[(seed % 3) as usize], 1 + random.below(4) as u32);
    config.channels = 1 + random.below(2) as u32;
    config.dies_per_package = 1 + random.below(2) as u32;
    config.summary_page = random.below(2) == 0;
    config.pages_per_block = 3 + random.below(8) as u32;
    config.blocks_per_plane = 24 + random.below(16) as u32;
    (config.interleave, config.pool) = match random.below(3) {
        0 => (Interleave::None, Pool::Package),
        1 => (Interleave::Die, Pool::Die),
        _ => (Interleave::None, Pool::Plane),
    };
    let times = [CleaningTime::Blocking, CleaningTime::Interleaved];
    config.cleaning.time = times[random.below(2) as usize];
    config.fill = crate::common::fill(["full", "empty", "0.37"][random.below(3) as usize]);
    (config, random)
}

fn random_request(id: u64, sectors: u64, random: &mut Xoshiro256) -> Request {
    let op = [Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim][random.below(5) as usize];
    let length = 1 + random.below(40).min(sectors - 1);
    let reach = if random.below(3) == 0 { sectors } else { sectors / 4 };
    let from = random.below(reach.max(length + 1) - length);
    Request::new(id, op, Lba(from), length as u32)
}

/// Requests with some outstanding, the drive audited on the way: map and flash agree, and the newest copy of each
/// page is the one that the order of the programs says.
fn serve(
    ssd: &mut Ssd,
    random: &mut Xoshiro256,
    (begin, requests): (Time, u64),
) -> Vec<Completion> {
    let sectors = ssd.capacity_sectors();
    let (mut now, mut all) = (begin, Vec::new());
    for id in 0..requests {
        ssd.submit(now, random_request(id, sectors, random));
        while id + 1 - all.len() as u64 > 6 * u64::from(id + 1 < requests) {
            now = ssd.next_event().expect("requests are outstanding, and something goes on");
            ssd.advance(now, &mut all);
        }
        if id % 50 == 0 {
            ssd.check().unwrap();
        }
    }
    while let Some(at) = ssd.next_event() {
        ssd.advance(at, &mut all);
    }
    ssd.check().unwrap();
    all
}

#[test]
fn random_drives_pass_the_audit() {
    seeds(0..36, |seed| {
        let (config, mut random) = random_drive(seed);
        let mut ssd = Ssd::new(&config, seed).unwrap();
        ssd.check().unwrap();
        assert_eq!(serve(&mut ssd, &mut random, (0, 1_500)).len(), 1_500);
        let counts = ssd.account(1).counts;
        let own = counts.pages_moved + counts.padding_pages;
        assert_eq!(
            counts.page_programs,
            counts.host_pages_written + own,
            "nothing else is programmed"
        );
        assert!(counts.switch_merges + counts.partial_merges + counts.full_merges > 0);
    });
}

#[test]
fn timed_and_untimed_runs_merge_alike() {
    seeds(0..12, |seed| {
        let (mut config, mut random) = random_drive(seed);
        config.fill = crate::common::fill("full");
        let pages = Geometry::new(&config).unwrap().exported_pages();
        let order: Vec<u64> = (0..1_000).map(|_| random.below(pages)).collect();
        let (timed, untimed) =
            (done(&write_timed(&config, &order)), done(&write_untimed(&config, &order)));
        let merges = |it: Done| (it.switch, it.partial, it.full, it.programs);
        assert_eq!(merges(timed), merges(untimed));
    });
}

#[test]
fn a_restored_drive_continues_bit_identically() {
    seeds(0..12, |seed| {
        let (config, mut random) = random_drive(seed);
        let mut first = Ssd::new(&config, seed).unwrap();
        serve(&mut first, &mut random, (0, 400));
        let kept = first.save().expect("it rests");
        let mut second = Ssd::new(&config, seed).unwrap();
        second.restore(kept).unwrap();
        first = {
            let mut again = Ssd::new(&config, seed).unwrap();
            again.restore(first.save().unwrap()).unwrap();
            again
        };
        let (one, other) = (&mut random.clone(), &mut random.clone());
        let begin = (0, 400);
        assert_eq!(serve(&mut first, one, begin), serve(&mut second, other, begin));
        assert_eq!(first.save(), second.save());
    });
}

#[test]
fn log_blocks_are_refused_where_they_cannot_be() {
    let base = || drive(LogScheme::Bast, 2);
    let refused = |config: SsdConfig, key: &str, words: &str| {
        let invalid = config.check_shape().expect_err(words);
        let text = format!("{invalid:?}");
        assert!(text.contains(key) && text.contains(words), "{text}");
    };
    refused(drive(LogScheme::Bast, 30), "device.log_blocks.count", "spare blocks");
    refused(drive(LogScheme::Fast, 0), "device.log_blocks.count", "from 1 to 200");
    refused(
        SsdConfig { logical_page: Some(options::Size::from_bytes(65_536)), ..base() },
        "device.logical_page",
        "leave out logical_page",
    );
    refused(
        SsdConfig { pool: Pool::Ssd, channels: 2, ..base() },
        "device.pool",
        "a pool must lie in one unit",
    );
    refused(
        SsdConfig { fill_order: FillOrder::Random, ..base() },
        "device.fill_order",
        "holds each in order",
    );
    refused(SsdConfig { cache_commands: true, ..base() }, "device.cache_commands", "page by page");
    assert!(base().check_shape().is_ok());
}
