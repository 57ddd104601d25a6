//! Greedy: cleans the block that costs least now (the 2008 paper, section 3.2).

use super::{Action, View};
use engine::Xoshiro256;

/// Picks the closed block with the fewest valid pages, unless even that one has no superseded page.
pub fn step(view: &View<'_>, random: &mut Xoshiro256) -> Action {
    match view.emptiest(random) {
        Some(victim) if view.pays(victim) => Action::Clean { victim },
        _ => Action::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::super::pictures::decide;
    use crate::config::{Cleaning, TieBreak};

    #[test]
    fn takes_the_fewest_valid_pages_and_breaks_ties_as_told() {
        // Closed blocks, oldest first, as number:valid of 4 pages; then the victim.
        let cases = [
            ("0:3 1:2 2:4", Some(1), Some(1)),
            ("0:2 5:2 9:2 3:3", Some(9), Some(0)),
            ("7:0", Some(7), Some(7)),
            ("0:4 1:4", None, None),
            ("", None, None),
        ];
        for (closed, highest, lowest) in cases {
            for (tie_break, victim) in [(TieBreak::Highest, highest), (TieBreak::Lowest, lowest)] {
                let config = Cleaning { tie_break, ..Cleaning::default() };
                assert_eq!(decide(super::step, &config, closed), victim, "{closed}");
            }
        }
    }
}
