//! Preventive moves of data: what a patrol reads, in time and without, and what follows from it.

use crate::Ssd;
use crate::die::{Rows, SLC_ROW};
use crate::ftl::Care;
use crate::ids::{Block, Domain, Lpn};
use crate::media::Age;
use crate::media::planted::Mistake;
use engine::Time;

/// Time without requests goes by in steps of this many blocks of a patrol, or parts of a year.
const STEPS_OF_PATROL: u32 = 16;

impl Ssd {
    /// A request begins: blocks that are due are read on patrol. The last of them takes its time;
    /// the last one is timed, the earlier ones were read in idle time.
    pub fn patrol_in_time(&mut self) {
        let Some(patrol) = &mut self.patrol else { return };
        let due = patrol.due(self.clock.now);
        for left in (0..due).rev() {
            let Some(block) = self.next_on_patrol() else { continue };
            if left == 0 {
                self.read_on_patrol(block);
            }
            self.judge(block);
        }
    }

    /// The next block with settled data.
    fn next_on_patrol(&mut self) -> Option<Block> {
        let block = self.patrol.as_mut()?.take();
        self.ftl.is_closed(block).then_some(block)
    }

    /// The dies read a block on patrol.
    fn read_on_patrol(&mut self, block: Block) {
        let rows = Rows::new(self.dies.shape(), self.ftl.geometry().blocks_per_domain);
        for page in self.flash.patrolled(block) {
            let outcome = self.flash.look(page, false);
            let kind = if self.ftl.is_slc(block) { SLC_ROW } else { page.row };
            let longer: Time = self.time_of(kind, outcome).in_all();
            let row = rows.patrol((block, page.group), kind, page.plane, self.dies.costs());
            self.dies.read(&row.longer(longer), self.sight(), &mut self.clock);
            self.hear_dies();
        }
    }

    /// Decides whether a block read on patrol is refreshed.
    fn judge(&mut self, block: Block) {
        self.ftl.counters.patrol_reads += self.flash.patrolled(block).len() as u64;
        let found = self.flash.inspect(block);
        if self.patrol.as_ref().is_some_and(|patrol| patrol.is_too_old(found)) {
            self.move_soon(block, Care::Refresh);
        }
    }

    /// The data of a block are to be moved when there is room.
    fn move_soon(&mut self, block: Block, care: Care) {
        self.ftl.mark(block, care);
        let domain = self.ftl.geometry().domain_of(block);
        self.mover.ask(domain);
    }

    /// The host reads a page of a block.
    #[inline]
    pub fn note_host_read(&mut self, block: Block) {
        if self.ftl.cares() && self.ftl.note_read_in(block) {
            self.move_soon(block, Care::Reclaim);
        }
    }

    /// A domain is about to be cleaned: requests its due refreshes.
    pub fn care_for(&mut self, domain: Domain) {
        if !self.mover.has_victim(domain) && self.ftl.may_refresh(domain) {
            self.cache.pace().ask(domain.0, true);
        }
    }

    /// The drive takes no more writes when it has lost more dies than parity bears, or too many pages.
    pub fn give_up_in_time(&mut self) {
        let Some(media) = self.flash.media() else { return };
        let most_dies = u32::from(self.config.parity.of > 0);
        let most_errors = self.config.health.fail_at_uncorrectable.map_or(u64::MAX, u64::from);
        if media.lost_dies() > most_dies || media.unreadable() >= most_errors {
            self.ftl.give_up();
        }
    }

    // ---- without time ------------------------------------------------------------------------------

    /// Sets the ageing time per untimed byte; none: no time.
    pub fn pace(&mut self, ns_per_byte: Option<f64>) {
        self.pace_ns = ns_per_byte;
    }

    /// Pages that can be overwritten before the next due time.
    pub fn paced_pages(&self, page_bytes: u64) -> Option<usize> {
        const HOUR_NS: Time = 3_600_000_000_000;
        let ns = self.pace_ns?;
        let stretch = self.patrol.as_ref().map_or(HOUR_NS, |patrol| patrol.stretch(1).min(HOUR_NS));
        Some(((stretch as f64 / (ns * page_bytes as f64)) as usize).max(1))
    }

    /// Advances the clock by untimed bytes.
    pub fn pass_bytes(&mut self, bytes: u64) {
        let Some(pace) = self.pace_ns else { return };
        let ns = (pace * bytes as f64) as Time;
        let now = self.clock.now;
        if let Some(media) = self.flash.media_mut() {
            media.pass(ns, now);
        }
        let due = self.patrol.as_mut().map_or(0, |patrol| patrol.pass(ns));
        self.patrol_at_once(due);
        self.refresh_at_once();
        self.give_up_in_time();
    }

    /// Reads blocks on patrol, untimed.
    fn patrol_at_once(&mut self, blocks: u32) {
        for _ in 0..blocks {
            if let Some(block) = self.next_on_patrol() {
                self.judge(block);
            }
        }
        self.mover.ask_for_nothing();
    }

    /// Refreshes all due blocks.
    pub fn refresh_at_once(&mut self) {
        if self.ftl.cares() {
            self.mover.ask_for_nothing();
            self.ftl.refresh_untimed(&mut self.flash);
        }
    }

    /// Lets time pass without requests. With power, patrol continues.
    ///
    /// # Errors
    /// Why this drive does not age by days.
    pub fn lie(&mut self, age: Age) -> Result<(), &'static str> {
        let problem = "drives age by writes, not by days, unless device.media.model is set";
        let lie = |ssd: &mut Ssd, seconds: u64| {
            let part = Age { seconds, ..age };
            ssd.flash.lie(part, ssd.clock.now).unwrap_or(Err(problem))
        };
        let step = match &self.patrol {
            Some(patrol) if !age.is_off => {
                let blocks = self.ftl.geometry().blocks().div_ceil(STEPS_OF_PATROL);
                (patrol.stretch(blocks) / 1_000_000_000).max(1)
            }
            _ => u64::MAX,
        };
        let mut left = age.seconds;
        while left > step {
            left -= step;
            lie(self, step)?;
            self.lie_on_patrol(step);
        }
        lie(self, left)?;
        if step < u64::MAX {
            self.lie_on_patrol(left);
        } else if let Some(patrol) = &mut self.patrol {
            patrol.wake();
        }
        self.give_up_in_time();
        Ok(())
    }

    fn lie_on_patrol(&mut self, seconds: u64) {
        let ns = seconds.saturating_mul(1_000_000_000);
        let due = self.patrol.as_mut().map_or(0, |patrol| patrol.pass(ns));
        self.patrol_at_once(due);
        // Findings during requests are moved alongside.
        let is_calm = self.front.is_idle() && self.clock.next_at().is_none();
        if is_calm && self.mover.victims() == 0 {
            self.refresh_at_once();
        }
    }

    /// Drops the controller's memory after a power cut.
    pub fn forget_care(&mut self) {
        self.ftl.forget_care();
        if let Some(thermal) = &mut self.thermal {
            thermal.was_called();
        }
        if let Some(patrol) = &mut self.patrol {
            patrol.wake();
        }
    }

    /// A copy takes the date of where it lay, if that mistake is planted.
    pub fn keep_date(&mut self, lpn: Lpn, source: Block) {
        if !Mistake::RefreshKeepsDate.is_planted() {
            return;
        }
        let to = self.ftl.lookup(lpn).map(|ppn| self.ftl.geometry().block_of(ppn));
        if let Some((media, to)) = self.flash.media_mut().zip(to) {
            media.redate(to, source);
        }
    }
}
