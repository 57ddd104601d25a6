//! The suite that users run on policies of their own: the table passes it, and bad policies do not.

use devices::ssd::clean::{Answer, Cleaner, DomainState};
use devices::ssd::config::Policy;
use devices::ssd::{conformance, conformance_of};
use options::Choice;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn every_policy_of_the_table_conforms() {
    for (word, _) in Policy::WORDS {
        for check in conformance_of(&word.parse().unwrap()) {
            println!("{word}: {}", check.shows);
            assert_eq!(check.problem, None, "{word}: {}", check.shows);
        }
    }
}

/// Blocks that may be cleaned and have superseded pages.
fn candidates(pool: &DomainState) -> Vec<u32> {
    let first = pool.first_block.0;
    let pays = |block: &u32| {
        let at = (first + block) as usize;
        pool.state[at] == devices::ssd::ids::BlockState::Closed && pool.valid[at] < pool.data_pages
    };
    (0..pool.blocks).filter(pays).collect()
}

/// Takes turns, beginning where the last run of any policy ended.
struct Restless;

impl Cleaner for Restless {
    fn step(&mut self, pool: &DomainState) -> Result<Answer, String> {
        static TURN: AtomicU64 = AtomicU64::new(0);
        let candidates = candidates(pool);
        let turn = TURN.fetch_add(1, Ordering::Relaxed) as usize % candidates.len();
        Ok(Answer::Clean(i64::from(candidates[turn])))
    }
}

/// Draws from the drive's own randomness.
struct Drawing;

impl Cleaner for Drawing {
    fn step(&mut self, pool: &DomainState) -> Result<Answer, String> {
        let candidates = candidates(pool);
        let drawn = (pool.random * candidates.len() as f64) as usize;
        Ok(Answer::Clean(i64::from(candidates[drawn])))
    }
}

/// Never does anything.
struct Idle;

impl Cleaner for Idle {
    fn step(&mut self, _: &DomainState) -> Result<Answer, String> {
        Ok(Answer::Rest)
    }
}

fn problems(make: fn() -> Box<dyn Cleaner>) -> Vec<String> {
    let checks = conformance(&mut || Ok::<_, Infallible>(make())).unwrap();
    checks.into_iter().filter_map(|check| check.problem).collect()
}

#[test]
fn the_suite_tells_good_from_bad() {
    assert_eq!(problems(|| Box::new(Drawing)), [""; 0]);
    let restless = problems(|| Box::new(Restless));
    assert_eq!(restless.len(), 1);
    assert!(restless[0].contains("two runs differ"), "{restless:?}");
    let idle = problems(|| Box::new(Idle));
    assert_eq!(idle.len(), 9, "all but the comparison of two runs");
    assert!(idle.iter().all(|problem| problem.contains("it rests")), "{idle:?}");
}
