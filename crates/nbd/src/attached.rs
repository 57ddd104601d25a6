//! The served device and its outstanding requests. It is advanced ahead of the clock, so that
//! replies can be sent early by the latency of their way to the client.

use crate::health::Served;
use crate::setup::Witness;
use engine::{Completion, Device, Request, Time};
use std::collections::VecDeque;

/// A completion of the device.
pub(crate) struct Answered {
    /// The slot of the request.
    pub(crate) slot: u32,
    /// Lead time of the reply over the completion.
    pub(crate) early: u64,
    pub(crate) completion: Completion,
}

/// A request outstanding at the device.
#[derive(Clone, Copy)]
struct Inside {
    slot: u32,
    early: u64,
}

/// Requests outstanding at the device, indexed by request number from the oldest outstanding one.
#[derive(Default)]
struct Row {
    first: u64,
    requests: VecDeque<Option<Inside>>,
    count: usize,
}

impl Row {
    /// Adds the next request.
    fn push(&mut self, inside: Inside) {
        self.requests.push_back(Some(inside));
        self.count += 1;
    }

    fn remove(&mut self, number: u64) -> Option<Inside> {
        let at = number.checked_sub(self.first)?;
        let found = self.requests.get_mut(usize::try_from(at).ok()?)?.take()?;
        self.count -= 1;
        while let Some(None) = self.requests.front() {
            self.requests.pop_front();
            self.first += 1;
        }
        Some(found)
    }
}

/// The largest `early` of the outstanding requests, and the number of requests with it.
#[derive(Default)]
struct Ahead {
    most: u64,
    count: usize,
}

impl Ahead {
    fn add(&mut self, early: u64) {
        if early > self.most {
            *self = Ahead { most: early, count: 0 };
        }
        self.count += usize::from(early == self.most);
    }

    /// Removes a completed request; `left` holds the remaining ones.
    fn remove(&mut self, early: u64, left: &Row) {
        if early < self.most {
            return;
        }
        self.count -= 1;
        if self.count == 0 {
            self.most = 0;
            left.requests.iter().flatten().for_each(|it| self.add(it.early));
        }
    }
}

/// Handling of device events when no request is outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Background {
    /// Events wait for the next request, as in a replay.
    Waits,
    /// A request follows, so the events count in the results.
    BeforeRequest,
    /// The device works in the background; the results exclude this unless a request follows.
    Alone,
}

/// The device and its outstanding requests.
pub(crate) struct Attached<'a, D: ?Sized> {
    device: &'a mut D,
    /// Time up to which the device has advanced.
    time: Time,
    completions: Vec<Completion>,
    inside: Row,
    submitted: u64,
    /// True once the witness knows that all requests are completed.
    is_alone: bool,
    /// Next sampling time of the witness.
    sample_at: Time,
    ahead: Ahead,
    served: Served,
}

impl<'a, D: Device + ?Sized> Attached<'a, D> {
    /// A device without requests.
    pub(crate) fn new(device: &'a mut D) -> Self {
        Attached {
            device,
            time: 0,
            completions: Vec::new(),
            inside: Row::default(),
            submitted: 0,
            is_alone: false,
            sample_at: 0,
            ahead: Ahead::default(),
            served: Served::default(),
        }
    }

    /// Counts of requests.
    pub fn served(&self) -> Served {
        self.served
    }

    /// The device itself.
    pub(crate) fn device(&self) -> &D {
        self.device
    }

    /// The device, mutable.
    pub(crate) fn device_mut(&mut self) -> &mut D {
        self.device
    }

    /// Time up to which the device has advanced.
    pub(crate) fn time(&self) -> Time {
        self.time
    }

    /// Advances the witness to `to`, before an order that may change the device.
    pub(crate) fn pass<W: Witness<D> + ?Sized>(&mut self, to: Time, witness: &mut W) {
        self.time = self.time.max(to);
        if self.submitted > 0 {
            self.leave_alone(witness);
            self.sample(to, witness);
        }
    }

    /// The largest `early` of all outstanding requests.
    pub(crate) fn ahead(&self) -> u64 {
        self.ahead.most
    }

    /// True without outstanding requests.
    pub(crate) fn is_idle(&self) -> bool {
        self.inside.count == 0
    }

    /// The number of the next request.
    pub(crate) fn next_id(&self) -> u64 {
        self.submitted
    }

    /// Processes the device's events up to `to`; `background` selects the handling of events after
    /// the last outstanding completion.
    pub(crate) fn advance<W: Witness<D> + ?Sized>(
        &mut self,
        to: Time,
        background: Background,
        witness: &mut W,
        answered: &mut Vec<Answered>,
    ) {
        while let Some(at) = self.device.next_event().filter(|at| *at <= to) {
            match background {
                Background::Waits if self.is_idle() => return,
                Background::Alone => self.leave_alone(witness),
                _ => {}
            }
            self.sample(at, witness);
            self.device.advance(at, &mut self.completions);
            self.time = self.time.max(at);
            for completion in self.completions.drain(..) {
                witness.completed(&completion);
                self.served.count(&completion);
                let Some(Inside { slot, early }) = self.inside.remove(completion.request.id) else {
                    continue;
                };
                self.ahead.remove(early, &self.inside);
                answered.push(Answered { slot, early, completion });
            }
        }
    }

    /// Informs the witness once all requests are completed.
    fn leave_alone<W: Witness<D> + ?Sized>(&mut self, witness: &mut W) {
        if self.is_idle() && self.submitted > 0 && !self.is_alone {
            self.is_alone = true;
            witness.left_alone(self.device);
        }
    }

    fn sample<W: Witness<D> + ?Sized>(&mut self, now: Time, witness: &mut W) {
        if now >= self.sample_at {
            self.sample_at = witness.sample(now, self.device.followed());
        }
    }

    /// Submits a request to the device, which has already advanced to `at`.
    pub(crate) fn submit<W: Witness<D> + ?Sized>(
        &mut self,
        at: Time,
        request: Request,
        fua: bool,
        (slot, early): (u32, u64),
        witness: &mut W,
    ) {
        if self.submitted == 0 {
            witness.begins(self.device, at);
        }
        if std::mem::take(&mut self.is_alone) {
            witness.asked_again();
        }
        self.sample(at, witness);
        witness.submitted(at, &request, fua);
        self.time = at;
        self.submitted += 1;
        self.ahead.add(early);
        self.inside.push(Inside { slot, early });
        self.device.submit(at, request);
    }
}
