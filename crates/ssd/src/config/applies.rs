//! Conditions of keys on the whole drive, used by several sections. Conditions on one section are
//! declared in that section.

use options::conditions;

/// Facts about a drive for conditions, derived from its keys.
#[expect(clippy::struct_excessive_bools, reason = "each is asked by another condition")]
pub(super) struct Facts {
    /// True with a write buffer.
    pub buffered: bool,
    /// True if there is a buffer of one kind that survives power cuts.
    pub protected: bool,
    /// True if cells are programmed in two passes.
    pub two_pass: bool,
    /// True if pages share cells.
    pub paired: bool,
    /// True if the drive recovers from power cuts.
    pub recovers: bool,
    /// True if the map survives power cuts.
    pub keeps_map: bool,
    /// True with background garbage collection.
    pub background: bool,
    /// True if packages share a bus and a pool.
    pub streams: bool,
    /// True with separate open blocks for hot and cold pages.
    pub hot_cold: bool,
    /// True if garbage collection may come in bursts.
    pub bursts: bool,
    /// True if writes may be metered.
    pub metered: bool,
    /// True if reads suspend programs or erases.
    pub suspends: bool,
    /// True if garbage collection yields to requests.
    pub yields: bool,
    /// True if units do one operation at a time, independently, without a write buffer.
    pub one_by_one: bool,
    /// True if writes gather in log blocks.
    pub logs: bool,
    /// True if data age.
    pub ages: bool,
    /// True with parity across dies.
    pub striped: bool,
}

conditions! {
    Facts:
    pub(super) BUFFERED = "with a write buffer (device.buffer.size)", |it| it.buffered;
    pub(super) UNBUFFERED = "without a write buffer (device.buffer.size = \"0B\")", |it| !it.buffered;
    pub(super) MAPS_PAGES = "without log blocks (device.log_blocks.scheme = \"none\")", |it| !it.logs;
    pub(super) MOVES_PAGES = "without a write buffer (device.buffer.size = \"0B\") and without log blocks \
        (device.log_blocks.scheme = \"none\")", |it| !it.buffered && !it.logs;
    pub(super) TWO_PASS = "with a write buffer (device.buffer.size) and device.cell.program = \"two-pass\"",
        |it| it.buffered && it.two_pass;
    pub(super) SUSPENDABLE = "with a write buffer (device.buffer.size), or where a unit does one operation at a time \
        that depends on no other unit: without cache commands, packages under shared control, and planes of a \
        pair or packages that work together", |it| it.buffered || it.one_by_one;
    pub(super) YIELDS = "with a write buffer (device.buffer.size), or where cleaning yields to requests \
        (device.cleaning.time = \"interleaved\")", |it| it.buffered || it.yields;
    pub(super) LIMITS = "with a write buffer (device.buffer.size), or where programs or erases are suspended \
        (device.suspend.program, erase)", |it| it.buffered || it.suspends;
    pub(super) BACKLOGS = "with a write buffer (device.buffer.size) where programs or erases are suspended \
        (device.suspend.program, erase)", |it| it.buffered && it.suspends;
    pub(super) BACKGROUND = "without a write buffer and with background cleaning (device.cleaning.background)",
        |it| !it.buffered && it.background;
    pub(super) STREAMS = "without a write buffer where packages share a bus and a pool: with \
        packages_per_channel of 2 or more, gang = \"shared-bus\" and pool = \"gang\" or \"ssd\"",
        |it| !it.buffered && it.streams;
    pub(super) HOT_COLD = "with device.cleaning.frontiers = \"hot-cold\"", |it| it.hot_cold;
    pub(super) BURSTS = "with a write buffer and device.cleaning.pace = \"burst\" or \"adaptive\"",
        |it| it.buffered && it.bursts;
    pub(super) METERED = "with a write buffer and device.cleaning.pace = \"token\" or \"adaptive\"",
        |it| it.buffered && it.metered;
    pub(super) RECOVERS = "to a drive that recovers from power cuts (device.persistence.recovery)",
        |it| it.recovers;
    pub(super) LOGS_TRIMS = "to a drive that recovers from power cuts (device.persistence.recovery), where its map \
        does not survive them", |it| it.recovers && !it.keeps_map;
    pub(super) PAIRS = "without a write buffer to a drive that recovers from power cuts \
        (device.persistence.recovery)", |it| !it.buffered && it.recovers;
    pub(super) GUARDS = "where pages share cells (device.cell.pairing), without a write buffer, to a drive that \
        recovers from power cuts", |it| !it.buffered && it.recovers && it.paired;
    pub(super) AGES = "to a drive whose data age (device.media.model)", |it| it.ages;
    pub(super) MOVES_AGED = "without log blocks (device.log_blocks.scheme = \"none\") to a drive whose data age \
        (device.media.model)", |it| it.ages && !it.logs;
    pub(super) STRIPED = "with parity over the dies (device.parity.of) to a drive whose data age \
        (device.media.model)", |it| it.buffered && it.ages && it.striped;
    pub(super) CAPACITORS = "with a protected write buffer (device.buffer.power_loss_protected) or block buffer \
        (device.block_buffer.power_loss_protected) to a drive that recovers from power cuts \
        (device.persistence.recovery)", |it| it.protected && it.recovers;
}
