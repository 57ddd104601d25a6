//! Closed-form checks of the tree, without a device.

#![expect(clippy::float_cmp, reason = "counts are whole numbers")]

use super::super::tests::{assert_refused, build};
use super::tree::{LAST, Shape, Tree};
use crate::chains::tests::{Asked, against};
use engine::{Op, Request, Time};

/// 256 MiB of data in files of 1 MiB: base level of 4 MiB and fan-out 4, so three levels below the
/// base.
const SMALL: &str = "data = '256MiB'\nmemtable = '1MiB'\nl1 = '4MiB'\nfile = '1MiB'\nfan_out = 4\nbuffer = '256KiB'\n";

/// Flushes are slow, so merges keep up with the writer.
fn takes(request: &Request) -> Time {
    if request.op == Op::Flush { 3_000_000 } else { 1000 + u64::from(request.sectors) * 10 }
}

/// Requests and notices of a config whose keys replace those of the base.
fn run(text: &str) -> (Vec<Asked>, impl Fn(&str) -> f64 + use<>) {
    let own: toml::Table = toml::from_str(text).unwrap();
    let kept = SMALL.lines().filter(|line| !own.contains_key(line.split(' ').next().unwrap()));
    let text = format!("{}\n{text}", kept.collect::<Vec<_>>().join("\n"));
    let mut workload = build("lsm", &text).unwrap();
    let asked = against(&mut *workload, usize::MAX, takes);
    let notices = workload.notices();
    (asked, move |name: &str| notices.iter().find(|(it, _)| *it == name).unwrap().1 as f64)
}

fn asked(text: &str) -> Vec<Asked> {
    run(text).0
}

/// Bytes written to the device per byte written by the user, excluding the load.
fn amplification(count: &impl Fn(&str) -> f64) -> f64 {
    let written = ["lsm_logged_bytes", "lsm_flushed_bytes", "lsm_merged_bytes"].map(count);
    written.iter().sum::<f64>() / count("lsm_user_bytes")
}

#[test]
fn write_amplification_lies_between_the_bounds_of_leveled_merging() {
    for (fan_out, l1, levels) in [(4.0, "4MiB", 3.0), (8.0, "4MiB", 2.0), (10.0, "26MiB", 1.0)] {
        let text =
            format!("fan_out = {fan_out}\nl1 = '{l1}'\nrequests = 400000\nrequest_size = '256KiB'");
        let (_, count) = run(&text);
        assert!(count("lsm_user_bytes") > 1e9, "{}", count("lsm_user_bytes"));
        let found = amplification(&count);
        let (least, most) = (levels * (fan_out / 2.0 + 1.0) + 2.0, levels * (fan_out + 1.0) + 4.0);
        assert!((least..=most).contains(&found), "{fan_out}: {found} not in {least} to {most}");
        assert_eq!(count("lsm_out_of_space"), 0.0);
    }
}

#[test]
fn keys_in_order_are_written_twice() {
    let (asked, count) = run("keys = 'sequential'\nrequests = 60000");
    let found = amplification(&count);
    assert!((found - 2.0).abs() < 0.01, "{found}");
    assert_eq!((count("lsm_merged_bytes"), count("lsm_merge_read_bytes")), (0.0, 0.0));
    // Without a log, each byte is written once.
    let (_, count) = run("keys = 'sequential'\nlog = false\nrequests = 20000");
    assert!((amplification(&count) - 1.0).abs() < 0.01);
    assert!(asked.iter().any(|it| it.request.op == Op::Trim));
}

#[test]
fn levels_grow_by_the_fan_out_and_take_a_ninth_more_space_than_the_data() {
    let shape = Shape { fan_out: 10.0, l1: 256.0, l0_files: 4, file: 64.0, overwrites: 1.0 };
    // In units of 1 MiB: 1 TiB has four levels below a base of 105 MiB.
    let tree = Tree::new(shape, f64::from(1 << 20));
    let (base, targets) = tree.targets(f64::from(1 << 20));
    assert_eq!((base, LAST - base), (2, 4));
    assert!((targets[2] - 104.8576).abs() < 1e-6);
    let space: f64 = targets[base..].iter().sum::<f64>() / f64::from(1 << 20);
    assert!(space <= 1.0 / (1.0 - 0.1) && space > 1.11, "{space}");
}

#[test]
fn the_levels_stay_at_their_targets_and_no_keys_are_lost() {
    let shape = Shape { fan_out: 4.0, l1: 4e6, l0_files: 4, file: 1e6, overwrites: 1.0 };
    let mut tree = Tree::new(shape, 256e6);
    for (level, keys, bytes) in tree.settled() {
        tree.insert(level, keys, bytes, Vec::new());
    }
    for _ in 0..2000 {
        tree.flushed(1e6, Vec::new());
        while let Some(merge) = tree.next_merge() {
            let places = vec![Vec::new(); merge.files.len()];
            tree.merged_into(&merge, places);
        }
        let (base, targets) = tree.targets(tree.bytes(LAST));
        for (level, target) in targets.iter().enumerate().take(LAST + 1).skip(base) {
            let files = tree.files(level);
            assert!(files.windows(2).all(|two| two[0].keys.end <= two[1].keys.start + 1e-12));
            assert!(tree.bytes(level) <= target * 1.3 + 8e6, "level {level}");
        }
    }
    // The last level contains every key once.
    assert!((tree.bytes(LAST) / 256e6 - 1.0).abs() < 0.01, "{}", tree.bytes(LAST));
}

/// Lifetimes of pages by handle: bytes written by the user between a page's write and its trim.
fn lives(asked: &[Asked]) -> Vec<Vec<u64>> {
    let mut lives = vec![Vec::new(); 8];
    let mut born = vec![None; 1 << 18];
    let mut logged = 0;
    for it in asked {
        for block in it.blocks() {
            match it.request.op {
                Op::Write => {
                    let handle = it.request.handle.number().unwrap();
                    logged += u64::from(handle == 0);
                    let before = born[block as usize].replace((handle, logged));
                    assert!(
                        before.is_none(),
                        "a file is written once, and trimmed before its place is used again"
                    );
                }
                Op::Trim => {
                    let (handle, at) = born[block as usize].take().expect("it was written");
                    lives[usize::from(handle)].push(logged - at);
                }
                _ => assert!(born[block as usize].is_some(), "it was never written"),
            }
        }
    }
    lives
}

#[test]
fn files_live_longer_by_the_fan_out_from_level_to_level() {
    let asked = asked("placement = 'level'\nrequests = 500000");
    let lives = lives(&asked);
    let median = |handle: usize| {
        let mut own = lives[handle].clone();
        own.sort_unstable();
        own[own.len() / 2] as f64
    };
    // The log lives until its memtable of 256 blocks is flushed; level 0 for four memtables.
    assert!((64.0..=2.0 * 256.0).contains(&median(0)), "{}", median(0));
    assert!((256.0..=8.0 * 256.0).contains(&median(1)), "{}", median(1));
    // Levels 3 to 5 have 4, 16 and 64 MiB; their files live for about as many bytes of user writes.
    let below: Vec<f64> = (4..=6).map(median).collect();
    for pair in below.windows(2) {
        assert!((1.5..=8.0).contains(&(pair[1] / pair[0])), "{below:?}");
    }
}

#[test]
fn every_byte_that_is_deleted_is_trimmed() {
    let asked = asked("placement = 'level'\nrequests = 200000");
    let bytes = |op: Op| -> u64 {
        asked.iter().filter(|it| it.request.op == op).map(|it| it.request.bytes()).sum()
    };
    // At the end the live data are the tree's data plus a third, and merges in progress.
    let living = bytes(Op::Write) - bytes(Op::Trim);
    assert!((300e6..420e6).contains(&(living as f64)), "{living}");
    lives(&asked);
    assert!(self::asked("trim = false").iter().all(|it| it.request.op != Op::Trim));
}

#[test]
fn an_append_is_durable_before_the_next_and_a_file_before_its_log_is_deleted() {
    let asked = asked("requests = 100000\nplacement = 'level'\noutstanding = 1");
    let logs = asked.iter().filter(|it| it.request.handle.number() == Some(0)).collect::<Vec<_>>();
    let flushes: Vec<&Asked> = asked.iter().filter(|it| it.request.op == Op::Flush).collect();
    for pair in logs.windows(2) {
        let between = flushes.iter().any(|it| it.at >= pair[0].end && it.end <= pair[1].at);
        assert!(between, "{pair:?}");
    }
}

#[test]
fn hints_are_by_level_and_shifted_ones_two_levels_below() {
    let handles = |text: &str| {
        let asked = asked(&format!("requests = 100000\n{text}"));
        let mut met: Vec<_> = asked.iter().filter_map(|it| it.request.handle.number()).collect();
        met.sort_unstable();
        met.dedup();
        met
    };
    // Levels 0, 3, 4, 5 and 6 are used.
    assert_eq!(handles(""), Vec::<u8>::new());
    assert_eq!(handles("placement = 'hints'"), [0, 1, 3]);
    assert_eq!(handles("placement = 'shifted'"), [0, 1, 2, 3]);
    assert_eq!(handles("placement = 'level'"), [0, 1, 4, 5, 6, 7]);
}

#[test]
fn every_option_changes_the_requests_or_what_is_counted() {
    let full = |text: &str| {
        let (asked, count) = run(text);
        (asked, count("lsm_values") as u64)
    };
    let base = full("requests = 50000");
    for text in [
        "requests = 40000",
        "outstanding = 2",
        "data = '200MiB'",
        "memtable = '2MiB'",
        "l0_files = 3",
        "fan_out = 5",
        "l1 = '16MiB'",
        "file = '2MiB'",
        "value = '100B'",
        "keys = 'sequential'",
        "overwrites = 0.5",
        "compression = 0.5",
        "merges = 2",
        "buffer = '512KiB'",
        "request_size = '64KiB'",
        "log = false",
        "append = '32KiB'",
        "sync = false",
        "load = false",
        "trim = false",
        "placement = 'hints'",
    ] {
        let requests = if text.starts_with("requests") { "" } else { "\nrequests = 50000" };
        assert!(full(&format!("{text}{requests}")) != base, "{text}");
    }
    assert!(full("requests = 50000") == base);
}

#[test]
fn a_tree_that_grows_ends_when_there_is_no_room() {
    let text = "overwrites = 0.0\nfootprint = '600MiB'\nrequests = 5000000";
    let (asked, count) = run(text);
    assert_eq!(count("lsm_out_of_space"), 1.0);
    assert!(asked.iter().all(|it| it.blocks().end <= 600 << 8));
}

#[test]
fn impossible_settings_are_refused() {
    for (text, key, problem) in [
        ("requests = 0", "workload.requests", "at least 1"),
        ("fan_out = 1", "workload.fan_out", "1 is not possible; it must be from 2 to 1000"),
        ("compression = 0", "workload.compression", "0 is not a share above 0"),
        ("merges = 0", "workload.merges", "0 is not possible"),
        ("append = '5000B'", "workload.append", "no multiple of 4KiB"),
        ("data = '0.9'", "workload.data", "a tree of 0.9 needs up to"),
    ] {
        assert_refused("lsm", text, key, problem);
    }
}
