//! A request inside an array, and the events of its link.

use engine::{Breakdown, Request, Status, Time};

/// The link has finished a transfer.
pub(super) const LINK_FREE: u32 = 0;
/// The controller sees a request that the host has sent.
pub(super) const LINK_ARRIVAL: u32 = 1;

/// A request inside the array.
#[derive(Debug, Clone, Copy)]
pub(super) struct Active {
    pub(super) request: Request,
    pub(super) submitted: Time,
    /// When its parts were given to the members, and later when the last of them was done.
    pub(super) at_members: Time,
    pub(super) done: Time,
    pub(super) parts_left: u32,
    /// Of the part done last.
    pub(super) breakdown: Breakdown,
    /// Of all parts so far.
    pub(super) status: Status,
}

impl Active {
    pub(super) fn new(request: Request, now: Time) -> Active {
        let breakdown = Breakdown::default();
        let status = Status::Ok;
        Active {
            request,
            submitted: now,
            at_members: now,
            done: now,
            parts_left: 0,
            breakdown,
            status,
        }
    }
}
