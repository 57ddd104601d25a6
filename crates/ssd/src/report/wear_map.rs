//! The wear map of a drive: erasures by place, in a bounded number of cells.

use crate::ids::Unit;
use crate::shape::Geometry;

/// Cells of a map at most.
const MOST_CELLS: usize = 1024;
/// Rows of a drive's map at most.
const MOST_ROWS: u32 = 64;

/// The erasures of consecutive blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WearCell {
    /// Erasures of all its blocks.
    pub erases: u64,
    /// How many blocks that are.
    pub blocks: u32,
    /// Erasures of the most erased of them.
    pub most: u32,
}

impl WearCell {
    fn merge(&mut self, other: WearCell) {
        self.erases += other.erases;
        self.blocks += other.blocks;
        self.most = self.most.max(other.most);
    }
}

/// Erasures by place: a row for each unit, or for several in a row; in it consecutive blocks share a
/// cell. At most 1,024 cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WearMap {
    /// What each row is called, and its cells.
    pub rows: Vec<(String, Vec<WearCell>)>,
}

impl WearMap {
    pub(crate) fn new(geometry: &Geometry, erases: &[u32]) -> WearMap {
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
            (name, blocks.chunks(per_cell).map(cell).collect())
        };
        WearMap { rows: rows.enumerate().map(row).collect() }
    }

    /// The maps of the members of an array as one.
    pub fn together<'a>(members: impl Iterator<Item = &'a WearMap>) -> WearMap {
        let mut all = WearMap::default();
        for (number, member) in members.enumerate() {
            let named = |(name, cells): &(String, Vec<WearCell>)| {
                (format!("member {number} {name}"), cells.clone())
            };
            all.rows.extend(member.rows.iter().map(named));
        }
        while all.rows.iter().map(|(_, cells)| cells.len()).sum::<usize>() > MOST_CELLS {
            all.halve();
        }
        all
    }

    /// Joins neighbouring cells, or rows when they have but one cell.
    fn halve(&mut self) {
        if self.rows.iter().any(|(_, cells)| cells.len() > 1) {
            for (_, cells) in &mut self.rows {
                *cells = cells.chunks(2).map(joined).collect();
            }
            return;
        }
        let pair = |rows: &[(String, Vec<WearCell>)]| match rows {
            [(first, a), (last, b)] => {
                let (first, last) = (first.split(" to ").next(), last.split(" to ").last());
                let name = format!("{} to {}", first.unwrap_or(""), last.unwrap_or(""));
                (name, vec![joined(&[a[0], b[0]])])
            }
            _ => rows[0].clone(),
        };
        self.rows = self.rows.chunks(2).map(pair).collect();
    }
}

fn cell(blocks: &[u32]) -> WearCell {
    WearCell {
        erases: blocks.iter().copied().map(u64::from).sum(),
        blocks: blocks.len() as u32,
        most: blocks.iter().copied().max().unwrap_or(0),
    }
}

fn joined(cells: &[WearCell]) -> WearCell {
    let mut all = WearCell::default();
    for cell in cells {
        all.merge(*cell);
    }
    all
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
        let map = WearMap::new(&geometry, &erases);
        assert_eq!(map.rows.len(), geometry.units as usize);
        let cells = || map.rows.iter().flat_map(|(_, cells)| cells);
        assert!(cells().count() <= MOST_CELLS);
        assert_eq!(cells().map(|cell| cell.blocks as usize).sum::<usize>(), blocks);
        assert_eq!(cells().map(|cell| cell.erases).sum::<u64>(), blocks as u64 + 8);
        assert_eq!((map.rows[1].0.as_str(), map.rows[1].1[0].most), ("package 1", 9));

        let many = vec![map.clone(); 100];
        let all = WearMap::together(many.iter());
        let cells = || all.rows.iter().flat_map(|(_, cells)| cells);
        assert!(cells().count() <= MOST_CELLS);
        assert_eq!(cells().map(|cell| cell.erases).sum::<u64>(), 100 * (blocks as u64 + 8));
        assert_eq!(all.rows[1].0, "member 0 package 1");
        let crowd = vec![map.clone(); 1000];
        let all = WearMap::together(crowd.iter());
        assert_eq!(all.rows[0].0, "member 0 package 0 to member 0 package 7");
        assert!(all.rows.len() <= MOST_CELLS);
    }
}
