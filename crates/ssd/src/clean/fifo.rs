//! FIFO: a circular log (Desnoyers, SYSTOR'12, section 3).

use super::{Action, View};
use engine::Xoshiro256;

/// Picks the block opened first, as long as some block has a superseded page.
///
/// It rewrites even fully valid blocks, as a circular log does, which is costly under skewed
/// traffic.
pub fn step(view: &View<'_>, _: &mut Xoshiro256) -> Action {
    match view.oldest().next() {
        Some(victim) if view.some_block_pays() => Action::Clean { victim },
        _ => Action::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::super::pictures::decide;
    use crate::config::Cleaning;

    #[test]
    fn takes_the_oldest_as_long_as_one_pays() {
        let cases = [("5:3 1:0 2:1", Some(5)), ("5:4 1:3 2:0", Some(5)), ("5:4", None), ("", None)];
        for (closed, victim) in cases {
            assert_eq!(decide(super::step, &Cleaning::default(), closed), victim, "{closed}");
        }
    }
}
