//! Placement handles in the results, and the warnings about them.

use crate::warnings::{Warning, percent};
use devices::cache::CacheReport;
use devices::ssd::shape::MOST_TAKEN;
use devices::ssd::{EventKind, FdpEvent, FdpReport, HandleReport, SsdReport};
use serde_json::{Map, Value, json};

const SECOND_NS: u64 = 1_000_000_000;
/// Of what is superseded of a handle, the share above which others who write to its addresses are worth a word.
const MUCH_FOREIGN: f64 = 0.1;

/// The section `fdp`: the statistics of flexible data placement, and each handle by what it wrote.
pub fn section(report: &FdpReport) -> Value {
    let handles = report.handles.iter().enumerate().map(|(number, it)| {
        let mut row = json!({
            "handle": number,
            "host_bytes": it.host,
            "media_bytes": it.media,
            "moved_bytes": it.moved,
            "moved_because_bytes": it.moved_because,
            "write_amplification": it.amplification(),
            "superseded_bytes": it.invalidated,
            "superseded_by_others": it.foreign_share(),
            "units_opened": it.opened,
            "units_closed": it.closed,
            "units_given_up": it.partly,
            "left_bytes": it.left,
            "left_seconds": it.time_left.map(|ns| ns as f64 / 1e9),
        });
        if report.groups > 1 {
            let handles = report.handles.len() / report.groups as usize;
            row["placement"] = json!(number);
            row["group"] = json!(number / handles);
            row["handle"] = json!(number % handles);
            row["refused_bytes"] = json!(it.refused);
        }
        row
    });
    let curve = report.curve.iter();
    let curve = curve.map(|(at, slope)| json!({ "capacities": at, "write_amplification": slope }));
    let events: Map<String, Value> = EventKind::ALL
        .iter()
        .zip(report.events)
        .map(|(kind, count)| (kind.name().to_owned(), json!(count)))
        .collect();
    let sum = |of: fn(&HandleReport) -> u64| report.handles.iter().map(of).sum::<u64>();
    let mut section = json!({
        "unit_bytes": report.unit,
        "units": report.units,
        "spare_units": report.spare,
        "open_units": report.open,
        "spare_in_open_units": report.open_share,
        "isolation": if report.persistent { "persistent" } else { "initial" },
        "host_bytes": sum(|it| it.host),
        "media_bytes": sum(|it| it.media),
        "erased_bytes": report.erased,
        "write_amplification": ratio(sum(|it| it.media), sum(|it| it.host)),
        "write_amplification_curve": curve.collect::<Vec<Value>>(),
        "moved_from_shared_bytes": report.moved_from_shared,
        "events": events,
        "last_events": {
            "host": report.last[0].iter().map(event).collect::<Vec<Value>>(),
            "controller": report.last[1].iter().map(event).collect::<Vec<Value>>(),
        },
        "handles": handles.collect::<Vec<Value>>(),
    });
    if report.groups > 1 {
        section["groups"] = json!(report.groups);
        section["refused_bytes"] = json!(sum(|it| it.refused));
    }
    section
}

/// The same as a host sees it in the log pages of its drive.
#[cfg(all(feature = "live", target_os = "linux"))]
pub fn shown(report: &FdpReport) -> nbd::Placement {
    let events = |all: &[FdpEvent]| {
        let one = |it: &FdpEvent| nbd::PlacementEvent {
            code: it.kind.code(),
            handle: it.handle,
            named: it.named,
            sector: it.sector,
            sectors: it.sectors,
            after_bytes: it.after_bytes,
        };
        all.iter().map(one).collect()
    };
    let handle = |it: &HandleReport| nbd::PlacementHandle {
        persistent: report.persistent,
        left_bytes: it.left,
        left_seconds: it.time_left.map_or(0, |ns| ns.div_ceil(SECOND_NS).max(1) as u32),
    };
    nbd::Placement {
        handles: report.handles.iter().map(handle).collect(),
        naming: nbd::Naming {
            handles: report.handles.len() as u32 / report.groups,
            groups: report.groups,
        },
        unit_bytes: report.unit,
        limit_seconds: report.time_limit.map_or(0, |ns| ns.div_ceil(SECOND_NS) as u32),
        host_bytes: report.handles.iter().map(|it| it.host).sum(),
        media_bytes: report.handles.iter().map(|it| it.media).sum(),
        erased_bytes: report.erased,
        hosts_events: events(&report.last[0]),
        own_events: events(&report.last[1]),
    }
}

fn ratio(above: u64, below: u64) -> Option<f64> {
    (below > 0).then(|| above as f64 / below as f64)
}

/// An event as the log page of events has it.
fn event(it: &FdpEvent) -> Value {
    json!({
        "event": it.kind.name(),
        "handle": it.handle,
        "named_handle": it.named,
        "sector": it.sector,
        "sectors": it.sectors,
        "after_bytes": it.after_bytes,
    })
}

/// The notice of a workload that its writes named handles.
pub const NAMED_HANDLES: &str = "writes_with_handles";

/// Writes named handles, and the device has none: neither for placement, nor as hints of a cache or orders of snapshots.
pub fn ignored(
    flash: Option<&SsdReport>,
    cache: Option<&CacheReport>,
    notices: &[(&'static str, u64)],
) -> Option<Warning> {
    let (_, count) = notices.iter().find(|(name, count)| *name == NAMED_HANDLES && *count > 0)?;
    let has_orders = |flash: &SsdReport| flash.snapshots.as_ref().is_some_and(|it| it.has_orders);
    if flash.is_some_and(|flash| flash.fdp.is_some() || has_orders(flash))
        || cache.is_some_and(|cache| cache.hints.is_some())
    {
        return None;
    }
    let message = format!(
        "{count} writes named a placement handle, and the device has none: they were placed as all others; set \
         device.fdp.handles"
    );
    Some(Warning::new("placement_ignored", message, json!({ "writes": count })))
}

/// What is to be said about the handles of a run.
pub fn warnings(flash: &SsdReport) -> Vec<Warning> {
    let Some(report) = &flash.fdp else { return Vec::new() };
    let found = [spare_in_open_units(report), unused(report), foreign(report)];
    found.into_iter().flatten().collect()
}

/// Open units take so much of the spare space that placement may raise write amplification.
fn spare_in_open_units(report: &FdpReport) -> Option<Warning> {
    if report.open_share <= MOST_TAKEN {
        return None;
    }
    let handles = report.handles.len();
    let message = format!(
        "{} reclaim units are open for {handles} handles beyond those of a drive without FDP, and take {} of the \
         spare space of {:.1} units: placement can raise write amplification; {} would not (device.fdp.handles), nor \
         would smaller units or more spare space",
        report.open,
        percent(report.open_share),
        report.spare,
        if report.fitting == 1 {
            "1 handle".to_owned()
        } else {
            format!("{} handles", report.fitting)
        },
    );
    let figures = json!({
        "open_units": report.open,
        "spare_units": report.spare,
        "share": report.open_share,
        "handles_that_fit": report.fitting,
    });
    Some(Warning::new("spare_in_open_units", message, figures))
}

/// Handles that nothing was written with.
fn unused(report: &FdpReport) -> Option<Warning> {
    let all = || report.handles.iter().enumerate();
    let unused: Vec<usize> = all().filter(|it| it.1.host == 0).map(|it| it.0).collect();
    if unused.is_empty() || report.handles.iter().all(|it| it.host == 0) {
        return None;
    }
    let count = report.handles.len();
    let names: Vec<String> = unused.iter().map(ToString::to_string).collect();
    let message = format!(
        "of {count} placement handles nothing was written with {}: requests name a handle, or device.fdp.place gives \
         them one",
        names.join(", ")
    );
    Some(Warning::new("handles_unused", message, json!({ "handles": count, "unused": unused })))
}

/// Others overwrite what a handle wrote.
fn foreign(report: &FdpReport) -> Option<Warning> {
    let share = |it: &HandleReport| it.foreign_share().unwrap_or(0.0);
    let (number, worst) =
        report.handles.iter().enumerate().max_by(|a, b| share(a.1).total_cmp(&share(b.1)))?;
    if share(worst) <= MUCH_FOREIGN {
        return None;
    }
    let message = format!(
        "{} of what handle {number} had written was superseded by writes with other handles: what ends together is \
         not written together",
        percent(share(worst))
    );
    let figures = json!({ "handle": number, "share": share(worst) });
    Some(Warning::new("foreign_invalidation", message, figures))
}
