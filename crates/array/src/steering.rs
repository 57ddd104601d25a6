//! Coordinated cleaning of members: together, or in turn.
//!
//! A request over several members is as slow as the slowest, so simultaneous cleaning delays fewer
//! requests (Harmonia: Kim, Oral, Shipman, Lee, Dillow and Wang, MSST 2011). If members clean in
//! turn, only one is affected at a time, and its data can be reconstructed from the others.

use super::config::CleaningTogether;
use super::{ArrayOptions, Redundancy};
use engine::Time;
use options::Invalid;
use ssd::device::{CleaningNow, DeviceKind, Instruction, Model};

/// Coordination of the members' cleaning.
#[derive(Debug, Clone)]
pub struct Steering {
    rule: CleaningTogether,
    /// Number of cleaning units of each drive at the last inspection.
    units: Vec<u32>,
    /// In turn: the drive that may clean, and the previous one.
    turn: Option<usize>,
    last: usize,
    /// True if a test marks the cleaning drives, which are then not inspected.
    #[cfg(test)]
    pretends: bool,
}

impl Steering {
    /// Coordination of these drives.
    ///
    /// # Errors
    /// When members cannot be coordinated, or clean in turn without redundancy.
    pub fn new(
        config: &ArrayOptions<impl DeviceKind>,
        drives: &mut [Box<dyn Model>],
    ) -> Result<Steering, Invalid> {
        let rule = config.cleaning_together;
        let steering = Steering {
            rule,
            units: memory::zeroed(drives.len()),
            turn: None,
            last: 0,
            #[cfg(test)]
            pretends: false,
        };
        if !steering.is_on() {
            return Ok(steering);
        }
        let refuse = |keys: &[&str], problem| Err(Invalid::new(keys, problem));
        if !drives.iter().all(|drive| drive.condition().cleaning.is_some()) {
            let problem = "members that clean together or by turns are of kind \"ssd\"";
            return refuse(&["device.cleaning_together", "device.member.kind"], problem);
        }
        if rule == CleaningTogether::Staggered {
            if config.redundancy == Redundancy::None {
                let problem = "by turns needs a redundancy: nothing else knows what the member holds that \
                               cleans";
                return refuse(&["device.cleaning_together", "device.redundancy"], problem);
            }
            for drive in drives.iter_mut() {
                instruct(drive, Instruction::PutOffCleaning(true), 0);
            }
        }
        Ok(steering)
    }

    /// True if cleaning is coordinated.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.rule != CleaningTogether::Free
    }

    /// True if reads should avoid a drive where possible.
    #[inline]
    pub fn avoids(&self, drive: usize) -> bool {
        self.rule == CleaningTogether::Staggered && self.units[drive] > 0
    }

    /// True if members clean in turn, so that reads may avoid one.
    #[inline]
    pub fn is_by_turns(&self) -> bool {
        self.rule == CleaningTogether::Staggered
    }

    /// Marks a drive as cleaning, for tests.
    #[cfg(test)]
    pub fn pretend(&mut self, drive: usize) {
        (self.rule, self.pretends) = (CleaningTogether::Staggered, true);
        self.units.fill(0);
        self.units[drive] = 1;
    }

    /// Inspects the drives after some have advanced, and updates their cleaning permissions.
    pub fn look(
        &mut self,
        drives: &mut [Box<dyn Model>],
        in_use: impl Fn(usize) -> bool,
        now: Time,
    ) {
        #[cfg(test)]
        if self.pretends {
            return;
        }
        let mut begun = false;
        for (number, drive) in drives.iter().enumerate() {
            let units = if in_use(number) { cleaning(drive).units } else { 0 };
            begun |= units > self.units[number];
            self.units[number] = units;
        }
        match self.rule {
            CleaningTogether::Synchronized if begun => {
                for (number, drive) in drives.iter_mut().enumerate().filter(|it| in_use(it.0)) {
                    instruct(drive, Instruction::CleanNow, now);
                    self.units[number] = cleaning(drive).units;
                }
            }
            CleaningTogether::Free | CleaningTogether::Synchronized => {}
            CleaningTogether::Staggered => self.take_turns(drives, in_use, now),
        }
    }

    fn take_turns(
        &mut self,
        drives: &mut [Box<dyn Model>],
        in_use: impl Fn(usize) -> bool,
        now: Time,
    ) {
        if self.turn.is_some_and(|turn| self.units[turn] > 0) {
            return;
        }
        self.turn = None;
        // An urgent member has started cleaning on its own.
        if self.units.iter().any(|units| *units > 0) {
            return;
        }
        // Members whose victims would free nothing get no turn, because it would never end.
        let count = drives.len();
        for next in (1..=count).map(|step| (self.last + step) % count) {
            if !in_use(next) || !cleaning(&drives[next]).is_wanted {
                continue;
            }
            instruct(&mut drives[next], Instruction::CleanNow, now);
            self.units[next] = cleaning(&drives[next]).units;
            if self.units[next] > 0 {
                (self.turn, self.last) = (Some(next), next);
                return;
            }
        }
    }
}

/// Cleaning of a drive; the drives were asked when they were built.
#[expect(clippy::borrowed_box, reason = "it is a drive of a list")]
fn cleaning(drive: &Box<dyn Model>) -> CleaningNow {
    drive.condition().cleaning.expect("its cleaning is coordinated")
}

fn instruct(drive: &mut Box<dyn Model>, instruction: Instruction, now: Time) {
    drive.instruct(now, instruction).expect("its cleaning is coordinated");
}
