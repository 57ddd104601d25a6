//! The gate in front of a device: it lets simulated time advance as ordered.

use super::frames::{Frames, What};
use devices::ssd::timeline::Timeline;
use devices::{Condition, Constants, EnergyReport, Instruction, Looks, Model, Report};
use engine::{Completion, Device, Followed, Request, Standing, Status, Time};
use std::sync::mpsc::{Receiver, Sender};

/// Instruction of a run's progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Advance by `frames` steps, with a frame after each.
    Advance { step: Time, frames: u32 },
    /// Advance to the next request with a latency of at least `limit`, or by `requests` requests.
    Slow { limit: Time, requests: u64 },
}

/// Stops simulated time as ordered, and collects frames. Its fields are the current order and the
/// collected frames.
pub(crate) struct Gate {
    orders: Receiver<Order>,
    answers: Sender<Vec<u8>>,
    frames: Frames,
    /// Frames of the current order.
    bytes: Vec<u8>,
    /// End of the current frame; later events wait.
    until: Time,
    step: Time,
    /// Remaining frames.
    left: u32,
    /// Minimum latency of the request searched for.
    slow: Time,
    /// Number of requests after which the search stops.
    patience: u64,
    now: Time,
}

impl Gate {
    /// Closed before the first request.
    pub(super) fn new(orders: Receiver<Order>, answers: Sender<Vec<u8>>) -> Gate {
        Gate {
            orders,
            answers,
            frames: Frames::default(),
            bytes: Vec::new(),
            until: 0,
            step: 0,
            left: 1,
            slow: Time::MAX,
            patience: u64::MAX,
            now: 0,
        }
    }

    /// Called before the device advances to `to`.
    fn pass(&mut self, device: &dyn Model, to: Time) {
        while to >= self.until {
            self.show(device, self.until, What::Instant);
            self.left -= 1;
            if self.left > 0 {
                self.until = self.until.saturating_add(self.step);
            } else {
                self.wait(self.until);
            }
        }
        self.now = to;
    }

    /// Handles completions.
    fn completed(&mut self, device: &dyn Model, completions: &[Completion]) {
        let is_found = completions.iter().any(|it| it.latency() >= self.slow);
        for completion in completions {
            self.frames.completed(completion);
        }
        self.patience = self.patience.saturating_sub(completions.len() as u64);
        if is_found || self.patience == 0 {
            self.show(device, self.now, if is_found { What::Slow } else { What::NoneSlow });
            self.wait(self.now);
        }
    }

    fn show(&mut self, device: &dyn Model, at: Time, what: What) {
        self.frames.write(device, at, what, &mut self.bytes);
    }

    /// Returns the frames of the order, and waits for the next order. If the view is closed, the
    /// run continues to its end.
    fn wait(&mut self, now: Time) {
        let bytes = std::mem::take(&mut self.bytes);
        let order = self.answers.send(bytes).ok().and_then(|()| self.orders.recv().ok());
        (self.slow, self.patience) = (Time::MAX, u64::MAX);
        (self.until, self.left) = (Time::MAX, u32::MAX);
        match order {
            Some(Order::Advance { step, frames }) => {
                (self.step, self.left) = (step, frames);
                self.until = now.saturating_add(step);
            }
            Some(Order::Slow { limit, requests }) => (self.slow, self.patience) = (limit, requests),
            None => {}
        }
    }
}

/// A device behind a gate.
pub(crate) struct Gated {
    device: Box<dyn Model>,
    gate: Gate,
}

impl Gated {
    pub(crate) fn new(device: Box<dyn Model>, gate: Gate) -> Gated {
        Gated { device, gate }
    }
}

/// Ends the run: completes the current order.
impl Drop for Gated {
    fn drop(&mut self) {
        let Gated { device, gate } = self;
        gate.show(&**device, gate.now, What::End);
        // The view may already be closed.
        let _ = gate.answers.send(std::mem::take(&mut gate.bytes));
    }
}

impl Device for Gated {
    fn submit(&mut self, now: Time, request: Request) {
        self.gate.pass(&*self.device, now);
        self.gate.frames.submitted();
        self.device.submit(now, request);
    }

    fn next_event(&self) -> Option<Time> {
        self.device.next_event()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        self.gate.pass(&*self.device, to);
        let before = completions.len();
        self.device.advance(to, completions);
        self.gate.completed(&*self.device, &completions[before..]);
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.gate.pass(&*self.device, now);
        let before = completions.len();
        self.device.cut(now, completions);
        self.gate.completed(&*self.device, &completions[before..]);
    }

    fn power_on(&mut self, now: Time) {
        self.gate.pass(&*self.device, now);
        self.device.power_on(now);
    }

    fn standing(&self) -> Standing {
        self.device.standing()
    }

    fn has_ended(&self) -> bool {
        self.device.has_ended()
    }

    fn followed(&self) -> Option<Followed> {
        self.device.followed()
    }

    fn capacity_sectors(&self) -> u64 {
        self.device.capacity_sectors()
    }
}

impl Model for Gated {
    fn instruct(&mut self, now: Time, instruction: Instruction) -> Result<(), String> {
        self.device.instruct(now, instruction)
    }

    fn facts(&self) -> Constants<'_> {
        self.device.facts()
    }

    fn condition(&self) -> Condition {
        self.device.condition()
    }

    fn audit(&self) -> Result<(), String> {
        self.device.audit()
    }

    fn blocks(&self, looks: &mut Looks) {
        self.device.blocks(looks);
    }

    fn take_operations(&mut self) -> Option<Timeline> {
        self.device.take_operations()
    }

    fn report(&self, end: Time) -> Report {
        self.device.report(end)
    }

    fn energy_report(&self, end: Time) -> Option<EnergyReport> {
        self.device.energy_report(end)
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        self.device.serve_untimed(request)
    }
}
