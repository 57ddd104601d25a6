//! Operations and addresses of requests: run-time state of the keys shared by closed loops and
//! bursts.

use crate::chance::Chance;
use crate::footprint::Footprint;
use crate::locality::Locality;
use crate::locality::Skew;
use crate::{checks, streams};
use engine::{Lba, Op, Random, Request, SECTOR_BYTES, Xoshiro256};
use options::{Invalid, Size};

/// The keys.
pub(crate) struct PatternKeys<'a> {
    pub(crate) read_share: f64,
    pub(crate) random_share: f64,
    pub(crate) locality: &'a Locality,
    pub(crate) scatter: bool,
    pub(crate) block_size: Size,
    pub(crate) footprint: Footprint,
}

/// Collects the fields of a kind's options that have these names.
macro_rules! pattern_keys {
    ($options:expr) => {
        $crate::pattern::PatternKeys {
            read_share: $options.read_share,
            random_share: $options.random_share,
            locality: &$options.locality,
            scatter: $options.scatter,
            block_size: $options.block_size,
            footprint: $options.footprint,
        }
    };
}
pub(crate) use pattern_keys;

impl PatternKeys<'_> {
    /// True if there are no writes.
    pub(crate) fn only_reads(&self) -> bool {
        self.read_share >= 1.0
    }

    /// True for uniformly distributed writes of whole pages.
    pub(crate) fn writes_uniformly(&self, capacity_sectors: u64, page_sectors: u64) -> bool {
        !self.only_reads()
            && self.random_share >= 1.0
            && *self.locality == Locality::UNIFORM
            && self.block_size.bytes() == page_sectors * SECTOR_BYTES
            && self.footprint.sectors(capacity_sectors) == Ok(capacity_sectors)
    }
}

/// Pattern of accesses.
pub(crate) struct AccessPattern {
    reads: Chance,
    jumps: Chance,
    needs_bits: bool,
    block_sectors: u32,
    blocks: u64,
    /// `None` for a uniform distribution, the common case, which needs a fast path.
    skew: Option<Skew>,
}

/// Position and random source of one thread.
pub(crate) struct Cursor {
    next_block: u64,
    decisions: Xoshiro256,
    positions: Xoshiro256,
}

impl AccessPattern {
    pub(crate) fn new(
        keys: &PatternKeys<'_>,
        capacity_sectors: u64,
        seed: u64,
    ) -> Result<Self, Invalid> {
        checks::share("workload.read_share", keys.read_share)?;
        checks::share("workload.random_share", keys.random_share)?;
        let footprint = keys.footprint.sectors(capacity_sectors)?;
        let block_sectors = checks::block_sectors(keys.block_size, footprint)?;
        let blocks = footprint / u64::from(block_sectors);
        let (reads, jumps) = (Chance::new(keys.read_share), Chance::new(keys.random_share));
        Ok(AccessPattern {
            reads,
            jumps,
            needs_bits: reads.needs_bits() || jumps.needs_bits(),
            block_sectors,
            blocks,
            skew: keys.locality.skew("workload.locality", blocks, keys.scatter, seed)?,
        })
    }

    /// The start of thread `index` of `threads`: its equal share of the footprint.
    pub(crate) fn cursor(&self, index: u32, threads: u32, seed: u64) -> Cursor {
        let seed = streams::derived(seed, u64::from(index));
        let share = u128::from(self.blocks) * u128::from(index) / u128::from(threads);
        Cursor {
            next_block: share as u64,
            decisions: Xoshiro256::new(seed, streams::CLOSED_DECISIONS),
            positions: Xoshiro256::new(seed, streams::CLOSED_POSITIONS),
        }
    }

    /// Draws the next request: one draw decides direction and jump, and a jump needs another.
    #[expect(clippy::inline_always, reason = "every request passes here")]
    #[inline(always)]
    pub(crate) fn draw(&self, cursor: &mut Cursor, id: u64) -> Request {
        let bits =
            if self.needs_bits { cursor.decisions.below(1 << (2 * Chance::BITS)) } else { 0 };
        let reads = self.reads.decide(bits >> Chance::BITS);
        let jumps = self.jumps.decide(bits & ((1 << Chance::BITS) - 1));
        let block = match &self.skew {
            _ if !jumps => cursor.next_block,
            None => cursor.positions.below(self.blocks),
            Some(skew) => skew.block(&mut cursor.positions),
        };
        cursor.next_block = if block + 1 == self.blocks { 0 } else { block + 1 };
        Request::new(
            id,
            if reads { Op::Read } else { Op::Write },
            Lba(block * u64::from(self.block_sectors)),
            self.block_sectors,
        )
    }
}
