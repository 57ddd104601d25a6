//! Windowed greedy: greedy among the oldest blocks only (Hu et al., SYSTOR'09).

use super::{Action, View};
use engine::Xoshiro256;

/// Picks the block with the fewest valid pages among the `windowed_greedy.window` oldest; if none
/// of them is worth cleaning, among all.
pub fn step(view: &View<'_>, _: &mut Xoshiro256) -> Action {
    let window = view.config.windowed_greedy.window as usize;
    match view.best(view.oldest().take(window), |block| view.valid(block)) {
        Action::Rest => view.best(view.oldest(), |block| view.valid(block)),
        cleaning @ Action::Clean { .. } => cleaning,
    }
}

#[cfg(test)]
mod tests {
    use super::super::pictures::decide;
    use crate::config::{Cleaning, WindowedGreedy};

    #[test]
    fn looks_no_further_than_its_window() {
        let closed = "5:3 1:2 2:1 3:0";
        for (window, victim) in [(1, 5), (2, 1), (3, 2), (4, 3), (100, 3)] {
            let windowed_greedy = WindowedGreedy { window };
            let config = Cleaning { windowed_greedy, ..Cleaning::default() };
            assert_eq!(decide(super::step, &config, closed), Some(victim), "{window}");
        }
        let config =
            Cleaning { windowed_greedy: WindowedGreedy { window: 1 }, ..Cleaning::default() };
        assert_eq!(decide(super::step, &config, "5:4 1:4 2:3"), Some(2));
        assert_eq!(decide(super::step, &config, "5:4"), None);
    }
}
