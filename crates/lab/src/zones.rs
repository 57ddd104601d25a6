//! Zones in results, and workloads without zone support on a zoned drive.

use devices::ssd::zoned::Zones;
use engine::{
    Arrival, Class, Completion, Op, SECTOR_BYTES, Status, Time, Workload, WorkloadError, ZoneState,
};
use serde_json::{Value, json};

/// The current zones of a drive: their common properties, and each non-empty zone.
pub fn listed(zones: &Zones) -> Value {
    let limits = zones.limits();
    let [open, active, with_window] = zones.counts();
    let bytes = |sectors: u64| sectors * SECTOR_BYTES;
    let looks = (0..limits.zones).map(|number| (number, zones.look(number)));
    let used = looks.filter(|(_, it)| it.state != ZoneState::Empty);
    let each = used.map(|(number, it)| {
        json!({
            "zone": number,
            "state": it.state.name(),
            "start_byte": bytes(u64::from(number) * limits.size),
            "written_bytes": bytes(it.pointer),
            "capacity_bytes": bytes(it.capacity),
            "has_window": it.has_window,
            "finished_by_controller": it.finished_by_controller,
        })
    });
    json!({
        "zones": limits.zones,
        "size_bytes": bytes(limits.size),
        "capacity_bytes": bytes(limits.capacity),
        "most_open": limits.open,
        "most_active": limits.active,
        "open": open,
        "active": active,
        "with_window": with_window,
        "not_empty": each.collect::<Vec<Value>>(),
    })
}

/// Zone limits in the form for a host.
#[cfg(all(feature = "live", target_os = "linux"))]
pub fn limits(zones: &Zones) -> nbd::ZoneLimits {
    let limits = zones.limits();
    let bytes = |sectors: u64| sectors * SECTOR_BYTES;
    nbd::ZoneLimits {
        size: bytes(limits.size),
        capacity: bytes(limits.capacity),
        open: limits.open,
        active: limits.active,
        append: bytes(limits.append),
        read_across: limits.read_across,
        windows: limits.windows,
        window: bytes(limits.window),
        granularity: bytes(limits.granularity),
    }
}

/// Zones that match a host's query.
#[cfg(all(feature = "live", target_os = "linux"))]
pub fn seen(zones: &Zones, query: &nbd::ZoneQuery) -> nbd::ZoneList {
    let limits = zones.limits();
    let (first, _) = zones.place(query.from / SECTOR_BYTES);
    let until = query.until.div_ceil(limits.size * SECTOR_BYTES).min(limits.zones.into()) as u32;
    let looks = (first..until).map(|number| (number, zones.look(number)));
    let wanted = looks.filter(|(_, it)| query.state.is_none_or(|state| state == it.state));
    let seen = wanted.clone().take(query.most).map(|(number, it)| {
        let begins = u64::from(number) * limits.size;
        let place = |sector: u64| (begins + sector) * SECTOR_BYTES;
        nbd::ZoneSeen {
            state: it.state,
            begins: place(0),
            capacity: it.capacity * SECTOR_BYTES,
            pointer: place(it.pointer),
            has_window: it.has_window,
            window_end: place(it.window_end),
            finished_by_controller: it.finished_by_controller,
        }
    });
    nbd::ZoneList { zones: seen.collect(), count: wanted.count() as u64 }
}

/// Zones changed by the drive itself after the first `since` changes.
#[cfg(all(feature = "live", target_os = "linux"))]
pub fn altered(zones: &Zones, since: u64) -> nbd::ZonesAltered {
    let size = zones.limits().size * SECTOR_BYTES;
    let (count, found) = zones.altered(since);
    let starts = found.map(|all| all.iter().map(|zone| u64::from(*zone) * size).collect());
    nbd::ZonesAltered { count, starts }
}

/// A workload on a zoned drive. A workload without zone support is refused at its first write away
/// from a write pointer, instead of failing request by request.
pub struct OnZones {
    inner: Box<dyn Workload>,
    /// True after a zone operation.
    knows_zones: bool,
    problem: Option<String>,
}

impl OnZones {
    pub fn new(inner: Box<dyn Workload>) -> OnZones {
        OnZones { inner, knows_zones: false, problem: None }
    }
}

impl Workload for OnZones {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if let Some(problem) = self.problem.take() {
            return Err(WorkloadError(problem));
        }
        let arrival = self.inner.next(now)?;
        self.knows_zones |= arrival.is_some_and(|it| it.request.op.is_zoned());
        Ok(arrival)
    }

    fn completed(&mut self, completion: &Completion) {
        let request = &completion.request;
        let elsewhere = matches!(
            completion.status,
            Status::InvalidWrite | Status::ZoneFull | Status::ZoneBoundary
        );
        if elsewhere && request.op == Op::Write && !self.knows_zones {
            self.problem.get_or_insert_with(|| {
                format!(
                    "request {} writes {} sectors at sector {}, and the zone there answers {}: this workload \
                     knows no zones; device.adapt = \"log\" puts a log of the host between them",
                    request.id,
                    request.sectors,
                    request.lba.0,
                    completion.status.name()
                )
            });
        }
        self.inner.completed(completion);
    }

    fn take_back(&mut self) -> bool {
        self.inner.take_back()
    }

    fn has_rate(&self) -> bool {
        self.inner.has_rate()
    }

    fn has_commands(&self) -> bool {
        self.inner.has_commands()
    }

    fn held_back(&self, now: Time) -> u64 {
        self.inner.held_back(now)
    }

    fn needs_time(&self) -> Option<&'static str> {
        self.inner.needs_time()
    }

    fn expected_requests(&self) -> Option<u64> {
        self.inner.expected_requests()
    }

    fn queues(&self) -> u32 {
        self.inner.queues()
    }

    fn classes(&self) -> Vec<Class> {
        self.inner.classes()
    }

    fn notices(&self) -> Vec<(&'static str, u64)> {
        self.inner.notices()
    }
}
