//! `NVMe` commands and namespaces in a run: their presence, and their results.

use crate::config::{Experiment, Precondition};
use crate::error::RunError;
use crate::namespaces;
use devices::Model;
use devices::commands::{Commands, CommandsReport};
use engine::{
    Device, Driven, NamespaceWish, Observer, Op, PowerCuts, SECTOR_BYTES, Time, Workload,
    WorkloadError, drive, drive_with,
};
use options::Invalid;
use serde_json::{Map, Value, json};

/// Command state of a run; without it, requests go directly to the device.
#[derive(Debug)]
pub struct RunCommands {
    wishes: Vec<NamespaceWish>,
    report: CommandsReport,
}

/// True if a run uses commands or namespaces.
pub fn are_asked(experiment: &Experiment, workload: &dyn Workload) -> bool {
    workload.has_commands() || experiment.run.namespaces.is_some()
}

/// True for zone operations on a zoned device.
pub fn knows(device: &dyn Model, op: Op) -> bool {
    op.is_zoned() && device.facts().zones.is_some()
}

/// Commands of a run, if any.
///
/// # Errors
/// When the device, or its preparation, does not support commands.
pub fn of(
    experiment: &Experiment,
    workload: &dyn Workload,
    device: &dyn Model,
) -> Result<Option<RunCommands>, RunError> {
    if !are_asked(experiment, workload) {
        return Ok(None);
    }
    let text = experiment.run.namespaces.as_deref();
    let refuse = |keys: &[&str], problem: String| {
        Err(RunError::from(experiment.blame(&Invalid::new(keys, problem))))
    };
    if device.facts().zones.is_some() {
        return match text {
            Some(text) => refuse(
                &["run.namespaces"],
                format!("{text}: a drive of zones is one namespace"),
            ),
            None => Err(RunError::Input(
                "the workload has commands that are done in steps (zeroes, compare, copy and their \
                 like), which a drive of zones is not asked"
                    .to_owned(),
            )),
        };
    }
    if workload.has_commands() && experiment.run.precondition == Precondition::Steady {
        let problem = "steady repeats the workload, and this one has commands that are done in steps; \
                       use \"sequential\" or a number of overwrites";
        return refuse(&["run.precondition"], problem.to_owned());
    }
    let capacity = device.capacity_sectors() * SECTOR_BYTES;
    let wishes = match text.map(|text| namespaces::read(text, capacity)) {
        None => Vec::new(),
        Some(Ok(wishes)) => wishes,
        Some(Err(problem)) => return refuse(&["run.namespaces"], problem),
    };
    Ok(Some(RunCommands { wishes, report: CommandsReport::default() }))
}

/// Runs a workload on a device, through commands if used.
pub fn drive_through(
    commands: Option<&mut RunCommands>,
    device: &mut dyn Device,
    workload: &mut dyn Workload,
    until: Time,
    observer: &mut dyn Observer,
    cuts: Option<&mut PowerCuts>,
) -> Result<Driven, WorkloadError> {
    let proceed = |device: &mut dyn Device| match cuts {
        Some(cuts) => drive_with(device, workload, until, observer, cuts),
        None => drive(device, workload, until, observer),
    };
    let Some(commands) = commands else { return proceed(device) };
    let mut before = Commands::new(device, &commands.wishes);
    let driven = proceed(&mut before);
    commands.report = before.report();
    driven
}

impl RunCommands {
    /// The section `commands`.
    pub fn section(&self) -> Value {
        let CommandsReport {
            copied_bytes,
            zeroed_bytes,
            marked_bytes,
            ranges,
            compared,
            differed,
            mapped_bytes,
            ..
        } = &self.report;
        let coded = self.report.statuses().filter_map(|(status, count)| {
            let (kind, code) = status.nvme()?;
            Some((format!("{kind}/{code:02X}h"), json!(count)))
        });
        let statuses: Map<String, Value> = coded.collect();
        let mut section = json!({
            "copy": { "bytes": copied_bytes },
            "compare": { "compared": compared, "failed": differed },
            "zeroes": { "bytes": zeroed_bytes },
            "uncorrectable": { "bytes": marked_bytes },
            "ranges": ranges,
            "statuses": statuses,
        });
        if !self.wishes.is_empty() {
            let each = self.wishes.iter().zip(mapped_bytes).map(|(wish, mapped)| {
                json!({
                    "bytes": wish.bytes,
                    "capacity_bytes": wish.capacity,
                    "block_bytes": wish.block,
                    "mapped_bytes": mapped,
                })
            });
            section["namespaces"] = each.collect();
        }
        section
    }
}
