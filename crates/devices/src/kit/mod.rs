//! What every device needs.

pub(crate) mod link;
pub(crate) mod slots;
