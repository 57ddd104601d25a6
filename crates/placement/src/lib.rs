//! Effect of data placement: an untimed drive with placement handles (FDP, streams), and policies
//! that choose the handle of each write.
//!
//! [`Drive`] is an FTL in flat arrays with pages, reclaim units and handles, but no dies, write
//! buffer or clock. A study replays a whole trace to steady state a dozen times, so a write must
//! take tens of nanoseconds. [`Load`] holds the writes of a trace, eight bytes each. [`Policy`]
//! assigns handles before the replay, so that a Python policy is called once. [`study()`] replays
//! the load until the write amplification settles. [`HostLog`] does the same on zones, in the host.
//! Nothing is random: the same load gives the same counts on every machine.

mod account;
mod classes;
mod drive;
mod load;
#[cfg(test)]
mod pitfalls;
pub mod published;
mod random;
mod study;
#[cfg(test)]
mod tests;
pub mod three_streams;
mod zones;

pub use account::{Account, HandleAccount, Medium};
pub use classes::{ALL, ALWAYS, Classes, Policy, Rule, lifetimes};
pub use drive::{Drive, Isolation, Shape, TooFew};
pub use load::{Builder, Load, LoadError, PAGE_BYTES, Write};
pub use study::{Batch, Ended, Measured, Stop, study, study_log};
pub use zones::{HostLog, Victim, Zoned, Zones, greedy};
