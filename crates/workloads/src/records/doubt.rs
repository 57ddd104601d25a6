//! Plausibility of a detected format: its numbers may be in another unit.

use crate::record::Record;
use engine::{Op, SECTOR_BYTES};

/// Upper bound on the size of traced drives and volumes: 1 PiB.
const LARGEST_SPAN: u64 = (1 << 50) / SECTOR_BYTES;
/// Upper bound on the mean request size: 8 MiB.
const LARGEST_MEAN: u64 = (8 << 20) / SECTOR_BYTES;
/// Offsets in bytes are usually multiples of this, offsets in sectors rarely.
const PAGE: u64 = 4096;
/// Minimum number of requests: fewer may be multiples by chance.
const ENOUGH: usize = 4;

/// Evidence against sectors as the unit of the first requests of a trace.
pub(super) fn of(records: &[Record]) -> Option<String> {
    let moved = || records.iter().filter(|it| matches!(it.op, Op::Read | Op::Write));
    let count = moved().count();
    let end = moved().map(|it| it.sector.saturating_add(u64::from(it.sectors))).max()?;
    let mean = moved().map(|it| u64::from(it.sectors)).sum::<u64>() / count as u64;
    let is_paged =
        |it: &Record| it.sector.is_multiple_of(PAGE) && u64::from(it.sectors).is_multiple_of(PAGE);
    let tib = |sectors: u64| sectors as f64 * SECTOR_BYTES as f64 / (1_u64 << 40) as f64;
    if end > LARGEST_SPAN {
        return Some(format!("addresses go up to {:.0} TiB, more than any drive has", tib(end)));
    }
    if mean > LARGEST_MEAN {
        return Some(format!("a request has {} MiB in the mean", (mean * SECTOR_BYTES) >> 20));
    }
    let all_paged = count >= ENOUGH && moved().all(is_paged) && moved().any(|it| it.sector > 0);
    all_paged.then(|| "each address and each size is a multiple of 4096".to_owned())
}
