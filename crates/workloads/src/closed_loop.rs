//! Closed loops: queue depth and total number of requests.
//!
//! A workload kind draws the requests ([`Draw`]), or also decides the source and time of each
//! ([`Asker`]).

use engine::{Arrival, Completion, Request, Time, Workload, WorkloadError};

/// Counts of a workload besides its requests.
pub(crate) type Notices = Vec<(&'static str, u64)>;

/// Decides the source, time and content of requests. `turn` and `draw` are separate calls so that
/// the request is constructed in place, without a copy.
pub(crate) trait Asker {
    /// The thread, stream or job that issues the next request.
    type Turn;

    /// Takes the next turn and returns its start; `None` while all sources wait for a completion,
    /// or after the last request.
    fn turn(&mut self, now: Time) -> Option<(Time, Self::Turn)>;

    /// The request number `id` of the source that took the turn.
    fn draw(&mut self, turn: Self::Turn, id: u64) -> Request;

    /// Handles the completion of a request.
    fn answered(&mut self, completion: &Completion);

    /// Notices: named counts reported beside the requests.
    fn notices(&self) -> Notices {
        Vec::new()
    }
}

/// Requests of a loop with one client.
pub(crate) trait Draw {
    /// False after the last request.
    fn continues(&mut self) -> bool {
        true
    }

    /// The next request, whose number is `id`.
    fn draw(&mut self, id: u64) -> Request;

    /// Notices: named counts reported beside the requests.
    fn notices(&self) -> Notices {
        Vec::new()
    }
}

/// A client without think time: its only state is the number of free queue slots.
pub(crate) struct Single<D> {
    free: u32,
    draws: D,
}

impl<D: Draw> Asker for Single<D> {
    type Turn = ();

    #[inline]
    fn turn(&mut self, now: Time) -> Option<(Time, ())> {
        if self.free == 0 || !self.draws.continues() {
            return None;
        }
        self.free -= 1;
        Some((now, ()))
    }

    #[inline]
    fn draw(&mut self, (): (), id: u64) -> Request {
        self.draws.draw(id)
    }

    #[inline]
    fn answered(&mut self, _completion: &Completion) {
        self.free += 1;
    }

    fn notices(&self) -> Notices {
        self.draws.notices()
    }
}

/// A running closed loop.
pub(crate) struct ClosedLoop<A> {
    asker: A,
    issued: u64,
    limit: u64,
}

impl<A: Asker> ClosedLoop<A> {
    /// A loop of at most `limit` requests; without a limit, until the asker is exhausted.
    pub(crate) fn new(limit: Option<u64>, asker: A) -> Self {
        ClosedLoop { asker, issued: 0, limit: limit.unwrap_or(u64::MAX) }
    }
}

impl<D: Draw> ClosedLoop<Single<D>> {
    /// A loop with one client and `outstanding` requests outstanding.
    pub(crate) fn single(limit: Option<u64>, outstanding: u32, draws: D) -> Self {
        ClosedLoop::new(limit, Single { free: outstanding, draws })
    }
}

impl<A: Asker> Workload for ClosedLoop<A> {
    #[inline]
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.issued == self.limit {
            return Ok(None);
        }
        let Some((at, turn)) = self.asker.turn(now) else { return Ok(None) };
        let request = self.asker.draw(turn, self.issued);
        self.issued += 1;
        Ok(Some(Arrival { at, request }))
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        self.asker.answered(completion);
    }

    fn expected_requests(&self) -> Option<u64> {
        Some(self.limit).filter(|limit| *limit < u64::MAX)
    }

    fn notices(&self) -> Notices {
        self.asker.notices()
    }
}
