//! Power cuts: loss of outstanding operations, state of torn stripes, and recovery.

use super::Desk;
use super::Raid;
use super::message::{Kind, Message, NONE, Start};
use super::plans;
use super::recovery::Replay;
use super::sight::Sight;
#[cfg(test)]
use super::symbolic;
use crate::clock::Event;
use crate::members::Members;
use engine::Completion;
use ssd::device::kit::slots::Slot;
use std::collections::BTreeMap;

impl Raid {
    /// Cuts the power of all members at the same time.
    pub fn cut(&mut self, desk: &mut Desk<'_>, completions: &mut Vec<Completion>) {
        self.recovery.cut();
        self.tear(desk.members);
        desk.members.cut(desk.now);
        desk.front.lose_power(desk.now, completions);
        // The controller loses its outstanding operations.
        self.recovery.stop(desk.clock.clear());
        self.plans.clear();
        self.stripes.clear();
        self.rebuilds.lose_power();
        self.log.keep_only(self.recovery.logged());
        #[cfg(test)]
        self.events.push(symbolic::Event::PowerLost);
        self.recovery.count_wrong(&self.geometry, desk.members);
    }

    /// Determines the torn stripes and their content.
    fn tear(&mut self, members: &Members) {
        let mut under_way: BTreeMap<Slot, Vec<plans::CutPart>> = BTreeMap::new();
        #[cfg_attr(not(test), expect(unused_variables, reason = "a test notes the part"))]
        for (id, part) in members.parts() {
            let is_there = part.purpose.is_write() && self.recovery.lot();
            #[cfg(test)]
            self.events.push(symbolic::Event::Torn { id, is_there });
            let parts = under_way.entry(part.operation).or_default();
            parts.push((part.place, part.purpose, is_there));
        }
        for slot in self.plans.taken() {
            if self.plans.of(slot).is_queued() && self.stripes.has_turn(slot) {
                let parts = under_way.remove(&slot).unwrap_or_default();
                let sight = Sight { geometry: &self.geometry, members, recovery: &self.recovery };
                if let Some(cut) = self.plans.cut(slot, &parts, sight) {
                    self.recovery.tear(cut);
                }
            }
        }
    }

    /// Restores the power.
    pub fn wake(&mut self, desk: &mut Desk<'_>) {
        let now = desk.now;
        let (due, replays) = self.recovery.wake(now);
        for (at, event) in due {
            desk.clock.push(at.max(now), event);
        }
        desk.members.power_on(now);
        for member in self.rebuilds.wake(now) {
            desk.clock.push(now, Event::Rebuild(member));
        }
        desk.clock.push(now, Event::Resync);
        let replay = |(stripe, data, log): Replay| {
            let (from, to) = (data.start, data.end);
            Message::Start(Start { owner: NONE, kind: Kind::Resync, stripe, from, to, log })
        };
        self.agenda.extend(replays.into_iter().rev().map(replay));
        self.hand_on(desk);
    }
}
