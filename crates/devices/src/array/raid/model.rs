//! Untimed operation, saved state and reports of an array with redundancy.

use super::Raid;
use super::operation::{Kind, NONE, Operation};
use super::state::RaidCounts;
use crate::array::{model, report};
use crate::array_report::ArrayReport;
use crate::disk::DiskReport;
use crate::energy::EnergyReport;
use crate::ssd::timeline::{Timeline, Window};
use crate::ssd::{Room, Snapshot, SsdReport};
use crate::together::Sides;
use crate::{Apart, Cleans, Examine, Looks, Persist, Prepare};
use engine::{Device, Lba, Op, Request, Status, Time};

impl Prepare for Raid {
    fn preparable_pages(&self) -> u64 {
        self.pages.capacity()
    }

    fn memory(&self, share: f64) -> u64 {
        let drives = &self.drives[..self.members.len()];
        drives.iter().map(|drive| drive.memory(share)).sum()
    }

    /// Each page is written with its copies, or with the pages of parity that change with it.
    fn overwrite_untimed(&mut self, pages: &[u64]) {
        let (stripe_pages, chunk) = (self.pages.stripe_sectors(), self.pages.chunk);
        let (data, width) = (self.pages.data, self.pages.width);
        let first_check = if self.pages.is_mirror() { 0 } else { data };
        for page in pages {
            let (stripe, within) = (page / stripe_pages, page % stripe_pages);
            let place = within / chunk;
            let page = self.pages.row(stripe) * chunk + within % chunk;
            let own = (first_check > 0).then_some(place);
            for place in own.into_iter().chain(first_check..width) {
                let member = &self.members[self.pages.member(stripe, place) as usize];
                if member.is_whole() {
                    self.batches[member.drive as usize].push(page);
                }
            }
        }
        for (drive, batch) in self.drives.iter_mut().zip(&mut self.batches) {
            if !batch.is_empty() {
                drive.overwrite_untimed(batch);
                batch.clear();
            }
        }
    }

    fn divide(&mut self, _parts: u32) -> Result<u32, &'static str> {
        Err("the members of a stripe are written together")
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        if request.op == Op::Flush {
            let whole = self.members.iter().filter(|it| !it.has_failed());
            let drives: Vec<_> = whole.map(|it| it.drive as usize).collect();
            let answers = drives.into_iter().map(|drive| self.drives[drive].serve_untimed(request));
            return answers.fold(Status::Ok, Status::and);
        }
        let sectors = self.geometry.stripe_sectors();
        let (mut start, mut end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        if request.op == Op::Trim && !self.geometry.is_mirror() {
            (start, end) = (start.next_multiple_of(sectors), end / sectors * sectors);
        }
        if request.op == Op::Write {
            self.counts.host_sectors_written += u64::from(request.sectors);
        }
        let mut status = Status::Ok;
        while start < end {
            let stripe = start / sectors;
            let (first, next) = (stripe * sectors, end.min((stripe + 1) * sectors));
            status = status.and(self.serve_stripe(request, stripe, start - first..next - first));
            start = next;
        }
        status
    }
}

impl Raid {
    /// Does to a stripe what a request does, in no time.
    fn serve_stripe(&mut self, request: &Request, stripe: u64, of: std::ops::Range<u64>) -> Status {
        let (data, width, chunk) = (self.geometry.data, self.geometry.width, self.geometry.chunk);
        let kind = match request.op {
            Op::Read => Kind::Read,
            Op::Trim => Kind::Trim,
            Op::Write | Op::Flush => Kind::Write,
        };
        let operation = Operation::new(NONE, kind, stripe, of, 0);
        let mut status = self.log_untimed(&operation);
        for place in 0..width {
            let (is_mirror, is_read) = (self.geometry.is_mirror(), request.op == Op::Read);
            let span = match place < data {
                true => operation.span(place, chunk),
                false if is_mirror => operation.span(0, chunk),
                false => operation.hull(chunk),
            };
            if span.is_empty() || !self.has(stripe, place) || is_read && place >= data {
                continue;
            }
            let lba = Lba(self.geometry.row(stripe) * chunk + span.from);
            let part = Request { lba, sectors: span.sectors() as u32, ..*request };
            let member = self.geometry.member(stripe, place) as usize;
            let drive = self.members[member].drive as usize;
            status = status.and(self.drives[drive].serve_untimed(&part));
        }
        status
    }
}

impl Cleans for Raid {}

impl Apart for Raid {
    fn split(&mut self, _now: Time, _threads: u32) -> Result<Sides, &'static str> {
        Err("the members of a stripe wait for each other")
    }
}

impl Persist for Raid {
    fn rests(&self) -> bool {
        self.next_event().is_none() && self.drives.iter().all(|drive| drive.rests())
    }

    fn save(&self) -> Option<Snapshot> {
        if !self.alike {
            return None;
        }
        model::save(&self.drives, &self.shape)
    }

    fn room(&self, shape: &[(String, String)]) -> Result<Room, String> {
        if !self.alike {
            return Err(model::UNLIKE.to_owned());
        }
        model::room(&self.drives, &self.shape, shape)
    }

    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        if !self.alike {
            return Err(model::UNLIKE.to_owned());
        }
        model::restore(&mut self.drives, &self.shape, snapshot)
    }
}

impl Examine for Raid {
    fn reset_counts(&mut self) {
        self.counts = RaidCounts::of(self.members.len());
        self.hole.log.rewind();
        for drive in &mut self.drives {
            drive.reset_counts();
        }
    }

    fn begin_load(&mut self) {
        for drive in &mut self.drives {
            drive.begin_load();
        }
    }

    fn begin_account(&mut self, now: Time) {
        self.counts = RaidCounts::of(self.members.len());
        for drive in &mut self.drives {
            drive.begin_account(now);
        }
    }

    fn audit(&self) -> Result<(), String> {
        // A member that failed during recovery from a power cut stays as it was then.
        for (number, drive) in self.drives.iter().enumerate().filter(|it| it.1.is_ready()) {
            drive.audit().map_err(|problem| format!("member {number}: {problem}"))?;
        }
        if self.active.is_empty()
            && !self.busy.is_empty()
            && self.is_whole
            && self.hole.resync.is_none()
        {
            return Err("a stripe is locked and no request is outstanding".to_owned());
        }
        if !self.active.is_empty() && self.next_inside().is_none() {
            return Err("requests are outstanding and no member has an event".to_owned());
        }
        Ok(())
    }

    fn blocks(&self, looks: &mut Looks) {
        for drive in self.ever_used() {
            drive.blocks(looks);
        }
    }

    fn record_operations(&mut self, window: Window) {
        for drive in &mut self.drives {
            drive.record_operations(window);
        }
    }

    fn take_operations(&mut self) -> Option<Timeline> {
        let all = self.drives.iter_mut().map(|drive| drive.take_operations());
        all.collect::<Option<Vec<_>>>().map(Timeline::together)
    }

    fn disk_report(&self, end: Time) -> Option<DiskReport> {
        DiskReport::together(self.drives.iter().map(|drive| drive.disk_report(end)))
    }

    /// Of parity, reads and writes of members are not those of the host.
    fn energy_report(&self, end: Time) -> Option<EnergyReport> {
        let all = EnergyReport::together(self.drives.iter().map(|drive| drive.energy_report(end)))?;
        let reads = all.reads.filter(|_| self.geometry.is_mirror());
        Some(EnergyReport { reads, ..all })
    }

    fn report(&self, end: Time) -> Option<SsdReport> {
        report::together(self.ever_used().map(|drive| drive.report(end)).collect())
    }

    fn array_report(&self, end: Time) -> Option<ArrayReport> {
        Some(self.account(end))
    }
}
