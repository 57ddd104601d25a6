//! Does every key of redundancy change a result in the right direction, and is nonsense refused?

use crate::common::{Closed, run_closed};
use crate::raid::{array, build, idle};
use devices::DeviceKind as _;
use devices::array::{ArrayConfig, HoleRule, Layout, Redundancy, WriteRule};
use engine::{Completion, Lba, Op, Random, Request, Time, Xoshiro256};
use options::Size;

#[test]
fn contradictions_are_refused_by_name() {
    type Change = fn(&mut ArrayConfig);
    let rows: [(Redundancy, u32, Change, &str, &str); 15] = [
        (Redundancy::Parity, 2, |_| {}, "device.members", "parity takes at least 3 members, not 2"),
        (Redundancy::DoubleParity, 2, |_| {}, "device.members", "at least 3 members"),
        (Redundancy::Mirror, 5, |_| {}, "device.members", "5 members are no multiple of 2 copies"),
        (Redundancy::Mirror, 4, |it| it.copies = 1, "device.copies", "2 to 10 copies, not 1"),
        (
            Redundancy::Parity,
            4,
            |it| it.layout = Layout::Concatenated,
            "device.layout",
            "is striped, not concatenated",
        ),
        (
            Redundancy::Parity,
            3,
            |it| it.parity_share = "50,20,20".parse().unwrap(),
            "device.parity_share",
            "the shares add up to 90, not to 100",
        ),
        (
            Redundancy::Parity,
            4,
            |it| it.parity_share = "50,50".parse().unwrap(),
            "device.parity_share",
            "2 shares for 4 members",
        ),
        (
            Redundancy::Mirror,
            2,
            |it| it.parity_share = "50,50".parse().unwrap(),
            "device.parity_share",
            "a mirror array has no rotating parity",
        ),
        (
            Redundancy::Parity,
            4,
            |it| it.failed = "4".parse().unwrap(),
            "device.failed",
            "no member 4; they are 0 to 3",
        ),
        (
            Redundancy::None,
            4,
            |it| it.failed = "1".parse().unwrap(),
            "device.failed",
            "without redundancy",
        ),
        (Redundancy::None, 4, |it| it.spares = 1, "device.spares", "without redundancy"),
        (
            Redundancy::None,
            4,
            |it| it.hole = HoleRule::Journal,
            "device.hole",
            "without redundancy",
        ),
        (
            Redundancy::DoubleParity,
            4,
            |it| it.hole = HoleRule::PartialParity,
            "device.hole",
            "one chunk of rotated parity, which a double-parity array has not",
        ),
        (
            Redundancy::Parity,
            4,
            |it| it.rebuild.unit = Size::from_bytes(100 << 10),
            "device.rebuild.unit",
            "no multiple of a chunk of 64KiB",
        ),
        (Redundancy::Parity, 4, |it| it.spares = 2000, "device.members", "not 2004"),
    ];
    for (kind, members, change, key, problem) in rows {
        let mut config = array(kind, members);
        change(&mut config);
        let refusal = config.build(0).err().unwrap_or_else(|| panic!("{problem}"));
        assert_eq!(refusal.keys[0], key, "{refusal}");
        assert!(refusal.problem.contains(problem), "{refusal}");
    }
}

// ---- no dead options ----------------------------------------------------------------------------

/// A load, and the figure by which a change shows.
type Figure = fn(&ArrayConfig) -> f64;

/// Mean latency, us, of random requests at a queue depth of `outstanding`.
fn mean(config: &ArrayConfig, op: Op, outstanding: u32, sectors: u64) -> f64 {
    let mut device = build(config);
    let most = device.capacity_sectors() / sectors;
    let mut random = Xoshiro256::new(5, 0);
    let mut load = Closed::new(outstanding, 2000, |id| {
        Request::new(id, op, Lba(random.below(most) * sectors), sectors as u32)
    });
    let (_, completions) = run_closed(&mut *device, &mut load);
    let sum: Time = completions.iter().map(Completion::latency).sum();
    sum as f64 / 1e3 / completions.len() as f64
}

/// When 2,000 sequential writes of 4 KiB are over, 32 outstanding.
fn sequential(config: &ArrayConfig) -> f64 {
    let mut device = build(config);
    let mut load = Closed::new(32, 2000, |id| Request::new(id, Op::Write, Lba(id * 8), 8));
    run_closed(&mut *device, &mut load).0 as f64
}

/// Bytes on spares after a minute of nothing.
fn rebuilt(config: &ArrayConfig) -> f64 {
    let mut device = build(config);
    let end = idle(&mut *device);
    device.report(end).count("array.rebuild.bytes") as f64
}

fn rebuild_seconds(config: &ArrayConfig) -> f64 {
    idle(&mut *build(config)) as f64
}

#[test]
fn every_key_of_redundancy_changes_a_result_in_the_right_direction() {
    type Change = fn(&mut ArrayConfig);
    let small_writes: Figure = |it| mean(it, Op::Write, 8, 8);
    let small_reads: Figure = |it| mean(it, Op::Read, 8, 8);
    // Key, what it needs, the change, the figure, and whether that grows.
    let rows: [(&str, Change, Change, Figure, bool); 13] = [
        ("redundancy", |_| {}, |it| it.redundancy = Redundancy::DoubleParity, small_writes, true),
        ("copies", |it| it.redundancy = Redundancy::Mirror, |it| it.copies = 3, small_writes, true),
        (
            "read_copy",
            |it| it.redundancy = Redundancy::Mirror,
            |it| it.read_copy = "primary".parse().unwrap(),
            small_reads,
            true,
        ),
        // Six chunks lie on all six members, or on five.
        (
            "parity_rotation",
            |it| it.stripe = Size::from_bytes(4096),
            |it| it.parity_rotation = "left-asymmetric".parse().unwrap(),
            |it| mean(it, Op::Read, 1, 48),
            true,
        ),
        (
            "parity_share",
            |_| {},
            |it| it.parity_share = "75,5,5,5,5,5".parse().unwrap(),
            small_writes,
            true,
        ),
        ("write", |_| {}, |it| it.write = WriteRule::Reconstruct, small_writes, true),
        ("writes_together", |_| {}, |it| it.writes_together = true, small_writes, true),
        // Small sequential writes wait for each other's stripe.
        ("stripe_cache", |_| {}, |it| it.stripe_cache = 64, sequential, false),
        // What a cut leaves is tested in `hole.rs`; this is what the remedy costs.
        ("hole", |_| {}, |it| it.hole = HoleRule::Journal, small_writes, true),
        ("failed", |_| {}, |it| it.failed = "0".parse().unwrap(), small_reads, true),
        ("spares", |it| it.failed = "0".parse().unwrap(), |it| it.spares = 1, rebuilt, true),
        (
            "rebuild.rate",
            |it| (it.failed, it.spares) = ("0".parse().unwrap(), 1),
            |it| it.rebuild.rate = "1MB/s".parse().unwrap(),
            rebuild_seconds,
            true,
        ),
        // More at a time is read beside what is written.
        (
            "rebuild.unit",
            |it| (it.failed, it.spares) = ("0".parse().unwrap(), 1),
            |it| it.rebuild.unit = Size::from_bytes(64 << 10),
            rebuild_seconds,
            true,
        ),
    ];
    for (key, given, change, figure, grows) in &rows {
        let mut before = array(Redundancy::Parity, 6);
        given(&mut before);
        let mut after = before.clone();
        change(&mut after);
        let (a, b) = (figure(&before), figure(&after));
        println!("{key}: {a} -> {b}");
        assert!(if *grows { a < b } else { a > b }, "{key}: {a} -> {b}");
    }
    let tested: Vec<String> = rows.iter().map(|row| format!("device.{}", row.0)).collect();
    assert_eq!(tested, KEYS, "keys without a row");
}

/// The keys of redundancy, of which `array.rs` says nothing.
pub const KEYS: [&str; 13] = [
    "device.redundancy",
    "device.copies",
    "device.read_copy",
    "device.parity_rotation",
    "device.parity_share",
    "device.write",
    "device.writes_together",
    "device.stripe_cache",
    "device.hole",
    "device.failed",
    "device.spares",
    "device.rebuild.rate",
    "device.rebuild.unit",
];

/// The first write of a stripe begins at once, and the others are done together.
#[test]
fn a_stripe_cache_makes_large_writes_of_small_ones() {
    let joins = |stripe_cache| {
        let config = ArrayConfig { stripe_cache, ..array(Redundancy::Parity, 5) };
        let mut device = build(&config);
        let mut load = Closed::new(256, 8192, |id| Request::new(id, Op::Write, Lba(id * 8), 8));
        let (end, completions) = run_closed(&mut *device, &mut load);
        assert_eq!(completions.len(), 8192);
        let report = device.report(end);
        let writes = ["full", "read_modify_write", "reconstruct"];
        let all = writes.map(|it| report.count(&format!("array.stripe_writes.{it}")));
        let joins = report.count("array.stripe_joins");
        assert_eq!(all.iter().sum::<u64>() + joins, 8192);
        (joins, end)
    };
    let (without, with) = (joins(0), joins(64));
    assert_eq!(without.0, 0);
    assert!(with.0 > 7500 && with.1 * 4 < without.1, "{with:?} {without:?}");
}

#[test]
fn copies_are_chosen_as_their_words_say() {
    let words = ["primary", "random", "round-robin", "nearest", "shortest-queue"];
    let found: Vec<Vec<u64>> = words
        .iter()
        .map(|word| {
            let read_copy = word.parse().unwrap();
            let mut device = build(&ArrayConfig { read_copy, ..array(Redundancy::Mirror, 2) });
            // Two streams, far from each other, in turn.
            let mut load = Closed::new(2, 1000, |id| {
                Request::new(id, Op::Read, Lba((id % 2) * 20_000 + id / 2 * 8), 8)
            });
            let (end, _) = run_closed(&mut *device, &mut load);
            crate::raid::requests_of(&device.report(end))
        })
        .collect();
    assert_eq!(found[0], [1000, 0]);
    assert!(found[1][0].abs_diff(500) < 60 && found[1] != [500, 500], "{:?}", found[1]);
    assert_eq!(found[2], [500, 500]);
    assert!(found[4][0].abs_diff(500) < 20, "{:?}", found[4]);
    // Each stream stays on its copy, so that its reads are sequential.
    let time = |word: &str| {
        let read_copy = word.parse().unwrap();
        let mut device = build(&ArrayConfig { read_copy, ..array(Redundancy::Mirror, 2) });
        let mut load = Closed::new(2, 1000, |id| {
            Request::new(id, Op::Read, Lba((id % 2) * 20_000 + id / 2 * 8), 8)
        });
        run_closed(&mut *device, &mut load).0
    };
    assert!(time("nearest") < time("random"));
}
