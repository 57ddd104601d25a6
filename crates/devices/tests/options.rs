//! No dead options: every key changes a result, in the direction in which it should.
//!
//! One row a key of the SSD: two values, a load, a figure, and whether the second value makes it
//! less or more; one key has no direction, and says why. A key of the reference without a row fails.

use crate::common::{Closed, configured, reference, run_closed, run_cut};
use Direction::{Different, Less, More};
use devices::ssd::power::PowerReport;
use devices::ssd::{Ssd, SsdReport};
use devices::{DeviceConfig, Instruction, Model, latency};
use engine::{Completion, Device, Handle, Lba, Op, Random, Request, Time, Xoshiro256};
use serde_json::{Value, json};

/// What a run gave.
struct Outcome {
    end: Time,
    capacity: u64,
    /// Size of its state when it was new, as text.
    kept: usize,
    completions: Vec<Completion>,
    report: SsdReport,
    joules: f64,
}

impl Outcome {
    fn power(&self) -> &PowerReport {
        self.report.power.as_ref().expect("it recovers")
    }

    fn mean_of(&self, of: impl Fn(&Completion) -> Time) -> f64 {
        let sum: Time = self.completions.iter().map(of).sum();
        sum as f64 / self.completions.len() as f64
    }
}

// ---- figures --------------------------------------------------------------------------------

type Figure = fn(&Outcome) -> f64;
const JOULES: Figure = |o| o.joules;
const MEAN_LATENCY: Figure = |o| o.mean_of(Completion::latency);
const READ_WAIT: Figure = |o| {
    o.mean_of(|c| if c.request.op == Op::Read { c.breakdown[latency::CLEANING_WAIT] } else { 0 })
};
const CLEANING_WAIT: Figure = |o| o.mean_of(|c| c.breakdown[latency::CLEANING_WAIT]);
const HOST_QUEUE: Figure = |o| o.mean_of(|c| c.breakdown[latency::HOST_QUEUE]);
/// The wait in the host of each sixteenth request, which is on a queue of its own.
const WAIT_OF_THE_FEW: Figure = |o| {
    let of_few =
        |c: &Completion| if c.request.queue == 0 { 0 } else { c.breakdown[latency::HOST_QUEUE] };
    o.mean_of(of_few)
};
const HOST_LINK: Figure = |o| o.mean_of(|c| c.breakdown[latency::HOST_LINK]);
const CELL: Figure = |o| o.mean_of(|c| c.breakdown[latency::CELL]);
const BUS: Figure = |o| o.mean_of(|c| c.breakdown[latency::BUS]);
const TOTAL_TIME: Figure = |o| o.end as f64;
const CAPACITY: Figure = |o| o.capacity as f64;
const KEPT: Figure = |o| o.kept as f64;
const AMPLIFICATION: Figure = |o| o.report.write_amplification.unwrap();
const CLEANED_BLOCK_TIME: Figure = |o| o.report.cleaning.mean_block_ns.unwrap();
const ERASES: Figure = |o| o.report.counts.block_erases as f64;
const COPY_BACKS: Figure = |o| o.report.counts.copy_backs as f64;
const SUMMARIES: Figure = |o| o.report.counts.summary_programs as f64;
const BUS_BUSY: Figure = |o| o.report.bus_busy.iter().sum::<f64>();
const SPREAD_OF_WEAR: Figure = |o| o.report.wear.std_erases;
const REMAINING: Figure = |o| o.report.wear.mean_remaining;
const LEVELLED: Figure = |o| o.report.counts.pages_migrated as f64;
const DAILY_WRITES: Figure = |o| o.report.wear.lifetime.estimate.unwrap().drive_writes_per_day;
const EXPIRED: Figure = |o| o.report.wear.expired_blocks as f64;
/// The share of the erasures that the lower half of the blocks had.
const LOW_BLOCKS: Figure = |o| {
    let rows = || o.report.wear.map.rows.iter().map(|(_, cells)| cells);
    let low: u64 = rows().flat_map(|cells| &cells[..cells.len() / 2]).map(|it| it.erases).sum();
    let all: u64 = rows().flatten().map(|it| it.erases).sum();
    low as f64 / all as f64
};
/// Requests that were answered after one with a higher address.
const BACKWARD_STEPS: Figure = |o| {
    let pairs = o.completions.windows(2);
    pairs.filter(|pair| pair[1].request.lba < pair[0].request.lba).count() as f64
};

// ---- loads ----------------------------------------------------------------------------------

/// A load: from the number of the request and the number of 4 KiB pages of the drive to the operation,
/// its first page and its pages.
type Load = fn(u64, u64, &mut Xoshiro256) -> (Op, u64, u64);

const READS: Load = |_, pages, random| (Op::Read, random.below(pages), 1);
const WRITES: Load = |_, pages, random| (Op::Write, random.below(pages), 1);
const SEQUENTIAL_WRITES: Load = |n, pages, _| (Op::Write, n % pages, 1);
const LARGE_READS: Load = |n, pages, _| (Op::Read, n * 16 % (pages - 16), 16);
const MIXED: Load = |_, pages, random| {
    let op = if random.below(2) == 0 { Op::Read } else { Op::Write };
    (op, random.below(pages), 1)
};
/// Nine writes of ten go to the first tenth of the pages.
const SKEWED_WRITES: Load = |_, pages, random| {
    let hot = random.below(10) > 0;
    (Op::Write, if hot { random.below(pages / 10) } else { random.below(pages) }, 1)
};
/// The same few pages again and again.
const IN_PLACE: Load = |n, _, _| (Op::Write, n % 4, 1);
/// Every second page of a drive: with narrow pools on two channels, always the same one.
const LOPSIDED_WRITES: Load = |_, pages, random| (Op::Write, random.below(pages / 2) * 2, 1);

// ---- the table ------------------------------------------------------------------------------

#[derive(Debug, Clone, Copy, PartialEq)]
enum Direction {
    Less,
    More,
    /// Only where the key has no direction, with the reason.
    Different,
}

struct Row {
    key: &'static str,
    from: Value,
    to: Value,
    load: Load,
    figure: Figure,
    direction: Direction,
    /// What else must be so for the key to matter.
    given: Vec<(&'static str, Value)>,
    requests: u64,
    /// On the small drive with a write buffer, not on that without.
    buffered: bool,
    /// When the power goes, if it does.
    cut: Option<Time>,
    /// How long its data have aged, if they have.
    age: Option<&'static str>,
}

fn row(
    key: &'static str,
    values: [Value; 2],
    load: Load,
    (figure, direction): (Figure, Direction),
) -> Row {
    let [from, to] = values;
    Row {
        key,
        from,
        to,
        load,
        figure,
        direction,
        given: Vec::new(),
        requests: 6000,
        buffered: false,
        cut: None,
        age: None,
    }
}

impl Row {
    fn given(mut self, key: &'static str, value: Value) -> Row {
        self.given.push((key, value));
        self
    }

    /// Another number of requests, where what differs shows only in time.
    fn requests(mut self, requests: u64) -> Row {
        self.requests = requests;
        self
    }
}

#[path = "options_blocks.rs"]
mod blocks;
#[path = "options_buffered.rs"]
mod buffered;
#[path = "options_energy.rs"]
mod energy;
#[path = "options_fdp.rs"]
mod fdp;
#[path = "options_map.rs"]
mod map;
#[path = "options_power.rs"]
mod power;
#[path = "options_queues.rs"]
mod queues;
#[path = "options_untimed.rs"]
mod untimed;
#[path = "options_wear.rs"]
mod wear;

/// A small drive of two packages that cleans soon.
fn base() -> Vec<(&'static str, Value)> {
    vec![
        ("device.channels", json!(2)),
        ("device.dies_per_package", json!(1)),
        ("device.planes_per_die", json!(1)),
        ("device.blocks_per_plane", json!(48)),
        ("device.pages_per_block", json!(16)),
    ]
}

fn shape() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let logs = |key, values, load, effect| {
        row(key, values, load, effect)
            .given("device.spare_factor", json!(0.3))
            .given("device.log_blocks.scheme", json!("bast"))
            .given("device.log_blocks.count", json!(3))
    };
    let more: (Figure, Direction) = (MEAN_LATENCY, More);
    vec![
        row("device.channels", [json!(2), json!(4)], READS, (TOTAL_TIME, Less)),
        row("device.packages_per_channel", [json!(1), json!(2)], READS, (TOTAL_TIME, Less)),
        row("device.dies_per_package", [json!(1), json!(2)], READS, (TOTAL_TIME, Less))
            .given("device.interleave", json!("die")),
        row("device.planes_per_die", [json!(1), json!(2)], READS, (CAPACITY, More)),
        row("device.blocks_per_plane", [json!(48), json!(64)], READS, (CAPACITY, More)),
        row("device.pages_per_block", [json!(16), json!(24)], READS, (CAPACITY, More)),
        row("device.pages_per_block", [json!(8), json!(32)], WRITES, (CLEANED_BLOCK_TIME, More)),
        row("device.page_size", words("4KiB", "8KiB"), READS, (BUS, More)),
        row("device.page_size", words("4KiB", "8KiB"), READS, (CAPACITY, More)),
        row("device.spare_size", words("0B", "512B"), READS, (BUS, More)),
        row("device.summary_page", [json!(false), json!(true)], WRITES, (SUMMARIES, More)),
        row("device.summary_page", [json!(false), json!(true)], READS, (CAPACITY, Less)),
        row("device.interleave", words("none", "die"), READS, (TOTAL_TIME, Less))
            .given("device.dies_per_package", json!(2)),
        row("device.interleave", words("die", "plane-pair"), READS, (TOTAL_TIME, Less))
            .given("device.planes_per_die", json!(4)),
        row("device.interleave", words("plane-pair", "plane"), READS, (TOTAL_TIME, Less))
            .given("device.planes_per_die", json!(4)),
        row("device.gang", words("shared-bus", "shared-control-async"), READS, (BUS, Less))
            .given("device.packages_per_channel", json!(4)),
        row("device.gang", words("shared-control-async", "shared-control-sync"), READS, more)
            .given("device.packages_per_channel", json!(4)),
        row("device.gang", words("shared-control-async", "shared-control-sync"), WRITES, more)
            .given("device.packages_per_channel", json!(4)),
        row("device.cache_commands", [json!(false), json!(true)], READS, (TOTAL_TIME, Less)),
        row("device.cache_commands", [json!(false), json!(true)], WRITES, (TOTAL_TIME, Less)),
        row("device.logical_page", words("4KiB", "16KiB"), WRITES, (AMPLIFICATION, More)),
        row("device.logical_page", words("4KiB", "16KiB"), WRITES, more),
        row("device.page_span", [json!(1), json!(2)], WRITES, (CELL, Less))
            .given("device.logical_page", json!("16KiB")),
        // Each plane has a block open and cleans the best of its own blocks, not of all.
        row("device.active_blocks", words("unit", "plane"), WRITES, (AMPLIFICATION, More))
            .given("device.planes_per_die", json!(2)),
        row("device.pool", words("package", "ssd"), LOPSIDED_WRITES, (TOTAL_TIME, Less)),
        // Pages of many blocks share a log block, or each block has one to itself.
        logs("device.log_blocks.scheme", words("bast", "fast"), WRITES, (AMPLIFICATION, Less)),
        logs("device.log_blocks.scheme", words("none", "bast"), WRITES, (AMPLIFICATION, More)),
        logs(
            "device.log_blocks.scheme",
            words("bast", "replacement"),
            IN_PLACE,
            (AMPLIFICATION, More),
        ),
        logs("device.log_blocks.count", [json!(1), json!(6)], SKEWED_WRITES, (AMPLIFICATION, Less)),
        row("device.stripe", words("4KiB", "64KiB"), LARGE_READS, (MEAN_LATENCY, More))
            .given("device.host_link.queue_depth", json!(1)),
    ]
}

/// A stream, and random writes to 14 blocks.
const STREAM_AND_HOT: Load = |n, pages, random| {
    let page = if n % 2 == 0 { 256 + n / 2 % (pages - 256) } else { random.below(14 * 16) };
    (Op::Write, page, 1)
};
const SEQUENTIAL_READS: Load = |n, pages, _| (Op::Read, n % pages, 1);
/// Every tenth request is a flush.
const FLUSHED_WRITES: Load = |n, pages, random| {
    if n % 10 == 9 { (Op::Flush, 0, 0) } else { (Op::Write, random.below(pages), 1) }
};

fn space() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    vec![
        row("device.spare_factor", [json!(0.15), json!(0.4)], WRITES, (AMPLIFICATION, Less)),
        row("device.spare_factor", [json!(0.15), json!(0.4)], WRITES, (CAPACITY, Less)),
        row("device.over_provisioning", [json!(0.2), json!(0.6)], WRITES, (AMPLIFICATION, Less)),
        row("device.over_provisioning", [json!(0.2), json!(0.6)], WRITES, (CAPACITY, Less)),
        row("device.spare_blocks_per_plane", [json!(8), json!(20)], WRITES, (AMPLIFICATION, Less)),
        row("device.spare_blocks_per_plane", [json!(8), json!(20)], WRITES, (CAPACITY, Less)),
        row("device.fill", words("full", "empty"), WRITES, (ERASES, Less)),
        row("device.fill", [json!(0.9), json!(0.1)], READS, (CELL, Less)),
        row(
            "device.fill_order",
            words("sequential", "random"),
            SEQUENTIAL_WRITES,
            (AMPLIFICATION, More),
        ),
        // Turns know nothing of wear.
        row("device.free_order", words("rotating", "least-worn"), WRITES, (SPREAD_OF_WEAR, Less))
            .given("device.spare_factor", json!(0.4))
            .requests(30_000),
        row("device.free_order", words("fifo", "least-worn"), WRITES, (SPREAD_OF_WEAR, Less))
            .given("device.spare_factor", json!(0.4))
            .requests(30_000),
    ]
}

fn times() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let less: (Figure, Direction) = (AMPLIFICATION, Less);
    vec![
        row("device.timing.read", words("25us", "50us"), READS, (CELL, More)),
        row("device.timing.program", words("200us", "900us"), WRITES, (CELL, More)),
        row("device.timing.erase", words("1.5ms", "3ms"), WRITES, (CLEANED_BLOCK_TIME, More)),
        row("device.timing.bus_per_byte", words("25ns", "2.5ns"), READS, (BUS, Less)),
        row("device.timing.bus_per_byte", words("25ns", "2.5ns"), READS, (BUS_BUSY, Less)),
        row("device.host_link.bandwidth", words("unlimited", "100MB/s"), READS, (HOST_LINK, More)),
        row("device.host_link.bandwidth", words("sata-150", "sata-300"), READS, (HOST_LINK, Less)),
        row("device.host_link.latency", words("0us", "20us"), READS, (HOST_LINK, More)),
        row("device.host_link.queue_depth", [json!(1), json!(8)], READS, (HOST_QUEUE, Less)),
        row("device.host_link.queue_depth", [json!(1), json!(8)], READS, (TOTAL_TIME, Less)),
        row("device.host_link.order", words("fifo", "clook"), READS, (BACKWARD_STEPS, Less))
            .given("device.host_link.queue_depth", json!(1)),
        row("device.host_link.duplex", words("half", "full"), MIXED, (HOST_LINK, Less))
            .given("device.host_link.bandwidth", json!("100MB/s")),
        row("device.cleaning.min_free", [json!(0.02), json!(0.12)], WRITES, (AMPLIFICATION, More))
            .given("device.spare_factor", json!(0.25))
            .given("device.cleaning.time", json!("blocking")),
        row("device.cleaning.policy", words("greedy", "random"), WRITES, (AMPLIFICATION, More)),
        row("device.cleaning.windowed_greedy.window", [json!(1), json!(48)], WRITES, less)
            .given("device.cleaning.policy", json!("windowed-greedy")),
        row("device.cleaning.d_choices.d", [json!(1), json!(10)], WRITES, less)
            .given("device.cleaning.policy", json!("d-choices")),
        row(
            "device.cleaning.background",
            [json!(false), json!(true)],
            WRITES,
            (CLEANING_WAIT, Less),
        )
        .given("device.host_link.queue_depth", json!(1))
        .given("device.cleaning.time", json!("blocking")),
        row(
            "device.cleaning.background_free",
            [json!(0.06), json!(0.12)],
            WRITES,
            (AMPLIFICATION, More),
        )
        .given("device.cleaning.background", json!(true))
        .given("device.spare_factor", json!(0.25)),
        row("device.cleaning.stream", [json!(false), json!(true)], WRITES, (BUS_BUSY, Less))
            .given("device.packages_per_channel", json!(2))
            .given("device.host_link.queue_depth", json!(1))
            .given("device.spare_factor", json!(0.25))
            .given("device.cleaning.background", json!(true))
            .given("device.pool", json!("gang")),
        row("device.cleaning.time", words("blocking", "interleaved"), MIXED, (READ_WAIT, Less)),
        row("device.cleaning.copy_back", [json!(false), json!(true)], WRITES, (COPY_BACKS, More)),
        row("device.cleaning.copy_back", [json!(false), json!(true)], WRITES, (TOTAL_TIME, Less))
            .given("device.cleaning.time", json!("blocking")),
        row("device.cleaning.tie_break", words("highest", "lowest"), WRITES, (LOW_BLOCKS, More)),
    ]
}

/// Hot and cold pages kept apart, as well as the detector is able to.
fn frontiers() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let hot_cold = |key, values, detector| {
        row(key, values, SKEWED_WRITES, (AMPLIFICATION, Less))
            .given("device.spare_factor", json!(0.25))
            .given("device.cleaning.frontiers", json!("hot-cold"))
            .given("device.cleaning.hot_cold.detector", json!(detector))
    };
    vec![
        row(
            "device.cleaning.frontiers",
            words("single", "separate-moved"),
            SKEWED_WRITES,
            (AMPLIFICATION, Less),
        )
        .given("device.spare_factor", json!(0.25)),
        hot_cold("device.cleaning.frontiers", words("single", "hot-cold"), "address"),
        hot_cold("device.cleaning.hot_cold.detector", words("recency", "address"), "address"),
        hot_cold("device.cleaning.hot_cold.hot_addresses", [json!(1.0), json!(0.1)], "address"),
        hot_cold("device.cleaning.hot_cold.memory", words("64B", "16KiB"), "writes"),
    ]
}

// ---- running it -----------------------------------------------------------------------------

fn outcome(
    keys: &[(&str, Value)],
    load: Load,
    requests: u64,
    (cut, age): (Option<Time>, Option<&str>),
) -> Outcome {
    let DeviceConfig::Ssd(config) = configured(keys) else { panic!("an SSD reports") };
    let mut device = Ssd::new(&config, 9).unwrap_or_else(|refusal| panic!("{refusal}"));
    if let Some(age) = age {
        device.instruct(0, Instruction::Age(age.parse().unwrap())).unwrap();
    }
    let capacity = device.capacity_sectors();
    let kept = serde_json::to_vec(&device.save()).unwrap().len();
    let mut random = Xoshiro256::new(9, 0);
    let mut closed = Closed::new(16, requests, |id| {
        let (op, page, pages) = load(id, capacity / 8, &mut random);
        let queue = u16::from(id % 16 == 0);
        // A handle that only what reads handles by their number knows.
        let handle = if id % 40 == 39 { Handle::new(200) } else { Handle::NONE };
        Request { queue, handle, ..Request::new(id, op, Lba(page * 8), pages as u32 * 8) }
    });
    let (end, completions) = match cut {
        Some(at) => run_cut(&mut device, &mut closed, at),
        None => run_closed(&mut device, &mut closed),
    };
    let joules = device.energy_report(end).map_or(0.0, |it| it.joules());
    Outcome { end, capacity, kept, completions, report: device.account(end), joules }
}

fn verdict(row: &Row) -> Result<(), String> {
    let figure = |value: &Value| {
        let mut keys = if row.buffered { crate::buffered::small() } else { base() };
        keys.extend(row.given.iter().cloned());
        keys.push((row.key, value.clone()));
        (row.figure)(&outcome(&keys, row.load, row.requests, (row.cut, row.age)))
    };
    let (from, to) = (figure(&row.from), figure(&row.to));
    let holds = match row.direction {
        Less => to < from,
        More => to > from,
        Different => (to - from).abs() > f64::EPSILON,
    };
    let Row { key, from: a, to: b, direction, .. } = row;
    println!("{key} = {a} -> {b}: {from:.3} -> {to:.3} ({direction:?})");
    if holds {
        return Ok(());
    }
    Err(format!("{key}: from {a} to {b} should give {direction:?}, and gave {from} and {to}"))
}

fn all_rows() -> Vec<Row> {
    let own = [shape(), space(), times(), frontiers(), wear::rows(), energy::rows()];
    let parts = [blocks::rows(), buffered::rows(), buffered::ageing(), power::rows(), fdp::rows()];
    let parts = parts.into_iter().chain([map::rows(), queues::rows()]);
    own.into_iter().chain(parts).flatten().collect()
}

#[test]
fn every_key_changes_a_result_in_the_right_direction() {
    let table = all_rows();
    let failed: Vec<String> = table.iter().filter_map(|row| verdict(row).err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let mut missing: Vec<String> = reference().into_iter().map(|row| row.path).collect();
    missing.retain(|path| table.iter().all(|row| row.key != path));
    assert!(missing.is_empty(), "keys without a row: {missing:?}");
}
