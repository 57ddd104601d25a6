//! Runs loads and counts their instructions, a figure that is reproducible regardless of other work
//! on the machine.
//!
//! The program runs itself under valgrind. The child restores the drive from a folder of prepared
//! states. Instructions are counted from the first progress report to a later one; at both the
//! child waits until callgrind has been switched. So only requests are counted, and everything else
//! runs at a fraction of the cost.

use super::Load;
use lab::{CacheSettings, Experiment, Progress, RunSettings, preset_layer, run, set_layer};
use serde_json::Value;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Requests between two progress reports.
pub(crate) const ROUND: u64 = 8_192;
/// Output of the child when it waits, followed by the number of its requests.
const WAITS: &str = "waits after ";

/// Runs a load for `requests` requests, with its prepared state restored from the folder or stored
/// there. Returns the results unless `look`, called on progress, ends the run earlier.
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

/// Prepares the drive of a load and stores its state in the folder.
pub(crate) fn prepare(folder: &Path, load: &Load) {
    run_in(folder, load, 1, &mut |_| ControlFlow::Continue(()));
}

/// The counted run, in the child process.
pub(crate) fn be_counted(folder: &Path, load: &Load) {
    let mut reports = 0;
    let more = (load.first + load.rounds + 1) * ROUND;
    let ended = run_in(folder, load, more, &mut |progress| {
        reports += 1;
        let (first, last) = (reports == load.first, reports == load.first + load.rounds);
        if first || last {
            // `println` would be captured by the test harness.
            let mut out = io::stdout();
            writeln!(out, "{WAITS}{}", progress.done).expect("it is read");
            out.flush().expect("it is read");
            io::stdin().read_line(&mut String::new()).expect("it is answered");
        }
        if last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(ended.is_none(), "it was to be ended by its reports");
}

/// Instructions per request of a program that is [counted](be_counted) if called with these
/// arguments and this environment variable.
///
/// # Errors
/// A failed step, for example if valgrind is not installed.
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
    // Without a reply the child ends.
    child.stdin.take();
    // The remaining output is discarded, but must be read so that the child does not block.
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

/// Switches counting on and off at the child's two waits; returns the number of requests in
/// between.
fn counted_requests(child: &mut Child, out: &mut BufReader<ChildStdout>) -> Result<u64, String> {
    let from = wait(out)?;
    switch(child, "on")?;
    let to = wait(out)?;
    switch(child, "off")?;
    Ok(to - from)
}

/// Waits until the child waits; returns its number of requests.
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

/// Switches callgrind's counting, and lets the child continue.
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
