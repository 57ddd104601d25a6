//! The replayed part of a trace, and its address mapping.

/// Outcome of the replay of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Address mapping to the device: `recorded`, `scaled`, `wrapped` or `dense`.
    pub mapping: &'static str,
    /// End of the recorded address range.
    pub span_bytes: u64,
    /// Approximate bytes touched, each page counted once.
    pub touched_bytes: u64,
    /// Chunk size of scaled addresses; within a chunk, addresses keep their distances.
    pub chunk_bytes: Option<u64>,
    /// Replayed volumes (devices) of the trace, with their numbers of requests.
    pub volumes: Vec<(u32, u64)>,
}
