//! Parts of a server, without its device.

use crate::catalogue::Export;
use crate::clock::Scale;
use crate::health::Health;
use crate::orders::Orders;
use crate::overhead::Overhead;
use crate::placement::Placement;
use crate::punctuality::Punctuality;
use crate::recording::Recording;
use crate::store::Store;
use crate::zones::{ZoneLimits, ZoneList, ZoneQuery, ZonesAltered};
use engine::{Completion, Followed, Request, Time};

/// Observes all submissions and completions, in the order of model time.
pub trait Witness<D: ?Sized> {
    /// The first request is about to be submitted.
    fn begins(&mut self, _device: &mut D, _at: Time) {}

    /// A request was submitted.
    fn submitted(&mut self, at: Time, request: &Request, fua: bool);

    /// The figures of the device before the events at `now`. Called first at the beginning, then at or
    /// after the instant returned last.
    fn sample(&mut self, _now: Time, _figures: Option<Followed>) -> Time {
        Time::MAX
    }

    /// Called when all requests are completed; what follows the device does by itself, or by an
    /// order.
    fn left_alone(&mut self, _device: &mut D) {}

    /// The device gets requests again.
    fn asked_again(&mut self) {}

    /// The device has completed a request.
    fn completed(&mut self, completion: &Completion);

    /// The client has the reply; the measured latency in model time.
    fn delivered(&mut self, completion: &Completion, measured: Time);

    /// Called about twice a second, when nothing else is urgent, with the device and the accuracy of its
    /// timing so far.
    fn idle(&mut self, device: &mut D, now: Time, punctuality: &Punctuality);

    /// Health of the device, if known.
    fn health(&mut self, _device: &mut D, _now: Time) -> Option<Health> {
        None
    }

    /// Placement handles of the device, if any.
    fn placement(&mut self, _device: &mut D) -> Option<Placement> {
        None
    }

    /// Starts a new reclaim unit for a placement handle; all events up to `now` have happened.
    /// Returns whether it does.
    fn next_unit(&mut self, _device: &mut D, _now: Time, _handle: u32) -> bool {
        false
    }

    /// Limits of the device's zones, if any.
    fn zone_limits(&mut self, _device: &mut D) -> Option<ZoneLimits> {
        None
    }

    /// Zones selected by a query, if the device has some.
    fn zones(&mut self, _device: &mut D, _query: &ZoneQuery) -> Option<ZoneList> {
        None
    }

    /// The zones that the device has changed by itself since it had done so `since` times, if it has zones.
    fn zones_altered(&mut self, _device: &mut D, _since: u64) -> Option<ZonesAltered> {
        None
    }

    /// A line from the control socket, or from this process; the answer, a line, if it is a query.
    fn look(
        &mut self,
        _device: &mut D,
        _now: Time,
        _line: &str,
        _punctuality: &Punctuality,
    ) -> Option<String> {
        None
    }

    /// The line is an order; all events up to `now` have happened. The answer is a line.
    fn order(&mut self, _device: &mut D, _now: Time, _line: &str) -> String {
        "{}".to_owned()
    }
}

/// Parts of a server, without its device.
#[derive(Debug)]
pub struct Setup {
    /// Store of the data.
    pub store: Store,
    /// The part of the device that clients use; within its capacity, in whole sectors.
    pub export: Export,
    /// Ratio of wall time to model time.
    pub scale: Scale,
    /// Latency of the transport to the clients.
    pub overhead: Overhead,
    /// Control socket, if any.
    pub orders: Option<Orders>,
    /// Recording of all changes by clients, with the data.
    pub recording: Option<Recording>,
}
