//! Expected data after a cut, from the map before it.

use crate::cache::CutProgram;
use crate::ftl::{Ftl, PageMap, Place, Programming};
use crate::ids::{Lpn, Ppn};
use std::collections::BTreeMap;

/// Expected content after a cut.
#[derive(Debug, Clone)]
pub(super) struct Truth {
    /// The newest programmed copy of each page.
    pub(super) durable: PageMap,
    /// Programs under way, the oldest first.
    pub(super) begun: BTreeMap<u64, Vec<Begun>>,
    /// Requests of the host have been served since the last start.
    pub(super) served: bool,
}

/// A program under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    pub(super) ppn: Ppn,
    /// True if the host waits for it.
    pub(super) is_hosts: bool,
    /// True for an acknowledged write in a volatile buffer.
    pub(super) answered: bool,
}

/// The map without the programs under way: of each page the newest copy that is programmed. The
/// newest programmed copy of each page, and the programs that supersede untrimmed ones.
pub(super) fn durable(ftl: &Ftl, programs: &[CutProgram]) -> (PageMap, Vec<Programming>) {
    let mut map = ftl.clone_map();
    let mut awaited = Vec::new();
    // Youngest first: what each supersedes is what the one before left.
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
    /// The newest programmed copy of a page.
    pub(super) fn owed(&self, lpn: Lpn) -> Place {
        self.durable.get(lpn)
    }
}
