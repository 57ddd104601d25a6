//! The map cache: how often a look-up finds its page, what a miss costs, and what is programmed of the map.

use crate::buffered;
use crate::common::{Closed, configured, run_closed, run_cut, seeds};
use devices::ssd::{Ssd, SsdConfig, SsdReport};
use devices::{DeviceConfig, DeviceKind, Instruction, Model, latency};
use engine::{Completion, Lba, Op, Random, Request, Time, Xoshiro256};
use serde_json::{Value, json};

type Keys = Vec<(&'static str, Value)>;

/// Two packages without a write buffer, cleaned page by page.
fn plain() -> Keys {
    vec![
        ("device.channels", json!(2)),
        ("device.dies_per_package", json!(1)),
        ("device.planes_per_die", json!(1)),
        ("device.blocks_per_plane", json!(64)),
        ("device.spare_factor", json!(0.25)),
    ]
}

/// Both kinds of drive.
fn kinds() -> [Keys; 2] {
    [plain(), buffered::small()]
}

fn with(base: &Keys, changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut keys = base.clone();
    keys.push(("device.map.page", json!("512B")));
    keys.extend(changes.iter().cloned());
    if !keys.iter().any(|(key, _)| *key == "device.map.memory" || *key == "device.map.place") {
        keys.retain(|(key, _)| *key != "device.map.page");
    }
    match configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

/// Memory for a share of the map.
fn memory(base: &Keys, share: f64) -> Value {
    let pages = Ssd::new(&with(base, &[]), 0).unwrap().facts().pages;
    let map = pages.div_ceil(128) as f64;
    json!(format!("{}B", (map * share).round() as u64 * 512))
}

/// Pages of the map of a drive.
fn map_pages(base: &Keys) -> u64 {
    Ssd::new(&with(base, &[]), 0).unwrap().facts().pages.div_ceil(128)
}

/// A load of single pages drawn from the first of them, from an instant on; when it ended, and its answers.
fn uniform_from(
    at: Time,
    ssd: &mut Ssd,
    (op, span): (Op, u64),
    (requests, outstanding): (u64, u32),
) -> (Time, Vec<Completion>) {
    let mut random = Xoshiro256::new(3, 3);
    let make = move |id| Request::new(id, op, Lba(random.below(span) * 8), 8);
    let mut load = Closed::new(outstanding, requests, make);
    load.begin_at(at);
    run_closed(ssd, &mut load)
}

/// The same on a new drive.
fn uniform(ssd: &mut Ssd, op: Op, span: u64, requests: u64, outstanding: u32) -> Vec<Completion> {
    uniform_from(0, ssd, (op, span), (requests, outstanding)).1
}

fn report(ssd: &Ssd) -> SsdReport {
    ssd.account(1)
}

fn near(found: f64, expected: f64, most: f64, what: &str) {
    assert!((found - expected).abs() <= most, "{what}: {found} and not {expected}");
}

fn mean(all: &[Completion], of: impl Fn(&Completion) -> Time) -> f64 {
    all.iter().map(|it| of(it) as f64).sum::<f64>() / all.len() as f64
}

/// Of uniform requests memory finds the share that it holds, and each miss is one more read of the flash.
#[test]
pub fn uniform_reads_hit_as_much_as_memory_holds_and_a_miss_is_a_read() {
    for base in kinds() {
        for share in [0.1, 0.35, 0.8] {
            let mut ssd =
                Ssd::new(&with(&base, &[("device.map.memory", memory(&base, share))]), 1).unwrap();
            let pages = ssd.facts().pages;
            let (at, _) = uniform_from(0, &mut ssd, (Op::Read, pages), (4_000, 1));
            ssd.instruct(0, Instruction::ResetCounts).unwrap();
            uniform_from(at, &mut ssd, (Op::Read, pages), (20_000, 4));
            let counts = report(&ssd).counts;
            // The last page of the map has fewer entries than the others.
            let held = (map_pages(&base) as f64 * share).round() * 128.0 / pages as f64;
            let hits = counts.hits as f64 / (counts.hits + counts.misses) as f64;
            near(hits, held, 0.01, "hits");
            assert_eq!(counts.hits + counts.misses, 20_000);
            let reads = counts.page_reads as f64 / counts.host_pages_read as f64;
            // Who joins a read that is under way needs none.
            let joined = counts.joins as f64 / 20_000.0;
            near(reads, 2.0 - hits, 0.001 + joined, "reads per read");
            assert_eq!(counts.evictions, counts.misses);
            assert_eq!(counts.programs, 0, "nothing has changed");
        }
    }
}

/// One by one, a read that misses takes two reads of the flash, and the part of its latency is the first.
#[test]
pub fn a_miss_takes_a_read_of_the_map_first() {
    for base in kinds() {
        let all = uniform(&mut Ssd::new(&with(&base, &[]), 1).unwrap(), Op::Read, 5_000, 2_000, 1);
        let t0 = mean(&all, Completion::latency);
        let config = with(&base, &[("device.map.memory", json!("5120B"))]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let all = uniform(&mut ssd, Op::Read, 5_000, 2_000, 1);
        let counts = report(&ssd).counts;
        let missed = counts.misses as f64 / 2_000.0;
        assert!(missed > 0.5, "{missed}");
        let of_map = mean(&all, |it| it.breakdown[latency::MAP]);
        // Sensing, and 512 bytes over the bus: on units a whole page.
        let each = if config.is_buffered() { 45_000.0 + 512.0 } else { t0 };
        near(of_map / (missed * each), 1.0, 0.001, "the time of the map");
        near(mean(&all, Completion::latency) - of_map, t0, t0 * 0.001, "the rest");
    }
}

/// A memory for all of the map, at whatever place that costs nothing, is no map cache.
#[test]
fn memory_for_all_of_the_map_is_off_bit_for_bit() {
    for base in kinds() {
        let run = |changes: &[(&'static str, Value)]| {
            let mut ssd = Ssd::new(&with(&base, changes), 1).unwrap();
            let pages = ssd.facts().pages;
            let mut random = Xoshiro256::new(9, 9);
            let mut load = Closed::new(8, 20_000, move |id| {
                let op = if random.below(3) == 0 { Op::Read } else { Op::Write };
                Request::new(id, op, Lba(random.below(pages) * 8), 8)
            });
            (run_closed(&mut ssd, &mut load), report(&ssd))
        };
        let off = run(&[]);
        assert!(!off.1.maps);
        for changes in [
            vec![("device.map.memory", memory(&base, 1.0))],
            vec![("device.map.memory", json!("1GiB"))],
            vec![("device.map.place", json!("host")), ("device.map.host_latency", json!("0ns"))],
        ] {
            assert_eq!(run(&changes), off, "{changes:?}");
        }
    }
}

/// Writes in sequence change a page of the map once for all of its entries, random ones once for each of the host and of
/// cleaning that misses.
#[test]
pub fn what_is_programmed_of_the_map_follows_from_what_leaves_it() {
    for base in kinds() {
        let config = with(&base, &[("device.map.memory", memory(&base, 0.1))]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let pages = ssd.facts().pages;
        let mut load =
            Closed::new(8, 3 * pages, |id| Request::new(id, Op::Write, Lba(id % pages * 8), 8));
        run_closed(&mut ssd, &mut load);
        let it = report(&ssd);
        let all = map_pages(&base) as f64;
        // But for those that are still in memory, or wait for others.
        let kept = all * 0.1 + 200.0;
        let programs = it.counts.programs as f64;
        assert!(programs <= 3.0 * all && programs >= 3.0 * all - kept, "{programs} of 3 x {all}");
        near(it.media.map as f64, programs * 512.0, 0.0, "bytes");
        let sum: u64 = it.media.rows().iter().map(|it| it.1).sum();
        assert_eq!(sum, it.counts.bytes_programmed);

        let mut ssd = Ssd::new(&config, 1).unwrap();
        let (at, _) = uniform_from(0, &mut ssd, (Op::Write, pages), (pages, 8));
        ssd.instruct(0, Instruction::ResetCounts).unwrap();
        uniform_from(at, &mut ssd, (Op::Write, pages), (40_000, 8));
        let it = report(&ssd);
        let missed = it.counts.misses as f64 / 40_000.0;
        let changed = 40_000.0 + it.counts.pages_moved as f64;
        let programs = it.counts.programs as f64;
        assert!(it.counts.pages_moved > 5_000, "it cleans");
        near(programs / (missed * changed), 1.0, 0.02, "random programs");
        let sum: u64 = it.media.rows().iter().map(|it| it.1).sum();
        assert_eq!(sum, it.counts.bytes_programmed);
    }
}

/// The same requests count alike in time and without.
#[test]
fn timed_and_untimed_runs_look_up_alike() {
    for base in kinds() {
        for place in ["sram", "host"] {
            let config = with(
                &base,
                &[
                    ("device.map.memory", memory(&base, 0.2)),
                    ("device.map.place", json!(place)),
                    ("device.fill", json!("empty")),
                ],
            );
            let pages = Ssd::new(&config, 1).unwrap().facts().pages;
            let request = |id: u64| {
                let mut random = Xoshiro256::new(id, 1);
                let page = random.below(pages - 40);
                let length = 1 + random.below(40);
                let op = if random.below(2) == 0 { Op::Read } else { Op::Write };
                Request::new(id, op, Lba(page * 8), 8 * length as u32)
            };
            let requests = pages / 60;
            let mut timed = Ssd::new(&config, 1).unwrap();
            run_closed(&mut timed, &mut Closed::new(1, requests, request));
            let mut untimed = Ssd::new(&config, 1).unwrap();
            (0..requests).for_each(|id| assert!(untimed.serve_untimed(&request(id)).is_ok()));
            let of = |ssd: &Ssd| {
                let it = report(ssd).counts;
                [it.hits, it.sram_hits, it.misses, it.evictions, it.programs, it.joins]
            };
            assert_eq!(of(&timed), of(&untimed));
            assert!(of(&timed)[2] > 20 && of(&timed)[3] > 20, "{:?}", of(&timed));
        }
    }
}

/// Requests that miss the same page at a time wait for one read.
#[test]
fn misses_of_a_page_join_the_read_that_is_under_way() {
    for base in kinds() {
        let config = with(&base, &[("device.map.memory", json!("512B"))]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let mut load = Closed::new(16, 16, |id| Request::new(id, Op::Read, Lba(id * 8), 8));
        run_closed(&mut ssd, &mut load);
        let counts = report(&ssd).counts;
        assert_eq!((counts.misses, counts.joins, counts.hits), (1, 15, 15));
        assert_eq!(counts.page_reads, 17);
    }
}

/// A look-up in memory of the host takes its round trip, and none in front of it; two levels give two knees.
#[test]
fn memory_of_the_host_takes_a_round_trip_and_memory_before_it_none() {
    for base in kinds() {
        let pages = map_pages(&base);
        let host = |sram: &str, latency: &str| {
            with(
                &base,
                &[
                    ("device.map.place", json!("host")),
                    ("device.map.sram", json!(sram)),
                    ("device.map.host_latency", json!(latency)),
                ],
            )
        };
        let mean_of_map = |config: &SsdConfig, span: u64| {
            let mut ssd = Ssd::new(config, 1).unwrap();
            let (at, _) = uniform_from(0, &mut ssd, (Op::Read, span), (3_000, 1));
            let (_, all) = uniform_from(at, &mut ssd, (Op::Read, span), (3_000, 1));
            assert_eq!(report(&ssd).counts.misses, 0);
            mean(&all, |it| it.breakdown[latency::MAP])
        };
        assert!((mean_of_map(&host("0B", "3us"), 3_000) - 3_000.0).abs() < 1e-9);
        let near_pages = pages / 4;
        let sram = format!("{}B", near_pages * 512);
        assert!(mean_of_map(&host(&sram, "3us"), near_pages * 128).abs() < 1e-9);
        // LRU over more than it holds: the share that it does not.
        let span = near_pages * 2 * 128;
        near(mean_of_map(&host(&sram, "3us"), span), 1_500.0, 150.0, "half of them");
    }
}

/// Cleaning and trims change entries that nobody looked up: what is not in memory is read and programmed.
#[test]
fn cleaning_and_trims_change_the_map_too() {
    for base in kinds() {
        let config = with(&base, &[("device.map.memory", json!("512B"))]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let pages = ssd.facts().pages;
        let trims = pages / 128;
        let mut load =
            Closed::new(1, trims, |id| Request::new(id, Op::Trim, Lba(id * 128 * 8), 8 * 64));
        let (at, _) = run_closed(&mut ssd, &mut load);
        // Half of each page: it is read, and programmed when a group is full. That is done with the next look-up.
        uniform_from(at, &mut ssd, (Op::Read, 1), (1, 1));
        let counts = report(&ssd).counts;
        assert_eq!(counts.misses, 1);
        assert_eq!(counts.page_reads, trims + 1, "one for each, one of the look-up, none of data");
        assert!(counts.programs + 400 > trims && counts.programs <= trims, "{}", counts.programs);
    }
}

/// Random drives with a map cache pass the audit, and lose nothing that is durable in cuts.
#[test]
fn random_caches_pass_the_audit_and_cuts_lose_nothing() {
    seeds(0..12, |seed| {
        let mut dice = Xoshiro256::new(seed, 77);
        let base = kinds()[seed as usize % 2].clone();
        let share = [0.0, 0.05, 0.3][dice.below(3) as usize];
        let size = if share == 0.0 { json!("512B") } else { memory(&base, share) };
        let config = with(
            &base,
            &[
                ("device.map.memory", size),
                ("device.map.place", json!(["sram", "host"][dice.below(2) as usize])),
                ("device.persistence.recovery", json!("spare")),
            ],
        );
        let mut ssd = Ssd::new(&config, seed).unwrap();
        let pages = ssd.facts().pages;
        let mut random = Xoshiro256::new(seed, 78);
        let mut load = Closed::new(16, 20_000, move |id| {
            let lba = Lba(random.below(pages - 16) * 8);
            match random.below(12) {
                0 => Request::new(id, Op::Trim, lba, 8 * 16),
                1..4 => Request::new(id, Op::Read, lba, 8 * (1 + random.below(8)) as u32),
                _ => Request::new(id, Op::Write, lba, 8 * (1 + random.below(3)) as u32),
            }
        });
        let at = 20_000_000 + dice.below(100_000_000);
        run_cut(&mut ssd, &mut load, at);
        let all = report(&ssd);
        assert_eq!(all.power.as_ref().unwrap().durable_lost, 0, "seed {seed}");
        let sum: u64 = all.media.rows().iter().map(|it| it.1).sum();
        assert_eq!(sum, all.counts.bytes_programmed, "seed {seed}: {:?}", all.media);
        assert!(all.counts.misses > 0);
    });
}

/// A saved drive begins with nothing of the map in memory, as one that has just been switched on.
#[test]
fn a_restored_drive_begins_with_an_empty_map_cache() {
    for base in kinds() {
        let config = with(&base, &[("device.map.memory", memory(&base, 0.3))]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let pages = ssd.facts().pages;
        (0..pages).for_each(|page| ssd.overwrite_untimed(&[page * 7 % pages], 0));
        let snapshot = ssd.save().unwrap();
        let mut other = Ssd::new(&config, 1).unwrap();
        other.restore(snapshot).unwrap();
        for ssd in [&mut ssd, &mut other] {
            ssd.instruct(0, Instruction::ResetCounts).unwrap();
            ssd.instruct(0, Instruction::BeginLoad).unwrap();
        }
        let run = |ssd: &mut Ssd| (uniform(ssd, Op::Write, pages, 3_000, 4), report(ssd).counts);
        assert_eq!(run(&mut ssd), run(&mut other));
    }
}

/// The map in cells of one bit takes their times, and a group of it is one page of each plane.
#[test]
fn the_map_may_lie_in_cells_of_one_bit() {
    let base = buffered::small();
    let slc = [
        ("device.map.memory", json!("512B")),
        ("device.map.cells", json!("slc")),
        ("device.map.read", json!("20us")),
        ("device.map.program", json!("0.2ms")),
    ];
    let mut ssd = Ssd::new(&with(&base, &slc), 1).unwrap();
    let all = uniform(&mut ssd, Op::Read, 128 * 200, 2_000, 1);
    let missed = report(&ssd).counts.misses as f64 / 2_000.0;
    near(mean(&all, |it| it.breakdown[latency::MAP]) / missed, 20_512.0, 1.0, "a miss");
    // Two planes of 16 KiB, where a word line of three bits has three times as much.
    let programs = |changes: &[(&'static str, Value)]| {
        let mut ssd = Ssd::new(&with(&base, changes), 1).unwrap();
        uniform(&mut ssd, Op::Write, 128 * 200, 1_000, 1);
        report(&ssd).counts.programs
    };
    let (one, three) = (programs(&slc), programs(&slc[..1]));
    assert!(one.is_multiple_of(64) && three.is_multiple_of(192), "{one}, {three}");
    assert!(one > 700 && three > 700, "{one}, {three}");
}

#[test]
fn a_map_cache_is_refused_where_it_cannot_be() {
    let refused = |base: &Keys, changes: &[(&'static str, Value)], words: &[&str]| {
        let problem = Ssd::new(&with(base, changes), 0).map(drop).unwrap_err().to_string();
        for word in words {
            assert!(problem.contains(word), "{problem}: {word}");
        }
    };
    let some = ("device.map.memory", json!("64KiB"));
    for base in kinds() {
        let less = ("device.map.memory", json!("511B"));
        refused(
            &base,
            &[less],
            &["device.map.memory", "511B holds no page of the map, 512B", "512B"],
        );
        let sram = ("device.map.sram", json!("100B"));
        let host = ("device.map.place", json!("host"));
        refused(&base, &[host.clone(), sram], &["device.map.sram", "at least 512B"]);
        let long = ("device.map.host_latency", json!("5s"));
        refused(&base, &[host, long], &["device.map.host_latency", "at most 4s"]);
        let page = ("device.map.page", json!("1MiB"));
        refused(&base, &[some.clone(), page], &["device.map.page", "up to a page of the flash"]);
        for entry in ["0B", "3B", "128B"] {
            let entry = ("device.map.entry", json!(entry));
            refused(&base, &[some.clone(), entry], &["device.map.entry", "a whole number"]);
        }
    }
    let blocks = [some.clone(), ("device.block_buffer.read_ahead", json!("64KiB"))];
    refused(&plain(), &blocks, &["device.map.memory", "device.block_buffer.size"]);
    let nvram = [
        some.clone(),
        ("device.persistence.recovery", json!("nvram")),
        ("device.persistence.map_write", json!("2us")),
    ];
    refused(&plain(), &nvram, &["device.map.memory", "memory = \"all\""]);
    let slc = [some.clone(), ("device.map.cells", json!("slc"))];
    refused(&buffered::small(), &slc, &["device.map.read", "device.slc_cache"]);
    let bits = [some.clone(), ("device.map.cells", json!("slc")), ("device.cell.bits", json!(1))];
    refused(&buffered::small(), &bits, &["device.cell.bits", "native"]);
    let scale = [some.clone(), ("device.scale", json!(2)), ("device.map.memory", json!("1000B"))];
    refused(&plain(), &scale, &["device.scale", "at least 1KiB"]);
    let cut = with(&plain(), &[some]).check_power_cuts().unwrap_err().to_string();
    assert!(cut.contains("device.persistence.recovery") && cut.contains("map cache"), "{cut}");
}
