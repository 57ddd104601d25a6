//! Laws on pairs of runs that must agree.

use super::super::{Config, Outcome, outcome};
use super::{Case, must};
use lab::{Experiment, Layer, peers, set_layer};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sections with results.
const SECTIONS: [&str; 5] = ["host", "flash", "wear", "units", "buses"];

fn results(config: &Config) -> Result<Value, String> {
    match outcome(config) {
        Outcome::Results(results) => Ok(*results),
        Outcome::Refused(message) => Err(format!("refused: {message}")),
        Outcome::Broken(message) => Err(message),
    }
}

/// The sections that differ, each with its first differing figure.
fn same(one: &Value, other: &Value, sections: &[&str]) -> Result<(), String> {
    for section in sections {
        if let Some(place) = difference(&one[section], &other[section], section) {
            return Err(place);
        }
    }
    Ok(())
}

fn difference(one: &Value, other: &Value, at: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.len() == other.len() => one
            .iter()
            .find_map(|(key, value)| difference(value, other.get(key)?, &format!("{at}.{key}"))),
        _ if one == other => None,
        _ => {
            let short = |value: &Value| value.to_string().chars().take(80).collect::<String>();
            Some(format!("{at} is {} and {}", short(one), short(other)))
        }
    }
}

pub fn order(case: &Case<'_>) -> Result<(), String> {
    let traces = case.config.0.iter().any(|(_, value)| value.contains(super::super::SAMPLES));
    if traces {
        return Ok(());
    }
    let layers: Result<Vec<Layer>, _> =
        case.config.0.iter().map(|(key, value)| set_layer(&format!("{key}={value}"))).collect();
    let mut layers = layers.map_err(|error| error.0)?;
    let resolved = |layers: &[Layer]| {
        // Keys are drawn, not stated by a user, so ineffective ones are dropped.
        let layer = Layer { gives_way: true, ..peers(layers).map_err(|error| error.0)? };
        let experiment = Experiment::from_layers(&[layer]).map_err(|error| error.0);
        experiment.map(|it| it.to_json())
    };
    let whole = case.config.experiment()?.to_json();
    let forward = resolved(&layers)?;
    layers.reverse();
    let backward = resolved(&layers)?;
    same(&forward, &whole, &["device", "workload", "run"])
        .map_err(|it| format!("--set and a file: {it}"))?;
    same(&forward, &backward, &["device", "workload", "run"])
        .map_err(|it| format!("--set forward and backward: {it}"))
}

pub fn twice(case: &Case<'_>) -> Result<(), String> {
    let again = results(case.config)?;
    same(case.results, &again, &SECTIONS)?;
    same(case.results, &again, &["simulated_seconds", "time_series", "timeline"])
}

/// True if the device contains flash.
fn has_flash(case: &Case<'_>) -> bool {
    case.results.get("flash").is_some()
}

pub fn timed_and_untimed(case: &Case<'_>) -> Result<(), String> {
    if !has_flash(case) || !case.is("run.until", "end") || case.ages_by_time() {
        return Ok(());
    }
    let timed = case.is_timed();
    let mut other = case.config.with("run.timed", (!timed).to_string());
    other.set("run.timeline", "\"none\"");
    let other = match results(&other) {
        // The clock of the other run has a larger range.
        Err(refused) if refused.contains("500 years") => return Ok(()),
        other => other?,
    };
    let other = Case { config: case.config, results: &other };
    if case.has_ended() || other.has_ended() {
        return Ok(());
    }
    let kind = case.resolved("workload.kind").and_then(Value::as_str).unwrap_or_default();
    let fixed = match kind {
        "open" | "bursts" | "jesd219" => true,
        // Several threads alternate by the clock.
        "closed" => case.resolved("workload.threads").and_then(Value::as_u64) == Some(1),
        _ => false,
    };
    // In timed runs, writes that wait for a stripe join the preceding one, members fail during the
    // run, and a spare is written during a rebuild.
    let joined = [case.results, other.results]
        .iter()
        .any(|it| it.pointer("/array/stripe_joins").and_then(Value::as_u64).unwrap_or(0) > 0);
    let is_rebuilt = case.config.get("device.spares").is_some_and(|it| it != "0");
    let fails = case.config.get("device.failed").is_some_and(|it| it.contains("at") || is_rebuilt);
    if !fixed || joined || fails {
        return Ok(());
    }
    let differ = |key: &str| {
        let path = format!("/flash/{key}");
        let (one, two) = (case.count(&path), other.count(&path));
        must(one == two, || format!("{key}: {one} timed {timed}, {two} timed {}", !timed))
    };
    if logs_in_any_order(case) {
        differ("host_bytes_written")?;
        // A log entry may cross one page boundary more after earlier entries, with one piece per
        // member.
        let counts = |of: &Case<'_>| of.results["array"]["member_requests"].as_array().cloned();
        let sum = |of| counts(of).iter().flatten().filter_map(Value::as_u64).sum::<u64>();
        let pieces = sum(case).max(sum(&other));
        let pages = |of: &Case<'_>| of.count("/flash/host_pages_written");
        let apart = pages(case).abs_diff(pages(&other));
        return must(apart <= pieces, || format!("host_pages_written: {apart} apart"));
    }
    differ("host_pages_written")?;
    // If the drive is not full, merges depend on the preceding writes.
    let in_order = case.is("device.host_link.order", "fifo");
    if case.is("device.fill", "full") && in_order {
        differ("pages_trimmed")?;
        // Buffered data need not be read, and the time that pages stay buffered depends on the
        // load.
        if !case.is_buffered() {
            differ("merge_reads")?;
        }
    }
    if case.is_buffered() { behind_a_buffer(case) } else { amplifications(case) }
}

/// True for an array whose log order depends on timing.
fn logs_in_any_order(case: &Case<'_>) -> bool {
    let rule = case.resolved("device.hole").and_then(Value::as_str);
    let alone = case.is("workload.kind", "closed")
        && case.resolved("workload.outstanding").and_then(Value::as_u64) == Some(1);
    rule.is_some_and(|rule| rule != "resync") && !alone
}

/// Timed and untimed runs decide alike if at most one request of one logical page is in the drive
/// and each block is cleaned in one go: then the flash operations are equal.
fn amplifications(case: &Case<'_>) -> Result<(), String> {
    let off = |key: &str| case.resolved(key) == Some(&Value::Bool(false));
    let plain = case.is("device.kind", "ssd")
        && case.is("workload.kind", "closed")
        // Copies between packages are only made in timed runs: write amplification differs by up to
        // 31 %. `devices/tests/buffered` compares timed and untimed runs: data are placed alike,
        // but garbage collection starts at different times.
        && !case.is_buffered()
        && off("device.cleaning.stream")
        // A page is programmed while its predecessor still is: differences up to 24 %.
        && off("device.cache_commands")
        // The drive continues garbage collection while idle.
        && off("device.cleaning.background")
        // The size of its logical page is not a key.
        && !case.is("device.gang", "shared-control-sync");
    // With several units per pool, one in 600 drives (with few blocks) differs by up to 35 %: a
    // timed write waits where an untimed one bypasses a full unit. `devices/tests/account.rs` tests
    // 270 of these layouts for equality, and `pools.rs` larger ones to 1 %.
    if !plain || pools_span_units(case) {
        return Ok(());
    }
    let page = ["device.logical_page", "device.page_size"];
    let Some(page) = page.iter().find_map(|key| case.resolved(key)) else { return Ok(()) };
    let mut lone = case.config.clone();
    lone.set("device.cleaning.time", "\"blocking\"");
    lone.set("workload.outstanding", "1");
    lone.set("workload.threads", "1");
    // In timed runs a read triggers garbage collection in a unit low on free blocks; in untimed
    // runs only writes do.
    lone.set("workload.read_share", "0.0");
    lone.set("workload.block_size", page.to_string());
    lone.set("run.until", "\"end\"");
    lone.set("run.timeline", "\"none\"");
    let both = |timed: &str| results(&lone.with("run.timed", timed));
    let (timed, untimed) = match (both("true"), both("false")) {
        (Ok(timed), Ok(untimed)) => (timed, untimed),
        // The footprint may be too small for that page size, or the clock may overflow with these
        // think times.
        (Err(refused), _) | (_, Err(refused)) if refused.starts_with("refused") => return Ok(()),
        (Err(broken), _) | (_, Err(broken)) => return Err(broken),
    };
    // A unit may be cleaning a block when the run ends.
    let units = timed["units"].as_array().map_or(0, Vec::len) as f64;
    let number = |key: &str| case.resolved(key).and_then(Value::as_f64).unwrap_or(1.0);
    let blocks = units * number("device.page_span");
    let pages = blocks * number("device.pages_per_block");
    let counts = [("host_bytes_written", 0.0), ("page_programs", pages), ("block_erases", blocks)];
    for (key, under_way) in counts {
        let of = |results: &Value| results["flash"][key].as_f64().unwrap_or(0.0);
        let (one, two) = (of(&timed), of(&untimed));
        let most = under_way + if under_way > 0.0 { 0.01 * one } else { 0.0 };
        must((one - two).abs() <= most, || {
            format!("{key}: {one} timed, {two} untimed, one page at a time")
        })?;
    }
    Ok(())
}

/// With a write buffer, timed and untimed runs cause nearly equal flash operations at saturation,
/// because an untimed buffer is as full as at saturation.
fn behind_a_buffer(case: &Case<'_>) -> Result<(), String> {
    let size = |key: &str| {
        let text = case.resolved(key).and_then(Value::as_str);
        text.and_then(|it| it.parse::<options::Size>().ok()).map_or(0, options::Size::bytes)
    };
    let plain = case.is("device.kind", "ssd")
        && case.is("workload.kind", "closed")
        && case.is("device.buffer.linger", "none")
        && !case.is("device.cleaning.pace", "burst")
        // A larger buffer may hold much of a small drive.
        && 16 * size("device.buffer.size") <= case.count("/capacity_bytes");
    if !plain {
        return Ok(());
    }
    let mut full = case.config.clone();
    let page = ["device.logical_page", "device.page_size"];
    let Some(page) = page.iter().find_map(|key| case.resolved(key)) else { return Ok(()) };
    // Consecutive partial writes are merged to one page in the buffer.
    full.set("workload.block_size", page.to_string());
    full.set("workload.outstanding", "64");
    full.set("workload.threads", "1");
    full.set("workload.read_share", "0.0");
    full.set("run.until", "\"end\"");
    full.set("run.timeline", "\"none\"");
    for key in ["workload.think_time", "workload.trim_share", "workload.flush_share"] {
        full.0.retain(|(given, _)| given != key);
    }
    let both = |timed: &str| results(&full.with("run.timed", timed));
    let (timed, untimed) = match (both("true"), both("false")) {
        (Ok(timed), Ok(untimed)) => (timed, untimed),
        (Err(refused), _) | (_, Err(refused)) if refused.starts_with("refused") => return Ok(()),
        (Err(broken), _) | (_, Err(broken)) => return Err(broken),
    };
    let ended = |results: &Value| results.pointer("/wear/ended") == Some(&Value::Bool(true));
    if ended(&timed) || ended(&untimed) {
        return Ok(());
    }
    let of = |results: &Value, key: &str| results["flash"][key].as_f64().unwrap_or(0.0);
    let key = "host_bytes_written";
    let (one, two) = (of(&timed, key), of(&untimed, key));
    #[expect(clippy::float_cmp, reason = "counts of the same requests")]
    let same = one == two;
    must(same, || format!("{key}: {one} timed, {two} untimed, at saturation"))?;
    let replaced = |results: &Value| results["buffer"]["replaced_pages"].as_f64().unwrap_or(0.0);
    let key = "page_programs";
    let (one, two) = (of(&timed, key), of(&untimed, key));
    let number = |key: &str| case.resolved(key).and_then(Value::as_f64).unwrap_or(1.0);
    let keys = ["channels", "packages_per_channel", "dies_per_package", "planes_per_die"];
    let planes: f64 = keys.iter().map(|key| number(&format!("device.{key}"))).product();
    let blocks = 2.0 * planes * number("device.pages_per_block");
    // Pages overwritten in the buffer of one run are programmed in the other, which causes garbage
    // collection.
    let each = |results: &Value| {
        of(results, key) / (of(results, "host_pages_written") - replaced(results)).max(1.0)
    };
    let in_buffer = (replaced(&timed) - replaced(&untimed)).abs();
    // Each run draws its own victims, whose valid share can be anything from 0 to 1.
    let drawn = ["random", "d-choices"].iter().any(|it| case.is("device.cleaning.policy", it));
    let victims = of(&timed, "block_erases").min(of(&untimed, "block_erases")) / planes;
    let by_chance = if drawn { one / victims.max(1.0).sqrt() } else { 0.0 };
    let allowed = blocks + NEAR * one + by_chance + in_buffer * each(&timed).max(each(&untimed));
    must((one - two).abs() <= allowed, || {
        format!(
            "{key}: {one} timed, {two} untimed, at saturation; in the buffer {} and {}",
            replaced(&timed),
            replaced(&untimed)
        )
    })
}

/// Maximum relative difference of timed and untimed runs with a buffer, apart from pages
/// overwritten in it.
const NEAR: f64 = 0.25;

fn pools_span_units(case: &Case<'_>) -> bool {
    let many = |key: &str| case.resolved(key).and_then(Value::as_u64).unwrap_or(1) > 1;
    let is = |key: &str, words: &[&str]| words.iter().any(|word| case.is(key, word));
    let inner = |words: &[&str]| is("device.interleave", words);
    let packages = many("device.packages_per_channel");
    is("device.pool", &["ssd"]) && (packages || many("device.channels"))
        || is("device.pool", &["gang"]) && packages
        || is("device.pool", &["package", "gang", "ssd"]) && inner(&["die", "plane-pair", "plane"])
        || is("device.pool", &["die"]) && inner(&["plane-pair", "plane"])
}

pub fn saved(case: &Case<'_>) -> Result<(), String> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let given = |key: &str| case.config.get(key).is_some();
    // Snapshots are not saved with a drive.
    let drops = case.resolved("device.snapshots.most").is_some_and(|it| it.as_u64() > Some(0));
    let has_state = has_flash(case) || case.is("device.kind", "cache");
    let drops = drops || case.patrols_by_time() && case.is("run.precondition", "none");
    if !has_state || drops || given("run.load_drive") || given("run.save_drive") {
        return Ok(());
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("ssdlab-laws-{}-{number}.drive", std::process::id());
    let drive = std::env::temp_dir().join(name);
    let path = format!("\"{}\"", drive.display());
    let mut saving = case.config.clone();
    if case.is("run.precondition", "none") {
        saving.set("run.precondition", "\"random:0.5\"");
    }
    saving.set("run.save_drive", path.clone());
    let mut loading = case.config.with("run.load_drive", path);
    loading.set("run.precondition", "\"none\"");
    let both = results(&saving).and_then(|saved| Ok((saved, results(&loading)?)));
    // A drive that is preconditioned may live longer.
    if both.as_ref().is_err_and(|refused| refused.contains("500 years")) {
        return Ok(());
    }
    let _ = std::fs::remove_file(&drive);
    let (mut saved, mut loaded) = both?;
    // A loaded drive starts a new load, while a preceding steady state otherwise counts as part of
    // the load; so the evenness of wear follows from different erases.
    if case.is("run.precondition", "steady") {
        for results in [&mut saved, &mut loaded] {
            results["wear"].as_object_mut().map(|wear| wear.remove("lifetime"));
        }
    }
    same(&saved, &loaded, &SECTIONS)
}

/// Times to double, with their defaults in ns.
const TIMES: [(&str, u64); 4] = [
    ("device.timing.read", 25_000),
    ("device.timing.program", 200_000),
    ("device.timing.erase", 1_500_000),
    ("device.host_link.latency", 0),
];

/// Further times, doubled if present.
const TIMES_WHERE_GIVEN: [&str; 12] = [
    "device.timing.read_part",
    "device.timing.command",
    "device.firmware.read",
    "device.firmware.write",
    "device.firmware.per_page",
    "device.suspend.program",
    "device.suspend.erase",
    "device.suspend.resume",
    "device.suspend.step",
    "device.suspend.erase_step",
    "device.suspend.cost",
    "device.persistence.checkpoint",
];

/// Doubles the times that the drive states; returns true if none is rounded, so that the result is
/// exactly double.
fn double_buffered(case: &Case<'_>, double: &mut Config) -> bool {
    let text = |key: &str| case.resolved(key).and_then(Value::as_str);
    let ns = |key: &str| text(key)?.parse::<options::Duration>().ok().map(options::Duration::ns);
    let short = |key: &str| ns(key).is_some_and(|ns| ns % 1000 != 0);
    let reads: options::PageTimes = text("device.timing.read").unwrap_or("25us").parse().unwrap();
    let per_page = case.is("device.cell.program", "per-page");
    let divided = short("device.timing.program") || short("device.timing.erase");
    let rate = text("device.timing.bus_rate");
    if divided || per_page && reads.count() > 1 || rate.is_some_and(|rate| rate != "40MT/s") {
        return false;
    }
    let reads = reads.all().iter().map(|time| format!("{}ns", time.ns() * 2));
    let reads = reads.collect::<Vec<_>>().join(", ");
    double.set("device.timing.read", format!("\"{reads}\""));
    if rate.is_some() {
        double.set("device.timing.bus_rate", "\"20MT/s\"");
    }
    true
}

pub fn doubled(case: &Case<'_>) -> Result<(), String> {
    let applies = case.is("device.kind", "ssd")
        && case.is("workload.kind", "closed")
        && case.is_timed()
        && case.is("run.until", "end")
        && case.is("device.host_link.bandwidth", "unlimited")
        && case.is("workload.think_time", "0ns")
        && case.is("run.precondition", "none")
        // The period of a patrol is not doubled.
        && !case.patrols_by_time()
        // The meter measures the host's rate over windows of fixed length.
        && (!case.is_buffered() || case.is("device.cleaning.pace", "burst"));
    if !applies {
        return Ok(());
    }
    let mut double = case.config.clone();
    for (key, default) in TIMES {
        let time = case.resolved(key).and_then(Value::as_str).unwrap_or_default();
        let ns = time.parse::<options::Duration>().map_or(default, options::Duration::ns);
        double.set(key, format!("\"{}ns\"", ns * 2));
    }
    if case.is_buffered() && !double_buffered(case, &mut double) {
        return Ok(());
    }
    for key in TIMES_WHERE_GIVEN.iter().chain(&["device.buffer.linger"]) {
        let time = case.resolved(key).and_then(Value::as_str);
        if let Some(time) = time.and_then(|time| time.parse::<options::Duration>().ok()) {
            double.set(key, format!("\"{}ns\"", time.ns() * 2));
        }
    }
    let bus = match case.resolved("device.timing.bus_per_byte").and_then(Value::as_str) {
        Some("0ps") => "0ps",
        Some("0.625ns" | "625ps") => "1.25ns",
        Some("100ns") => "200ns",
        _ => "50ns",
    };
    double.set("device.timing.bus_per_byte", format!("\"{bus}\""));
    let double = results(&double)?;
    same(case.results, &double, &["flash"]).or_else(|difference| {
        // Times double as well.
        if difference.contains("_us") { Ok(()) } else { Err(difference) }
    })?;
    for key in ["mean_us", "min_us", "max_us"] {
        let of = |results: &Value| results["host"]["all"][key].as_f64().unwrap_or(0.0);
        let (one, two) = (of(case.results), of(&double));
        must((two - 2.0 * one).abs() <= 1e-9 * two + 1e-6, || format!("{key}: {one} and {two}"))?;
    }
    Ok(())
}

pub fn array_of_one(case: &Case<'_>) -> Result<(), String> {
    let drawn = ["random", "d-choices"].iter().any(|it| case.is("device.cleaning.policy", it))
        || case.is("device.cleaning.tie_break", "random")
        || !case.is("device.cleaning.levelling.rule", "none")
        || case.is("device.fill_order", "random")
        || case.resolved("device.wear.spread").and_then(Value::as_f64) != Some(0.0);
    let applies = case.is("device.kind", "ssd") && case.is_timed() && !drawn;
    if !applies || !case.is("run.precondition", "none") || case.is("run.until", "steady") {
        return Ok(());
    }
    let mut array = Config::default();
    array.set("device.kind", "\"array\"");
    array.set("device.members", "1");
    for (key, value) in &case.config.0 {
        let key = key.replacen("device.", "device.member.", 1);
        array.set(&key, value.clone());
    }
    // The stripe exceeds every drive here, so the data are in one piece.
    array.set("device.stripe", "\"512B\"");
    let array = results(&array)?;
    let flash = ["page_programs", "pages_moved", "block_erases", "host_pages_written"];
    for key in flash {
        let (one, two) = (&case.results["flash"][key], &array["flash"][key]);
        must(one == two, || format!("flash.{key}: {one} alone, {two} in the array"))?;
    }
    for key in ["requests", "bytes", "mean_us", "max_us"] {
        let of = |results: &Value| results["host"]["all"][key].as_f64().unwrap_or(0.0);
        let (one, two) = (of(case.results), of(&array));
        must(super::near(one, two), || format!("host.all.{key}: {one} alone, {two} in the array"))?;
    }
    Ok(())
}
