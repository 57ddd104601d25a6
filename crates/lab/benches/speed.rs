//! Cost of a request on preset devices: `cargo bench -p ssdlab-lab --bench speed` (or `make bench`), one
//! device with `-- only tlc-enterprise`. With `SSDLAB_UPDATE=1` it writes `docs/speed.md`, from
//! which README has its figures (`SSDLAB_UPDATE=1 cargo test -p ssdlab-lab speed::`).
//!
//! The engine has three targets on `agrawal2008`: 3 million random reads per second, 3 million
//! flash operations per second under steady random writes, and 10 bytes of memory per flash page in
//! addition to 50 MB.

#[expect(dead_code, reason = "only tests are held to budgets")]
mod loads;

use loads::count::{ROUND, be_counted, instructions, prepare, run_in};
use loads::{LOADS, Load};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

/// Flash pages of `agrawal2008`.
const FLASH_PAGES: f64 = 8_388_608.0;
/// Approximate instructions of a timed run: a second.
const LONG: f64 = 3e9;
/// Minimum time between two readings of the CPU time, which the kernel counts in milliseconds, s.
const STRETCH: f64 = 0.05;
/// The folder of prepared states, for the counted run.
const FOLDER: &str = "SSDLAB_BENCH_STATES";

const HEAD: &str = "# Speed

A request takes these instructions and this time of one core, on devices as they ship. Drives are full, and written
twice over at random before the run. Random requests are of 4 KiB over the whole device, 32 outstanding (160 on five
drives, 192 on six); sequential ones are of 128 KiB.

Valgrind counts instructions to a thousandth. A flash operation is a flash page that is read or programmed, for the
host or by cleaning. Requests a CPU second are the median of stretches of one run. `SSDLAB_UPDATE=1 cargo bench -p ssdlab-lab
--bench speed` writes this page.
";

/// Measurements of a load.
struct Row {
    instructions: f64,
    /// Flash operations per request, if the device has flash.
    operations: Option<f64>,
    per_second: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("count") => {
            let folder = std::env::var(FOLDER).expect("a folder");
            be_counted(Path::new(&folder), &LOADS[arguments[1].parse::<usize>().expect("a place")]);
        }
        Some("memory") => println!("{}", memory_of_reads()),
        _ => measure(&arguments),
    }
}

/// Measures all devices, or one.
fn measure(arguments: &[String]) {
    let only = arguments.iter().skip_while(|word| *word != "only").nth(1);
    let mut page = HEAD.to_owned();
    let _ = writeln!(page, "\n{}\n", circumstances());
    page.push_str("| device | load | instructions a request | flash operations a request |");
    page.push_str(" million requests a CPU second |\n|---|---|---|---|---|\n");
    print!("{page}");
    let mut folder = tempfile::tempdir().expect("a folder");
    for (place, load) in LOADS.iter().enumerate() {
        if only.is_some_and(|only| only != load.device) {
            continue;
        }
        // States of the previous device are no longer needed, and are large.
        if place.checked_sub(1).is_some_and(|before| LOADS[before].device != load.device) {
            folder = tempfile::tempdir().expect("a folder");
        }
        let row = match measured(folder.path(), place, load) {
            Ok(row) => row,
            Err(why) => return println!("not counted: {why}"),
        };
        let line = format!(
            "| {} | {} | {:.0} | {} | {:.3} |\n",
            load.device,
            load.name,
            row.instructions,
            row.operations.map_or(String::new(), |it| format!("{it:.2}")),
            row.per_second / 1e6,
        );
        print!("{line}");
        page.push_str(&line);
    }
    let own = std::env::current_exe().expect("a program knows where it is");
    let said = Command::new(own).arg("memory").output().expect("it runs").stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let line = format!(
        "\nThe whole process takes {:.1} bytes of memory a flash page of `agrawal2008` at most, while it is read.\n",
        said.trim().parse::<f64>().expect("bytes") / FLASH_PAGES
    );
    print!("{line}");
    page.push_str(&line);
    if only.is_none() && std::env::var_os("SSDLAB_UPDATE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/speed.md");
        std::fs::write(path, page).expect("docs/speed.md can be written");
    }
}

fn measured(folder: &Path, place: usize, load: &Load) -> Result<Row, String> {
    prepare(folder, load);
    let folder_text = folder.to_str().ok_or("a folder whose name is no text")?;
    let instructions = instructions(&["count", &place.to_string()], (FOLDER, folder_text))?;
    let rounds = ((LONG / instructions) as u64 / ROUND).max(3);
    let before = operations_of(run_in(folder, load, load.first * ROUND, &mut |_| GO_ON).as_ref());
    let mut cuts = Vec::new();
    let requests = (load.first + rounds) * ROUND;
    let results = run_in(folder, load, requests, &mut |progress| {
        let now = on_core();
        if cuts.last().is_none_or(|(_, at)| now - at >= STRETCH) {
            cuts.push((progress.done, now));
        }
        GO_ON
    });
    let mut rates: Vec<f64> = cuts
        .windows(2)
        .skip_while(|pair| pair[0].0 < load.first * ROUND)
        .map(|pair| (pair[1].0 - pair[0].0) as f64 / (pair[1].1 - pair[0].1))
        .collect();
    rates.sort_by(f64::total_cmp);
    let operations = operations_of(results.as_ref()) - before;
    Ok(Row {
        instructions,
        operations: (operations > 0.0).then_some(operations / (rounds * ROUND) as f64),
        per_second: *rates.get(rates.len() / 2).ok_or("a run too short for its rate")?,
    })
}

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

/// The flash operations of a run.
fn operations_of(results: Option<&serde_json::Value>) -> f64 {
    let elapsed = &results.expect("nothing ends it")["elapsed"];
    let figure = |name: &str| elapsed[name].as_f64().expect("a number");
    figure("page_operations_per_second") * figure("wall_seconds")
}

/// Date, build and machine.
fn circumstances() -> String {
    let says = |program: &str, args: &[&str]| {
        let said = Command::new(program).args(args).output().map(|it| it.stdout);
        String::from_utf8_lossy(&said.unwrap_or_default()).trim().to_owned()
    };
    let manifest: toml::Table =
        include_str!("../../../Cargo.toml").parse().expect("the manifest is TOML");
    let profile = manifest["profile"]["release"].as_table().expect("a profile");
    let profile = profile.iter().map(|(key, value)| format!("{key} = {value}"));
    #[expect(clippy::disallowed_methods, reason = "a bench may ask the system")]
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split(": ").nth(1)).unwrap_or("an unknown processor");
    format!(
        "Measured on {} by {}, `{}` (`{}`), on {model}, {} cores.",
        says("date", &["-u", "+%F"]),
        says("rustc", &["--version"]),
        if cfg!(debug_assertions) { "debug" } else { "release" },
        profile.collect::<Vec<_>>().join(", "),
        std::thread::available_parallelism().map_or(1, usize::from),
    )
}

/// CPU time of this thread (Linux), s.
fn on_core() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next().and_then(|it| it.parse::<f64>().ok());
    first.expect("the kernel counts it") / 1e9
}

/// Peak resident memory of this process (Linux) after random reads on `agrawal2008`, bytes.
fn memory_of_reads() -> f64 {
    let load = Load {
        on: &["device.preset=agrawal2008"],
        ..LOADS[loads::place("agrawal2008", "random reads")]
    };
    let nowhere = tempfile::tempdir().expect("a folder");
    run_in(nowhere.path(), &load, 100 * ROUND, &mut |_| GO_ON);
    #[expect(clippy::disallowed_methods, reason = "a bench may ask the system")]
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.expect("the kernel counts it") * 1024.0
}
