//! What a server is made of beside its device, and who looks on.

use crate::clock::Scale;
use crate::floor::Floor;
use crate::punctuality::Punctuality;
use crate::recording::Recording;
use crate::store::Store;
use engine::{Completion, Request, Time};

/// Sees all that the device is asked and answers.
pub trait Witness<D: ?Sized> {
    /// A request was submitted.
    fn submitted(&mut self, at: Time, request: &Request, fua: bool);

    /// A request was answered, and how long that took by the measure of the model's time; nothing is
    /// known of that where the client is gone.
    fn completed(&mut self, completion: &Completion, measured: Option<Time>);

    /// About twice a second, when nothing else is urgent: a look at the device and at how punctual
    /// its answers were so far.
    fn idle(&mut self, device: &D, now: Time, punctuality: &Punctuality);
}

/// What a server is made of, beside its device.
#[derive(Debug)]
pub struct Setup {
    /// Where the data are.
    pub store: Store,
    /// How large the device is for its clients; within its capacity, whole sectors.
    pub export_bytes: u64,
    /// How wall time and the model's relate.
    pub scale: Scale,
    /// What the way to the clients takes.
    pub floor: Floor,
    /// What clients change is recorded there, with the data.
    pub recording: Option<Recording>,
}
