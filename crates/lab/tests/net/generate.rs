//! Draws experiments over every key of the catalogue, small and odd drives first.
//!
//! A key whose value is a choice or true or false is drawn from what the catalogue lists; every other
//! key has its row in [`value`], and a key without one fails the test that walks the catalogue.

use super::{Config, SAMPLES};
use engine::{Random, Xoshiro256};
use options::KeyInfo;

/// Draws.
pub struct Dice(Xoshiro256);

impl Dice {
    /// A generator for experiment number `seed`.
    pub fn new(seed: u64) -> Dice {
        Dice(Xoshiro256::new(seed, 77))
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// True this often.
    pub fn chance(&mut self, share: f64) -> bool {
        self.0.unit() < share
    }

    fn text(&mut self, of: &[&str]) -> String {
        format!("\"{}\"", self.pick(of))
    }

    fn number(&mut self, of: &[f64]) -> String {
        format!("{:?}", self.pick(of))
    }

    fn whole(&mut self, of: &[u64]) -> String {
        self.pick(of).to_string()
    }

    fn share(&mut self) -> String {
        let share = (self.0.unit() * 1000.0).round() / 1000.0;
        let choices = [0.0, 1.0, 0.5, 0.9, share, share];
        self.number(&choices)
    }
}

/// Keys that are given in every experiment, so that it is small.
const ALWAYS: [&str; 14] = [
    "device.channels",
    "device.packages_per_channel",
    "device.dies_per_package",
    "device.planes_per_die",
    "device.blocks_per_plane",
    "device.pages_per_block",
    "device.page_size",
    "device.size",
    "device.members",
    "workload.requests",
    "workload.path",
    "workload.beyond",
    "workload.streams",
    "run.precondition",
];

/// Keys that are decided apart: one of three, by another law, or with the kind.
pub const APART: [&str; 13] = [
    "device.kind",
    "device.preset",
    "workload.kind",
    "workload.preset",
    "device.member",
    "device.spare_factor",
    "device.over_provisioning",
    "device.spare_blocks_per_plane",
    "run.seed",
    "run.load_drive",
    "run.save_drive",
    "workload.read_share",
    "workload.job",
];

/// The experiment of a seed.
pub fn experiment(seed: u64) -> Config {
    let mut dice = Dice::new(seed);
    let mut config = Config::default();
    // Experiments of few keys and of many.
    let given = dice.pick(&[0.05, 0.15, 0.3, 0.6]);
    let kinds = ["ssd", "ssd", "ssd", "ssd", "ssd", "ssd", "ssd", "ssd", "array", "other"];
    let kind = match dice.pick(&kinds) {
        "other" => dice.pick(&["linear", "piecewise", "parallel"]),
        kind => kind,
    };
    let kind_of_device = kind;
    device(&mut config, "device", kind, given, &mut dice);
    if kind == "array" {
        let member = dice.pick(&["ssd", "ssd", "linear", "array"]);
        device(&mut config, "device.member", member, given, &mut dice);
        if member == "array" {
            device(&mut config, "device.member.member", "ssd", given, &mut dice);
        }
    }
    let kinds = workloads::kinds();
    let kind = if dice.chance(0.6) {
        dice.pick(&["closed", "closed", "open"])
    } else {
        kinds[dice.below(kinds.len() as u64) as usize].0
    };
    config.set("workload.kind", format!("\"{kind}\""));
    section(&mut config, &format!("workload, kind {kind}"), "workload", given, &mut dice);
    if ["closed", "open", "bursts", "jesd219", "postmark"].contains(&kind) {
        config.set("workload.read_share", dice.number(&[0.0, 0.0, 0.2, 0.3, 0.5, 1.0]));
    }
    if kind == "fio" {
        config.set("workload.job", job(&mut dice));
    }
    section(&mut config, "run", "run", given, &mut dice);
    if kind_of_device == "ssd" {
        rare(&mut config, seed);
    }
    if config.get("run.timed") == Some("false") && dice.chance(0.9) {
        config.0.retain(|(key, _)| key != "run.timeline");
    }
    let steady = config.get("run.until") == Some("steady");
    if steady && config.get("run.steady.round").is_none() {
        config.set("run.steady.round", "\"10ms\"");
    }
    config.set("run.seed", dice.whole(&[0, 1, 42, 1 << 32, i64::MAX as u64, seed]));
    config
}

/// Adds a device of that kind.
fn device(config: &mut Config, at: &str, kind: &str, given: f64, dice: &mut Dice) {
    let mut own = Config::default();
    own.set("device.kind", format!("\"{kind}\""));
    section(&mut own, &format!("device, kind {kind}"), "device", given, dice);
    if kind == "ssd" {
        // Of a small drive most must be spare: its open blocks and those held back are.
        let small = whole(&own, "device.blocks_per_plane") <= 16;
        let spare = dice.pick(&[
            if small { "device.spare_factor" } else { "none" },
            "device.spare_factor",
            "device.over_provisioning",
            "device.spare_blocks_per_plane",
        ]);
        match spare {
            "device.spare_factor" => {
                let shares = if small {
                    [0.3, 0.5, 0.6, 0.7, 0.8, 0.99]
                } else {
                    [0.1, 0.15, 0.2, 0.3, 0.5, 0.8]
                };
                own.set(spare, dice.number(&shares));
            }
            "device.over_provisioning" => {
                let shares =
                    if small { [0.5, 1.0, 2.0, 4.0, 10.0] } else { [0.07, 0.2, 0.28, 0.5, 1.0] };
                own.set(spare, dice.number(&shares));
            }
            "device.spare_blocks_per_plane" => {
                let blocks = whole(&own, "device.blocks_per_plane");
                let spares = [1, 2, 3, blocks / 4, blocks / 3, blocks / 2, blocks - 1];
                own.set(spare, dice.whole(&spares));
            }
            _ => {}
        }
        if dice.chance(0.9) {
            reconcile(&mut own, dice);
        }
        let shape = &ALWAYS[..6];
        let most = if at == "device" { 4_000 } else { 2_000 };
        loop {
            let pages: u64 = shape.iter().map(|key| whole(&own, key)).product();
            let blocks = whole(&own, "device.blocks_per_plane");
            if pages <= most || blocks <= 8 {
                break;
            }
            own.set("device.blocks_per_plane", (blocks / 2).to_string());
        }
    }
    for (key, value) in own.0 {
        config.set(&key.replacen("device", at, 1), value);
    }
}

/// Brings options together that seldom meet by chance: parts of pages, copies inside a plane, and two
/// frontiers, on a drive that has been written over. Draws for itself, so that other seeds stay.
fn rare(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(!seed);
    if !dice.chance(0.05) {
        return;
    }
    config.set("device.logical_page", dice.text(&["512B", "1KiB"]));
    config.set("device.cleaning.copy_back", "true");
    config.set("device.cleaning.frontiers", dice.text(&["separate-moved", "hot-cold"]));
    config.set("run.precondition", dice.text(&["random:1", "random:3"]));
    config.set("device.cleaning.policy", dice.text(&["random", "greedy", "d-choices"]));
    // Much is under way when the last request is answered.
    config.set("device.timing.bus_per_byte", dice.text(&["0ps", "625ps"]));
    config.set("device.channels", dice.whole(&[2, 3]));
    config.set("device.page_size", dice.text(&["2KiB", "4KiB"]));
    if config.get("workload.read_share").is_some() {
        config.set("workload.read_share", "0.0");
    }
    for key in ["page_span", "stripe", "gang", "active_blocks", "cleaning.stream"] {
        config.0.retain(|(given, _)| *given != format!("device.{key}"));
    }
}

fn whole(own: &Config, key: &str) -> u64 {
    own.get(key).map_or(1, |it| it.parse().unwrap_or(1))
}

/// Takes back keys that contradict others of the drive, or gives those that they need.
fn reconcile(own: &mut Config, dice: &mut Dice) {
    let is = |own: &Config, key: &str, word: &str| own.get(key) == Some(word);
    let drop = |own: &mut Config, key: &str| own.0.retain(|(given, _)| given != key);
    if is(own, "device.cleaning.stream", "true") {
        own.set("device.gang", "\"shared-bus\"");
        own.set("device.pool", dice.text(&["gang", "ssd"]));
        own.set("device.packages_per_channel", "2");
        for key in ["cleaning.copy_back", "logical_page", "page_span", "interleave"] {
            drop(own, &format!("device.{key}"));
        }
    }
    if own.get("device.gang").is_some_and(|gang| gang.starts_with("shared-control")) {
        for key in ["interleave", "cache_commands", "active_blocks"] {
            drop(own, &format!("device.{key}"));
        }
    }
    if is(own, "device.gang", "shared-control-sync") {
        drop(own, "device.logical_page");
        drop(own, "device.page_span");
        if is(own, "device.pool", "ssd") {
            drop(own, "device.pool");
        }
    }
    let span = whole(own, "device.page_span");
    if span > 1 {
        own.set("device.channels", span.to_string());
        let page = page_size(own).bytes();
        let size = options::Size::from_bytes(page * span * dice.pick(&[1, 1, 2]));
        own.set("device.logical_page", format!("\"{size}\""));
        if is(own, "device.pool", "gang") {
            drop(own, "device.pool");
        }
    }
    let pairs = ["plane", "plane-pair"].iter().any(|word| is(own, "device.interleave", word));
    if pairs && whole(own, "device.planes_per_die") % 2 == 1 {
        own.set("device.planes_per_die", "2");
    }
    if is(own, "device.interleave", "plane") {
        drop(own, "device.cache_commands");
    }
    if is(own, "device.cleaning.copy_back", "true") && is(own, "device.active_blocks", "unit") {
        drop(own, "device.active_blocks");
    }
    if own.get("device.cleaning.levelling.rate_limit_floor").is_some() {
        drop(own, "device.cleaning.levelling.age_variance");
    }
    if own.get("device.logical_page").is_some() {
        drop(own, "device.stripe");
    }
}

/// Draws the keys of a section of the catalogue.
fn section(config: &mut Config, title: &str, kind: &str, given: f64, dice: &mut Dice) {
    let sections = catalogue();
    let section = sections.iter().find(|section| section.title == title);
    for key in &section.expect("a section of that title").keys {
        let path = key.path.as_str();
        let wanted = ALWAYS.contains(&path) || dice.chance(given);
        if !APART.contains(&path) && wanted {
            let title = title.rsplit(' ').next().unwrap_or(kind);
            let value = value(title, key, config, dice).expect("a test holds that all have rows");
            if !value.is_empty() {
                config.set(path, value);
            }
        }
    }
}

/// The reference of every key.
fn catalogue() -> &'static [lab::SectionKeys] {
    static KEYS: std::sync::OnceLock<Vec<lab::SectionKeys>> = std::sync::OnceLock::new();
    KEYS.get_or_init(lab::keys)
}

/// A value of a key, as TOML; empty where the key stays out. `None` when the key has no row here.
pub fn value(kind: &str, key: &KeyInfo, so_far: &Config, dice: &mut Dice) -> Option<String> {
    if key.expected == "true or false" {
        return Some(dice.pick(&["true", "false"]).to_owned());
    }
    if key.expected.contains(" | ") {
        let words: Vec<&str> = key.expected.split(" | ").filter(|it| !it.contains(' ')).collect();
        return Some(dice.text(&words));
    }
    match key.path.split('.').next() {
        Some("device") => of_device(kind, &key.path, so_far, dice),
        Some("workload") => of_workload(kind, &key.path, dice),
        _ => of_run(&key.path, dice),
    }
}

fn of_device(kind: &str, path: &str, so_far: &Config, dice: &mut Dice) -> Option<String> {
    let value = match path.strip_prefix("device.")? {
        "channels" => dice.whole(&[1, 1, 2, 2, 3, 4]),
        "packages_per_channel" => dice.whole(&[1, 1, 1, 2, 3, 4]),
        "dies_per_package" => dice.whole(&[1, 1, 2, 4]),
        "planes_per_die" => dice.whole(&[1, 1, 2, 3, 4]),
        "blocks_per_plane" => {
            dice.whole(&[1, 2, 3, 4, 5, 6, 7, 8, 8, 10, 12, 16, 17, 20, 24, 32, 40, 64])
        }
        "pages_per_block" => dice.whole(&[2, 3, 4, 5, 8, 8, 16, 32]),
        "page_size" => dice.text(&["512B", "1KiB", "2KiB", "3KiB", "4KiB", "4KiB", "4KiB", "8KiB"]),
        "spare_size" => dice.text(&["0B", "64B", "128B", "512B"]),
        "logical_page" => logical_page(so_far, dice),
        "page_span" => dice.whole(&[1, 2, 2, 3, 4]),
        "stripe" if kind == "array" => dice.text(&["512B", "4KiB", "64KiB", "3KiB"]),
        "stripe" => dice.text(&["512B", "4KiB", "8KiB", "64KiB", "12KiB", "1MiB"]),
        "fill" => dice.pick(&["\"empty\"", "\"full\"", "0.5", "0.1", "0.95"]).to_owned(),
        "timing.read" => dice.text(&["0ns", "1ns", "25us", "50us", "1.5ms"]),
        "timing.program" => dice.text(&["0ns", "1ns", "200us", "700us", "1.5ms"]),
        "timing.erase" => dice.text(&["0ns", "1ns", "1.5ms", "10ms"]),
        "timing.bus_per_byte" => dice.text(&["0ps", "625ps", "25ns", "100ns"]),
        "host_link.bandwidth" => dice.text(&["unlimited", "300MB/s", "sata-150", "1MB/s", "4GB/s"]),
        "host_link.latency" => dice.text(&["0ns", "1ns", "20us", "5ms"]),
        "host_link.queue_depth" => dice.pick(&["1", "2", "7", "32", "\"unlimited\""]).to_owned(),
        "cleaning.min_free" => dice.number(&[0.0, 0.01, 0.02, 0.05, 0.1, 0.2]),
        "cleaning.background_free" => dice.number(&[0.0, 0.1, 0.2, 0.5, 0.9]),
        "cleaning.windowed_greedy.window" => dice.whole(&[1, 2, 5, 256]),
        "cleaning.d_choices.d" => dice.whole(&[1, 2, 3, 10, 1000]),
        "cleaning.hot_cold.memory" => dice.text(&["64B", "1KiB", "64KiB", "1MiB"]),
        "cleaning.hot_cold.hot_addresses" => dice.share(),
        "cleaning.levelling.age_variance" => dice.number(&[0.0, 0.05, 0.2, 0.5, 0.9]),
        "cleaning.levelling.rate_limit_floor" => dice.number(&[0.0, 0.1, 0.5, 0.75]),
        "cleaning.levelling.retirement_age" => dice.number(&[0.0, 0.1, 0.5, 0.85, 0.99, 1.0]),
        "cleaning.levelling.cold_life" => dice.number(&[0.0, 0.05, 0.5, 0.9, 1.0]),
        "wear.rated_cycles" => dice.whole(&[1, 2, 3, 5, 10, 20, 100, 1000, 100_000]),
        "wear.spread" => dice.number(&[0.0, 0.01, 0.1, 0.5]),
        "wear.service_years" => dice.number(&[0.1, 1.0, 5.0, 100.0]),
        "size" => dice.text(&["512B", "64KiB", "1MiB", "100MiB", "64GiB"]),
        "members" => dice.whole(&[1, 2, 3, 5, 6]),
        line if line.split('.').next_back() == Some("fixed") => {
            dice.text(&["0ns", "1ns", "127.5us", "1s"])
        }
        line if line.split('.').next_back() == Some("per_kib") => {
            dice.text(&["0ns", "1ns", "4.005us", "1ms"])
        }
        pattern if pattern.ends_with("_read") || pattern.ends_with("_write") => match kind {
            "piecewise" => dice.text(&[
                "512B: 240us, 4KiB: 250us, 1MiB: 4.3ms",
                "4KiB: 0ns, 8KiB: 1ns",
                "512B: 1us, 1KiB: 1us, 16MiB: 1s",
            ]),
            "parallel" => dice.text(&[
                "1: 230us + 4us/KiB, 4: 400us + 9us/KiB",
                "1: 0ns + 0ns/KiB",
                "1: 1ms + 1ns/KiB, 2: 1ms + 1ns/KiB, 1000: 1s + 1us/KiB",
            ]),
            _ => return None,
        },
        _ => return None,
    };
    Some(value)
}

/// From a quarter of a page to a block, and some that do not fit.
fn logical_page(so_far: &Config, dice: &mut Dice) -> String {
    let page = page_size(so_far);
    let pages: u64 = so_far.get("device.pages_per_block").map_or(64, |it| it.parse().unwrap_or(1));
    let quarters = [1, 2, 4, 8, 8, 16, 16, 32, 4 * (pages - 1), 4 * pages, 12];
    let bytes = page.bytes() * dice.pick(&quarters) / 4;
    format!("\"{}\"", options::Size::from_bytes(bytes.max(1)))
}

fn page_size(so_far: &Config) -> options::Size {
    so_far.get("device.page_size").unwrap_or("4KiB").parse().expect("a size")
}

fn of_workload(kind: &str, path: &str, dice: &mut Dice) -> Option<String> {
    let interarrivals = ["uniform(0, 1)", "exponential(0, 0.5)", "constant(0)", "normal(1, 1)"];
    let value = match path.strip_prefix("workload.")? {
        "requests" => (dice.pick(&[1, 100, 500, 1000, 2000, 2500]) + dice.below(500)).to_string(),
        "outstanding" => dice.whole(&[1, 2, 4, 32, 1000]),
        "threads" => dice.whole(&[1, 2, 5]),
        "think_time" => dice.text(&["0ns", "1ns", "100us", "1ms", "9000000000s"]),
        "read_share" => dice.number(&[0.0, 0.3, 1.0]),
        "random_share" | "sequential_share" | "create_share" => dice.share(),
        "locality" => dice.text(&[
            "uniform",
            "hot-cold(0.9, 0.1)",
            "zipf(0.99)",
            "zones(0.5/0.1, 0.3/0.4, 0.2/0.5)",
        ]),
        "block_size" => dice.text(&["512B", "1KiB", "4KiB", "4KiB", "8KiB", "16KiB", "3KiB"]),
        "footprint" => {
            dice.pick(&["1.0", "1.0", "0.5", "0.1", "0.03", "\"64KiB\"", "\"1MiB\""]).to_owned()
        }
        "interarrival" | "sequential_interarrival" => dice.text(&interarrivals),
        "size" => {
            dice.text(&["exponential(0, 8)", "uniform(1, 64)", "constant(8)", "poisson(1, 4)"])
        }
        "time_scale" => dice.number(&[0.001, 0.5, 1.0, 10.0]),
        "path" if kind == "trace" => {
            let formats = workloads::FORMATS;
            format!("\"{SAMPLES}{}\"", formats[dice.below(formats.len() as u64) as usize].name)
        }
        // Of a job file; its text is given instead.
        "path" | "job" => String::new(),
        "format" | "columns" | "layout" => match dice.below(8) {
            0 => dice.text(&["msr", "csv", "blkparse"]),
            _ => String::new(),
        },
        "skip_bad" => dice.whole(&[0, 1, 1000]),
        "devices" => dice.text(&["all", "first", "0"]),
        "align_shift" => dice.whole(&[0, 1, 7]),
        "max_gap" => dice.text(&["none", "1ms", "1us"]),
        "reorder_window" => dice.text(&["none", "0ns", "1s"]),
        "duration" => dice.text(&["none", "1ms", "100s"]),
        "loops" => dice.whole(&[1, 2, 50, 100]),
        "on_rate" => dice.number(&[1000.0, 50_000.0, 1e6]),
        "off_rate" => dice.number(&[0.0, 0.0, 10.0, 10_000.0]),
        "on_time" => dice.text(&["1ms", "10ms", "1us"]),
        "off_time" => dice.text(&["1ms", "900ms", "10ms"]),
        "streams" => streams(dice),
        "file_size" => dice.text(&["64KiB", "256KiB", "1MiB", "8MiB"]),
        "record_size" => dice.text(&["4KiB", "16KiB", "64KiB"]),
        "passes" => dice.text(&["write", "write rewrite read reread", "rewrite write"]),
        "runs" => dice.whole(&[1, 2, 3]),
        "request_size" => dice.text(&["4KiB", "16KiB", "128KiB"]),
        "files" => dice.whole(&[1, 5, 50]),
        "min_size" => dice.text(&["1B", "500B", "4KiB"]),
        "max_size" => dice.text(&["4KiB", "10000B", "64KiB"]),
        "transactions" => dice.whole(&[0, 10, 500]),
        _ => return None,
    };
    Some(value)
}

/// The streams of a mix.
fn streams(dice: &mut Dice) -> String {
    let count = 1 + dice.below(3);
    let weighted = dice.chance(0.5);
    let stream = |dice: &mut Dice| {
        let share = dice.pick(&["0.0", "0.5", "1.0"]);
        let place = dice.pick(&["", "", ", to = 0.5", ", from = 0.5"]);
        let weight = if weighted { ", weight = 1.5" } else { "" };
        match dice.below(3) {
            0 if !weighted => {
                format!("{{kind = \"open\", requests = 500, read_share = {share}{place}}}")
            }
            _ => format!(
                "{{kind = \"closed\", requests = {}, outstanding = {}, read_share = {share}{place}{weight}}}",
                dice.pick(&[100, 700]),
                dice.pick(&[1, 8]),
            ),
        }
    };
    let all: Vec<String> = (0..count).map(|_| stream(dice)).collect();
    format!("[{}]", all.join(", "))
}

/// A job of fio, with trims and flushes.
fn job(dice: &mut Dice) -> String {
    let rw = dice.pick(&["randwrite", "write", "randrw", "randtrim", "rw", "randread"]);
    let block = dice.pick(&["512", "4k", "16k"]);
    let depth = dice.pick(&[1, 4, 32]);
    let flush = dice.pick(&["", "fsync=8\\n", "fdatasync=1\\n"]);
    let jobs = dice.pick(&[1, 2]);
    format!(
        "\"[job]\\nrw={rw}\\nbs={block}\\niodepth={depth}\\nioengine=libaio\\ndirect=1\\n\
         filename=/dev/sda\\n{flush}numjobs={jobs}\\nsize=100%\\nnumber_ios=1000\\n\""
    )
}

fn of_run(path: &str, dice: &mut Dice) -> Option<String> {
    let value = match path {
        "run.precondition" => dice.text(&[
            "none",
            "none",
            "sequential",
            "random:0.5",
            "random:1",
            "random:3",
            "steady",
        ]),
        "run.until" => dice.text(&["end", "end", "end", "steady", "10ms", "1s"]),
        "run.timeline" => dice.text(&["none", "0ms..1ms", "10ms..12ms"]),
        "run.steady.round" => dice.text(&["1ms", "10ms", "100ms"]),
        "run.steady.round_writes" => dice.number(&[0.1, 0.5, 1.0]),
        "run.steady.window" => dice.whole(&[2, 5]),
        "run.steady.rounds" => dice.whole(&[5, 25]),
        "run.steady.range" => dice.number(&[0.01, 0.2, 1.0]),
        "run.steady.slope" => dice.number(&[0.01, 0.1]),
        "run.seed" | "run.load_drive" | "run.save_drive" => String::new(),
        _ => return None,
    };
    Some(value)
}

/// The keys that have no row.
pub fn keys_without_row() -> Vec<String> {
    let mut missing = Vec::new();
    let mut dice = Dice::new(0);
    for section in catalogue() {
        let kind = section.title.rsplit(' ').next().unwrap_or_default();
        for key in &section.keys {
            let apart = APART.contains(&key.path.as_str());
            if !apart && value(kind, key, &Config::default(), &mut dice).is_none() {
                missing.push(format!("{} ({})", key.path, section.title));
            }
        }
    }
    missing
}
