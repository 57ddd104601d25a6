//! A drive as a device of any kind: preconditioning, saving, examining, reporting.

use super::config::{FillOrder, LevellingRule, Policy, TieBreak};
use super::executor::{Buffered, cx};
use super::ids::Lpn;
use super::page::{Feature, Owner};
use super::parts::Parts;
use super::timeline::Timeline;
use super::{PageTable, Room, Snapshot, Ssd, front};
use crate::device::energy::EnergyReport;
use crate::device::{
    CleaningNow, Condition, Constants, Division, Instruction, Looks, Model, Report, Run, Writes,
};
use engine::{Op, Request, Status, Time};

impl Model for Ssd {
    fn instruct(&mut self, now: Time, instruction: Instruction) -> Result<(), String> {
        match instruction {
            // Erase counts stay, since the drive has worn.
            Instruction::ResetCounts => self.reset_counters(),
            Instruction::BeginLoad => self.ftl.begin_load(&self.flash),
            Instruction::BeginAccount => {
                self.reset_counters();
                self.before = Some(Box::new(self.spent(now)));
            }
            Instruction::Record(window) => self.record_window(window),
            Instruction::Unite => {
                if let Some(parts) = self.parts.take() {
                    parts.unite((&mut self.ftl, &mut self.flash));
                }
            }
            Instruction::Pace(ns_per_byte) => self.buffered.pace(ns_per_byte),
            Instruction::Age(age) => {
                return self.buffered.lie(age, cx!(self)).map_err(str::to_owned);
            }
            Instruction::ShutDown => self.shut_down(now),
            Instruction::TurnOn => self.turn_on(now),
            Instruction::DrawAnew => self.ftl.draw_anew(),
            Instruction::CleanNow => {
                self.clock.now = now;
                let (executor, mut cx) = self.executor();
                executor.clean_now(&mut cx);
            }
            Instruction::PutOffCleaning(put_off) => self.executor().0.put_off_cleaning(put_off),
            Instruction::NextUnit(handle) => {
                self.clock.pass(now);
                return self.end_units(handle);
            }
        }
        Ok(())
    }

    fn facts(&self) -> Constants<'_> {
        Constants { pages: self.geometry().exported_pages(), ..Constants::default() }
    }

    fn condition(&self) -> Condition {
        let has_snapshots = self.ftl.snapshots.as_ref().is_some_and(|it| it.are_there());
        Condition {
            rests: self.is_at_rest(),
            saves_all: !has_snapshots,
            loses: self.lost_when_saved(),
            depends_on_seed: self.depends_on_seed(),
            cleaning: Some(CleaningNow {
                units: self.seen().cleaning(&self.ftl),
                is_wanted: self.seen().wants_cleaning(&self.ftl),
            }),
        }
    }

    fn copied(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(self.clone()))
    }

    fn audit(&self) -> Result<(), String> {
        self.check()
    }

    fn blocks(&self, looks: &mut Looks) {
        self.show_blocks(looks);
    }

    fn take_operations(&mut self) -> Option<Timeline> {
        self.take_record()
    }

    fn report(&self, end: Time) -> Report {
        self.account(end).sections()
    }

    fn energy_report(&self, end: Time) -> Option<EnergyReport> {
        self.energy(end)
    }

    fn holds(&self, page: u64) -> bool {
        self.ftl.is_mapped(Lpn(page))
    }

    fn memory(&self, share: f64) -> u64 {
        self.geometry().memory(&self.config, share)
    }

    fn overwrite_untimed(&mut self, pages: &[u64], _more: u64) {
        assert!(
            self.front.is_idle() && self.clock.next_at().is_none() && self.parts.is_none(),
            "fast-forward comes before the first request, or while the drive rests"
        );
        let (ftl, flash) = (&mut self.ftl, &mut self.flash);
        if let Some(blocks) = self.blocks.as_mut().filter(|it| it.gathers()) {
            return blocks.overwrite_untimed((ftl, flash), pages);
        }
        if self.features.has(Feature::LooksUp) {
            for page in pages {
                ftl.look_up_untimed(&(*page..page + 1), true);
            }
        }
        let bytes = u64::from(ftl.geometry().sectors_per_page) * engine::SECTOR_BYTES;
        let Some(stretch) = self.buffered.paced_pages(bytes) else {
            let accepted = self.ftl.overwrite_untimed(&mut self.flash, pages);
            Buffered::note_overwritten(&pages[..accepted], cx!(self));
            return self.buffered.refresh_at_once(cx!(self));
        };
        for pages in pages.chunks(stretch) {
            let accepted = self.ftl.overwrite_untimed(&mut self.flash, pages);
            Buffered::note_overwritten(&pages[..accepted], cx!(self));
            self.buffered.pass_bytes(pages.len() as u64 * bytes, cx!(self));
        }
    }

    fn divide(&mut self, parts: u32) -> Result<Division, &'static str> {
        if self.flash.media().is_some() {
            return Err("blocks of a drive whose data age remember when they were written");
        }
        assert!(self.parts.is_none(), "a drive is divided once");
        if self.gathers_blocks() {
            return Err("writes gather in a block buffer");
        }
        let parts = Parts::new(&self.ftl, &self.flash, parts)?;
        let parts = self.parts.insert(Box::new(parts));
        let sure = parts.sure_overwrites((&self.ftl, &self.flash));
        Ok(Division { parts: parts.count(), sure })
    }

    fn overwrite_divided(&mut self, writes: &dyn Writes, run: &mut Run<'_>) -> u64 {
        let parts = self.parts.as_mut().expect("the drive is divided");
        parts.overwrite((&mut self.ftl, &mut self.flash), writes, run);
        parts.sure_overwrites((&self.ftl, &self.flash))
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        if self.blocks.is_some()
            && let Some(status) = self.serve_blocks_untimed(request)
        {
            return status;
        }
        let mut status = Status::Ok;
        match request.op {
            Op::Flush => {
                let (ftl, flash) = (&mut self.ftl, &mut self.flash);
                ftl.flush_untimed(flash);
            }
            Op::Trim => {
                let covered = front::covered(self.geometry(), request);
                status = self.ftl.trim_all(&mut self.flash, covered.clone());
                if status.is_ok() {
                    Buffered::note_trimmed(covered, cx!(self));
                }
            }
            _ if self.features.has(Feature::Shares) => status = self.serve_kept_untimed(request),
            _ => {
                let request = &self.ftl.placed(*request);
                if self.features.has(Feature::Ages) || self.features.has(Feature::LooksUp) {
                    let pages = front::touched(self.geometry(), request);
                    self.ftl.look_up_untimed(&pages, request.op == Op::Write);
                    status = self.buffered.meet_age_untimed(request, |_, lpn| Some(lpn), cx!(self));
                }
                for page in front::touched(self.geometry(), request) {
                    let page =
                        front::page_request(self.geometry(), request, Lpn(page), Owner::Nobody);
                    let (ftl, flash) = (&mut self.ftl, &mut self.flash);
                    status = status.and(ftl.serve_untimed(flash, &page));
                }
                if self.features.has(Feature::Ages) || self.features.has(Feature::LooksUp) {
                    if request.op == Op::Write {
                        if status.is_ok() {
                            Buffered::end_over_losses(request, cx!(self));
                        }
                        self.buffered.pass_bytes(request.bytes(), cx!(self));
                    } else {
                        self.buffered.refresh_at_once(cx!(self));
                    }
                }
                if request.op == Op::Write && request.fua {
                    let (ftl, flash) = (&mut self.ftl, &mut self.flash);
                    ftl.flush_untimed(flash);
                }
            }
        }
        status
    }

    fn save(&self) -> Option<Snapshot> {
        Some(self.snapshot())
    }

    fn room(&self, shape: &[(String, String)]) -> Result<Room, String> {
        self.room_of(shape)
    }

    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        self.restore_state(snapshot)?;
        self.check().map_err(|problem| format!("its state is not sound: {problem}"))
    }

    fn restore_state(&mut self, snapshot: Snapshot) -> Result<(), String> {
        self.restore_snapshot(snapshot)
    }

    fn lend_tables(&mut self) -> Vec<PageTable> {
        self.lend_page_tables()
    }

    fn return_tables(&mut self, tables: &mut dyn Iterator<Item = PageTable>) {
        // The map, the stamps and the order of programs.
        self.return_page_tables(tables.take(3).collect());
    }
}

impl Ssd {
    fn shut_down(&mut self, now: Time) {
        self.clock.pass(now.max(self.clock.now));
        if self.gathers_blocks() {
            self.empty_blocks();
        }
        let (executor, mut cx) = self.executor();
        executor.shut_down(&mut cx);
    }

    fn turn_on(&mut self, now: Time) {
        self.ftl.forget_map();
        if let Some(map) = &mut self.map {
            map.begin_anew();
        }
        if let Some(blocks) = &mut self.blocks {
            blocks.lose_power();
        }
        let (executor, cx) = self.executor();
        executor.turn_on(cx.ftl.geometry(), now);
    }

    /// True if another seed could have given another state.
    fn depends_on_seed(&self) -> bool {
        let cleaning = &self.config.cleaning;
        self.config.fill_order == FillOrder::Random
            || self.config.wear.spread > 0.0
            || matches!(cleaning.policy, Policy::Random | Policy::DChoices | Policy::Named(_))
            || cleaning.tie_break == TieBreak::Random
            || cleaning.levelling.rule != LevellingRule::None
            || self.ftl.has_drawn()
    }
}
