//! Drives with a block buffer: what leaves it has closed forms, the data stays, and reads in sequence are ahead.

use crate::common::{Closed, run_closed, seeds};
use devices::ssd::config::{BlockBuffer, HostLink, LogBlocks, LogScheme, Persistence, Pool};
use devices::ssd::{Geometry, Ssd, SsdConfig};
use devices::{DeviceKind, Model};
use engine::{Completion, Device, Lba, Op, Random, Request, Time, Xoshiro256};
use options::Size;

const SECTORS: u64 = 8;
/// Pages of a block, and their bytes.
const PAGES: u64 = 16;
const BLOCK: u64 = PAGES * 4096;

/// A buffer of so many blocks.
fn buffer(blocks: u64) -> BlockBuffer {
    BlockBuffer {
        size: Size::from_bytes(blocks * BLOCK),
        block: Some(Size::from_bytes(BLOCK)),
        ..BlockBuffer::default()
    }
}

/// One package, 40 blocks of 16 pages, a log block each for two of them.
fn drive(block_buffer: BlockBuffer) -> SsdConfig {
    SsdConfig {
        channels: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 40,
        pages_per_block: PAGES as u32,
        summary_page: false,
        spare_factor: Some(0.4),
        log_blocks: LogBlocks { scheme: LogScheme::Bast, count: 2 },
        persistence: Persistence { order: true, ..Persistence::default() },
        block_buffer,
        ..SsdConfig::default()
    }
}

/// What left the buffer, and what that came to.
#[derive(Debug, PartialEq, Eq, Clone, Copy, Default)]
struct Done {
    flushed: u64,
    complete: u64,
    filled_up: u64,
    programs: u64,
    switch: u64,
    other: u64,
}

fn done(ssd: &Ssd) -> Done {
    ssd.check().unwrap();
    let counts = ssd.account(1).counts;
    Done {
        flushed: counts.blocks_flushed,
        complete: counts.complete_blocks,
        filled_up: counts.pages_filled_up,
        programs: counts.page_programs,
        switch: counts.switch_merges,
        other: counts.partial_merges + counts.full_merges,
    }
}

fn run_out(ssd: &mut Ssd) -> Vec<Completion> {
    let mut all = Vec::new();
    while let Some(at) = ssd.next_event() {
        ssd.advance(at, &mut all);
    }
    all
}

fn page(op: Op, id: u64, page: u64) -> Request {
    Request::new(id, op, Lba(page * SECTORS), SECTORS as u32)
}

/// Writes pages one by one in time.
fn write_timed(config: &SsdConfig, pages: &[u64]) -> Ssd {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let write = |id| page(Op::Write, id, pages[id as usize]);
    run_closed(&mut ssd, &mut Closed::new(1, pages.len() as u64, write));
    run_out(&mut ssd);
    ssd
}

/// The same without time.
fn write_untimed(config: &SsdConfig, pages: &[u64]) -> Ssd {
    let mut ssd = Ssd::new(config, 1).unwrap();
    ssd.overwrite_untimed(pages, 0);
    ssd
}

#[test]
fn what_is_written_in_sequence_leaves_complete() {
    // One place of four is kept free: of twenty blocks three stay. Each of the others fills a log block.
    let config = drive(buffer(4));
    let order: Vec<u64> = (0..20 * PAGES).collect();
    let left = 17;
    let expected = Done {
        flushed: left,
        complete: left,
        filled_up: 0,
        programs: left * PAGES,
        switch: left,
        other: 0,
    };
    assert_eq!(done(&write_timed(&config, &order)), expected);
    assert_eq!(done(&write_untimed(&config, &order)), expected);
    // The same a sector at a time: the buffer gathers what is smaller than a page.
    let mut ssd = Ssd::new(&config, 1).unwrap();
    let sector = |id| Request::new(id, Op::Write, Lba(id), 1);
    run_closed(&mut ssd, &mut Closed::new(4, 20 * PAGES * SECTORS, sector));
    run_out(&mut ssd);
    assert_eq!(done(&ssd), expected);
}

#[test]
fn a_page_of_each_block_has_the_rest_read() {
    let config = drive(buffer(4));
    let order: Vec<u64> = (0..20).map(|block| block * PAGES + 5).collect();
    let left = 17;
    let expected = Done {
        flushed: left,
        complete: 0,
        filled_up: left * (PAGES - 1),
        programs: left * PAGES,
        switch: left,
        other: 0,
    };
    assert_eq!(done(&write_timed(&config, &order)), expected);
    assert_eq!(done(&write_untimed(&config, &order)), expected);
    // Half a page has all of its block read.
    let mut ssd = Ssd::new(&config, 1).unwrap();
    let half = |id| Request::new(id, Op::Write, Lba((id * PAGES + 5) * SECTORS), 4);
    run_closed(&mut ssd, &mut Closed::new(1, 20, half));
    run_out(&mut ssd);
    assert_eq!(done(&ssd), Done { filled_up: left * PAGES, ..expected });
}

#[test]
fn without_padding_pages_alone_are_written() {
    let config = drive(BlockBuffer { page_padding: false, ..buffer(4) });
    let order: Vec<u64> = (0..20).map(|block| block * PAGES + 5).collect();
    let Done { flushed, filled_up, switch, other, .. } = done(&write_timed(&config, &order));
    // Two log blocks are open at the end; the others were merged whole.
    assert_eq!((flushed, filled_up, switch, other), (17, 0, 0, 15));
}

#[test]
fn the_block_written_least_recently_leaves() {
    // Three blocks fit beside the free place; the first is written again before the fourth comes.
    let config = drive(buffer(4));
    let mut ssd = write_timed(&config, &[0, PAGES, 2 * PAGES, 1, 3 * PAGES]);
    assert_eq!(done(&ssd).flushed, 1);
    let before = ssd.account(1).counts.host_pages_read;
    for (id, (at, hits)) in [(0, 1), (PAGES, 1), (2 * PAGES, 2), (3 * PAGES, 3)].iter().enumerate()
    {
        let now = 1_000_000_000 * (id as u64 + 1);
        ssd.submit(now, page(Op::Read, 100 + id as u64, *at));
        run_out(&mut ssd);
        assert_eq!(ssd.account(1).counts.buffered_reads, *hits, "page {at}");
    }
    assert_eq!(ssd.account(1).counts.host_pages_read - before, 1, "the second block had left");
}

#[test]
fn a_block_written_in_sequence_leaves_before_older_ones() {
    let stream = (0..PAGES).map(|at| 5 * PAGES + at);
    let order: Vec<u64> = [0, PAGES].into_iter().chain(stream).chain([9 * PAGES]).collect();
    for (compensation, complete) in [(true, 1), (false, 0)] {
        let config = drive(BlockBuffer { compensation, ..buffer(4) });
        let Done { flushed, complete: is, .. } = done(&write_timed(&config, &order));
        assert_eq!((flushed, is), (1, complete), "compensation = {compensation}");
    }
}

#[test]
fn a_flush_waits_for_a_volatile_buffer_and_for_no_protected_one() {
    for (protected, left) in [(true, 0), (false, 2)] {
        let config = drive(BlockBuffer { power_loss_protected: protected, ..buffer(6) });
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let done_at = |ssd: &mut Ssd, now, request: Request| -> Time {
            ssd.submit(now, request);
            run_out(ssd).iter().find(|it| it.request.id == request.id).unwrap().latency()
        };
        done_at(&mut ssd, 0, page(Op::Write, 1, 3));
        done_at(&mut ssd, 0, page(Op::Write, 2, 40));
        let now = 1_000_000;
        let flush = done_at(&mut ssd, now, Request::new(3, Op::Flush, Lba(0), 0));
        assert_eq!(done(&ssd).flushed, left);
        assert_eq!(flush == 0, protected, "{flush} ns");
        // A write that is forced takes its block with it, and no other.
        done_at(&mut ssd, now * 100, page(Op::Write, 4, 100));
        let forced = Request { fua: true, ..page(Op::Write, 5, 200) };
        let forced = done_at(&mut ssd, now * 100, forced);
        assert_eq!(done(&ssd).flushed, if protected { 0 } else { 3 });
        assert_eq!(forced == 0, protected, "{forced} ns");
    }
}

#[test]
fn what_is_trimmed_does_not_leave() {
    let config = drive(BlockBuffer { power_loss_protected: false, ..buffer(4) });
    let mut ssd = Ssd::new(&config, 1).unwrap();
    ssd.submit(0, page(Op::Write, 1, 3));
    ssd.submit(0, page(Op::Trim, 2, 3));
    ssd.submit(0, Request::new(3, Op::Flush, Lba(0), 0));
    assert_eq!(run_out(&mut ssd).len(), 3);
    assert_eq!(done(&ssd), Done::default());
}

/// Reads pages in sequence, one at a time; the mean latency, pages read ahead, and hits.
fn read_in_sequence(read_ahead: u64) -> (f64, u64, u64) {
    let read_ahead = Size::from_bytes(read_ahead);
    let config = SsdConfig {
        channels: 4,
        log_blocks: LogBlocks::default(),
        ..drive(BlockBuffer { read_ahead, ..BlockBuffer::default() })
    };
    let mut ssd = Ssd::new(&config, 1).unwrap();
    let (_, all) = run_closed(&mut ssd, &mut Closed::new(1, 80, |id| page(Op::Read, id, id)));
    run_out(&mut ssd);
    let counts = ssd.account(1).counts;
    let sum: Time = all.iter().map(Completion::latency).sum();
    (sum as f64 / all.len() as f64, counts.pages_read_ahead, counts.read_ahead_hits)
}

#[test]
fn reads_in_sequence_find_what_was_read_ahead() {
    let (alone, none, no_hits) = read_in_sequence(0);
    assert_eq!((none, no_hits), (0, 0));
    // The first read is no sequence yet; the others find their page, and the window ends eight pages ahead.
    let (ahead, pages, hits) = read_in_sequence(8 * 4096);
    assert_eq!((pages, hits), (79 + 8, 79));
    assert!(ahead < 0.5 * alone, "{ahead} and {alone} ns");
}

/// Small drives of many shapes behind a small buffer.
fn random_drive(seed: u64) -> (SsdConfig, Xoshiro256) {
    let mut random = Xoshiro256::new(seed, 3);
    let mut config = drive(BlockBuffer::default());
    let mut page = 4096;
    match seed % 3 {
        0 => config.log_blocks.scheme = LogScheme::Fast,
        1 => {
            config.log_blocks = LogBlocks::default();
            page = 4096 << random.below(4);
            config.logical_page = Some(Size::from_bytes(page));
        }
        _ => {}
    }
    config.channels = 1 + random.below(2) as u32;
    if random.below(2) == 0 {
        config.pool = Pool::Plane;
    }
    let block = page * (1 + random.below(20));
    let blocks = 2 + random.below(5);
    config.block_buffer = BlockBuffer {
        size: Size::from_bytes(block * blocks),
        block: Some(Size::from_bytes(block)),
        page_padding: random.below(2) == 0,
        compensation: random.below(2) == 0,
        flushes: (random.below(3) > 0).then(|| 1 + random.below(blocks - 1) as u32),
        power_loss_protected: random.below(2) == 0,
        read_ahead: Size::from_bytes(random.below(3) * 9 * 512),
    };
    config.fill = crate::common::fill(["full", "empty", "0.37"][random.below(3) as usize]);
    (config, random)
}

fn random_request(id: u64, sectors: u64, random: &mut Xoshiro256) -> Request {
    let ops = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Flush];
    let op = ops[random.below(7) as usize];
    if op == Op::Flush {
        return Request::new(id, op, Lba(0), 0);
    }
    let length = 1 + random.below(60).min(sectors - 1);
    let reach = if random.below(3) == 0 { sectors } else { sectors / 4 };
    let from = random.below(reach.max(length + 1) - length);
    let fua = op == Op::Write && random.below(6) == 0;
    Request { fua, ..Request::new(id, op, Lba(from), length as u32) }
}

fn serve(ssd: &mut Ssd, random: &mut Xoshiro256, (begin, count): (Time, u64)) -> Vec<Completion> {
    let sectors = ssd.capacity_sectors();
    let (mut now, mut all) = (begin, Vec::new());
    for id in 0..count {
        ssd.submit(now, random_request(id, sectors, random));
        while id + 1 - all.len() as u64 > 6 * u64::from(id + 1 < count) {
            now = ssd.next_event().expect("requests are outstanding, and something goes on");
            ssd.advance(now, &mut all);
        }
        if id % 50 == 0 {
            ssd.check().unwrap();
        }
    }
    all.extend(run_out(ssd));
    ssd.check().unwrap();
    all
}

#[test]
fn random_drives_answer_all_and_pass_the_audit() {
    seeds(0..48, |seed| {
        let (config, mut random) = random_drive(seed);
        let mut ssd = Ssd::new(&config, seed).unwrap();
        let all = serve(&mut ssd, &mut random, (0, 1_200));
        assert_eq!(all.len(), 1_200);
        assert!(all.iter().all(|it| it.status.is_ok()));
        let written: u64 =
            all.iter().filter(|it| it.request.op == Op::Write).map(|it| it.request.bytes()).sum();
        let counts = ssd.account(1).counts;
        assert_eq!(counts.host_bytes_written, written);
        assert!(counts.complete_blocks <= counts.blocks_flushed);
    });
}

#[test]
fn timed_and_untimed_runs_flush_alike() {
    seeds(0..24, |seed| {
        let (mut config, mut random) = random_drive(seed);
        config.fill = crate::common::fill("full");
        // By default the block leaves for whose pool nothing else does, which is a matter of time.
        config.block_buffer.flushes.get_or_insert(1);
        let pages = Geometry::new(&config).unwrap().exported_pages();
        let order: Vec<u64> = (0..1_000).map(|_| random.below(pages)).collect();
        let each = config.logical_page.map_or(4096, Size::bytes) / 512;
        let mut timed = Ssd::new(&config, 1).unwrap();
        let write =
            |id: u64| Request::new(id, Op::Write, Lba(order[id as usize] * each), each as u32);
        run_closed(&mut timed, &mut Closed::new(1, order.len() as u64, write));
        run_out(&mut timed);
        let of = |ssd: &Ssd| {
            let Done { flushed, complete, filled_up, programs, .. } = done(ssd);
            let counts = ssd.account(1).counts;
            (
                flushed,
                complete,
                filled_up,
                programs,
                counts.host_bytes_written,
                counts.replaced_pages,
            )
        };
        let (flushed, complete, filled_up, programs, bytes, replaced) = of(&timed);
        let untimed = of(&write_untimed(&config, &order));
        assert_eq!(
            (flushed, complete, filled_up, bytes, replaced),
            (untimed.0, untimed.1, untimed.2, untimed.4, untimed.5,)
        );
        // Merges of log blocks, and cleaning, may be under way in time.
        assert!(programs.abs_diff(untimed.3) <= programs / 8, "{programs}, {}", untimed.3);
    });
}

#[test]
fn a_restored_drive_continues_bit_identically() {
    seeds(0..12, |seed| {
        let (config, mut random) = random_drive(seed);
        let mut first = Ssd::new(&config, seed).unwrap();
        serve(&mut first, &mut random, (0, 400));
        let kept = first.save().expect("it rests");
        let restored = || {
            let mut ssd = Ssd::new(&config, seed).unwrap();
            ssd.restore(kept.clone()).unwrap();
            ssd
        };
        let (mut one, mut other) = (restored(), restored());
        let (these, those) = (&mut random.clone(), &mut random.clone());
        assert_eq!(serve(&mut one, these, (0, 400)), serve(&mut other, those, (0, 400)));
        assert_eq!(one.save(), other.save());
    });
}

#[test]
fn a_block_buffer_is_refused_where_it_cannot_be() {
    let refused = |config: SsdConfig, key: &str, words: &str| {
        let invalid = config.check_shape().expect_err(words);
        let text = format!("{invalid:?}");
        assert!(text.contains(key) && text.contains(words), "{text}");
    };
    let size = |bytes| Size::from_bytes(bytes);
    refused(drive(buffer(1)), "device.block_buffer.size", "from 2 to 65536");
    let odd = BlockBuffer { size: size(BLOCK * 2 + 512), ..buffer(2) };
    refused(drive(odd), "device.block_buffer.size", "a multiple of the blocks of 64KiB");
    let block = BlockBuffer { block: Some(size(6_000)), ..buffer(2) };
    refused(drive(block), "device.block_buffer.block", "a multiple of the logical page, 4KiB");
    let flushes = BlockBuffer { flushes: Some(4), ..buffer(4) };
    refused(drive(flushes), "device.block_buffer.flushes", "from 1 to 3");
    let none = BlockBuffer { flushes: Some(0), ..buffer(4) };
    refused(drive(none), "device.block_buffer.flushes", "from 1 to 3");
    let ahead = BlockBuffer { read_ahead: size(1_000), ..BlockBuffer::default() };
    refused(drive(ahead), "device.block_buffer.read_ahead", "whole sectors of 512B");
    let mut both = SsdConfig { log_blocks: LogBlocks::default(), ..drive(buffer(4)) };
    both.buffer.size = size(1 << 20);
    refused(both, "device.block_buffer.size", "without a write buffer");
    assert!(drive(buffer(2)).check_shape().is_ok());
    // With log blocks a block is what these are merged with, on all pools.
    let striped = SsdConfig {
        channels: 2,
        host_link: HostLink::default(),
        ..drive(BlockBuffer { block: None, ..buffer(4) })
    };
    assert_eq!(Geometry::new(&striped).unwrap().gathered_pages(&striped), 2 * PAGES);
}

/// With it a drive that maps in blocks writes at random faster than without, whatever is outstanding: blocks leave for
/// all pools at once, and of a block on several pools only what lies in those that were written.
#[test]
fn random_writes_are_faster_with_it_than_without() {
    let mapped_in_blocks = SsdConfig {
        logical_page: Some(Size::from_bytes(BLOCK)),
        log_blocks: LogBlocks::default(),
        ..drive(BlockBuffer::default())
    };
    let merged = drive(BlockBuffer::default());
    for (name, one) in [("logical pages", mapped_in_blocks), ("log blocks", merged)] {
        for (channels, outstanding) in [(1, 8), (8, 4), (8, 32)] {
            let config = |size: u64| SsdConfig {
                channels,
                block_buffer: BlockBuffer {
                    size: Size::from_bytes(size),
                    ..BlockBuffer::default()
                },
                host_link: HostLink::default(),
                persistence: Persistence::default(),
                ..one.clone()
            };
            let rate = |config: &SsdConfig| {
                let pages = Geometry::new(config).unwrap().exported_pages();
                let each = config.logical_page.map_or(1, |size| size.bytes() / 4096);
                let mut random = Xoshiro256::new(3, 0);
                let write = move |id| page(Op::Write, id, random.below(pages * each));
                let mut ssd = Ssd::new(config, 1).unwrap();
                let (end, _) = run_closed(&mut ssd, &mut Closed::new(outstanding, 2_000, write));
                2_000.0 / end as f64
            };
            let (without, with) = (rate(&config(0)), rate(&config(256 * BLOCK)));
            assert!(with > without, "{name}, {channels} channels: {without} to {with}");
        }
    }
}
