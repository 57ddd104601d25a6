//! How unevenly the blocks are worn, as results tell it.

use devices::ssd::WearMap;
use serde_json::{Value, json};

/// Bins of `blocks_by_erases` at most.
const ERASE_BINS: u32 = 20;

/// Blocks by how often they were erased, in bins of equal width from the least to the most: the first
/// and last number of erasures of each bin, and its blocks.
pub(crate) fn blocks_by_erases(counts: &[(u32, u64)]) -> Value {
    let (Some((least, _)), Some((most, _))) = (counts.first(), counts.last()) else {
        return json!({ "erases": [], "blocks": [] });
    };
    let width = (most - least + 1).div_ceil(ERASE_BINS);
    let bins = (most - least) / width + 1;
    let mut blocks = vec![0; bins as usize];
    for (erases, count) in counts {
        blocks[((erases - least) / width) as usize] += count;
    }
    let begins = (0..bins).map(|bin| least + bin * width);
    let ends: Vec<[u32; 2]> = begins.map(|from| [from, from + width - 1]).collect();
    json!({ "erases": ends, "blocks": blocks })
}

/// Erasures by place: for each row its name, and of its cells, each of consecutive blocks, the mean
/// and the most.
pub fn map(map: &WearMap) -> Value {
    let rows = map.rows.iter().map(|(name, cells)| {
        let mean = |erases: u64, blocks: u32| erases as f64 / f64::from(blocks.max(1));
        json!({
            "name": name,
            "blocks_per_cell": cells.first().map(|it| it.blocks),
            "mean_erases": cells.iter().map(|it| mean(it.erases, it.blocks)).collect::<Vec<_>>(),
            "max_erases": cells.iter().map(|it| it.most).collect::<Vec<_>>(),
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_in_one_bin_and_bins_are_at_most_twenty() {
        assert_eq!(blocks_by_erases(&[])["blocks"], json!([]));
        let few = blocks_by_erases(&[(2, 5), (4, 1)]);
        assert_eq!(few, json!({ "erases": [[2, 2], [3, 3], [4, 4]], "blocks": [5, 0, 1] }));
        let many: Vec<(u32, u64)> = (10..113).map(|erases| (erases, u64::from(erases))).collect();
        let bins = blocks_by_erases(&many);
        let blocks = bins["blocks"].as_array().unwrap();
        assert!(blocks.len() <= ERASE_BINS as usize && blocks.len() > 10);
        assert_eq!(blocks.iter().filter_map(Value::as_u64).sum::<u64>(), (10..113).sum::<u64>());
        assert_eq!(bins["erases"][0], json!([10, 15]));
    }
}
