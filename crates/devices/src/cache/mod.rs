//! A cache: a fast device in front of another, with copies of its lines.
//!
//! | file | is for | |---|---| | `device.rs` | what a request becomes on both devices, and what
//! follows from their answers | | `untimed.rs` | the same without time | | `pair.rs` | both
//! devices, what they are asked, and what they may lose | | `requests.rs` | requests that wait,
//! hold lines for themselves, or are to be answered | | `places.rs` | how lines come and go | |
//! `table.rs` | which line is in which slot of the fast device, and how that stands | | `policy.rs`
//! | which line leaves: the table of policies, each in a file (`lru.rs`, `lfu.rs`, `arc.rs`) | |
//! `destage.rs` | choice and timing of write-back | | `streams.rs` | sequential streams, which
//! bypass the cache | | `ledger.rs` | expected and found data after a power cut | | `hints.rs` |
//! the host's hints about lines | | `kept.rs` | the state between two runs, with those of both
//! devices | | `tiers.rs`, `heat.rs` | no copies: each extent lies on one of both devices, by its
//! heat |
//!
//! Both devices are whole devices: the cache knows only its own requests to them. A line is clean once the backing
//! device holds it for sure: where that may lose what it answered (`DeviceKind::keeps_answers`), after a flush. A
//! request that changes lines holds them, so two changes of a line never overlap. A read that hits while nothing
//! else is under way passes straight through (`pair.rs`). The ledger decides nothing; it exists only where the
//! power may be cut, and every audit compares it with the map. In mode `tiered` the map is a permutation of lines,
//! and two lines change places through memory that needs no power.

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
    CacheConfig, CachePartial, Destage, DestagePartial, Mode, Policy, Recovery, Tier, TierPartial,
};
pub use hints::{Hint, Hints};
pub use ranges::Ranges;

/// One of the two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Fast = 0,
    Backing = 1,
}
