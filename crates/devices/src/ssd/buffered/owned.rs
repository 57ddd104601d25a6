//! Whose data the pages in the buffer are: what a power cut loses of it had been answered or not. Only
//! drives that recover from power cuts keep it.

use super::Buffered;
use crate::kit::slots::Slot;
use crate::ssd::ids::{Lpn, Ppn};
use std::collections::BTreeMap;

/// Who has written a page that is in the buffer.
#[derive(Debug, Clone, Copy)]
struct Owner {
    slot: Slot,
    request: u64,
    /// What it has replaced had been answered.
    promised: bool,
}

/// The owners of pages in the buffer, by their places.
#[derive(Debug, Clone, Default)]
pub(super) struct Owned(BTreeMap<u64, Owner>);

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

impl Buffered {
    /// The page that a request writes is in the buffer.
    #[inline]
    pub(super) fn note_owner(&mut self, slot: Slot, lpn: Lpn) {
        if self.owned.is_some() {
            self.keep_owner(slot, lpn);
        }
    }

    fn keep_owner(&mut self, slot: Slot, lpn: Lpn) {
        let ppn = self.ftl.lookup(lpn).expect("it has its place");
        let promised = match self.known(ppn) {
            Known::Answered => true,
            Known::Open { promised } => promised,
            Known::Copy => false,
        };
        let request = self.asked(slot).request.id;
        let Some(owned) = &mut self.owned else { return };
        owned.0.insert(ppn.0, Owner { slot, request, promised });
    }

    /// What the host knows of a page in the buffer.
    pub(super) fn known(&self, ppn: Ppn) -> Known {
        let owner = self.owned.as_ref().and_then(|owned| owned.0.get(&ppn.0));
        let Some(Owner { slot, request, promised }) = owner.copied() else { return Known::Copy };
        let asked = self.asked.get(slot as usize).copied().flatten();
        if asked.is_some_and(|asked| asked.request.id == request) {
            return Known::Open { promised };
        }
        Known::Answered
    }

    /// The request that has written a page in the buffer, if it is one of the host.
    pub(super) fn writer(&self, ppn: Ppn) -> Option<u64> {
        self.owned.as_ref()?.0.get(&ppn.0).map(|owner| owner.request)
    }
}
