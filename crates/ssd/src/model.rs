//! The optional traits of a drive: preconditioning, saving, examining, reporting.

use super::config::{FillOrder, LevellingRule, Policy, TieBreak};
use super::executor::{Buffered, cx};
use super::ids::Lpn;
use super::media::Age;
use super::page::{Feature, Owner};
use super::parts::Parts;
use super::timeline::{Timeline, Window};
use super::{PageTable, Room, Snapshot, Ssd, front};
use crate::device::energy::EnergyReport;
use crate::device::{Cleans, Examine, Looks, Model, Persist, Prepare, Report, Run, Writes};
use engine::{Op, Request, Status, Time};

impl Prepare for Ssd {
    fn preparable_pages(&self) -> u64 {
        self.geometry().exported_pages()
    }

    fn holds(&self, page: u64) -> bool {
        self.ftl.is_mapped(Lpn(page))
    }

    fn memory(&self, share: f64) -> u64 {
        self.geometry().memory(&self.config, share)
    }

    fn overwrite_untimed(&mut self, pages: &[u64]) {
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

    fn divide(&mut self, parts: u32) -> Result<u32, &'static str> {
        if self.flash.media().is_some() {
            return Err("blocks of a drive whose data age remember when they were written");
        }
        assert!(self.parts.is_none(), "a drive is divided once");
        if self.gathers_blocks() {
            return Err("writes gather in a block buffer");
        }
        let parts = Parts::new(&self.ftl, &self.flash, parts)?;
        Ok(self.parts.insert(Box::new(parts)).count())
    }

    fn overwrites_divided(&self) -> u64 {
        let first = (&self.ftl, &self.flash);
        self.parts.as_ref().map_or(0, |parts| parts.sure_overwrites(first))
    }

    fn overwrite_divided(&mut self, writes: &dyn Writes, run: &mut Run<'_>) {
        let parts = self.parts.as_mut().expect("the drive is divided");
        parts.overwrite((&mut self.ftl, &mut self.flash), writes, run);
    }

    fn unite(&mut self) {
        if let Some(parts) = self.parts.take() {
            parts.unite((&mut self.ftl, &mut self.flash));
        }
    }

    fn set_pace(&mut self, ns_per_byte: Option<f64>) {
        self.buffered.pace(ns_per_byte);
    }

    fn age(&mut self, age: Age) -> Result<(), &'static str> {
        self.buffered.lie(age, cx!(self))
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
                    status = self.buffered.meet_age_untimed(request, cx!(self));
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
}

impl Persist for Ssd {
    fn rests(&self) -> bool {
        self.is_at_rest()
    }

    fn copied(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(self.clone()))
    }

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

    fn loses(&self) -> Option<&'static str> {
        self.lost_when_saved()
    }

    fn saves_all(&self) -> bool {
        !self.ftl.snapshots.as_ref().is_some_and(|it| it.are_there())
    }

    fn save(&self) -> Option<Snapshot> {
        Some(self.snapshot())
    }

    fn room(&self, shape: &[(String, String)]) -> Result<Room, String> {
        self.room_of(shape)
    }

    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        self.take_up(snapshot)?;
        self.check().map_err(|problem| format!("its state is not sound: {problem}"))
    }

    fn take_up(&mut self, snapshot: Snapshot) -> Result<(), String> {
        self.restore_snapshot(snapshot)
    }

    fn lend_tables(&mut self) -> Vec<PageTable> {
        self.lend_page_tables()
    }

    fn return_tables(&mut self, tables: &mut dyn Iterator<Item = PageTable>) {
        // The map, the stamps and the order of programs.
        self.return_page_tables(tables.take(3).collect());
    }

    fn depends_on_seed(&self) -> bool {
        let cleaning = &self.config.cleaning;
        self.config.fill_order == FillOrder::Random
            || self.config.wear.spread > 0.0
            || matches!(cleaning.policy, Policy::Random | Policy::DChoices | Policy::Named(_))
            || cleaning.tie_break == TieBreak::Random
            || cleaning.levelling.rule != LevellingRule::None
            || self.ftl.has_drawn()
    }

    fn draw_anew(&mut self) {
        self.ftl.draw_anew();
    }
}

impl Examine for Ssd {
    /// Erase counts stay: they are the drive's age.
    fn reset_counts(&mut self) {
        self.reset_counters();
    }

    fn begin_load(&mut self) {
        let (ftl, flash) = (&mut self.ftl, &mut self.flash);
        ftl.begin_load(flash);
    }

    fn begin_account(&mut self, now: Time) {
        self.reset_counts();
        self.before = Some(Box::new(self.spent(now)));
    }

    fn audit(&self) -> Result<(), String> {
        self.check()
    }

    fn blocks(&self, looks: &mut Looks) {
        self.show_blocks(looks);
    }

    fn record_operations(&mut self, window: Window) {
        self.record_window(window);
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
}

impl Cleans for Ssd {
    fn is_steerable(&self) -> bool {
        true
    }

    /// With a write buffer, the number of domains.
    fn units_cleaning(&self) -> u32 {
        self.seen().cleaning(&self.ftl)
    }

    fn wants_cleaning(&self) -> bool {
        self.seen().wants_cleaning(&self.ftl)
    }

    fn clean_now(&mut self, now: Time) {
        self.clock.now = now;
        let (executor, mut cx) = self.executor();
        executor.clean_now(&mut cx);
    }

    fn put_off_cleaning(&mut self, put_off: bool) {
        self.executor().0.put_off_cleaning(put_off);
    }

    fn next_unit(&mut self, now: Time, handle: u32) -> Result<(), String> {
        self.clock.pass(now);
        self.end_units(handle)
    }
}
