//! Keys without effect: an error if a layer states them, otherwise omitted.
//!
//! Preset keys are not stated by the user, so they are dropped silently. So are keys of a layer
//! that a higher layer made ineffective: `--set suspend.program=none` need not undo the rest of a
//! file's section.

use super::section::Section;
use crate::error::InputError;
use devices::DeviceConfig;
use options::Idle;
use toml::{Table, Value};
use workloads::WorkloadConfig;

/// Refuses ineffective keys in the sections of a device or workload called `name`; `idle_of`
/// returns the ineffective keys of the given number of lowest sections.
pub(super) fn refuse(
    sections: &[Section<'_, '_>],
    name: &str,
    idle_of: impl Fn(usize) -> Vec<Idle>,
) -> Result<(), InputError> {
    let idle = idle_of(sections.len());
    let topmost = |idle: &&Idle| sections.iter().rposition(|section| section.states(&idle.path));
    for (place, section) in sections.iter().enumerate().rev() {
        let stated = idle.iter().filter(|it| topmost(it) == Some(place)).collect::<Vec<_>>();
        if section.gives_way() || stated.is_empty() {
            continue;
        }
        let here = idle_of(place + 1);
        let is_idle = |it: &&&Idle| here.iter().any(|other| other.path == it.path);
        let refused: Vec<&Idle> = stated.iter().filter(is_idle).copied().collect();
        if !refused.is_empty() {
            return Err(section.refuse_idle(name, &refused));
        }
    }
    Ok(())
}

/// Omits the keys without effect from an experiment.
pub(super) fn leave_out(table: &mut Table, device: &DeviceConfig, workload: &WorkloadConfig) {
    if let Some(Value::Table(section)) = table.get_mut("device") {
        of_device(section, device);
    }
    if let Some(Value::Table(section)) = table.get_mut("workload") {
        remove(section, &workload.idle());
    }
}

fn of_device(section: &mut Table, device: &DeviceConfig) {
    remove(section, &device.idle());
    for (name, within) in device.within() {
        if let Some(Value::Table(section)) = section.get_mut(name) {
            of_device(section, within);
        }
    }
    let DeviceConfig::Array(array) = device else { return };
    if let Some(Value::Array(each)) = section.get_mut("each") {
        for (table, (_, device)) in each.iter_mut().zip(&array.each.0) {
            table.as_table_mut().into_iter().for_each(|table| of_device(table, device));
        }
    }
}

fn remove(section: &mut Table, idle: &[Idle]) {
    for key in idle {
        take(section, &key.path);
    }
}

/// Removes a key from a table, and the tables that become empty.
fn take(table: &mut Table, path: &str) {
    let Some((name, rest)) = path.split_once('.') else {
        table.remove(path);
        return;
    };
    if let Some(Value::Table(inner)) = table.get_mut(name) {
        take(inner, rest);
        if inner.is_empty() {
            table.remove(name);
        }
    }
}
