//! Report of placement handles.

use super::fdp_warnings::warnings;
use crate::Ssd;
use crate::config::Isolation;
use crate::device::{Field, Formula, Report};
use crate::ftl::{EventKind, FdpEvent, HandleAccount};
use engine::SECTOR_BYTES;
use serde_json::{Value, json};

/// Flexible data placement in a run; sizes are bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct FdpReport {
    /// Size of a reclaim unit.
    pub unit: u64,
    /// Number of reclaim units.
    pub units: u64,
    /// Spare space, in units.
    pub spare: f64,
    /// Maximum number of open units in excess of a drive without FDP.
    pub open: u64,
    /// Share of the effective spare space in those units.
    pub open_share: f64,
    /// Maximum number of handles whose open units take a tolerable share of the spare space.
    pub fitting: u32,
    /// Activity of each handle.
    pub handles: Vec<HandleReport>,
    /// Maximum open time of a host unit, ns, if limited.
    pub time_limit: Option<u64>,
    /// Number of reclaim groups; handles of group 0 come first.
    pub groups: u32,
    /// True if copies of each handle have separate units.
    pub persistent: bool,
    /// Bytes moved out of units shared by copies of all handles.
    pub moved_from_shared: u64,
    /// Bytes of erased blocks.
    pub erased: u64,
    /// Events by kind.
    pub events: [u64; EventKind::ALL.len()],
    /// Latest events caused by the host, and latest events caused by the drive.
    pub last: [Vec<FdpEvent>; 2],
    /// Drive writes, and write amplification since the previous point.
    pub curve: Vec<(f64, f64)>,
}

/// Activity of a handle, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandleReport {
    /// Host bytes.
    pub host: u64,
    /// Programmed bytes including moves, without padding and parity.
    pub media: u64,
    /// Moved bytes written with this handle.
    pub moved: u64,
    /// Bytes moved by cleaning the handle's units.
    pub moved_because: u64,
    /// Superseded or trimmed bytes.
    pub invalidated: u64,
    /// Bytes superseded by writes with another handle.
    pub foreign: u64,
    /// Units opened for host writes.
    pub opened: u64,
    /// Units filled by host writes.
    pub closed: u64,
    /// Units closed before they were full.
    pub partly: u64,
    /// Writes rejected by a full reclaim group.
    pub refused: u64,
    /// Writable bytes left in its unit.
    pub left: u64,
    /// Remaining open time of the unit, ns, if limited.
    pub time_left: Option<u64>,
}

impl HandleReport {
    /// Activity of a handle; with several reclaim groups also its handle within the group.
    fn section(&self, number: usize, of_group: Option<usize>) -> Report {
        let row = section! {
            "handle": Field::same(number),
            "host_bytes": self.host,
            "media_bytes": self.media,
            "moved_bytes": self.moved,
            "moved_because_bytes": self.moved_because,
            "write_amplification": Field::share(self.media, self.host),
            "superseded_bytes": self.invalidated,
            "superseded_by_others": Field::share(self.foreign, self.invalidated),
            "units_opened": self.opened,
            "units_closed": self.closed,
            "units_given_up": self.partly,
            "left_bytes": self.left,
            "left_seconds": self.time_left.map(|ns| Field::Least(json!(ns as f64 / 1e9))),
        };
        let Some(handles) = of_group else { return row };
        row.and(section! {
            "placement": Field::same(number),
            "group": Field::same(number / handles),
            "handle": Field::same(number % handles),
            "refused_bytes": self.refused,
        })
    }
}

impl FdpReport {
    /// Results section `fdp`: FDP statistics, and the activity of each handle.
    pub(super) fn section(&self) -> Report {
        let of_group = (self.groups > 1).then(|| self.handles.len() / self.groups as usize);
        let handles = self.handles.iter().enumerate().map(|(at, it)| it.section(at, of_group));
        let sum = |of: fn(&HandleReport) -> u64| self.handles.iter().map(of).sum::<u64>();
        let [host, media] = [sum(|it| it.host), sum(|it| it.media)];
        let curve = self.curve.iter();
        let curve =
            curve.map(|(at, slope)| json!({ "capacities": at, "write_amplification": slope }));
        let kinds = EventKind::ALL.iter().map(|kind| kind.name());
        let log = |of: fn(&FdpEvent) -> Value, at: usize| {
            Field::Alone(self.last[at].iter().map(of).collect())
        };
        let section = section! {
            "unit_bytes": Field::same(self.unit),
            "units": self.units,
            "spare_units": Field::Sum(self.spare),
            "open_units": self.open,
            "spare_in_open_units": Field::same(self.open_share),
            "isolation": Field::same(if self.persistent { "persistent" } else { "initial" }),
            "host_bytes": host,
            "media_bytes": media,
            "erased_bytes": self.erased,
            "write_amplification": Field::share(media, host),
            "write_amplification_curve": Field::Alone(curve.collect()),
            "moved_from_shared_bytes": self.moved_from_shared,
            "events": Report::counts(kinds.zip(self.events)),
            "last_events": section! { "host": log(event, 0), "controller": log(event, 1) },
            "handles": Field::Places(handles.collect()),
            // Additional data for log pages and warnings.
            "logs": Field::fact(section! { "host": log(coded, 0), "controller": log(coded, 1) }),
            "handles_that_fit": Field::fact(Field::same(self.fitting)),
            "handle_groups": Field::fact(Field::same(self.groups)),
            "limit_ns": Field::fact(Field::same(self.time_limit.unwrap_or(0))),
            "warnings": Field::fact(Field::Follows(Formula(warnings))),
        };
        let refused = sum(|it| it.refused);
        let groups = || section! { "groups": Field::same(self.groups), "refused_bytes": refused };
        if of_group.is_some() { section.and(groups()) } else { section }
    }
}

/// An event in the form of results.
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

/// An event with its code in the log page of events.
fn coded(it: &FdpEvent) -> Value {
    let mut event = event(it);
    event["code"] = json!(it.kind.code());
    event
}

impl Ssd {
    /// Report of the placement handles, if any.
    pub fn placement_report(&self) -> Option<FdpReport> {
        let fdp = self.ftl.fdp()?;
        let geometry = self.geometry();
        let page = u64::from(geometry.sectors_per_page) * SECTOR_BYTES;
        let of = |(number, it): (usize, &HandleAccount)| {
            let (open, left) = self.ftl.open_units(number as u32);
            HandleReport {
                host: it.host_bytes,
                media: (it.programs + it.moved) * page,
                moved: it.moved * page,
                moved_because: it.moved_because * page,
                invalidated: it.invalidated * page,
                foreign: it.foreign * page,
                opened: it.opened,
                closed: (it.opened + it.open_before).saturating_sub(open + it.partly),
                partly: it.partly,
                refused: it.refused_bytes,
                left: u64::from(left) * page,
                time_left: self.front.unit_time_left(
                    number as u32,
                    fdp.openings(number as u32),
                    self.clock.now,
                ),
            }
        };
        let mut handles: Vec<HandleReport> = fdp.accounts().iter().enumerate().map(of).collect();
        if let [only] = &mut handles[..] {
            // All activity belongs to the only handle.
            let counters = &self.ftl.counters;
            *only = HandleReport {
                host: counters.host_bytes,
                media: self.ftl.media_bytes(),
                moved: (counters.moves + counters.migrations) * page,
                moved_because: counters.victim_moves * page,
                ..*only
            };
        }
        let data = f64::from(geometry.data_pages);
        let spare = f64::from(geometry.blocks()) - geometry.exported_pages() as f64 / data;
        let open = geometry.spare_in_open(&self.config);
        let unit = u64::from(geometry.data_pages) * page;
        Some(FdpReport {
            unit,
            units: u64::from(geometry.blocks()),
            spare,
            open: open.map_or(0, |it| u64::from(it.open)),
            open_share: open.map_or(0.0, |it| it.share),
            fitting: open.map_or(1, |it| it.fitting),
            handles,
            time_limit: self.config.fdp.time_limit.ns(),
            groups: fdp.groups(),
            persistent: self.config.fdp.isolation == Isolation::Persistent,
            moved_from_shared: fdp.moved_from_shared() * page,
            erased: self.ftl.counters.erases * unit,
            events: fdp.events().counts(),
            last: [true, false].map(|of_host| fdp.events().kept(of_host)),
            curve: fdp.curve().slopes(),
        })
    }
}
