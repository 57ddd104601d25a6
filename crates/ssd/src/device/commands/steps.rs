//! Commands in progress: their steps.

use engine::{Breakdown, Completion, Lba, Op, Request, SECTOR_BYTES, Status, Time};

/// First and end sector.
pub type Range = std::ops::Range<u64>;

pub fn range(request: &Request) -> Range {
    request.lba.0..request.lba.0 + u64::from(request.sectors)
}

pub fn bytes(range: &Range) -> u64 {
    (range.end - range.start) * SECTOR_BYTES
}

/// Step of a command: its requests, the write that follows, and the status on success.
pub struct Step {
    request: Request,
    parts: Vec<Request>,
    then: Option<Request>,
    ends: Status,
}

impl Step {
    /// A step with one request per range.
    pub fn of(request: &Request, op: Op, ranges: &[Range]) -> Step {
        let part = |range: &Range| {
            let sectors = (range.end - range.start) as u32;
            let part = Request::new(0, op, Lba(range.start), sectors);
            Request { queue: request.queue, ..part }
        };
        let parts = ranges.iter().map(part).collect();
        Step { request: *request, parts, then: None, ends: Status::Ok }
    }

    pub fn nothing(request: &Request) -> Step {
        Step::of(request, request.op, &[])
    }

    /// Adds a final write of the request's range.
    pub fn then_write(self, request: &Request) -> Step {
        Step { then: Some(Request { op: Op::Write, ..*request }), ..self }
    }

    /// Sets the status on success.
    pub fn ending(self, ends: Status) -> Step {
        Step { ends, ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.then.is_none()
    }
}

/// A command under way.
struct Going {
    request: Request,
    submitted: Time,
    /// Outstanding parts of the step.
    left: usize,
    then: Option<Request>,
    ends: Status,
    breakdown: Breakdown,
}

/// Consequence of a completed part.
pub enum After {
    Nothing,
    Ask(Request),
    Answer(Completion),
}

/// Commands in progress by place, which is part of their requests' ids.
#[derive(Default)]
pub struct Steps {
    places: Vec<Option<Going>>,
    free: Vec<usize>,
}

impl Steps {
    /// Starts a command. Returns the requests of its first step.
    pub fn begin(&mut self, step: Step, now: Time, numbers: u64) -> Vec<Request> {
        let Step { request, mut parts, mut then, ends } = step;
        if parts.is_empty() {
            parts.extend(then.take());
        }
        let left = parts.len();
        let breakdown = Breakdown::default();
        let going = Going { request, submitted: now, left, then, ends, breakdown };
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(going);
        for part in &mut parts {
            part.id = numbers + place as u64;
        }
        parts
    }

    /// Completes a part.
    pub fn part_ended(&mut self, part: &Completion, numbers: u64) -> After {
        let place = (part.request.id - numbers) as usize;
        let going = self.places[place].as_mut().expect("its command is under way");
        going.left -= 1;
        going.ends = part.status.and(going.ends);
        if part.status != Status::Ok {
            going.then = None;
        }
        if going.left > 0 {
            return After::Nothing;
        }
        // Parts start together, and this one completed last.
        going.breakdown += part.breakdown;
        if let Some(then) = going.then.take() {
            going.left = 1;
            return After::Ask(Request { id: part.request.id, ..then });
        }
        let &mut Going { request, submitted, breakdown, ends: status, .. } = going;
        self.places[place] = None;
        self.free.push(place);
        After::Answer(Completion { request, submitted, at: part.at, breakdown, status })
    }
}
