//! The gate in front of a device: it lets simulated time advance as ordered.

use super::frames::{Frames, What};
use devices::ssd::Snapshot;
use devices::ssd::media::Age;
use devices::ssd::timeline::{Timeline, Window};
use devices::{Cleans, EnergyReport, Examine, Looks, Model, Persist, Prepare, Report};
use engine::{Completion, Device, Followed, Request, Status, Time};
use std::sync::mpsc::{Receiver, Sender};

/// Control of a run's progress.
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

    fn is_ready(&self) -> bool {
        self.device.is_ready()
    }

    fn has_ended(&self) -> bool {
        self.device.has_ended()
    }

    fn may_refuse(&self) -> bool {
        self.device.may_refuse()
    }

    fn followed(&self) -> Option<Followed> {
        self.device.followed()
    }

    fn capacity_sectors(&self) -> u64 {
        self.device.capacity_sectors()
    }
}

/// Only an enclosing array coordinates garbage collection.
impl Cleans for Gated {}

impl Prepare for Gated {
    fn preparable_pages(&self) -> u64 {
        self.device.preparable_pages()
    }

    fn memory(&self, share: f64) -> u64 {
        self.device.memory(share)
    }

    fn volumes(&self) -> u32 {
        self.device.volumes()
    }

    fn holds(&self, page: u64) -> bool {
        self.device.holds(page)
    }

    fn overwrite_untimed(&mut self, pages: &[u64]) {
        self.device.overwrite_untimed(pages);
    }

    fn overwrites_that_settle(&self) -> u64 {
        self.device.overwrites_that_settle()
    }

    fn overwrite_behind(&mut self, pages: &[u64]) {
        self.device.overwrite_behind(pages);
    }

    fn age(&mut self, age: Age) -> Result<(), &'static str> {
        self.device.age(age)
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        self.device.serve_untimed(request)
    }
}

impl Persist for Gated {
    fn rests(&self) -> bool {
        self.device.rests()
    }

    fn saves_all(&self) -> bool {
        self.device.saves_all()
    }

    fn save(&self) -> Option<Snapshot> {
        self.device.save()
    }

    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        self.device.restore(snapshot)
    }
}

impl Examine for Gated {
    fn reset_counts(&mut self) {
        self.device.reset_counts();
    }

    fn begin_load(&mut self) {
        self.device.begin_load();
    }

    fn begin_account(&mut self, now: Time) {
        self.device.begin_account(now);
    }

    fn audit(&self) -> Result<(), String> {
        self.device.audit()
    }

    fn blocks(&self, looks: &mut Looks) {
        self.device.blocks(looks);
    }

    fn record_operations(&mut self, window: Window) {
        self.device.record_operations(window);
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
}
