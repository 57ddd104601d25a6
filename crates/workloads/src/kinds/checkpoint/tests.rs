//! Closed-form checks of checkpoints, without a device.

use super::super::tests::{assert_refused, build};
use crate::chains::tests::{Asked, against};
use engine::{Op, Request, Time};

const SMALL: &str = "ranks = 4\nrank_size = '8MiB'\nfiles = 2\n";

/// Service times: 1 us per block of a read or write, 3 us for a flush, 1 us for a trim.
fn takes(request: &Request) -> Time {
    match request.op {
        Op::Flush => 3000,
        Op::Trim => 1000,
        _ => 1000 * u64::from(request.sectors) / 8,
    }
}

/// The requests of a config against this device.
fn asked(text: &str) -> (Vec<Asked>, Vec<(&'static str, u64)>) {
    let mut workload = build("checkpoint", &format!("{SMALL}{text}")).unwrap();
    (against(&mut *workload, usize::MAX, takes), workload.notices())
}

fn bytes(asked: &[Asked], op: Op) -> u64 {
    asked.iter().filter(|it| it.request.op == op).map(|it| it.request.bytes()).sum()
}

fn notice(notices: &[(&'static str, u64)], name: &str) -> u64 {
    notices.iter().find(|(it, _)| *it == name).unwrap().1
}

#[test]
fn the_burst_is_that_of_all_ranks_and_the_mean_gap_is_the_period() {
    let (asked, notices) = asked("period = '10ms'\ncheckpoints = 7");
    // 4 ranks write 8 MiB each, seven times; all but the last two checkpoints are trimmed.
    assert_eq!(bytes(&asked, Op::Write), 7 * (32 << 20));
    assert_eq!(bytes(&asked, Op::Trim), 5 * (32 << 20));
    assert_eq!(asked.iter().filter(|it| it.request.op == Op::Flush).count(), 7 * 8);
    assert!(
        asked.iter().filter(|it| it.request.op == Op::Write).all(|it| it.request.sectors == 2048)
    );
    for checkpoint in 0..7 {
        let begin = checkpoint * 10_000_000;
        let burst: Vec<&Asked> =
            asked.iter().filter(|it| it.at >= begin && it.at < begin + 10_000_000).collect();
        // Eight consecutive requests per rank, and two flushes.
        let writes = || burst.iter().filter(|it| it.request.op == Op::Write);
        assert_eq!((writes().count(), writes().map(|it| it.at).min()), (32, Some(begin)));
        let end = burst.iter().filter(|it| it.request.op != Op::Trim).map(|it| it.end).max();
        assert_eq!(end, Some(begin + 8 * 256_000 + 2 * 3000));
    }
    assert_eq!(notice(&notices, "checkpoints"), 7);
    assert_eq!(notice(&notices, "checkpoint_period_ns"), 10_000_000);
    assert_eq!(notice(&notices, "slowest_checkpoint_ns"), 2_054_000);
    assert_eq!(notice(&notices, "checkpoints_ns"), 7 * 2_054_000);
}

#[test]
fn without_a_period_it_is_that_of_young() {
    // C = 2.054 ms and M = 1 s: sqrt(2 C M) = 64.09 ms; the lost share at the optimum is sqrt(2
    // C/M) = 6.4 %.
    let (_, notices) = asked("mtbf = '1s'\ncheckpoints = 5");
    let period = notice(&notices, "checkpoint_period_ns") as f64;
    let expected = (2.0 * 2.054e-3_f64).sqrt() * 1e9;
    assert!((period / expected - 1.0).abs() < 1e-6, "{period} {expected}");
    // Published example: 5.29 TB at 100 GB/s and M = 3 h give a period of 1069 s, with 9.9 % lost.
    let (c, m) = (52.9_f64, 10_800.0);
    let t = (2.0 * c * m).sqrt();
    assert!((t - 1069.0).abs() < 1.0 && (c / t + t / (2.0 * m) - 0.099).abs() < 5e-4);
}

#[test]
fn no_rank_goes_on_before_the_barrier_and_no_address_is_used_before_its_trim_is_answered() {
    // Ranks with different speeds: requests for the second file of a rank are slow.
    let mut workload =
        build("checkpoint", &format!("{SMALL}period = '1ns'\ncheckpoints = 6")).unwrap();
    let mut number = 0u64;
    let takes = |_: &Request| {
        number += 1;
        1000 + number * 7919 % 5000
    };
    let asked = against(&mut *workload, usize::MAX, takes);
    let mut trimmed = 0;
    for (at, trim) in asked.iter().enumerate().filter(|(_, it)| it.request.op == Op::Trim) {
        trimmed += 1;
        // During a trim only other trims are in progress; writes to its range follow its
        // completion.
        assert!(asked[..at].iter().all(|it| it.request.op == Op::Trim || it.end <= trim.at));
        assert!(asked[at..].iter().all(|it| it.request.op == Op::Trim || it.at >= trim.end));
    }
    assert!(trimmed >= 4);
    // Every write targets free addresses.
    let mut holds = vec![false; 1 << 18];
    for it in &asked {
        for block in it.blocks() {
            match it.request.op {
                Op::Write => assert!(!std::mem::replace(&mut holds[block as usize], true)),
                Op::Trim => assert!(std::mem::replace(&mut holds[block as usize], false)),
                _ => {}
            }
        }
    }
}

#[test]
fn a_file_is_flushed_before_the_next_begins() {
    let (asked, _) = asked("checkpoints = 1\nperiod = '1s'\noutstanding = 4");
    for (at, flush) in asked.iter().enumerate().filter(|(_, it)| it.request.op == Op::Flush) {
        // A flush follows the completions of its file: at that time the rank has no requests in
        // flight.
        let under_way = asked[..at].iter().filter(|it| it.end > flush.at).count();
        assert!(under_way <= 3 * 4, "{under_way}");
    }
    let (without, _) = self::asked("checkpoints = 1\nperiod = '1s'\nfsync = false");
    assert!(without.iter().all(|it| it.request.op == Op::Write));
    assert_eq!(bytes(&without, Op::Write), bytes(&asked, Op::Write));
}

#[test]
fn a_restart_reads_what_the_newest_checkpoint_wrote() {
    let (asked, notices) = asked("checkpoints = 3\nperiod = '10ms'\nrestarts = 2");
    let blocks = |from: usize, op: Op| {
        let of = asked[from..].iter().filter(|it| it.request.op == op);
        let mut blocks: Vec<u64> = of.flat_map(Asked::blocks).collect();
        blocks.sort_unstable();
        blocks
    };
    let newest = asked.iter().position(|it| it.at >= 20_000_000).unwrap();
    let written = blocks(newest, Op::Write);
    let read = blocks(0, Op::Read);
    assert_eq!(read.len(), 2 * written.len());
    assert_eq!(read.iter().step_by(2).copied().collect::<Vec<_>>(), written);
    assert_eq!(notice(&notices, "restarts"), 2);
}

#[test]
fn models_have_the_sizes_of_the_benchmark() {
    for (model, bytes, ranks) in [
        ("llama-8b", 105e9, 8.0),
        ("llama-70b", 912e9, 64.0),
        ("llama-405b", 5.29e12, 512.0),
        ("llama-1t", 18e12, 1024.0),
    ] {
        // Bytes per rank: 13.1, 14.3, 10.3 and 17.6 GB.
        let options = super::Checkpoint {
            model: toml::Value::String(model.to_owned()).try_into().unwrap(),
            ..Default::default()
        };
        let rank = options.file_bytes() as f64 * 2.0;
        assert!((rank * ranks / bytes - 1.0).abs() < 1e-5, "{model}: {rank}");
    }
    // Such a checkpoint exceeds a device of 1 GiB.
    assert_refused(
        "checkpoint",
        "",
        "workload.rank_size",
        "3 checkpoints of 102539072KiB from 8 ranks do not fit",
    );
}

#[test]
fn every_option_changes_the_requests() {
    let base = asked("");
    for text in [
        "requests = 5",
        "ranks = 5",
        "rank_size = '9MiB'",
        "files = 3",
        "request_size = '512KiB'",
        "outstanding = 2",
        "fsync = false",
        "checkpoints = 11",
        "keep = 3",
        "period = '1s'",
        "mtbf = '1s'",
        "restarts = 1",
        "trim = false",
        "placement = 'checkpoint'",
        "footprint = '96MiB'",
    ] {
        let own: toml::Table = toml::from_str(text).unwrap();
        let key = own.keys().next().unwrap();
        let kept: Vec<&str> = SMALL.lines().filter(|line| !line.starts_with(key)).collect();
        let text = format!("{}\n{text}", kept.join("\n"));
        let built = build("checkpoint", &text);
        if key == "footprint" {
            assert!(built.is_ok(), "it just fits");
            continue;
        }
        assert_ne!(against(&mut *built.unwrap(), usize::MAX, takes), base.0, "{text}");
    }
    assert_refused(
        "checkpoint",
        &format!("{SMALL}footprint = '95MiB'"),
        "workload.rank_size",
        "do not fit into 95MiB",
    );
    let names = |text: &str| -> Vec<Option<u8>> {
        let writes = asked(text).0.into_iter().filter(|it| it.request.op == Op::Write);
        let mut names: Vec<_> = writes.map(|it| it.request.handle.number()).collect();
        names.dedup();
        names
    };
    assert_eq!(names(""), [None]);
    let slots = "placement = 'checkpoint'\ncheckpoints = 5";
    assert_eq!(names(slots), [Some(0), Some(1), Some(2), Some(0), Some(1)]);
}

#[test]
fn impossible_settings_are_refused() {
    for (text, key, problem) in [
        ("requests = 0", "workload.requests", "at least 1"),
        ("outstanding = 0", "workload.outstanding", "at least 1"),
        ("checkpoints = 0", "workload.checkpoints", "at least 1"),
        ("keep = 0", "workload.keep", "0 is not possible"),
        ("request_size = '6KiB'", "workload.request_size", "no multiple of 4KiB"),
    ] {
        assert_refused("checkpoint", &format!("{SMALL}{text}"), key, problem);
    }
    assert_refused("checkpoint", "ranks = 0", "workload.ranks", "0 is not possible");
    assert_refused("checkpoint", "files = 0", "workload.files", "0 is not possible");
}
