//! What every device needs.

pub mod arbitration;
pub(crate) mod config;
pub mod in_order;
pub(crate) mod link;
pub mod memory;
pub mod planted;
pub(crate) mod slots;
