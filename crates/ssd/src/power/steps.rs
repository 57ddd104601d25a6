//! Steps of a recovery: the controller starts, reads the flash, erases half-erased blocks, installs
//! the recovered map, rewrites pages at risk, and logs its start.

use super::planted::Bug;
use super::reader::Step;
use super::state::{Power, State, next_program};
use crate::Ssd;
use crate::clock::{Clock, Event};
use crate::config::Recovery;
use crate::flash::{Flash, Reading, Short, Torn};
use crate::ftl::{Ftl, PageMap, rebuild};
use crate::ids::{Block, Lpn, Unit};
use crate::shape::Geometry;
use engine::{Completion, Random, Time};

/// Event at which the controller has started.
const STARTED: u32 = 0;

impl Ssd {
    /// Handles a power cut: outstanding requests and all controller state are lost.
    pub(crate) fn lose_power(&mut self, now: Time, completions: &mut Vec<Completion>) {
        let erasing = self.seen().erasing();
        let (programs, groups) = self.seen().cut(&self.ftl, &self.front, now);
        let power = self.power.as_mut().expect("a drive that recovers");
        power.report.cuts += 1;
        if let Some(blocks) = self.blocks.as_ref().filter(|_| self.config.is_volatile()) {
            power.report.acknowledged_lost += blocks.dirty_pages();
        }
        power.note_truth(&self.ftl, &programs);
        if let Some(blocks) = self.blocks.as_mut().filter(|_| !self.config.is_volatile()) {
            let lanes = power.reader.lanes();
            power.report.durable_lost += blocks.save_pages(self.config.saved_pages(lanes));
        }
        if let Some(groups) = groups {
            power.tear_groups(&self.ftl, &mut self.flash, &groups, &erasing);
        } else {
            power.tear(&self.ftl, &mut self.flash, &programs, &erasing);
        }
        self.flash.lose_power();
        power.trims.lose_power();
        power.checkpoints.lose_power();
        power.own_pages.clear();
        power.reader.lose_power(now);
        power.state = State::Off;
        self.machines_lose_power(now);
        self.clock = Clock::at(now);
        self.front.lose_power(&self.config, now);
        self.front.hand_over(completions);
    }

    /// Starts recovery at power-on; the drive accepts no requests until it has its map.
    pub(crate) fn begin_recovery(&mut self, now: Time) {
        let power = self.power.as_mut().expect("a drive that recovers");
        assert!(matches!(power.state, State::Off), "power comes back after it went");
        power.state = State::Starting;
        power.on_at = now;
        self.clock.now = now;
        self.front.hold();
        self.clock.call(now + power.config.ready.ns(), Event::Power(STARTED));
    }

    /// Handles the end of a recovery step.
    pub(crate) fn power_event(&mut self, event: Event) {
        let power = self.power.as_mut().expect("it has events");
        match event {
            Event::Power(super::checkpoint::DUE) => return self.begin_checkpoint(),
            Event::Power(_) => {
                let (ftl, flash) = (&mut self.ftl, &mut self.flash);
                power.plan_first(ftl.geometry(), flash);
                power.state = State::Reading { second: false };
                if power.reader.start(&mut self.clock) {
                    return;
                }
            }
            Event::PowerLane(lane) => {
                if !power.reader.stage_ended(lane, &mut self.clock) {
                    return;
                }
            }
            _ => return,
        }
        self.go_on_recovering();
    }

    /// Continues once all lanes are done.
    fn go_on_recovering(&mut self) {
        let power = self.power.as_mut().expect("it recovers");
        let (ftl, flash) = (&mut self.ftl, &mut self.flash);
        if let State::Reading { second: false } = power.state {
            power.plan_second(ftl.geometry(), flash);
            power.state = State::Reading { second: true };
            if power.reader.start(&mut self.clock) {
                return;
            }
        }
        if let State::Reading { second: true } = power.state {
            power.close_blocks(ftl.geometry(), flash);
            power.state = State::Erasing;
            if power.reader.start(&mut self.clock) {
                return;
            }
        }
        power.wake(ftl, flash);
        power.state = State::Numbering;
        let (executor, mut cx) = self.executor();
        executor.write_own(Unit(0), &mut cx);
    }

    /// Continues program numbers from a logged value, so that later programs never share a number
    /// with torn ones.
    fn numbers_go_on(&mut self) {
        let power = self.power.as_mut().expect("it recovers");
        if !Bug::NoBootRecord.is_planted() {
            power.first_program = self.ftl.next_program();
        }
        let restores = std::mem::take(&mut power.restores);
        power.state = State::Restoring { left: u32::MAX };
        let (executor, mut cx) = self.executor();
        let (count, left) = executor.restore(&restores, &mut cx);
        let power = self.power.as_mut().expect("it recovers");
        power.report.pages_rewritten += u64::from(count);
        power.state = State::Restoring { left };
        if left == 0 {
            self.record_start();
        }
    }

    fn record_start(&mut self) {
        let power = self.power.as_mut().expect("it recovers");
        power.state = State::Recording;
        let (executor, mut cx) = self.executor();
        executor.write_own(Unit(0), &mut cx);
    }

    /// Completes a metadata page. The caller must then run the link, because the drive may serve
    /// again.
    pub(crate) fn own_page_written(&mut self, unit: Unit) {
        let Some(power) = &mut self.power else { return };
        match &mut power.state {
            State::Restoring { left } => {
                *left -= 1;
                if *left == 0 {
                    self.record_start();
                }
            }
            State::Numbering => self.numbers_go_on(),
            State::Recording => {
                power.own_pages.clear();
                self.serve_again();
            }
            State::Serving => self.own_page_of(unit),
            _ => {}
        }
    }

    /// Completes the recovery: the start is logged, and the drive serves again.
    fn serve_again(&mut self) {
        let power = self.power.as_mut().expect("it recovers");
        let (ftl, flash) = (&mut self.ftl, &mut self.flash);
        if !Bug::NoBootRecord.is_planted() {
            for short in flash.damage_mut().short.values_mut() {
                short.recorded = true;
            }
        }
        ftl.hold(false);
        power.truth = None;
        power.at_risk.clear();
        power.harmed.clear();
        power.state = State::Serving;
        power.report.recoveries_ns.push(self.clock.now - power.on_at);
        let (pages, bytes) = (power.reader.pages_read, power.reader.bytes_read);
        (power.report.pages_read, power.report.bytes_read) = (pages, bytes);
        self.front.release(&mut self.clock);
    }
}

impl Power {
    /// Plans the first pass: every spare area, or every summary.
    fn plan_first(&mut self, geometry: &Geometry, _flash: &Flash) {
        let lanes = u64::from(self.reader.lanes());
        let wide = geometry.groups.map_or(geometry.granule.span, |groups| groups.width);
        let blocks = u64::from(geometry.blocks()) * u64::from(wide) / lanes;
        self.reader.add(0, Step::Page, self.trims.pages());
        for lane in 0..self.reader.lanes() {
            match self.config.recovery {
                Recovery::None => unreachable!("such a drive is not cut"),
                Recovery::Nvram => {}
                Recovery::Spare => {
                    let pages = match &geometry.groups {
                        Some(groups) => u64::from(groups.rows_of_die()),
                        None => geometry.flash_pages(geometry.pages_per_block),
                    };
                    self.reader.add(lane, Step::Spare, blocks * pages);
                    self.report.blocks_by_scan += blocks;
                }
                Recovery::Checkpoint if self.checkpoints.is_there() => {
                    let planes = geometry.groups.map_or(1, |groups| u64::from(groups.planes));
                    let pages = self.checkpoints.pages.div_ceil(planes);
                    let mine = pages / lanes + u64::from(u64::from(lane) < pages % lanes);
                    self.reader.add(lane, Step::Page, mine);
                }
                Recovery::Summary | Recovery::Checkpoint => {
                    let all = u64::from(geometry.blocks()) * u64::from(geometry.granule.span);
                    let reads = all * geometry.summary_reads();
                    let mine = reads / lanes + u64::from(u64::from(lane) < reads % lanes);
                    self.reader.add(lane, Step::Summary, mine);
                }
            }
        }
    }

    /// Plans the second pass: the first spare area of blocks without a summary, and in blocks with
    /// content the pages up to the first empty one.
    fn plan_second(&mut self, geometry: &Geometry, flash: &Flash) {
        if matches!(self.config.recovery, Recovery::Spare | Recovery::Nvram) {
            return;
        }
        let by_checkpoint = self.checkpoints.is_there();
        for block in (0..geometry.blocks()).map(Block) {
            if by_checkpoint && !self.checkpoints.has_changed(flash, block) {
                continue;
            }
            let damage = flash.damage();
            let short = damage.and_then(|damage| damage.short.get(&block.0));
            let half_erased = damage.is_some_and(|it| it.half_erased.contains(&block.0));
            let mut step = Step::Spare;
            let pages = match short {
                _ if half_erased => 1,
                Some(short) => {
                    self.report.blocks_by_scan += 1;
                    scanned(geometry, short)
                }
                None if flash.programmed(block) == 0 => u64::from(!by_checkpoint),
                None => {
                    self.report.blocks_by_summary += 1;
                    if !by_checkpoint {
                        continue;
                    }
                    step = Step::Summary;
                    1
                }
            };
            if let (Step::Summary, Some(_)) = (step, &geometry.groups) {
                let reads = geometry.summary_reads();
                let lanes = lanes_of(geometry, block).cycle().take(reads as usize);
                lanes.for_each(|lane| self.reader.add(lane, step, 1));
                continue;
            }
            for lane in lanes_of(geometry, block) {
                self.reader.add(lane, step, pages);
            }
        }
    }

    /// Closes every block that ended early, with the torn page behind its last one if readable.
    /// Blocks with untrusted content must be erased.
    fn close_blocks(&mut self, geometry: &Geometry, flash: &mut Flash) {
        self.erasures.clear();
        self.taken.clear();
        let mut open = std::collections::BTreeSet::new();
        let Some(damage) = flash.damage().cloned() else { return };
        self.erasures.extend(damage.half_erased.iter().copied().map(Block));
        for (block, short) in damage.short.iter().filter(|(_, short)| !short.recorded) {
            let block = Block(*block);
            if damage.half_erased.contains(&block.0) {
                continue;
            }
            // With a nonvolatile map, torn pages are ignored.
            let keeps_map = self.config.keeps_map();
            let read = short.torn.filter(|torn| !keeps_map && self.reads(torn));
            flash.reopen(block, short.pages);
            let domain = geometry.domain_of(block);
            let loose: Vec<_> =
                short.loose.iter().filter(|it| self.group_reads(it.reading)).collect();
            let continues = geometry.groups.is_none()
                && Bug::ProgramsOn.is_planted()
                && read.is_none()
                && short.pages > 0;
            if continues && open.insert(domain) {
                continue;
            }
            flash.close(block, read);
            for it in &loose {
                flash.take_loose(block, it);
                if it.reading == Reading::Unstable {
                    let pages = it.page..it.page + it.pages.len() as u32;
                    self.taken.extend(pages.map(|page| geometry.ppn(block, page)));
                }
            }
            if Bug::NoChecksum.is_planted() && short.pages == geometry.data_pages {
                // The summary disagrees.
                (short.pages / 2..short.pages).for_each(|it| flash.void(geometry.ppn(block, it)));
            }
            match read {
                Some(_) => self.taken.push(geometry.ppn(block, short.pages)),
                None if short.pages == 0 && loose.is_empty() => self.erasures.push(block),
                None => {}
            }
        }
        for block in &self.erasures {
            for lane in lanes_of(geometry, *block) {
                self.reader.add(lane, Step::Erase, 1);
            }
        }
    }

    fn group_reads(&mut self, reading: Reading) -> bool {
        match reading {
            Reading::Whole => true,
            Reading::Unstable => self.random.below(2) == 0,
            Reading::InPart | Reading::Erased | Reading::Nothing => false,
        }
    }

    fn reads(&mut self, torn: &Torn) -> bool {
        match torn.reading {
            Reading::Whole => true,
            Reading::Unstable => self.random.below(2) == 0,
            Reading::InPart if Bug::OneLaneEnough.is_planted() => {
                // Neither the old nor the new content is available.
                self.report.durable_lost += 1;
                true
            }
            Reading::InPart | Reading::Erased | Reading::Nothing => false,
        }
    }

    /// Erases half-erased blocks; the map is rebuilt from the others.
    fn wake(&mut self, ftl: &mut Ftl, flash: &mut Flash) {
        for block in std::mem::take(&mut self.erasures) {
            ftl.erase_after_cut(flash, block);
        }
        let map = self.find_map(ftl.geometry(), flash);
        self.judge(ftl, flash, &map);
        let programs = next_program(ftl.geometry(), flash, (self.first_program, self.buffered));
        self.restores.clear();
        for ppn in std::mem::take(&mut self.taken) {
            let lpn = flash.stamp(ppn);
            if !map.holds(lpn, ppn) {
                continue;
            }
            if let Some(owed) = self.truth.as_ref().map(|truth| truth.owed(lpn)) {
                self.at_risk.entry(lpn.0).or_default().push(owed);
            }
            if !Bug::TornIsWhole.is_planted() {
                self.restores.push(lpn);
            }
        }
        for ppn in &self.harmed {
            let lpn = flash.stamp(*ppn);
            if map.holds(lpn, *ppn) && !self.restores.contains(&lpn) {
                self.restores.push(lpn);
            }
        }
        ftl.wake(flash, map, programs);
        ftl.hold(true);
    }

    /// Map rebuilt from the flash and the trim log.
    fn find_map(&self, geometry: &Geometry, flash: &Flash) -> PageMap {
        let found = self.checkpoints.find_map(geometry, flash);
        let mut map = found.unwrap_or_else(|| rebuild(geometry, flash, &[]).into_map());
        for (page, program) in self.trims.recorded() {
            let lpn = Lpn(page);
            if map.get(lpn).ppn().is_some_and(|ppn| flash.full_order(ppn) < program) {
                map.clear(lpn);
            }
        }
        map
    }
}

/// Reads per lane of a block that ended early: its pages, up to the first empty one.
fn scanned(geometry: &Geometry, short: &Short) -> u64 {
    let Some(groups) = &geometry.groups else {
        return geometry.flash_pages((short.pages + 1).min(geometry.data_pages));
    };
    let ends = short.loose.iter().map(|it| it.page + it.pages.len() as u32);
    let pages = ends.max().unwrap_or(0).max(short.pages);
    let rounds = pages.div_ceil(groups.units).div_ceil(groups.width);
    u64::from((rounds * groups.rows + 1).min(groups.rows_of_die()))
}

/// Lanes of a block.
fn lanes_of(geometry: &Geometry, block: Block) -> std::ops::Range<u32> {
    if let Some(groups) = &geometry.groups {
        let first = groups.first_die(block, geometry.blocks_per_domain);
        return first..first + groups.width;
    }
    let span = geometry.granule.span;
    let unit = geometry.unit_of(geometry.domain_of(block)).0;
    unit * span..(unit + 1) * span
}
