//! Orders that age a drive: untimed random overwrites of the idle drive, and retention time.

use super::order::Order;
use super::{FAULT_STREAM, Faulty};
use crate::steady::Rounds;
use devices::Instruction;
use devices::ssd::account::FlashCounts;
use engine::{Random, Time, Xoshiro256};
use std::collections::VecDeque;

/// Maximum drive writes of one order.
const MOST_OVERWRITES: u64 = 1000;
/// Pages per batch of writes.
const BATCH: u64 = 64;

impl Faulty<'_> {
    /// Executes the ageing orders at time 0 of the script, before the first request. Counters start
    /// after them, as for a drive aged before the run.
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
        for instruction in [Instruction::ResetCounts, Instruction::BeginLoad] {
            self.device.instruct(0, instruction).expect("counts can begin");
        }
    }

    /// True if the drive is idle, without pending completions.
    pub(super) fn is_at_rest(&self) -> bool {
        self.late.is_empty() && self.off_until.is_none() && self.device.condition().rests
    }

    /// Executes ageing orders that waited for an idle drive.
    pub(super) fn age_at_rest(&mut self, now: Time) {
        while !self.waiting.is_empty() && self.is_at_rest() {
            if let Some(order) = self.waiting.pop_front() {
                self.do_scripted(now, order);
            }
        }
    }

    /// Ages the drive; returns the order as executed, with fewer writes if the server was stopped.
    pub(super) fn age(&mut self, order: &Order) -> Result<Order, String> {
        if let Order::Lie(age) = order {
            // Data in the write buffer do not age, because they are written later.
            let done = self.device.instruct(0, Instruction::Age(*age));
            done.map_err(|problem| format!("{order}: {problem}"))?;
            return Ok(order.clone());
        }
        let pages = self.device.facts().pages;
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
            // A drive at end of life accepts no writes.
            if host == 0 {
                break;
            }
            rounds.add((after.1 - before.1) as f64 / host as f64);
            before = after;
        }
        Ok(Order::AgeSteady)
    }

    /// Bytes written by the host, and bytes programmed.
    fn written(&self) -> (u64, u64) {
        let counts = self.device.followed().map(FlashCounts::from).unwrap_or_default();
        (counts.host_bytes_written, counts.bytes_programmed)
    }

    /// Overwrites random pages, fewer if the server is stopped; returns their number.
    fn overwrite(&mut self, writes: u64, pages: u64, random: &mut Xoshiro256) -> u64 {
        let mut done = 0;
        while done < writes && !(self.is_stopped)() {
            let count = BATCH.min(writes - done);
            let some: Vec<u64> = (0..count).map(|_| random.below(pages)).collect();
            self.device.overwrite_untimed(&some, 0);
            done += count;
        }
        done
    }
}
