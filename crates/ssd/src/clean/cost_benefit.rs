//! Cost-benefit (Rosenblum and Ousterhout 1991; for flash Kawaguchi et al., USENIX 1995).

use super::{Action, View};
use crate::ids::Block;
use engine::Xoshiro256;

/// Picks the block with the largest age x (1 - u) / 2u, where u is its share of valid pages. Moving
/// the valid pages costs 2u, and valid pages of old blocks are stable. Age is the number of blocks
/// opened since the block was.
pub fn step(view: &View<'_>, _: &mut Xoshiro256) -> Action {
    view.best(view.oldest(), |block| -worth(view, block))
}

fn worth(view: &View<'_>, block: Block) -> f64 {
    let u = f64::from(view.valid(block)) / f64::from(view.data_pages);
    // Without valid pages the cost is zero and the ratio infinite, at any age.
    view.age(block) as f64 * (1.0 - u) / (2.0 * u)
}

#[cfg(test)]
mod tests {
    use super::super::pictures::decide;
    use crate::config::Cleaning;

    #[test]
    fn weighs_age_against_valid_pages() {
        let cases = [
            // Ages 5, 3, 1 with 3, 2, 1 of 4 valid: 0.83, 1.5, 1.5; the tie goes to the higher
            // number.
            ("5:3 1:2 2:1", Some(2)),
            // An old block beats a young one with fewer valid pages.
            ("5:2 0:4 1:4 2:4 3:1", Some(5)),
            // A block without valid pages is best.
            ("5:1 1:3 2:0", Some(2)),
            ("5:4 1:4", None),
        ];
        for (closed, victim) in cases {
            assert_eq!(decide(super::step, &Cleaning::default(), closed), victim, "{closed}");
        }
    }
}
