//! Relocations under way: the blocks that are being emptied, the reads of their pages, and the erasures that wait.
//!
//! A machine: it issues reads and erases to dies, and receives their ends. `jobs.rs` serves units
//! without a write buffer, `victims.rs` goes through the buffer. The [`Ftl`](super::ftl::Ftl)
//! decides which block is cleaned and where its pages go.

mod jobs;
#[cfg(test)]
mod tests;
mod victims;

pub use jobs::Jobs;
pub use victims::Mover;
