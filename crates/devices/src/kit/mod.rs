//! What every device needs.

pub mod arbitration;
pub(crate) mod config;
pub mod in_order;
pub(crate) mod link;
pub mod memory;
#[macro_use]
mod planted;
pub mod said;
pub(crate) mod slots;
