//! The wear map of a drive: erasures by place, in a bounded number of cells.

use serde_json::{Value, json};

/// Cells of a map at most.
pub const MOST_CELLS: usize = 1024;

/// The erasures of consecutive blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WearCell {
    /// Erasures of all its blocks.
    pub erases: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Maximum erasures of a block.
    pub most: u32,
}

impl WearCell {
    /// Cell of blocks with these erase counts.
    pub(crate) fn of(blocks: &[u32]) -> WearCell {
        WearCell {
            erases: blocks.iter().copied().map(u64::from).sum(),
            blocks: blocks.len() as u32,
            most: blocks.iter().copied().max().unwrap_or(0),
        }
    }

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
    /// Rows: name and cells.
    pub rows: Vec<(String, Vec<WearCell>)>,
}

impl WearMap {
    /// The rows in the form of results: for each its name, and the mean and the most erasures of
    /// its cells.
    pub(crate) fn shown(&self) -> Value {
        let rows = self.rows.iter().map(|(name, cells)| {
            let mean = |it: &WearCell| it.erases as f64 / f64::from(it.blocks.max(1));
            json!({
                "name": name,
                "blocks_per_cell": cells.first().map(|it| it.blocks),
                "mean_erases": cells.iter().map(mean).collect::<Vec<_>>(),
                "max_erases": cells.iter().map(|it| it.most).collect::<Vec<_>>(),
            })
        });
        rows.collect()
    }

    /// The maps of the members of an array, by their numbers, as one.
    pub fn together<'a>(members: impl Iterator<Item = (usize, &'a WearMap)>) -> WearMap {
        let mut all = WearMap::default();
        for (number, member) in members {
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

    /// Joins neighbouring cells, or rows with a single cell.
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

fn joined(cells: &[WearCell]) -> WearCell {
    let mut all = WearCell::default();
    for cell in cells {
        all.merge(*cell);
    }
    all
}
