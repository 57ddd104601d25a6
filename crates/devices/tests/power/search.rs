//! The search for cuts that lose something, and the smallest case that does.

use crate::case::{Came, Case, run};
use engine::{Random, Xoshiro256};
use std::panic::{AssertUnwindSafe, catch_unwind};

std::thread_local! {
    /// A panic is an outcome like others.
    static TRYING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs a case and returns its result; none if its drive is not possible.
pub fn tried(case: &Case) -> Option<Result<Came, String>> {
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !TRYING.get() {
                loud(panic);
            }
        }));
    });
    TRYING.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| run(case)));
    TRYING.set(false);
    outcome.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        Some(Err(format!("it panicked: {}", said.unwrap_or_default())))
    })
}

/// The case of a seed: some cuts of a run whose events were counted.
pub fn drawn(seed: u64) -> Option<Case> {
    let random = &mut Xoshiro256::new(seed, 3);
    let requests = 50 + random.below(250);
    let whole = tried(&Case { seed, requests, cuts: Vec::new() })?;
    let events = whole.map_or(1, |came| came.events);
    let count = 1 + random.below(6);
    let mut cuts: Vec<u64> = (0..count).map(|_| 1 + random.below(events)).collect();
    cuts.sort_unstable();
    Some(Case { seed, requests, cuts })
}

/// Tries the case of each seed until `cuts` cuts were made. Returns the number of cuts, and the first
/// case that fails.
pub fn search(seeds: impl Iterator<Item = u64>, cuts: u64) -> (u64, Option<(Case, String)>) {
    let mut made = 0;
    for seed in seeds {
        let Some(case) = drawn(seed) else { continue };
        match tried(&case) {
            None => {}
            Some(Ok(came)) => made += came.cuts,
            Some(Err(problem)) => return (made + case.cuts.len() as u64, Some((case, problem))),
        }
        if made >= cuts {
            break;
        }
    }
    (made, None)
}

/// A smaller case that fails too: fewer cuts, fewer requests, earlier events.
pub fn shrunk(mut case: Case, mut problem: String) -> (Case, String) {
    loop {
        let mut smaller = Vec::new();
        for cut in 0..case.cuts.len() {
            let mut fewer = case.clone();
            fewer.cuts.remove(cut);
            smaller.push(fewer);
        }
        for requests in [case.requests / 2, case.requests * 3 / 4, case.requests - 1] {
            smaller.push(Case { requests, ..case.clone() });
        }
        for cut in 0..case.cuts.len() {
            for by in [case.cuts[cut] / 2, case.cuts[cut] / 8, 1] {
                let mut earlier = case.clone();
                earlier.cuts[cut] -= by;
                earlier.cuts.sort_unstable();
                smaller.push(earlier);
            }
        }
        let fails = smaller.into_iter().filter(|it| *it != case && it.requests > 0);
        let next = fails.into_iter().find_map(|it| match tried(&it) {
            Some(Err(problem)) => Some((it, problem)),
            _ => None,
        });
        match next {
            Some(found) => (case, problem) = found,
            None => return (case, problem),
        }
    }
}

/// The line that says how a case failed and how to see it again.
pub fn line(case: Case, problem: String) -> String {
    let (case, problem) = shrunk(case, problem);
    format!(
        "POWER='{case}' cargo test -p ssdlab-devices --test power named -- --nocapture: {problem}"
    )
}
