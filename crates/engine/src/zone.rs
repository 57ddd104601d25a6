//! The states of zones, which a device decides and hosts are told.

use crate::Status;

/// The state of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneState {
    /// Nothing is written.
    Empty,
    /// Opened by a write.
    Implicit,
    /// Opened by the host.
    Explicit,
    /// Active and not open.
    Closed,
    /// Nothing more can be written.
    Full,
    /// Written data can be read, and no more.
    ReadOnly,
    /// Nothing can be read either.
    Offline,
}

impl ZoneState {
    /// Every state, in the order of the standard's table, with its name in results.
    pub const ALL: [(ZoneState, &'static str); 7] = [
        (ZoneState::Empty, "empty"),
        (ZoneState::Implicit, "implicitly_open"),
        (ZoneState::Explicit, "explicitly_open"),
        (ZoneState::Closed, "closed"),
        (ZoneState::Full, "full"),
        (ZoneState::ReadOnly, "read_only"),
        (ZoneState::Offline, "offline"),
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        let (_, name) = ZoneState::ALL[self as usize];
        name
    }

    /// True if it counts among the open zones.
    pub fn is_open(self) -> bool {
        matches!(self, ZoneState::Implicit | ZoneState::Explicit)
    }

    /// True if it counts among the active zones.
    pub fn is_active(self) -> bool {
        self.is_open() || self == ZoneState::Closed
    }

    /// Why nothing can be written, in a state that takes no writes.
    pub fn refuses_writes(self) -> Option<Status> {
        match self {
            ZoneState::Full => Some(Status::ZoneFull),
            ZoneState::ReadOnly => Some(Status::ZoneReadOnly),
            ZoneState::Offline => Some(Status::ZoneOffline),
            _ => None,
        }
    }
}
