//! Maps recorded to replayed times: start, gaps, repetitions.
//!
//! Times are non-decreasing. A repetition begins one mean gap after the last request of the
//! preceding one.

use engine::Time;

/// Time mapping of a replay.
#[derive(Debug)]
pub(crate) struct Retiming {
    recorded_start: bool,
    max_gap_ns: Time,
    duration_ns: Time,
    /// Start of this repetition in the replay; unknown before its first request.
    base: Option<Time>,
    /// The newest time of this repetition, on the trace's clock and on the replay's.
    newest: Option<(Time, Time)>,
    taken: u64,
    shortened: u64,
}

impl Retiming {
    /// A replay from the recorded start or from 0, with gaps of at most `max_gap_ns` and a duration
    /// below `duration_ns`.
    pub(crate) fn new(recorded_start: bool, max_gap_ns: Time, duration_ns: Time) -> Self {
        Retiming {
            recorded_start,
            max_gap_ns,
            duration_ns,
            base: None,
            newest: None,
            taken: 0,
            shortened: 0,
        }
    }

    /// Number of shortened gaps.
    pub(crate) fn shortened(&self) -> u64 {
        self.shortened
    }

    /// Replay time of the trace's `at`; `None` if the duration is exceeded.
    pub(crate) fn place(&mut self, at: Time) -> Option<Time> {
        let (before, elapsed) = self.newest.unwrap_or((at, 0));
        let gap = at.saturating_sub(before);
        let elapsed = elapsed.saturating_add(gap.min(self.max_gap_ns));
        if elapsed >= self.duration_ns {
            return None;
        }
        self.shortened += u64::from(gap > self.max_gap_ns);
        self.newest = Some((at, elapsed));
        self.taken += 1;
        let start = if self.recorded_start { at } else { 0 };
        Some(self.base.get_or_insert(start).saturating_add(elapsed))
    }

    /// Begins the next repetition.
    pub(crate) fn repeat(&mut self) {
        let (_, elapsed) = self.newest.take().unwrap_or_default();
        let gaps = std::mem::take(&mut self.taken).saturating_sub(1);
        let mean_gap = elapsed.checked_div(gaps).unwrap_or(0);
        self.base = self.base.map(|base| base.saturating_add(elapsed).saturating_add(mean_gap));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(retiming: &mut Retiming, times: &[Time]) -> Vec<Option<Time>> {
        times.iter().map(|at| retiming.place(*at)).collect()
    }

    #[test]
    fn the_start_is_recorded_or_zero() {
        let times = [10, 15];
        let mut recorded = Retiming::new(true, Time::MAX, Time::MAX);
        assert_eq!(places(&mut recorded, &times), [Some(10), Some(15)]);
        let mut zero = Retiming::new(false, Time::MAX, Time::MAX);
        assert_eq!(places(&mut zero, &times), [Some(0), Some(5)]);
    }

    #[test]
    fn gaps_are_cut_and_the_duration_ends_the_replay() {
        let mut retiming = Retiming::new(false, 4, 9);
        let expected = [Some(0), Some(4), Some(8), None];
        assert_eq!(places(&mut retiming, &[0, 4, 100, 101]), expected);
        assert_eq!(retiming.shortened(), 1);
    }

    #[test]
    fn repetitions_follow_after_the_mean_gap() {
        let mut retiming = Retiming::new(true, Time::MAX, Time::MAX);
        assert_eq!(places(&mut retiming, &[10, 12, 20]), [Some(10), Some(12), Some(20)]);
        retiming.repeat();
        assert_eq!(places(&mut retiming, &[10, 12, 20]), [Some(25), Some(27), Some(35)]);
    }
}
