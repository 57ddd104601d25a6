//! Are counts right, and the same in timed and untimed runs? Pages, bytes, merges and trims over every way
//! of laying pages out; and the shares and ratios of drives that end in the midst of things.

use crate::common::depth::depth;
use crate::common::{Closed, run_closed, small};
use devices::ssd::account::FlashCounts;
use devices::ssd::config::Policy;
use devices::ssd::config::{
    Cleaning, CleaningTime, FreeOrder, Frontiers, Gang, Interleave, Pool, Timing, Wear,
};
use devices::ssd::{Geometry, Ssd, SsdConfig, SsdReport};
use devices::{Instruction, Model};
use engine::{Device, Lba, Op, Random, Request, Time, Xoshiro256};
use options::{Duration, Size};

const PAGE: u64 = 2048;

/// Two channels of two packages of two dies of two planes of 14 blocks of 6 data pages.
fn tiny(interleave: Interleave, pool: Pool, gang: Gang) -> SsdConfig {
    SsdConfig {
        channels: 2,
        packages_per_channel: 2,
        dies_per_package: 2,
        planes_per_die: 2,
        blocks_per_plane: 14,
        pages_per_block: 7,
        page_size: Size::from_bytes(PAGE),
        interleave,
        pool,
        gang,
        spare_factor: Some(0.4),
        cleaning: Cleaning { time: CleaningTime::Blocking, ..Cleaning::default() },
        ..SsdConfig::default()
    }
}

/// Every layout that is possible.
fn layouts() -> Vec<(SsdConfig, Geometry)> {
    let mut all = Vec::new();
    for interleave in [Interleave::None, Interleave::Die, Interleave::PlanePair, Interleave::Plane]
    {
        for pool in [Pool::Plane, Pool::Die, Pool::Package, Pool::Gang, Pool::Ssd] {
            for gang in [Gang::SharedBus, Gang::SharedControlAsync, Gang::SharedControlSync] {
                for (half_pages, span) in
                    [(1, 1), (2, 1), (4, 1), (4, 2), (8, 1), (8, 2), (8, 4), (12, 2)]
                {
                    for frontiers in
                        [Frontiers::Single, Frontiers::SeparateMoved, Frontiers::HotCold]
                    {
                        let mut config = tiny(interleave, pool, gang);
                        config.cleaning.frontiers = frontiers;
                        if gang != Gang::SharedControlSync {
                            config.logical_page = Some(Size::from_bytes(half_pages * PAGE / 2));
                            config.page_span = Some(span);
                        } else if half_pages > 1 {
                            // Its logical page is one page of each package.
                            continue;
                        }
                        if let Ok(geometry) = Geometry::new(&config) {
                            all.push((config, geometry));
                        }
                    }
                }
            }
        }
    }
    all
}

fn name(config: &SsdConfig) -> String {
    let SsdConfig { interleave, pool, gang, logical_page, page_span, cleaning, .. } = config;
    let frontiers = cleaning.frontiers;
    format!(
        "interleave={interleave} pool={pool} gang={gang} logical_page={logical_page:?} \
         page_span={page_span:?} frontiers={frontiers}"
    )
}

/// Units that a pool reaches over.
fn units_of_a_pool(geometry: &Geometry) -> usize {
    let mut units: Vec<_> =
        geometry.pool_domains[0].iter().map(|domain| geometry.unit_of(*domain)).collect();
    units.dedup();
    units.len()
}

/// Asks both drives for the same, one request after the other; the end of the timed one.
fn ask_both(
    timed: &mut Ssd,
    untimed: &mut Ssd,
    requests: u64,
    mut make: impl FnMut(u64) -> Request,
) -> Time {
    let mut now = 0;
    let mut answers = Vec::new();
    for id in 0..requests {
        let request = make(id);
        timed.submit(now, request);
        while let Some(at) = timed.next_event() {
            now = at;
            timed.advance(now, &mut answers);
        }
        untimed.serve_untimed(&request);
    }
    assert_eq!(answers.len() as u64, requests);
    now
}

/// What the host asked, as a drive counts it.
fn of_the_host(report: &SsdReport) -> [u64; 6] {
    [
        report.counts.host_pages_read,
        report.counts.host_pages_written,
        report.counts.host_bytes_written,
        report.counts.merge_reads,
        report.counts.unmapped_pages_read,
        report.counts.pages_trimmed,
    ]
}

#[test]
fn timed_and_untimed_runs_count_alike_in_every_layout() {
    let layouts = layouts();
    let (mut merged, mut trimmed) = (0, 0);
    for (number, (config, geometry)) in layouts.iter().enumerate() {
        let mut random = Xoshiro256::new(number as u64, 0);
        let mut timed = Ssd::new(config, 1).unwrap();
        let mut untimed = timed.clone();
        let sectors = timed.capacity_sectors();
        let longest = u64::from(2 * geometry.sectors_per_page + 3);
        let (mut asked_bytes, mut asked_pages) = (0, 0);
        let end = ask_both(&mut timed, &mut untimed, 400, |id| {
            let op = match random.below(8) {
                0 => Op::Trim,
                1 | 2 => Op::Read,
                _ => Op::Write,
            };
            let count = 1 + random.below(longest);
            let lba = random.below(sectors - count);
            if op == Op::Write {
                asked_bytes += count * 512;
                let page = u64::from(geometry.sectors_per_flash_page);
                asked_pages += (lba + count).div_ceil(page) - lba / page;
            }
            Request::new(id, op, Lba(lba), count as u32)
        });
        timed.check().unwrap();
        untimed.check().unwrap();
        let (slow, fast) = (timed.account(end), untimed.account(0));
        assert_eq!(of_the_host(&slow), of_the_host(&fast), "{}", name(config));
        let (bytes, pages) = (slow.counts.host_bytes_written, slow.counts.host_pages_written);
        assert_eq!((bytes, pages), (asked_bytes, asked_pages), "{}", name(config));
        merged += slow.counts.merge_reads;
        trimmed += slow.counts.pages_trimmed;
    }
    println!("{} layouts, {merged} pages merged, {trimmed} trimmed", layouts.len());
    assert!(layouts.len() > 300 && merged > 0 && trimmed > 0);
}

#[test]
fn timed_and_untimed_runs_clean_alike_in_every_layout() {
    let mut wide = 0;
    for (number, (config, geometry)) in layouts().iter().enumerate() {
        let mut random = Xoshiro256::new(number as u64, 1);
        let mut timed = Ssd::new(config, 1).unwrap();
        let mut untimed = timed.clone();
        let pages = geometry.exported_pages();
        let sectors = u64::from(geometry.sectors_per_page);
        let end = ask_both(&mut timed, &mut untimed, 2 * pages, |id| {
            // Within one logical page: of the parts of a longer request the timed drive writes those
            // first that need not be merged.
            let from = if random.below(3) == 0 { random.below(sectors) } else { 0 };
            let lba = Lba(random.below(pages) * sectors + from);
            Request::new(id, Op::Write, lba, (sectors - from) as u32)
        });
        let (slow, fast) = (timed.account(end), untimed.account(0));
        assert_eq!(of_the_host(&slow), of_the_host(&fast), "{}", name(config));
        assert!(fast.counts.block_erases > 0, "{}", name(config));
        let counts = |report: &SsdReport| report.counts.rows().collect::<Vec<_>>();
        assert_eq!(counts(&slow), counts(&fast), "{}", name(config));
        assert_eq!(slow.cleaning.efficiency, fast.cleaning.efficiency, "{}", name(config));
        assert_eq!(slow.wear, fast.wear, "{}", name(config));
        wide += u32::from(units_of_a_pool(geometry) > 1);
    }
    println!("{} layouts, {wide} of them with pools of several units", layouts().len());
    assert!(layouts().len() > 500 && wide > 100);
}

#[test]
fn write_amplification_in_bytes_is_relative_to_bytes_that_the_host_wrote() {
    // Half a flash page in each write: a logical page of four flash pages is programmed for it.
    let mut config = tiny(Interleave::None, Pool::Package, Gang::SharedBus);
    config.logical_page = Some(Size::from_bytes(4 * PAGE));
    let mut ssd = Ssd::new(&config, 1).unwrap();
    for id in 0..10 {
        let request = Request::new(id, Op::Write, Lba(id * 16), 2);
        ssd.serve_untimed(&request);
    }
    let report = ssd.account(0);
    assert_eq!(
        (report.counts.host_pages_written, report.counts.host_bytes_written),
        (10, 10 * PAGE / 2)
    );
    assert_eq!((report.counts.page_programs, report.counts.bytes_programmed), (40, 40 * PAGE));
    assert_eq!(report.write_amplification, Some(4.0));
    assert_eq!(report.write_amplification_bytes, Some(8.0));
    let counts = FlashCounts::from(ssd.followed().unwrap());
    assert_eq!((counts.host_bytes_written, counts.bytes_programmed), (10 * PAGE / 2, 40 * PAGE));
}

#[test]
fn efficiency_is_a_share_however_many_victims_are_unfinished() {
    let mut checked = 0;
    for (interleave, pages_per_block) in [(Interleave::None, 4), (Interleave::Plane, 64)] {
        let mut config = SsdConfig {
            interleave,
            pages_per_block,
            blocks_per_plane: 32,
            planes_per_die: 4,
            channels: 8,
            pool: Pool::Plane,
            page_size: Size::from_bytes(3 << 10),
            ..small()
        };
        config.cleaning.time = CleaningTime::Interleaved;
        let mut ssd = Ssd::new(&config, 0).unwrap();
        let pages = ssd.facts().pages;
        let mut random = Xoshiro256::new(0, 0);
        for _ in 0..2 * pages {
            ssd.overwrite_untimed(&[random.below(pages)], 0);
        }
        ssd.instruct(0, Instruction::ResetCounts).unwrap();
        let mut begin = 0;
        for round in 0..40 {
            let mut load = Closed::new(64, 40, |id| {
                Request::new(id, Op::Write, Lba(random.below(pages) * 6), 6)
            });
            load.begin_at(begin);
            (begin, _) = run_closed(&mut ssd, &mut load);
            let cleaning = ssd.account(begin).cleaning;
            if let Some(efficiency) = cleaning.efficiency {
                assert!((0.0..=1.0).contains(&efficiency), "round {round}: {cleaning:?}");
                checked += 1;
            }
            if round % 3 == 0 {
                // In the midst of cleaning.
                ssd.instruct(0, Instruction::ResetCounts).unwrap();
            }
        }
    }
    assert!(checked > 40, "{checked}");
}

/// A small drive with few cycles.
fn mortal(rated_cycles: u32, page: u64) -> SsdConfig {
    SsdConfig {
        channels: 2,
        blocks_per_plane: 64,
        pages_per_block: 17,
        page_size: Size::from_bytes(page),
        wear: Wear { rated_cycles, ..Wear::default() },
        ..small()
    }
}

#[test]
fn nothing_is_busy_for_longer_than_the_drive_lived() {
    let ns = Duration::from_ns;
    let mut ended = 0;
    for gang in [Gang::SharedBus, Gang::SharedControlAsync, Gang::SharedControlSync] {
        for packages_per_channel in [1, 2] {
            for (program, erase) in [(1, 0), (200_000, 1_500_000)] {
                let mut config = SsdConfig {
                    gang,
                    packages_per_channel,
                    dies_per_package: 4,
                    blocks_per_plane: 16,
                    pages_per_block: 4,
                    pool: Pool::Plane,
                    spare_factor: Some(0.2),
                    ..mortal(1, 1024)
                };
                config.cleaning.time = CleaningTime::Interleaved;
                config.timing = Timing { program: ns(program), erase: ns(erase), ..config.timing };
                let mut ssd = Ssd::new(&config, 1).unwrap();
                let sectors = ssd.capacity_sectors();
                let mut load = Closed::new(1, 2_000, |id| {
                    Request::new(id, Op::Write, Lba(id * 256 % (sectors - 256)), 256)
                });
                let (end, _) = run_closed(&mut ssd, &mut load);
                ended += u32::from(ssd.standing().has_ended);
                let report = ssd.account(end);
                let units = report.units.iter().flat_map(|unit| [unit.busy, unit.cleaning]);
                for busy in units.chain(report.bus_busy.iter().copied()) {
                    assert!((0.0..=1.0).contains(&busy), "{gang} {packages_per_channel}: {busy}");
                }
            }
        }
    }
    assert!(ended > 0);
}

#[test]
fn what_an_ended_drive_refuses_is_not_written() {
    for gang in [Gang::SharedBus, Gang::SharedControlSync] {
        let config = SsdConfig {
            channels: 1,
            packages_per_channel: 2,
            blocks_per_plane: 16,
            pages_per_block: 4,
            gang,
            ..mortal(10, 1024)
        };
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let sectors = ssd.capacity_sectors();
        let mut random = Xoshiro256::new(1, 0);
        let mut asked = 0;
        let mut ends = 0;
        while ends < 100 {
            let count = 1 + random.below(32);
            let lba = Lba(random.below(sectors - count));
            ssd.serve_untimed(&Request::new(0, Op::Write, lba, count as u32));
            asked += count * 512;
            ends += u32::from(ssd.standing().has_ended);
        }
        let report = ssd.account(0);
        assert!(report.counts.refused_bytes > 0);
        assert_eq!(report.counts.host_bytes_written + report.counts.refused_bytes, asked);
        assert!(report.write_amplification.unwrap() >= 1.0);
        assert!(report.write_amplification_bytes.unwrap() >= 1.0);
        assert!(report.counts.page_programs >= report.counts.host_pages_written);
    }
}

/// What is foreseen after a third of the life is what is measured at its end, of a log, which wears all blocks
/// alike, and of greedy, of whose victims some come up more often by chance.
#[test]
fn lifetimes_count_bytes_of_the_host_and_are_estimated_in_advance() {
    // In every commit a third of them: each policy, page and block.
    let (mut row, every) = (0, depth(3, 3, 1));
    for (policy, seen) in [(Policy::Fifo, 0.35), (Policy::Greedy, 0.35)] {
        for page in [4096, 16_384] {
            for block in [4096, 16_384, 65_536] {
                row += 1;
                if (row + row / 4) % every != 0 {
                    continue;
                }
                let what = format!("{policy} page {page} block {block}");
                let mut config = mortal(400, page);
                config.cleaning.policy = policy.clone();
                config.free_order = FreeOrder::LeastWorn;
                let mut ssd = Ssd::new(&config, 1).unwrap();
                let places = ssd.capacity_sectors() * 512 / block;
                let mut random = Xoshiro256::new(block, 0);
                let mut written = 0;
                let mut write = |ssd: &mut Ssd| {
                    let lba = Lba(random.below(places) * block / 512);
                    let sectors = (block / 512) as u32;
                    ssd.serve_untimed(&Request::new(0, Op::Write, lba, sectors));
                    written += block;
                };
                // Until the writes are spread as they will be, and then long enough to tell.
                for _ in 0..6 * places {
                    write(&mut ssd);
                }
                let settled = ssd.account(0).counts.host_bytes_written;
                ssd.instruct(0, Instruction::ResetCounts).unwrap();
                while ssd.account(0).wear.mean_erases < seen * 400.0 {
                    for _ in 0..places / 4 {
                        write(&mut ssd);
                    }
                }
                let foreseen = ssd.account(0).wear.lifetime;
                let taken = |ssd: &Ssd| settled + ssd.account(0).counts.host_bytes_written;
                while ssd.account(0).wear.expired_blocks == 0 {
                    write(&mut ssd);
                }
                let first = taken(&ssd);
                while !ssd.standing().has_ended {
                    write(&mut ssd);
                }
                let taken = taken(&ssd);
                let measured = ssd.account(0).wear.lifetime;
                let (end, expiry) = (measured.spare_gone.unwrap(), measured.first_expiry.unwrap());
                assert_eq!(end.host_bytes as u64, taken, "{what}");
                let expired = expiry.host_bytes as u64;
                assert!(first - block <= expired && expired <= first, "{what}");
                let refused = ssd.account(0).counts.refused_bytes;
                assert_eq!(written, taken + refused, "{what}");
                let ratio = foreseen.estimate.unwrap().host_bytes / end.host_bytes;
                println!("{what}: {ratio:.3}");
                assert!((ratio - 1.0).abs() < 0.03, "{what}: {ratio}");
            }
        }
    }
}
