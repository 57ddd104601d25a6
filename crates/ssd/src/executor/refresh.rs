//! Preventive moves of data: patrol reads, timed and untimed, and their consequences.

use super::{Buffered, Cx};
use crate::die::{Rows, SLC_ROW};
use crate::ftl::MoveReason;
use crate::ids::{Block, Domain, Lpn};
use crate::media::Age;
use crate::media::planted::Mistake;
use engine::{Op, Request, Time};

/// Step of time without requests: the patrol of this many blocks, or a part of a year.
const STEPS_OF_PATROL: u32 = 16;

impl Buffered {
    /// A request begins: blocks that are due are read on patrol. The last of them takes its time;
    /// the last one is timed, the earlier ones were read in idle time.
    pub fn patrol_in_time(&mut self, cx: &mut Cx<'_>) {
        let Some(patrol) = &mut self.patrol else { return };
        let due = patrol.due(cx.clock.now);
        for left in (0..due).rev() {
            let Some(block) = self.next_on_patrol(cx) else { continue };
            if left == 0 {
                self.read_on_patrol(block, cx);
            }
            self.judge(block, cx);
        }
    }

    /// A request begins on a drive without a write buffer: time passes, blocks that are due are read on patrol, of which
    /// the last takes time (the block and its pages), and what the host writes over losses is noted.
    pub fn watch_units(&mut self, request: &Request, cx: &mut Cx<'_>) -> Option<(Block, u32)> {
        let now = cx.clock.now;
        let media = cx.flash.media_mut()?;
        media.advance(now);
        if media.may_give_up() {
            self.give_up_in_time(cx);
        }
        let due = self.patrol.as_mut().map_or(0, |patrol| patrol.due(now));
        let mut last = None;
        for _ in 0..due {
            let block = self.next_on_patrol(cx);
            last = block.map(|block| (block, cx.flash.patrolled(block).len() as u32));
            if let Some(block) = block {
                self.judge(block, cx);
            }
        }
        if request.op == Op::Write {
            self.begin_over_losses(request, cx);
            Buffered::heal_covered(request, cx);
        }
        last
    }

    /// The next block with settled data.
    fn next_on_patrol(&mut self, cx: &mut Cx<'_>) -> Option<Block> {
        let block = self.patrol.as_mut()?.take();
        cx.ftl.is_closed(block).then_some(block)
    }

    /// The dies read a block on patrol.
    fn read_on_patrol(&mut self, block: Block, cx: &mut Cx<'_>) {
        let rows = Rows::new(self.dies.shape(), cx.ftl.geometry().blocks_per_domain);
        for page in cx.flash.patrolled(block) {
            let outcome = cx.flash.look(page, false);
            let kind = if cx.ftl.is_slc(block) { SLC_ROW } else { page.row };
            let longer: Time = self.time_of(kind, outcome, cx).in_all();
            let row = rows.patrol((block, page.group), kind, page.plane, self.dies.costs());
            self.dies.read(&row.longer(longer), self.sight(), cx.clock);
            self.hear_dies(cx);
        }
    }

    /// Decides whether a block read on patrol is refreshed.
    fn judge(&mut self, block: Block, cx: &mut Cx<'_>) {
        cx.ftl.counters.patrol_reads += cx.flash.patrolled(block).len() as u64;
        let found = cx.flash.inspect(block);
        if self.patrol.as_ref().is_some_and(|patrol| patrol.is_too_old(found)) {
            self.move_soon(block, MoveReason::Refresh, cx);
        }
    }

    /// The data of a block are to be moved when there is room.
    fn move_soon(&mut self, block: Block, reason: MoveReason, cx: &mut Cx<'_>) {
        cx.ftl.mark(block, reason);
        let domain = cx.ftl.geometry().domain_of(block);
        self.mover.ask(domain);
    }

    /// The host reads a page of a block.
    #[inline]
    pub fn note_host_read(&mut self, block: Block, cx: &mut Cx<'_>) {
        if cx.ftl.cares() && cx.ftl.note_read_in(block) {
            self.move_soon(block, MoveReason::Reclaim, cx);
        }
    }

    /// A domain is about to be cleaned: requests its overdue refreshes.
    pub fn care_for(&mut self, domain: Domain, cx: &mut Cx<'_>) {
        if !self.mover.has_victim(domain) && cx.ftl.may_refresh(domain) {
            self.cache.pace().ask(domain.0, true);
        }
    }

    /// The drive takes no more writes when it has lost more dies than parity bears, or too many pages.
    pub fn give_up_in_time(&mut self, cx: &mut Cx<'_>) {
        let Some(media) = cx.flash.media() else { return };
        let (most_dies, most_errors) = self.bears;
        if media.lost_dies() > most_dies || media.unreadable() >= most_errors {
            cx.ftl.end_without_room();
        }
    }

    // ---- without time ------------------------------------------------------------------------------

    /// Sets the ageing time per untimed byte; none: no time.
    pub fn pace(&mut self, ns_per_byte: Option<f64>) {
        self.pace_ns = ns_per_byte;
    }

    /// Pages that can be overwritten before the next patrol read.
    pub fn paced_pages(&self, page_bytes: u64) -> Option<usize> {
        const HOUR_NS: Time = 3_600_000_000_000;
        let ns = self.pace_ns?;
        let stretch = self.patrol.as_ref().map_or(HOUR_NS, |patrol| patrol.stretch(1).min(HOUR_NS));
        Some(((stretch as f64 / (ns * page_bytes as f64)) as usize).max(1))
    }

    /// Advances the clock by untimed bytes.
    pub fn pass_bytes(&mut self, bytes: u64, cx: &mut Cx<'_>) {
        let Some(pace) = self.pace_ns else { return };
        let ns = (pace * bytes as f64) as Time;
        let now = cx.clock.now;
        if let Some(media) = cx.flash.media_mut() {
            media.pass(ns, now);
        }
        let due = self.patrol.as_mut().map_or(0, |patrol| patrol.pass(ns));
        self.patrol_at_once(due, cx);
        self.refresh_at_once(cx);
        self.give_up_in_time(cx);
    }

    /// Reads blocks on patrol, untimed.
    fn patrol_at_once(&mut self, blocks: u32, cx: &mut Cx<'_>) {
        for _ in 0..blocks {
            if let Some(block) = self.next_on_patrol(cx) {
                self.judge(block, cx);
            }
        }
        self.mover.ask_for_nothing();
    }

    /// Refreshes all overdue blocks.
    pub fn refresh_at_once(&mut self, cx: &mut Cx<'_>) {
        if cx.ftl.cares() {
            self.mover.ask_for_nothing();
            cx.ftl.refresh_untimed(cx.flash);
        }
    }

    /// Lets time pass without requests. With power, patrol continues.
    ///
    /// # Errors
    /// Why this drive does not age by days.
    pub fn lie(&mut self, age: Age, cx: &mut Cx<'_>) -> Result<(), &'static str> {
        let problem = "drives age by writes, not by days, unless device.media.model is set";
        let lie = |seconds: u64, cx: &mut Cx<'_>| {
            let part = Age { seconds, ..age };
            cx.flash.lie(part, cx.clock.now).unwrap_or(Err(problem))
        };
        let step = match &self.patrol {
            Some(patrol) if !age.is_off => {
                let blocks = cx.ftl.geometry().blocks().div_ceil(STEPS_OF_PATROL);
                (patrol.stretch(blocks) / 1_000_000_000).max(1)
            }
            _ => u64::MAX,
        };
        let mut left = age.seconds;
        while left > step {
            left -= step;
            lie(step, cx)?;
            self.lie_on_patrol(step, cx);
        }
        lie(left, cx)?;
        if step < u64::MAX {
            self.lie_on_patrol(left, cx);
        } else if let Some(patrol) = &mut self.patrol {
            patrol.wake();
        }
        self.give_up_in_time(cx);
        Ok(())
    }

    fn lie_on_patrol(&mut self, seconds: u64, cx: &mut Cx<'_>) {
        let ns = seconds.saturating_mul(1_000_000_000);
        let due = self.patrol.as_mut().map_or(0, |patrol| patrol.pass(ns));
        self.patrol_at_once(due, cx);
        // Findings during requests are moved alongside.
        let is_calm = cx.front.is_idle() && cx.clock.next_at().is_none();
        if is_calm && self.mover.victims() == 0 {
            self.refresh_at_once(cx);
        }
    }

    /// A copy takes the date of where it lay, if that mistake is planted.
    pub fn keep_date(lpn: Lpn, source: Block, cx: &mut Cx<'_>) {
        if !Mistake::RefreshKeepsDate.is_planted() {
            return;
        }
        let to = cx.ftl.lookup(lpn).map(|ppn| cx.ftl.geometry().block_of(ppn));
        if let Some((media, to)) = cx.flash.media_mut().zip(to) {
            media.redate(to, source);
        }
    }
}
