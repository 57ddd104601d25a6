//! Untimed operation, saved state and reports of an array: each by asking its members.

use super::config::{Layout, in_member};
use super::{Array, report};
use crate::disk::DiskReport;
use crate::energy::EnergyReport;
use crate::ssd::snapshot::{ARRAY_KEY, compare};
use crate::ssd::timeline::{Timeline, Window};
use crate::ssd::{Room, Snapshot, SsdReport};
use crate::{Examine, Looks, Model, Persist, Prepare, Run, Writes};
use engine::{Device, Op, Request, Status, Time};

impl Prepare for Array {
    fn preparable_pages(&self) -> u64 {
        self.pages_of_each() * self.members.len() as u64
    }

    fn memory(&self, share: f64) -> u64 {
        self.members.iter().map(|member| member.memory(share)).sum()
    }

    fn volumes(&self) -> u32 {
        match self.layout {
            Layout::Striped => 1,
            Layout::Concatenated => self.members.len() as u32,
        }
    }

    /// The pages of striped members are numbered in turn, whatever the stripe, of which pages know
    /// nothing: each member is written in the same order.
    fn overwrite_untimed(&mut self, pages: &[u64]) {
        let places = self.places();
        for page in pages {
            let (member, place) = places.of(*page);
            self.batches[member as usize].push(place);
        }
        for (member, batch) in self.members.iter_mut().zip(&mut self.batches) {
            if !batch.is_empty() {
                member.overwrite_untimed(batch);
                batch.clear();
            }
        }
    }

    fn divide(&mut self, parts: u32) -> Result<u32, &'static str> {
        self.divide(parts)
    }

    fn overwrite_divided(&mut self, writes: &dyn Writes, run: &mut Run<'_>) {
        self.overwrite_divided(writes, run);
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        if request.op == Op::Flush {
            let answers = self.members.iter_mut().map(|member| member.serve_untimed(request));
            return answers.fold(Status::Ok, Status::and);
        }
        let parts = self.stripes.parts(*request);
        let answers = parts.map(|(member, part)| self.members[member].serve_untimed(&part));
        answers.fold(Status::Ok, Status::and)
    }
}

impl Persist for Array {
    fn rests(&self) -> bool {
        self.next_event().is_none() && self.members.iter().all(|member| member.rests())
    }

    fn save(&self) -> Option<Snapshot> {
        if !self.alike {
            return None;
        }
        save(&self.members, &self.shape)
    }

    fn room(&self, shape: &[(String, String)]) -> Result<Room, String> {
        if !self.alike {
            return Err(UNLIKE.to_owned());
        }
        room(&self.members, &self.shape, shape)
    }

    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        if !self.alike {
            return Err(UNLIKE.to_owned());
        }
        let restored = restore(&mut self.members, &self.shape, snapshot);
        self.due = super::all_due(&self.members);
        restored
    }
}

/// Why an array cannot be restored.
pub(super) const UNLIKE: &str = "an array of unlike members (device.each) cannot be restored";

/// The drives of an array one after the other, under its own keys and those of a member.
pub(super) fn save(drives: &[Box<dyn Model>], own: &[(String, String)]) -> Option<Snapshot> {
    let mut kept = Vec::new();
    let mut shape = Vec::new();
    for drive in drives {
        let snapshot = drive.save()?;
        kept.extend(snapshot.drives);
        shape = snapshot.shape;
    }
    let of_member = shape.into_iter().map(|(key, value)| (in_member(&key), value));
    Some(Snapshot { shape: own.iter().cloned().chain(of_member).collect(), drives: kept })
}

/// The shape of a member in that of an array with these keys.
fn shape_of_member(
    theirs: &[(String, String)],
    own: &[(String, String)],
) -> Result<Vec<(String, String)>, String> {
    if theirs.first().is_none_or(|(key, _)| key != ARRAY_KEY) {
        return Err("it is of a single drive, and this device is an array".to_owned());
    }
    let (theirs, of_member) = theirs.split_at(own.len().min(theirs.len()));
    compare(theirs, own)?;
    let key = |key: &str| key.replacen("device.member.", "device.", 1);
    Ok(of_member.iter().map(|(name, value)| (key(name), value.clone())).collect())
}

/// What the drives of an array with the same keys may hold.
pub(super) fn room(
    drives: &[Box<dyn Model>],
    own: &[(String, String)],
    theirs: &[(String, String)],
) -> Result<Room, String> {
    let room = drives[0].room(&shape_of_member(theirs, own)?);
    room.map(|room| room.times(drives.len())).map_err(|problem| of_member(0, &problem))
}

/// What is wrong with the state of a member.
fn of_member(number: usize, problem: &str) -> String {
    format!("member {number}: {}", problem.replace("device.", "device.member."))
}

/// Takes up the drives of an array with the same keys.
pub(super) fn restore(
    drives: &mut [Box<dyn Model>],
    own: &[(String, String)],
    snapshot: Snapshot,
) -> Result<(), String> {
    let shape = shape_of_member(&snapshot.shape, own)?;
    let count = drives.len();
    if !snapshot.drives.len().is_multiple_of(count) {
        return Err(format!("it holds {} drives, of {count} members", snapshot.drives.len()));
    }
    let each = snapshot.drives.len() / count;
    let mut kept = snapshot.drives.into_iter();
    for (number, drive) in drives.iter_mut().enumerate() {
        let drives = kept.by_ref().take(each).collect();
        let snapshot = Snapshot { shape: shape.clone(), drives };
        drive.restore(snapshot).map_err(|problem| of_member(number, &problem))?;
    }
    Ok(())
}

impl Examine for Array {
    fn reset_counts(&mut self) {
        for member in &mut self.members {
            member.reset_counts();
        }
    }

    fn begin_load(&mut self) {
        for member in &mut self.members {
            member.begin_load();
        }
    }

    fn begin_account(&mut self, now: Time) {
        for member in &mut self.members {
            member.begin_account(now);
        }
    }

    fn audit(&self) -> Result<(), String> {
        let numbered = self.members.iter().enumerate();
        for (number, member) in numbered {
            member.audit().map_err(|problem| format!("member {number}: {problem}"))?;
        }
        if self.due != super::all_due(&self.members) {
            return Err("a member has another next event than the array knows".to_owned());
        }
        if !self.active.is_empty() && self.next_inside().is_none() {
            return Err("requests are outstanding and no member has an event".to_owned());
        }
        Ok(())
    }

    fn blocks(&self, looks: &mut Looks) {
        for member in &self.members {
            member.blocks(looks);
        }
    }

    fn record_operations(&mut self, window: Window) {
        for member in &mut self.members {
            member.record_operations(window);
        }
    }

    fn take_operations(&mut self) -> Option<Timeline> {
        let all = self.members.iter_mut().map(|member| member.take_operations());
        all.collect::<Option<Vec<_>>>().map(Timeline::together)
    }

    fn disk_report(&self, end: Time) -> Option<DiskReport> {
        DiskReport::together(self.members.iter().map(|member| member.disk_report(end)))
    }

    fn energy_report(&self, end: Time) -> Option<EnergyReport> {
        EnergyReport::together(self.members.iter().map(|member| member.energy_report(end)))
    }

    fn report(&self, end: Time) -> Option<SsdReport> {
        let reports = self.members.iter().map(|member| member.report(end));
        report::together(reports.collect())
    }
}
