//! Features that exclude each other: the keys of both, and why. Every other pair is simulated.

use crate::config::{Frontiers, SsdConfig};
use options::Invalid;

/// A row: two keys, whether a drive has both features, and why it cannot.
struct Conflict {
    keys: [&'static str; 2],
    meet: fn(&SsdConfig) -> bool,
    why: &'static str,
}

const HANDLES: &str = "device.fdp.handles";
const SNAPSHOTS: &str = "device.snapshots.most";

/// The table.
const CONFLICTS: &[Conflict] = &[
    Conflict {
        keys: ["device.cleaning.frontiers", HANDLES],
        meet: |c| {
            let told = [Frontiers::Single, Frontiers::HotCold].contains(&c.cleaning.frontiers);
            c.fdp.chooses() && told
        },
        why: "handles say which data go to which block, and copies have blocks of their own; use \"auto\"",
    },
    Conflict {
        keys: ["device.log_blocks.scheme", HANDLES],
        meet: |c| c.fdp.chooses() && c.log_blocks.are_used(),
        why: "log blocks are of addresses, not of handles; use \"none\"",
    },
    Conflict {
        keys: ["device.block_buffer.size", HANDLES],
        meet: |c| c.fdp.chooses() && c.block_buffer.gathers(),
        why: "the block buffer gathers by address, not by handle; use \"0B\"",
    },
    Conflict {
        keys: ["device.cleaning.stream", HANDLES],
        meet: |c| c.fdp.chooses() && c.cleaning.stream,
        why: "pages that move to another package would leave their handle; use false",
    },
    Conflict {
        keys: ["device.fdp.groups", "device.slc_cache.dynamic"],
        meet: |c| c.fdp.is_on() && c.fdp.groups > 1 && c.folds(),
        why: "the SLC cache lies over all dies, which reclaim groups divide; use 1",
    },
    Conflict {
        keys: ["device.fdp.groups", SNAPSHOTS],
        meet: |c| c.fdp.is_on() && c.fdp.groups > 1 && c.snapshots.most > 0,
        why: "kept pages stay in their reclaim group, which has no room set aside for them; use 1",
    },
    Conflict {
        keys: ["device.snapshots.orders", HANDLES],
        meet: |c| c.fdp.is_on() && c.snapshots.most > 0 && !c.snapshots.orders.are_none(),
        why: "a handle orders snapshots or names a reclaim unit, not both; use \"none\", and snapshots.every",
    },
    Conflict {
        keys: ["device.log_blocks.scheme", SNAPSHOTS],
        meet: |c| c.snapshots.most > 0 && c.log_blocks.are_used(),
        why: "a map of blocks has no second copy of a page; use \"none\"",
    },
    Conflict {
        keys: ["device.block_buffer", SNAPSHOTS],
        meet: |c| c.snapshots.most > 0 && c.block_buffer.is_used(),
        why: "what waits in a block buffer is of no snapshot; leave it out",
    },
    Conflict {
        keys: ["device.map.memory", SNAPSHOTS],
        meet: |c| c.snapshots.most > 0 && c.map.may_cost(),
        why: "the tables of snapshots are in memory, as all of the map must be; use \"all\"",
    },
    Conflict {
        keys: ["device.persistence.recovery", SNAPSHOTS],
        meet: |c| c.snapshots.most > 0 && c.persistence.recovers(),
        why: "the tables of snapshots are in memory alone, and no recovery finds them; use \"none\"",
    },
];

/// Rejects a drive with two features of the table.
///
/// # Errors
/// [`Invalid`], with the keys and the sentence of the first row that applies.
pub fn check(config: &SsdConfig) -> Result<(), Invalid> {
    match CONFLICTS.iter().find(|it| (it.meet)(config)) {
        Some(it) => Err(Invalid::new(&it.keys, it.why.to_owned())),
        None => Ok(()),
    }
}
