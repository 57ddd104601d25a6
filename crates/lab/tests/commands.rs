//! NVMe commands and namespaces in runs: from traces, fio jobs and mixes, timed and untimed.

use crate::common::{audited, experiment, outcome};
use crate::depth::depth;
use crate::net::dice::Dice;
use lab::RunError;
use serde_json::Value;
use std::fmt::Write as _;

/// A small drive with a write buffer and 10 % spare space.
const DRIVE: &str = "
[device]
kind = 'ssd'
channels = 2
packages_per_channel = 1
dies_per_package = 2
planes_per_die = 2
blocks_per_plane = 24
pages_per_block = 12
page_size = '16KiB'
logical_page = '4KiB'
spare_factor = 0.3
cell.bits = 3
timing.program = '1.2ms'
buffer.size = '1MiB'
fill = 'full'
";

/// The results of a run, or its error.
fn run(texts: &[&str], sets: &[&str]) -> Result<Value, String> {
    match outcome(&experiment(texts, sets)?, &audited()) {
        Ok(results) => Ok(results),
        Err(RunError::Input(message)) => Err(message),
        Err(other) => panic!("{other:?}"),
    }
}

/// The results under a trace of these lines.
fn under(lines: &str, sets: &[&str]) -> Result<Value, String> {
    on(DRIVE, lines, sets)
}

/// `under` for another drive.
fn on(device: &str, lines: &str, sets: &[&str]) -> Result<Value, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("commands.csv");
    std::fs::write(&path, lines).unwrap();
    let workload = String::from(
        "[workload]\nkind = 'trace'\nformat = 'csv'\ncommands = true\n\
         columns = 'time=1:us,op=2,offset=3:sectors,size=4:sectors'\n",
    );
    // Named by the user, so that messages quote it.
    let named = format!("workload.path={:?}", path.display().to_string());
    run(&[device, &workload], &[sets, &[&named]].concat())
}

fn count(results: &Value, path: &str) -> u64 {
    results.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {results}"))
}

/// Lines of a trace, one millisecond apart.
fn lines(rows: &[(&str, u64, u32)]) -> String {
    rows.iter().enumerate().fold(String::new(), |mut text, (row, (op, sector, sectors))| {
        let _ = writeln!(text, "{},{op},{sector},{sectors}", row * 1000);
        text
    })
}

#[test]
fn each_command_of_a_trace_costs_what_its_steps_do() {
    let one = |rows: &[(&str, u64, u32)]| under(&lines(rows), &[]).unwrap();
    let write = one(&[("write", 0, 64)]);
    let read = one(&[("read", 0, 64)]);
    let mean = |results: &Value, op: &str| {
        results["host"][op]["mean_us"].as_f64().unwrap_or_else(|| panic!("{op}: {results}"))
    };
    let [read_us, write_us] = [mean(&read, "read"), mean(&write, "write")];
    for word in ["compare", "verify"] {
        let found = mean(&one(&[(word, 0, 64)]), word);
        assert!((found - read_us).abs() < 1e-9, "{word}: {found} {read_us}");
    }
    // The two operations run in sequence.
    let fused = one(&[("compare_write", 0, 16)]);
    let apart = [one(&[("read", 0, 16)]), one(&[("write", 0, 16)])];
    let both = mean(&apart[0], "read") + mean(&apart[1], "write");
    assert!((mean(&fused, "compare_write") - both).abs() < 0.01, "{both}");
    let copy = one(&[("range", 64, 64), ("copy", 0, 64)]);
    assert!((mean(&copy, "copy") - read_us - write_us).abs() < 0.01);
    // Copies are programmed; zeroed and mismatched data are not.
    let programmed = |results: &Value| count(results, "/flash/host_pages_written");
    assert_eq!(programmed(&copy), programmed(&write));
    assert_eq!(programmed(&fused), programmed(&apart[1]));
    for rows in [[("zeroes", 0, 64)], [("uncorrectable", 0, 64)]] {
        assert_eq!(programmed(&one(&rows)), 0, "{rows:?}");
    }
    assert_eq!(count(&copy, "/commands/copy/bytes"), 64 * 512);
    // Ranges are not counted as requests.
    assert_eq!((count(&copy, "/workload/asked"), count(&copy, "/host/all/requests")), (1, 1));
    let ranges = one(&[("range", 0, 8), ("range", 800, 8), ("trim", 80, 8)]);
    assert_eq!((count(&ranges, "/workload/asked"), count(&ranges, "/commands/ranges")), (1, 2));
}

#[test]
fn what_commands_end_with_has_its_code() {
    let results = under(
        &lines(&[
            ("miscompare", 0, 8),
            ("miscompare_write", 0, 8),
            ("compare_write", 0, 64),
            ("copy", 0, 8),
            ("range", 0, 2049),
            ("copy", 4096, 2049),
            ("uncorrectable", 0, 8),
            ("read", 0, 8),
            ("write", 0, 8),
            ("read", 0, 8),
        ]),
        &[],
    )
    .unwrap();
    let statuses = &results["commands"]["statuses"];
    let expected = serde_json::json!({"0/02h": 1, "0/14h": 1, "1/83h": 1, "2/85h": 2});
    assert_eq!(statuses, &expected);
    assert_eq!(count(&results, "/commands/compare/failed"), 2);
    assert_eq!(count(&results, "/host/read/failures/unreadable"), 1);
    assert_eq!(count(&results, "/host/read/requests"), 1);
    assert_eq!(count(&results, "/host/miscompare/failures/compare_failure"), 1);
    assert_eq!(count(&results, "/flash/host_pages_written"), 1);
}

#[test]
fn zeroes_spare_cleaning_what_writes_would_cost_it() {
    // Half of the drive is zeroed or written a second time, then the rest is overwritten at random.
    let streams = |first: &str| {
        format!(
            "[workload]\nkind = 'mix'\n\
             [[workload.streams]]\nkind = 'closed'\nrequests = 2000\nread_share = 0.0\n\
             locality = 'uniform'\nto = 0.5\ncommand = '{first}'\n\
             [[workload.streams]]\nkind = 'closed'\nrequests = 8000\nread_share = 0.0\nfrom = 0.5\n"
        )
    };
    let amplification = |first: &str| {
        let found = run(&[DRIVE, &streams(first)], &["run.precondition=\"random:1\""]).unwrap();
        found["flash"]["write_amplification"].as_f64().unwrap_or_else(|| panic!("{found}"))
    };
    let [written, zeroed] = ["none", "zeroes"].map(amplification);
    assert!(zeroed < 0.95 * written, "{zeroed} {written}");
}

#[test]
fn streams_of_a_mix_become_commands() {
    let rows = [
        ("zeroes", 0.0, "zeroes"),
        ("compare", 1.0, "compare"),
        ("miscompare", 1.0, "miscompare"),
        ("compare_write", 0.0, "compare_write"),
        ("miscompare_write", 0.0, "miscompare_write"),
        ("verify", 1.0, "verify"),
        ("uncorrectable", 0.0, "uncorrectable"),
        ("copy", 0.0, "copy"),
        ("fua", 0.0, "write"),
    ];
    for (command, reads, op) in rows {
        let mix = format!(
            "[workload]\nkind = 'mix'\n[[workload.streams]]\nkind = 'closed'\nrequests = 300\n\
             outstanding = 4\nread_share = {reads:?}\ncommand = '{command}'\nfrom = 0.5\n"
        );
        let results = run(&[DRIVE, &mix], &[]).unwrap();
        let host = &results["host"][op];
        let answered = host["requests"].as_u64().unwrap() + host["failed"].as_u64().unwrap();
        assert_eq!(answered, 300, "{command}");
        assert_eq!(count(&results, "/workload/asked"), 300, "{command}");
    }
    let wrong =
        "[workload]\nkind = 'mix'\n[[workload.streams]]\nkind = 'closed'\ncommand = 'zero'\n";
    let message = run(&[DRIVE, wrong], &[]).unwrap_err();
    assert!(message.contains("\"zero\" is not one of none, zeroes, compare"), "{message}");
}

#[test]
fn jobs_of_fio_send_commands() {
    let job = |keys: &str| {
        let text = format!("[j]\\nrw=randwrite\\nbs=4k\\nnumber_ios=200\\niodepth=4\\n{keys}");
        run(&[DRIVE], &["workload.kind=fio", &format!("workload.job=\"{text}\"")])
    };
    for (keys, op) in [
        ("write_mode=zeroes", "zeroes"),
        ("write_mode=uncor", "uncorrectable"),
        ("write_mode=verify", "verify"),
        ("write_mode=write", "write"),
    ] {
        let results = job(keys).unwrap();
        assert_eq!(count(&results, &format!("/host/{op}/requests")), 200, "{keys}");
    }
    let trims = job("rw=randtrim\\nnum_range=4").unwrap();
    assert_eq!(count(&trims, "/host/trim/requests"), 50);
    assert_eq!(count(&trims, "/commands/ranges"), 150);
    // A write with forced unit access waits for its program if the buffer is unprotected.
    let mean = |keys: &str| {
        let text = format!("[j]\\nrw=randwrite\\nbs=4k\\nnumber_ios=200\\n{keys}");
        let job = format!("workload.job=\"{text}\"");
        let unprotected = "device.buffer.power_loss_protected=false";
        let results = run(&[DRIVE], &["workload.kind=fio", &job, unprotected]).unwrap();
        results["host"]["write"]["mean_us"].as_f64().unwrap()
    };
    for forced in ["writefua=1", "sync=dsync", "sync=1"] {
        assert!(mean(forced) > 2.0 * mean("sync=0"), "{forced}");
    }
    for (keys, why) in [
        ("write_mode=zero", "it is one of write, uncor, zeroes, verify"),
        ("num_range=257", "a trim has at most 256 ranges"),
        ("sync=maybe", "it is one of none, sync, dsync, 0, 1"),
    ] {
        let message = job(keys).unwrap_err();
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn commands_that_nobody_asks_for_change_nothing() {
    let rows: Vec<_> = (0..400u64)
        .map(|n| (["read", "write", "trim", "flush"][n as usize % 4], n * 7919 % 3000 * 8, 8))
        .collect();
    let text = lines(&rows);
    let without = |sets: &[&str]| {
        let mut results = under(&text, sets).unwrap();
        let object = results.as_object_mut().unwrap();
        object.retain(|key, _| !["experiment", "elapsed", "commands"].contains(&key.as_str()));
        results
    };
    for timed in ["run.timed=true", "run.timed=false"] {
        let plain = without(&[timed, "workload.commands=false"]);
        assert_eq!(plain, without(&[timed]), "{timed}");
        assert_eq!(plain, without(&[timed, "run.namespaces=100%"]), "{timed}");
    }
}

/// A random trace of commands, each by itself or with its ranges.
fn drawn(dice: &mut Dice, rows: usize) -> String {
    let mut text = String::new();
    let words = [
        "write",
        "write",
        "read",
        "trim",
        "zeroes",
        "compare",
        "miscompare",
        "compare_write",
        "miscompare_write",
        "verify",
        "uncorrectable",
        "copy",
        "flush",
    ];
    for row in 0..rows {
        let (word, sectors) = (dice.pick(&words), dice.pick(&[1, 8, 8, 16]));
        let place = |dice: &mut Dice| dice.below(45_000);
        let at = row * 20;
        if word == "copy" || word == "trim" && dice.chance(0.3) {
            for _ in 0..2 {
                let _ = writeln!(text, "{at},range,{},{}", place(dice), sectors);
            }
        }
        let all = if word == "copy" { 2 * sectors } else { sectors };
        let _ = writeln!(text, "{at},{word},{},{all}", place(dice));
    }
    text
}

#[test]
fn random_commands_pass_the_audit_and_do_without_time_what_they_do_in_time() {
    for seed in 0..depth(2, 4, 60) {
        let mut dice = Dice::new(seed ^ 0xC0_11A2);
        let text = drawn(&mut dice, 1500);
        let space = dice.pick(&["100%", "50%, 20% thin 64KiB, 20%", "100% thin 1MiB"]);
        let namespaces = format!("run.namespaces={space}");
        let results = |timed: &str| under(&text, &[timed, &namespaces]).unwrap();
        let [timed, untimed] = ["run.timed=true", "run.timed=false"].map(results);
        assert_eq!(timed["commands"], untimed["commands"], "seed {seed}");
        let all = &timed["host"]["all"];
        let answered = all["requests"].as_u64().unwrap() + all["failed"].as_u64().unwrap();
        assert_eq!(count(&timed, "/workload/asked"), answered, "seed {seed}");
        for (op, host) in timed["host"].as_object().unwrap() {
            assert_eq!(host["requests"], untimed["host"][op]["requests"], "seed {seed}: {op}");
        }
    }
}

#[test]
fn a_power_cut_ends_commands_as_it_ends_requests() {
    let mut dice = Dice::new(5);
    let text = drawn(&mut dice, 1500);
    let results = under(
        &text,
        &[
            "run.power_cut=at 10ms",
            "device.persistence.recovery=spare",
            "run.power_off=1ms",
            "device.buffer.power_loss_protected=false",
        ],
    )
    .unwrap();
    assert_eq!(count(&results, "/power/cuts"), 1);
    let all = &results["host"]["all"];
    let answered = all["requests"].as_u64().unwrap() + all["failed"].as_u64().unwrap();
    assert_eq!(count(&results, "/workload/asked"), answered);
}

#[test]
fn namespaces_refuse_with_their_codes() {
    let thin = "run.namespaces=4MiB, 25% thin 8KiB, 1MiB lba 4KiB";
    let second = 8192;
    let results = under(
        &lines(&[
            ("write", second - 8, 16),
            ("write", second, 8),
            ("write", second + 80, 8),
            ("write", second + 160, 8),
            ("trim", second, 8),
            ("write", second + 160, 8),
        ]),
        &[thin],
    );
    let results = results.unwrap();
    let bytes = count(&results, "/commands/namespaces/1/bytes");
    assert_eq!(bytes, count(&results, "/capacity_bytes") / 4 / 4096 * 4096);
    assert_eq!(count(&results, "/commands/namespaces/1/mapped_bytes"), 8192);
    let refused = &results["commands"]["statuses"];
    assert_eq!(refused["0/81h"].as_u64(), Some(1), "{refused}");
    assert_eq!(refused["0/80h"].as_u64(), Some(1), "{refused}");
    // Blocks of 4 KiB must be written whole.
    let coarse = under(&lines(&[("write", 1, 8)]), &["run.namespaces=100% lba 4KiB"]).unwrap();
    assert_eq!(coarse["commands"]["statuses"]["0/02h"].as_u64(), Some(1));
}

#[test]
fn what_cannot_be_is_refused() {
    let zeroes = lines(&[("zeroes", 0, 8)]);
    let rows: &[(&[&str], &str)] = &[
        (&["workload.commands=false"], "zeroes is a command that is done in steps"),
        (&["run.namespaces=200%"], "run.namespaces"),
        (&["run.namespaces=1MiB fat 2MiB"], "says nothing; SIZE [thin CAPACITY]"),
        (&["run.precondition=steady"], "steady repeats the workload"),
    ];
    for (sets, why) in rows {
        let found = under(&zeroes, sets);
        let message = found.unwrap_err();
        assert!(message.contains(why), "{message}");
    }
    let zoned = "[device]\npreset = 'wd-zn540'\n";
    let message = on(zoned, &zeroes, &[]).unwrap_err();
    assert!(message.contains("which a drive of zones is not asked"), "{message}");
    let message = on(zoned, &zeroes, &["run.namespaces=100%"]).unwrap_err();
    assert!(message.contains("a drive of zones is one namespace"), "{message}");
}
