//! Domains for the tests of policies, from a short notation.

use super::{Action, AgeOrder, VictimIndex, View};
use crate::config::Cleaning;
use crate::ids::Block;
use crate::ids::BlockState;
use engine::Xoshiro256;

/// Blocks of a test domain; the first has number 10 on the drive.
const BLOCKS: u32 = 10;
const FIRST: u32 = 10;
const DATA_PAGES: u32 = 4;

type Step = fn(&View<'_>, &mut Xoshiro256) -> Action;

/// Victim that a policy picks in a domain of ten blocks of four pages. `closed` lists the closed
/// blocks, oldest first, as `number:valid` or `number:valid:erases`. Another block is opened
/// between consecutive ones.
pub fn decide(step: Step, config: &Cleaning, closed: &str) -> Option<u32> {
    decide_with(step, config, closed, 1)
}

/// `decide` with a seed.
pub fn decide_with(step: Step, config: &Cleaning, closed: &str, seed: u64) -> Option<u32> {
    let mut index = VictimIndex::new(2, BLOCKS, DATA_PAGES);
    let mut order = AgeOrder::new(2, FIRST + BLOCKS);
    let all = (FIRST + BLOCKS) as usize;
    let (mut valid, mut state) = (vec![0; all], vec![BlockState::Free; all]);
    let (mut sequence, mut erases, mut opened) = (vec![0; all], vec![0; all], 0);
    for item in closed.split_whitespace() {
        let mut numbers = item.split(':').map(|number| number.parse::<u32>().unwrap());
        let (relative, pages) = (numbers.next().unwrap(), numbers.next().unwrap());
        let block = (FIRST + relative) as usize;
        opened += 2;
        index.insert(1, relative, pages);
        order.push(1, block as u32);
        (valid[block], state[block]) = (pages, BlockState::Closed);
        (sequence[block], erases[block]) = (opened, numbers.next().unwrap_or(0));
    }
    let view = View {
        index: &index,
        order: &order,
        domain: 1,
        first_block: Block(FIRST),
        blocks: BLOCKS,
        data_pages: DATA_PAGES,
        valid: &valid,
        state: &state,
        sequence: &sequence,
        opened,
        erases: &erases,
        config,
    };
    match step(&view, &mut Xoshiro256::new(seed, 0)) {
        Action::Rest => None,
        Action::Clean { victim } => Some(victim.0 - FIRST),
    }
}
