//! Ages of the host's open reclaim units, where limited.

use engine::Time;

/// A handle: when its unit was opened, when the host wrote with it last, and how many of its units had been opened when
/// that was looked at last.
#[derive(Debug, Clone, Copy, Default)]
struct Age {
    since: Time,
    last: Time,
    openings: u64,
}

impl Age {
    /// Opening time of its unit, given the number of openings: by the write before the one that
    /// finds another.
    fn since(&self, openings: u64) -> Time {
        if openings == self.openings { self.since } else { self.last }
    }
}

/// The limit, and each handle.
#[derive(Debug, Clone)]
pub struct UnitAges {
    limit: Time,
    ages: Vec<Age>,
}

impl UnitAges {
    pub fn new(limit: Time, handles: u32) -> UnitAges {
        UnitAges { limit, ages: memory::filled(Age::default(), handles as usize) }
    }

    /// Notes a host write at `now` with a handle, given its number of openings: whether the last of
    /// them is open for longer than it may be, if it is open.
    pub fn is_over(&mut self, handle: u8, openings: u64, now: Time) -> bool {
        let Some(age) = self.ages.get_mut(usize::from(handle)) else { return false };
        *age = Age { since: age.since(openings), last: now, openings };
        now.saturating_sub(age.since) > self.limit
    }

    /// Remaining time at `now`.
    pub fn left(&self, handle: u32, openings: u64, now: Time) -> Time {
        let since = self.ages[handle as usize].since(openings);
        since.saturating_add(self.limit).saturating_sub(now)
    }
}
