//! Whose data the pages in the buffer are: after a power cut, acknowledged and unacknowledged
//! losses are distinguished. Only drives that recover from power cuts keep it.

use crate::device::kit::slots::Slot;
use crate::ids::Ppn;
use std::collections::BTreeMap;

/// The owner of a page in the buffer.
#[derive(Debug, Clone, Copy)]
struct Owner {
    slot: Slot,
    request: u64,
    /// True if the replaced write had been answered.
    promised: bool,
}

/// Owners of buffered pages, by address.
#[derive(Debug, Clone, Default)]
pub(super) struct Owned(BTreeMap<u64, Owner>);

/// Knowledge of the host about a page in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// A copy, or data acknowledged earlier.
    Copy,
    /// An acknowledged write.
    Answered,
    /// An unacknowledged write; the page that it replaced in the buffer may have been acknowledged.
    Open { promised: bool },
}

impl Owned {
    /// The page that a request writes is in the buffer.
    pub(super) fn note(
        &mut self,
        ppn: Ppn,
        slot: Slot,
        request: u64,
        is_open: impl Fn(Slot, u64) -> bool,
    ) {
        let promised = match self.known(ppn, is_open) {
            Known::Answered => true,
            Known::Open { promised } => promised,
            Known::Copy => false,
        };
        self.0.insert(ppn.0, Owner { slot, request, promised });
    }

    /// Knowledge of the host about a page. `is_open` says whether a request is not answered.
    pub(super) fn known(&self, ppn: Ppn, is_open: impl Fn(Slot, u64) -> bool) -> Known {
        match self.0.get(&ppn.0).copied() {
            None => Known::Copy,
            Some(Owner { slot, request, promised }) if is_open(slot, request) => {
                Known::Open { promised }
            }
            Some(_) => Known::Answered,
        }
    }

    /// The request that has written it, if it is one of the host.
    pub(super) fn request(&self, ppn: Ppn) -> Option<u64> {
        self.0.get(&ppn.0).map(|owner| owner.request)
    }

    /// Removes a page that has left the buffer.
    pub(super) fn remove(&mut self, ppn: Ppn) {
        self.0.remove(&ppn.0);
    }
}
