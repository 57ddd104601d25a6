//! CAT: cost, age, times (Chiang and Chang, 1999).

use super::{Action, View};
use crate::ids::Block;
use engine::Xoshiro256;

/// Picks the block with the smallest u / (1 - u) x erases / age: cheap to clean, old, and little
/// worn. Age is the number of blocks opened since the block was.
pub fn step(view: &View<'_>, _: &mut Xoshiro256) -> Action {
    view.best(view.oldest(), |block| price(view, block))
}

fn price(view: &View<'_>, block: Block) -> f64 {
    let u = f64::from(view.valid(block)) / f64::from(view.data_pages);
    // Counts the first erase too, so that blocks never erased do not cost nothing.
    let times = f64::from(view.erases[block.at()]) + 1.0;
    u / (1.0 - u) / view.age(block) as f64 * times
}

#[cfg(test)]
mod tests {
    use super::super::pictures::decide;
    use crate::config::Cleaning;

    #[test]
    fn weighs_wear_too() {
        let cases = [
            // Equal except for age: the older block.
            ("5:2 1:2 2:2", Some(5)),
            // Worn blocks are spared...
            ("5:2:9 1:2:0 2:2:9", Some(1)),
            // ... unless they cost nothing to clean.
            ("5:2:0 1:2:0 2:0:9", Some(2)),
            ("5:4", None),
        ];
        for (closed, victim) in cases {
            assert_eq!(decide(super::step, &Cleaning::default(), closed), victim, "{closed}");
        }
    }
}
