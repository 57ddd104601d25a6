//! Untimed operation of a cache, and its reports.

use super::config::Shape;
use super::device::Cache;
use super::kept;
use super::lists::NONE;
use super::replacement::Replacement;
use super::report;
use super::table::State;
use engine::{Device, Lba, Op, Request, SECTOR_BYTES, Status, Time};
use ssd::device::energy::EnergyReport;
use ssd::device::{Condition, Constants, Field, Instruction, Looks, Model, Report};
use ssd::timeline::Timeline;
use ssd::{PageTable, Room, Snapshot};

impl Model for Cache {
    fn instruct(&mut self, now: Time, instruction: Instruction) -> Result<(), String> {
        match instruction {
            Instruction::ResetCounts | Instruction::BeginAccount => self.reset(),
            Instruction::ShutDown => return self.pair.shut_down(now),
            Instruction::BeginLoad
            | Instruction::TurnOn
            | Instruction::DrawAnew
            | Instruction::Record(_) => {}
            // Handles are of the devices inside, and what they cannot read is not fetched from the other one.
            other => return other.without_effect(),
        }
        self.pair.each_mut().iter_mut().try_for_each(|device| device.instruct(now, instruction))
    }

    fn facts(&self) -> Constants<'_> {
        Constants { pages: self.shape.capacity.div_ceil(self.shape.line), ..Constants::default() }
    }

    fn condition(&self) -> Condition {
        let all = Condition::together(self.pair.each().iter().map(|device| device.condition()));
        Condition { rests: all.rests && self.next_event().is_none(), ..all }
    }

    fn copied(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(self.clone()))
    }

    fn audit(&self) -> Result<(), String> {
        for (name, device) in ["fast", "backing"].into_iter().zip(self.pair.each()) {
            if device.standing().is_ready {
                device.audit().map_err(|problem| format!("{name}: {problem}"))?;
            }
        }
        self.places.audit()?;
        if self.next_event().is_none() && !self.requests.is_empty() {
            return Err("requests wait and the cache has no event".to_owned());
        }
        if self.is_at_rest() && self.standing().is_ready {
            if let Some((_, line, _)) =
                self.places.table().lines().find(|it| it.2.state == State::Coming)
            {
                return Err(format!("line {line} is on its way, and nothing is"));
            }
            self.audit_lines()?;
        }
        Ok(())
    }

    fn blocks(&self, looks: &mut Looks) {
        self.pair.each().iter().for_each(|device| device.blocks(looks));
    }

    fn take_operations(&mut self) -> Option<Timeline> {
        let all: Option<Vec<_>> =
            self.pair.each_mut().iter_mut().map(|device| device.take_operations()).collect();
        all.map(Timeline::together)
    }

    fn report(&self, end: Time) -> Report {
        let (lines_used, lines_dirty) = self.places.table().counts();
        let policy = self.places.policy();
        let section = self.counts.section(policy.word()).and(ssd::section! {
            "evictions": self.places.evictions(),
            "remembered": policy.remembered(),
            "lines": u64::from(self.shape.slots),
            "lines_used": lines_used,
            "lines_dirty": lines_dirty,
        });
        let hints = self.has_hints().then(|| self.counts.hints(self.places.held_lines()));
        let power = self.pair.ledger().and_then(|ledger| ledger.report());
        let section = section.with_some("hints", hints).with_some("power", power);
        let inside = report::inside(self.pair.each(), end).with("cache", Field::own(section));
        let takes_handles = inside.is("takes_handles") || self.has_hints();
        inside.with("takes_handles", Field::fact(takes_handles))
    }

    /// The devices' reads and writes differ from the host's.
    fn energy_report(&self, end: Time) -> Option<EnergyReport> {
        let devices = self.pair.each().iter().map(|device| device.energy_report(end));
        EnergyReport::together(devices).map(|all| EnergyReport { reads: None, ..all })
    }

    /// True if the backing device holds the first page of a line.
    fn holds(&self, line: u64) -> bool {
        let [_, backing] = self.pair.each();
        let (pages, sectors) = (backing.facts().pages, backing.capacity_sectors());
        let page = u128::from(line * self.shape.line) * u128::from(pages) / u128::from(sectors);
        pages == 0 || backing.holds(page as u64)
    }

    fn memory(&self, share: f64) -> u64 {
        // Per cached line: map entry, list nodes, and content number.
        let own = u64::from(self.shape.slots) * 80;
        self.pair.each().iter().map(|device| device.memory(share)).sum::<u64>() + own
    }

    /// Overwrites before the ones that settle the cache go to the backing device where the cache has no copy.
    fn overwrite_untimed(&mut self, pages: &[u64], more: u64) {
        let settling = u64::from(self.shape.slots) * SETTLED_AFTER;
        if more >= settling {
            return self.overwrite_behind(pages);
        }
        self.write_lines(pages);
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        self.serve_in_no_time(request)
    }

    fn save(&self) -> Option<Snapshot> {
        self.is_at_rest().then(|| kept::save(self.pair.each(), self.kept_shape(), self.keep()))?
    }

    fn room(&self, shape: &[(String, String)]) -> Result<Room, String> {
        let longest = self.shape.slots as usize * 2 + MOST_FIXED;
        kept::room(self.pair.each(), &self.kept_shape(), shape, longest)
    }

    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        let shape = self.kept_shape();
        let of = |device: &mut dyn Model, state| device.restore(state);
        let lists = kept::restore(self.pair.each_mut(), &shape, snapshot, of)?;
        self.take_up_lists(lists)?;
        self.places.audit().map_err(|problem| format!("its state is not sound: {problem}"))
    }

    fn restore_state(&mut self, snapshot: Snapshot) -> Result<(), String> {
        let shape = self.kept_shape();
        let of = |device: &mut dyn Model, state| device.restore_state(state);
        let lists = kept::restore(self.pair.each_mut(), &shape, snapshot, of)?;
        self.take_up_lists(lists)
    }

    fn lend_tables(&mut self) -> Vec<PageTable> {
        self.pair.each_mut().iter_mut().flat_map(|device| device.lend_tables()).collect()
    }

    fn return_tables(&mut self, tables: &mut dyn Iterator<Item = PageTable>) {
        self.pair.each_mut().iter_mut().for_each(|device| device.return_tables(tables));
    }
}

/// Writes per line until no initial state remains. Under uniform writes a full LRU cache replaces
/// each line after one write, and inner drives settle after a few.
const SETTLED_AFTER: u64 = 4;

/// Maximum length of saved lists that do not depend on the cache size.
const MOST_FIXED: usize = 64;

impl Cache {
    fn write_lines(&mut self, lines: &[u64]) {
        for line in lines {
            let sectors = self.shape.sectors_of(*line) as u32;
            let write = Request::new(0, Op::Write, Lba(line * self.shape.line), sectors);
            self.serve_in_no_time(&write);
        }
    }

    /// Overwrites uncached pages directly on the backing device.
    fn overwrite_behind(&mut self, pages: &[u64]) {
        let missing = |line: &&u64| self.places.table().find(**line) == NONE;
        let (behind, here): (Vec<u64>, Vec<u64>) = pages.iter().partition(missing);
        self.write_lines(&here);
        let shape = self.shape;
        let [_, backing] = self.pair.each_mut();
        let pages = backing.facts().pages;
        if pages == 0 {
            return;
        }
        if shape.capacity == pages * shape.line {
            return backing.overwrite_untimed(&behind, 0);
        }
        for line in behind {
            let sectors = shape.sectors_of(line) as u32;
            backing.serve_untimed(&Request::new(0, Op::Write, Lba(line * shape.line), sectors));
        }
    }

    /// Keys on which the saved state depends.
    fn kept_shape(&self) -> kept::Shape {
        let Shape { line, slots, capacity, mode, .. } = self.shape;
        [
            ("device.line", (line * SECTOR_BYTES).to_string()),
            ("device.mode", mode.to_string()),
            ("device.replacement", self.places.policy().word().to_owned()),
            ("device.fast, in lines", slots.to_string()),
            ("device.backing, in sectors", capacity.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .to_vec()
    }

    fn keep(&self) -> kept::Kept {
        [self.streams.keep()].into_iter().chain(self.places.keep()).collect()
    }

    fn take_up_lists(&mut self, lists: kept::Kept) -> Result<(), String> {
        let mut lists = lists.into_iter();
        self.streams.restore_state(&kept::next(&mut lists)?)?;
        self.places.restore_state(&mut lists, self.shape.capacity.div_ceil(self.shape.line))?;
        let places = &self.places;
        self.pair.note(|ledger| {
            places.table().lines().for_each(|(slot, line, _)| ledger.loaded(slot, line));
        });
        match lists.next() {
            None => Ok(()),
            Some(_) => Err("it has more lists than this cache".to_owned()),
        }
    }
}
