//! Greedy: clean the block that costs least now (the 2008 paper, section 3.2).

use super::{Action, View};

/// The closed block with the fewest valid pages, unless even that one has no superseded page.
pub fn step(view: &View<'_>) -> Action {
    match view.emptiest() {
        Some((victim, valid)) if valid < view.data_pages => Action::Clean { victim },
        _ => Action::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Action, VictimIndex, View};
    use crate::ssd::config::TieBreak;
    use crate::ssd::geometry::Block;

    /// Draws the closed blocks of a domain as `number:valid` and returns the decision.
    fn decide(closed: &str, tie_break: TieBreak) -> Action {
        let mut index = VictimIndex::new(2, 10, 4);
        for item in closed.split_whitespace() {
            let (block, valid) = item.split_once(':').unwrap();
            index.insert(1, block.parse().unwrap(), valid.parse().unwrap());
        }
        let (domain, first_block) = (1, Block(10));
        super::step(&View { index: &index, domain, first_block, data_pages: 4, tie_break })
    }

    #[test]
    fn takes_the_fewest_valid_pages_and_breaks_ties_as_told() {
        let clean = |block: u32| Action::Clean { victim: Block(10 + block) };
        let cases = [
            ("0:3 1:2 2:4", clean(1), clean(1)),
            ("0:2 5:2 9:2 3:3", clean(9), clean(0)),
            ("7:0", clean(7), clean(7)),
            ("0:4 1:4", Action::Rest, Action::Rest),
            ("", Action::Rest, Action::Rest),
        ];
        for (closed, highest, lowest) in cases {
            assert_eq!(decide(closed, TieBreak::Highest), highest, "{closed}");
            assert_eq!(decide(closed, TieBreak::Lowest), lowest, "{closed}");
        }
    }
}
