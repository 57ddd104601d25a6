//! What placement handles came to.

use crate::Ssd;
use crate::config::Isolation;
use crate::ftl::{EventKind, FdpEvent, HandleAccount};
use engine::SECTOR_BYTES;

/// Flexible data placement in a run. Sizes are bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct FdpReport {
    /// Bytes of a reclaim unit.
    pub unit: u64,
    /// Reclaim units of the drive.
    pub units: u64,
    /// Spare space, in units.
    pub spare: f64,
    /// Units that may be open at once beyond those of a drive without FDP, and the share of the spare space that they
    /// take in effect.
    pub open: u64,
    /// See `open`.
    pub open_share: f64,
    /// Handles of which the open units would take no more of the spare space than is tolerated.
    pub fitting: u32,
    /// Each handle.
    pub handles: Vec<HandleReport>,
    /// The longest that a unit of the host stays open, ns, if it is limited.
    pub time_limit: Option<u64>,
    /// Reclaim groups; the handles of group 0 come first.
    pub groups: u32,
    /// Whether copies of each handle have units of their own.
    pub persistent: bool,
    /// Bytes moved out of units that copies of all handles share.
    pub moved_from_shared: u64,
    /// Bytes of the blocks that were erased.
    pub erased: u64,
    /// How often each kind of event has happened.
    pub events: [u64; EventKind::ALL.len()],
    /// The last events that the host brought about, and the last of the drive's own; none of several drives.
    pub last: [Vec<FdpEvent>; 2],
    /// Capacities written, and write amplification since the point before; none of several drives.
    pub curve: Vec<(f64, f64)>,
}

/// What was done for one handle, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandleReport {
    /// Written by the host with it.
    pub host: u64,
    /// Programmed for that, and to move it: without padding and parity.
    pub media: u64,
    /// Of that, moved.
    pub moved: u64,
    /// Moved because a unit of it was cleaned.
    pub moved_because: u64,
    /// Superseded or trimmed, of what was written with it.
    pub invalidated: u64,
    /// Of these, superseded by a write with another handle.
    pub foreign: u64,
    /// Units opened for writes of the host.
    pub opened: u64,
    /// Units filled by these.
    pub closed: u64,
    /// Units given up before they were full.
    pub partly: u64,
    /// Refused because its reclaim group was full.
    pub refused: u64,
    /// What can be written to its unit before it needs another.
    pub left: u64,
    /// How much longer that may be open, ns, if it is limited; of several drives the shortest.
    pub time_left: Option<u64>,
}

impl HandleReport {
    /// Programmed / written by the host; `None` without host writes.
    pub fn amplification(&self) -> Option<f64> {
        (self.host > 0).then(|| self.media as f64 / self.host as f64)
    }

    /// The share of what was superseded that a write with another handle superseded.
    pub fn foreign_share(&self) -> Option<f64> {
        (self.invalidated > 0).then(|| self.foreign as f64 / self.invalidated as f64)
    }
}

impl std::ops::AddAssign for HandleReport {
    fn add_assign(&mut self, other: HandleReport) {
        self.host += other.host;
        self.media += other.media;
        self.moved += other.moved;
        self.moved_because += other.moved_because;
        self.invalidated += other.invalidated;
        self.foreign += other.foreign;
        self.opened += other.opened;
        self.closed += other.closed;
        self.partly += other.partly;
        self.refused += other.refused;
        self.left += other.left;
        self.time_left = self.time_left.into_iter().chain(other.time_left).min();
    }
}

impl FdpReport {
    /// Adds what another drive with as many handles did.
    pub fn add(&mut self, other: &FdpReport) {
        self.units += other.units;
        self.spare += other.spare;
        self.open += other.open;
        self.handles.iter_mut().zip(&other.handles).for_each(|(one, other)| *one += *other);
        self.moved_from_shared += other.moved_from_shared;
        self.erased += other.erased;
        self.events.iter_mut().zip(other.events).for_each(|(one, other)| *one += other);
        self.last = Default::default();
        self.curve.clear();
    }
}

impl Ssd {
    /// What placement handles came to, of a drive that has some.
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
            // Everything is of the only handle.
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
