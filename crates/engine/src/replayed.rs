//! Replayed part of a trace, and the places of its addresses.

/// Outcome of the replay of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Mapping of the addresses to the device: `recorded`, `scaled`, `wrapped` or `dense`.
    pub mapping: &'static str,
    /// The end of all requests, as recorded.
    pub span_bytes: u64,
    /// About how much the trace reads and writes of it, each page once.
    pub touched_bytes: u64,
    /// Of scaled addresses: the part of the trace within which they keep their distances.
    pub chunk_bytes: Option<u64>,
    /// The devices (volumes) of the trace that were replayed, and the requests of each.
    pub volumes: Vec<(u32, u64)>,
}
