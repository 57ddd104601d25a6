//! The rows of drives with a write buffer.

use super::*;

const READ_LATENCY: Figure =
    |o| o.mean_of(|c| if c.request.op == Op::Read { c.latency() } else { 0 });
const WRITE_LATENCY: Figure =
    |o| o.mean_of(|c| if c.request.op == Op::Write { c.latency() } else { 0 });
const FIRMWARE: Figure = |o| o.mean_of(|c| c.breakdown[latency::FIRMWARE]);
const SUSPENSIONS: Figure = |o| o.report.counts.suspensions as f64;
const HITS: Figure = |o| o.report.counts.read_hits as f64;
const GROUPS: Figure = |o| o.report.counts.groups_programmed as f64;
const PADDING: Figure = |o| o.report.counts.padding_pages as f64;
const PARITY: Figure = |o| o.report.counts.parity_pages as f64;
const IN_SLC: Figure = |o| o.report.slc_cache.as_ref().map_or(0, |it| it.written) as f64;
/// Erasures as far as they wear.
const WORN: Figure = |o| o.report.wear.mean_erases;
const FOLDED: Figure = |o| o.report.slc_cache.as_ref().map_or(0, |it| it.folded) as f64;
const SLOWEST_WRITE: Figure = |o| {
    let writes = o.completions.iter().filter(|c| c.request.op == Op::Write);
    writes.map(Completion::latency).max().unwrap_or(0) as f64
};

/// A few reads among writes.
const MOSTLY_WRITES: Load = |_, pages, random| {
    let op = if random.below(10) == 0 { Op::Read } else { Op::Write };
    (op, random.below(pages), 1)
};
/// What was written a moment ago is read.
const READ_AGAIN: Load = |n, pages, _| {
    let op = if n % 2 == 0 { Op::Write } else { Op::Read };
    (op, n / 40 * 20 % (pages / 2) + n % 40 / 2, 1)
};

/// What was written some word lines ago is read.
const READ_LATER: Load = |n, pages, _| {
    let op = if n % 2 == 0 { Op::Write } else { Op::Read };
    (op, (n / 2 + pages - if n % 2 == 0 { 0 } else { 450 }) % pages, 1)
};

/// Writes in order, and then reads for a while: no write waits, and an SLC cache has time to fold.
const WRITES_AND_RESTS: Load = |n, pages, random| match (n / 4_000, n % 4_000) {
    (round, number @ 0..2_000) => (Op::Write, (round * 2_000 + number) % pages, 1),
    _ => (Op::Read, random.below(pages), 1),
};

const RETRY: Figure = |o| o.mean_of(|c| c.breakdown[latency::RETRY]);
const LOST: Figure = |o| o.completions.iter().filter(|c| !c.status.is_ok()).count() as f64;
const WARNED: Figure = |o| f64::from(o.report.health.critical_warning());
const SPARE: Figure = |o| f64::from(o.report.wear.spare_blocks);
const SOFT: Figure = |o| o.report.aged.as_ref().unwrap().soft_reads as f64;
/// How far the slowest reads lie above the mean.
const UNEVEN: Figure = |o| {
    let mean = o.mean_of(|c| c.breakdown[latency::RETRY]);
    o.mean_of(|c| c.breakdown[latency::RETRY].abs_diff(mean as Time))
};

/// The keys of ageing, of a drive that was read after a year; and of heat.
pub fn ageing() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    // Wear counts for more than a cycle of a thousand.
    let own = |key, values: [f64; 2], effect| {
        aged(key, values.map(|it| json!(it)), effect)
            .given("device.media.model", json!("custom"))
            .given("device.media.cycles", json!(2000))
    };
    let losing = |key, values, effect| {
        aged(key, values, effect)
            .given("device.media.cycles", json!(2500))
            .given("device.media.spread_errors", json!(0.5))
    };
    let patrolled = |key, values, effect| {
        let mut row = aged(key, values, effect);
        if key == "device.scrub.on_power" {
            row.age = Some("1y off");
        }
        let given = [("device.scrub.period", json!("7d")), ("device.scrub.drift_limit", json!(6))];
        row.given.extend(given.into_iter().filter(|(given, _)| *given != key));
        row
    };
    let [none, little, much] = [0.0, 0.05, 0.4].map(|spread| json!(spread));
    let rows = vec![
        aged("device.media.model", words("tlc-3d", "qlc-3d"), (RETRY, More)),
        aged("device.media.temperature", words("30C", "45C"), (RETRY, More)),
        aged("device.media.cycles", [json!(0), json!(2000)], (RETRY, More)),
        aged("device.media.model", words("tlc-3d", "tlc-72l"), (RETRY, Different)),
        aged("device.media.model", words("tlc-3d", "mlc-2ynm"), (RETRY, Less)),
        aged("device.media.activation", [json!(0.0), json!(1.1)], (RETRY, More))
            .given("device.media.temperature", json!("40C")),
        own("device.media.drift_month", [1.0, 4.0], (RETRY, More)),
        own("device.media.drift_cycles", [500.0, 5000.0], (RETRY, Less)),
        own("device.media.drift_power", [0.2, 0.5], (RETRY, More)),
        own("device.media.errors_new", [1e-3, 5e-3], (RETRY, More)),
        own("device.media.errors_wear", [1e-4, 6e-3], (SOFT, More)),
        own("device.media.errors_wear_power", [1.0, 8.0], (SOFT, More)),
        own("device.media.errors_time", [1e-4, 1e-3], (SOFT, More)),
        own("device.media.errors_reads", [0.0, 0.01], (SOFT, More)),
        // Each page was read less than once.
        own("device.media.errors_reads_power", [0.5, 5.0], (SOFT, Less))
            .given("device.media.errors_reads", json!(0.05)),
        own("device.media.errors_reads_wear_power", [0.0, 10.0], (SOFT, More))
            .given("device.media.errors_reads", json!(1e-3)),
        aged("device.media.drift", words("power", "log"), (RETRY, Different)),
        aged("device.media.spread_layer", [none.clone(), much.clone()], (UNEVEN, More)),
        aged("device.media.spread_block", [none.clone(), much.clone()], (UNEVEN, More)),
        aged("device.media.spread_page", [none, much.clone()], (UNEVEN, More)),
        losing("device.media.spread_errors", [little, much.clone()], (LOST, More)),
        losing("device.ecc.hard", [json!(6e-3), json!(1e-2)], (SOFT, Less)),
        losing("device.ecc.soft", words("none", "1.1e-2 in 2, 1.4e-2 in 6"), (LOST, Less)),
        losing("device.ecc.kind", words("threshold", "bch"), (SOFT, Different)),
        losing("device.ecc.corrects", [json!(60), json!(95)], (SOFT, Less))
            .given("device.ecc.kind", json!("bch")),
        losing("device.ecc.codeword", words("512B", "1KiB"), (SOFT, More))
            .given("device.ecc.kind", json!("bch"))
            .given("device.ecc.corrects", json!(36)),
        losing("device.parity.stagger", [json!(false), json!(true)], (LOST, Less))
            .given("device.parity.of", json!(8))
            .given("device.pages_per_block", json!(48))
            .given("device.blocks_per_plane", json!(24)),
        aged("device.ecc.decode", words("5us", "50us"), (RETRY, More)),
        aged("device.retry.steps", [json!(5), json!(40)], (LOST, Less))
            .given("device.retry.search", json!("none")),
        aged("device.retry.search", words("1ms", "20ms"), (RETRY, More))
            .given("device.retry.steps", json!(3)),
        aged("device.retry.reference", words("table", "last"), (RETRY, Less)),
        aged("device.retry.reference", words("table", "model"), (RETRY, Less)),
        aged("device.retry.reference", words("table", "calibrated"), (RETRY, Less))
            .given("device.scrub.period", json!("7d")),
        aged("device.retry.estimate_error", [json!(0.05), much], (RETRY, More))
            .given("device.retry.reference", json!("model")),
        aged("device.retry.pipelined", [json!(false), json!(true)], (RETRY, Less)),
        aged("device.retry.window", [json!(0.1), json!(3.0)], (RETRY, Less)),
        patrolled("device.scrub.period", words("none", "7d"), (RETRY, Less)),
        aged("device.scrub.limit", [json!(0.9), json!(0.2)], (RETRY, Less))
            .given("device.scrub.period", json!("7d")),
        patrolled("device.scrub.drift_limit", [json!(20), json!(3)], (RETRY, Less)),
        patrolled("device.scrub.on_power", [json!(false), json!(true)], (RETRY, Less)),
        aged("device.scrub.reclaim_reads", [json!(1_000_000), json!(2)], (ERASES, More)),
    ];
    rows.into_iter().chain(failing()).chain(heat()).collect()
}

/// A key of a drive that was read after a year.
fn aged(key: &'static str, values: [Value; 2], effect: (Figure, Direction)) -> Row {
    let mut row = row(key, values, READS, effect).requests(4000);
    (row.buffered, row.age) = (true, Some("1y"));
    row.given("device.media.model", json!("tlc-3d")).given("device.media.cycles", json!(1000))
}

/// The keys of failures that are not wear: a drive that was read after four years.
fn failing() -> Vec<Row> {
    let failing = |key, values, effect| {
        let mut row = aged(key, values, effect);
        row.age = Some("4y");
        row
    };
    vec![
        failing("device.spares.sick_dies", [json!(0.0), json!(0.9)], (LOST, More)),
        failing("device.spares.defects", [json!(0.0), json!(1000)], (LOST, More)),
        // Of one drive it is chance; most have fewer (`few_drives_have_nearly_all_defects`).
        failing("device.spares.defects_shape", [json!(1000), json!(0.01)], (LOST, Different))
            .given("device.spares.defects", json!(1000)),
        failing("device.health.rate", [json!(0.9), json!(1e-6)], (WARNED, More))
            .given("device.spares.defects", json!(1000))
            .given("device.spares.defects_shape", json!(100)),
        failing(
            "device.health.fail_at_uncorrectable",
            [json!(1_000_000), json!(1)],
            (WARNED, More),
        )
        .given("device.spares.defects", json!(1000))
        .given("device.spares.defects_shape", json!(100)),
    ]
}

/// The keys of heat: a drive whose dies draw 1.3 W together, and which is 65 K warmer then.
fn heat() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let hot = |key, values, effect| {
        let mut row = row(key, values, SEQUENTIAL_WRITES, effect).requests(60_000);
        row.buffered = true;
        let given = [
            ("device.energy.program", json!("50mA")),
            ("device.thermal.limit", json!("60C")),
            ("device.thermal.resume", json!("50C")),
            ("device.thermal.resistance", json!(50)),
            ("device.thermal.time_constant", json!("10ms")),
        ];
        row.given.extend(given.into_iter().filter(|(given, _)| *given != key));
        row
    };
    vec![
        hot("device.thermal.limit", words("90C", "55C"), (TOTAL_TIME, More)),
        hot("device.thermal.resume", words("55C", "30C"), (TOTAL_TIME, More)),
        hot("device.thermal.resistance", [json!(40), json!(90)], (TOTAL_TIME, More)),
        hot("device.thermal.time_constant", words("10ms", "300ms"), (TOTAL_TIME, Less)),
        hot("device.thermal.ambient", words("20C", "45C"), (TOTAL_TIME, More)),
        // Both carry the same heat away: which is faster depends on where the temperature swings.
        hot("device.thermal.action", words("stop", "slow"), (TOTAL_TIME, Different)),
        hot("device.thermal.floor", [json!(0.1), json!(0.5)], (TOTAL_TIME, Less))
            .given("device.thermal.action", json!("slow"))
            .given("device.thermal.ambient", json!("45C")),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table of keys")]
pub fn rows() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let of = |key, values, load, effect| {
        let mut row = row(key, values, load, effect).requests(60_000);
        row.buffered = true;
        row
    };
    let suspending = |key, values, load, effect| {
        of(key, values, load, effect)
            .given("device.suspend.program", json!("35us"))
            .given("device.suspend.erase", json!("35us"))
    };
    let hot_cold = |key, values, detector| {
        of(key, values, SKEWED_WRITES, (AMPLIFICATION, Less))
            .given("device.cleaning.frontiers", json!("hot-cold"))
            .given("device.cleaning.hot_cold.detector", json!(detector))
    };
    let slc = |key, values, load, effect| {
        of(key, values, load, effect)
            .requests(30_000)
            .given("device.fill", json!("empty"))
            .given("device.slc_cache.dynamic", json!(1.0))
            .given("device.slc_cache.program", json!("0.3ms"))
            .given("device.slc_cache.read", json!("20us"))
    };
    let full = |key, values, effect| {
        slc(key, values, SEQUENTIAL_WRITES, effect).given("device.slc_cache.limit", json!("8MiB"))
    };
    let levelling = |key, values, rule, effect| {
        of(key, values, SKEWED_WRITES, effect)
            .requests(150_000)
            .given("device.channels", json!(1))
            .given("device.wear.rated_cycles", json!(24))
            .given("device.cleaning.levelling.rule", json!(rule))
    };
    let spare = |key, values| of(key, values, WRITES, (SPARE, Less));
    vec![
        spare("device.spares.factory_bad", [json!(0.0), json!(0.02)]),
        spare("device.spares.grown", [json!(0.0), json!(1.0)])
            .given("device.wear.rated_cycles", json!(12)),
        spare("device.spares.program_fail", [json!(0.0), json!(2e-3)]),
        spare("device.spares.erase_fail", [json!(0.0), json!(2e-3)]),
        levelling(
            "device.cleaning.levelling.rule",
            words("none", "migrate"),
            "none",
            (SPREAD_OF_WEAR, Less),
        ),
        levelling(
            "device.cleaning.levelling.age_variance",
            [json!(0.8), json!(0.05)],
            "rate-limit",
            (SPREAD_OF_WEAR, Less),
        ),
        levelling(
            "device.cleaning.levelling.rate_limit_floor",
            [json!(0.0), json!(0.7)],
            "rate-limit",
            (SPREAD_OF_WEAR, Less),
        ),
        levelling(
            "device.cleaning.levelling.retirement_age",
            [json!(0.3), json!(0.95)],
            "migrate",
            (LEVELLED, More),
        ),
        levelling(
            "device.cleaning.levelling.cold_life",
            [json!(1.0), json!(0.5)],
            "migrate",
            (LEVELLED, More),
        ),
        levelling(
            "device.cleaning.levelling.temperature",
            words("opened", "aggregate"),
            "migrate",
            (LEVELLED, Different),
        ),
        hot_cold("device.cleaning.frontiers", words("auto", "hot-cold"), "address"),
        hot_cold("device.cleaning.hot_cold.detector", words("recency", "address"), "address"),
        hot_cold("device.cleaning.hot_cold.hot_addresses", [json!(1.0), json!(0.1)], "address"),
        hot_cold("device.cleaning.hot_cold.memory", words("64B", "64KiB"), "writes"),
        row("device.capacity", words("8MiB", "4MiB"), READS, (CAPACITY, Less))
            .given("device.channels", json!(4)),
        of("device.scale", [json!(1), json!(2)], READS, (CAPACITY, Less)).requests(1000),
        of("device.cell.preset", words("kioxia-128l-tlc", "kioxia-96l-qlc"), READS, (CELL, More))
            .requests(1000),
        of("device.cell.bits", [json!(1), json!(3)], SEQUENTIAL_WRITES, (GROUPS, Less)),
        of("device.cell.program", words("one-shot", "two-pass"), READ_LATER, (HITS, More))
            .given("device.firmware.write", json!("20us"))
            .given("device.buffer.size", json!("4MiB")),
        of("device.cell.distance", [json!(1), json!(3)], READ_LATER, (HITS, More))
            .given("device.cell.program", json!("two-pass"))
            .given("device.firmware.write", json!("20us"))
            .given("device.buffer.size", json!("8MiB")),
        of("device.cell.planes", words("shared", "independent"), READS, (TOTAL_TIME, Less)),
        of("device.timing.read", words("45us", "38us, 45us, 90us"), READS, (CELL, More)),
        of("device.timing.read_part", words("45us", "36us"), READS, (CELL, Less)),
        of("device.timing.bus_rate", words("400MT/s", "1600MT/s"), READS, (BUS, Less)),
        of("device.timing.command", words("0ns", "2us"), READS, (BUS, More)),
        of("device.suspend.program", words("none", "35us"), MOSTLY_WRITES, (READ_LATENCY, Less)),
        of("device.suspend.erase", words("none", "35us"), MOSTLY_WRITES, (SUSPENSIONS, More)),
        suspending(
            "device.suspend.resume",
            words("0us", "300us"),
            MOSTLY_WRITES,
            (TOTAL_TIME, More),
        ),
        suspending("device.suspend.cost", words("0us", "500us"), MOSTLY_WRITES, (TOTAL_TIME, More)),
        suspending(
            "device.suspend.step",
            words("0us", "200us"),
            MOSTLY_WRITES,
            (READ_LATENCY, More),
        ),
        suspending(
            "device.suspend.erase_step",
            words("0us", "2ms"),
            MOSTLY_WRITES,
            (SUSPENSIONS, Less),
        ),
        suspending(
            "device.suspend.limit",
            [json!(1), json!(8)],
            MOSTLY_WRITES,
            (SUSPENSIONS, More),
        ),
        suspending(
            "device.suspend.unless_backlog",
            [json!(1), json!(1000)],
            MOSTLY_WRITES,
            (SUSPENSIONS, More),
        ),
        of("device.firmware.cores", [json!(1), json!(4)], READS, (FIRMWARE, Less))
            .given("device.firmware.read", json!("13us")),
        of("device.firmware.read", words("0us", "13us"), READS, (FIRMWARE, More)),
        of("device.firmware.write", words("0us", "9us"), WRITES, (FIRMWARE, More)),
        of("device.firmware.per_page", words("0us", "1us"), LARGE_READS, (FIRMWARE, More)),
        of("device.buffer.size", words("768KiB", "8MiB"), READ_AGAIN, (HITS, More)),
        of("device.buffer.copies", words("768KiB", "4MiB"), WRITES, (TOTAL_TIME, Less)),
        of("device.buffer.linger", words("none", "10us"), WRITES, (PADDING, More))
            .given("device.firmware.write", json!("20us")),
        of(
            "device.buffer.power_loss_protected",
            [json!(true), json!(false)],
            WRITES,
            (PADDING, More),
        ),
        slc(
            "device.slc_cache.dynamic",
            [json!(0.2), json!(1.0)],
            SEQUENTIAL_WRITES,
            (IN_SLC, More),
        ),
        slc("device.slc_cache.static", words("1MiB", "6MiB"), SEQUENTIAL_WRITES, (IN_SLC, More))
            .given("device.slc_cache.dynamic", json!(0.0)),
        slc("device.slc_cache.static", words("0B", "6MiB"), SEQUENTIAL_WRITES, (CAPACITY, Less)),
        // All of it goes through the cache, or what is more than it holds does not.
        full("device.slc_cache.when_full", words("direct", "fold"), (IN_SLC, More)).requests(6000),
        slc("device.slc_cache.reuse", words("any", "empty"), WRITES_AND_RESTS, (IN_SLC, Less))
            .given("device.slc_cache.limit", json!("8MiB"))
            .given("device.slc_cache.fold_after", json!("1us")),
        full("device.slc_cache.rated_cycles", [json!(100_000), json!(10_000_000)], (WORN, Less))
            .given("device.slc_cache.fold", json!("eager")),
        slc("device.slc_cache.limit", words("2MiB", "9MiB"), SEQUENTIAL_WRITES, (IN_SLC, More)),
        slc(
            "device.slc_cache.gone_at",
            [json!(0.3), json!(1.0)],
            SEQUENTIAL_WRITES,
            (IN_SLC, More),
        )
        .given("device.fill", json!(0.2)),
        slc(
            "device.slc_cache.program",
            words("0.2ms", "0.6ms"),
            SEQUENTIAL_WRITES,
            (TOTAL_TIME, More),
        )
        .requests(6000),
        slc("device.slc_cache.read", words("10us", "40us"), READ_LATER, (CELL, More))
            .given("device.buffer.size", json!("1MiB"))
            .requests(10_000),
        full("device.slc_cache.fold", words("lazy", "eager"), (FOLDED, More)),
        slc("device.slc_cache.fold_after", words("1us", "1s"), WRITES_AND_RESTS, (FOLDED, Less))
            .given("device.slc_cache.limit", json!("8MiB")),
        full("device.slc_cache.fold_share", [json!(0.0), json!(0.5)], (FOLDED, More)),
        full("device.slc_cache.fold_rate", words("20MB/s", "1GB/s"), (FOLDED, More))
            .given("device.slc_cache.fold", json!("eager")),
        of("device.parity.of", [json!(0), json!(8)], SEQUENTIAL_WRITES, (PARITY, More)),
        of("device.parity.of", [json!(16), json!(4)], SEQUENTIAL_WRITES, (CAPACITY, Less)),
        of("device.cleaning.reclaim", words("block", "superblock"), WRITES, (ERASES, Less))
            .given("device.blocks_per_plane", json!(128)),
        of("device.cleaning.pace", words("token", "burst"), MOSTLY_WRITES, (SLOWEST_WRITE, More))
            .given("device.firmware.write", json!("20us")),
        of("device.cleaning.quantum", [json!(1), json!(12)], MOSTLY_WRITES, (WRITE_LATENCY, More))
            .given("device.firmware.write", json!("20us"))
            .given("device.cleaning.pace", json!("burst")),
        of("device.cleaning.host_room", [json!(0), json!(400)], WRITES, (WRITE_LATENCY, Less))
            .given("device.firmware.write", json!("20us"))
            .given("device.cleaning.pace", json!("burst")),
        of("device.cleaning.read_batch", [json!(1), json!(3)], MOSTLY_WRITES, (SUSPENSIONS, Less))
            .given("device.suspend.program", json!("35us")),
        of(
            "device.cleaning.read_order",
            words("fifo", "host-first"),
            MOSTLY_WRITES,
            (READ_LATENCY, Less),
        )
        .given("device.suspend.program", json!("35us")),
        of("device.cleaning.meter_depth", [json!(1), json!(64)], WRITES, (TOTAL_TIME, Different)),
        of(
            "device.cleaning.meter_above",
            [json!(0.0), json!(1.0)],
            WRITES,
            (WRITE_LATENCY, Different),
        )
        .given("device.firmware.write", json!("20us")),
    ]
}
