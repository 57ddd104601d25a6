//! Relocations under way: which blocks are being emptied, what of them is being read, and which are due for
//! erasure.
//!
//! This is a machine beside others: it says what dies are to read and to erase, and is told what they have done.
//! Which block is cleaned and where its pages go are decisions of the [`Ftl`](super::ftl::Ftl).

mod jobs;
#[cfg(test)]
mod tests;
mod victims;

pub use jobs::Jobs;
pub use victims::Mover;
