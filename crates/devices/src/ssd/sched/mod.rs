//! What the units do next.

mod serve;
mod stream;
pub mod timeline;
pub(in crate::ssd) mod units;
