//! Orders that make a drive old: it is overwritten at random, in no time, while it rests.

use super::order::Order;
use super::{FAULT_STREAM, Faulty};
use crate::steady::Rounds;
use devices::ssd::account::FlashCounts;
use engine::{Random, Time, Xoshiro256};
use std::collections::VecDeque;

/// So often one order overwrites the whole drive at most.
const MOST_OVERWRITES: u64 = 1000;
/// Pages that are written together.
const BATCH: u64 = 64;

impl Faulty<'_> {
    /// Does what the script says of age at its very beginning: before the first request, so that its
    /// counts are those of a drive that came so.
    pub(super) fn age_before_the_first(&mut self) {
        let is_first = |(at, order): &(Time, Order)| *at == 0 && order.is_age();
        let all = std::mem::take(&mut self.script).into_iter();
        let (first, later): (VecDeque<_>, _) = all.partition(is_first);
        self.script = later;
        if first.is_empty() {
            return;
        }
        for (_, order) in first {
            self.do_scripted(0, order);
        }
        self.device.reset_counts();
    }

    /// Whether it has nothing to do and owes no answer.
    pub(super) fn is_at_rest(&self) -> bool {
        self.late.is_empty() && self.off_until.is_none() && self.device.rests()
    }

    /// Does what the script has said of age before the drive came to rest.
    pub(super) fn age_at_rest(&mut self, now: Time) {
        while !self.waiting.is_empty() && self.is_at_rest() {
            if let Some(order) = self.waiting.pop_front() {
                self.do_scripted(now, order);
            }
        }
    }

    /// Ages the drive; what came of the order, which is less where nobody waits for its end any more.
    pub(super) fn age(&mut self, order: &Order) -> Result<Order, String> {
        let pages = self.device.preparable_pages();
        if pages == 0 {
            return Err(format!("{order}: this device has no flash that could age"));
        }
        let most = pages.saturating_mul(MOST_OVERWRITES);
        if matches!(order, Order::Age(writes) if *writes > most) {
            return Err(format!(
                "{order}: at most {most}, which overwrite this drive {MOST_OVERWRITES} times"
            ));
        }
        if !self.is_at_rest() {
            return Err(format!("{order}: the drive is at work; ask again when it rests"));
        }
        self.ages += 1;
        let random = &mut Xoshiro256::new(self.experiment.run.seed ^ self.ages, FAULT_STREAM);
        if let Order::Age(writes) = order {
            return Ok(Order::Age(self.overwrite(*writes, pages, random)));
        }
        let steady = &self.experiment.run.steady;
        let round = ((pages as f64 * steady.round_writes) as u64).max(1);
        let mut rounds = Rounds::new(steady, "write_amplification");
        let (mut done, mut before) = (0, self.written());
        while !rounds.is_over() {
            let count = self.overwrite(round, pages, random);
            done += count;
            if count < round {
                return Ok(Order::Age(done));
            }
            let after = self.written();
            let host = after.0 - before.0;
            // Only a drive that takes no more writes has written nothing.
            if host == 0 {
                break;
            }
            rounds.add((after.1 - before.1) as f64 / host as f64);
            before = after;
        }
        Ok(Order::AgeSteady)
    }

    /// Bytes that the host has written, and that were programmed.
    fn written(&self) -> (u64, u64) {
        let counts = self.device.followed().map(FlashCounts::from).unwrap_or_default();
        (counts.host_bytes_written, counts.bytes_programmed)
    }

    /// Overwrites so many pages at random, or fewer where the server is to end; how many.
    fn overwrite(&mut self, writes: u64, pages: u64, random: &mut Xoshiro256) -> u64 {
        let mut done = 0;
        while done < writes && !(self.is_stopped)() {
            let count = BATCH.min(writes - done);
            let some: Vec<u64> = (0..count).map(|_| random.below(pages)).collect();
            self.device.overwrite_untimed(&some);
            done += count;
        }
        done
    }
}
