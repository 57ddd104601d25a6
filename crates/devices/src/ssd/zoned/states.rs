//! What zones are like and look like, and what commands make of them: the words of the automaton.

use engine::Status;

/// The state of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
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
    /// What was written can be read, and no more.
    ReadOnly,
    /// Nothing can be read either.
    Offline,
}

impl State {
    /// Every state, in the order of the standard's table, with its name in results.
    pub const ALL: [(State, &'static str); 7] = [
        (State::Empty, "empty"),
        (State::Implicit, "implicitly_open"),
        (State::Explicit, "explicitly_open"),
        (State::Closed, "closed"),
        (State::Full, "full"),
        (State::ReadOnly, "read_only"),
        (State::Offline, "offline"),
    ];

    /// Whether it counts among the open zones.
    pub fn is_open(self) -> bool {
        matches!(self, State::Implicit | State::Explicit)
    }

    /// Whether it counts among the active zones.
    pub fn is_active(self) -> bool {
        self.is_open() || self == State::Closed
    }

    /// Why nothing can be written, in a state that takes no writes.
    pub fn refuses_writes(self) -> Option<Status> {
        match self {
            State::Full => Some(Status::ZoneFull),
            State::ReadOnly => Some(Status::ZoneReadOnly),
            State::Offline => Some(Status::ZoneOffline),
            _ => None,
        }
    }
}

/// What the zones are like. Sectors.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Zones.
    pub zones: u32,
    /// From the beginning of one to that of the next.
    pub size: u64,
    /// What of each can be written.
    pub capacity: u64,
    /// Open zones, at most.
    pub open: u32,
    /// Active zones, at most.
    pub active: u32,
    /// The largest append.
    pub append: u64,
    /// Whether a read may go over borders.
    pub read_across: bool,
    /// Windows of random writes, at most.
    pub windows: u32,
    /// Size of a window.
    pub window: u64,
    /// What commits are multiples of.
    pub granularity: u64,
}

/// What a zone looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Its state.
    pub state: State,
    /// Its write pointer: the next sector to be written or committed.
    pub pointer: u64,
    /// What of it can be written.
    pub capacity: u64,
    /// What of it the host wrote.
    pub written: u64,
    /// It has a window of random writes.
    pub has_window: bool,
    /// It is full because the controller could not go on.
    pub finished_by_controller: bool,
}

/// What a write has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub zone: u32,
    /// Where it begins.
    pub at: u64,
    /// Sectors that take room.
    pub fresh: u64,
    /// Up to where the zone is now to be programmed.
    pub pointer: u64,
    /// It was empty.
    pub opened: bool,
}

/// What a command has made of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    pub zone: u32,
    pub before: State,
    /// The write pointer before, and sectors that the host had written.
    pub pointer: u64,
    pub written: u64,
    /// The write pointer after what was in its window is committed.
    pub committed: u64,
}
