//! States of zones, decided by the device and reported to hosts.

use crate::Status;

/// The state of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneState {
    /// The zone holds no data.
    Empty,
    /// Open after a write.
    Implicit,
    /// Open by request of the host.
    Explicit,
    /// Active but not open.
    Closed,
    /// The zone takes no more writes.
    Full,
    /// The zone is readable only.
    ReadOnly,
    /// The zone is neither readable nor writable.
    Offline,
}

impl ZoneState {
    /// All states in the order of the standard's table, with their names in results.
    pub const ALL: [(ZoneState, &'static str); 7] = [
        (ZoneState::Empty, "empty"),
        (ZoneState::Implicit, "implicitly_open"),
        (ZoneState::Explicit, "explicitly_open"),
        (ZoneState::Closed, "closed"),
        (ZoneState::Full, "full"),
        (ZoneState::ReadOnly, "read_only"),
        (ZoneState::Offline, "offline"),
    ];

    /// Name in results.
    pub fn name(self) -> &'static str {
        let (_, name) = ZoneState::ALL[self as usize];
        name
    }

    /// True for an open zone.
    pub fn is_open(self) -> bool {
        matches!(self, ZoneState::Implicit | ZoneState::Explicit)
    }

    /// True for an active zone.
    pub fn is_active(self) -> bool {
        self.is_open() || self == ZoneState::Closed
    }

    /// Status of a write rejected in this state; `None` if the state accepts writes.
    pub fn refuses_writes(self) -> Option<Status> {
        match self {
            ZoneState::Full => Some(Status::ZoneFull),
            ZoneState::ReadOnly => Some(Status::ZoneReadOnly),
            ZoneState::Offline => Some(Status::ZoneOffline),
            _ => None,
        }
    }
}
