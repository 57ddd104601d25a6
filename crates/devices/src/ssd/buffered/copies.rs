//! Cleaning: the valid pages of a victim are read in batches, go through the buffer, and leave it in
//! groups; then the victim is erased on all its dies.

use super::Buffered;
use super::dies::Job;
use super::victims::{Batch, Erasing, Victim};
use crate::ssd::clock::Clock;
use crate::ssd::ids::{Block, Domain, Lpn, Stream, Unit};
use engine::Time;

impl Buffered {
    /// Cleans a domain as far as the pace asks for and the buffer has room.
    pub(super) fn clean(&mut self, domain: Domain, clock: &mut Clock) {
        while self.pace.cleans(domain.0) && self.gather.room(1) > 0 {
            if self.victims[domain.at()].is_none() {
                if self.gains_nothing(domain) {
                    if self.pace.holds_host() {
                        // Or the burst would come to no end.
                        self.pace.settle_for_less(clock.now);
                        self.pace_changed(clock);
                    }
                    return;
                }
                if !self.choose_victim(domain) {
                    return;
                }
            }
            if !self.scan_group(domain, clock) {
                return;
            }
        }
    }

    /// Whether no write waits for room, and a victim would gain no more than the padding of a group of
    /// each stream, which a volatile buffer may cost per victim: after a cut cleaning would never end.
    fn gains_nothing(&self, domain: Domain) -> bool {
        if self.owned.is_none() || !self.config.is_volatile() || !self.waiting.is_empty() {
            return false;
        }
        let pages = self.ftl.geometry().data_pages;
        let valid = self.ftl.least_valid_of(domain.0).unwrap_or(pages).min(pages);
        pages - valid <= 2 * self.shape.units
    }

    /// Asks the policy for a victim; whether there is one, and room to move what it holds.
    fn choose_victim(&mut self, domain: Domain) -> bool {
        let geometry = self.ftl.geometry();
        let data_pages = geometry.data_pages;
        let left = self.ftl.left_on(domain, Stream::SECOND);
        if self.ftl.free_blocks(domain) == 0 && left < data_pages {
            return false;
        }
        let Some(job) = self.ftl.begin_cleaning(&self.flash, Unit(domain.0), true) else {
            return false;
        };
        let valid = f64::from(self.ftl.valid(job.source)) / f64::from(data_pages);
        self.pace.note_victim(valid);
        self.victims[domain.at()] = Some(Victim { job, next: 0, reading: 0 });
        true
    }

    /// Looks at the next group of a victim, and reads what is valid of it; whether there was room.
    fn scan_group(&mut self, domain: Domain, clock: &mut Clock) -> bool {
        let Some(mut victim) = self.victims[domain.at()] else { return false };
        let (block, group) = (victim.job.source, victim.next);
        let first_die = self.shape.first_die(block, self.ftl.geometry().blocks_per_domain);
        let die = self.shape.place(first_die, group).die;
        if group == self.shape.per_block
            || self.dies[die as usize].collecting >= self.pace.most_batches()
        {
            return false;
        }
        let row_units = self.shape.units_per_row();
        let first = self.ftl.geometry().ppn(block, group * self.shape.units).0;
        let mut batches: [(u32, u32); options::MOST_PAGE_TYPES] = Default::default();
        let (mut count, mut rows, mut valid_in_all) = (0, 0, 0);
        for row in 0..self.shape.rows {
            let (from, to) = (row * row_units, (row + 1) * row_units);
            let to = to.min(self.shape.units_of(group));
            let pages = first + u64::from(from)..first + u64::from(to.max(from));
            let valid = pages.map(crate::ssd::ids::Ppn);
            let valid = valid.filter(|ppn| self.ftl.valid_at(&self.flash, *ppn).is_some());
            let valid = valid.count() as u32;
            if valid == 0 {
                continue;
            }
            valid_in_all += valid;
            if rows == self.config.cleaning.read_batch {
                (count, rows) = (count + 1, 0);
            }
            rows += 1;
            batches[count].0 |= 1 << row;
            batches[count].1 += valid;
        }
        if valid_in_all > self.gather.room(1) {
            return false;
        }
        let batches = batches.into_iter().filter(|(rows, _)| *rows != 0);
        let asked = batches.clone().count() as u32;
        victim.next += 1;
        victim.reading += asked;
        self.victims[domain.at()] = Some(victim);
        self.pace.add(domain.0, i64::from(self.shape.units_of(group)));
        self.dies[die as usize].collecting += asked;
        // Nothing has to be read: no event will tell the writes that wait of the room.
        let gained = asked == 0 && !self.waiting.is_empty();
        for (rows, reserved) in batches {
            self.gather.reserve(1, reserved);
            let batch = Batch { domain, block, group, rows, left: rows, reserved };
            self.queue_batch(batch, die, clock);
        }
        self.victim_read(domain, clock);
        self.burst_over(clock);
        if gained {
            self.admit(clock);
        }
        true
    }

    /// A burst may be over.
    fn burst_over(&mut self, clock: &mut Clock) {
        if self.pace.ends_burst(clock.now) {
            self.pace_changed(clock);
            self.admit(clock);
        }
    }

    /// Cost of the next row of a batch: sensing, and those of its pages that have valid data over the
    /// bus.
    pub(super) fn next_row(&self, batch: &Batch) -> (Time, Time) {
        let row = batch.row();
        let units = self.shape.units_per_row();
        let page = batch.group * self.shape.units + row * units;
        let first = self.ftl.geometry().ppn(batch.block, page).0;
        let mut planes = 0u32;
        let there = self.shape.units_of(batch.group);
        for unit in (0..units).filter(|unit| row * units + unit < there) {
            if self
                .ftl
                .valid_at(&self.flash, crate::ssd::ids::Ppn(first + u64::from(unit)))
                .is_some()
            {
                let span = self.shape.span(row * units + unit);
                planes |= ((1u32 << span.pages) - 1) << span.plane;
            }
        }
        let pages = Time::from(planes.count_ones());
        (self.costs.sense(row, true), pages * self.costs.page)
    }

    /// A batch has been read: what is still valid goes into the buffer.
    pub(super) fn batch_read(&mut self, batch: Batch, die: u32, clock: &mut Clock) {
        self.dies[die as usize].collecting -= 1;
        self.gather.unreserve(1, batch.reserved);
        let units = self.shape.units_per_row();
        let first = self.ftl.geometry().ppn(batch.block, batch.group * self.shape.units).0;
        let mut moved = 0;
        for row in (0..self.shape.rows).filter(|row| batch.rows >> row & 1 != 0) {
            let there = self.shape.units_of(batch.group);
            for unit in (0..units).filter(|unit| row * units + unit < there) {
                let ppn = crate::ssd::ids::Ppn(first + u64::from(row * units + unit));
                let valid: Option<Lpn> = self.ftl.valid_at(&self.flash, ppn);
                if let Some(lpn) = valid {
                    moved += 1;
                    self.place(batch.domain, Stream::SECOND, lpn, clock);
                }
            }
        }
        self.ftl.counters.moves += u64::from(moved);
        let victim = self.victims[batch.domain.at()].as_mut().expect("it is being read");
        victim.reading -= 1;
        victim.job.note_moved(moved);
        self.victim_read(batch.domain, clock);
        self.burst_over(clock);
        self.admit(clock);
        self.clean(batch.domain, clock);
        self.end_idle_burst(clock);
    }

    /// When all of a victim has been read, it is due for erasure.
    fn victim_read(&mut self, domain: Domain, clock: &mut Clock) {
        let Some(Victim { job, next, reading: 0 }) = self.victims[domain.at()] else { return };
        if next < self.shape.per_block {
            return;
        }
        self.victims[domain.at()] = None;
        self.ftl.release_victim(&job);
        let mut after = 0;
        if !self.config.buffer.power_loss_protected {
            // The buffer may be lost: what was moved, and what supersedes the rest, goes first.
            self.pad(domain, Stream::SECOND, clock);
            for domain in 0..self.filling.len() as u32 {
                self.pad(Domain(domain), Stream::FIRST, clock);
            }
            after = self.gather.next_number();
        }
        let left = self.shape.width;
        let erasing = Erasing { job, after, left, begun: false, there: true };
        let number = self.erasing.insert(erasing);
        self.begin_erase(number, clock);
        if self.pace.holds_host() && self.erasures_wait() {
            for die in 0..self.dies.len() as u32 {
                self.run(die, clock);
            }
        }
    }

    /// Begins to erase a victim, unless copies of what it held are not programmed yet.
    fn begin_erase(&mut self, number: u32, clock: &mut Clock) {
        let Erasing { job, after, .. } = self.erasing[number];
        // Copies of other domains are of pages whose blocks wait for them.
        let geometry = self.ftl.geometry();
        let concerns = |group: u32| {
            let group = self.gather.group(group);
            group.stream == 0 || geometry.domain_of(group.block) == job.domain
        };
        if after > 0 && self.gather.unfinished(after).any(concerns) {
            return;
        }
        self.erasing[number].begun = true;
        let first = self.shape.first_die(job.source, self.ftl.geometry().blocks_per_domain);
        for die in first..first + self.shape.width {
            self.queue_task(die, Job::Erase(number), true, self.costs.erase, clock);
        }
    }

    /// Cleans every domain as far as it is asked for.
    pub(super) fn clean_all(&mut self, clock: &mut Clock) {
        for domain in 0..self.filling.len() as u32 {
            self.clean(Domain(domain), clock);
        }
    }

    /// Begins the erasures that waited for programs.
    pub(super) fn begin_erasures(&mut self, clock: &mut Clock) {
        if self.config.buffer.power_loss_protected {
            return;
        }
        for number in 0..self.erasing.len() as u32 {
            if self.erasing[number].there && !self.erasing[number].begun {
                self.begin_erase(number, clock);
            }
        }
    }

    /// Whether an erasure waits for programs, of the host among others.
    pub(super) fn erasures_wait(&self) -> bool {
        let mut all = 0..self.erasing.len() as u32;
        let waits = |number: u32| self.erasing[number].there && !self.erasing[number].begun;
        !self.config.buffer.power_loss_protected && all.any(waits)
    }

    /// A die has erased its blocks of a victim.
    pub(super) fn die_erased(&mut self, number: u32, clock: &mut Clock) {
        self.erasing[number].left -= 1;
        if self.erasing[number].left > 0 {
            return;
        }
        let Erasing { job, .. } = self.erasing[number];
        self.erasing[number].there = false;
        self.erasing.remove(number);
        let before = self.ftl.room_of(job.domain.0);
        let levelling = self.ftl.complete_erase(&mut self.flash, job);
        debug_assert!(levelling.is_none(), "wear levelling goes without a buffer");
        // A block that is retired does not come back.
        let gained = self.ftl.room_of(job.domain.0) - before;
        self.pace
            .add(job.domain.0, gained.cast_signed() - i64::from(self.ftl.geometry().data_pages));
        self.clean(job.domain, clock);
        self.admit(clock);
        self.end_idle_burst(clock);
    }

    /// Blocks whose erasure has begun.
    pub(super) fn begun_erasures(&self) -> Vec<Block> {
        let all = 0..self.erasing.len() as u32;
        let begun = all.map(|number| self.erasing[number]).filter(|it| it.there && it.begun);
        begun.map(|erasing| erasing.job.source).collect()
    }
}
