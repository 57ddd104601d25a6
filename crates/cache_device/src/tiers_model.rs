//! Untimed operation of two tiers, and their reports.

use super::config::{Extents, Mode};
use super::kept;
use super::report;
use super::tiers::Tiers;
use engine::{Device, Lba, Op, Request, SECTOR_BYTES, Status, Time};
use ssd::device::energy::EnergyReport;
use ssd::device::{Condition, Constants, Field, Instruction, Looks, Model, Report};
use ssd::timeline::Timeline;
use ssd::{PageTable, Room, Snapshot};

impl Model for Tiers {
    fn instruct(&mut self, now: Time, instruction: Instruction) -> Result<(), String> {
        match instruction {
            Instruction::ResetCounts | Instruction::BeginAccount => self.reset(),
            Instruction::ShutDown => return self.shut_both_down(now),
            Instruction::BeginLoad
            | Instruction::TurnOn
            | Instruction::DrawAnew
            | Instruction::Record(_) => {}
            // Handles are of the devices inside, and what they cannot read is not fetched from the other one.
            other => return other.without_effect(),
        }
        self.each_mut().iter_mut().try_for_each(|device| device.instruct(now, instruction))
    }

    fn facts(&self) -> Constants<'_> {
        Constants { pages: u64::from(self.extents().all), ..Constants::default() }
    }

    fn condition(&self) -> Condition {
        let all = Condition::together(self.each().iter().map(|device| device.condition()));
        Condition { rests: all.rests && self.next_event().is_none(), ..all }
    }

    fn copied(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(self.clone()))
    }

    fn audit(&self) -> Result<(), String> {
        for (name, device) in ["fast", "backing"].into_iter().zip(self.each()) {
            if device.standing().is_ready {
                device.audit().map_err(|problem| format!("{name}: {problem}"))?;
            }
        }
        self.audit_places()?;
        if self.is_at_rest() && self.standing().is_ready { self.audit_content() } else { Ok(()) }
    }

    fn blocks(&self, looks: &mut Looks) {
        self.each().iter().for_each(|device| device.blocks(looks));
    }

    fn take_operations(&mut self) -> Option<Timeline> {
        let all: Option<Vec<_>> =
            self.each_mut().iter_mut().map(|device| device.take_operations()).collect();
        all.map(Timeline::together)
    }

    /// Report in the terms of a cache: hits are on the fast device, promotions count as filled,
    /// demotions as written back.
    fn report(&self, end: Time) -> Report {
        let lines = u64::from(self.extents().fast);
        let section = self.counts.section("heat").and(ssd::section! {
            "evictions": self.swapped,
            "remembered": 0,
            "lines": lines,
            "lines_used": lines,
            "lines_dirty": 0,
        });
        let section = section.with_some("power", self.power());
        report::inside(self.each(), end).with("cache", Field::own(section))
    }

    /// The devices' reads and writes differ from the host's.
    fn energy_report(&self, end: Time) -> Option<EnergyReport> {
        let devices = self.each().iter().map(|device| device.energy_report(end));
        EnergyReport::together(devices).map(|all| EnergyReport { reads: None, ..all })
    }

    fn memory(&self, share: f64) -> u64 {
        // Per extent: its place, the extent in its place, its hotness, and its use by requests.
        let own = u64::from(self.extents().all) * 18;
        self.each().iter().map(|device| device.memory(share)).sum::<u64>() + own
    }

    fn overwrite_untimed(&mut self, pages: &[u64], _more: u64) {
        let sectors = self.extents().sectors;
        for extent in pages {
            let write = Request::new(0, Op::Write, Lba(extent * sectors), sectors as u32);
            self.serve_untimed(&write);
        }
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        self.serve_in_no_time(request)
    }

    fn save(&self) -> Option<Snapshot> {
        self.is_at_rest().then(|| kept::save(self.each(), self.kept_shape(), self.keep()))?
    }

    fn room(&self, shape: &[(String, String)]) -> Result<Room, String> {
        kept::room(self.each(), &self.kept_shape(), shape, self.extents().all as usize)
    }

    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        let shape = self.kept_shape();
        let of = |device: &mut dyn Model, state| device.restore(state);
        let lists = kept::restore(self.each_mut(), &shape, snapshot, of)?;
        self.take_up_lists(lists)
    }

    fn restore_state(&mut self, snapshot: Snapshot) -> Result<(), String> {
        let shape = self.kept_shape();
        let of = |device: &mut dyn Model, state| device.restore_state(state);
        let lists = kept::restore(self.each_mut(), &shape, snapshot, of)?;
        self.take_up_lists(lists)
    }

    fn lend_tables(&mut self) -> Vec<PageTable> {
        self.each_mut().iter_mut().flat_map(|device| device.lend_tables()).collect()
    }

    fn return_tables(&mut self, tables: &mut dyn Iterator<Item = PageTable>) {
        self.each_mut().iter_mut().for_each(|device| device.return_tables(tables));
    }
}

impl Tiers {
    /// Keys on which the saved state depends.
    fn kept_shape(&self) -> kept::Shape {
        let Extents { sectors, fast, all, .. } = self.extents();
        [
            ("device.line", (sectors * SECTOR_BYTES).to_string()),
            ("device.mode", Mode::Tiered.to_string()),
            ("device.fast, in lines", fast.to_string()),
            ("device.fast and device.backing, in lines", all.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .to_vec()
    }
}
