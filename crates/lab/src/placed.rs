//! Placement handles as seen by a host, and the warning about ignored handles.

use crate::warnings::Warning;
use devices::Report;
use serde_json::json;

/// The section `fdp` of a drive, in the form of the log pages that a host reads.
#[cfg(all(feature = "live", target_os = "linux"))]
pub fn shown(fdp: &Report) -> nbd::Placement {
    const SECOND_NS: u64 = 1_000_000_000;
    let events = |path: &str| {
        let logged = fdp.value(path);
        let one = |it: &serde_json::Value| {
            let number = |name: &str| it[name].as_u64();
            nbd::PlacementEvent {
                code: number("code").unwrap_or(0) as u8,
                handle: number("handle").map(|it| it as u8),
                named: number("named_handle").map(|it| it as u8),
                sector: number("sector"),
                sectors: number("sectors").unwrap_or(0) as u32,
                after_bytes: number("after_bytes").unwrap_or(0),
            }
        };
        logged.as_array().map_or(Vec::new(), |all| all.iter().map(one).collect())
    };
    let persistent = fdp.value("isolation") == "persistent";
    let handle = |it: &Report| nbd::PlacementHandle {
        persistent,
        left_bytes: it.count("left_bytes"),
        left_seconds: it.number("left_seconds").map_or(0, |it| it.ceil().max(1.0) as u32),
    };
    let groups = fdp.count("handle_groups") as u32;
    nbd::Placement {
        handles: fdp.list("handles").iter().map(handle).collect(),
        naming: nbd::Naming { handles: fdp.list("handles").len() as u32 / groups, groups },
        unit_bytes: fdp.count("unit_bytes"),
        limit_seconds: fdp.count("limit_ns").div_ceil(SECOND_NS) as u32,
        host_bytes: fdp.count("host_bytes"),
        media_bytes: fdp.count("media_bytes"),
        erased_bytes: fdp.count("erased_bytes"),
        hosts_events: events("logs.host"),
        own_events: events("logs.controller"),
    }
}

/// Name of the notice about writes with placement handles.
pub const NAMED_HANDLES: &str = "writes_with_handles";

/// Warning about handles on a device that ignores them: without placement, cache hints or snapshot
/// commands.
pub fn ignored(device: &Report, notices: &[(&'static str, u64)]) -> Option<Warning> {
    let (_, count) = notices.iter().find(|(name, count)| *name == NAMED_HANDLES && *count > 0)?;
    if device.is("takes_handles") {
        return None;
    }
    let message = format!(
        "{count} writes named a placement handle, and the device has none: they were placed as all others; set \
         device.fdp.handles"
    );
    Some(Warning::new("placement_ignored", message, json!({ "writes": count })))
}
