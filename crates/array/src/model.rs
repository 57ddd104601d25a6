//! Untimed operation, saved state and reports of an array, derived from its members.

use super::config::in_member;
use super::kind::NOT_RECONSTRUCTED;
use super::{Array, Body, Layout};
use engine::{Device, Op, Request, Status, Time};
use ssd::device::energy::EnergyReport;
use ssd::device::{
    Condition, Constants, Division, Field, Instruction, Looks, Model, Report, Run, Writes,
};
use ssd::snapshot::{ARRAY_KEY, compare};
use ssd::timeline::Timeline;
use ssd::{PageTable, Room, Snapshot};

impl Model for Array {
    fn instruct(&mut self, now: Time, instruction: Instruction) -> Result<(), String> {
        match (instruction, &mut self.body) {
            (Instruction::ResetCounts, Body::Raid(raid)) => {
                raid.reset_counts();
                raid.rewind_logs();
            }
            (Instruction::BeginAccount, Body::Raid(raid)) => raid.reset_counts(),
            (Instruction::Age(_), Body::Raid(_)) => return Err(NOT_RECONSTRUCTED.to_owned()),
            // The array coordinates its members, their writes have no pace, and handles are of each member.
            (
                Instruction::CleanNow
                | Instruction::PutOffCleaning(_)
                | Instruction::Pace(_)
                | Instruction::NextUnit(_)
                | Instruction::Unite,
                _,
            ) => return instruction.without_effect(),
            _ => {}
        }
        if matches!(instruction, Instruction::ResetCounts | Instruction::BeginAccount) {
            self.members.reset_counts();
        }
        let mut tell = |drive: &mut Box<dyn Model>| drive.instruct(now, instruction);
        self.members.change(|drives| drives.iter_mut().try_for_each(&mut tell))
    }

    fn facts(&self) -> Constants<'_> {
        let pages = match &self.body {
            Body::Spread(_) => self.pages_of_each() * self.members.len() as u64,
            Body::Raid(raid) => raid.preparable_pages(),
        };
        let volumes = match self.layout {
            Layout::Striped => 1,
            Layout::Concatenated => self.members.len() as u32,
        };
        Constants { pages, volumes, zones: None }
    }

    fn condition(&self) -> Condition {
        let all = Condition::together(self.members.drives().iter().map(|drive| drive.condition()));
        Condition { rests: all.rests && self.next_event().is_none(), ..all }
    }

    fn copied(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(self.clone()))
    }

    fn audit(&self) -> Result<(), String> {
        // A member that failed during recovery keeps its state.
        let ready = self.members.drives().iter().enumerate().filter(|it| it.1.standing().is_ready);
        for (number, drive) in ready {
            drive.audit().map_err(|problem| format!("member {number}: {problem}"))?;
        }
        self.members.audit()?;
        match &self.body {
            Body::Raid(raid) if self.front.is_empty() => raid.audit(&self.members)?,
            Body::Raid(_) | Body::Spread(_) => {}
        }
        if !self.front.is_empty() && self.next_inside() == Time::MAX {
            return Err("requests are outstanding and no member has an event".to_owned());
        }
        Ok(())
    }

    fn blocks(&self, looks: &mut Looks) {
        for drive in self.members.ever_used() {
            drive.blocks(looks);
        }
    }

    fn take_operations(&mut self) -> Option<Timeline> {
        let all: Option<Vec<_>> = self
            .members
            .change(|drives| drives.iter_mut().map(|drive| drive.take_operations()).collect());
        all.map(Timeline::together)
    }

    fn report(&self, end: Time) -> Report {
        let members = self.members.ever_used().map(|drive| drive.report(end)).enumerate();
        let all = Report::together(&members.collect::<Vec<_>>());
        let Body::Raid(raid) = &self.body else { return all };
        let has_flash = all.section("flash").is_some();
        let programmed = has_flash.then(|| all.count("flash.bytes_programmed"));
        all.with("array", Field::own(raid.account(&self.members, programmed, end)))
    }

    /// With parity, member reads and writes differ from the host's.
    fn energy_report(&self, end: Time) -> Option<EnergyReport> {
        let drives = self.members.drives().iter();
        let all = EnergyReport::together(drives.map(|drive| drive.energy_report(end)))?;
        let has_parity = matches!(&self.body, Body::Raid(raid) if !raid.is_mirror());
        Some(EnergyReport { reads: all.reads.filter(|_| !has_parity), ..all })
    }

    fn holds(&self, page: u64) -> bool {
        let (member, place) = match &self.body {
            Body::Spread(_) => self.places().of(page),
            Body::Raid(raid) => raid.place_of(page),
        };
        self.members.drives()[member as usize].holds(place)
    }

    fn memory(&self, share: f64) -> u64 {
        let drives = &self.members.drives()[..self.members.len()];
        drives.iter().map(|drive| drive.memory(share)).sum()
    }

    /// Pages of striped members are numbered round-robin, independent of the stripe size: each
    /// member is written in the same order.
    fn overwrite_untimed(&mut self, pages: &[u64], _more: u64) {
        if let Body::Raid(raid) = &self.body {
            raid.overwrite_untimed(pages, &mut self.members);
            return;
        }
        let places = self.places();
        for page in pages {
            let (member, place) = places.of(*page);
            self.members.collect(member as usize, place);
        }
        self.members.overwrite_collected();
    }

    fn divide(&mut self, parts: u32) -> Result<Division, &'static str> {
        let parts = self.divide_members(parts)?;
        Ok(Division { parts, sure: u64::MAX })
    }

    fn overwrite_divided(&mut self, writes: &dyn Writes, run: &mut Run<'_>) -> u64 {
        self.overwrite_members(writes, run);
        u64::MAX
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        if request.op == Op::Flush {
            return self.members.flush_untimed(request);
        }
        match &mut self.body {
            Body::Raid(raid) => raid.serve_untimed(request, &mut self.members),
            Body::Spread(spread) => {
                let parts = spread.parts(*request);
                let answers = parts.map(|(member, part)| self.members.serve_untimed(member, &part));
                answers.fold(Status::Ok, Status::and)
            }
        }
    }

    fn save(&self) -> Option<Snapshot> {
        if !self.alike {
            return None;
        }
        save(self.members.drives(), &self.shape)
    }

    fn room(&self, shape: &[(String, String)]) -> Result<Room, String> {
        if !self.alike {
            return Err(UNLIKE.to_owned());
        }
        room(self.members.drives(), &self.shape, shape)
    }

    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        if !self.alike {
            return Err(UNLIKE.to_owned());
        }
        let of = |drive: &mut dyn Model, state| drive.restore(state);
        self.members.change(|drives| restore(drives, &self.shape, snapshot, of))
    }

    fn restore_state(&mut self, snapshot: Snapshot) -> Result<(), String> {
        if !self.alike {
            return Err(UNLIKE.to_owned());
        }
        let of = |drive: &mut dyn Model, state| drive.restore_state(state);
        self.members.change(|drives| restore(drives, &self.shape, snapshot, of))
    }

    fn lend_tables(&mut self) -> Vec<PageTable> {
        let mut tables = Vec::new();
        self.members.change(|drives| {
            for drive in drives.iter_mut() {
                tables.extend(drive.lend_tables());
            }
        });
        tables
    }

    fn return_tables(&mut self, tables: &mut dyn Iterator<Item = PageTable>) {
        self.members.change(|drives| drives.iter_mut().for_each(|it| it.return_tables(tables)));
    }
}

/// Reason why an array with `each` has no saved state.
const UNLIKE: &str = "an array of unlike members (device.each) cannot be restored";

/// Saves the drives' states, under the array's keys and a member's keys.
fn save(drives: &[Box<dyn Model>], own: &[(String, String)]) -> Option<Snapshot> {
    let (mut kept, mut caches) = (Vec::new(), Vec::new());
    let mut shape = Vec::new();
    for drive in drives {
        let snapshot = drive.save()?;
        kept.extend(snapshot.drives);
        caches.extend(snapshot.caches);
        shape = snapshot.shape;
    }
    let of_member = shape.into_iter().map(|(key, value)| (in_member(&key), value));
    Some(Snapshot { shape: own.iter().cloned().chain(of_member).collect(), drives: kept, caches })
}

/// Keys of a member, from the array's keys.
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

/// Memory for the drives' states, for an array with the same keys.
fn room(
    drives: &[Box<dyn Model>],
    own: &[(String, String)],
    theirs: &[(String, String)],
) -> Result<Room, String> {
    let room = drives[0].room(&shape_of_member(theirs, own)?);
    room.map(|room| room.times(drives.len())).map_err(|problem| of_member(0, &problem))
}

/// Error about a member's state.
fn of_member(number: usize, problem: &str) -> String {
    format!("member {number}: {}", problem.replace("device.", "device.member."))
}

/// Restores the drives of an array with the same keys.
fn restore(
    drives: &mut [Box<dyn Model>],
    own: &[(String, String)],
    snapshot: Snapshot,
    of: impl Fn(&mut dyn Model, Snapshot) -> Result<(), String>,
) -> Result<(), String> {
    let shape = shape_of_member(&snapshot.shape, own)?;
    let count = drives.len();
    if !snapshot.drives.len().is_multiple_of(count) {
        return Err(format!("it holds {} drives, of {count} members", snapshot.drives.len()));
    }
    let (each, own) = (snapshot.drives.len() / count, snapshot.caches.len() / count);
    let (mut kept, mut caches) = (snapshot.drives.into_iter(), snapshot.caches.into_iter());
    for (number, drive) in drives.iter_mut().enumerate() {
        let drives = kept.by_ref().take(each).collect();
        let caches = caches.by_ref().take(own).collect();
        let snapshot = Snapshot { shape: shape.clone(), drives, caches };
        of(&mut **drive, snapshot).map_err(|problem| of_member(number, &problem))?;
    }
    Ok(())
}
