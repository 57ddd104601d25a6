//! What a host asks for, of every device and of devices with zones.

/// What the host asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Return the data of the range.
    Read,
    /// Replace the data of the range.
    Write,
    /// Declare the content of the range worthless.
    Trim,
    /// Complete once every write submitted before it is durable; the range is ignored.
    Flush,
    /// Write at the write pointer of the zone that begins at the address; the answer says where.
    Append,
    /// Open a zone. This and all that follow concern the zone at the address, or without a length every
    /// zone in a state that allows it.
    Open,
    /// Open a zone with a window of random writes (ZRWA).
    OpenWindow,
    /// Close a zone.
    Close,
    /// Make a zone full.
    Finish,
    /// Make a zone empty.
    Reset,
    /// Give up a zone that can only be read.
    Offline,
    /// Commit the window of random writes up to the end of the range.
    Commit,
    /// Report the zones from the address on.
    Report,
}

impl Op {
    /// What every device does, in the order in which results list them.
    pub const BLOCK: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// Every kind, in the order in which results list them: those of every device, and those of zones.
    pub const ALL: [Op; 13] = [
        Op::Read,
        Op::Write,
        Op::Trim,
        Op::Flush,
        Op::Append,
        Op::Open,
        Op::OpenWindow,
        Op::Close,
        Op::Finish,
        Op::Reset,
        Op::Offline,
        Op::Commit,
        Op::Report,
    ];

    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
            Op::Append => "append",
            Op::Open => "open",
            Op::OpenWindow => "open_window",
            Op::Close => "close",
            Op::Finish => "finish",
            Op::Reset => "reset",
            Op::Offline => "offline",
            Op::Commit => "commit",
            Op::Report => "report",
        }
    }

    /// Whether only a device of zones does it.
    #[inline]
    pub fn is_zoned(self) -> bool {
        self as u8 > Op::Flush as u8
    }

    /// Whether it moves data to the device.
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Op::Write | Op::Append)
    }
}
