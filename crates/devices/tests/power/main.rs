//! What power cuts leave of drives of all shapes: whatever was durable is there, and nothing is there that
//! may not be. `make prove` searches for longer.

mod case;
mod content;
mod drives;
mod search;

use case::{Case, run};

/// Cuts that every commit makes.
const CUTS: u64 = 2_000;

#[test]
fn two_thousand_cuts_lose_nothing() {
    let (cuts, found) = search::search(0.., CUTS);
    if let Some((case, problem)) = found {
        panic!("{}", search::line(case, problem));
    }
    assert!(cuts >= CUTS);
}

/// Runs the case that the variable `POWER` names, as a search prints it.
#[test]
fn again() {
    let Ok(named) = std::env::var("POWER") else { return };
    let parts: Vec<&str> = named.split_whitespace().collect();
    let number = |text: &str| text.parse().expect("a number");
    let cuts = parts.get(2).map_or(Vec::new(), |cuts| cuts.split(',').map(number).collect());
    let case = Case { seed: number(parts[0]), requests: number(parts[1]), cuts };
    println!("{:#?}", drives::config(case.seed));
    run(&case).expect("its drive is possible").unwrap();
}
