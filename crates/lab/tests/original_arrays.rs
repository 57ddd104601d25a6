//! Does an array ask its members what the original simulator's arrays ask their disks?
//!
//! Its runs of a recorded stream on arrays of disks lie in `../shared`, so this is ignored unless asked
//! for, like `original_simulator.rs`. What each disk is asked follows from layout and rule of writing
//! alone, whatever the disks are: here they are laws of service times.

use crate::common::{audited, experiment, outcome};
use serde_json::Value;

fn shared(path: &str) -> String {
    format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/disks/{}"), path)
}

#[expect(clippy::disallowed_methods, reason = "a test reads its data")]
fn original(run: &str) -> Vec<u64> {
    let text =
        std::fs::read_to_string(shared("raid_results.json")).expect("results to compare with");
    let all: Value = serde_json::from_str(&text).unwrap();
    let disks = all[run]["per_disk"].as_array().unwrap();
    disks.iter().map(|it| it.as_u64().unwrap()).collect()
}

/// Requests of each member, of the stream on so many disks of 2,056,192 sectors.
fn asked(trace: &str, members: u32, keys: &str) -> Vec<u64> {
    let text = format!(
        "[device]\nkind = 'array'\nmembers = {members}\n{keys}\n\
         [device.member]\nkind = 'linear'\nsize = '1052770304B'\n\
         [workload]\nkind = 'trace'\npath = '{}'\nformat = 'disksim'\n",
        shared(trace)
    );
    let experiment = experiment::<&str>(&[&text], &[]).unwrap();
    let results = outcome(&experiment, &audited()).unwrap();
    let disks = results["array"]["member_requests"].as_array().unwrap();
    disks.iter().map(|it| it.as_u64().unwrap()).collect()
}

/// The original leaves out the requests that are outstanding at the end of its run. Where a write ends in
/// one chunk and goes on at the beginning of the next, it asks for two ranges of parity, and we for one.
fn agree(found: &[u64], run: &str, share_of_parity: impl Fn(usize) -> f64) {
    let expected = original(run);
    println!("{run}: {found:?} for {expected:?}");
    for (disk, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let most = 2.0 + 0.013 * share_of_parity(disk) * *expected as f64;
        let off = found.abs_diff(*expected) as f64;
        assert!(off <= most, "{run}: {found} for {expected}");
    }
}

#[test]
#[ignore = "needs ../shared/disks"]
fn each_disk_is_asked_as_often_as_in_the_original() {
    let nine = |keys: &str| asked("raid.trace.zst", 9, keys);
    let parity = "redundancy = 'parity'\nstripe = '32KiB'";
    agree(&nine(parity), "parity_left_symmetric_fcfs", |_| 0.6);
    agree(&nine(&format!("{parity}\nwrites_together = true")), "parity_sync_clook_lbn", |_| 0.6);
    let large = "redundancy = 'parity'\nstripe = '128KiB'";
    agree(&nine(large), "parity_unit256_clook_lbn", |_| 0.6);
    let last = |disk| f64::from(u8::from(disk == 8));
    agree(&nine("redundancy = 'parity-disk'\nstripe = '32KiB'"), "parity_disk_clook_lbn", last);
    let mirror = "redundancy = 'mirror'\nstripe = '32KiB'\nread_copy = 'primary'";
    let found = asked("raid_half.trace.zst", 8, mirror);
    // Copies lie side by side here, and in the other half of the disks there.
    let of_copy = |copy: usize| found.iter().skip(copy).step_by(2).copied();
    let found: Vec<u64> = of_copy(0).chain(of_copy(1)).collect();
    agree(&found, "mirror_primary_fcfs", |_| 0.0);
}

/// The stream on drives of the original's kind, with its host's order in them.
fn times(trace: &str, members: u32, keys: &str, order: &str) -> (f64, Vec<u64>) {
    let text = format!(
        "[device]\nkind = 'array'\nmembers = {members}\nstripe = '32KiB'\n{keys}\n\
         [device.member]\npreset = 'hp-c3323a'\nscheduler = '{order}'\nqueue_depth = 'unlimited'\n\
         [workload]\nkind = 'trace'\npath = '{}'\nformat = 'disksim'\n",
        shared(trace)
    );
    let experiment = experiment::<&str>(&[&text], &[]).unwrap();
    let results = outcome(&experiment, &audited()).unwrap();
    println!("{}", results["disk"]);
    println!("{}", results["latency"]["all"]);
    (results["latency"]["all"]["mean_us"].as_f64().unwrap() / 1e3, Vec::new())
}

#[test]
#[ignore = "needs ../shared/disks"]
fn mean_responses_are_those_of_the_original() {
    let of = |run: &str| {
        let text = std::fs::read_to_string(shared("raid_results.json")).unwrap();
        let all: Value = serde_json::from_str(&text).unwrap();
        (all[run]["mean_ms"].as_f64().unwrap(), all[run]["disk_mean_ms"].as_f64().unwrap())
    };
    for (run, trace, members, keys, order) in [
        ("none_fcfs", "raid.trace.zst", 9, "", "fcfs"),
        ("none_clook_lbn", "raid.trace.zst", 9, "", "c-look"),
        ("none_sstf_lbn", "raid.trace.zst", 9, "", "sstf"),
        ("parity_left_symmetric_fcfs", "raid.trace.zst", 9, "redundancy = 'parity'", "fcfs"),
        ("parity_left_symmetric_clook_lbn", "raid.trace.zst", 9, "redundancy = 'parity'", "c-look"),
        ("parity_sync_clook_lbn", "raid.trace.zst", 9, "redundancy = 'parity'\nwrites_together = true", "c-look"),
        ("parity_disk_clook_lbn", "raid.trace.zst", 9, "redundancy = 'parity-disk'", "c-look"),
        ("mirror_primary_clook_lbn", "raid_half.trace.zst", 8, "redundancy = 'mirror'\nread_copy = 'primary'", "c-look"),
        ("mirror_primary_fcfs", "raid_half.trace.zst", 8, "redundancy = 'mirror'\nread_copy = 'primary'", "fcfs"),
        ("mirror_random_clook_lbn", "raid_half.trace.zst", 8, "redundancy = 'mirror'\nread_copy = 'random'", "c-look"),
        ("mirror_shortest_seek_clook_lbn", "raid_half.trace.zst", 8, "redundancy = 'mirror'\nread_copy = 'nearest'", "c-look"),
        ("mirror_queue_then_seek_clook_lbn", "raid_half.trace.zst", 8, "redundancy = 'mirror'\nread_copy = 'shortest-queue'", "c-look"),
        ("none_half_clook_lbn", "raid_half.trace.zst", 9, "", "c-look"),
    ] {
        let (mean, disk) = of(run);
        let found = times(trace, members, keys, order).0;
        println!("{run}: {found:.3} for {mean:.3}, {:+.1} %; disks {disk}", (found / mean - 1.0) * 100.0);
    }
}
