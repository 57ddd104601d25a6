//! A cache: a fast device in front of another, with copies of its lines.
//!
//! | file | contents |
//! |---|---|
//! | `device.rs` | requests to both devices, and handling of their completions |
//! | `untimed.rs` | the same, untimed |
//! | `pair.rs` | both devices, their outstanding requests, and losses |
//! | `requests.rs` | waiting requests, locked lines, pending completions |
//! | `places.rs` | insertion and eviction of lines |
//! | `table.rs` | the map from lines to slots, and the state of each slot |
//! | `policy.rs` | the table of replacement policies (`lru.rs`, `lfu.rs`, `arc.rs`) |
//! | `destage.rs` | selection and timing of write-back |
//! | `streams.rs` | sequential streams, which bypass the cache |
//! | `ledger.rs` | expected and actual data after a power cut |
//! | `hints.rs` | hints of the host about lines |
//! | `kept.rs` | saved state, with the states of both devices |
//! | `tiers.rs`, `heat.rs` | tiering without copies: each extent is on one device, by hotness |
//!
//! Both devices are complete devices: the cache knows only its own requests to them. A line is
//! clean once the backing device holds it durably; if that device may lose completed writes
//! (`DeviceKind::keeps_answers`), this takes a flush. A request that changes lines locks them, so
//! changes of a line never overlap. A read hit passes straight through while nothing else is
//! outstanding (`pair.rs`). The ledger decides nothing; it exists only if power cuts are possible,
//! and every audit compares it with the map. In mode `tiered` the map is a permutation of extents,
//! and two extents swap places through non-volatile memory.

#![expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
#![expect(
    clippy::single_match_else,
    clippy::redundant_closure_for_method_calls,
    clippy::struct_excessive_bools,
    reason = "a policy is one of three per device; flags of a request and of a line are apart"
)]

#[macro_use]
mod policy;

mod arc;
mod config;
mod destage;
mod device;
mod heat;
mod hints;
mod kept;
mod kind;
mod ledger;
mod lfu;
mod lists;
mod lru;
mod model;
mod pair;
mod places;
pub mod planted;
mod ranges;
mod replacement;
mod report;
mod requests;
mod streams;
mod table;
#[cfg(test)]
mod tests;
mod tiers;
mod tiers_model;
mod untimed;

pub use config::{
    CacheOptions, CachePartial, Destage, DestagePartial, Halves, Mode, Policy, Recovery, Tier,
    TierPartial,
};
pub use hints::{Hint, Hints};
pub use ranges::Ranges;

/// One of the two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Fast = 0,
    Backing = 1,
}
