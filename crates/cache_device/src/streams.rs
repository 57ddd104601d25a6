//! Sequential streams: a request that follows another in the same direction continues its stream.

use engine::{Op, Request};

/// Number of streams tracked per direction.
const FOLLOWED: usize = 8;

#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    end: u64,
    sectors: u64,
}

/// The most recent streams of reads and of writes.
#[derive(Debug, Clone)]
pub struct Streams {
    /// Length above which a stream bypasses the cache, sectors; 0: never.
    longest: u64,
    /// Most recently continued streams first.
    each: [[Stream; FOLLOWED]; 2],
}

impl Streams {
    pub fn new(longest: u64) -> Streams {
        Streams { longest, each: [[Stream::default(); FOLLOWED]; 2] }
    }

    /// Tracks a request. Returns true if its stream is long enough to bypass the cache.
    #[inline]
    pub fn pass(&mut self, request: &Request) -> bool {
        self.longest > 0 && self.follow(request)
    }

    /// Saved state: ends and lengths of the streams.
    pub fn keep(&self) -> Vec<u64> {
        self.each.iter().flatten().flat_map(|it| [it.end, it.sectors]).collect()
    }

    /// Restores the saved state.
    ///
    /// # Errors
    /// When the state is invalid.
    pub fn restore_state(&mut self, streams: &[u64]) -> Result<(), String> {
        let (pairs, rest) = streams.as_chunks::<2>();
        if pairs.len() != 2 * FOLLOWED || !rest.is_empty() {
            return Err(format!("{} numbers are no streams", streams.len()));
        }
        for (stream, [end, sectors]) in self.each.iter_mut().flatten().zip(pairs) {
            *stream = Stream { end: *end, sectors: *sectors };
        }
        Ok(())
    }

    fn follow(&mut self, request: &Request) -> bool {
        let streams = &mut self.each[usize::from(request.op != Op::Read)];
        let (start, sectors) = (request.lba.0, u64::from(request.sectors));
        let known = streams.iter().position(|it| it.end == start && it.sectors > 0);
        // A new stream replaces the least recently continued one.
        let place = known.unwrap_or(FOLLOWED - 1);
        let before = known.map_or(0, |place| streams[place].sectors);
        streams[..=place].rotate_right(1);
        streams[0] = Stream { end: start + sectors, sectors: before + sectors };
        before + sectors > self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Lba;

    #[test]
    fn a_stream_passes_once_it_is_long_even_beside_others() {
        let mut streams = Streams::new(32);
        let mut passes = |op, lba| streams.pass(&Request::new(0, op, Lba(lba), 8));
        for step in 0..10 {
            assert_eq!(passes(Op::Read, 1_000 + step * 8), step >= 4, "{step}");
            assert_eq!(passes(Op::Write, 1_000 + step * 8), step >= 4, "{step}");
            for random in 0..3 {
                assert!(!passes(Op::Read, 50_000 + (step * 3 + random) * 1_000));
            }
        }
    }
}
