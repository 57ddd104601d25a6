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

/// Observer of submissions and completions, in model-time order.
pub trait Witness<D: ?Sized> {
    /// Called before the first request is submitted.
    fn begins(&mut self, _device: &mut D, _at: Time) {}

    /// Called after a request was submitted.
    fn submitted(&mut self, at: Time, request: &Request, fua: bool);

    /// Receives the device's statistics before the events at `now`, and returns the next sampling
    /// time. Called first at the start, then at or after that time.
    fn sample(&mut self, _now: Time, _figures: Option<Followed>) -> Time {
        Time::MAX
    }

    /// Called when all requests are completed; later activity is the device's own or due to an
    /// order.
    fn left_alone(&mut self, _device: &mut D) {}

    /// Called when requests arrive again.
    fn asked_again(&mut self) {}

    /// Called when the device has completed a request.
    fn completed(&mut self, completion: &Completion);

    /// Called when the client has the reply; `measured` is its latency in model time.
    fn delivered(&mut self, completion: &Completion, measured: Time);

    /// Called about twice a second when nothing is urgent, with the device and the timing accuracy
    /// so far.
    fn idle(&mut self, device: &mut D, now: Time, punctuality: &Punctuality);

    /// Health of the device, if known.
    fn health(&mut self, _device: &mut D, _now: Time) -> Option<Health> {
        None
    }

    /// Placement handles of the device, if any.
    fn placement(&mut self, _device: &mut D) -> Option<Placement> {
        None
    }

    /// Starts a new reclaim unit for a placement handle, after all events up to `now`. Returns true
    /// on success.
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

    /// Zones that the device has changed since its `since`th change, if it has zones.
    fn zones_altered(&mut self, _device: &mut D, _since: u64) -> Option<ZonesAltered> {
        None
    }

    /// Answers a query from the control socket or this process, in one line; `None` if the line is
    /// an order.
    fn look(
        &mut self,
        _device: &mut D,
        _now: Time,
        _line: &str,
        _punctuality: &Punctuality,
    ) -> Option<String> {
        None
    }

    /// Executes an order, after all events up to `now`, and returns one line.
    fn order(&mut self, _device: &mut D, _now: Time, _line: &str) -> String {
        "{}".to_owned()
    }
}

/// Parts of a server, without its device.
#[derive(Debug)]
pub struct Setup {
    /// Store of the data.
    pub store: Store,
    /// The part of the device that clients see: whole sectors within its capacity.
    pub export: Export,
    /// Ratio of wall time to model time.
    pub scale: Scale,
    /// Transport latency to the clients.
    pub overhead: Overhead,
    /// Control socket, if any.
    pub orders: Option<Orders>,
    /// Recording of all changes by clients, with the data.
    pub recording: Option<Recording>,
}
