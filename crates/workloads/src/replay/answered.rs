//! Requests that wait for completions: a gap begins at the completion of the previous request.

use engine::Time;

/// State of a replay with gaps from completion to request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Answered {
    /// True while a request is outstanding.
    pub(super) waits: bool,
    /// Recorded arrival of the last request.
    asked: Time,
    /// Time of the last completion.
    last: Time,
}

impl Answered {
    /// Arrival of a request recorded at `at`.
    pub(super) fn ask(&mut self, at: Time) -> Time {
        let gap = at.saturating_sub(self.asked);
        self.asked = at;
        self.waits = true;
        self.last.saturating_add(gap)
    }

    /// Handles a completion.
    pub(super) fn answer(&mut self, at: Time) {
        self.last = at;
        self.waits = false;
    }
}
