//! Wear map of a drive, from the erases of its blocks.

use crate::device::{MOST_CELLS, WearCell, WearMap};
use crate::ids::Unit;
use crate::shape::Geometry;

/// Maximum number of rows.
const MOST_ROWS: u32 = 64;

/// Wear map: one row per unit, or per several consecutive units.
pub(super) fn wear_map(geometry: &Geometry, erases: &[u32]) -> WearMap {
    let units_per_row = geometry.units.div_ceil(MOST_ROWS);
    let blocks_per_unit = erases.len() / geometry.units as usize;
    let rows = erases.chunks(blocks_per_unit * units_per_row as usize);
    let cells = MOST_CELLS / rows.len();
    let row = |(number, blocks): (usize, &[u32])| {
        let first = number as u32 * units_per_row;
        let last = (first + units_per_row).min(geometry.units) - 1;
        let mut name = geometry.unit_name(Unit(first));
        if last > first {
            name = format!("{name} to {}", geometry.unit_name(Unit(last)));
        }
        let per_cell = (blocks_per_unit * units_per_row as usize).div_ceil(cells);
        (name, blocks.chunks(per_cell).map(WearCell::of).collect())
    };
    WearMap { rows: rows.enumerate().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SsdConfig;

    #[test]
    fn every_erasure_is_in_one_cell_of_the_row_of_its_unit() {
        let config = SsdConfig { blocks_per_plane: 1000, ..SsdConfig::default() };
        let geometry = Geometry::new(&config).unwrap();
        let blocks = geometry.blocks() as usize;
        let per_unit = blocks / geometry.units as usize;
        let mut erases = vec![1; blocks];
        erases[per_unit + 5] = 9;
        let map = wear_map(&geometry, &erases);
        assert_eq!(map.rows.len(), geometry.units as usize);
        let cells = || map.rows.iter().flat_map(|(_, cells)| cells);
        assert!(cells().count() <= MOST_CELLS);
        assert_eq!(cells().map(|cell| cell.blocks as usize).sum::<usize>(), blocks);
        assert_eq!(cells().map(|cell| cell.erases).sum::<u64>(), blocks as u64 + 8);
        assert_eq!((map.rows[1].0.as_str(), map.rows[1].1[0].most), ("package 1", 9));

        let many = vec![map.clone(); 100];
        let all = WearMap::together(many.iter().enumerate());
        let cells = || all.rows.iter().flat_map(|(_, cells)| cells);
        assert!(cells().count() <= MOST_CELLS);
        assert_eq!(cells().map(|cell| cell.erases).sum::<u64>(), 100 * (blocks as u64 + 8));
        assert_eq!(all.rows[1].0, "member 0 package 1");
        let crowd = vec![map.clone(); 1000];
        let all = WearMap::together(crowd.iter().enumerate());
        assert_eq!(all.rows[0].0, "member 0 package 0 to member 0 package 7");
        assert!(all.rows.len() <= MOST_CELLS);
    }
}
