//! What an array with redundancy does in time: its events are those of its link, of its members, of
//! failures and of rebuilds.

use super::Raid;
use super::active::Active;
use super::failures::FAILURE;
use super::rebuild::REBUILD;
use super::resync::RESYNC;
use crate::Model;
use crate::array::active::LINK_ARRIVAL;
use crate::array::parts::{check, inward_bytes};
use engine::{Completion, Device, Followed, Request, Time};

impl Device for Raid {
    fn submit(&mut self, now: Time, request: Request) {
        check(&request, self.capacity_sectors());
        let slot = self.active.insert(Active::new(request, now));
        if let Some(at) = self.link.send(slot, inward_bytes(&request), now) {
            self.events.push(at, LINK_ARRIVAL);
        }
        self.pump(now);
        self.steer(now);
    }

    fn next_event(&self) -> Option<Time> {
        if !self.done.is_empty() {
            return Some(self.done[0].at);
        }
        self.next_inside()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(now) = self.next_inside().filter(|at| *at <= to) {
            while let Some((_, payload)) = self.events.pop_until(now) {
                self.happen(payload, now);
            }
            let mut completed = std::mem::take(&mut self.completed);
            for member in 0..self.members.len() {
                let drive = self.members[member].drive as usize;
                if self.members[member].has_failed() {
                    continue;
                }
                if self.drives[drive].next_event().is_some_and(|at| at <= now) {
                    self.drives[drive].advance(now, &mut completed);
                }
                for part in completed.drain(..) {
                    self.part_done(member, &part, now);
                }
            }
            self.completed = completed;
            self.end_units(now);
            self.pump(now);
            self.steer(now);
        }
        completions.append(&mut self.done);
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.lose_power(now, completions);
    }

    fn power_on(&mut self, now: Time) {
        self.wake(now);
    }

    /// Once its members are, and what the log has is done.
    fn is_ready(&self) -> bool {
        self.in_use().all(Device::is_ready)
            && !(self.hole.rule.has_log() && self.hole.resync.is_some())
    }

    /// With its first member: it then refuses some writes.
    fn has_ended(&self) -> bool {
        self.in_use().any(Device::has_ended)
    }

    fn may_refuse(&self) -> bool {
        self.in_use().any(Device::may_refuse) || self.fate.lost_sectors > 0
    }

    fn followed(&self) -> Option<Followed> {
        let mut all = Followed::default();
        for drive in self.ever_used() {
            all += drive.followed()?;
        }
        Some(all)
    }

    fn capacity_sectors(&self) -> u64 {
        self.geometry.capacity()
    }
}

impl Raid {
    /// An event of the array itself.
    fn happen(&mut self, payload: u32, now: Time) {
        if payload >= FAILURE {
            self.fail((payload - FAILURE) as usize, now);
        } else if payload >= REBUILD {
            self.rebuild((payload - REBUILD) as usize, now);
        } else if payload == RESYNC {
            self.resync_unit(now);
        } else {
            if payload == LINK_ARRIVAL {
                let active = &self.active;
                self.link.arrive(|slot| inward_bytes(&active[slot].request));
            }
            self.pump(now);
        }
    }

    /// Members that clean together or in turn are coordinated.
    #[inline]
    fn steer(&mut self, now: Time) {
        if self.steering.is_on() {
            let members = &self.members;
            let in_use = |drive: usize| {
                members.iter().any(|it| it.drive as usize == drive && !it.has_failed())
            };
            self.steering.look(&mut self.drives, in_use, now);
        }
    }

    /// The earliest event of the link, the members, failures and rebuilds.
    pub(super) fn next_inside(&self) -> Option<Time> {
        let drives = self.in_use().filter_map(Device::next_event);
        drives.chain(self.events.next_at()).min()
    }

    /// The drives of the members that have not failed.
    pub(super) fn in_use(&self) -> impl Iterator<Item = &dyn Model> {
        let members = self.members.iter().filter(|it| !it.has_failed());
        members.map(|it| &*self.drives[it.drive as usize])
    }

    /// Every drive but the spares that are idle.
    pub(super) fn ever_used(&self) -> impl Iterator<Item = &dyn Model> {
        let count = self.members.len() + self.spares_used;
        self.drives[..count].iter().map(|drive| &**drive)
    }
}
