//! The timed cache: translates host requests into requests to both devices, and handles their
//! completions.
//!
//! A write locks its lines until it completes; a read miss locks its lines until they are in the
//! cache. Other requests for these lines wait. Lines being read keep their slots.

use super::Side;
use super::config::{CacheOptions, Halves, Mode, Recovery, Shape};
use super::destage::Run;
use super::hints::{Hint, Hints};
use super::ledger::Ledger;
use super::lists::{NONE, Slot as LineSlot};
use super::pair::{self, Job, Owner, Pair};
use super::places::Places;
use super::planted::Slip;
use super::report::{Counts, Kind};
use super::requests::Requests;
use super::streams::Streams;
use super::table::State;
use engine::{
    Breakdown, Completion, Device, Followed, Lba, Op, Request, SECTOR_BYTES, Standing, Status, Time,
};
use options::Invalid;
use ssd::device::Model;
use ssd::device::kit::slots::{Slot, Slots};
use ssd::device::latency::FAST;
use std::ops::Range;

/// A cache in front of a device: both devices, the state of the lines, and outstanding requests.
#[derive(Clone)]
pub struct Cache {
    pub shape: Shape,
    recovery: Recovery,
    pub pair: Pair,
    pub places: Places,
    pub streams: Streams,
    pub requests: Requests,
    hints: Hints,
    runs: Slots<Run>,
    /// Runs that the backing device has completed but not flushed; and runs in the current flush.
    landed: Vec<Slot>,
    flushing: Vec<Slot>,
    pub counts: Counts,
    /// Reason why write-back is impossible, if any.
    failed: Option<Status>,
    /// True once both devices are ready after the last cut.
    was_ready: bool,
    now: Time,
    done: Vec<Completion>,
}

impl Cache {
    /// A cache that holds only its pinned lines; `keeps` is true for each device whose completions
    /// survive a power cut.
    ///
    /// # Errors
    /// For options that contradict each other or the devices; the error names the keys.
    pub fn of(
        config: &CacheOptions<impl Halves>,
        seed: u64,
        devices: [Box<dyn Model>; 2],
        keeps: [bool; 2],
    ) -> Result<Cache, Invalid> {
        let [fast, backing] = &devices;
        let shape = config.shape(fast.capacity_sectors(), backing.capacity_sectors())?;
        let places = Places::new(config, &shape);
        let judged = config.restart != Recovery::None;
        let ledger = judged.then(|| {
            let mut ledger = Box::new(Ledger::new(keeps, seed));
            places.table().lines().for_each(|(slot, line, _)| ledger.loaded(slot, line));
            ledger
        });
        let [keeps_fast, keeps_backing] = keeps;
        let needs = config.mode == Mode::WriteBack || config.restart == Recovery::Warm;
        Ok(Cache {
            shape,
            recovery: config.restart,
            pair: Pair::new(shape, devices, ledger, needs && !keeps_fast, !keeps_backing),
            places,
            streams: Streams::new(config.bypass.bytes() / SECTOR_BYTES),
            requests: Requests::new(judged),
            hints: config.hints.clone(),
            runs: Slots::new(),
            landed: Vec::new(),
            flushing: Vec::new(),
            counts: Counts::default(),
            failed: None,
            was_ready: true,
            now: 0,
            done: Vec::new(),
        })
    }

    /// Reads lines in consecutive slots, which keep their content during the read.
    #[inline]
    fn read_slots(
        &mut self,
        owner: Owner,
        lines: Range<u64>,
        slot: LineSlot,
        sectors: &Range<u64>,
    ) {
        self.places.pin(slot, (lines.end - lines.start) as u32);
        self.pair.ask_fast(self.now, (owner, Op::Read), lines, slot, sectors);
    }

    // ---- requests of the host ------------------------------------------------------------------

    /// Starts a read of one cached, unlocked line. Returns false for other requests.
    #[inline]
    fn begin_hit(&mut self, request: &Request) -> bool {
        let Shape { line, .. } = self.shape;
        let Request { lba: Lba(first), sectors, .. } = *request;
        let number = first / line;
        let from = first - number * line;
        if from + u64::from(sectors) > line || !self.requests.are_free(&(number..number + 1)) {
            return false;
        }
        let slot = self.places.hit(number);
        if slot == NONE {
            return false;
        }
        self.counts.reads(1, 0);
        self.requests.hit(self.now, request);
        self.pair.ask_hit(self.now, request, slot, from);
        true
    }

    /// Turns the fast device's completion of a read hit into the host's completion.
    #[inline]
    fn end_hit(&mut self, answer: &mut Completion) {
        let Shape { line, .. } = self.shape;
        let place = answer.request.lba.0;
        let slot = place / line;
        let from = place - slot * line;
        let slot = slot as LineSlot + 1;
        let ns = answer.at - answer.submitted;
        (answer.request.id, answer.request.queue) = pair::hit_of(answer);
        answer.request.lba = Lba(self.places.table().line(slot) * line + from);
        *answer = Completion { breakdown: Breakdown::of(FAST, ns), ..*answer };
        self.requests.hit_ends(answer.request.id);
        self.places.unpin_one(slot);
        self.counts.hit(ns);
        self.places.rules().host_acts(answer.at);
    }

    /// True if all outstanding requests are read hits.
    #[inline]
    fn has_only_hits(&self) -> bool {
        self.pair.is_idle()
            && !self.places.destager().has_dirty()
            && !self.requests.has_answers()
            && !self.requests.has_waiting()
            && self.was_ready
    }

    /// Applies the hint of a request.
    pub fn heed(&mut self, request: &Request) {
        let Some(hint) = self.hints.of(request.handle) else { return };
        let Request { lba, sectors, .. } = *request;
        let lines = self.shape.lines(lba.0, u64::from(sectors));
        match hint {
            Hint::Pin => {
                let all = lines.end - lines.start;
                let more = self.places.hold(lines);
                self.counts.pin(more, all - more);
            }
            Hint::Unpin => {
                let more = self.places.let_go(&lines);
                self.counts.unpin(more);
            }
            // A line written now is written back with the others.
            Hint::Flush if request.op == Op::Write => {}
            Hint::Flush => self.places.rules().want_all(true),
        }
    }

    /// True if a request demands write-back of all dirty lines.
    pub fn asks_for_all(&self, request: &Request) -> bool {
        self.hints.of(request.handle) == Some(Hint::Flush)
    }

    /// True if the host gives hints.
    pub fn has_hints(&self) -> bool {
        !self.hints.are_none()
    }

    /// Starts a request. Returns false if it must wait.
    fn begin(&mut self, asked: Slot) -> bool {
        let Request { op, lba, sectors, .. } = self.requests.asked(asked).request;
        let lines = self.shape.lines(lba.0, u64::from(sectors));
        let sectors = lba.0..lba.0 + u64::from(sectors);
        if op != Op::Flush && !self.requests.are_free(&lines) {
            return false;
        }
        match op {
            Op::Read => self.read(asked, lines, &sectors),
            Op::Write => return self.write(asked, lines, &sectors),
            Op::Flush => return self.flush(asked),
            _ => return self.trim(asked, &lines, &sectors),
        }
        true
    }

    #[inline]
    fn read(&mut self, asked: Slot, lines: Range<u64>, sectors: &Range<u64>) {
        self.requests.begin(asked, self.now);
        if lines.end - lines.start == 1 {
            let slot = self.places.held(lines.start);
            if slot != NONE {
                self.counts.reads(1, 0);
                self.places.used(slot);
                self.requests.expect(asked);
                self.read_slots(Owner::Part(asked), lines, slot, sectors);
                return;
            }
        }
        self.read_runs(asked, lines, sectors);
    }

    /// Reads lines, some of them missing, in contiguous runs.
    fn read_runs(&mut self, asked: Slot, lines: Range<u64>, sectors: &Range<u64>) {
        let passes = self.requests.asked(asked).passes || self.shape.is_too_long(&lines);
        let missing = lines.clone().filter(|line| self.places.held(*line) == NONE).count() as u64;
        let hits = lines.end - lines.start - missing;
        self.counts.reads(hits, missing);
        let keeps = missing > 0 && !passes;
        self.requests.serve_as(
            asked,
            match (missing, passes) {
                (0, _) => Kind::ReadHit,
                (_, true) => Kind::ReadPassed,
                (_, false) => Kind::ReadMiss,
            },
        );
        if keeps {
            self.requests.hold(asked, &lines);
        }
        for (run, slot) in self.places.runs_of(lines) {
            self.requests.expect(asked);
            if slot != NONE {
                (slot..slot + (run.end - run.start) as u32).for_each(|slot| self.places.used(slot));
                self.read_slots(Owner::Part(asked), run, slot, sectors);
            } else if keeps {
                let whole = self.shape.whole(&run);
                self.pair.ask_backing(
                    self.now,
                    (Owner::Missing(asked), Op::Read),
                    run,
                    &whole,
                    false,
                );
            } else {
                if passes {
                    let (start, end) = self.shape.clipped(&run, sectors);
                    self.counts.bypass((end - start) * SECTOR_BYTES);
                }
                self.pair.ask_backing(
                    self.now,
                    (Owner::Part(asked), Op::Read),
                    run,
                    sectors,
                    false,
                );
            }
        }
    }

    fn write(&mut self, asked: Slot, lines: Range<u64>, sectors: &Range<u64>) -> bool {
        let there = lines.clone().filter(|line| self.places.held(*line) != NONE).count() as u64;
        let missing = lines.end - lines.start - there;
        let passes = self.requests.asked(asked).passes || self.shape.is_too_long(&lines);
        if self.shape.mode == Mode::WriteBack && !passes && missing > 0 {
            if let Some(status) = self.failed {
                self.begin_write(asked, &lines, (there, missing));
                self.requests.fail(asked, status);
                self.answer(asked);
                return true;
            }
            if !self.places.make_room(&lines) {
                self.places.rules().want_room();
                if !self.requests.asked(asked).wants_room {
                    self.requests.want_room(asked);
                    self.counts.stall();
                }
                return false;
            }
        }
        self.begin_write(asked, &lines, (there, missing));
        match self.shape.mode {
            Mode::WriteBack if !passes => self.write_to_cache(asked, lines, sectors),
            Mode::WriteBack => self.write_past(asked, lines, sectors),
            Mode::WriteThrough => self.write_through(asked, lines, sectors, passes),
            Mode::Tiered => unreachable!("tiers are a device of their own"),
            Mode::ReadOnly => {
                for line in lines.clone() {
                    let slot = self.places.held(line);
                    if slot != NONE {
                        self.places.forget(slot);
                    }
                }
                self.write_past(asked, lines, sectors);
            }
        }
        true
    }

    fn begin_write(&mut self, asked: Slot, lines: &Range<u64>, (there, missing): (u64, u64)) {
        self.requests.begin(asked, self.now);
        self.requests.hold(asked, lines);
        self.requests.serve_as(asked, Kind::Write);
        self.counts.writes(there, missing);
        self.pair.note(|ledger| ledger.written(asked, lines.clone()));
    }

    /// Writes to the cache, where every line has a slot. For partly written lines that are new, the
    /// rest is read first.
    fn write_to_cache(&mut self, asked: Slot, lines: Range<u64>, sectors: &Range<u64>) {
        let mut merges = false;
        for line in [lines.start, lines.end - 1] {
            let whole = self.shape.whole(&(line..line + 1));
            let is_part = sectors.start > whole.start || sectors.end < whole.end;
            let is_new = self.places.held(line) == NONE;
            let again = line == lines.end - 1 && line == lines.start && merges;
            if is_part && is_new && !again {
                merges = true;
                self.counts.merge();
                self.requests.expect(asked);
                self.pair.ask_backing(
                    self.now,
                    (Owner::Merge(asked), Op::Read),
                    line..line + 1,
                    &whole,
                    false,
                );
            }
        }
        if merges {
            self.requests.set_merges(asked, true);
            // None of the lines is evicted during the reads.
            for line in lines {
                let slot = self.places.table().find(line);
                self.places.set_writing(slot, true);
            }
        } else {
            self.write_slots(asked, lines, sectors);
        }
    }

    /// Writes lines to their slots.
    fn write_slots(&mut self, asked: Slot, lines: Range<u64>, sectors: &Range<u64>) {
        let mut line = lines.start;
        while line < lines.end {
            let slot = self.places.table().find(line);
            let is_new = self.places.table().entry(slot).state == State::Coming;
            let extends = |more: u64| {
                let next = self.places.table().find(line + more);
                next == slot + more as u32
                    && (self.places.table().entry(next).state == State::Coming) == is_new
            };
            let count = (1..lines.end - line).take_while(|more| extends(*more)).count() as u64 + 1;
            for slot in slot..slot + count as u32 {
                if !is_new {
                    self.places.used(slot);
                    if !Slip::DirtyLate.is_planted() {
                        self.places.make_dirty(slot, self.now);
                    }
                }
                self.places.set_writing(slot, true);
            }
            let run = line..line + count;
            let whole = self.shape.whole(&run);
            self.requests.expect(asked);
            let range = if is_new { &whole } else { sectors };
            self.pair.ask_fast(self.now, (Owner::Part(asked), Op::Write), run, slot, range);
            line += count;
        }
    }

    /// Writes uncached lines to the backing device.
    fn write_past(&mut self, asked: Slot, lines: Range<u64>, sectors: &Range<u64>) {
        let forced = self.requests.asked(asked).request.fua;
        self.requests.serve_as(asked, Kind::WritePassed);
        for (run, slot) in self.places.runs_of(lines) {
            self.requests.expect(asked);
            if slot == NONE {
                if self.shape.mode != Mode::ReadOnly {
                    let (start, end) = self.shape.clipped(&run, sectors);
                    self.counts.bypass((end - start) * SECTOR_BYTES);
                }
                self.pair.ask_backing(
                    self.now,
                    (Owner::Part(asked), Op::Write),
                    run,
                    sectors,
                    forced,
                );
            } else {
                for slot in slot..slot + (run.end - run.start) as u32 {
                    self.places.make_dirty(slot, self.now);
                    self.places.set_writing(slot, true);
                }
                self.pair.ask_fast(self.now, (Owner::Part(asked), Op::Write), run, slot, sectors);
            }
        }
    }

    /// Writes to both devices; a line becomes valid once both have completed.
    fn write_through(
        &mut self,
        asked: Slot,
        lines: Range<u64>,
        sectors: &Range<u64>,
        passes: bool,
    ) {
        let forced = self.requests.asked(asked).request.fua;
        for line in lines.clone() {
            let slot = self.places.held(line);
            let whole = self.shape.whole(&(line..line + 1));
            let is_whole = sectors.start <= whole.start && sectors.end >= whole.end;
            if slot != NONE {
                self.places.used(slot);
                self.places.make_coming(slot);
            } else if !is_whole || passes || self.places.allocate(line).is_none() {
                continue;
            }
            let slot = self.places.table().find(line);
            self.requests.expect(asked);
            self.pair.ask_fast(
                self.now,
                (Owner::Part(asked), Op::Write),
                line..line + 1,
                slot,
                sectors,
            );
        }
        if passes {
            self.requests.serve_as(asked, Kind::WritePassed);
            self.counts.bypass((sectors.end - sectors.start) * SECTOR_BYTES);
        }
        self.requests.expect(asked);
        self.pair.ask_backing(self.now, (Owner::Part(asked), Op::Write), lines, sectors, forced);
    }

    /// Trims; lines that are fully covered leave the cache.
    fn trim(&mut self, asked: Slot, lines: &Range<u64>, sectors: &Range<u64>) -> bool {
        let line = self.shape.line;
        let at_end = sectors.end == self.shape.capacity;
        let end = if at_end { lines.end } else { sectors.end / line };
        let whole = sectors.start.div_ceil(line)..end.max(sectors.start.div_ceil(line));
        let under_way =
            |line: u64| self.places.table().entry(self.places.table().find(line)).destaging;
        if whole.clone().any(under_way) {
            return false;
        }
        self.requests.begin(asked, self.now);
        self.requests.hold(asked, lines);
        self.requests.serve_as(asked, Kind::WritePassed);
        for line in whole.clone() {
            let slot = self.places.held(line);
            if slot != NONE {
                self.places.forget(slot);
            }
        }
        self.pair.note(|ledger| ledger.trimmed(whole));
        self.requests.expect(asked);
        self.pair.ask_backing(
            self.now,
            (Owner::Part(asked), Op::Trim),
            lines.clone(),
            sectors,
            false,
        );
        true
    }

    /// Flushes a backing device that may lose completed writes; writes to the fast device are
    /// forced instead.
    fn flush(&mut self, asked: Slot) -> bool {
        if self.requests.waits_for_changes(asked) {
            return false;
        }
        self.requests.begin(asked, self.now);
        self.requests.serve_as(asked, Kind::WritePassed);
        self.pair.note(|ledger| ledger.host_flush_begins(asked));
        if self.pair.may_lose() && !Slip::FlushKept.is_planted() {
            self.requests.expect(asked);
            self.pair.ask_flush(self.now, Owner::Part(asked));
        } else {
            self.answer(asked);
        }
        true
    }

    // ---- the devices answer ------------------------------------------------------------------------------

    #[inline]
    fn answered(&mut self, side: Side, completion: &Completion) {
        if !(side == Side::Fast && pair::is_hit(completion)) {
            return self.job_ended(side, completion);
        }
        let mut answer = *completion;
        self.end_hit(&mut answer);
        self.requests.push_answer(answer);
    }

    fn job_ended(&mut self, side: Side, completion: &Completion) {
        let job = self.pair.answered(side, completion);
        let status = completion.status;
        if job.pinned != NONE {
            self.places.unpin(job.pinned, job.lines);
        }
        match job.owner {
            Owner::Part(asked) => {
                if self.requests.part_ended(asked, side, status, self.now) {
                    self.over(asked);
                }
            }
            Owner::Missing(asked) => {
                if status.is_ok() {
                    self.fill(asked, job.first..job.first + u64::from(job.lines));
                }
                if self.requests.part_ended(asked, side, status, self.now) {
                    self.over(asked);
                }
            }
            Owner::Merge(asked) => {
                if self.requests.part_ended(asked, side, status, self.now) {
                    self.merged(asked);
                }
            }
            Owner::Fill(asked) => self.filled(asked, &job, status),
            Owner::RunRead(run) => self.run_read(run, status),
            Owner::RunWrite(run) => self.run_written(run, status),
            Owner::RunFlush => self.run_flushed(status),
        }
    }

    /// Continues a write once the rest of its partly written lines is read.
    fn merged(&mut self, asked: Slot) {
        let Request { lba, sectors, .. } = self.requests.asked(asked).request;
        let lines = self.shape.lines(lba.0, u64::from(sectors));
        self.requests.set_merges(asked, false);
        if self.requests.status(asked).is_ok() {
            let sectors = lba.0..lba.0 + u64::from(sectors);
            self.write_slots(asked, lines, &sectors);
        } else {
            self.over(asked);
        }
    }

    /// Inserts lines that were read into the cache, as far as there is room.
    fn fill(&mut self, asked: Slot, lines: Range<u64>) {
        let mut run: Option<(Range<u64>, LineSlot)> = None;
        for line in lines {
            let Some(slot) = self.places.allocate(line) else { break };
            match &mut run {
                Some((run, first)) if slot == *first + (line - run.start) as u32 => {
                    *run = run.start..line + 1;
                }
                _ => {
                    if let Some((lines, first)) = run.replace((line..line + 1, slot)) {
                        self.fill_run(asked, lines, first);
                    }
                }
            }
        }
        if let Some((lines, first)) = run {
            self.fill_run(asked, lines, first);
        }
    }

    fn fill_run(&mut self, asked: Slot, lines: Range<u64>, first: LineSlot) {
        let whole = self.shape.whole(&lines);
        self.counts.fill((whole.end - whole.start) * SECTOR_BYTES);
        self.requests.expect_after(asked);
        self.pair.ask_fast(self.now, (Owner::Fill(asked), Op::Write), lines, first, &whole);
    }

    fn filled(&mut self, asked: Slot, job: &Job, status: Status) {
        let epoch = if self.pair.may_lose() { self.pair.epoch() } else { 0 };
        for line in job.first..job.first + u64::from(job.lines) {
            let slot = self.places.table().find(line);
            if status.is_ok() {
                self.places.make_clean(slot, epoch);
            } else {
                self.places.forget(slot);
            }
        }
        if self.requests.after_ended(asked) && self.requests.asked(asked).is_over() {
            self.release(asked);
        }
    }

    /// Completes a request whose parts have all completed.
    #[inline]
    fn over(&mut self, asked: Slot) {
        let request = self.requests.asked(asked).request;
        if request.op == Op::Write {
            self.written(asked, &request);
        }
        self.answer(asked);
    }

    /// Updates the state of written lines.
    fn written(&mut self, asked: Slot, request: &Request) {
        let is_ok = self.requests.status(asked).is_ok();
        let back = self.shape.mode == Mode::WriteBack;
        for line in self.shape.lines(request.lba.0, u64::from(request.sectors)) {
            let slot = self.places.table().find(line);
            if slot == NONE {
                continue;
            }
            let entry = *self.places.table().entry(slot);
            if back && (entry.writing || Slip::MappedEarly.is_planted()) {
                self.places.set_writing(slot, false);
                if is_ok || entry.state == State::Dirty {
                    self.places.make_dirty(slot, self.now);
                } else {
                    self.places.forget(slot);
                }
            } else if entry.state == State::Coming {
                if is_ok && !back {
                    self.places.make_clean(slot, self.pair.epoch());
                } else {
                    self.places.forget(slot);
                }
            }
        }
        // The hint applies to the other dirty lines too.
        if self.asks_for_all(request) {
            self.places.rules().want_all(true);
        }
    }

    #[inline]
    fn answer(&mut self, asked: Slot) {
        if self.pair.ledger().is_some() {
            self.note_answer(asked);
        }
        let (kind, wait, [fast, backing]) = self.requests.answer(asked, self.now);
        self.counts.account(kind, wait, fast, backing);
        self.places.rules().host_acts(self.now);
        if self.requests.asked(asked).is_over() {
            self.release(asked);
        }
    }

    #[inline]
    fn release(&mut self, asked: Slot) {
        self.requests.release(asked);
    }

    // ---- write-back ----------------------------------------------------------------------------

    fn pump_destage(&mut self) {
        if self.shape.mode != Mode::WriteBack || self.failed.is_some() {
            return;
        }
        let host_waits = self.requests.outstanding() > 0;
        while let Some(run) = self.places.begin_run(host_waits, self.now) {
            let pieces = self.places.runs_of(run.lines());
            let id = self.runs.insert(Run { reads: pieces.len() as u32, ..run });
            for (piece, slot) in pieces {
                let whole = self.shape.whole(&piece);
                self.pair.note(|ledger| ledger.take(piece.clone(), slot));
                self.read_slots(Owner::RunRead(id), piece, slot, &whole);
            }
        }
    }

    fn run_read(&mut self, id: Slot, status: Status) {
        if !self.runs[id].read_ended(status) {
            return;
        }
        let run = self.runs[id];
        if run.failed || Slip::DestagedUnwritten.is_planted() {
            self.failed = self.failed.or(Some(status).filter(|status| !status.is_ok()));
            self.end_run(id);
            if run.failed {
                return;
            }
        }
        let lines = run.lines();
        let whole = self.shape.whole(&lines);
        self.counts.destage((whole.end - whole.start) * SECTOR_BYTES);
        self.pair.ask_backing(self.now, (Owner::RunWrite(id), Op::Write), lines, &whole, false);
    }

    fn run_written(&mut self, id: Slot, status: Status) {
        if Slip::DestagedUnwritten.is_planted() {
            return;
        }
        if !status.is_ok() {
            self.failed = Some(status);
            self.runs[id].note(status);
        }
        if self.pair.is_volatile() && status.is_ok() && !Slip::DestagedEarly.is_planted() {
            self.landed.push(id);
            self.flush_runs();
        } else {
            self.end_run(id);
        }
    }

    /// Flushes completed runs on the backing device: when it is idle, or at half the run limit.
    fn flush_runs(&mut self) {
        let (_, under_way) = self.places.destager().waiting();
        let many = self.landed.len() as u32 * 2 >= under_way;
        if self.flushing.is_empty() && !self.landed.is_empty() && many {
            self.flushing = std::mem::take(&mut self.landed);
            self.pair.ask_flush(self.now, Owner::RunFlush);
        }
    }

    fn run_flushed(&mut self, status: Status) {
        for id in std::mem::take(&mut self.flushing) {
            self.runs[id].note(status);
            self.end_run(id);
        }
        self.flush_runs();
    }

    fn end_run(&mut self, id: Slot) {
        let run = self.runs.remove(id);
        self.places.end_run(&run, self.now);
    }

    // ---- on and on -----------------------------------------------------------------------------------------

    /// Starts waiting requests, and write-back.
    #[inline]
    fn pump(&mut self) {
        if self.requests.has_waiting() {
            self.begin_waiting();
        }
        self.pump_destage();
    }

    fn begin_waiting(&mut self) {
        let mut place = 0;
        let mut room = true;
        while let Some(asked) = self.requests.waiting(place) {
            let request = self.requests.asked(asked).request;
            let shape = self.shape;
            let lines_of = |it: &Request| shape.lines(it.lba.0, u64::from(it.sectors));
            let lines = lines_of(&request);
            let is_behind =
                request.op != Op::Flush && self.requests.is_behind(&lines, place, lines_of);
            // Room goes to the first waiting request that needs it.
            let wants_room = self.requests.asked(asked).wants_room;
            if is_behind || wants_room && !room || !self.begin(asked) {
                room &= !self.requests.asked(asked).wants_room;
                place += 1;
            } else {
                self.requests.no_longer_waits(place);
            }
        }
        if room {
            self.places.rules().has_room();
        }
    }

    #[inline]
    fn timer(&self) -> Option<Time> {
        if self.shape.mode != Mode::WriteBack || self.failed.is_some() {
            return None;
        }
        self.places.destager().next_at(self.requests.outstanding() > 0)
    }

    /// Time of the next event; the end of time without one.
    #[inline]
    fn next_at(&self) -> Time {
        let devices = self.pair.next();
        if !self.places.destager().has_dirty() || !self.was_ready {
            return devices;
        }
        devices.min(self.next_timer())
    }

    /// Time of the next timed write-back; the end of time without one.
    #[inline(never)]
    fn next_timer(&self) -> Time {
        // Timers that have expired start their runs at once.
        self.timer().filter(|at| *at > self.now).unwrap_or(Time::MAX)
    }

    #[inline]
    fn next_inside(&self) -> Option<Time> {
        let at = self.next_at();
        (at < Time::MAX).then_some(at)
    }

    /// Processes all events of one instant.
    #[inline]
    fn step(&mut self, now: Time) {
        self.now = now;
        self.advance_devices(now);
        self.wake();
        let has_more = self.requests.has_waiting() || self.places.destager().has_dirty();
        if has_more && self.was_ready {
            self.pump();
        }
    }

    /// Processes events as long as they concern only this device.
    fn go_to_answer(&mut self, to: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        if let Some(at) = self.requests.first_answer().filter(|at| *at <= to) {
            self.advance(at, completions);
            return Some(at);
        }
        let mut now = self.next_inside().filter(|at| *at <= to)?;
        loop {
            self.step(now);
            let next = self.next_at();
            let is_over = next > now && (self.requests.has_answers() || self.pair.has_ended());
            if is_over || next > to || next == Time::MAX {
                break;
            }
            now = next;
        }
        self.requests.fetch(completions);
        Some(now)
    }

    /// Advances both devices to an instant.
    #[inline]
    fn advance_devices(&mut self, now: Time) {
        for side in [Side::Fast, Side::Backing] {
            if !self.pair.is_due(side, now) {
                continue;
            }
            let mut done = std::mem::take(&mut self.done);
            self.pair.advance(side, now, &mut done);
            for completion in &done {
                self.answered(side, completion);
            }
            done.clear();
            self.done = done;
        }
    }

    /// Accepts any request except a read hit.
    fn submit_other(&mut self, now: Time, request: Request, passes: bool) {
        let asked = self.requests.arrive(now, request, passes);
        let shape = self.shape;
        let lines_of = |it: &Request| shape.lines(it.lba.0, u64::from(it.sectors));
        let is_behind = self.requests.has_waiting()
            && request.op != Op::Flush
            && self.requests.is_behind(&lines_of(&request), usize::MAX, lines_of);
        if is_behind || !self.was_ready || !self.begin(asked) {
            self.requests.push_waiting(asked);
            if self.was_ready {
                self.pump_destage();
            }
        }
    }

    /// Determines the surviving state, once both devices are ready after a cut.
    #[inline]
    fn wake(&mut self) {
        if self.was_ready || !self.pair.are_ready() {
            return;
        }
        self.was_ready = true;
        let (lines, _) = self.places.table().counts();
        let places = &self.places;
        self.pair.note(|ledger| {
            ledger.judge(|line| places.find(line));
            ledger.note_kept(lines);
        });
    }

    fn note_answer(&mut self, asked: Slot) {
        let volatile = self.pair.is_volatile();
        let of = self.requests.asked(asked);
        let in_cache = self.shape.mode == Mode::WriteBack && of.kind == Kind::Write;
        let promised = of.request.fua || in_cache || !volatile;
        let ended = (of.request.op, self.requests.status(asked).is_ok());
        self.pair.note(|ledger| match ended {
            (Op::Write, true) => ledger.answered(asked, promised),
            (Op::Write, false) => ledger.failed(asked),
            (Op::Flush, true) => ledger.host_flush_ends(asked),
            _ => {}
        });
    }

    /// Resets the counters.
    pub fn reset(&mut self) {
        self.counts = Counts::default();
        self.places.reset();
        self.pair.note(|ledger| ledger.reset());
    }

    /// Checks that the map leads to the last content of each line; the cache must be idle.
    pub fn audit_lines(&self) -> Result<(), String> {
        let Some(ledger) = self.pair.ledger() else { return Ok(()) };
        ledger.audit(|line| self.places.find(line))
    }

    /// True without outstanding requests and locked lines.
    pub fn is_at_rest(&self) -> bool {
        self.requests.is_empty() && self.pair.is_idle() && self.runs.is_empty()
    }
}

impl Device for Cache {
    fn submit(&mut self, now: Time, request: Request) {
        self.now = now;
        let passes = matches!(request.op, Op::Read | Op::Write) && self.streams.pass(&request);
        self.places.rules().host_acts(now);
        if !self.hints.are_none() {
            self.heed(&request);
        }
        let may_hit = pair::may_be_hit(&request) && self.was_ready && !self.requests.has_waiting();
        if may_hit && self.begin_hit(&request) {
            return;
        }
        self.submit_other(now, request, passes);
    }

    fn next_event(&self) -> Option<Time> {
        let at = self.requests.first_answer().unwrap_or_else(|| self.next_at());
        (at < Time::MAX).then_some(at)
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        loop {
            let now = self.next_at();
            if now > to || now == Time::MAX {
                break;
            }
            self.step(now);
        }
        self.requests.fetch(completions);
    }

    fn advance_to_answer(&mut self, to: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        if self.has_only_hits() {
            let before = completions.len();
            if let Some(now) = self.pair.advance_to_hits(to, completions) {
                self.now = now;
                for answer in &mut completions[before..] {
                    self.end_hit(answer);
                }
                return Some(now);
            }
        }
        self.go_to_answer(to, completions)
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.now = now;
        self.requests.lose_power(now, completions);
        let flushed = self.pair.flushed();
        self.places.lose_power(self.recovery, flushed, now);
        self.pair.cut(now);
        self.runs = Slots::new();
        self.landed.clear();
        self.flushing.clear();
        self.was_ready = false;
    }

    fn power_on(&mut self, now: Time) {
        self.now = now;
        self.pair.power_on(now);
        self.wake();
        if self.was_ready {
            self.pump();
        }
    }

    fn standing(&self) -> Standing {
        let [fast, backing] = self.pair.each().each_ref().map(|device| device.standing());
        Standing {
            is_ready: self.was_ready,
            has_ended: fast.has_ended || backing.has_ended,
            may_refuse: fast.may_refuse || backing.may_refuse,
        }
    }

    fn has_ended(&self) -> bool {
        self.pair.each().iter().any(|device| device.has_ended())
    }

    fn followed(&self) -> Option<Followed> {
        let mut known = self.pair.each().iter().filter_map(|device| device.followed());
        let first = known.next()?;
        Some(known.fold(first, |mut sum, more| {
            sum += more;
            sum
        }))
    }

    fn capacity_sectors(&self) -> u64 {
        self.shape.capacity
    }
}
