//! A device without time: every request completes on submission, and the drive's state changes as
//! in timed runs. This is the fast-forward for any workload.

use crate::steady::{Rounds, SteadyState};
use crate::warnings::Piece;
use devices::Model;
use devices::ssd::account::FlashCounts;
use engine::{Breakdown, Completion, Device, Followed, Op, Request, Standing, Time};

/// Completes requests immediately, and follows write amplification if the run ends when that has
/// settled.
pub(crate) struct Untimed<'a> {
    device: &'a mut dyn Model,
    answers: Vec<Completion>,
    now: Time,
    amplification: Option<Amplification>,
    steps: Steps,
}

/// The flash counters over the run in a bounded number of steps; the requests per step double as
/// the run grows.
pub(crate) struct Steps {
    before: Option<FlashCounts>,
    ends: Vec<FlashCounts>,
    /// Requests per step, and those left in the current step.
    requests: u64,
    left: u64,
}

impl Steps {
    const MOST: usize = 256;

    pub(crate) fn new(device: &dyn Model) -> Steps {
        Steps {
            before: device.followed().map(FlashCounts::from),
            ends: Vec::new(),
            requests: 1,
            left: 1,
        }
    }

    #[inline]
    pub(crate) fn served(&mut self, device: &dyn Model) {
        self.left -= 1;
        if self.left == 0 {
            self.end(device);
        }
    }

    #[cold]
    fn end(&mut self, device: &dyn Model) {
        self.ends.extend(device.followed().map(FlashCounts::from));
        if self.ends.len() == Self::MOST {
            self.ends = self.ends.iter().skip(1).step_by(2).copied().collect();
            self.requests *= 2;
        }
        self.left = self.requests;
    }

    pub(crate) fn pieces(self) -> Vec<Piece> {
        let Some(mut before) = self.before else { return Vec::new() };
        let piece = |end| {
            let mut piece = Piece { requests: self.requests, ..Piece::default() };
            piece.add_flash(&std::mem::replace(&mut before, end), &end);
            piece
        };
        self.ends.into_iter().map(piece).collect()
    }
}

/// Measures write amplification, in bytes, over rounds of a fixed number of pages, or up to the
/// next end of the workload.
pub(crate) struct Amplification {
    pub(crate) rounds: Rounds,
    pub(crate) round_bytes: u64,
    /// True if rounds end at the end of a workload, which is repeated.
    pub(crate) by_pass: bool,
    /// Bytes written and programmed at the end of the last round.
    mark: (u64, u64),
    bytes_left: u64,
}

impl<'a> Untimed<'a> {
    /// `steady`: the rounds, and the drive capacities written per round.
    pub(crate) fn new(device: &'a mut dyn Model, steady: Option<(Rounds, f64)>) -> Untimed<'a> {
        let amplification =
            steady.map(|(rounds, share)| Amplification::new(rounds, share, &*device));
        let steps = Steps::new(device);
        Untimed { device, answers: Vec::new(), now: 0, amplification, steps }
    }

    /// Pieces with equal numbers of requests, and how the drive settled.
    pub(crate) fn finish(self) -> (Vec<Piece>, Option<SteadyState>) {
        (self.steps.pieces(), self.amplification.map(|it| it.rounds.state()))
    }
}

impl Amplification {
    /// Rounds over a part of a device whose counts are 0.
    pub(crate) fn new(rounds: Rounds, share: f64, device: &dyn Model) -> Amplification {
        let pages = device.facts().pages;
        let page_bytes = device.capacity_sectors() * engine::SECTOR_BYTES / pages.max(1);
        let round_bytes = ((pages as f64 * share) as u64).max(1) * page_bytes;
        Amplification { rounds, round_bytes, by_pass: false, mark: (0, 0), bytes_left: round_bytes }
    }

    pub(crate) fn written(&mut self, bytes: u64, device: &dyn Model) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        if self.bytes_left == 0 && !self.by_pass {
            self.end_round(device);
        }
    }

    /// Handles the end of the workload, which is then repeated.
    pub(crate) fn pass_ended(&mut self, device: &dyn Model) {
        if self.bytes_left == 0 && self.by_pass {
            self.end_round(device);
        }
    }

    /// Starts a round after earlier writes.
    pub(crate) fn begin_round(&mut self, device: &dyn Model) {
        self.bytes_left = self.round_bytes;
        if let Some(counts) = device.followed().map(FlashCounts::from) {
            self.mark = (counts.host_bytes_written, counts.bytes_programmed);
        }
    }

    fn end_round(&mut self, device: &dyn Model) {
        self.bytes_left = self.round_bytes;
        let Some(counts) = device.followed().map(FlashCounts::from) else { return };
        let now = (counts.host_bytes_written, counts.bytes_programmed);
        let programs = (now.1 - self.mark.1) as f64;
        self.rounds.add(programs / (now.0 - self.mark.0).max(1) as f64);
        self.mark = now;
    }
}

impl Device for Untimed<'_> {
    fn submit(&mut self, now: Time, request: Request) {
        self.now = now;
        let status = self.device.serve_untimed(&request);
        self.steps.served(&*self.device);
        if let Some(amplification) = &mut self.amplification
            && request.op == Op::Write
            && status.is_ok()
        {
            amplification.written(request.bytes(), &*self.device);
        }
        let breakdown = Breakdown::default();
        self.answers.push(Completion { request, submitted: now, at: now, breakdown, status });
    }

    fn next_event(&self) -> Option<Time> {
        self.answers.first().map(|answer| answer.at)
    }

    fn advance(&mut self, _: Time, completions: &mut Vec<Completion>) {
        completions.append(&mut self.answers);
    }

    fn standing(&self) -> Standing {
        let is_over = self.amplification.as_ref().is_some_and(|it| it.rounds.is_over());
        Standing::ended(self.device.has_ended() || is_over)
    }

    fn followed(&self) -> Option<Followed> {
        self.device.followed()
    }

    fn capacity_sectors(&self) -> u64 {
        self.device.capacity_sectors()
    }
}
