//! A drive stepped by another program: the steps do not change results, and no mistake of the
//! caller ends the drive.

mod closed;

use crate::common::experiment;
use crate::depth::depth;
use engine::{Random, Xoshiro256};
use lab::{Completion, Experiment, HostRequest, Op, RunSettings, StepError, SteppedDrive, Time};
use serde_json::Value;
use std::fmt::Write;
use std::ops::ControlFlow;

/// A small buffered drive with garbage collection, and one without a buffer.
const BUFFERED: &str = "
[device]
preset = 'tlc-enterprise'
channels = 1
dies_per_package = 1
blocks_per_plane = 32
capacity = '2GB'
scale = 1
[run]
precondition = 'random:0.5'
";
/// Its buffer is volatile, so a flush empties it.
const VOLATILE: &str = "
[device]
preset = 'tlc-client'
";
/// The last word lines of a block wait for the next ones.
const TWO_PASS: &str = "
[device]
preset = 'qlc-enterprise'
channels = 1
dies_per_package = 1
blocks_per_plane = 32
capacity = '4GB'
scale = 1
[run]
precondition = 'random:0.5'
";
const RAID: &str = "
[device]
kind = 'array'
members = 4
redundancy = 'parity'
member.preset = 'agrawal2008'
member.channels = 1
";
const TIERS: &str = "
[device]
kind = 'cache'
mode = 'tiered'
line = '1MiB'
[device.fast]
preset = 'agrawal2008'
channels = 1
blocks_per_plane = 32
[device.backing]
kind = 'disk'
";
const PLAIN: &str = "
[device]
kind = 'ssd'
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 128
[run]
precondition = 'random:2'
";
const HYBRID: &str = "
[device]
kind = 'cache'
[device.fast]
preset = 'agrawal2008'
channels = 1
blocks_per_plane = 32
[device.backing]
kind = 'disk'
";
const DEVICES: [(&str, &str); 3] = [("buffered", BUFFERED), ("plain", PLAIN), ("hybrid", HYBRID)];

fn further() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn drive_of(experiment: Experiment) -> SteppedDrive {
    SteppedDrive::new(experiment, lab::Supplied::default(), 1, None, &mut |_, _, _| further())
        .unwrap()
}

fn small(text: &str) -> SteppedDrive {
    drive_of(experiment::<&str>(&[text], &[]).unwrap())
}

/// Requests in bunches, some of them simultaneous.
fn asked(random: &mut Xoshiro256, count: u64, capacity: u64) -> Vec<(Time, HostRequest)> {
    let mut at = 0;
    let one = |number| {
        at += u64::from(number > 0)
            * [0, random.below(20_000), random.below(2_000_000)][random.below(3) as usize];
        let op = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Flush];
        let op = op[random.below(op.len() as u64) as usize];
        let bytes = 4096 * (1 + random.below(8));
        let offset = random.below((capacity - bytes) / 4096) * 4096;
        let queue = random.below(4) as u16;
        let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (offset, bytes) };
        (at, HostRequest { queue, ..HostRequest::new(op, offset, bytes) })
    };
    (0..count).map(one).collect()
}

/// Completions of requests that are each submitted some time before their arrival, in random steps.
fn in_steps(
    drive: &mut SteppedDrive,
    asked: &[(Time, HostRequest)],
    random: &mut Xoshiro256,
) -> Vec<Completion> {
    let mut answers = Vec::new();
    let mut left = asked;
    while !left.is_empty() {
        let count = 1 + random.below(left.len().min(40) as u64) as usize;
        let (these, others) = left.split_at(count);
        left = others;
        if random.below(2) == 0 {
            drive.submit_many(these.iter().copied()).unwrap();
        } else {
            for (at, asked) in these {
                drive.submit(*at, *asked).unwrap();
            }
        }
        // By then the next request must not be in the past.
        let latest = others.first().map_or(drive.now(), |(at, _)| *at);
        for _ in 0..random.below(6) {
            let ahead = latest.saturating_sub(drive.now());
            let to = match random.below(3) {
                0 => drive.next_event().unwrap_or(0).clamp(drive.now(), latest.max(drive.now())),
                1 => drive.now(),
                _ => drive.now() + random.below(ahead + 1),
            };
            if random.below(4) == 0 {
                answers.extend(drive.advance_to_answer(Some(to), &mut further).unwrap());
                assert!(drive.now() <= to);
                continue;
            }
            answers.extend(drive.advance(to, &mut further).unwrap());
            assert!(drive.next_event().is_none_or(|at| at > to), "an event was left at {to}");
        }
    }
    answers.extend(drive.answer_all(&mut further).unwrap());
    assert_eq!(drive.outstanding(), 0);
    answers
}

/// The requests as a trace in CSV.
fn written(path: &std::path::Path, asked: &[(Time, HostRequest)]) {
    let mut text = String::from("at_ns,op,sector,sectors\n");
    for (at, it) in asked {
        let _ = writeln!(text, "{at},{},{},{}", it.op.name(), it.offset / 512, it.bytes / 512);
    }
    std::fs::write(path, text).unwrap();
}

/// The sections common to a run and a stepped drive, each figure once.
fn told(results: &str) -> String {
    stripped(serde_json::from_str(results).unwrap()).to_string()
}

fn stripped(mut told: Value) -> Value {
    for section in ["experiment", "elapsed", "workload", "warnings", "steady_state"] {
        told.as_object_mut().unwrap().remove(section);
    }
    told
}

/// Each partition of time begins with a clone of one prepared drive.
#[test]
fn any_steps_give_the_bits_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.csv");
    let columns = "time=at_ns:ns,op=op,offset=sector:sectors,size=sectors:sectors";
    let load = format!(
        "[workload]\nkind = 'trace'\nbeyond = 'error'\npath = '{}'\ncolumns = '{columns}'\n",
        trace.display()
    );
    let small = DEVICES.map(|(name, text)| (name.to_owned(), text, Vec::new()));
    let presets = presets().map(|name| (name.clone(), "", smaller(&name)));
    let mut devices = 0;
    for (name, text, set) in small.into_iter().chain(presets) {
        let drive = drive_of(experiment(&[text], &set).unwrap());
        let mut random = Xoshiro256::new(1, 0);
        let mut asked = asked(&mut random, 400, drive.capacity_bytes().min(1 << 35));
        // A trace in text has no queues.
        for (_, it) in &mut asked {
            it.queue = 0;
        }
        written(&trace, &asked);
        let run = experiment(&[text, &load], &set).unwrap();
        let settings = RunSettings::default();
        let run = lab::run(&run, &settings, &mut |_| ControlFlow::Continue(())).unwrap();
        let run = told(&run);
        let mut first = None;
        for partition in 0..depth(1, 2, 1000) {
            let mut drive = drive.try_clone().unwrap();
            let answers = in_steps(&mut drive, &asked, &mut random);
            let report = stripped(drive.report());
            // Text of the first is compared with the run; to read it again costs more than to step.
            let (known, reported) = first.get_or_insert_with(|| {
                assert!(told(&report.to_string()) == run, "{name}");
                (answers.clone(), report.clone())
            });
            assert!(*known == answers && *reported == report, "{name}, partition {partition}");
        }
        devices += 1;
    }
    assert!(devices > 40, "{devices}");
}

/// An idle drive is saved and cloned, and another one starts from the file: all three continue
/// alike.
#[test]
fn a_clone_and_a_saved_drive_continue_as_the_drive_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("it.drive");
    for text in [BUFFERED, TWO_PASS, VOLATILE, PLAIN] {
        let mut drive = small(text);
        let mut random = Xoshiro256::new(2, 0);
        let before = asked(&mut random, depth(300, 300, 3000), drive.capacity_bytes());
        drive.submit_many(before.clone()).unwrap();
        drive.advance(before[150].0, &mut further).unwrap();
        assert_eq!(drive.save(&file, &mut further), Err(StepError::AtWork));
        assert_eq!(drive.shut_down(), Err(StepError::AtWork));
        drive.answer_all(&mut further).unwrap();
        drive.shut_down().unwrap();
        while let Some(at) = drive.next_event() {
            drive.advance(at, &mut further).unwrap();
        }
        drive.save(&file, &mut further).unwrap();
        let mut clone = drive.try_clone().unwrap();
        let load = format!("run.load_drive='{}'", file.display());
        let set = [load, "run.precondition=none".to_owned()];
        let mut saved = drive_of(experiment(&[text], &set).unwrap());
        let now = drive.now();
        assert_eq!((clone.now(), saved.now()), (now, 0));
        let after = asked(&mut random, depth(300, 600, 6000), drive.capacity_bytes());
        let later: Vec<_> = after.iter().map(|(at, it)| (at + now, *it)).collect();
        let one = in_steps(&mut drive, &later, &mut random);
        assert!(one == in_steps(&mut clone, &later, &mut random), "the clone of {text}");
        let mut second = saved.try_clone().unwrap();
        let other = in_steps(&mut saved, &after, &mut random);
        assert!(other == in_steps(&mut second, &after, &mut random), "the saved one of {text}");
        for (a, b) in one.iter().zip(&other) {
            let (a, b) = ((a.at - now, a.breakdown, a.status), (b.at, b.breakdown, b.status));
            assert_eq!(a, b, "the saved one of {text}");
        }
        // Another file is not overwritten.
        std::fs::write(&file, "mine").unwrap();
        let refusal = clone.save(&file, &mut further);
        assert!(matches!(refusal, Err(StepError::AtWork | StepError::Run(_))), "{refusal:?}");
        std::fs::remove_file(&file).unwrap();
    }
    let mut disk = small("[device]\nkind = 'disk'\n");
    assert!(matches!(disk.save(&file, &mut further), Err(StepError::Stateless(_))));
}

/// Names of all presets of devices.
fn presets() -> impl Iterator<Item = String> {
    let all = lab::list("devices").unwrap().into_iter().map(|(name, _)| name);
    all.filter(|name| !name.starts_with("kind = "))
}

/// Smaller forms of a preset: a drive that cleans soon.
fn smaller(preset: &str) -> Vec<String> {
    let lines: &[&str] = match preset {
        "null" | "zeus-linear" | "intel-p4800x" | "atlas10k" | "barracuda" | "cheetah9lp"
        | "hp-c3323a" | "nearline-24tb" | "sata-2008" | "scsi-15k" | "hybrid-disk"
        | "nvram-raid5" => &[],
        // A log of the host turns writes at random into appends to zones. All zones take a second to clone.
        "wd-zn540" => &["device.adapt=log", "device.zones.count=64"],
        name if name.contains("-array-") => {
            &["device.member.blocks_per_plane=32", "run.precondition=random:1"]
        }
        "disksim-ssd" => &[
            "device.blocks_per_plane=32",
            "device.spare_blocks_per_plane=5",
            "run.precondition=random:1",
        ],
        // Fewer blocks need another share of them.
        name if ["iops-", "micron-", "samsung-", "tlc-", "qlc-", "wd-"]
            .iter()
            .any(|it| name.starts_with(it)) =>
        {
            &["device.blocks_per_plane=32", "device.spare_factor=0.3", "run.precondition=random:1"]
        }
        _ => &["device.blocks_per_plane=32", "run.precondition=random:1"],
    };
    let preset = format!("device.preset=\"{preset}\"");
    [preset].into_iter().chain(lines.iter().map(|it| (*it).to_owned())).collect()
}

/// Lets a drive that was shut down come to rest.
fn come_to_rest(drive: &mut SteppedDrive) {
    for _ in 0..1_000_000 {
        let Some(at) = drive.next_event() else { return };
        drive.advance(at, &mut further).unwrap();
    }
    panic!("it has events and events");
}

/// A drive of each preset is saved; another begins with its file and continues as the drive itself, to the nanosecond.
/// Where a file does not keep all, the save is refused.
#[test]
fn every_preset_goes_on_where_it_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("it.drive");
    let (mut saved, mut refused) = (0, Vec::new());
    for preset in presets() {
        let set = smaller(&preset);
        let mut drive = drive_of(experiment::<String>(&[], &set).unwrap());
        let mut random = Xoshiro256::new(5, 0);
        let capacity = drive.capacity_bytes().min(1 << 35);
        let before = asked(&mut random, depth(100, 400, 4000), capacity);
        drive.submit_many(before).unwrap();
        drive.answer_all(&mut further).unwrap();
        drive.shut_down().unwrap();
        come_to_rest(&mut drive);
        // A pause, of which the file is to know as well.
        drive.advance(drive.now() + random.below(1_000_000_000), &mut further).unwrap();
        match drive.save(&file, &mut further) {
            Err(StepError::Stateless(_) | StepError::Partial(_)) => {
                refused.push(preset);
                continue;
            }
            other => assert_eq!(other, Ok(()), "{preset}"),
        }
        let load = [format!("run.load_drive='{}'", file.display()), "run.precondition=none".into()];
        let set: Vec<_> = set.into_iter().chain(load).collect();
        let mut other = drive_of(experiment::<String>(&[], &set).unwrap());
        let after = asked(&mut random, depth(100, 400, 4000), capacity);
        let now = drive.now();
        let later: Vec<_> = after.iter().map(|(at, it)| (at + now, *it)).collect();
        let one = in_steps(&mut drive, &later, &mut random);
        let two = in_steps(&mut other, &after, &mut random);
        assert_eq!(one.len(), two.len());
        for (a, b) in one.iter().zip(&two) {
            let place = (a.request.lba, a.at - now, a.breakdown, a.status);
            assert_eq!(place, (b.request.lba, b.at, b.breakdown, b.status), "{preset}");
        }
        saved += 1;
    }
    // An SLC cache is folded before the drive rests, unless a few requests left it too little to fold.
    let (folding, without): (Vec<_>, Vec<_>) =
        refused.into_iter().partition(|name| ["samsung-980pro", "wd-sn580"].contains(&&**name));
    assert_eq!(folding.len() as u64, depth(2, 2, 0), "{folding:?}");
    let stateless = "atlas10k barracuda cheetah9lp hp-c3323a hybrid-disk intel-p4800x nearline-24tb null nvram-raid5 \
                     sata-2008 scsi-15k wd-zn540 zeus-linear";
    assert_eq!(without.join(" "), stateless);
    assert!(saved > 25, "{saved}");
}

/// A drive is cloned in the middle of its work, with its report, and whatever its kind.
#[test]
fn a_drive_is_cloned_at_any_time() {
    let others = [
        "kind = 'disk'",
        "preset = 'agrawal2008-array-6'",
        "preset = 'wd-zn540'",
        "preset = 'null'",
    ];
    let others = others.map(|line| format!("[device]\n{line}\n"));
    let texts = DEVICES.iter().map(|(_, text)| *text).chain(others.iter().map(String::as_str));
    for text in texts.chain([RAID, TIERS]) {
        let mut random = Xoshiro256::new(3, 0);
        let mut drive = small(text);
        let asked = asked(&mut random, 300, drive.capacity_bytes().min(1 << 36));
        drive.submit_many(asked.iter().copied()).unwrap();
        drive.advance(asked[120].0 + 1000, &mut further).unwrap();
        let mut clone = drive.try_clone().unwrap();
        drive.advance(asked[150].0, &mut further).unwrap();
        clone.advance(asked[150].0, &mut further).unwrap();
        let mut again = clone.try_clone().unwrap();
        let ends = [&mut drive, &mut clone, &mut again].map(|it| {
            assert!(it.outstanding() > 100, "{text}");
            let answers = it.answer_all(&mut further).unwrap().to_vec();
            (answers, told(&it.report().to_string()))
        });
        assert!(ends[0] == ends[1] && ends[0] == ends[2], "{text}");
    }
}

#[test]
fn mistakes_are_values_and_leave_the_drive_as_it_was() {
    let mut drive = small(PLAIN);
    let capacity = drive.capacity_bytes();
    let read = |offset, bytes| HostRequest::new(Op::Read, offset, bytes);
    drive.advance(1000, &mut further).unwrap();
    let mut refused = |at, asked, error: StepError| {
        assert_eq!(drive.submit(at, asked), Err(error.clone()));
        assert_eq!(drive.submit_many([(1000, read(0, 512)), (at, asked)]), Err((1, error)));
        assert_eq!((drive.outstanding(), drive.next_event()), (0, None));
    };
    refused(999, read(0, 512), StepError::Past(999, 1000));
    refused(Time::MAX, read(0, 512), StepError::Late(Time::MAX));
    refused(1000, read(1, 512), StepError::Unaligned("offset", 1));
    refused(1000, read(0, 513), StepError::Unaligned("bytes", 513));
    refused(1000, read(0, 0), StepError::Empty(Op::Read));
    let beyond = |offset, bytes| StepError::Beyond(offset, bytes, capacity);
    refused(1000, read(capacity, 512), beyond(capacity, 512));
    refused(1000, read(capacity - 512, 1024), beyond(capacity - 512, 1024));
    let (far, most) = (u64::MAX - 511, u64::MAX - 511);
    refused(1000, read(far, most), beyond(far, most));
    let known = "read, write, trim, flush".to_owned();
    let append = HostRequest::new(Op::Append, 0, 512);
    refused(1000, append, StepError::Unknown("append".to_owned(), known.clone()));
    assert_eq!(drive.op("raed"), Err(StepError::Unknown("raed".to_owned(), known)));
    assert_eq!(drive.advance(999, &mut further), Err(StepError::Past(999, 1000)));
    // Refused requests consume no tags.
    assert_eq!(drive.submit(1000, read(0, 512)), Ok(0));
    for (key, value) in [
        ("run.until", "1s"),
        ("run.warm_up", "1s"),
        ("run.timed", "false"),
        ("run.timeline", "1ms..2ms"),
        ("run.save_drive", "it.drive"),
    ] {
        let experiment = experiment(&[PLAIN], &[format!("{key}={value}")]).unwrap();
        let made =
            SteppedDrive::new(experiment, lab::Supplied::default(), 1, None, &mut |_, _, _| {
                further()
            });
        let refusal = made.err().unwrap().to_string();
        assert!(refusal.contains(key) && refusal.contains("another program"), "{refusal}");
    }
}

#[test]
fn a_step_that_is_ended_keeps_its_answers() {
    let mut drive = small("[device]\npreset = 'null'\n");
    let asked = |number| (number, HostRequest::new(Op::Read, 0, 512));
    drive.submit_many((0..20_000).map(asked)).unwrap();
    let ended = drive.answer_all(&mut || ControlFlow::Break(())).map(<[_]>::len);
    assert_eq!(ended, Err(StepError::Interrupted));
    assert!(drive.outstanding() > 0 && drive.outstanding() < 20_000);
    let answers = drive.answer_all(&mut further).unwrap();
    let tags: Vec<_> = answers.iter().map(|it| it.request.id).collect();
    assert_eq!(tags, (0..20_000).collect::<Vec<_>>());
}

/// Calls of all kinds with random values: none panics, and every accepted request completes once.
#[test]
fn random_calls_are_answered_or_refused() {
    let mut random = Xoshiro256::new(depth(1, 1, 2), 0);
    let mut drive = small(BUFFERED);
    let capacity = drive.capacity_bytes();
    let (mut accepted, mut refused, mut answered) = (0, 0, 0);
    let any = |random: &mut Xoshiro256| {
        let bits = random.below(64);
        random.below(1 << bits)
    };
    for _ in 0..depth(1_000, 10_000, 1_000_000) {
        match random.below(8) {
            0 | 1 if drive.outstanding() < 5000 => {
                let offset = random.below(capacity + 8192) & !511;
                let bytes = random.below(1 << 16) & !511;
                let op = Op::ALL[random.below(Op::ALL.len() as u64) as usize];
                let op = if random.below(2) == 0 { op } else { Op::Write };
                let at = drive.now() + random.below(1_000_000);
                let done = drive.submit(at, HostRequest::new(op, offset, bytes));
                *if done.is_ok() { &mut accepted } else { &mut refused } += 1;
            }
            2 => {
                let asked = HostRequest {
                    handle: Some(any(&mut random) as u8),
                    queue: any(&mut random) as u16,
                    ..HostRequest::new(Op::Read, any(&mut random), any(&mut random))
                };
                let done = drive.submit(any(&mut random), asked);
                *if done.is_ok() { &mut accepted } else { &mut refused } += 1;
            }
            3 => answered += drive.answer_all(&mut further).unwrap().len(),
            4 => {
                answered +=
                    drive.advance(any(&mut random) >> 8, &mut further).map_or(0, <[_]>::len);
            }
            5 if random.below(1000) == 0 => {
                let told = drive.report();
                assert_eq!(told["workload"]["asked"], told["host"]["all"]["requests"]);
            }
            _ => {
                let to = drive.next_event().unwrap_or(drive.now());
                answered += drive.advance(to, &mut further).unwrap().len();
            }
        }
    }
    answered += drive.answer_all(&mut further).unwrap().len();
    assert_eq!(answered, accepted);
    assert!(refused > 0 && accepted > 100, "{accepted} {refused}");
}
