//! What every device needs.

pub(crate) mod link;
