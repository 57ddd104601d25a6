//! The order of two events at the same instant on two sides.
//!
//! In a drive in one piece, events of one instant happen in the order in which they were asked for. An event
//! is asked for in a step: in an event before it on the same lane, or when a request is submitted to an
//! idle one. So of two events of one instant that comes first whose asking came first, which is the
//! question again, of an earlier instant; requests are submitted in order of their numbers, after all
//! events of their instant, and within one request pages come in order. No stage takes no time, so the
//! question has an answer. Where two chains of events reach back into the stretch before, the order of what
//! was under way at its end is known.

use engine::Time;

/// Of a step's parent: it was under way when the stretch began, on this lane.
pub(super) const BEFORE: u32 = 1 << 31;
/// Of a step: it is no event but a submission, with its origin at this place.
const SUBMITTED: u32 = 1 << 30;
/// The place of a step that was not passed on.
const UNTOLD: u32 = u32::MAX;

/// Something that happened: an event, or the submission of a page that began something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    at: Time,
    /// The step in which it was asked for, or what the bits above say.
    parent: u32,
    /// Its place among the steps passed on, once it was.
    told: u32,
}

/// A page of a request, or a unit that a trim woke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    pub(super) number: u64,
    pub(super) place: u64,
}

/// The steps of a side in a stretch.
#[derive(Debug, Default)]
pub(super) struct Log {
    steps: Vec<Step>,
    origins: Vec<Origin>,
}

impl Log {
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.origins.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Notes an event.
    #[inline]
    pub(super) fn event(&mut self, at: Time, parent: u32) -> u32 {
        self.steps.push(Step { at, parent, told: UNTOLD });
        self.steps.len() as u32 - 1
    }

    /// Notes a submission.
    #[inline]
    pub(super) fn submission(&mut self, at: Time, origin: Origin) -> u32 {
        self.origins.push(origin);
        self.event(at, SUBMITTED | (self.origins.len() as u32 - 1))
    }

    #[inline]
    pub(super) fn at(&self, step: u32) -> Time {
        self.steps[step as usize].at
    }

    /// The number of the request of a submission; nothing of an event.
    #[inline]
    pub(super) fn submitted(&self, step: u32) -> Option<u64> {
        self.origin(step).map(|origin| origin.number)
    }

    #[inline]
    fn origin(&self, step: u32) -> Option<Origin> {
        let parent = self.steps[step as usize].parent;
        let is_submission = parent & (SUBMITTED | BEFORE) == SUBMITTED;
        is_submission.then(|| self.origins[(parent & !SUBMITTED) as usize])
    }

    /// A step is passed on, as the next one in order.
    #[inline]
    pub(super) fn tell(&mut self, step: u32, next: &mut u32) {
        self.steps[step as usize].told = *next;
        *next += 1;
    }
}

/// Whether a step of one log came before one of another. `ranks` has the order of what was under way before.
pub(super) fn is_before(one: (&Log, u32), other: (&Log, u32), ranks: &[u32]) -> bool {
    let ((left, mut x), (right, mut y)) = (one, other);
    loop {
        match (x & BEFORE != 0, y & BEFORE != 0) {
            (true, true) => return ranks[(x & !BEFORE) as usize] < ranks[(y & !BEFORE) as usize],
            (before, after) if before != after => return before,
            _ => {}
        }
        let (a, b) = (left.steps[x as usize], right.steps[y as usize]);
        if a.at != b.at {
            return a.at < b.at;
        }
        if a.told != UNTOLD && b.told != UNTOLD {
            return a.told < b.told;
        }
        match (left.origin(x), right.origin(y)) {
            (None, None) => (x, y) = (a.parent, b.parent),
            (Some(a), Some(b)) => return a < b,
            (event, _) => return event.is_none(),
        }
    }
}
