//! Whose data the pages in the buffer are: what a power cut loses of it had been answered or not. Only
//! drives that recover from power cuts keep it.

use crate::kit::slots::Slot;
use crate::ssd::ids::Ppn;
use std::collections::BTreeMap;

/// The owner of a page in the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    pub(super) slot: Slot,
    pub(super) request: u64,
    /// What it has replaced had been answered.
    pub(super) promised: bool,
}

/// The owners of pages in the buffer, by their places.
#[derive(Debug, Clone, Default)]
pub(super) struct Owned(pub(super) BTreeMap<u64, Owner>);

/// What the host knows of a page in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Known {
    /// It is a copy that cleaning has made, or was answered.
    Copy,
    /// Its write was answered.
    Answered,
    /// Its write is not answered; what it replaced in the buffer may have been.
    Open { promised: bool },
}

impl Owned {
    /// A page has left the buffer.
    pub(super) fn remove(&mut self, ppn: Ppn) {
        self.0.remove(&ppn.0);
    }
}
