//! Mistakes that can be planted, to verify that the search for lost lines finds them. Without the feature `planted`,
//! which no product has, there are none.

ssd::planted! {
    /// A planted mistake in the handling of power cuts.
    pub enum Slip {
        /// A line is clean when the backing device has answered, though that has not flushed.
        DestagedEarly,
        /// A line becomes clean when it was read from the fast device.
        DestagedUnwritten,
        /// A line that was written on its way is clean when the older content arrives.
        RewrittenForgotten,
        /// A line is valid as soon as it has a place, before its content arrives.
        MappedEarly,
        /// A line that is written in the cache is dirty only when that has ended.
        DirtyLate,
        /// A flush of the host is not passed on to the backing device.
        FlushKept,
        /// Data that the fast device may lose are written without force.
        NoForce,
        /// A line written to both devices is kept though the backing one may have lost it.
        UnflushedKept,
        /// A swap that was writing when the power went is forgotten.
        SwapForgotten,
        /// A swap is written unforced, though the device may lose it.
        SwapUnforced,
    }
}
