//! The cut itself: what is under way is gone, and what of torn stripes is there is found out.

use super::Raid;
use super::failures::FAILURE;
use super::operation::{Kind, Operation, Purpose, Stage};
use super::state::State;
use super::torn::Torn;
use crate::kit::slots::{Slot, Slots};
use crate::latency::UNIT_WAIT;
use engine::{Breakdown, Completion, Random as _, Status, Time};
use std::collections::BTreeMap;

impl Raid {
    /// The power goes, of all members at the same instant.
    pub(super) fn lose_power(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.hole.cuts += 1;
        self.tear();
        let mut parts = Vec::new();
        for member in self.members.iter().filter(|it| !it.has_failed()) {
            self.drives[member.drive as usize].cut(now, &mut parts);
        }
        completions.append(&mut self.done);
        let mut lost: Vec<_> =
            self.active.taken().into_iter().map(|slot| self.active[slot]).collect();
        lost.sort_by_key(|active| (active.submitted, active.request.id));
        completions.extend(lost.into_iter().map(|active| Completion {
            request: active.request,
            submitted: active.submitted,
            at: now,
            breakdown: Breakdown::of(UNIT_WAIT, now - active.submitted),
            status: Status::PowerLost,
        }));
        self.forget();
        self.count_wrong();
    }

    /// What the controller knew of what was under way is gone.
    fn forget(&mut self) {
        while let Some((at, payload)) = self.events.pop_until(Time::MAX) {
            if payload >= FAILURE {
                self.hole.due.push((at, payload));
            }
        }
        self.link.lose_power();
        self.active = Slots::new();
        self.operations = Slots::new();
        self.parts = Slots::new();
        self.busy.first.clear();
        self.flushes.clear();
        self.units_done.clear();
        self.writes_under_way = 0;
        for member in &mut self.members {
            member.queue = 0;
            if let State::Rebuilding(progress) = &mut member.state {
                progress.left = 0;
                progress.done.clear();
            }
        }
        self.hole.resync = None;
        let torn = self.hole.dirty.values().flat_map(|dirt| &dirt.torn);
        self.hole.log.keep_only(torn.filter_map(|it| it.log));
        #[cfg(test)]
        self.log.push(super::symbolic::Event::PowerLost);
    }

    /// Finds out which stripes are torn, and what of them is there.
    fn tear(&mut self) {
        let mut under_way: BTreeMap<Slot, Vec<(u64, Purpose, bool)>> = BTreeMap::new();
        for id in self.parts.taken() {
            let part = self.parts[id];
            let is_there = part.purpose.is_write() && self.hole.random.below(2) == 0;
            #[cfg(test)]
            self.log.push(super::symbolic::Event::Torn { id, is_there });
            let parts = under_way.entry(part.operation).or_default();
            parts.push((part.place, part.purpose, is_there));
        }
        for slot in self.operations.taken() {
            let operation = &self.operations[slot];
            if operation.is_queued && operation.is_running {
                let parts = under_way.remove(&slot).unwrap_or_default();
                self.tear_operation(slot, &parts);
            }
        }
        for dirt in self.hole.dirty.values_mut() {
            (dirt.is_written_anew, dirt.mending) = (false, None);
        }
    }

    fn tear_operation(&mut self, slot: Slot, parts: &[(u64, Purpose, bool)]) {
        let operation = self.operations[slot];
        let (stripe, chunk) = (operation.stripe, self.geometry.chunk);
        let all_there = parts.iter().all(|it| it.2);
        if operation.kind == Kind::Resync && operation.stage == Stage::Ending && all_there {
            if !self.hole.rule.has_log() {
                self.hole.dirty.remove(&stripe);
            }
            return;
        }
        let is_change = matches!(operation.kind, Kind::Write | Kind::Trim);
        if !is_change || !matches!(operation.stage, Stage::Ending | Stage::Chained) {
            return;
        }
        let first_check = if self.geometry.is_mirror() { 1 } else { self.geometry.data };
        if !(first_check..self.geometry.width).any(|place| self.has(stripe, place)) {
            // There is nothing that could not fit.
            return;
        }
        let is_over = operation.stage == Stage::Ending;
        let mut begun = false;
        let there = |place: u64| {
            if !self.is_written(&operation, place) || !self.has(stripe, place) {
                return None;
            }
            let mut of_place = parts.iter().filter(|it| it.0 == place);
            let write = of_place.clone().find(|it| it.1 == Purpose::Write);
            let is_read = of_place.any(|it| it.1 == Purpose::Own);
            let done = is_over || place < self.geometry.data && !is_read;
            let is_there = write.map_or(done, |it| it.2);
            begun |= is_there || write.is_some();
            Some(is_there)
        };
        let there: Vec<_> = (0..self.geometry.width).map(there).collect();
        if !begun {
            return;
        }
        self.hole.stripes_dirty += 1;
        let dirt = self.hole.dirty.entry(stripe).or_default();
        if let Some(rows) = dirt.mending.filter(|_| all_there) {
            dirt.torn.iter_mut().for_each(|it| it.mended.push(rows));
        }
        dirt.torn.push(Torn {
            from: operation.from,
            to: operation.to,
            hull: operation.hull(chunk),
            there,
            mended: Vec::new(),
            log: operation.log,
        });
    }

    /// Counts the chunks that are lost and come out wrong, each once. What the log has is put right first.
    pub(super) fn count_wrong(&mut self) {
        if self.hole.rule.has_log() || self.hole.dirty.is_empty() || self.geometry.is_mirror() {
            return;
        }
        let mut dirty = std::mem::take(&mut self.hole.dirty);
        let (data, width, chunk) = (self.geometry.data, self.geometry.width, self.geometry.chunk);
        for (stripe, dirt) in &mut dirty {
            let missing: Vec<u64> = (0..data).filter(|place| !self.has(*stripe, *place)).collect();
            let checks = (data..width).filter(|place| self.has(*stripe, *place));
            let checks: Vec<u64> = checks.take(missing.len()).collect();
            if checks.len() < missing.len() || dirt.is_written_anew {
                continue;
            }
            for place in missing {
                if !dirt.counted.contains(&place) && dirt.is_wrong(place, &checks, chunk) {
                    dirt.counted.push(place);
                    self.hole.chunks_wrong += 1;
                }
            }
        }
        self.hole.dirty = dirty;
    }

    /// Whether an operation writes to a place of its stripe.
    pub(super) fn is_written(&self, operation: &Operation, place: u64) -> bool {
        self.geometry.is_mirror()
            || place >= self.geometry.data
            || operation.touched(self.geometry.chunk).contains(&place)
    }
}
