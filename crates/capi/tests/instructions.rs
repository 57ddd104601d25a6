//! Instructions of a request from outside: a closed loop that steps a drive from answer to answer, in Rust and in C,
//! beside the same load of a run. `make test-valgrind`. For the figures of `docs/embed.md`:
//! `cargo test --release -p ssdlab-capi instructions::a_request -- --ignored --nocapture`.

use super::{compiled, root};
use lab::{
    Experiment, HostRequest, Layer, Op, RunSettings, SteppedDrive, Supplied, preset_layer,
    set_layer,
};
use std::env;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

/// The environment variable for the counted run: the door, the operation, the file of the drive, and how many requests.
const ASKED: &str = "SSDLAB_TEST_STEPS";
const OUTSTANDING: u64 = 32;
/// Requests of the two runs whose difference is counted.
const REQUESTS: [u64; 2] = [8_192, 24_576];
/// Most of the additional cost of stepping by door, in percent of a run, where crates are not optimised together.
const MOST: [(&str, f64); 2] = [("Rust", 10.0), ("C", 15.0)];

/// An eighth of the blocks of a shipped drive, which is loaded in a moment.
const DRIVE: [&str; 2] = ["device.blocks_per_plane=114", "device.capacity=119631MB"];

fn experiment(layers: impl IntoIterator<Item = Layer>) -> Experiment {
    let drive = preset_layer("device", "samsung-pm9a3").unwrap();
    let part = DRIVE.map(|it| set_layer(it).unwrap());
    let all = [drive].into_iter().chain(part).chain(layers);
    Experiment::from_layers(&all.collect::<Vec<_>>()).unwrap()
}

fn run(layers: impl IntoIterator<Item = Layer>) {
    let settings = RunSettings::default();
    lab::run(&experiment(layers), &settings, &mut |_| ControlFlow::Continue(())).unwrap();
}

fn workload(op: &str, requests: u64) -> [Layer; 2] {
    let preset = preset_layer("workload", &format!("random-{op}")).unwrap();
    [preset, set_layer(&format!("workload.requests={requests}")).unwrap()]
}

/// A closed loop like that of `steps.c`.
fn steps(drive: Layer, op: Op, requests: u64) {
    let further = || ControlFlow::Continue(());
    let nothing = Supplied::default();
    let mut drive =
        SteppedDrive::new(experiment([drive]), nothing, 1, None, &mut |_, _, _| further()).unwrap();
    let pages = drive.capacity_bytes() / 4096;
    let mut random = 88_172_645_463_325_252_u64;
    let mut ask = |drive: &mut SteppedDrive| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let asked = HostRequest::new(op, random % pages * 4096, 4096);
        drive.submit(drive.now(), asked).unwrap();
    };
    (0..OUTSTANDING).for_each(|_| ask(&mut drive));
    let mut answered = 0;
    while answered < requests {
        let many = drive.advance_to_answer(None, &mut || further()).unwrap().len();
        answered += many as u64;
        (0..many).for_each(|_| ask(&mut drive));
    }
}

#[test]
#[ignore = "is run by a_request_costs_little_more_from_outside"]
fn the_load_that_is_counted() {
    let Ok(asked) = env::var(ASKED) else { return };
    let words: Vec<_> = asked.split(' ').collect();
    let &[door, op, file, requests] = &words[..] else { panic!("{asked}") };
    let requests = requests.parse().unwrap();
    let drive = set_layer(&format!("run.load_drive='{file}'")).unwrap();
    match (door, op) {
        ("run", _) => run(workload(op, requests).into_iter().chain([drive])),
        (_, "read") => steps(drive, Op::Read, requests),
        _ => steps(drive, Op::Write, requests),
    }
}

/// Instructions of a program.
fn counted(program: &Command) -> f64 {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(program.get_program()).args(program.get_args());
    for (key, value) in program.get_envs() {
        command.env(key, value.unwrap());
    }
    let done = command.env("SSDLAB_CACHE", "off").output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    let line = said.lines().find(|line| line.contains("refs:")).unwrap_or_else(|| panic!("{said}"));
    line.rsplit(':').next().unwrap().replace(',', "").trim().parse().unwrap()
}

/// Instructions of a request: of two runs, the second is longer.
fn each(program: impl Fn(u64) -> Command) -> f64 {
    let [few, many] = REQUESTS.map(|requests| counted(&program(requests)));
    (many - few) / (REQUESTS[1] - REQUESTS[0]) as f64
}

#[test]
#[ignore = "needs valgrind"]
fn a_request_costs_little_more_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("it.drive");
    let keys =
        ["run.precondition=random:2".to_owned(), format!("run.save_drive='{}'", file.display())];
    let keys = keys.iter().map(|it| set_layer(it).unwrap());
    run(workload("read", 1).into_iter().chain(keys));
    let source = root().join("crates/capi/tests/steps.c");
    let in_c = compiled(folder.path(), "cc", &["-std=c11", source.to_str().unwrap()]);
    let file = file.to_str().unwrap();
    let in_rust = |door: &'static str, op: &'static str| {
        move |requests: u64| {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args(["--ignored", "--exact", "instructions::the_load_that_is_counted"]);
            command.env(ASKED, format!("{door} {op} {file} {requests}"));
            command
        }
    };
    let mut over = Vec::new();
    for op in ["read", "write"] {
        let run = each(in_rust("run", op));
        let c = each(|requests| {
            let mut command = Command::new(Path::new(in_c.get_program()));
            command.args([op, file, &requests.to_string()]);
            command
        });
        println!("{op}: {run:.0} instructions a request of a run");
        for ((door, most), each) in MOST.into_iter().zip([each(in_rust("steps", op)), c]) {
            let more = 100.0 * (each / run - 1.0);
            let line = format!("{op}: {each:.0} from {door}, {more:.1} % more");
            println!("{line}");
            // Far fewer would not have stepped the drive.
            if !(-most..=most).contains(&more) {
                over.push(line);
            }
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}
