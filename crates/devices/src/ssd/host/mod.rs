//! The host's side of the drive: requests in, page requests out.

pub(in crate::ssd) mod cut;
