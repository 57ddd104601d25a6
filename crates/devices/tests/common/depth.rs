//! How much the searches try: one generator at three depths, so that a failure at night is a seed that anyone can run.

/// What is tried where `SSDLAB_DEPTH` is `quick`, where it is not set, as in every commit, and where it is `nightly`.
pub(crate) fn depth(quick: u64, commit: u64, nightly: u64) -> u64 {
    match std::env::var("SSDLAB_DEPTH").as_deref() {
        Err(_) | Ok("") => commit,
        Ok("quick") => quick,
        Ok("nightly") => nightly,
        Ok(other) => panic!("SSDLAB_DEPTH={other}: neither quick nor nightly"),
    }
}
