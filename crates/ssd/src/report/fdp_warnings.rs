//! Warnings about the placement handles of a run.

use crate::device::Report;
use crate::shape::MOST_TAKEN;
use serde_json::{Value, json};

/// Share of foreign invalidations that triggers a warning.
const MUCH_FOREIGN: f64 = 0.1;

/// A share in percent, with two significant digits below ten.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        10.0.. => format!("{percent:.0} %"),
        1.0.. => format!("{percent:.1} %"),
        0.01.. => format!("{percent:.2} %"),
        0.0.. => format!("{percent:.1e} %"),
        _ => format!("{percent:.1} %"),
    }
}

/// A warning: name, message, and underlying figures.
fn warning(name: &str, message: &str, figures: &Value) -> Value {
    json!({ "name": name, "message": message, "figures": figures })
}

/// Warnings of the results section `fdp`.
pub(super) fn warnings(section: &Report) -> Value {
    let found = [spare_in_open_units(section), unused(section), foreign(section)];
    found.into_iter().flatten().collect()
}

/// Warns if open units take enough spare space that placement may raise write amplification.
fn spare_in_open_units(section: &Report) -> Option<Value> {
    let share = section.number("spare_in_open_units")?;
    if share <= MOST_TAKEN {
        return None;
    }
    let handles = section.list("handles").len();
    let (open, spare) = (section.count("open_units"), section.number("spare_units")?);
    let fitting = section.count("handles_that_fit");
    let message = format!(
        "{open} reclaim units are open for {handles} handles in addition to a drive without FDP, and take {} of the \
         spare space of {spare:.1} units: placement can raise write amplification; {} would not (device.fdp.handles), nor \
         would smaller units or more spare space",
        percent(share),
        if fitting == 1 { "1 handle".to_owned() } else { format!("{fitting} handles") },
    );
    let figures = json!({
        "open_units": open,
        "spare_units": spare,
        "share": share,
        "handles_that_fit": fitting,
    });
    Some(warning("spare_in_open_units", &message, &figures))
}

/// Warns about handles without writes.
fn unused(section: &Report) -> Option<Value> {
    let handles = section.list("handles");
    let unused = |it: &usize| handles[*it].count("host_bytes") == 0;
    let unused: Vec<usize> = (0..handles.len()).filter(unused).collect();
    let count = handles.len();
    if unused.is_empty() || unused.len() == count {
        return None;
    }
    let names: Vec<String> = unused.iter().map(ToString::to_string).collect();
    let message = format!(
        "of {count} placement handles nothing was written with {}: requests name a handle, or device.fdp.place gives \
         them one",
        names.join(", ")
    );
    Some(warning("handles_unused", &message, &json!({ "handles": count, "unused": unused })))
}

/// Warns about invalidations by other handles.
fn foreign(section: &Report) -> Option<Value> {
    let share = |it: &Report| it.number("superseded_by_others").unwrap_or(0.0);
    let shares = section.list("handles").iter().map(share).enumerate();
    let (number, worst) = shares.max_by(|a, b| a.1.total_cmp(&b.1))?;
    if worst <= MUCH_FOREIGN {
        return None;
    }
    let message = format!(
        "{} of what handle {number} had written was superseded by writes with other handles: what ends together is \
         not written together",
        percent(worst)
    );
    Some(warning("foreign_invalidation", &message, &json!({ "handle": number, "share": worst })))
}
