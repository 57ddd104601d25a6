//! The flash as a block map: one cell per block or, for many blocks, per group of neighbours, small
//! enough for several queries per second.
//!
//! A cell is one letter in each of four strings: its share of valid data, erase count, state, and
//! the stream that filled it. Quantities have 64 steps, as base64 letters.

use devices::ssd::ids::BlockState;
use devices::{BlockLook, Looks, UNKNOWN_STREAM};
use serde_json::{Value, json};

/// Maximum number of cells.
const MOST_CELLS: usize = 16_384;
/// Maximum number of panels for units; with more units, each drive is a panel.
const MOST_PANELS: usize = 64;
const STEPS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A panel of the map: its name, its blocks, and the data pages per block.
struct Panel<'a> {
    name: String,
    blocks: Vec<&'a BlockLook>,
    pages: u32,
}

/// The block map; `None` without flash.
pub(super) fn map(looks: &Looks) -> Option<Value> {
    let (least, most) = range(looks.blocks.iter().map(|it| it.erases))?;
    let panels = panels(looks);
    let per_cell = looks.blocks.len().div_ceil(MOST_CELLS - panels.len());
    let step = (most - least + 1).div_ceil(64);
    let mut text: [String; 4] = Default::default();
    let [valid, erases, used, streams] = &mut text;
    for panel in &panels {
        for cell in panel.blocks.chunks(per_cell) {
            let pages = (u64::from(panel.pages) * cell.len() as u64).max(1);
            let sum =
                |of: fn(&BlockLook) -> u32| cell.iter().map(|it| u64::from(of(it))).sum::<u64>();
            valid.push(letter(((126 * sum(|it| it.valid) + pages) / (2 * pages)) as usize));
            let mean = sum(|it| it.erases) / cell.len() as u64;
            erases.push(letter(((mean - u64::from(least)) / u64::from(step)) as usize));
            used.push(use_of(cell));
            streams.push(stream_of(cell));
        }
    }
    let names: Vec<(&str, usize)> =
        panels.iter().map(|it| (it.name.as_str(), it.blocks.len().div_ceil(per_cell))).collect();
    Some(json!({
        "panels": names,
        "blocks": looks.blocks.len(),
        "blocks_per_cell": per_cell,
        "erases": [least, most, step],
        "valid": valid,
        "erased": erases,
        "used": used,
        "streams": streams,
    }))
}

/// The panels: one per unit or, with many units, one per drive.
fn panels(looks: &Looks) -> Vec<Panel<'_>> {
    let units: usize = looks.drives.iter().map(|drive| drive.units.len()).sum();
    let mut panels = Vec::new();
    for (number, drive) in looks.drives.iter().enumerate() {
        let blocks = &looks.blocks[drive.first..drive.first + drive.blocks];
        let named = |name: &str| match looks.drives.len() {
            1 => name.to_owned(),
            _ => format!("drive {number} {name}").trim_end().to_owned(),
        };
        let panel = |name: &str, blocks: Vec<_>| Panel {
            name: named(name),
            blocks,
            pages: drive.data_pages,
        };
        if units > MOST_PANELS {
            panels.push(panel("", blocks.iter().collect()));
            continue;
        }
        for (unit, name) in drive.units.iter().enumerate() {
            let of_unit: Vec<_> = blocks.iter().filter(|it| it.unit as usize == unit).collect();
            if !of_unit.is_empty() {
                panels.push(panel(name, of_unit));
            }
        }
    }
    panels
}

fn range(mut numbers: impl Iterator<Item = u32>) -> Option<(u32, u32)> {
    let first = numbers.next()?;
    Some(numbers.fold((first, first), |(least, most), it| (least.min(it), most.max(it))))
}

fn letter(step: usize) -> char {
    STEPS[step.min(63)] as char
}

/// State of a cell: an operation on one of its blocks takes precedence.
fn use_of(cell: &[&BlockLook]) -> char {
    let any = |state| cell.iter().any(|it| it.state == state);
    let all = |state| cell.iter().all(|it| it.state == state);
    if any(BlockState::Victim) {
        'v'
    } else if cell.iter().any(|it| it.is_frontier) || any(BlockState::Open) {
        'o'
    } else if all(BlockState::Free) {
        'e'
    } else if all(BlockState::Retired) {
        'r'
    } else {
        'c'
    }
}

/// The stream that filled the first block with a known stream.
fn stream_of(cell: &[&BlockLook]) -> char {
    let known = |it: &&&BlockLook| it.stream != UNKNOWN_STREAM && it.programmed > 0;
    cell.iter().find(known).map_or('-', |it| letter(usize::from(it.stream)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use devices::DriveLook;

    fn looks(blocks: usize, drives: usize, units: u32) -> Looks {
        let each = blocks / drives;
        let block = |number: usize| BlockLook {
            valid: 10,
            programmed: 10,
            erases: 5 + (number % 3) as u32,
            unit: (number % each) as u32 % units,
            state: BlockState::Closed,
            stream: 0,
            is_frontier: false,
            retries: 0,
        };
        let drive = |number| DriveLook {
            first: number * each,
            blocks: each,
            data_pages: 20,
            units: (0..units).map(|unit| format!("unit {unit}")).collect(),
            ages: false,
        };
        Looks { blocks: (0..blocks).map(block).collect(), drives: (0..drives).map(drive).collect() }
    }

    fn length(map: &Value, key: &str) -> usize {
        map[key].as_str().unwrap().len()
    }

    #[test]
    fn each_block_is_a_letter_in_each_map() {
        let mut looks = looks(8, 1, 2);
        looks.blocks[2].state = BlockState::Victim;
        looks.blocks[4].is_frontier = true;
        looks.blocks[6].state = BlockState::Free;
        looks.blocks[1].stream = UNKNOWN_STREAM;
        looks.blocks[3].valid = 20;
        let map = map(&looks).unwrap();
        assert_eq!(map["panels"], json!([["unit 0", 4], ["unit 1", 4]]));
        assert_eq!(map["used"], "cvoecccc");
        assert_eq!(map["streams"], "AAAA-AAA");
        assert_eq!(map["valid"], "ggggg/gg");
        assert_eq!((&map["erases"], &map["erased"]), (&json!([5, 7, 1]), &json!("ACBABACB")));
    }

    #[test]
    fn the_map_is_bounded_however_many_blocks_there_are() {
        for (blocks, drives, units, panels) in
            [(16_000, 1, 8, 8), (1_000_000, 1, 8, 8), (120_000, 6, 16, 6), (64, 1, 128, 1)]
        {
            let map = map(&looks(blocks, drives, units)).unwrap();
            assert_eq!(map["panels"].as_array().unwrap().len(), panels);
            for key in ["valid", "erased", "used", "streams"] {
                assert!((60..=MOST_CELLS).contains(&length(&map, key)), "{blocks} {key}");
            }
        }
        assert!(map(&Looks::default()).is_none());
    }

    #[test]
    fn a_cell_of_several_blocks_shows_the_one_being_cleaned() {
        let mut looks = looks(40_000, 1, 1);
        looks.blocks[1].state = BlockState::Victim;
        looks.blocks[3].state = BlockState::Free;
        let map = map(&looks).unwrap();
        assert_eq!(map["blocks_per_cell"], 3);
        assert!(map["used"].as_str().unwrap().starts_with("vcc"));
    }
}
