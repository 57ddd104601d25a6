//! Would placement help? An untimed drive with placement handles (FDP, streams), and the policies that choose a
//! handle.
//!
//! [`Drive`] is an FTL in flat arrays that knows pages, reclaim units and handles, but no dies, no write buffer and
//! no clock: the question takes a dozen replays of a whole trace to the steady state, so a write must take tens of
//! nanoseconds. [`Load`] is the writes of a trace, eight bytes each. [`Policy`] gives each write a handle before
//! the replay, so that a policy in Python is asked once, and [`study()`] replays the load until the write
//! amplification settles. [`HostLog`] does the same on zones, by the host. Nothing is drawn at random: the same
//! load gives the same counts on every machine.

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
