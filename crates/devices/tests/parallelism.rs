//! Is the parallelism right? Pairs of planes, gangs, wide logical pages and cache commands, to the
//! nanosecond.

use crate::common::{Script, US, run, run_on, small, small_blocking, times};
use devices::latency::{BUS, CELL, CLEANING_WAIT};
use devices::ssd::config::{FillOrder, Gang, Interleave, Pool};
use devices::ssd::{Geometry, Ssd, SsdConfig};
use devices::{Instruction, Model};
use engine::{Op::*, Random, Time, Xoshiro256};
use options::Size;

const SENSE: Time = 25_000;
const TRANSFER: Time = 105_600;
const PROGRAM: Time = 200_000;
const READ: Time = SENSE + TRANSFER;
const WRITE: Time = TRANSFER + PROGRAM;

/// One package of one die of four planes; page n lies in plane n of the first four.
fn planes(interleave: Interleave) -> SsdConfig {
    SsdConfig { channels: 1, planes_per_die: 4, pool: Pool::Plane, interleave, ..small() }
}

/// Two packages on one channel; page n lies in package n of the first two.
fn gang(gang: Gang) -> SsdConfig {
    SsdConfig { channels: 1, packages_per_channel: 2, gang, ..small() }
}

fn kib(kib: u64) -> Size {
    Size::from_bytes(kib << 10)
}

/// Sector steps with all sizes in KiB; the end of each.
fn ends(config: &SsdConfig, steps: &[(Time, engine::Op, u64, u32)]) -> Vec<Time> {
    let steps: Vec<_> = steps.iter().map(|s| (s.0, s.1, s.2 * 2, s.3 * 2)).collect();
    let done = run_on(&mut Ssd::new(config, 0).unwrap(), Script::sectors(&steps));
    done.iter().map(|completion| completion.at).collect()
}

#[test]
fn plane_pairs_overlap_and_the_planes_of_a_pair_do_not() {
    let pairs = planes(Interleave::PlanePair);
    assert_eq!(times(&pairs, &[(0, Read, 0, 1), (0, Read, 1, 1)]), [READ, 2 * READ]);
    assert_eq!(times(&pairs, &[(0, Read, 0, 1), (0, Read, 2, 1)]), [READ, READ + TRANSFER]);
    let dies = planes(Interleave::Die);
    assert_eq!(times(&dies, &[(0, Read, 0, 1), (0, Read, 2, 1)]), [READ, 2 * READ]);
}

#[test]
fn two_plane_commands_need_one_kind_and_one_pair() {
    let planes = planes(Interleave::Plane);
    // Both planes of a pair sense together; their transfers share the bus.
    assert_eq!(times(&planes, &[(0, Read, 0, 2)]), [READ + TRANSFER]);
    assert_eq!(times(&planes, &[(0, Write, 0, 2)]), [WRITE + TRANSFER]);
    // A write cannot begin while the other plane of its pair reads, but in another pair it can.
    assert_eq!(times(&planes, &[(0, Read, 0, 1), (US, Write, 1, 1)]), [READ, READ + WRITE]);
    assert_eq!(times(&planes, &[(0, Read, 0, 1), (US, Write, 2, 1)])[1], US + WRITE);
    // Nor can a second read once the first has begun: two-plane commands begin together.
    assert_eq!(times(&planes, &[(0, Read, 0, 1), (US, Read, 1, 1)]), [READ, 2 * READ]);
    // Waiting together, they begin together: page 4 lies in plane 0, page 5 in plane 1.
    let waiting = times(&planes, &[(0, Read, 0, 1), (US, Read, 4, 1), (US, Read, 5, 1)]);
    assert_eq!(waiting, [READ, 2 * READ, 2 * READ + TRANSFER]);
}

#[test]
fn what_packages_of_a_gang_share() {
    let both = [(0, Read, 0, 2)];
    let mixed = [(0, Read, 0, 1), (US, Write, 1, 1)];
    // One data path: the transfers wait for each other, the rest does not.
    assert_eq!(times(&gang(Gang::SharedBus), &both), [READ + TRANSFER]);
    assert_eq!(times(&gang(Gang::SharedBus), &mixed)[1], US + WRITE);
    // The control pins: transfers do not wait, operations of another kind do.
    assert_eq!(times(&gang(Gang::SharedControlAsync), &both), [READ]);
    assert_eq!(times(&gang(Gang::SharedControlAsync), &mixed)[1], READ + WRITE);
}

#[test]
fn a_synchronous_gang_is_one_wide_package() {
    let config = gang(Gang::SharedControlSync);
    assert_eq!(Geometry::new(&config).unwrap().sectors_per_page, 16);
    assert_eq!(times(&config, &[(0, Read, 0, 2)]), [READ]);
    assert_eq!(times(&config, &[(0, Write, 0, 2)]), [WRITE]);
    // No package can do anything alone.
    assert_eq!(times(&config, &[(0, Read, 0, 1), (0, Read, 1, 1)]), [READ, 2 * READ]);
    // A partial write is merged in the registers: sense, transfer what is new, program.
    let partial = run(&config, &[(0, Write, 1, 1)]);
    assert_eq!(partial[0].at, SENSE + WRITE);
    let mut ssd = Ssd::new(&config, 0).unwrap();
    run_on(&mut ssd, Script::pages(&[(0, Write, 1, 1)]));
    let report = ssd.account(1);
    assert_eq!(
        (report.counts.host_pages_written, report.counts.page_programs, report.counts.merge_reads),
        (1, 2, 2)
    );
    assert_eq!(report.write_amplification, Some(2.0));
}

#[test]
fn a_logical_page_of_several_pages_is_read_and_merged_whole() {
    let config = SsdConfig { logical_page: Some(kib(16)), ..small() };
    let ends = |steps: &[_]| ends(&config, steps);
    assert_eq!(ends(&[(0, Read, 0, 4)]), [READ]);
    assert_eq!(ends(&[(0, Read, 2, 4)]), [2 * READ], "misaligned: a page more");
    assert_eq!(ends(&[(0, Read, 0, 16)]), [4 * READ]);
    assert_eq!(ends(&[(0, Write, 0, 16)]), [4 * WRITE]);
    assert_eq!(ends(&[(0, Write, 4, 8)]), [2 * READ + 4 * WRITE]);
    assert_eq!(ends(&[(0, Write, 1, 1)]), [4 * READ + 4 * WRITE]);
    // The next logical page lies in the other package.
    assert_eq!(ends(&[(0, Read, 0, 4), (0, Read, 16, 4)]), [READ, READ]);
}

#[test]
fn a_logical_page_may_span_packages() {
    let config = SsdConfig { logical_page: Some(kib(16)), page_span: Some(2), ..small() };
    let ends = |steps: &[_]| ends(&config, steps);
    assert_eq!(ends(&[(0, Read, 0, 16)]), [2 * READ]);
    assert_eq!(ends(&[(0, Write, 0, 16)]), [2 * WRITE]);
    // Of 4 KiB written, one package reads one page and the other both of its pages.
    assert_eq!(ends(&[(0, Write, 0, 4)]), [2 * READ + 2 * WRITE]);
    // Parts in different packages are read side by side, those in one package in turn.
    assert_eq!(ends(&[(0, Read, 0, 4), (0, Read, 4, 4)]), [READ, READ]);
    assert_eq!(ends(&[(0, Read, 0, 4), (0, Read, 8, 4), (0, Read, 4, 4)]), [READ, 2 * READ, READ]);
    // A write needs both packages, and no later read overtakes it on either.
    let mixed = [(0, Read, 0, 4), (0, Write, 16, 16), (0, Read, 4, 4)];
    assert_eq!(ends(&mixed), [READ, READ + 2 * WRITE, 2 * READ + 2 * WRITE]);
}

#[test]
fn quarter_pages_need_no_merging() {
    let config = SsdConfig { logical_page: Some(kib(1)), ..small() };
    let quarter = TRANSFER / 4;
    assert_eq!(ends(&config, &[(0, Read, 0, 1)]), [SENSE + quarter]);
    assert_eq!(ends(&config, &[(0, Write, 0, 1)]), [quarter + PROGRAM]);
    let geometry = Geometry::new(&config).unwrap();
    assert_eq!((geometry.data_pages, geometry.sectors_per_page), (4 * 63, 2));
}

#[test]
fn a_block_sized_logical_page_pays_for_the_whole_block() {
    // The 2008 paper, section 4.4: TPC-C at 256 KiB pages. Its other half, the erasure, follows.
    let config =
        SsdConfig { logical_page: Some(kib(256)), summary_page: false, ..small_blocking() };
    assert_eq!(ends(&config, &[(0, Write, 8, 8)]), [62 * READ + 64 * WRITE]);
}

#[test]
fn cache_commands_pipeline_pages_of_one_kind() {
    let config = SsdConfig { cache_commands: true, ..small() };
    let reads = [(0, Read, 0, 1), (0, Read, 2, 1), (0, Read, 4, 1)];
    assert_eq!(times(&config, &reads), [READ, READ + TRANSFER, READ + 2 * TRANSFER]);
    let writes = [(0, Write, 0, 1), (0, Write, 2, 1), (0, Write, 4, 1)];
    assert_eq!(times(&config, &writes), [WRITE, WRITE + PROGRAM, WRITE + 2 * PROGRAM]);
    assert_eq!(times(&config, &[(0, Read, 0, 1), (0, Write, 2, 1)]), [READ, READ + WRITE]);
    // The sum of the linear-model paper for p pages: read + (p - 1) max(read, transfer) + transfer.
    let wide = SsdConfig { logical_page: Some(kib(16)), ..config };
    assert_eq!(ends(&wide, &[(0, Read, 0, 16)]), [SENSE + 4 * TRANSFER]);
    assert_eq!(ends(&wide, &[(0, Write, 0, 16)]), [TRANSFER + 4 * PROGRAM]);
    // What waits for the cell array waits for its unit, not for the bus.
    let config = SsdConfig { cache_commands: true, ..small() };
    let second = run(&config, &writes)[1].breakdown;
    assert_eq!((second[BUS], second[CELL]), (TRANSFER, PROGRAM));
}

#[test]
fn background_cleaning_uses_idle_time_and_an_arrival_ends_it() {
    const ERASE: Time = 1_500_000;
    let waits = |background: bool| -> Vec<Time> {
        let mut config = small_blocking();
        config.cleaning.min_free = Some(0.02);
        config.cleaning.background = background;
        config.cleaning.background_free = 0.08;
        let mut ssd = Ssd::new(&config, 0).unwrap();
        // Above the threshold of 1 block, at or below that of 5: overwritten blocks hold nothing.
        for page in 0.. {
            if ssd.free_blocks(0) == 4 {
                break;
            }
            ssd.overwrite_untimed(&[2 * page], 0);
        }
        let steps = [(0, Read, 1000, 1), (1_000 * US, Read, 1002, 1), (9_000 * US, Read, 1004, 1)];
        let done = run_on(&mut ssd, Script::pages(&steps));
        assert_eq!(ssd.free_blocks(0), if background { 6 } else { 4 });
        done.iter().map(|completion| completion.breakdown[CLEANING_WAIT]).collect()
    };
    assert_eq!(waits(false), [0, 0, 0]);
    // The erase that began after the first read is finished; the next one waits for the second.
    assert_eq!(waits(true), [0, READ + ERASE - 1_000 * US, 0]);
}

/// Section 5.2 of the 2008 paper: "a disk that is half full will have twice the cleaning efficiency
/// of a full disk", and TRIM is what makes a disk half full.
#[test]
fn trimming_half_of_a_drive_doubles_its_cleaning_efficiency() {
    let config = SsdConfig { blocks_per_plane: 256, ..small() };
    let efficiency = |trimmed: bool| {
        let mut ssd = Ssd::new(&config, 0).unwrap();
        let pages = Geometry::new(&config).unwrap().exported_pages();
        if trimmed {
            run_on(&mut ssd, Script::pages(&[(0, Trim, pages / 2, (pages / 2) as u32)]));
        }
        let in_use = if trimmed { pages / 2 } else { pages };
        let mut random = Xoshiro256::new(1, 0);
        let mut overwrite = |ssd: &mut Ssd, count: u64| {
            for _ in 0..count {
                ssd.overwrite_untimed(&[random.below(in_use)], 0);
            }
        };
        overwrite(&mut ssd, 3 * pages);
        ssd.instruct(0, Instruction::ResetCounts).unwrap();
        overwrite(&mut ssd, 2 * pages);
        ssd.account(1).cleaning.efficiency.unwrap()
    };
    let (full, half) = (efficiency(false), efficiency(true));
    println!("cleaning efficiency {full:.3} full, {half:.3} half full");
    assert!(half > 2.0 * full);
}

/// Figure 2 of the 2008 paper: four planes of one package and four of another, on one bus, copy a page
/// in every transfer time once the pipe is loaded, in spite of the 200 us that each program takes.
#[test]
fn pages_stream_between_packages_at_the_speed_of_the_bus() {
    const CLEANED_NS: Time = 200_000 * US;
    let per_page = |stream: bool| {
        let mut config = SsdConfig {
            channels: 1,
            packages_per_channel: 2,
            dies_per_package: 2,
            planes_per_die: 4,
            interleave: Interleave::PlanePair,
            pool: Pool::Gang,
            spare_factor: Some(0.4),
            fill_order: FillOrder::Random,
            ..small()
        };
        config.cleaning.stream = stream;
        config.cleaning.background = true;
        config.cleaning.background_free = 0.3;
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let pages = Geometry::new(&config).unwrap().exported_pages();
        let mut random = Xoshiro256::new(1, 0);
        for _ in 0..pages {
            ssd.overwrite_untimed(&[random.below(pages)], 0);
        }
        ssd.instruct(0, Instruction::ResetCounts).unwrap();
        // A read wakes its unit, which then cleans in idle time: one for each of the first package.
        let unit_of = |page: u64| {
            let mut probe = ssd.clone();
            run_on(&mut probe, Script::pages(&[(0, Read, page, 1)]));
            probe.account(1).units.iter().position(|unit| unit.operations > 0).unwrap()
        };
        let reads = (0..4).map(|unit| (0..1000).find(|page| unit_of(*page) == unit).unwrap());
        let mut steps: Vec<_> = reads.map(|page| (0, Read, page, 1)).collect();
        steps.push((CLEANED_NS, Read, steps[0].2, 1));
        run_on(&mut ssd, Script::pages(&steps));
        let report = ssd.account(CLEANED_NS);
        assert!(report.units[4..].iter().all(|unit| unit.operations == 0));
        CLEANED_NS as f64 / report.counts.pages_moved as f64
    };
    let (streamed, moved) = (per_page(true), per_page(false));
    println!("{streamed:.0} ns a page streamed, {moved:.0} through the controller");
    // A page in every transfer time; erasures and summaries leave the pipe a little short of that.
    assert!((0.99..1.1).contains(&(streamed / TRANSFER as f64)));
    assert!(moved > 1.9 * streamed);
}
