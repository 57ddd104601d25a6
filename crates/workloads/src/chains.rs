//! Chains of steps: the requests of a step are issued in parallel, and the chain's next step begins
//! when all of them are completed.
//!
//! Examples of steps: a hop of a search, a sample of a training run, a file that must be flushed
//! before the next one. A chain is the worker, rank or background thread that executes its steps in
//! order. A chain can wait for other chains (a barrier, a limit) or until a point in time. The
//! workload kind determines the steps ([`Steps`]); this module issues their requests.

use crate::closed_loop::Notices;
use crate::extents::Extent;
use crate::files::BLOCK_SECTORS;
use crate::in_flight::InFlight;
use engine::{Arrival, Completion, Handle, Lba, Op, Request, Time, Workload, WorkloadError};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A range of sectors read, written or trimmed by a step, in as many requests as needed; or a
/// flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    op: Op,
    first: u64,
    sectors: u64,
    handle: Handle,
}

impl Piece {
    /// Sectors from `first` on.
    pub fn new(op: Op, first: u64, sectors: u64) -> Self {
        debug_assert!(sectors > 0, "a piece of nothing");
        Piece { op, first, sectors, handle: Handle::NONE }
    }

    /// Blocks of 4 KiB.
    pub fn of(op: Op, extent: Extent) -> Self {
        Piece::new(op, extent.first * BLOCK_SECTORS, extent.blocks * BLOCK_SECTORS)
    }

    /// Flush of all preceding writes.
    pub fn flush() -> Self {
        Piece { op: Op::Flush, first: 0, sectors: 0, handle: Handle::NONE }
    }

    /// Size.
    pub fn bytes(&self) -> u64 {
        self.sectors * engine::SECTOR_BYTES
    }

    /// The piece with a placement handle.
    pub fn with(self, handle: Handle) -> Self {
        Piece { handle, ..self }
    }
}

/// Next step of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Issues the requests of the step, from this instant on.
    Ask(Time),
    /// Waits until other chains have finished a step.
    Wait,
    /// The chain is complete.
    End,
}

/// Steps of chains.
pub trait Steps {
    /// Determines the next step of a chain and appends its pieces to `step`: at least one for
    /// [`Next::Ask`].
    fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next;

    /// Called when all requests of a chain's step are completed. Returns true if waiting chains may
    /// proceed.
    fn finished(&mut self, chain: usize, now: Time) -> bool;

    /// Notices: named counts reported beside the requests.
    fn notices(&self) -> Notices {
        Vec::new()
    }
}

/// Requests of a step that are not yet issued.
#[derive(Debug, Default)]
struct Chain {
    step: VecDeque<Piece>,
    outstanding: u32,
    is_ready: bool,
}

/// Splitting of pieces into requests.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// Maximum sectors of a read or write.
    pub largest: u64,
    /// Maximum outstanding requests per chain.
    pub depth: u32,
}

/// Running chains.
pub struct Chains<S> {
    steps: S,
    cut: Cut,
    each: Vec<Chain>,
    has_begun: bool,
    /// Chains with requests to issue, ordered by time and then by insertion.
    ready: BinaryHeap<Reverse<(Time, u64, usize)>>,
    turns: u64,
    /// Chains that wait for others.
    waiting: Vec<usize>,
    in_flight: InFlight<usize>,
    /// The last arrival and its chain, while it can be withdrawn.
    given: Option<(Arrival, usize)>,
}

impl<S: Steps> Chains<S> {
    /// `chains` chains before their first step; `limit` is the maximum number of requests, if any.
    pub fn new(limit: Option<u64>, chains: usize, cut: Cut, steps: S) -> Self {
        Chains {
            steps,
            cut,
            each: (0..chains).map(|_| Chain::default()).collect(),
            has_begun: false,
            ready: BinaryHeap::new(),
            turns: 0,
            waiting: Vec::new(),
            in_flight: InFlight::new(limit),
            given: None,
        }
    }

    /// Schedules a chain's next request for `at`.
    fn push(&mut self, at: Time, chain: usize) {
        self.each[chain].is_ready = true;
        self.ready.push(Reverse((at, self.turns, chain)));
        self.turns += 1;
    }

    /// Lets an idle chain take its next step.
    fn advance(&mut self, chain: usize, now: Time) {
        let step = &mut self.each[chain].step;
        match self.steps.step(chain, now, step) {
            Next::Ask(at) => {
                assert!(!step.is_empty(), "a step of chain {chain} asks for nothing");
                self.push(at.max(now), chain);
            }
            Next::Wait => self.waiting.push(chain),
            Next::End => {}
        }
    }

    /// The next request of the step of a chain.
    fn take(&mut self, chain: usize) -> Request {
        let step = &mut self.each[chain].step;
        let piece = step.front_mut().expect("it has something to ask");
        let most = match piece.op {
            Op::Read | Op::Write => self.cut.largest,
            _ => u64::from(u32::MAX) / BLOCK_SECTORS * BLOCK_SECTORS,
        };
        let sectors = piece.sectors.min(most);
        let request = Request::new(0, piece.op, Lba(piece.first), sectors as u32);
        let request = Request { handle: piece.handle, ..request };
        piece.first += sectors;
        piece.sectors -= sectors;
        if piece.sectors == 0 {
            step.pop_front();
        }
        request
    }

    /// Continues a chain after a request, if more may be outstanding.
    fn submitted(&mut self, at: Time, chain: usize) {
        let own = &self.each[chain];
        if !own.is_ready && !own.step.is_empty() && own.outstanding < self.cut.depth {
            self.push(at, chain);
        }
    }
}

impl<S: Steps> Workload for Chains<S> {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if !self.has_begun {
            self.has_begun = true;
            (0..self.each.len()).for_each(|chain| self.advance(chain, now));
        }
        if let Some((given, chain)) = self.given.take() {
            self.submitted(given.at, chain);
        }
        if self.in_flight.is_spent() {
            return Ok(None);
        }
        let Some(Reverse((at, _, chain))) = self.ready.pop() else { return Ok(None) };
        self.each[chain].is_ready = false;
        self.each[chain].outstanding += 1;
        let request = self.take(chain);
        let id = self.in_flight.issue(chain);
        let arrival = Arrival { at: at.max(now), request: Request { id, ..request } };
        self.given = Some((arrival, chain));
        Ok(Some(arrival))
    }

    fn completed(&mut self, completion: &Completion) {
        let chain = self.in_flight.complete(completion.request.id);
        let now = completion.at;
        self.each[chain].outstanding -= 1;
        // A chain's next request is scheduled only after its previous one is submitted.
        if self.given.is_some_and(|(_, given)| given == chain) {
            return;
        }
        let own = &self.each[chain];
        if !own.step.is_empty() {
            self.submitted(now, chain);
        } else if own.outstanding == 0 {
            let continues = self.steps.finished(chain, now);
            let waiting = if continues { std::mem::take(&mut self.waiting) } else { Vec::new() };
            self.advance(chain, now);
            for chain in waiting {
                self.advance(chain, now);
            }
        }
    }

    fn take_back(&mut self) -> bool {
        let Some((given, chain)) = self.given else { return false };
        let earlier = self.ready.peek().is_some_and(|Reverse((at, ..))| *at < given.at);
        if earlier {
            self.given = None;
            self.in_flight.withdraw();
            let Request { op, lba, sectors, handle, .. } = given.request;
            let (first, sectors) = (lba.0, u64::from(sectors));
            let own = &mut self.each[chain];
            own.outstanding -= 1;
            own.step.push_front(Piece { op, first, sectors, handle });
            self.push(given.at, chain);
        }
        earlier
    }

    fn expected_requests(&self) -> Option<u64> {
        self.in_flight.limit()
    }

    fn notices(&self) -> Notices {
        self.steps.notices()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::kinds::tests::answer;

    /// A request with its submission and completion.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Asked {
        pub at: Time,
        pub end: Time,
        pub request: Request,
    }

    impl Asked {
        /// First block of 4 KiB, and number of blocks.
        pub fn blocks(&self) -> std::ops::Range<u64> {
            let first = self.request.lba.0 / BLOCK_SECTORS;
            first..first + u64::from(self.request.sectors) / BLOCK_SECTORS
        }
    }

    /// Runs a workload against a device with unlimited parallelism and service time `takes`; at
    /// most `most` requests.
    pub fn against(
        workload: &mut dyn Workload,
        most: usize,
        mut takes: impl FnMut(&Request) -> Time,
    ) -> Vec<Asked> {
        let mut asked: Vec<Asked> = Vec::new();
        let mut under_way: BinaryHeap<Reverse<(Time, usize)>> = BinaryHeap::new();
        let mut arrival = workload.next(0).unwrap();
        loop {
            let event = under_way.peek().map(|Reverse((at, _))| *at);
            if let Some(next) = arrival
                && event.is_none_or(|at| at > next.at)
                && asked.len() < most
            {
                let end = next.at + takes(&next.request);
                under_way.push(Reverse((end, asked.len())));
                asked.push(Asked { at: next.at, end, request: next.request });
                arrival = workload.next(next.at).unwrap();
                continue;
            }
            let Some(Reverse((now, index))) = under_way.pop() else { return asked };
            workload.completed(&answer(asked[index].request, now));
            if arrival.is_none_or(|next| next.at > now && workload.take_back()) {
                arrival = workload.next(now).unwrap();
            }
        }
    }

    /// Chains of three steps with two pieces each; before its last step chain 1 waits for chain 0.
    struct Three {
        steps: Vec<u64>,
    }

    impl Steps for Three {
        fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
            if chain == 1 && self.steps[1] == 2 && self.steps[0] < 3 {
                return Next::Wait;
            }
            let at = self.steps[chain];
            if at == 3 {
                return Next::End;
            }
            let first = 1000 * chain as u64 + 100 * at;
            step.push_back(Piece::new(Op::Read, first, 24));
            step.push_back(Piece::new(Op::Write, first + 24, 8));
            Next::Ask(now)
        }

        fn finished(&mut self, chain: usize, _now: Time) -> bool {
            self.steps[chain] += 1;
            chain == 0
        }
    }

    #[test]
    fn a_step_begins_when_all_of_the_one_before_is_answered() {
        let cut = Cut { largest: 16, depth: 2 };
        let mut chains = Chains::new(None, 2, cut, Three { steps: vec![0; 2] });
        // Requests of chain 1 take a tenth of the time.
        let takes = |request: &Request| if request.lba.0 < 1000 { 100 } else { 10 };
        let asked = against(&mut chains, usize::MAX, takes);
        let of = |chain: u64| -> Vec<Asked> {
            asked.iter().filter(|it| it.request.lba.0 / 1000 == chain).copied().collect()
        };
        for chain in [of(0), of(1)] {
            // 16 + 8 sectors of the read, 8 of the write, in each of three steps.
            assert_eq!(
                chain.iter().map(|it| it.request.sectors).collect::<Vec<_>>(),
                [16, 8, 8].repeat(3)
            );
            for pair in chain.chunks(3).collect::<Vec<_>>().windows(2) {
                let end = pair[0].iter().map(|it| it.end).max().unwrap();
                assert!(pair[1].iter().all(|it| it.at >= end), "{pair:?}");
            }
        }
        // Queue depth 2: a step takes two service times, and the last step of chain 1 waits for
        // chain 0.
        assert_eq!(
            of(0).iter().map(|it| it.at).collect::<Vec<_>>(),
            [0, 0, 100, 200, 200, 300, 400, 400, 500]
        );
        assert_eq!(
            of(1).iter().map(|it| it.at).collect::<Vec<_>>(),
            [0, 0, 10, 20, 20, 30, 600, 600, 610]
        );
        assert_eq!(
            asked.iter().map(|it| it.request.id).collect::<Vec<_>>(),
            (0..18).collect::<Vec<_>>()
        );
    }

    /// A chain that issues at 1000, and one that issues again on each completion.
    struct Late;

    impl Steps for Late {
        fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
            if now >= 1000 {
                return Next::End;
            }
            step.push_back(Piece::new(Op::Read, 8 * chain as u64, 8));
            Next::Ask(if chain == 0 { 1000 } else { now })
        }

        fn finished(&mut self, _chain: usize, _now: Time) -> bool {
            false
        }
    }

    #[test]
    fn an_answer_brings_forward_what_is_asked_before_a_later_instant() {
        let mut chains = Chains::new(None, 2, Cut { largest: 8, depth: 1 }, Late);
        let asked = against(&mut chains, usize::MAX, |_| 300);
        let of = |chain: u64| -> Vec<Time> {
            asked.iter().filter(|it| it.request.lba.0 == 8 * chain).map(|it| it.at).collect()
        };
        assert_eq!(of(0), [1000]);
        assert_eq!(of(1), [0, 300, 600, 900]);
        let mut chains = Chains::new(Some(3), 2, Cut { largest: 8, depth: 1 }, Late);
        assert_eq!(against(&mut chains, usize::MAX, |_| 300).len(), 3);
        assert_eq!(chains.expected_requests(), Some(3));
    }
}
