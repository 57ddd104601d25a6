//! Parts that every device needs.

pub mod arbitration;
pub mod config;
pub mod in_order;
pub mod link;
pub mod memory;
#[macro_use]
mod planted;
pub mod said;
pub mod slots;
