//! What every device needs.

pub mod arbitration;
pub(crate) mod config;
pub(crate) mod link;
pub(crate) mod memory;
#[macro_use]
mod planted;
pub(crate) mod slots;
