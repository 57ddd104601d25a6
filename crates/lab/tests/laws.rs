//! Random experiments over every key obey the laws of `net/laws.rs`: a few in every commit, more at
//! night, and any number with `make fuzz`. Experiments that ever violated one are kept in
//! `net/seeds.tsv` and always run.

use crate::depth::depth;
use crate::net::laws::{Broken, Case, LAWS, Verdict, judge};
use crate::net::mend::judge_mended;
use crate::net::shrink::shrink;
use crate::net::{Config, Outcome, generate, on_two_threads, outcome};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Maximum number of violating experiments that are shrunk before they are shown.
const MADE_SMALLER: usize = 3;

#[test]
fn random_experiments_obey_the_laws() {
    let experiments = depth(100, 150, 20_000);
    let seeds: Vec<u64> = (1..=experiments).collect();
    // Half of the seeds are run as drawn, including refusals, the other half mended.
    let verdicts = on_two_threads(&seeds, |seed| {
        let drawn = generate::experiment(*seed);
        if *seed % 2 == 0 {
            return judge_mended(drawn, *seed);
        }
        let verdict = judge(&drawn);
        (drawn, verdict)
    });
    let mut report = String::new();
    let (mut held, mut refused, mut shown) = (0, Vec::new(), 0);
    for (seed, (config, verdict)) in seeds.iter().zip(&verdicts) {
        held += u64::from(*verdict == Verdict::Holds);
        if *verdict == Verdict::Refused && seed % 2 == 0 {
            let Outcome::Refused(why) = outcome(config) else { panic!("it was refused: {config}") };
            refused.push(format!("seed {seed}: {why}\n"));
        }
        let Verdict::Breaks(laws) = verdict else { continue };
        for broken in laws {
            let (config, broken) = if shown < MADE_SMALLER {
                shrink(config, broken)
            } else {
                (config.clone(), broken.clone())
            };
            shown += 1;
            let _ = writeln!(report, "seed {seed}: {}: {}\n  {config}", broken.law, broken.detail);
        }
    }
    assert!(report.is_empty(), "{shown} laws broken\n{report}");
    // Otherwise the search would mostly cover refusals.
    assert!(held * 3 > experiments, "only {held} of {experiments} experiments were accepted");
    let most = experiments as usize / 40;
    assert!(refused.len() <= most, "not mended, of {}:\n{}", experiments / 2, refused.concat());
}

/// Known violations of an experiment: each law with its figures; "-" if none.
fn breaches(config: &Config) -> String {
    match judge(config) {
        Verdict::Breaks(laws) => {
            // Omits the position of a panic, which any edit changes.
            let detail = |it: &Broken| it.detail.split(" (crates/").next().unwrap().to_owned();
            let said = laws.iter().map(|it| format!("{}: {}", it.law, detail(it)));
            said.collect::<Vec<_>>().join("; ")
        }
        Verdict::Holds => "-".to_owned(),
        Verdict::Refused => "it is refused".to_owned(),
    }
}

/// A row with a violation is a known deviation, with its figures; if these change, the row must
/// change.
#[test]
fn experiments_that_ever_broke_a_law_do_as_they_are_known_to() {
    let text = include_str!("net/seeds.tsv");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<Vec<&str>> = rows.map(|line| line.split('\t').collect()).collect();
    let found = on_two_threads(&rows, |row| breaches(&Config::from_line(row[3])));
    let mut report = String::new();
    for (row, breaches) in rows.iter().zip(&found) {
        if row[2] != breaches {
            let _ = writeln!(report, "{} ({})\n  was {}\n  now {breaches}", row[0], row[1], row[2]);
        }
    }
    assert!(report.is_empty(), "{report}");
    assert!(rows.len() > 5);
}

/// Prints a row of `net/seeds.tsv` for each law that the experiment of the seed in `SEED` violates.
#[test]
fn again() {
    let Ok(seed) = std::env::var("SEED") else { return };
    let config = generate::experiment(seed.parse().expect("a number"));
    let Verdict::Breaks(laws) = judge(&config) else {
        println!("{seed} breaks no law\n{}", config.line());
        return;
    };
    for broken in laws {
        let (config, broken) = shrink(&config, &broken);
        println!("{seed}\tWHAT\t{}: {}\t{}", broken.law, broken.detail, config.line());
    }
}

/// The last program that a burst waits for may be a parity program.
#[test]
fn a_burst_ends_behind_parity() {
    let line = "device.kind=\"ssd\"; device.channels=1; device.packages_per_channel=1; device.dies_per_package=1; \
                device.planes_per_die=2; device.blocks_per_plane=8; device.pages_per_block=8; \
                device.page_size=\"4KiB\"; device.spare_factor=0.5; device.host_link.queue_depth=1; \
                device.firmware.write=\"1ms\"; device.buffer.linger=\"1ms\"; device.buffer.size=\"1MiB\"; \
                device.parity.of=4; device.cleaning.pace=\"burst\"; device.timing.program=\"1.5ms\"; \
                workload.kind=\"open\"; workload.read_share=0.2; workload.requests=500";
    let outcome = outcome(&Config::from_line(line));
    assert!(matches!(outcome, Outcome::Results(_)), "{outcome:?}");
}

/// A burst holds back programs of the host. If all superseded pages lie in blocks with held
/// programs, garbage collection gains nothing, and the write that waits for it must end the burst.
#[test]
fn a_buffer_of_most_of_the_spare_space_does_not_stand_still() {
    // At least ten times the drive's content.
    let requests = depth(20_000, 20_000, 100_000);
    let small = format!(
        "device.kind=\"ssd\"; device.channels=1; device.planes_per_die=6; \
         device.blocks_per_plane=16; device.pages_per_block=12; device.over_provisioning=0.28; \
         device.cleaning.pace=\"burst\"; workload.kind=\"closed\"; workload.read_share=0.0; \
         workload.requests={requests}"
    );
    for buffer in ["device.buffer.size=\"6MiB\"", "device.buffer.size=\"8MiB\""] {
        let outcome = outcome(&Config::from_line(&format!("{small}; {buffer}")));
        assert!(matches!(outcome, Outcome::Results(_)), "{buffer}: {outcome:?}");
    }
    // With two-pass programming, programs also wait for later ones, so a buffer beyond the spare
    // space is refused at every pace; the largest accepted buffer runs.
    let small = format!("{small}; device.cell.program=\"two-pass\"; device.cell.distance=1");
    let of = |buffer: u64, more: &str| {
        let mut config = Config::from_line(&small);
        config.set("device.buffer.size", format!("\"{buffer}B\""));
        if let Some((key, value)) = more.split_once('=') {
            config.set(key, value);
        }
        outcome(&config)
    };
    let Outcome::Refused(problem) = of(5 << 20, "") else {
        panic!("the buffer is larger than the spare space")
    };
    assert!(problem.contains("device.buffer.size") && problem.contains("use at most"), "{problem}");
    let largest = problem.split("use at most ").nth(1).unwrap().split(',').next().unwrap();
    let largest = largest.parse::<options::Size>().unwrap().bytes();
    for pace in ["burst", "token", "adaptive"] {
        let of = |buffer: u64| of(buffer, &format!("device.cleaning.pace=\"{pace}\""));
        for buffer in [largest, 144 << 10] {
            assert!(matches!(of(buffer), Outcome::Results(_)), "{pace}: {buffer}");
        }
        assert!(matches!(of(largest + 4096), Outcome::Refused(_)), "{pace}: {largest}");
    }
}

/// A write that finds its unit full while the array holds back garbage collection has no
/// alternative if a pool is a single unit.
#[test]
fn members_whose_turns_of_cleaning_are_held_take_writes_without_room() {
    let line = "device.kind=\"array\"; device.member.kind=\"ssd\"; device.member.packages_per_channel=1; \
                device.member.dies_per_package=1; device.member.blocks_per_plane=4; \
                device.member.page_size=\"4KiB\"; device.member.over_provisioning=2.0; \
                workload.kind=\"open\"; workload.read_share=0.0; device.cleaning_together=\"staggered\"; \
                device.redundancy=\"parity-disk\"; device.members=6; device.member.channels=2; \
                device.member.planes_per_die=2; device.member.pages_per_block=4; workload.requests=100";
    let outcome = outcome(&Config::from_line(line));
    assert!(matches!(outcome, Outcome::Results(_)), "{outcome:?}");
}

/// Untimed preparation leaves an array's logs in the state in which a restored array's logs start.
#[test]
fn an_array_with_a_log_that_is_saved_goes_on_as_if_it_were_not() {
    for hole in ["journal", "partial-parity"] {
        let line = format!(
            "device.kind=\"array\"; device.member.kind=\"ssd\"; device.member.channels=2; \
             device.member.packages_per_channel=2; device.member.planes_per_die=1; \
             device.member.pages_per_block=8; device.member.page_size=\"4KiB\"; workload.kind=\"open\"; \
             workload.read_share=0.2; run.precondition=\"steady\"; device.redundancy=\"parity\"; \
             device.members=4; device.hole=\"{hole}\"; workload.requests=1; \
             device.member.dies_per_package=2; device.member.blocks_per_plane=8"
        );
        let verdict = judge(&Config::from_line(&line));
        assert_eq!(verdict, Verdict::Holds, "{hole}");
    }
}

/// Each law on a single run detects manipulated results; rows are position, value and law.
#[test]
fn the_laws_notice_what_is_wrong() {
    let mut config = Config::default();
    let keys = [
        ("device.kind", "\"ssd\""),
        ("device.channels", "2"),
        ("device.blocks_per_plane", "16"),
        ("device.pages_per_block", "8"),
        ("device.spare_factor", "0.3"),
        ("workload.kind", "\"closed\""),
        ("workload.requests", "3000"),
        ("workload.outstanding", "1"),
        ("workload.read_share", "0.2"),
        ("device.energy.read", "\"25mA\""),
    ];
    for (key, value) in keys {
        config.set(key, value);
    }
    let Outcome::Results(sound) = outcome(&config) else { panic!("{config} runs") };
    let wrong = [
        ("/host/write/breakdown_us/cell", json!(1.0), "the breakdown adds up to the latency"),
        ("/host/read/min_us", json!(1e9), "the breakdown adds up to the latency"),
        ("/flash/page_programs", json!(1), "programs = host + moved + migrated"),
        ("/flash/pages_moved", json!(0), "programs = host + moved + migrated"),
        ("/units/1/busy", json!(1.001), "busy is a share"),
        ("/buses/busy", json!([0.5, 9.0]), "busy is a share"),
        ("/flash/pages_moved", json!(-1), "nothing is below 0 but what says so"),
        ("/host/read/std_us", json!(-0.5), "nothing is below 0 but what says so"),
        ("/flash/write_amplification", json!(0.99), "amplification is at least 1 without trims"),
        ("/flash/cleaning/efficiency", json!(-0.1), "cleaning efficiency is a share"),
        ("/host/all/requests", json!(2999), "requests asked = answered + refused"),
        ("/wear/refused_pages", json!(1), "a refused write is not a success"),
        ("/time_series/requests", json!([2999]), "the timeline adds up to the results"),
        ("/time_series/blocks_erased", json!([1]), "the timeline adds up to the results"),
        (
            "/wear/lifetime/spare_gone",
            json!({"host_bytes": 1e12}),
            "lifetimes are of bytes that were written",
        ),
        ("/wear/lifetime/host_bytes", json!(1e12), "lifetimes are of bytes that were written"),
        ("/energy/parts/bus", json!(1.0), "energy adds up"),
        ("/time_series/watts", json!([1e9]), "energy adds up"),
        ("/simulated_seconds", json!(1.0), "a lone request's time adds up"),
        ("/wear/mean_erases", json!(0.001), "wear agrees with the erasures"),
        ("/health/critical_warning", json!(8), "health agrees with wear"),
        ("/health/available_spare", json!(9), "health agrees with wear"),
        ("/health/percentage_used", json!(1), "health agrees with wear"),
        ("/health/data_units_written", json!(1), "health agrees with wear"),
        ("/host/all/mean_us", json!(1.0), "the same bits twice"),
        ("/flash/host_pages_written", json!(1), "timed and untimed agree"),
        ("/host/all/max_us", json!(1.0), "twice the times, twice the latencies"),
        ("/flash/block_erases", json!(1), "one drive = an array of one"),
    ];
    assert_eq!(broken_laws(&config, &sound), Vec::<&str>::new());
    for (path, value, law) in wrong {
        let mut results = sound.clone();
        *results.pointer_mut(path).unwrap_or_else(|| panic!("{path} is in the results")) = value;
        assert!(broken_laws(&config, &results).contains(&law), "{path}: {law}");
    }
}

fn broken_laws(config: &Config, results: &Value) -> Vec<&'static str> {
    let case = Case { config, results };
    let broken = LAWS.iter().filter(|(_, holds)| holds(&case).is_err());
    broken.map(|(law, _)| *law).collect()
}
