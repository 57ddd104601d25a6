//! Data lost with failed members.

use super::geometry::Geometry;
use crate::members::Members;

/// Data sectors that cannot be reconstructed.
pub fn lost_sectors(geometry: &Geometry, members: &Members) -> u64 {
    let rows = geometry.rows;
    let mut bounds: Vec<u64> = (0..members.len()).map(|it| members.rows(it, rows)).collect();
    bounds.extend([0, rows]);
    bounds.sort_unstable();
    bounds.dedup();
    let stripes_of_row = geometry.stripes() / rows;
    let bounds = bounds.windows(2);
    let chunks: u64 = bounds
        .map(|bound| {
            lost_chunks(geometry, members, bound[0] * stripes_of_row, bound[1] * stripes_of_row)
        })
        .sum();
    chunks * geometry.chunk
}

/// Lost data chunks in a range of stripes that each member holds completely or not at all.
fn lost_chunks(geometry: &Geometry, members: &Members, from: u64, to: u64) -> u64 {
    let has = |stripe: u64, place: u64| {
        members.holds(geometry.member(stripe, place) as usize, geometry.row(stripe))
    };
    let of = |stripe: u64| {
        let missing = |places: std::ops::Range<u64>| {
            places.filter(|place| !has(stripe, *place)).count() as u64
        };
        let is_lost = missing(0..geometry.width) > geometry.checks();
        if is_lost { missing(0..geometry.data) } else { 0 }
    };
    match geometry.period() {
        Some(period) if to - from > period => {
            let periods = (to - from) / period;
            let each: u64 = (from..from + period).map(of).sum();
            periods * each + (from + periods * period..to).map(of).sum::<u64>()
        }
        _ => (from..to).map(of).sum(),
    }
}
