//! What power cuts leave of drives of all shapes: whatever was durable is there, and nothing is there that
//! may not be. `make prove` searches for longer.

#![allow(unreachable_pub, reason = "nothing outside can reach into a test program")]

mod buffered;
mod case;
mod content;
#[path = "../common/depth.rs"]
mod depth;
mod drives;
mod obligations;
mod search;
mod times;

use case::{Case, run};
use depth::depth;

#[test]
fn cuts_lose_nothing() {
    let wanted = depth(200, 1_000, 20_000);
    let (cuts, found) = search::search(0.., wanted);
    if let Some((case, problem)) = found {
        panic!("{}", search::line(case, problem));
    }
    assert!(cuts >= wanted);
}

/// The search meets drives with log blocks, and such that keep their map.
#[test]
fn drives_of_all_kinds_are_cut() {
    let possible = |seed: &u64| {
        let mut config = drives::config(*seed);
        drives::with_least_spare(&mut config).map(|_| config)
    };
    let drawn: Vec<_> = (0..200).filter_map(|seed| possible(&seed)).collect();
    let logs = drawn.iter().filter(|it| it.log_blocks.are_used()).count();
    let keep = drawn.iter().filter(|it| it.persistence.keeps_map()).count();
    assert!(logs >= 10 && keep >= 10, "{logs} with log blocks, {keep} that keep their map");
    let gather = drawn.iter().filter(|it| it.block_buffer.gathers());
    let (lose, protected): (Vec<_>, Vec<_>) = gather.partition(|it| it.block_buffer.is_volatile());
    let counts = (lose.len(), protected.len());
    assert!(
        counts.0 >= 5 && counts.1 >= 5,
        "{counts:?} with a volatile and a protected block buffer"
    );
}

/// Runs the case that the variable `POWER` names, as a search prints it.
#[test]
fn the_case_named_by_the_variable_power_loses_nothing() {
    let Ok(named) = std::env::var("POWER") else { return };
    let parts: Vec<&str> = named.split_whitespace().collect();
    let number = |text: &str| text.parse().expect("a number");
    let cuts = parts.get(2).map_or(Vec::new(), |cuts| cuts.split(',').map(number).collect());
    let case = Case { seed: number(parts[0]), requests: number(parts[1]), cuts };
    println!("{:#?}", drives::config(case.seed));
    run(&case).expect("its drive is possible").unwrap();
}

/// The search at length, on two threads: `PROVE_CUTS` in all, 100,000 unless it says something else.
#[test]
#[ignore = "takes minutes: make prove"]
#[expect(clippy::disallowed_methods, reason = "two searches side by side, each on its own drives")]
fn a_hundred_thousand_cuts_lose_nothing() {
    let asked = std::env::var("PROVE_CUTS").ok().and_then(|text| text.parse().ok());
    let cuts: u64 = asked.unwrap_or(100_000);
    let halves = [0u64, 1].map(|half| {
        let seeds = (0..).map(move |seed| 1_000_000 + 2 * seed + half);
        std::thread::spawn(move || search::search(seeds, cuts / 2))
    });
    let mut made = 0;
    for half in halves {
        let (cuts, found) = half.join().expect("a search does not fail");
        made += cuts;
        if let Some((case, problem)) = found {
            panic!("{}", search::line(case, problem));
        }
    }
    println!("{made} cuts lose nothing");
}

/// Mistakes that are planted are found; how many cuts each takes is printed.
#[cfg(feature = "planted")]
#[test]
#[ignore = "takes a minute: make prove"]
fn planted_mistakes_are_found() {
    use devices::ssd::power::planted::{Bug, plant};
    let mut missed = Vec::new();
    for bug in Bug::ALL {
        plant(Some(bug));
        let (cuts, found) = search::search(0.., 10_000);
        match found {
            Some((case, problem)) => println!("{bug:?}: {cuts} cuts: {case}: {problem}"),
            None => missed.push(bug),
        }
    }
    plant(None);
    assert!(missed.is_empty(), "not found: {missed:?}");
}

/// The power goes after every event of short runs.
#[test]
fn a_cut_at_every_event_loses_nothing() {
    let mut cuts = 0;
    for seed in 0..depth(4, 20, 200) {
        let whole = Case { seed, requests: 25, cuts: Vec::new() };
        let Some(came) = search::tried(&whole) else { continue };
        let events = came.unwrap_or_else(|problem| panic!("{whole}: {problem}")).events;
        // And again soon after, during recovery.
        for event in 1..=events {
            let case = Case { cuts: vec![event, event + 1 + event % 23], ..whole.clone() };
            if let Some(Err(problem)) = search::tried(&case) {
                panic!("{}", search::line(case, problem));
            }
            cuts += 2;
        }
    }
    println!("{cuts} cuts");
}
