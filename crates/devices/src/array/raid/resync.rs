//! What is done after a cut: stripes are gone through beside the load, or what the log has is done again
//! before anything else of its stripe.

use super::Raid;
use super::hole::Resync;
use super::operation::{Kind, NONE, Operation, Purpose, Span, Stage};
use super::rebuild::REBUILD;
use super::state::State;
use crate::array::redundancy::HoleRule;
use crate::kit::slots::Slot;
use engine::{Device, SECTOR_BYTES, Time};

/// The event of the next unit of stripes that are gone through.
pub(super) const RESYNC: u32 = 1 << 15;

impl Raid {
    /// The power is on again.
    pub(super) fn wake(&mut self, now: Time) {
        for (at, payload) in std::mem::take(&mut self.hole.due) {
            self.events.push(at.max(now), payload);
        }
        for number in 0..self.members.len() {
            let member = &mut self.members[number];
            if !member.has_failed() {
                self.drives[member.drive as usize].power_on(now);
            }
            if let State::Rebuilding(progress) = &mut member.state {
                progress.next_at = now;
                self.events.push(now, REBUILD + number as u32);
            }
        }
        let mut replays = Vec::new();
        if self.hole.rule.has_log() {
            for (stripe, dirt) in &self.hole.dirty {
                let all = dirt.torn.iter();
                replays.extend(all.map(|it| (*stripe, it.from..it.to, it.log)));
            }
        }
        let rows = if self.hole.rule.has_log() { self.geometry.rows } else { 0 };
        let left = replays.len() as u64;
        let resync = Resync { rows, unit: rows, left, waits: true, began: now, next_at: now };
        self.hole.resync = Some(resync);
        self.events.push(now, RESYNC);
        for (stripe, data, log) in replays {
            let operation = Operation::new(NONE, Kind::Resync, stripe, data, now);
            let slot = self.operations.insert(Operation { log, ..operation });
            #[cfg(test)]
            self.log.push(super::symbolic::Event::Started { slot, stripe });
            self.enqueue(slot, now);
        }
    }

    /// Whether a stripe has not been gone through since the last cut, so that its parity may not fit.
    #[inline]
    pub(super) fn is_behind(&self, stripe: u64) -> bool {
        let resync = self.hole.resync.as_ref();
        resync.is_some_and(|it| self.geometry.row(stripe) >= it.rows)
    }

    /// Whether part of a stripe must be rewritten, so that reads wait.
    #[inline]
    pub(super) fn is_replayed(&self, stripe: u64) -> bool {
        !self.hole.dirty.is_empty()
            && self.hole.rule.has_log()
            && self.hole.dirty.contains_key(&stripe)
    }

    /// Begins the next unit, if it is time.
    pub(super) fn resync_unit(&mut self, now: Time) {
        let (all, unit) = (self.geometry.rows, self.rebuilding.rows);
        let groups = self.geometry.stripes() / all;
        let bytes = unit * self.geometry.chunk * SECTOR_BYTES;
        let Some(resync) = &mut self.hole.resync else { return };
        if resync.waits || resync.unit > resync.rows || resync.rows == all || now < resync.next_at {
            return;
        }
        resync.unit = (resync.rows + unit).min(all);
        resync.left = (resync.unit - resync.rows) * groups;
        resync.next_at = now + self.rebuilding.rate.time_ns(bytes);
        for stripe in resync.rows * groups..resync.unit * groups {
            self.start(NONE, Kind::Resync, stripe, 0..0, now);
        }
    }

    /// Continues once the members are ready, a unit is done, or everything is.
    pub(super) fn go_on_with_resync(&mut self, now: Time) {
        let is_ready = self.in_use().all(Device::is_ready);
        let all = self.geometry.rows;
        let Some(resync) = &mut self.hole.resync else { return };
        if resync.waits {
            if !is_ready {
                return;
            }
            (resync.waits, resync.began, resync.next_at) = (false, now, now);
            if resync.rows < all {
                self.events.push(now, RESYNC);
            }
        }
        if resync.left > 0 {
            return;
        }
        if resync.unit > resync.rows {
            resync.rows = resync.unit;
            if resync.rows < all {
                self.events.push(resync.next_at.max(now), RESYNC);
            }
        }
        if resync.rows == all {
            self.hole.resync_ns += now - resync.began;
            self.hole.resync = None;
        }
    }

    /// Reads what is put right follows from.
    pub(super) fn begin_resync(&mut self, slot: Slot, now: Time) {
        let operation = self.operations[slot];
        let (stripe, chunk) = (operation.stripe, self.geometry.chunk);
        let (data, width) = (self.geometry.data, self.geometry.width);
        let whole = Span { from: 0, to: chunk };
        let there = (0..width).filter(|place| self.has(stripe, *place)).count() as u64;
        match self.hole.rule {
            HoleRule::Resync if self.geometry.is_mirror() && there > 1 => {
                let source = self.source(stripe).expect("two are there");
                self.issue(slot, Purpose::Other, source, whole, now);
            }
            HoleRule::Resync if !self.geometry.is_mirror() && there == width => {
                (0..data).for_each(|place| self.issue(slot, Purpose::Other, place, whole, now));
            }
            // A missing chunk cannot be reconstructed from parity that may be wrong.
            HoleRule::Resync => self.operations[slot].stage = Stage::Ending,
            HoleRule::PartialParity => {
                let rows = self.replayed_rows(&operation);
                if rows.is_empty() {
                    self.operations[slot].stage = Stage::Ending;
                } else {
                    for place in operation.touched(chunk) {
                        if self.has(stripe, place) {
                            let span = operation.span(place, chunk).within(rows);
                            self.issue(slot, Purpose::Other, place, span, now);
                        }
                    }
                    self.recall(slot, data, now);
                }
            }
            HoleRule::Journal => {
                for place in 0..width {
                    if self.is_written(&operation, place) && self.has(stripe, place) {
                        self.recall(slot, place, now);
                    }
                }
            }
        }
        self.settle(slot, now);
    }

    /// The copy that the others are made equal to.
    fn source(&self, stripe: u64) -> Option<u64> {
        (0..self.geometry.width).find(|place| self.has(stripe, *place))
    }

    /// Rows whose parity follows from the log and from what is there: not those of a chunk that was being
    /// written and is missing.
    fn replayed_rows(&self, operation: &Operation) -> Span {
        let (chunk, stripe) = (self.geometry.chunk, operation.stripe);
        if !self.has(stripe, self.geometry.data) {
            return Span::default();
        }
        let missing = operation.touched(chunk).find(|place| !self.has(stripe, *place));
        let hull = operation.hull(chunk);
        missing.map_or(hull, |place| {
            let own = operation.span(place, chunk);
            if own == hull { Span::default() } else { hull.without(own) }
        })
    }

    pub(super) fn write_resynced(&mut self, slot: Slot, now: Time) {
        let operation = self.operations[slot];
        let stripe = operation.stripe;
        let (data, width) = (self.geometry.data, self.geometry.width);
        let whole = Span { from: 0, to: self.geometry.chunk };
        let is_whole = (0..width).all(|place| self.has(stripe, place));
        if !is_whole && !self.geometry.is_mirror() && !self.hole.rule.has_log() {
            // A member has failed since it was read.
            return;
        }
        self.hole.stripes_resynced += 1;
        match self.hole.rule {
            HoleRule::Resync => {
                let is_mirror = self.geometry.is_mirror();
                let first =
                    if is_mirror { self.source(stripe).map_or(width, |it| it + 1) } else { data };
                for place in first..width {
                    if self.has(stripe, place) {
                        self.issue(slot, Purpose::Write, place, whole, now);
                    }
                }
                if let Some(dirt) = self.hole.dirty.get_mut(&stripe) {
                    dirt.is_written_anew = true;
                }
            }
            HoleRule::PartialParity => {
                let rows = self.replayed_rows(&operation);
                self.issue(slot, Purpose::Write, data, rows, now);
            }
            HoleRule::Journal => {
                for place in 0..width {
                    if self.is_written(&operation, place) && self.has(stripe, place) {
                        let span = self.written_span(&operation, place);
                        self.issue(slot, Purpose::Write, place, span, now);
                    }
                }
            }
        }
    }

    /// An operation of the recovery has ended.
    pub(super) fn resynced(&mut self, operation: &Operation) {
        let dirty = &mut self.hole.dirty;
        if let Some(dirt) = dirty.get_mut(&operation.stripe) {
            if operation.log.is_some() {
                dirt.torn.retain(|it| it.log != operation.log);
            }
            let is_over =
                if operation.log.is_some() { dirt.torn.is_empty() } else { dirt.is_written_anew };
            if is_over {
                dirty.remove(&operation.stripe);
            }
        }
        if let Some(resync) = &mut self.hole.resync {
            resync.left -= 1;
        }
    }

    /// A write makes the parity of its rows anew, of all their data.
    pub(super) fn mend(&mut self, slot: Slot) {
        let operation = &self.operations[slot];
        let (stripe, hull) = (operation.stripe, operation.hull(self.geometry.chunk));
        let is_whole = (0..self.geometry.width).all(|place| self.has(stripe, place));
        if is_whole
            && self.is_behind(stripe)
            && let Some(dirt) = self.hole.dirty.get_mut(&stripe)
        {
            dirt.mending = Some(hull);
        }
    }

    /// An operation is over: what it wrote is there, and what the log has of it is worthless.
    pub(super) fn written(&mut self, operation: &Operation, now: Time) {
        let stripe = operation.stripe;
        if operation.kind == Kind::Resync {
            self.resynced(operation);
        } else if operation.is_queued
            && let Some(dirt) = self.hole.dirty.get_mut(&stripe)
            && let Some(rows) = dirt.mending.take()
        {
            dirt.torn.iter_mut().for_each(|it| it.mended.push(rows));
        }
        if let Some(place) = operation.log {
            self.hole.log.free(place);
            self.log_what_waits(now);
        }
    }
}
