//! Values of every key without choices: one row each, mostly small and unusual ones.

use super::dice::Dice;
use super::{
    Config, SAMPLES, blocks, caches, commands, energy, fdp, generators, logs, maps, media, queues,
    today, waits, zones,
};
use options::KeyInfo;

/// A value of a key, as TOML; empty if the key is omitted. `None` if the key has no row here.
pub fn value(kind: &str, key: &KeyInfo, so_far: &Config, dice: &mut Dice) -> Option<String> {
    if key.expected == "true or false" {
        return Some(dice.pick(&["true", "false"]).to_owned());
    }
    if kind.ends_with(zones::KIND) && key.path.starts_with("device.") {
        return zones::of_zones(&key.path, dice).or_else(|| of_words(key, dice));
    }
    if kind.ends_with(caches::KIND) && key.path.starts_with("device.") {
        return caches::of_caches(&key.path, dice);
    }
    if blocks::is_own(&key.path) {
        return blocks::of_blocks(&key.path, dice);
    }
    if commands::is_own(&key.path) {
        return Some(commands::of_namespaces(dice));
    }
    if fdp::is_own(&key.path) {
        return fdp::of_fdp(&key.path, dice);
    }
    if maps::is_own(&key.path) {
        return maps::of_map(&key.path, dice);
    }
    if queues::is_own(&key.path) {
        return queues::of_queues(&key.path, dice);
    }
    if logs::is_own(&key.path) {
        return logs::of_logs(&key.path, dice);
    }
    if let Some(value) = waits::value(&key.path, dice) {
        return Some(value);
    }
    if let Some(word) = of_words(key, dice) {
        return Some(word);
    }
    match key.path.split('.').next() {
        Some("device") if energy::is_own(&key.path) => energy::of_energy(&key.path, dice),
        Some("device") if media::is_own(&key.path) => media::of_media(&key.path, dice),
        Some("device") if kind == "disk" => of_disk(&key.path, dice),
        Some("device") if today::is_own(&key.path) => of_today(&key.path, dice),
        Some("device") => of_device(kind, &key.path, so_far, dice),
        Some("workload") => of_workload(kind, &key.path, dice),
        _ => of_run(&key.path, dice),
    }
}

/// One of the words that a key accepts.
fn of_words(key: &KeyInfo, dice: &mut Dice) -> Option<String> {
    if !key.expected.contains(" | ") {
        return None;
    }
    // Persistent maps and queue classes have costs and are drawn elsewhere.
    let is_word = |it: &&str| !it.contains(' ') && !["nvram", "weighted"].contains(it);
    let words: Vec<&str> = key.expected.split(" | ").filter(is_word).collect();
    Some(dice.text(&words))
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
        "host_link.queues" => dice.whole(&[1, 2, 7]),
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
        "cleaning.levelling.cold_age" => dice.text(&["none", "1ms", "300ms", "1d"]),
        "cleaning.levelling.swap_above" => dice.whole(&[0, 1, 4, 100]),
        // They affect power cuts, which are not drawn.
        "power.capacitance" | "power.voltage" | "power.cutoff" | "power.watts"
        | "power.efficiency" => String::new(),
        "wear.rated_cycles" => dice.whole(&[1, 2, 3, 5, 10, 20, 100, 1000, 100_000]),
        "wear.spread" => dice.number(&[0.0, 0.01, 0.1, 0.5]),
        "wear.service_years" => dice.number(&[0.1, 1.0, 5.0, 100.0]),
        "persistence.checkpoint" => dice.text(&["100us", "5ms", "1s", "10s"]),
        "persistence.ready" => dice.text(&["0ns", "1ns", "20ms"]),
        "persistence.tear" => dice.text(&["0.2, 0.6, 0.2", "1, 0, 0", "0, 0, 1", "0, 1, 0"]),
        "size" => dice.text(&["512B", "64KiB", "1MiB", "100MiB", "64GiB"]),
        "members" => dice.whole(&[1, 2, 3, 5, 6]),
        "copies" => dice.whole(&[2, 2, 3, 6]),
        "parity_share" => dice.text(&["equal", "100,0,0,0", "40,20,20,20", "50,10,10,10,10,10"]),
        "failed" => dice.text(&["none", "1", "0 at 3ms", "2 at 1ms, 1 at 40ms"]),
        "stripe_cache" => dice.whole(&[0, 1, 64]),
        "spares" => dice.whole(&[0, 0, 1, 2]),
        "rebuild.rate" => dice.text(&["unlimited", "50MB/s", "1GB/s"]),
        "rebuild.unit" => dice.text(&["64KiB", "512KiB"]),
        // A law is one text, or a line with its own keys.
        line if line.rsplit_once('.').is_some_and(|(law, _)| {
            law.contains('_') && so_far.get(&format!("device.{law}")).is_some()
        }) =>
        {
            String::new()
        }
        line if line.split('.').next_back() == Some("fixed") => {
            dice.text(&["0ns", "1ns", "127.5us", "1s"])
        }
        line if line.split('.').next_back() == Some("per_kib") => {
            dice.text(&["0ns", "1ns", "4.005us", "1ms"])
        }
        pattern if pattern.ends_with("_read") || pattern.ends_with("_write") => {
            if dice.chance(0.5) {
                return Some(String::new());
            }
            dice.text(&[
                "512B: 240us, 4KiB: 250us, 1MiB: 4.3ms",
                "4KiB: 0ns, 8KiB: 1ns",
                "512B: 1us, 1KiB: 1us, 16MiB: 1s",
                "1: 230us + 4us/KiB, 4: 400us + 9us/KiB",
                "0ns + 0ns/KiB",
                "1: 1ms + 1ns/KiB, 2: 1ms + 1ns/KiB, 1000: 1s + 1us/KiB",
                "1: 512B: 1us, 1MiB: 1ms, 8: 512B: 5us, 1MiB: 9ms",
            ])
        }
        _ => return None,
    };
    Some(value)
}

/// Values for keys of hard disks, which are small.
fn of_disk(path: &str, dice: &mut Dice) -> Option<String> {
    if path.contains(".standby.") {
        // The other keys apply only if the disk spins down.
        return Some(String::new());
    }
    let value = match path.strip_prefix("device.")? {
        "rpm" => dice.whole(&[60, 5_400, 7_200, 10_025, 100_000]),
        "cylinders" => dice.whole(&[1, 100, 1_000, 310_000]),
        "surfaces" => dice.whole(&[1, 2, 3, 12]),
        "zones" => dice.text(&[
            "0-0: 100",
            "0-99: 63 skew 7 11",
            "0-40: 200 skew 9 9 spare 300, 50-99: 120 skew 5 8",
            "0-154999: 1800 skew 112 180, 155000-309999: 1350",
        ]),
        "seek.table" => dice.text(&["none", "1: 0ns", "1: 1ms, 90: 3ms, 900: 2ms"]),
        "seek.single" => dice.text(&["0ns", "0.8ms", "1s"]),
        "seek.mean" => dice.text(&["0ns", "4ms", "8.5ms"]),
        "seek.full" => dice.text(&["0ns", "9ms", "17ms"]),
        "buffer.segments" => dice.whole(&[1, 2, 3, 16]),
        "buffer.write_segments" => dice.whole(&[1, 1, 2, 16]),
        "buffer.segment" => dice.text(&["512B", "8KiB", "128KiB", "1KiB"]),
        "buffer.read_ahead" => dice.text(&["0B", "512B", "64KiB", "3MiB"]),
        "buffer.send_at" => dice.share(),
        "queue_depth" => dice.pick(&["1", "2", "32", "\"unlimited\""]).to_owned(),
        "max_wait" => dice.text(&["0ns", "1ms", "1s"]),
        _ => dice.text(&["0ns", "1ns", "100us", "3ms"]),
    };
    Some(value)
}

/// Values for keys of drives with a write buffer; see [`today`].
fn of_today(path: &str, dice: &mut Dice) -> Option<String> {
    let value = match path.strip_prefix("device.")? {
        "scale" => dice.whole(&[1, 2, 2, 3]),
        "timing.read_part" => dice.text(&["0ns", "1ns", "40us"]),
        "timing.bus_rate" => dice.text(&["1MT/s", "40MT/s", "1200MT/s", "1200MT/s", "100000MT/s"]),
        "timing.command" => dice.text(&["0ns", "1ns", "200ns", "5us"]),
        "cell.preset" => {
            let parts = devices::ssd::config::parts::PARTS;
            format!("\"{}\"", parts[dice.below(parts.len() as u64) as usize].name)
        }
        "cell.bits" => dice.whole(&[1, 2, 3, 3, 4, 5]),
        "cell.distance" => dice.whole(&[1, 1, 2, 3]),
        "suspend.program" | "suspend.erase" => dice.text(&["none", "0ns", "5us", "35us", "1ms"]),
        "suspend.resume" => dice.text(&["0ns", "1ns", "5us", "200us"]),
        "suspend.step" | "suspend.erase_step" => dice.text(&["0ns", "1ns", "20us", "90us"]),
        "suspend.limit" => dice.whole(&[0, 1, 2, 8, 1000]),
        "suspend.cost" => dice.text(&["0ns", "1ns", "500us"]),
        "suspend.unless_backlog" => dice.pick(&["1", "8", "64", "\"unlimited\""]).to_owned(),
        "firmware.cores" => dice.whole(&[1, 1, 2, 8]),
        "firmware.read" | "firmware.write" => dice.text(&["0ns", "1ns", "13us", "1ms"]),
        "firmware.per_page" => dice.text(&["0ns", "1ns", "460ns"]),
        "buffer.size" | "buffer.copies" => dice.text(&["1MiB", "2MiB", "8MiB"]),
        "buffer.linger" => dice.text(&["none", "0ns", "1us", "1ms", "100ms"]),
        "slc_cache.static" => dice.text(&["0B", "64KiB", "1MiB", "1GiB"]),
        "slc_cache.rated_cycles" => dice.whole(&[0, 10, 1000, 40_000]),
        "slc_cache.dynamic" => dice.number(&[0.0, 0.2, 0.5, 1.0]),
        "slc_cache.limit" => dice.text(&["64KiB", "1MiB", "100MiB"]),
        "slc_cache.gone_at" => dice.number(&[0.3, 0.75, 1.0]),
        "slc_cache.program" => dice.text(&["20us", "60us"]),
        "slc_cache.read" => dice.text(&["1ns", "20us"]),
        "slc_cache.fold_after" => dice.text(&["1ns", "200us", "10ms", "1s"]),
        "slc_cache.fold_rate" => dice.text(&["unlimited", "20MB/s", "1GB/s"]),
        "slc_cache.fold_share" => dice.number(&[0.0, 0.25, 0.9]),
        "parity.of" => dice.whole(&[0, 1, 2, 2, 3, 4]),
        "cleaning.quantum" => dice.whole(&[1, 2, 8, 80]),
        "cleaning.host_room" => dice.whole(&[0, 1, 16, 128]),
        "cleaning.read_batch" => dice.whole(&[1, 2, 3]),
        "cleaning.meter_depth" => dice.whole(&[1, 2, 16]),
        "cleaning.meter_above" => dice.number(&[0.0, 0.3, 0.55, 1.0]),
        _ => return None,
    };
    Some(value)
}

/// From a quarter of a page to a block, and some invalid sizes.
fn logical_page(so_far: &Config, dice: &mut Dice) -> String {
    let page = page_size(so_far);
    let pages: u64 = so_far.get("device.pages_per_block").map_or(64, |it| it.parse().unwrap_or(1));
    let quarters = [1, 2, 4, 8, 8, 16, 16, 32, 4 * (pages - 1), 4 * pages, 12];
    let bytes = page.bytes() * dice.pick(&quarters) / 4;
    format!("\"{}\"", options::Size::from_bytes(bytes.max(1)))
}

pub(super) fn page_size(so_far: &Config) -> options::Size {
    so_far.get("device.page_size").unwrap_or("4KiB").parse().expect("a size")
}

fn of_workload(kind: &str, path: &str, dice: &mut Dice) -> Option<String> {
    let interarrivals = ["uniform(0, 1)", "exponential(0, 0.5)", "constant(0)", "normal(1, 1)"];
    let value = match path.strip_prefix("workload.")? {
        "rate" => dice.number(&[5000.0, 40_000.0, 1e6]),
        class if class.starts_with("classes.") => return of_class(class, dice),
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
        // The path of a job file is omitted, because its text is given.
        "path" | "job" => String::new(),
        "pattern" => match dice.below(8) {
            0 => dice.text(&["(?<time>[0-9]+) (?<sector>[0-9]+) (?<size>[0-9]+)", "("]),
            _ => String::new(),
        },
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
        _ => return generators::value(path, dice),
    };
    Some(value)
}

/// Values for keys of a thread class; keys shared with other kinds are drawn as there.
fn of_class(path: &str, dice: &mut Dice) -> Option<String> {
    let key = path.rsplit('.').next()?;
    Some(match key {
        "threads" => dice.whole(&[1, 1, 2, 6]),
        "depth" => dice.whole(&[1, 2, 64]),
        "rate" => {
            dice.pick(&["\"unlimited\"", "\"workload\"", "1000.0", "50000.0", "1e6"]).to_owned()
        }
        "rate_less" => dice.number(&[0.0, 0.0, 4000.0]),
        "fua" | "read_share" => dice.share(),
        "flush_every" => dice.whole(&[0, 1, 7]),
        _ => return of_workload("threads", &format!("workload.{key}"), dice),
    })
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
pub(super) fn job(dice: &mut Dice) -> String {
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
        "run.warm_up" => dice.text(&["0s", "0s", "1us", "1ms"]),
        "run.timeline" => dice.text(&["none", "0ms..1ms", "10ms..12ms"]),
        "run.steady.round" => dice.text(&["1ms", "10ms", "100ms"]),
        "run.steady.round_writes" => dice.number(&[0.1, 0.5, 1.0]),
        "run.steady.window" => dice.whole(&[2, 5]),
        "run.steady.rounds" => dice.whole(&[5, 25]),
        "run.steady.range" => dice.number(&[0.01, 0.2, 1.0]),
        "run.steady.slope" => dice.number(&[0.01, 0.1]),
        cost if cost.starts_with("cost.") => String::new(),
        "run.age" | "run.pace" | "run.seed" | "run.load_drive" | "run.save_drive"
        | "run.power_cut" | "run.power_off" | "run.faults" | "run.sample" => String::new(),
        _ => return None,
    };
    Some(value)
}
