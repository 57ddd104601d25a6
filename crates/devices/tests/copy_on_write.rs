//! Copy-on-write snapshots in time: what they cost, and what a queue reads of them.

use crate::common::{Closed, Script, US, run_closed, run_on, small};
use devices::ssd::config::SnapshotKeys;
use devices::ssd::{Geometry, Ssd, SsdConfig, SsdReport};
use devices::{Instruction, Model};
use engine::{Device, Handle, Lba, Op, Op::*, Random, Request, Time, Xoshiro256};
use options::Size;

const READ: Time = 130_600;

fn keeping(most: u32, every_pages: u64, space: f64) -> SsdConfig {
    let every = Size::from_bytes(every_pages * 4096);
    let snapshots = SnapshotKeys { most, every, space, ..SnapshotKeys::default() };
    SsdConfig { snapshots, spare_factor: Some(0.3), ..small() }
}

/// Uniform random overwrites; the report.
fn overwritten(config: &SsdConfig, share: u64) -> SsdReport {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let pages = Geometry::new(config).unwrap().exported_pages();
    let random = &mut Xoshiro256::new(5, 0);
    (0..2 * pages).for_each(|_| ssd.overwrite_untimed(&[random.below(pages)], 0));
    ssd.instruct(0, Instruction::ResetCounts).unwrap();
    let mut load = Closed::new(8, pages * share / 100, |n| {
        Request::new(n, Op::Write, Lba(random.below(pages) * 8), 8)
    });
    let (end, _) = run_closed(&mut ssd, &mut load);
    ssd.account(end)
}

/// The spare space is what snapshots leave of it, and write amplification says so.
#[test]
fn what_a_snapshot_holds_is_spare_space_that_cleaning_lacks() {
    let none =
        overwritten(&SsdConfig { snapshots: SnapshotKeys::default(), ..keeping(0, 1, 0.1) }, 100);
    assert_eq!(none.snapshots, None);
    let none = none.write_amplification.unwrap();
    let mut last = none;
    for space in [0.03, 0.08, 0.15] {
        // One snapshot early on, which is dropped only where it takes more than its space.
        let report = overwritten(&keeping(1, 850, space), 100);
        let amplification = report.write_amplification.unwrap();
        let snapshots = report.snapshots.unwrap();
        println!("space {space}: {amplification:.3}, {snapshots:?}");
        assert!(amplification > 0.99 * none && snapshots.made > 0);
        last = last.max(amplification);
    }
    assert!(last > 1.05 * none, "{last} and {none}");
}

#[test]
fn snapshots_come_after_so_many_bytes_and_cost_their_tables() {
    let report = overwritten(&keeping(2, 500, 1e-1), 50);
    let pages = Geometry::new(&keeping(2, 500, 0.1)).unwrap().exported_pages();
    let snapshots = report.snapshots.unwrap();
    // The first after so many pages, the next after as many again.
    assert_eq!(snapshots.made, (pages * 50 / 100 - 1) / 500);
    assert_eq!(snapshots.made - snapshots.dropped, snapshots.kept.len() as u64);
    let bits = pages.div_ceil(64) * 8 * (snapshots.kept.len() as u64 + 1);
    assert_eq!(snapshots.table_bytes, bits + 4 * snapshots.pages_held);
}

/// A queue reads the drive as it was: what was not there takes no time.
#[test]
fn a_queue_reads_the_snapshot() {
    let mut config = keeping(2, 1, 0.2);
    config.fill = crate::common::fill("empty");
    config.snapshots.queue = Some(3);
    let ends = |back: u32| {
        let config = SsdConfig {
            snapshots: SnapshotKeys { back, ..config.snapshots.clone() },
            ..config.clone()
        };
        let mut ssd = Ssd::new(&config, 0).unwrap();
        // A snapshot before each write but the first: the newest has pages 0 and 2, the one before page 0 alone.
        let at = 1_000 * US;
        run_on(
            &mut ssd,
            Script::pages(&[(0, Write, 0, 1), (at, Write, 2, 1), (2 * at, Write, 4, 1)]),
        );
        let mut done = Vec::new();
        for (id, (page, queue)) in [(0, 3), (2, 3), (4, 3), (4, 0), (6, 0)].into_iter().enumerate()
        {
            let now = (10 + id as Time) * at;
            ssd.advance(now, &mut done);
            ssd.submit(now, Request { queue, ..Request::new(id as u64, Read, Lba(page * 8), 8) });
        }
        ssd.advance(100 * at, &mut done);
        ssd.check().unwrap();
        done.iter().map(engine::Completion::latency).collect::<Vec<_>>()
    };
    assert_eq!(ends(1), [READ, READ, 0, READ, 0]);
    assert_eq!(ends(2), [READ, 0, 0, READ, 0]);
    assert_eq!(ends(3), [READ, READ, READ, READ, 0], "there is none: the drive");
}

/// What a request orders with its handle comes before it: a snapshot is made, the oldest or all are dropped.
#[test]
fn requests_order_snapshots_and_their_end() {
    let mut config = keeping(3, 1 << 40, 0.2);
    config.fill = crate::common::fill("empty");
    config.snapshots.queue = Some(3);
    config.snapshots.orders = "1: make, 2: drop, 4: drop-all".parse().unwrap();
    let mut ssd = Ssd::new(&config, 0).unwrap();
    let (mut done, mut now) = (Vec::new(), 0);
    let mut ask = |op, page: u64, queue, handle: Option<u64>| {
        now += 1_000 * US;
        ssd.advance(now, &mut done);
        let handle = handle.map_or(Handle::NONE, Handle::new);
        ssd.submit(now, Request { queue, handle, ..Request::new(now, op, Lba(page * 8), 8) });
        ssd.advance(now + 900 * US, &mut done);
        ssd.check().unwrap();
        let it = ssd.account(1).snapshots.unwrap();
        (done.pop().unwrap().latency(), it.made, it.dropped, it.kept.len())
    };
    assert_eq!(ask(Write, 0, 0, None).1, 0);
    // The snapshot is of what there was before the write that orders it.
    assert_eq!(ask(Write, 2, 0, Some(1)).1, 1);
    assert_eq!(ask(Read, 0, 3, None), (READ, 1, 0, 1));
    assert_eq!(ask(Read, 2, 3, None), (0, 1, 0, 1));
    // A read orders one too, and handles that say nothing order nothing.
    assert_eq!(ask(Read, 0, 0, Some(1)), (READ, 2, 0, 2));
    assert_eq!(ask(Read, 2, 3, Some(9)), (READ, 2, 0, 2));
    assert_eq!(ask(Read, 0, 0, Some(2)), (READ, 2, 1, 1));
    assert_eq!(ask(Read, 0, 0, Some(1)), (READ, 3, 1, 2));
    assert_eq!(ask(Write, 4, 0, None).3, 2);
    assert_eq!(ask(Read, 4, 3, None), (0, 3, 1, 2));
    // Without one, the queue reads the drive.
    assert_eq!(ask(Read, 4, 3, Some(4)), (READ, 3, 3, 0));
    assert_eq!(ask(Read, 0, 0, Some(2)), (READ, 3, 3, 0));
}

/// The handle of a request that now and then orders what `ORDERS` say.
pub fn handle_of(number: u64) -> Handle {
    Handle::new(match number % 970 {
        2 => 2,
        500 => 50,
        _ if number % 97 == 1 => 1,
        _ => 9,
    })
}

/// See [`handle_of`].
pub const ORDERS: &str = "1: make, 2: drop, 50: drop-all";

/// Without time a drive makes the same snapshots, which hold the same pages, and reads the same of them; both reports.
pub fn same_without_time(config: &SsdConfig, asked: &[Request]) -> [SsdReport; 2] {
    let [mut timed, mut untimed] = [0; 2].map(|_| Ssd::new(config, 1).unwrap());
    let mut load = Closed::new(1, asked.len() as u64, |n| asked[n as usize]);
    let (end, _) = run_closed(&mut timed, &mut load);
    for request in asked {
        assert!(untimed.serve_untimed(request).is_ok());
    }
    untimed.check().unwrap();
    let (one, other) = (timed.account(end), untimed.account(end));
    let it = one.snapshots.as_ref().unwrap();
    assert!(it.made > 30 && it.dropped > 30 && it.crowded_out > 0, "{it:?}");
    assert_eq!(one.snapshots, other.snapshots);
    assert_eq!(one.counts.host_bytes_written, other.counts.host_bytes_written);
    assert_eq!(one.counts.unmapped_pages_read, other.counts.unmapped_pages_read);
    [one, other]
}

#[test]
fn snapshots_are_the_same_without_time() {
    let mut config = keeping(3, 300, 0.01);
    config.snapshots.queue = Some(3);
    config.snapshots.orders = ORDERS.parse().unwrap();
    let pages = Geometry::new(&config).unwrap().exported_pages();
    let mut random = Xoshiro256::new(5, 0);
    let mut request = |n| {
        let op = if random.below(3) == 0 { Read } else { Write };
        let queue = if random.below(2) == 0 { 3 } else { 0 };
        let request = Request::new(n, op, Lba(random.below(pages) * 8), 8);
        Request { queue, handle: handle_of(n), ..request }
    };
    let asked: Vec<Request> = (0..4_000).map(&mut request).collect();
    same_without_time(&config, &asked);
}

/// A drive is saved without its snapshots.
#[test]
fn a_drive_is_saved_without_its_snapshots() {
    let config = keeping(3, 200, 0.1);
    let mut ssd = Ssd::new(&config, 1).unwrap();
    let pages = Geometry::new(&config).unwrap().exported_pages();
    let random = &mut Xoshiro256::new(5, 0);
    let mut load =
        Closed::new(4, 3_000, |n| Request::new(n, Op::Write, Lba(random.below(pages) * 8), 8));
    let (end, _) = run_closed(&mut ssd, &mut load);
    while let Some(at) = ssd.next_event() {
        ssd.advance(at, &mut Vec::new());
    }
    assert!(ssd.account(end).snapshots.unwrap().pages_held > 0);
    let saved = ssd.save().unwrap();
    let mut other = Ssd::new(&config, 1).unwrap();
    other.restore(saved).unwrap();
    assert_eq!(other.account(1).snapshots.unwrap().pages_held, 0);
    let mut one_fewer = config;
    one_fewer.snapshots.most = 2;
    let error = Ssd::new(&one_fewer, 1).unwrap().restore(ssd.save().unwrap()).unwrap_err();
    assert!(error.contains("device.snapshots.most is 3 there and 2 here"), "{error}");
}

/// Snapshots of which the oldest hold nothing by themselves give way until there is room.
#[test]
fn the_oldest_that_hold_nothing_go_too() {
    let mut config = keeping(3, 1 << 40, 0.001);
    config.snapshots.orders = "1: make".parse().unwrap();
    let mut ssd = Ssd::new(&config, 0).unwrap();
    // Every second page is of the same pool.
    let room = (ssd.facts().pages as f64 / 2.0 * 0.001) as u64;
    let mut ask = |op, page: u64, handle| {
        let request = Request::new(0, op, Lba(page * 8), 8);
        assert!(ssd.serve_untimed(&Request { handle: Handle::new(handle), ..request }).is_ok());
        ssd.check().unwrap();
        ssd.account(1).snapshots.unwrap()
    };
    for _ in 0..3 {
        ask(Read, 0, 1);
    }
    for page in 0..room {
        let it = ask(Write, 2 * page, 9);
        assert_eq!((it.kept.len(), it.pages_held), (3, page + 1));
    }
    let it = ask(Write, 2 * room, 9);
    assert_eq!((it.dropped, it.crowded_out, it.pages_held), (3, 3, 0));
}

/// Writes to a drive with short-lived blocks until it takes no more.
pub fn wear_out(mut config: SsdConfig) {
    (config.wear.rated_cycles, config.wear.spread) = (12, 0.2);
    let mut ssd = Ssd::new(&config, 1).unwrap();
    let pages = ssd.facts().pages;
    let random = &mut Xoshiro256::new(5, 0);
    let mut load = Closed::new(8, 100 * pages, |n| {
        Request::new(n, Op::Write, Lba(random.below(pages) * 8), 8)
    });
    let (end, done) = run_closed(&mut ssd, &mut load);
    let made = ssd.account(end).snapshots.unwrap().made;
    println!("{} writes to {pages} pages, {made} snapshots", done.len());
    assert!(ssd.standing().has_ended && made > 10, "{made}");
}

/// Of the blocks that a drive may lose those are none in which snapshots lie.
#[test]
fn a_drive_that_keeps_snapshots_wears_out() {
    wear_out(keeping(2, 300, 0.15));
}

#[test]
fn what_snapshots_need_is_said() {
    let refusal = |change: fn(&mut SsdConfig)| {
        let mut config = keeping(2, 100, 0.1);
        change(&mut config);
        Geometry::new(&config).unwrap_err().to_string()
    };
    for (change, words) in [
        ((|it| it.snapshots.most = 65) as fn(&mut SsdConfig), "65 is not possible; 0 to 64"),
        (|it| it.snapshots.every = Size::from_bytes(512), "less than a logical page"),
        (|it| it.snapshots.back = 0, "1 is the newest"),
        (|it| it.snapshots.space = 0.0, "not a share above 0"),
        (|it| it.snapshots.space = 0.9, "raise the spare space or lower the share"),
        (|it| it.persistence.recovery = devices::ssd::config::Recovery::Spare, "no recovery finds"),
        (
            |it| (it.fdp.handles, it.snapshots.orders) = (2, "1: make".parse().unwrap()),
            "orders snapshots or names a reclaim unit",
        ),
        (|it| it.map.memory = "8KiB".parse().unwrap(), "tables of snapshots are in memory"),
    ] {
        let said = refusal(change);
        assert!(said.contains(words), "{said}");
    }
}
