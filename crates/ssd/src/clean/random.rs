//! Random: the baseline for all other policies.

use super::{Action, View};
use engine::Xoshiro256;

/// Picks a closed block uniformly at random, as long as some block has a superseded page.
///
/// Fully valid blocks count too: only then is the write amplification 1 / spare factor for any
/// workload.
pub fn step(view: &View<'_>, random: &mut Xoshiro256) -> Action {
    match view.draw(random) {
        Some(victim) if view.some_block_pays() => Action::Clean { victim },
        _ => Action::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::super::pictures::{decide, decide_with};
    use crate::config::Cleaning;

    #[test]
    fn takes_any_block_as_long_as_one_pays() {
        let config = Cleaning::default();
        let mut seen = [0; 10];
        for seed in 0..300 {
            seen[decide_with(super::step, &config, "1:3 2:4 7:0", seed).unwrap() as usize] += 1;
        }
        assert!([1, 2, 7].iter().all(|block| (70..130).contains(&seen[*block])), "{seen:?}");
        assert_eq!(decide(super::step, &config, "2:4"), None);
        assert_eq!(decide(super::step, &config, ""), None);
    }
}
