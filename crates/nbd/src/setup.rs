//! What a server is made of beside its device, and who looks on.

use crate::catalogue::Export;
use crate::clock::Scale;
use crate::floor::Floor;
use crate::orders::Orders;
use crate::punctuality::Punctuality;
use crate::recording::Recording;
use crate::store::Store;
use engine::{Completion, Followed, Request, Time};

/// Sees all that the device is asked and answers, in the order of the model's time.
pub trait Witness<D: ?Sized> {
    /// The first request is about to be submitted.
    fn begins(&mut self, _device: &mut D, _at: Time) {}

    /// A request was submitted.
    fn submitted(&mut self, at: Time, request: &Request, fua: bool);

    /// How the device is before what happens at `now`; the first time, and then when that is not before
    /// the instant that was returned last.
    fn sample(&mut self, _now: Time, _figures: Option<Followed>) -> Time {
        Time::MAX
    }

    /// Everything that was asked is answered; what follows the device does alone, or is told to do.
    fn left_alone(&mut self, _device: &mut D) {}

    /// The device, which was left alone, is asked again.
    fn asked_again(&mut self) {}

    /// The device has answered a request.
    fn completed(&mut self, completion: &Completion);

    /// The answer was given to the client, and how long that took by the measure of the model's time.
    fn delivered(&mut self, completion: &Completion, measured: Time);

    /// About twice a second, when nothing else is urgent: a look at the device and at how punctual
    /// its answers were so far.
    fn idle(&mut self, device: &mut D, now: Time, punctuality: &Punctuality);

    /// Someone at the control socket, or in this process, says a line; the answer, a line, if it only asks
    /// how things are.
    fn look(
        &mut self,
        _device: &mut D,
        _now: Time,
        _line: &str,
        _punctuality: &Punctuality,
    ) -> Option<String> {
        None
    }

    /// The line was an order, before which all has happened that happens up to `now`; the answer is a line.
    fn order(&mut self, _device: &mut D, _now: Time, _line: &str) -> String {
        "{}".to_owned()
    }
}

/// What a server is made of, beside its device.
#[derive(Debug)]
pub struct Setup {
    /// Where the data are.
    pub store: Store,
    /// What the clients have of the device; within its capacity, whole sectors.
    pub export: Export,
    /// How wall time and the model's relate.
    pub scale: Scale,
    /// What the way to the clients takes.
    pub floor: Floor,
    /// Where orders come from, if they do.
    pub orders: Option<Orders>,
    /// What clients change is recorded there, with the data.
    pub recording: Option<Recording>,
}
