//! What a host asks for: of every device, of devices with zones, and commands of `NVMe` that are several steps.

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
    /// Make the range read as zeroes. This and all that follow are done in steps of the first four.
    Zeroes,
    /// Compare the range with data that are the same.
    Compare,
    /// Compare the range with data that differ.
    Miscompare,
    /// Compare the range with data that are the same, and replace them: a fused pair.
    CompareWrite,
    /// The same with data that differ, so that nothing is written.
    MiscompareWrite,
    /// Read the range without sending it.
    Verify,
    /// The range cannot be read from now on, until it is replaced or given up.
    Uncorrectable,
    /// A range of the next copy or trim on this queue; it is no command of its own, and answered at once.
    Range,
    /// Copy the ranges that were given before, one behind the other, to this one, which is as long as all of them.
    Copy,
}

impl Op {
    /// What every device does, in the order in which results list them.
    pub const BLOCK: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// What is done in steps of those.
    pub const COMMANDS: [Op; 9] = [
        Op::Zeroes,
        Op::Compare,
        Op::Miscompare,
        Op::CompareWrite,
        Op::MiscompareWrite,
        Op::Verify,
        Op::Uncorrectable,
        Op::Range,
        Op::Copy,
    ];

    /// Every kind, in the order in which results list them: those of every device, those of zones, and commands.
    pub const ALL: [Op; 22] = [
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
        Op::Zeroes,
        Op::Compare,
        Op::Miscompare,
        Op::CompareWrite,
        Op::MiscompareWrite,
        Op::Verify,
        Op::Uncorrectable,
        Op::Range,
        Op::Copy,
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
            Op::Zeroes => "zeroes",
            Op::Compare => "compare",
            Op::Miscompare => "miscompare",
            Op::CompareWrite => "compare_write",
            Op::MiscompareWrite => "miscompare_write",
            Op::Verify => "verify",
            Op::Uncorrectable => "uncorrectable",
            Op::Range => "range",
            Op::Copy => "copy",
        }
    }

    /// Whether only a device of zones does it.
    #[inline]
    pub fn is_zoned(self) -> bool {
        self as u8 > Op::Flush as u8 && self as u8 <= Op::Report as u8
    }

    /// Whether it is a command that is done in steps of what every device does.
    #[inline]
    pub fn is_command(self) -> bool {
        self as u8 > Op::Report as u8
    }

    /// Whether every device does it.
    #[inline]
    pub fn is_block(self) -> bool {
        self as u8 <= Op::Flush as u8
    }

    /// Whether it moves data to the device.
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Op::Write | Op::Append)
    }
}
