//! The generators' requests against hand-made ones.

use super::super::tests::{answer, assert_refused, build, run};
use super::*;

const MS: Time = 1_000_000;

/// Arrivals in ms of a load whose requests take a constant time; a request is given up when a
/// completion moves another one before it.
fn served(text: &str, takes: Time, until: usize) -> Vec<Time> {
    let mut load = build("generators", text).unwrap();
    let mut under_way: VecDeque<Arrival> = VecDeque::new();
    let mut times = Vec::new();
    let mut next = load.next(0).unwrap();
    while times.len() < until {
        let ends = under_way.front().map(|it| it.at + takes);
        match (next, ends) {
            (Some(arrival), ends) if ends.is_none_or(|ends| arrival.at < ends) => {
                times.push(arrival.at / MS);
                under_way.push_back(arrival);
                next = load.next(arrival.at).unwrap();
            }
            (_, Some(ends)) => {
                let ended = under_way.pop_front().unwrap();
                load.completed(&answer(ended.request, ends));
                if next.is_none() || load.take_back() {
                    next = load.next(ends).unwrap();
                }
            }
            _ => break,
        }
    }
    times
}

#[test]
fn generators_that_wait_at_once_keep_a_constant_number_of_requests() {
    let text = "generators = 3\nprocessors = 3\ncritical_share = 1.0\ninterarrival = 'constant(0)'";
    let mut load = build("generators", text).unwrap();
    let first: Vec<Arrival> = (0..3).map(|_| load.next(0).unwrap().unwrap()).collect();
    assert_eq!(load.next(0).unwrap(), None);
    load.completed(&answer(first[1].request, 7 * MS));
    assert_eq!(load.next(7 * MS).unwrap().unwrap().at, 7 * MS);
    assert_eq!(load.next(7 * MS).unwrap(), None);
    assert!(!load.has_rate());
}

#[test]
fn a_generator_computes_before_each_request_and_waits_if_it_is_critical() {
    let text = "generators = 1\nprocessors = 1\ninterarrival = 'constant(10)'\ncritical_share = ";
    assert_eq!(served(&format!("{text}1.0"), 5 * MS, 4), [10, 25, 40, 55]);
    assert_eq!(served(&format!("{text}0.0"), 5 * MS, 4), [10, 20, 30, 40]);
}

#[test]
fn a_limited_request_is_waited_for_after_its_limit() {
    let text = "generators = 1\nprocessors = 1\ninterarrival = 'constant(10)'\ncritical_share = 0.0\n\
                limited_share = 1.0\ntime_limit = ";
    // The request of 10 ms takes until 40: the generator waits from 14 on, with 6 ms left.
    assert_eq!(served(&format!("{text}'constant(4)'"), 30 * MS, 3), [10, 46, 82]);
    // It is complete before its limit.
    assert_eq!(served(&format!("{text}'constant(35)'"), 30 * MS, 3), [10, 20, 30]);
    // Negative limits are drawn again.
    assert_eq!(served(&format!("{text}'normal(0, 1)'"), 30 * MS, 3)[0], 10);
}

#[test]
fn generators_share_processors() {
    let text = "generators = 4\ninterarrival = 'constant(10)'\ncritical_share = ";
    // None waits: one generator keeps each processor.
    assert_eq!(served(&format!("{text}0.0\nprocessors = 1"), MS, 3), [10, 20, 30]);
    assert_eq!(served(&format!("{text}0.0\nprocessors = 2"), MS, 4), [10, 10, 20, 20]);
    // All wait: on one processor they take turns.
    assert_eq!(served(&format!("{text}1.0\nprocessors = 1"), MS, 5), [10, 20, 30, 40, 50]);
    // Four processors, of which the first takes up all generators that have waited.
    let times = served(&format!("{text}1.0\nprocessors = 4"), MS, 7);
    assert_eq!(times, [10, 10, 10, 10, 21, 31, 41]);
}

#[test]
fn places_are_sequential_local_or_anywhere() {
    let text = "requests = 1000\ngenerators = 1\nprocessors = 1\n";
    let near = |text: &str| {
        let all = run("generators", text);
        let apart = |pair: &[Arrival]| pair[1].request.lba.0.abs_diff(pair[0].request.lba.0);
        all.windows(2).filter(|pair| apart(pair) < 2000).count()
    };
    assert!(near(text) < 10);
    assert!((450..550).contains(&near(&format!("{text}local_share = 0.5"))));
    assert!((450..550).contains(&near(&format!("{text}sequential_share = 0.5"))));
}

#[test]
fn every_option_changes_the_requests() {
    let base = "requests = 100\nlimited_share = 0.2\nlocal_share = 0.2\nsequential_share = 0.2\n";
    let of = |text: &str| {
        let mut table: toml::Table = toml::from_str(base).unwrap();
        table.extend(toml::from_str::<toml::Table>(text).unwrap());
        served(&toml::to_string(&table).unwrap(), 50 * MS, 100)
    };
    let places =
        |text: &str| run("generators", &format!("requests = 50\nlocal_share = 0.5\n{text}"));
    for text in [
        "generators = 3",
        "processors = 2",
        "critical_share = 0.1",
        "limited_share = 0.4",
        "time_limit = 'constant(1)'",
        "interarrival = 'constant(3)'",
        "sequential_interarrival = 'constant(3)'",
        "local_interarrival = 'constant(3)'",
        "local_share = 0.1",
        "sequential_share = 0.3",
        "generator = 'drand48'",
    ] {
        assert_ne!(of(text), of(""), "{text}");
    }
    for text in [
        "local_distance = 'uniform(-10, 10)'",
        "read_share = 0.5",
        "size = 'constant(8)'",
        "block_size = '8KiB'",
        "footprint = 0.5",
    ] {
        assert_ne!(places(text), places(""), "{text}");
    }
    assert_eq!(run("generators", "requests = 99").len(), 99);
}

#[test]
fn impossible_settings_are_refused() {
    let rows = [
        ("requests = 0", "workload.requests", "at least 1"),
        ("generators = 0", "workload.generators", "0 is not 1 to 4096"),
        ("processors = 5000", "workload.processors", "5000 is not 1 to 4096"),
        ("critical_share = 0.7\nlimited_share = 0.4", "workload.critical_share", "sum is above 1"),
        (
            "local_share = 0.7\nsequential_share = 0.4",
            "workload.sequential_share",
            "sum is above 1",
        ),
        ("read_share = 2.0", "workload.read_share", "2 is not a share"),
        ("interarrival = 'constant(-1)'", "workload.interarrival", "negative times"),
        (
            "time_limit = 'constant(-1)'\nlimited_share = 0.1",
            "workload.time_limit",
            "negative times",
        ),
        ("size = 'constant(0)'", "workload.size", "no size of at least one sector"),
    ];
    for (text, key, problem) in rows {
        assert_refused("generators", text, key, problem);
    }
    let late = "critical_share = 0.0\ninterarrival = 'constant(1e14)'";
    assert!(build("generators", late).unwrap().next(0).unwrap_err().0.contains("500 years"));
}
