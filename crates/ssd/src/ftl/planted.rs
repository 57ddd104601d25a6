//! Mistakes that can be planted in the map cache and the SLC cache, to verify that the laws find them. Without the
//! feature `planted`, which no product has, there are none.

planted! {
    /// A mistake in a cache.
    pub enum Slip {
        /// A missing page of the map is there at once.
        MissIsFree,
        /// A page of the map that has changed leaves the cache without being programmed.
        EvictionIsLost,
        /// Folded data count as written by the host.
        FoldsAreTheHosts,
        /// The SLC cache takes no block from the spare space that cleaning has.
        CacheBesideTheSpare,
    }
}
