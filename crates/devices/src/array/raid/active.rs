//! A request inside an array with redundancy.

use engine::{Breakdown, Request, Status, Time};

/// A request of the host, from its arrival to its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Active {
    pub(super) request: Request,
    pub(super) submitted: Time,
    /// When it reached the members, and later when the last of its operations was done.
    pub(super) at_members: Time,
    pub(super) done: Time,
    /// Of the requests that have reached the members.
    pub(super) number: u64,
    /// Operations that are not done; of a flush that waits, the writes before it.
    pub(super) left: u64,
    /// Of the operation done last.
    pub(super) breakdown: Breakdown,
    pub(super) status: Status,
}

impl Active {
    pub(super) fn new(request: Request, now: Time) -> Active {
        Active {
            request,
            submitted: now,
            at_members: now,
            done: now,
            number: 0,
            left: 0,
            breakdown: Breakdown::default(),
            status: Status::Ok,
        }
    }
}
