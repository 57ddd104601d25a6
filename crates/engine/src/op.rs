//! Operations of a host: of every device, of devices with zones, and `NVMe` commands of several steps.

/// The operations: group by group, in the order in which results list them, each with its name in results.
macro_rules! operations {
    ($($(#[$about:meta])* $is_one:ident: { $($(#[$doc:meta])* $Op:ident $name:literal,)* })*) => {
        /// Operation of a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Op {
            $($($(#[$doc])* $Op,)*)*
        }

        impl Op {
            $(
                $(#[$about])*
                #[inline]
                pub fn $is_one(self) -> bool {
                    matches!(self, $(Op::$Op)|*)
                }
            )*

            /// Every operation.
            pub const ALL: [Op; [$($(Op::$Op,)*)*].len()] = [$($(Op::$Op,)*)*];

            /// The name used in results.
            pub fn name(self) -> &'static str {
                match self {
                    $($(Op::$Op => $name,)*)*
                }
            }
        }
    };
}

operations! {
    /// True if every device supports it.
    is_block: {
        /// Return the data of the range.
        Read "read",
        /// Replace the data of the range.
        Write "write",
        /// Declare the content of the range worthless.
        Trim "trim",
        /// Complete once every write submitted before is durable; the range is ignored.
        Flush "flush",
    }

    /// True if only zoned devices support it.
    is_zoned: {
        /// Write at the write pointer of the zone that begins at the address; the answer says where.
        Append "append",
        /// Open a zone. This and all that follow concern the zone at the address, or without a length every
        /// zone in a state that allows it.
        Open "open",
        /// Open a zone with a window of random writes (ZRWA).
        OpenWindow "open_window",
        /// Close a zone.
        Close "close",
        /// Make a zone full.
        Finish "finish",
        /// Make a zone empty.
        Reset "reset",
        /// Give up a zone that can only be read.
        Offline "offline",
        /// Commit the window of random writes up to the end of the range.
        Commit "commit",
        /// Report the zones from the address on.
        Report "report",
    }

    /// True for a command executed in basic steps.
    is_command: {
        /// Make the range read as zeroes.
        Zeroes "zeroes",
        /// Compare the range with data that are the same.
        Compare "compare",
        /// Compare the range with data that differ.
        Miscompare "miscompare",
        /// Compare the range with equal data, and replace them: a fused pair.
        CompareWrite "compare_write",
        /// `CompareWrite` with different data, so that nothing is written.
        MiscompareWrite "miscompare_write",
        /// Read the range without a transfer.
        Verify "verify",
        /// The range cannot be read from now on, until it is replaced or given up.
        Uncorrectable "uncorrectable",
        /// A range of the next copy or trim on this queue; it is no command of its own, and answered at once.
        Range "range",
        /// Copy the ranges given before, in order, to this range of their total length.
        Copy "copy",
    }
}

impl Op {
    /// Operations of every device.
    pub const BLOCK: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// True if data are transferred to the device.
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Op::Write | Op::Append)
    }
}
