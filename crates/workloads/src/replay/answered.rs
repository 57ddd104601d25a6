//! Requests that wait for completions: a gap begins at the completion of the previous request.

use engine::Time;

/// Where a replay stands whose gaps are from answer to request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Answered {
    /// A request is under way.
    pub(super) waits: bool,
    /// When the request asked last came in the trace.
    asked: Time,
    /// When the last answer came.
    last: Time,
}

impl Answered {
    /// When a request is asked that comes at `at` in the trace.
    pub(super) fn ask(&mut self, at: Time) -> Time {
        let gap = at.saturating_sub(self.asked);
        self.asked = at;
        self.waits = true;
        self.last.saturating_add(gap)
    }

    /// Its answer has come.
    pub(super) fn answer(&mut self, at: Time) {
        self.last = at;
        self.waits = false;
    }
}
