//! d choices: among d randomly drawn blocks, the one with the fewest valid pages (Van Houdt,
//! SIGMETRICS'13).

use super::{Action, View};
use engine::Xoshiro256;

/// Picks the block with the fewest valid pages of `d_choices.d` draws with repetition, as long as
/// some block has a superseded page.
pub fn step(view: &View<'_>, random: &mut Xoshiro256) -> Action {
    let draws = (0..view.config.d_choices.d).filter_map(|_| view.draw(random));
    match draws.min_by_key(|block| view.valid(*block)) {
        Some(victim) if view.some_block_pays() => Action::Clean { victim },
        _ => Action::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::super::pictures::{decide, decide_with};
    use crate::config::{Cleaning, DChoices};

    #[test]
    fn more_draws_find_emptier_blocks() {
        let closed = "0:3 1:3 2:3 3:3 4:3 5:3 6:3 7:3 8:3 9:0";
        let found = |d| {
            let config = Cleaning { d_choices: DChoices { d }, ..Cleaning::default() };
            let victims = (0..500).map(|seed| decide_with(super::step, &config, closed, seed));
            victims.filter(|victim| *victim == Some(9)).count()
        };
        // A share 1 - 0.9^d of the draws includes the empty block.
        for (d, share) in [(1, 0.1), (2, 0.19), (10, 0.651)] {
            let measured = found(d) as f64 / 500.0;
            assert!((measured - share).abs() < 0.06, "{d}: {measured}");
        }
        assert_eq!(decide(super::step, &Cleaning::default(), "0:4 1:4"), None);
        assert_eq!(decide(super::step, &Cleaning::default(), ""), None);
    }
}
