//! What an array does in time: its events are those of its link and of its members.

use super::Array;
use super::active::{Active, LINK_ARRIVAL};
use super::parts::{check, inward_bytes};
use engine::{Completion, Device, Followed, Request, Time};

impl Device for Array {
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
        self.next_inside()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(now) = self.next_inside().filter(|at| *at <= to) {
            while let Some((_, payload)) = self.events.pop_until(now) {
                if payload == LINK_ARRIVAL {
                    let active = &self.active;
                    self.link.arrive(|slot| inward_bytes(&active[slot].request));
                }
                self.pump(now);
            }
            let mut parts = std::mem::take(&mut self.parts);
            for (member, due) in self.members.iter_mut().zip(&mut self.due) {
                if *due <= now {
                    member.advance(now, &mut parts);
                    *due = member.next_event().unwrap_or(Time::MAX);
                }
            }
            for part in parts.drain(..) {
                self.part_done(&part, now);
            }
            self.parts = parts;
            self.steer(now);
        }
        completions.append(&mut self.done);
    }

    /// With its first member: it then refuses some writes.
    fn has_ended(&self) -> bool {
        self.members.iter().any(|member| member.has_ended())
    }

    fn may_refuse(&self) -> bool {
        self.members.iter().any(|member| member.may_refuse())
    }

    fn followed(&self) -> Option<Followed> {
        let mut all = Followed::default();
        for member in &self.members {
            all += member.followed()?;
        }
        Some(all)
    }

    fn capacity_sectors(&self) -> u64 {
        self.stripes.capacity()
    }
}

impl Array {
    /// Members that clean together are coordinated.
    #[inline]
    fn steer(&mut self, now: Time) {
        if self.steering.is_on() {
            self.steering.look(&mut self.members, |_| true, now);
            for (member, due) in self.members.iter().zip(&mut self.due) {
                *due = member.next_event().unwrap_or(Time::MAX);
            }
        }
    }
}
