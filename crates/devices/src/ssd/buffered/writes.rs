//! Writes into the buffer, in order of arrival, as fast as space and pace allow.

use super::asked::{Answer, Asked, Reason};
use super::dies::{Die, Job};
use super::events::{Happens, event};
use super::gather::Stage;
use super::pace::Admission;
use super::{Buffered, gather};
use crate::kit::slots::Slot;
use crate::ssd::clock::Clock;
use crate::ssd::host;
use crate::ssd::ids::{Domain, Lpn, Stream, Unit};
use engine::{Status, Time};

impl Buffered {
    /// A write of the host begins: what it covers in part is read first.
    pub(super) fn begin_write(&mut self, slot: Slot, clock: &mut Clock) {
        let Asked { request, next, end, .. } = *self.asked(slot);
        let mut reads = false;
        for lpn in [next, end - 1] {
            let page = host::page_request(self.ftl.geometry(), &request, Lpn(lpn), None);
            if !page.covered && (lpn == next || end - 1 != next) {
                reads |= self.begin_merge(slot, Lpn(lpn), clock);
            }
            if end - 1 == next {
                break;
            }
        }
        if !reads {
            self.join_queue(slot, clock);
        }
    }

    /// A write waits for the buffer.
    pub(super) fn join_queue(&mut self, slot: Slot, clock: &mut Clock) {
        let marks = self.held.totals(clock.now);
        self.asked(slot).marks = marks;
        self.waiting.push_back(slot);
        if self.waiting.len() == 1 {
            self.admit(clock);
        }
    }

    /// Writes that wait come into the buffer until one is held.
    pub(super) fn admit(&mut self, clock: &mut Clock) {
        let now = clock.now;
        if std::mem::replace(&mut self.held.admitting, true) {
            self.held.again = true;
            return;
        }
        while let Some(slot) = self.waiting.front().copied() {
            self.held.again = false;
            let reason = self.admit_request(slot, clock);
            self.held.set(reason, now);
            if reason.is_some() {
                if self.held.again {
                    continue;
                }
                break;
            }
            self.waiting.pop_front();
            if self.asked[slot as usize].is_some() {
                self.written(slot, clock);
            }
        }
        self.held.admitting = false;
        if self.waiting.is_empty() && self.pace.backlog_is_over(now) {
            self.pace_changed(clock);
        }
    }

    /// All of a write is in the buffer.
    fn written(&mut self, slot: Slot, clock: &mut Clock) {
        let volatile = !self.config.buffer.power_loss_protected;
        if volatile && self.asked(slot).request.fua {
            self.await_durable(slot, clock);
        } else {
            self.answer(slot, Status::Ok, clock.now);
        }
    }

    /// Lets the pages of a write into the buffer; what it waits for, if not all came in.
    fn admit_request(&mut self, slot: Slot, clock: &mut Clock) -> Option<Reason> {
        let now = clock.now;
        let Asked { request, mut next, end, .. } = *self.asked(slot);
        while next < end {
            let page = host::page_request(self.ftl.geometry(), &request, Lpn(next), Some(slot));
            if self.ftl.has_ended() {
                self.ftl.counters.page_refused(page.touched.1, u64::from(page.bytes));
                next += 1;
                if next == end {
                    self.answer(slot, Status::ReadOnly, now);
                }
                continue;
            }
            if self.replace(page.lpn) {
                self.note_owner(slot, page.lpn);
                self.ftl.counters.host_wrote(page.touched.1, u64::from(page.bytes));
                self.ftl.counters.buffer_replaced += u64::from(page.touched.1);
            } else {
                if self.gather.room(0) == 0 {
                    let asked = self.asked(slot);
                    asked.next = next;
                    let waits_already = std::mem::replace(&mut asked.waited, true);
                    self.ftl.counters.buffer_waits += u64::from(!waits_already);
                    if self.pace.holds_host() {
                        self.go_on_cleaning(clock);
                    }
                    return Some(Reason::Room);
                }
                let begins = (!self.asked(slot).begun).then_some((end - next) as u32);
                let admission = self.pace.admits(begins, self.gather.used_share(0), now);
                if admission != Admission::Now {
                    self.asked(slot).next = next;
                    if let Admission::At(at) = admission
                        && self.held.wake.is_none()
                    {
                        self.held.wake = Some(at);
                        clock.call(at.max(now + 1), event(Happens::MeterOpens, 0));
                    }
                    if admission == Admission::Blocked {
                        self.go_on_cleaning(clock);
                    }
                    return Some(Reason::Cleaning);
                }
                self.asked(slot).begun = true;
                let Some(domain) = self.host_domain() else {
                    self.asked(slot).next = next;
                    if self.pace.begins_burst(true, now) {
                        self.pace_changed(clock);
                    }
                    self.clean_all(clock);
                    if self.pace.holds_host() && self.stands_still() {
                        // What is superseded may lie in blocks whose programs are held: then the burst gains nothing.
                        self.pace.settle_for_less(now);
                        self.pace_changed(clock);
                        // Asked again, it may begin another burst; more often would come to the same.
                        self.held.again = self.held.asked_again.replace(now) != Some(now);
                    }
                    return Some(Reason::Cleaning);
                };
                self.ftl.counters.host_wrote(page.touched.1, u64::from(page.bytes));
                self.ftl.counters.host_programs += 1;
                self.pace.wrote(now);
                self.place(domain, Stream::FIRST, page.lpn, clock);
                self.note_owner(slot, page.lpn);
                if self.pace.begins_burst(false, now) {
                    self.pace_changed(clock);
                }
                if self.pace.cleans(domain.0) {
                    self.clean(domain, clock);
                }
            }
            next += 1;
        }
        None
    }

    /// Cleans, because the host waits for it; if nothing progresses even so, the host gets by with less.
    fn go_on_cleaning(&mut self, clock: &mut Clock) {
        self.clean_all(clock);
        if self.stands_still() {
            self.pace.settle_for_less(clock.now);
            self.pace_changed(clock);
            self.held.again = true;
        }
    }

    /// Whether no die does anything that would make room.
    pub(super) fn stands_still(&self) -> bool {
        let holds = self.pace.holds_host();
        self.dies.iter().all(|die| die.is_standing(holds))
    }

    /// Replaces a page that is in the buffer and not yet on its way to a die; whether there was one.
    fn replace(&mut self, lpn: Lpn) -> bool {
        let Some(ppn) = self.ftl.lookup(lpn) else { return false };
        let Some(group) = self.gather.holding(ppn) else { return false };
        let group = self.gather.group(group);
        matches!(group.stage, Stage::Filling | Stage::Waiting) && group.stream == 0
    }

    /// The domain whose group takes the next page of the host: the one that fills, or of those with room
    /// the one whose die has least to do, and of these the next in turn.
    fn host_domain(&mut self) -> Option<Domain> {
        let domains = self.filling.len() as u32;
        if domains == 1 {
            let goes_on = self.filling[0][0] != gather::NONE;
            return (goes_on || self.ftl.accepts(Domain(0))).then_some(Domain(0));
        }
        if let Some(filling) = (0..domains).find(|d| self.filling[*d as usize][0] != gather::NONE) {
            return Some(Domain(filling));
        }
        let candidates = (0..domains).map(|k| Domain((self.turn + k) % domains));
        let open = candidates.filter(|domain| self.ftl.accepts(*domain));
        let best = open.min_by_key(|domain| {
            (self.dies[domain.at()].depth(), std::cmp::Reverse(self.ftl.reclaimable_of(*domain)))
        })?;
        self.turn = (best.0 + 1) % domains;
        Some(best)
    }

    /// A page gets its place in the flash, and its place in the buffer.
    pub(super) fn place(&mut self, domain: Domain, stream: Stream, lpn: Lpn, clock: &mut Clock) {
        let programming = self.ftl.program_for(domain, stream, lpn);
        self.put(domain, stream, programming, clock);
    }

    fn put(
        &mut self,
        domain: Domain,
        stream: Stream,
        programming: crate::ssd::ftl::Programming,
        clock: &mut Clock,
    ) {
        let kind = stream.0 as usize;
        self.gather.reserve(kind, 1);
        self.pace.add(domain.0, -1);
        let mut group = self.filling[domain.at()][kind];
        if group == gather::NONE {
            let geometry = self.ftl.geometry();
            let block = geometry.block_of(programming.ppn);
            let page = geometry.page_in_block(programming.ppn);
            let first = self.shape.first_die(block, geometry.blocks_per_domain);
            let die = self.shape.place(first, page / self.shape.units).die;
            group = self.gather.begin(block, page, die, kind);
            self.filling[domain.at()][kind] = group;
            // Copies need not be programmed soon: what they are of is still in the flash, or as safe here.
            if let Some(linger) = self.config.buffer.linger.ns()
                && stream == Stream::FIRST
            {
                clock.call(clock.now + linger, event(Happens::Lingered, group));
            }
        }
        if self.gather.add(group, programming) {
            self.filling[domain.at()][kind] = gather::NONE;
            self.group_full(group, clock);
        }
    }

    /// Fills what is left of a group with nothing.
    pub(super) fn pad(&mut self, domain: Domain, stream: Stream, clock: &mut Clock) {
        while self.filling[domain.at()][stream.0 as usize] != gather::NONE {
            self.ftl.counters.padding += 1;
            let programming = self.ftl.begin_padding(domain, stream);
            self.put(domain, stream, programming, clock);
        }
    }

    /// A group has had its time to fill, if it is still the one that it was.
    pub(super) fn lingered(&mut self, group: u32, clock: &mut Clock) {
        let filling = self.filling.iter().position(|[of_host, _]| *of_host == group);
        if let Some(domain) = filling {
            self.pad(Domain(domain as u32), Stream::FIRST, clock);
        }
    }

    /// The host wants to know when all that it has written is durable.
    pub(in crate::ssd) fn flush(&mut self, slot: Slot, clock: &mut Clock) {
        if self.asked.len() <= slot as usize {
            self.asked.resize(slot as usize + 1, None);
        }
        self.await_durable(slot, clock);
    }

    /// What is in the buffer goes to the flash, padded; a request waits for it.
    fn await_durable(&mut self, slot: Slot, clock: &mut Clock) {
        for domain in 0..self.filling.len() as u32 {
            self.pad(Domain(domain), Stream::FIRST, clock);
        }
        self.durable.push((self.gather.next_number(), slot));
        self.settle(clock.now);
        self.end_idle_burst(clock);
    }

    /// Programs for the host are held for a burst that does nothing any more, and a flush waits for them, or for a
    /// page of the drive's own: the burst is over.
    pub(super) fn end_idle_burst(&mut self, clock: &mut Clock) {
        let own = |die: &Die| die.tasks[0].iter().any(|task| task.job == Job::Own);
        let waits = || !self.durable.is_empty() || self.dies.iter().any(own);
        if self.pace.holds_host() && self.stands_still() && waits() {
            self.pace.settle_for_less(clock.now);
            self.pace_changed(clock);
        }
    }

    /// Answers the requests for which everything is durable.
    pub(super) fn settle(&mut self, now: Time) {
        let mut place = 0;
        while let Some((number, slot)) = self.durable.get(place).copied() {
            let mut open = self.gather.unfinished(number);
            let is_own = Self::is_own(slot);
            if open.any(|group| is_own || self.gather.group(group).stream == 0) {
                place += 1;
                continue;
            }
            drop(open);
            self.durable.remove(place);
            if is_own {
                self.answers.push(Answer::Own(Unit(0)));
            } else if self.asked[slot as usize].is_some() {
                self.answer(slot, Status::Ok, now);
            } else {
                self.answers.push(Answer::Flushed(slot));
            }
        }
    }
}
