//! Expected data after a cut, from the map before it.

use crate::cache::CutProgram;
use crate::ftl::{Ftl, PageMap, Place, Programming};
use crate::ids::{Lpn, Ppn};
use std::collections::BTreeMap;

/// Expected data after a cut.
#[derive(Debug, Clone)]
pub(super) struct Truth {
    /// Newest programmed copy of each page.
    pub(super) durable: PageMap,
    /// Programs in progress, oldest first.
    pub(super) begun: BTreeMap<u64, Vec<Begun>>,
    /// True if host requests were served since the last start.
    pub(super) served: bool,
}

/// A program in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    pub(super) ppn: Ppn,
    /// True if a host request waits for it.
    pub(super) is_hosts: bool,
    /// True for an acknowledged write in a volatile buffer.
    pub(super) answered: bool,
}

/// Map without the programs in progress: the newest programmed copy of each page. Also returns the
/// programs that supersede untrimmed pages.
pub(super) fn durable(ftl: &Ftl, programs: &[CutProgram]) -> (PageMap, Vec<Programming>) {
    let mut map = ftl.clone_map();
    let mut awaited = Vec::new();
    // Youngest first: each restores the copy that its predecessor left.
    for program in programs.iter().rev() {
        let it = &program.programming;
        if it.lpn != Lpn::PADDING && map.holds(it.lpn, it.ppn) {
            map.put(it.lpn, it.old);
            awaited.push(*it);
        }
    }
    (map, awaited)
}

impl Truth {
    /// Newest programmed copy of a page.
    pub(super) fn owed(&self, lpn: Lpn) -> Place {
        self.durable.get(lpn)
    }
}
