//! Would placement help? A drive with placement handles (FDP, streams) without time, and the policies that
//! choose a handle.
//!
//! [`Drive`] is an FTL in flat arrays that knows pages, reclaim units and handles, and nothing else: no dies, no
//! write buffer, no clock. [`Load`] is the writes of a trace, eight bytes each. [`Policy`] gives each of them a
//! handle beforehand, and [`study`] replays them until the write amplification settles. [`HostLog`] does the same on
//! zones, by the host. It promises the same
//! counts for the same load on every machine; it draws nothing at random. What the whole drive of `devices` does
//! beyond that (buffers, superblocks of dies, wear) is left out, so that a write takes tens of nanoseconds.

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
