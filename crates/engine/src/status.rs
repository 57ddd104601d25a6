//! Statuses of requests.

/// Status of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Status {
    /// Success.
    #[default]
    Ok,
    /// The device accepts no more writes; the request was executed in part at most.
    ReadOnly,
    /// Power was lost before completion; none, part, or all of the request was executed.
    PowerLost,
    /// At least part of the data is lost.
    Unreadable,
    /// A field of the command is invalid.
    InvalidField,
    /// The zone's window does not allow this operation.
    InvalidZoneOperation,
    /// The limit of windows is reached.
    NoWindow,
    /// The range exceeds the zone's capacity or crosses its border.
    ZoneBoundary,
    /// The zone is full.
    ZoneFull,
    /// The zone can only be read.
    ZoneReadOnly,
    /// The zone is offline.
    ZoneOffline,
    /// The write is not at the write pointer.
    InvalidWrite,
    /// The limit of active zones is reached.
    TooManyActive,
    /// All open zones are in use, and none can be closed.
    TooManyOpen,
    /// The zone's state does not allow this operation.
    InvalidTransition,
    /// The data differ from the expected data.
    CompareFailure,
    /// The range lies outside all namespaces, or crosses the end of one.
    OutOfRange,
    /// The mapping limit of the namespace is reached.
    CapacityExceeded,
    /// A command exceeds the limit of ranges or data.
    SizeLimit,
    /// A fused pair exceeds the atomic size.
    AtomicExceeded,
}

impl Status {
    /// All statuses, in the order of results.
    pub const ALL: [Status; 20] = [
        Status::Ok,
        Status::ReadOnly,
        Status::PowerLost,
        Status::Unreadable,
        Status::InvalidField,
        Status::InvalidZoneOperation,
        Status::NoWindow,
        Status::ZoneBoundary,
        Status::ZoneFull,
        Status::ZoneReadOnly,
        Status::ZoneOffline,
        Status::InvalidWrite,
        Status::TooManyActive,
        Status::TooManyOpen,
        Status::InvalidTransition,
        Status::CompareFailure,
        Status::OutOfRange,
        Status::CapacityExceeded,
        Status::SizeLimit,
        Status::AtomicExceeded,
    ];

    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::ReadOnly => "read_only",
            Status::PowerLost => "power_lost",
            Status::Unreadable => "unreadable",
            Status::InvalidField => "invalid_field",
            Status::InvalidZoneOperation => "invalid_zone_operation",
            Status::NoWindow => "no_window",
            Status::ZoneBoundary => "zone_boundary",
            Status::ZoneFull => "zone_full",
            Status::ZoneReadOnly => "zone_read_only",
            Status::ZoneOffline => "zone_offline",
            Status::InvalidWrite => "invalid_write",
            Status::TooManyActive => "too_many_active",
            Status::TooManyOpen => "too_many_open",
            Status::InvalidTransition => "invalid_transition",
            Status::CompareFailure => "compare_failure",
            Status::OutOfRange => "out_of_range",
            Status::CapacityExceeded => "capacity_exceeded",
            Status::SizeLimit => "size_limit",
            Status::AtomicExceeded => "atomic_exceeded",
        }
    }

    /// Status code type and code of NVMe (base specification, and the command sets of blocks and
    /// zones), for errors that have one.
    pub fn nvme(self) -> Option<(u8, u8)> {
        Some(match self {
            Status::Ok | Status::ReadOnly | Status::PowerLost | Status::Unreadable => return None,
            Status::InvalidField => (0, 0x02),
            Status::InvalidZoneOperation => (1, 0xB6),
            Status::NoWindow => (1, 0xB7),
            Status::ZoneBoundary => (1, 0xB8),
            Status::ZoneFull => (1, 0xB9),
            Status::ZoneReadOnly => (1, 0xBA),
            Status::ZoneOffline => (1, 0xBB),
            Status::InvalidWrite => (1, 0xBC),
            Status::TooManyActive => (1, 0xBD),
            Status::TooManyOpen => (1, 0xBE),
            Status::InvalidTransition => (1, 0xBF),
            Status::CompareFailure => (2, 0x85),
            Status::OutOfRange => (0, 0x80),
            Status::CapacityExceeded => (0, 0x81),
            Status::SizeLimit => (1, 0x83),
            Status::AtomicExceeded => (0, 0x14),
        })
    }

    /// True for success.
    #[inline]
    pub fn is_ok(self) -> bool {
        self == Status::Ok
    }

    /// Combined status of two parts: an error if either part failed.
    #[inline]
    pub fn and(self, other: Status) -> Status {
        if self.is_ok() { other } else { self }
    }
}
