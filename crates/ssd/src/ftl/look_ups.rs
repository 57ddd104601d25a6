//! Look-ups in a cached map: untimed ones of the host, and updates by cleaning and trims.

use super::Ftl;
use super::map_cache::{Found, MapCache};
use crate::account::Counters;
use crate::ids::Lpn;
use std::ops::Range;

impl Ftl {
    /// The map cache with the counters, if any.
    #[inline]
    pub fn map_cache(&mut self) -> Option<(&mut MapCache, &mut Counters)> {
        Some((self.cached_map.as_deref_mut()?, &mut self.counters))
    }

    /// Checks the map cache, if any.
    ///
    /// # Errors
    /// The inconsistency.
    pub fn check_map_cache(&self) -> Result<(), String> {
        self.cached_map.as_ref().map_or(Ok(()), |cache| cache.check())
    }

    /// Drops the map cache, as at power-on.
    pub fn forget_map(&mut self) {
        if let Some((cache, _)) = self.map_cache() {
            cache.forget();
        }
    }

    /// True if map look-ups may take time.
    pub fn caches_map(&self) -> bool {
        self.cached_map.is_some()
    }

    /// Untimed look-ups of logical pages by the host.
    pub fn look_up_untimed(&mut self, lpns: &Range<u64>, writes: bool) {
        let Some((cache, counters)) = self.map_cache() else { return };
        cache.keep_time(false);
        for page in cache.pages_of(lpns) {
            if cache.look_up(page, writes, counters) == Found::Missing {
                counters.map_reads += 1;
            }
        }
    }

    /// Logical pages are forgotten.
    pub fn note_map_trimmed(&mut self, lpns: &Range<u64>) {
        let Some((cache, counters)) = self.map_cache() else { return };
        for (page, entries) in cache.pages_of(lpns) {
            cache.update((page, entries.into()), counters);
        }
    }

    /// A page was moved, whose entry changes.
    pub fn note_map_moved(&mut self, lpn: Lpn) {
        let Some((cache, counters)) = self.map_cache() else { return };
        let page = cache.page_of(lpn.0);
        cache.update((page, 1), counters);
    }
}
