//! Power cuts of an array, and recovery from them: the write hole.
//!
//! A stripe in progress contains some of its writes and lacks others, so its parity may fit neither
//! the old nor the new data (`torn.rs`). After the cut, all stripes are resynchronised in units,
//! beside the load. With a log, its entries are replayed before any other access to their stripes.

use super::geometry::Geometry;
use super::message::{Place, Span};
use super::torn::{Cut, Dirt};
use crate::ArrayOptions;
use crate::clock::Event;
use crate::members::Members;
use crate::redundancy::{HoleRule, Redundancy};
use engine::{Random as _, SECTOR_BYTES, Time, Xoshiro256};
use options::{Bandwidth, Invalid, Size};
use ssd::device::{DeviceKind, Field, Report};
use std::collections::BTreeMap;
use std::ops::Range;

/// Random stream for the survival of uncompleted writes.
const TEAR_STREAM: u64 = 14;

/// State left by power cuts, and progress of the recovery.
#[derive(Debug, Clone)]
pub struct Recovery {
    rule: HoleRule,
    random: Xoshiro256,
    /// Dirty stripes, until they are repaired.
    dirty: BTreeMap<u64, Dirt>,
    progress: Option<Progress>,
    pace: Pace,
    /// Scheduled failures, while there is no power.
    held: Vec<(Time, Event)>,
    cuts: u64,
    stripes_dirty: u64,
    stripes_resynced: u64,
    resync_ns: Time,
    chunks_wrong: u64,
}

/// Pace of a rebuild or resync.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub rate: Bandwidth,
    /// Rows per unit, total rows, and stripes per row.
    pub unit: u64,
    pub rows: u64,
    pub groups: u64,
    /// Sectors per chunk.
    pub chunk: u64,
}

impl Pace {
    /// State for an array with this geometry.
    ///
    /// # Errors
    /// When a unit is not a whole number of chunks.
    pub fn new(
        config: &ArrayOptions<impl DeviceKind>,
        geometry: &Geometry,
    ) -> Result<Pace, Invalid> {
        let (unit, chunk) = (config.rebuild.unit.bytes(), geometry.chunk * SECTOR_BYTES);
        if unit == 0 || !unit.is_multiple_of(chunk) {
            let chunk = Size::from_bytes(chunk);
            let problem = format!("{} is no multiple of a chunk of {chunk}", config.rebuild.unit);
            return Err(Invalid::new(&["device.rebuild.unit", "device.stripe"], problem));
        }
        let (rows, chunk_sectors) = (geometry.rows, geometry.chunk);
        Ok(Pace {
            rate: config.rebuild.rate,
            unit: unit / chunk,
            rows,
            groups: geometry.stripes() / rows,
            chunk: chunk_sectors,
        })
    }

    /// Minimum time per unit.
    pub fn unit_ns(&self) -> Time {
        self.rate.time_ns(self.unit * self.chunk * SECTOR_BYTES)
    }
}

/// Progress of the recovery.
#[derive(Debug, Clone)]
struct Progress {
    /// Rows already resynchronised, and end of the current unit.
    rows: u64,
    unit: u64,
    /// Number of uncompleted operations.
    left: u64,
    /// True while the members are not ready.
    waits: bool,
    began: Time,
    /// Earliest start of the next unit.
    next_at: Time,
}

/// Rejects a setting of `hole` that does not fit the array.
pub fn check(config: &ArrayOptions<impl DeviceKind>) -> Result<(), Invalid> {
    if config.hole == HoleRule::PartialParity && config.redundancy != Redundancy::Parity {
        let problem = format!(
            "it needs one chunk of rotated parity, which a {} array has not; use journal",
            config.redundancy
        );
        return Err(Invalid::new(&["device.hole", "device.redundancy"], problem));
    }
    Ok(())
}

/// A write to replay from the log: stripe, sectors within it, and log entry.
pub type Replay = (u64, Range<u64>, Option<Place>);

impl Recovery {
    pub fn new(config: &ArrayOptions<impl DeviceKind>, pace: Pace, seed: u64) -> Recovery {
        Recovery {
            rule: config.hole,
            random: Xoshiro256::new(seed, TEAR_STREAM),
            dirty: BTreeMap::new(),
            progress: None,
            pace,
            held: Vec::new(),
            cuts: 0,
            stripes_dirty: 0,
            stripes_resynced: 0,
            resync_ns: 0,
            chunks_wrong: 0,
        }
    }

    /// True without pending recovery and torn stripes.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.dirty.is_empty() && self.progress.is_none()
    }

    pub fn is_going_on(&self) -> bool {
        self.progress.is_some()
    }

    /// True if requests wait for the recovery.
    pub fn holds_up(&self) -> bool {
        self.rule.has_log() && self.progress.is_some()
    }

    /// True if a row is not yet resynchronised, so that its parity may be wrong.
    #[inline]
    pub fn is_behind(&self, row: u64) -> bool {
        self.progress.as_ref().is_some_and(|it| row >= it.rows)
    }

    /// True if a stripe has a write to replay, for which reads wait.
    #[inline]
    pub fn is_replayed(&self, stripe: u64) -> bool {
        !self.dirty.is_empty() && self.rule.has_log() && self.dirty.contains_key(&stripe)
    }

    // ---- the cut ------------------------------------------------------------------------------

    /// Counts a power cut.
    pub fn cut(&mut self) {
        self.cuts += 1;
    }

    /// Draws whether an uncompleted write survives.
    pub fn lot(&mut self) -> bool {
        self.random.below(2) == 0
    }

    pub fn tear(&mut self, cut: Cut) {
        match cut {
            Cut::Repaired(stripe) if !self.rule.has_log() => self.forget(stripe),
            Cut::Repaired(_) => {}
            Cut::Torn { stripe, torn, all_there } => {
                self.stripes_dirty += 1;
                self.dirty.entry(stripe).or_default().tear(torn, all_there);
            }
        }
    }

    /// Drops outstanding operations; scheduled failures wait for the power.
    pub fn stop(&mut self, due: Vec<(Time, Event)>) {
        self.dirty.values_mut().for_each(Dirt::calm);
        self.held.extend(due.into_iter().filter(|(_, event)| matches!(event, Event::Failure(_))));
        self.progress = None;
    }

    /// Log entries still in use.
    pub fn logged(&self) -> impl Iterator<Item = Place> {
        self.dirty.values().flat_map(Dirt::torn).filter_map(|it| it.log)
    }

    /// Counts missing chunks that will be reconstructed wrong, each once. The log is replayed
    /// first.
    pub fn count_wrong(&mut self, geometry: &Geometry, members: &Members) {
        if self.rule.has_log() || geometry.is_mirror() {
            return;
        }
        for (stripe, dirt) in &mut self.dirty {
            let has = |place: &u64| {
                members.holds(geometry.member(*stripe, *place) as usize, geometry.row(*stripe))
            };
            let missing: Vec<u64> = (0..geometry.data).filter(|place| !has(place)).collect();
            let checks = (geometry.data..geometry.width).filter(has);
            let checks: Vec<u64> = checks.take(missing.len()).collect();
            if checks.len() == missing.len() {
                self.chunks_wrong += dirt.count_wrong(&missing, &checks, geometry.chunk);
            }
        }
    }

    // ---- and the way back ---------------------------------------------------------------------

    /// Restores the power. Returns the scheduled failures, and the log entries to replay.
    pub fn wake(&mut self, now: Time) -> (Vec<(Time, Event)>, Vec<Replay>) {
        let mut replays = Vec::new();
        if self.rule.has_log() {
            for (stripe, dirt) in &self.dirty {
                replays.extend(dirt.torn().map(|it| (*stripe, it.from..it.to, it.log)));
            }
        }
        let rows = if self.rule.has_log() { self.pace.rows } else { 0 };
        let left = replays.len() as u64;
        let progress = Progress { rows, unit: rows, left, waits: true, began: now, next_at: now };
        self.progress = Some(progress);
        (std::mem::take(&mut self.held), replays)
    }

    /// Stripes of the next unit, if its time has come.
    pub fn next_unit(&mut self, now: Time) -> Range<u64> {
        let pace = self.pace;
        let Some(progress) = &mut self.progress else { return 0..0 };
        let is_busy = progress.waits || progress.unit > progress.rows;
        if is_busy || progress.rows == pace.rows || now < progress.next_at {
            return 0..0;
        }
        progress.unit = (progress.rows + pace.unit).min(pace.rows);
        progress.left = (progress.unit - progress.rows) * pace.groups;
        progress.next_at = now + pace.unit_ns();
        progress.rows * pace.groups..progress.unit * pace.groups
    }

    /// Continues when the members are ready, a unit is complete, or all are. Returns the start time
    /// of the next unit.
    pub fn proceed(&mut self, is_ready: bool, now: Time) -> Option<Time> {
        let all = self.pace.rows;
        let progress = self.progress.as_mut()?;
        let mut next = None;
        if progress.waits {
            if !is_ready {
                return None;
            }
            (progress.waits, progress.began, progress.next_at) = (false, now, now);
            next = (progress.rows < all).then_some(now);
        }
        if progress.left > 0 {
            return next;
        }
        if progress.unit > progress.rows {
            progress.rows = progress.unit;
            next = (progress.rows < all).then_some(progress.next_at.max(now));
        }
        if progress.rows == all {
            self.resync_ns += now - progress.began;
            self.progress = None;
        }
        next
    }

    /// Notes the start of a stripe's resync or replay.
    pub fn write_anew(&mut self, stripe: u64) {
        self.stripes_resynced += 1;
        if self.rule == HoleRule::Resync
            && let Some(dirt) = self.dirty.get_mut(&stripe)
        {
            dirt.write_anew();
        }
    }

    /// Handles the end of a recovery operation.
    pub fn resynced(&mut self, stripe: u64, log: Option<Place>) {
        if self.dirty.get_mut(&stripe).is_some_and(|dirt| dirt.go_through(log)) {
            self.dirty.remove(&stripe);
        }
        if let Some(progress) = &mut self.progress {
            progress.left -= 1;
        }
    }

    /// Notes that a write recomputes the parity of these rows from all data.
    pub fn mend(&mut self, stripe: u64, rows: Span) {
        if let Some(dirt) = self.dirty.get_mut(&stripe) {
            dirt.mend(rows);
        }
    }

    /// Notes that this write has completed.
    pub fn mended(&mut self, stripe: u64) {
        if let Some(dirt) = self.dirty.get_mut(&stripe) {
            dirt.mended();
        }
    }

    /// Marks a stripe as consistent, right or wrong.
    pub fn forget(&mut self, stripe: u64) {
        self.dirty.remove(&stripe);
    }

    /// Report section `array.hole`: effects of power cuts on stripes in progress; `None` without a
    /// power cut.
    pub fn report(&self, now: Time) -> Option<Report> {
        let going = self.progress.as_ref().filter(|it| !it.waits);
        let going = going.map_or(0, |it| now.saturating_sub(it.began));
        (self.cuts > 0).then(|| {
            ssd::section! {
                "stripes_dirty": self.stripes_dirty,
                "stripes_resynced": self.stripes_resynced,
                "resync_seconds": Field::seconds(self.resync_ns + going),
                "chunks_wrong": self.chunks_wrong,
            }
        })
    }

    /// Torn stripes with their torn writes.
    #[cfg(test)]
    pub fn dirty(&self) -> impl Iterator<Item = (u64, &Dirt)> {
        self.dirty.iter().map(|(stripe, dirt)| (*stripe, dirt))
    }
}

#[cfg(test)]
mod tests {
    use super::super::torn::Torn;
    use super::*;
    use crate::OfLaws;

    const PACE: Pace = Pace { rate: Bandwidth::UNLIMITED, unit: 2, rows: 5, groups: 1, chunk: 4 };

    fn torn(log: Option<Place>) -> Cut {
        let hull = Span { from: 0, to: 4 };
        let there = vec![Some(true), None, Some(false)];
        Cut::Torn { stripe: 3, torn: Torn { from: 0, to: 4, hull, there, log }, all_there: false }
    }

    fn recovery(hole: HoleRule) -> Recovery {
        Recovery::new(&OfLaws { hole, ..OfLaws::default() }, PACE, 1)
    }

    #[test]
    fn without_a_log_all_stripes_are_gone_through_a_unit_at_a_time() {
        let mut it = recovery(HoleRule::Resync);
        it.cut();
        it.tear(torn(None));
        it.stop(vec![(9, Event::LinkFree), (50, Event::Failure(1))]);
        let (due, replays) = it.wake(100);
        assert_eq!((due, replays.len()), (vec![(50, Event::Failure(1))], 0));
        assert!(it.is_behind(0) && !it.is_replayed(3) && !it.holds_up());
        // Not before the members are ready.
        assert_eq!((it.next_unit(100), it.proceed(false, 150)), (0..0, None));
        assert_eq!(it.proceed(true, 200), Some(200));
        let mut units = Vec::new();
        loop {
            let unit = it.next_unit(200 + units.len() as Time);
            for stripe in unit.clone() {
                it.write_anew(stripe);
                assert_eq!(it.proceed(true, 0), None, "the unit is not done");
                it.resynced(stripe, None);
            }
            units.push(unit);
            if it.proceed(true, 200 + units.len() as Time).is_none() {
                break;
            }
        }
        assert_eq!(units, [0..2, 2..4, 4..5]);
        assert!(it.is_closed() && !it.is_behind(4));
        let report = it.report(900).unwrap();
        assert_eq!((report.count("stripes_dirty"), report.count("stripes_resynced")), (1, 5));
        assert_eq!(report.count("resync_seconds"), 3, "ns");
    }

    #[test]
    fn what_a_log_has_is_done_again_and_nothing_else() {
        let mut it = recovery(HoleRule::Journal);
        let place = Place { log: 0, first: 7, blocks: 2 };
        it.tear(torn(Some(place)));
        it.stop(Vec::new());
        assert_eq!(it.logged().collect::<Vec<_>>(), [place]);
        assert_eq!(it.wake(10).1, [(3, 0..4, Some(place))]);
        assert!(it.is_replayed(3) && !it.is_behind(3) && it.holds_up());
        assert_eq!((it.proceed(true, 20), it.next_unit(20)), (None, 0..0));
        it.resynced(3, Some(place));
        assert!(it.holds_up() && !it.is_replayed(3));
        assert_eq!(it.proceed(true, 30), None);
        assert!(it.is_closed());
    }
}
