//! Runs loads and counts their instructions, which are the same in every run and beside any other work.
//!
//! The program calls itself under valgrind. That run takes the state of the drive from a folder and is counted from
//! the first report of its progress to a later one; it stops there each time, until callgrind was told to begin or
//! to end. So only requests are counted, and everything else runs at a fraction of the cost.

use super::Load;
use lab::{CacheSettings, Experiment, Progress, RunSettings, preset_layer, run, set_layer};
use serde_json::Value;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Requests from one report of progress to the next.
pub(crate) const ROUND: u64 = 8_192;
/// What the run that is counted says when it waits, before the number of its requests.
const WAITS: &str = "waits after ";

/// Runs a load with so many requests, its drive prepared by a state in the folder, or kept there. The results, unless
/// `look`, which sees the progress of the requests, ends it before.
pub(crate) fn run_in(
    folder: &Path,
    load: &Load,
    requests: u64,
    look: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Option<Value> {
    let mut layers = vec![preset_layer("workload", load.workload).expect("a preset")];
    let requests = format!("workload.requests={requests}");
    let device = load.on.iter().flat_map(|texts| texts.split("; "));
    let settings = device.chain(load.settings.iter().copied()).chain([requests.as_str()]);
    layers.extend(settings.map(|setting| set_layer(setting).expect("a key")));
    let experiment = Experiment::from_layers(&layers).expect("a valid experiment");
    let cache = CacheSettings {
        most_of_free: 1.0,
        least_writes: 1,
        ..CacheSettings::new(folder.to_owned())
    };
    let settings = RunSettings { cache: Some(cache), ..RunSettings::default() };
    let mut is_ended = false;
    let results = run(&experiment, &settings, &mut |progress| {
        let flow = match progress.phase {
            "running" => look(progress),
            _ => ControlFlow::Continue(()),
        };
        is_ended |= flow.is_break();
        flow
    });
    if is_ended {
        return None;
    }
    Some(serde_json::from_str(&results.expect("it runs")).expect("results are JSON"))
}

/// Prepares the drive of a load, so that its state is in the folder.
pub(crate) fn prepare(folder: &Path, load: &Load) {
    run_in(folder, load, 1, &mut |_| ControlFlow::Continue(()));
}

/// The run that is counted.
pub(crate) fn be_counted(folder: &Path, load: &Load) {
    let mut reports = 0;
    let more = (load.first + load.rounds + 1) * ROUND;
    let ended = run_in(folder, load, more, &mut |progress| {
        reports += 1;
        let (first, last) = (reports == load.first, reports == load.first + load.rounds);
        if first || last {
            // Not by `println`, which a test keeps for itself.
            let mut out = io::stdout();
            writeln!(out, "{WAITS}{}", progress.done).expect("it is read");
            out.flush().expect("it is read");
            io::stdin().read_line(&mut String::new()).expect("it is answered");
        }
        if last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(ended.is_none(), "it was to be ended by its reports");
}

/// Instructions a request of a program that is [counted](be_counted) when it is called with these arguments and this
/// variable.
///
/// # Errors
/// What is not as it must be, as where valgrind is not installed.
pub(crate) fn instructions(args: &[&str], variable: (&str, &str)) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new("valgrind")
        .args(["--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(args)
        .env(variable.0, variable.1)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("valgrind: {error}"))?;
    let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
    let requests = counted_requests(&mut child, &mut out);
    // It ends, as nothing answers it any more.
    child.stdin.take();
    // Nothing that it still says is wanted, but it must be able to say it.
    io::copy(&mut out, &mut io::sink()).map_err(|error| error.to_string())?;
    let ended = child.wait_with_output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let requests = requests.map_err(|why| format!("{why}\n{said}"))?;
    let line = said.lines().find(|line| line.contains("refs:")).ok_or(said.clone())?;
    let digits: String = line.rsplit(':').next().into_iter().flat_map(str::chars).collect();
    let count: u64 = digits.replace(',', "").trim().parse().map_err(|_| said.clone())?;
    if !ended.status.success() {
        return Err(said);
    }
    Ok(count as f64 / requests as f64)
}

/// Has the child counted between its two waits; the requests in between.
fn counted_requests(child: &mut Child, out: &mut BufReader<ChildStdout>) -> Result<u64, String> {
    let from = wait(out)?;
    switch(child, "on")?;
    let to = wait(out)?;
    switch(child, "off")?;
    Ok(to - from)
}

/// Waits until the child does; after how many requests.
fn wait(out: &mut BufReader<ChildStdout>) -> Result<u64, String> {
    loop {
        let mut line = String::new();
        if out.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
            return Err("the run that is counted ended early".to_owned());
        }
        if let Some((_, after)) = line.split_once(WAITS) {
            return after.trim().parse().map_err(|_| line.clone());
        }
    }
}

/// Tells callgrind to begin or to end, and the child to go on.
fn switch(child: &mut Child, to: &str) -> Result<(), String> {
    let told = Command::new("callgrind_control")
        .args(["-i", to, &child.id().to_string()])
        .output()
        .map_err(|error| format!("callgrind_control: {error}"))?;
    if !told.status.success() {
        let said = String::from_utf8_lossy(&told.stderr);
        return Err(format!("callgrind_control -i {to}: {said}"));
    }
    let answer = child.stdin.as_mut().expect("it is piped").write_all(b"\n");
    answer.map_err(|error| error.to_string())
}
