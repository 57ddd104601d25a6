//! Closed-form checks of paging, without a device.

#![expect(clippy::float_cmp, reason = "counts are whole numbers")]

use super::super::tests::{assert_refused, build};
use super::pages::{Pages, Place};
use crate::chains::tests::{Asked, against};
use engine::{Op, Random, Request, Time, Xoshiro256};

/// 4,000 pages with 1,000 in memory, and one thread that only reads.
const SMALL: &str = "working_set = '16000KiB'\nmemory = '4000KiB'\ntouches = 40000\nthreads = 1\nread_share = 1.0\n\
    read_ahead = 1\nload = false\n";
const TOUCHES: f64 = 40_000.0;

fn run<T>(text: &str, takes: T) -> (Vec<Asked>, impl Fn(&str) -> f64 + use<T>)
where
    T: FnMut(&Request) -> Time,
{
    let own: toml::Table = toml::from_str(text).unwrap();
    let kept = SMALL.lines().filter(|line| !own.contains_key(line.split(' ').next().unwrap()));
    let text = format!("{}\n{text}", kept.collect::<Vec<_>>().join("\n"));
    let mut workload = build("paging", &text).unwrap();
    let asked = against(&mut *workload, usize::MAX, takes);
    let notices = workload.notices();
    let name_of = |name: &str| format!("paging_{name}");
    (asked, move |name: &str| notices.iter().find(|(it, _)| *it == name_of(name)).unwrap().1 as f64)
}

fn end(asked: &[Asked]) -> f64 {
    asked.iter().map(|it| it.end).max().unwrap() as f64
}

fn of(asked: &[Asked], op: Op) -> Vec<Asked> {
    asked.iter().filter(|it| it.request.op == op).copied().collect()
}

#[test]
fn of_pages_touched_alike_as_many_are_lacking_as_do_not_fit() {
    let (asked, count) = run("", |_| 100_000);
    assert_eq!(count("touches"), TOUCHES);
    // The standard deviation of the share is 0.002.
    let share = count("faults") / TOUCHES;
    assert!((share - 0.75).abs() < 0.01, "{share}");
    // The single thread computes 1 us per touch and waits 100 us per fault.
    let expected = TOUCHES * 1e3 + count("faults") * 1e5;
    assert!((end(&asked) - expected).abs() < 1e5, "{} {expected}", end(&asked));
    assert_eq!(count("wait_ns"), count("faults") * 1e5);
    assert!(asked.iter().all(|it| it.request.op == Op::Read && it.request.sectors == 8));
}

#[test]
fn hot_pages_are_in_memory() {
    let (_, uniform) = run("", |_| 1000);
    let (_, skewed) = run("locality = 'hot-cold(0.9, 0.1)'", |_| 1000);
    // 400 hot pages stay resident, and the rest of the memory serves the other 3,600: about a
    // sixth.
    let share = skewed("faults") / TOUCHES;
    assert!((0.078..0.1).contains(&share), "{share}");
    assert!(skewed("faults") < 0.15 * uniform("faults"));
}

#[test]
fn a_loop_over_more_than_memory_lacks_every_page_and_reading_ahead_finds_the_next_ones() {
    // The first round begins with 1,000 resident pages; after that, each next page was the one
    // evicted longest ago.
    let (_, count) = run("random_share = 0.0\ntouches = 9000", |_| 1000);
    assert_eq!((count("faults"), count("pages_read")), (8000.0, 8000.0));
    let (asked, count) = run("random_share = 0.0\ntouches = 9000\nread_ahead = 8", |_| 1000);
    assert_eq!((count("faults"), count("pages_read")), (1000.0, 8000.0));
    assert!(asked.iter().all(|it| it.request.sectors == 64));
}

#[test]
fn what_is_changed_is_written_before_its_memory_is_used_again() {
    let (asked, count) = run("read_share = 0.0", |_| 1000);
    // Loaded pages are later written, except for the initial and final content of memory.
    assert!((count("pages_written") - count("pages_read")).abs() <= 1000.0 + 32.0);
    // Clusters of 32, adjacent while the swap space is mostly empty.
    let writes = of(&asked, Op::Write);
    let pages: f64 = writes.iter().map(|it| f64::from(it.request.sectors / 8)).sum();
    assert_eq!(pages, count("pages_written"));
    assert!(pages / writes.len() as f64 > 24.0, "{}", pages / writes.len() as f64);
    let (_, some) = run("read_share = 0.5", |_| 1000);
    assert!(some("pages_written") < count("pages_written"));
    let (asked, none) = run("", |_| 1000);
    assert_eq!(none("pages_written"), 0.0);
    assert!(of(&asked, Op::Write).is_empty());
}

#[test]
fn a_program_is_no_faster_than_its_changed_pages_are_written() {
    let takes = |request: &Request| if request.op == Op::Write { 10_000_000 } else { 1000 };
    let (asked, count) = run("read_share = 0.0\nthreads = 4", takes);
    // Slots are mostly adjacent: a write of 32 pages per 10 ms.
    let expected = count("pages_written") / 32.0 * 1e7;
    assert!((end(&asked) / expected - 1.0).abs() < 0.05, "{} {expected}", end(&asked));
    // Each fault waits for its share: four threads and 32 pages per write.
    let mean = count("wait_ns") / count("faults");
    assert!((mean / (4.0 * 1e7 / 32.0) - 1.0).abs() < 0.1, "{mean}");
}

#[test]
fn threads_wait_for_one_page_each() {
    let (asked, _) = run("threads = 5\nread_share = 0.8", |_| 50_000);
    let mut events: Vec<(Time, i32)> =
        of(&asked, Op::Read).iter().flat_map(|it| [(it.at, 1), (it.end, -1)]).collect();
    events.sort_unstable();
    let mut now = 0;
    let most = events.iter().map(|(_, by)| {
        now += by;
        now
    });
    assert_eq!(most.max(), Some(5));
}

#[test]
fn no_two_pages_have_one_place_whatever_happens() {
    for (slots, seed) in [(300, 1), (301, 2), (1000, 3)] {
        let (count, memory) = (300, 100);
        let mut pages = Pages::new(count, memory, slots);
        let mut random = Xoshiro256::new(seed, 0);
        let mut leaving: Option<Vec<u32>> = None;
        for round in 0..20_000 {
            let page = random.below(u64::from(count)) as u32;
            if pages.place(page) != Place::Out {
                pages.touch(page);
                if random.below(2) == 0 {
                    pages.change(page);
                }
            } else if let Some(read) = pages.fetch(page, 4) {
                assert!(read.blocks <= 4 && read.first + read.blocks <= u64::from(slots));
                assert_eq!(pages.place(page), Place::In);
            }
            if random.below(4) == 0 {
                match leaving.take() {
                    Some(them) => pages.written(&them),
                    None => leaving = Some(pages.evict(16).0),
                }
            }
            if round % 100 == 0 {
                pages.check(memory);
            }
        }
    }
}

#[test]
fn the_working_set_is_written_first() {
    let (asked, _) = run("load = true", |_| 1000);
    let writes = of(&asked, Op::Write);
    assert_eq!(writes.iter().map(|it| it.request.bytes()).sum::<u64>(), 4000 * 4096);
    let last = writes.iter().map(|it| it.end).max().unwrap();
    assert!(of(&asked, Op::Read).iter().all(|it| it.at >= last));
}

#[test]
fn every_option_changes_the_requests() {
    let writes = "read_share = 0.5\n";
    let base = run(writes, |_| 1000).0;
    for text in [
        "requests = 50",
        "touches = 20000",
        "threads = 3",
        "working_set = '20MiB'",
        "memory = '2MiB'",
        "compute = '2us'",
        "random_share = 0.5",
        "locality = 'zipf(0.9)'",
        "read_ahead = 4",
        "cluster = 16",
        "load = true",
        "footprint = '16MiB'",
    ] {
        assert_ne!(run(&format!("{writes}{text}"), |_| 1000).0, base, "{text}");
    }
    assert_ne!(run("read_share = 0.6", |_| 1000).0, base);
}

#[test]
fn impossible_settings_are_refused() {
    for (text, key, problem) in [
        ("requests = 0", "workload.requests", "at least 1"),
        ("touches = 0", "workload.touches", "at least 1"),
        ("threads = 0", "workload.threads", "0 is not possible"),
        ("read_ahead = 0", "workload.read_ahead", "0 is not possible"),
        ("cluster = 2000", "workload.cluster", "2000 is not possible"),
        ("read_share = 2.0", "workload.read_share", "2 is not a share"),
        ("working_set = '5000B'", "workload.working_set", "5000B is no multiple of 4KiB"),
        ("memory = '3GiB'", "workload.memory", "3GiB hold all of 2GiB, so that nothing is paged"),
        ("memory = '256KiB'", "workload.memory", "it must be at least 576KiB"),
        ("", "workload.working_set", "2GiB do not fit into a swap space of 1GiB"),
    ] {
        assert_refused("paging", text, key, problem);
    }
}
