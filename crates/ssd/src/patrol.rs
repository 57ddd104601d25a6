//! Patrol: the schedule of background reads of all blocks, and the treatment of their findings.

use super::config::SsdConfig;
use super::ids::Block;
use super::media::{Found, hard_rate};
use engine::Time;
use serde::{Deserialize, Serialize};

/// Position of a patrol: the next block, and the time since its last deadline, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatrolState {
    at: u32,
    since: Time,
}

/// The patrol of a drive.
#[derive(Debug, Clone)]
pub struct Patrol {
    /// Interval between blocks, ns.
    each: Time,
    blocks: u32,
    at: u32,
    /// Time of the next block, in timed runs.
    next: Time,
    /// Untimed: time since the last scheduled read.
    since: Time,
    /// Blocks that are to be read at once, because the drive had no power.
    urgent: u32,
    /// True if that is done.
    on_power: bool,
    /// Above these a block is refreshed: an error rate, and a drift.
    most_errors: f64,
    most_drift: f64,
}

impl Patrol {
    /// The patrol of the configuration, if enabled.
    pub fn new(config: &SsdConfig, blocks: u32) -> Option<Box<Patrol>> {
        let period = config.scrub.period.0?.ns();
        let each = (period / u64::from(blocks)).max(1);
        Some(Box::new(Patrol {
            each,
            blocks,
            at: 0,
            next: each,
            since: 0,
            urgent: 0,
            on_power: config.scrub.on_power,
            most_errors: config.scrub.limit * hard_rate(&config.ecc),
            most_drift: config.scrub.drift_limit.unwrap_or(f64::INFINITY),
        }))
    }

    /// Number of blocks scheduled before an instant, at most all.
    #[inline]
    pub fn due(&mut self, now: Time) -> u32 {
        if now < self.next {
            return self.urgent.min(1);
        }
        let due = 1 + (now - self.next) / self.each;
        self.next += due * self.each;
        due.min(u64::from(self.blocks)) as u32
    }

    /// Time passes without requests: number of blocks scheduled meanwhile, at most all.
    pub fn pass(&mut self, ns: Time) -> u32 {
        let since = self.since.saturating_add(ns);
        self.since = since % self.each;
        (since / self.each).min(u64::from(self.blocks)) as u32
    }

    /// Longest time within which at most this many blocks are scheduled.
    pub fn stretch(&self, blocks: u32) -> Time {
        self.each.saturating_mul(u64::from(blocks.max(1)))
    }

    /// Takes the next block to read.
    pub fn take(&mut self) -> Block {
        let block = Block(self.at);
        self.at = (self.at + 1) % self.blocks;
        self.urgent = self.urgent.saturating_sub(1);
        block
    }

    /// The drive has power again.
    pub fn wake(&mut self) {
        self.urgent = if self.on_power { self.blocks } else { 0 };
    }

    /// True if a block of which this was found is to be refreshed.
    pub fn is_too_old(&self, found: Found) -> bool {
        found.errors > self.most_errors || found.drift > self.most_drift
    }

    /// Position.
    pub fn keep(&self) -> PatrolState {
        PatrolState { at: self.at, since: self.since }
    }

    /// Restores the position.
    pub fn restore(&mut self, state: PatrolState) {
        (self.at, self.since) = (state.at % self.blocks, state.since % self.each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Every;

    fn patrol(period: &str, blocks: u32) -> Patrol {
        let mut config = SsdConfig::default();
        config.scrub.period = period.parse::<Every>().unwrap();
        *Patrol::new(&config, blocks).unwrap()
    }

    #[test]
    fn every_block_comes_once_a_period() {
        let mut patrol = patrol("1s", 10);
        let mut read = Vec::new();
        for ms in 0..=2000 {
            for _ in 0..patrol.due(ms * 1_000_000) {
                read.push((ms, patrol.take().0));
            }
        }
        let expected: Vec<(u64, u32)> = (0..20).map(|n| ((n + 1) * 100, (n % 10) as u32)).collect();
        assert_eq!(read, expected);
        // Without time: the same, in stretches of any length.
        let mut due = 0;
        for ns in [50_000_000, 60_000_000, 1, 889_999_999] {
            due += patrol.pass(ns);
        }
        assert_eq!(due, 10);
        assert_eq!(patrol.pass(u64::MAX), 10, "no block twice at once");
    }

    #[test]
    fn after_time_without_power_all_are_due_one_by_one() {
        let mut patrol = patrol("1y", 3);
        assert_eq!(patrol.due(1), 0);
        patrol.wake();
        let mut seen = 0;
        while patrol.due(1) > 0 {
            patrol.take();
            seen += 1;
        }
        assert_eq!(seen, 3);
    }
}
