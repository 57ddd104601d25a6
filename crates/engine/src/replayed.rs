//! Replayed part of a trace, and the mapping of its addresses.

/// Outcome of the replay of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Mapping of the addresses to the device: `recorded`, `scaled`, `wrapped` or `dense`.
    pub mapping: &'static str,
    /// The end of all requests, as recorded.
    pub span_bytes: u64,
    /// Approximate bytes read and written, each page counted once.
    pub touched_bytes: u64,
    /// Chunk size of scaled addresses: the part of the trace within which they keep their
    /// distances.
    pub chunk_bytes: Option<u64>,
    /// Replayed devices (volumes) of the trace, with their number of requests.
    pub volumes: Vec<(u32, u64)>,
}
