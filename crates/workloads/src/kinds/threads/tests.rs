use super::super::tests::{answer, arrivals, assert_refused, build, context, run};
use super::super::{ResolveError, WorkloadConfig};
use super::*;

/// The SSD-iq load: one clocked thread, and six with random gaps.
const PUBLISHED: &str = "
requests = 200000
rate = 45000
[classes.measured]
rate = 10000
arrivals = 'fixed'
read_share = 0.5
depth = 64
[classes.others]
threads = 6
rate = 'workload'
rate_less = 5000
read_share = 0.01
depth = 64
";

fn share(of: &[&Arrival], is: impl Fn(&Request) -> bool) -> f64 {
    of.iter().filter(|a| is(&a.request)).count() as f64 / of.len() as f64
}

#[test]
fn the_published_load_is_asked_as_it_is_described() {
    let all = run("threads", PUBLISHED);
    assert!(all.iter().enumerate().all(|(id, a)| a.request.id == id as u64));
    assert!(all.is_sorted_by_key(|a| a.at));
    let of = |queue| all.iter().filter(|a| a.request.queue == queue).collect::<Vec<_>>();
    let measured = of(0);
    assert!(measured.iter().enumerate().all(|(n, a)| a.at == n as Time * 100_000));
    let reads = share(&measured, |request| request.op == Op::Read);
    assert!((0.49..0.51).contains(&reads), "{reads}");
    for queue in 1..=6 {
        let own = of(queue);
        let rate = own.len() as f64 / (own[own.len() - 1].at as f64 / 1e9);
        assert!((6_500.0..6_830.0).contains(&rate), "queue {queue}: {rate}, not 40,000 / 6");
        let reads = share(&own, |request| request.op == Op::Read);
        assert!((0.007..0.013).contains(&reads), "queue {queue}: {reads}");
        // Of exponential gaps, a share 1 - 1/e is below the mean.
        let gaps: Vec<f64> = own.windows(2).map(|two| (two[1].at - two[0].at) as f64).collect();
        let short = gaps.iter().filter(|gap| **gap < 150_000.0).count() as f64 / gaps.len() as f64;
        assert!((0.62..0.645).contains(&short), "queue {queue}: {short}");
    }
    assert!(of(7).is_empty());
    let classes = build("threads", PUBLISHED).unwrap().classes();
    let found: Vec<_> = classes.iter().map(|it| (it.name.as_str(), it.queues.clone())).collect();
    assert_eq!(found, [("measured", 0..1), ("others", 1..7)]);
}

#[test]
fn a_thread_that_falls_behind_catches_up() {
    let text = "[classes.a]\nrate = 1000\narrivals = 'fixed'\ndepth = 2";
    let mut workload = build("threads", text).unwrap();
    let ms = 1_000_000;
    let mut asked = Vec::new();
    for at in [0, ms] {
        let arrival = workload.next(at).unwrap().unwrap();
        assert_eq!(arrival.at, at);
        asked.push(arrival.request);
    }
    // The requests due at 2, 3 and 4 ms wait for a completion.
    assert_eq!(workload.next(ms).unwrap(), None);
    workload.completed(&answer(asked[0], 4 * ms + 5));
    let third = workload.next(4 * ms + 5).unwrap().unwrap();
    assert_eq!(third.at, 4 * ms + 5);
    assert_eq!(workload.next(4 * ms + 5).unwrap(), None);
    workload.completed(&answer(asked[1], 4 * ms + 7));
    workload.completed(&answer(third.request, 4 * ms + 8));
    let times: Vec<Time> = (0..4)
        .map(|_| {
            let arrival = workload.next(4 * ms + 8).unwrap().unwrap();
            workload.completed(&answer(arrival.request, arrival.at));
            arrival.at
        })
        .collect();
    // Two immediately, then by the clock.
    assert_eq!(times, [4 * ms + 8, 4 * ms + 8, 5 * ms, 6 * ms]);
}

#[test]
fn without_a_rate_the_depth_is_kept() {
    let text = "requests = 9\n[classes.a]\nthreads = 2\ndepth = 2\n[classes.b]";
    let mut workload = build("threads", text).unwrap();
    let mut queues = Vec::new();
    let mut first = None;
    while let Some(arrival) = workload.next(7).unwrap() {
        assert_eq!(arrival.at, 7);
        queues.push(arrival.request.queue);
        first.get_or_insert(arrival.request);
    }
    // Threads alternate.
    assert_eq!(queues, [0, 1, 2, 0, 1]);
    workload.completed(&answer(first.unwrap(), 9));
    let next = workload.next(9).unwrap().unwrap();
    assert_eq!((next.at, next.request.queue, next.request.id), (9, 0, 5));
    assert_eq!(workload.next(9).unwrap(), None);
}

#[test]
fn an_answer_brings_the_next_request_of_its_thread_forward() {
    let text = "[classes.clock]\nrate = 1000\narrivals = 'fixed'\n[classes.loop]\nread_share = 0.0";
    let mut workload = build("threads", text).unwrap();
    let first = workload.next(0).unwrap().unwrap();
    let second = workload.next(0).unwrap().unwrap();
    assert_eq!([first.request.queue, second.request.queue], [0, 1]);
    workload.completed(&answer(first.request, 10));
    let clock = workload.next(10).unwrap().unwrap();
    assert_eq!((clock.at, clock.request.id, clock.request.queue), (1_000_000, 2, 0));
    // Nothing precedes the last arrival.
    assert!(!workload.take_back());
    workload.completed(&answer(second.request, 300));
    assert!(workload.take_back());
    let third = workload.next(300).unwrap().unwrap();
    assert_eq!((third.at, third.request.id, third.request.queue), (300, 2, 1));
    // The withdrawn request comes later, with another number.
    let again = workload.next(300).unwrap().unwrap();
    let request = Request { id: 3, ..clock.request };
    assert_eq!(again, Arrival { at: 1_000_000, request });
}

#[test]
fn a_class_asks_what_it_would_ask_alone() {
    let a = "[classes.a]\nrate = 3000\ndepth = 8\n";
    let alone = run("threads", &format!("requests = 300\n{a}"));
    let both = run("threads", &format!("requests = 1000\n{a}[classes.b]\nrate = 5000"));
    let of_a: Vec<_> = both.iter().filter(|it| it.request.queue == 0).take(300).collect();
    let what = |it: &Arrival| (it.at, it.request.op, it.request.lba);
    assert!(of_a.iter().map(|it| what(it)).eq(alone.iter().map(what)));
    // Each class has its own random source.
    let of_b = both.iter().filter(|it| it.request.queue == 1);
    assert!(!of_b.map(|it| it.request.lba).eq(alone.iter().map(|it| it.request.lba)));
}

#[test]
fn the_threads_of_a_class_with_a_clock_take_turns() {
    let all =
        run("threads", "requests = 8\n[classes.a]\nthreads = 4\nrate = 1e6\narrivals = 'fixed'");
    let found: Vec<_> = all.iter().map(|it| (it.at, it.request.queue)).collect();
    assert_eq!(found, (0..8).map(|n| (n * 1000, n as u16 % 4)).collect::<Vec<_>>());
}

#[test]
fn flushes_follow_their_writes_and_some_writes_are_durable() {
    let text = "requests = 6\n[classes.a]\nread_share = 0.0\nflush_every = 2\nrate = 1000\n\
                arrivals = 'fixed'";
    let all = run("threads", text);
    let found: Vec<_> = all.iter().map(|it| (it.at / 1000, it.request.op)).collect();
    let (w, f) = (Op::Write, Op::Flush);
    assert_eq!(found, [(0, w), (1000, w), (1000, f), (2000, w), (3000, w), (3000, f)]);
    let durable = |fua: f64| {
        let text = format!("requests = 10000\n[classes.a]\nread_share = 0.5\nfua = {fua:?}");
        let all = run("threads", &text);
        assert!(all.iter().all(|it| !it.request.fua || it.request.op == Op::Write));
        let writes: Vec<&Arrival> = all.iter().filter(|it| it.request.op == Op::Write).collect();
        share(&writes, |request| request.fua)
    };
    assert_eq!((durable(0.0), durable(1.0)), (0.0, 1.0));
    let some = durable(0.1);
    assert!((0.09..0.11).contains(&some), "{some}");
}

#[test]
fn every_key_changes_the_requests() {
    let text = "requests = 200\nrate = 4000\n[classes.a]\nrate = 'workload'\nrate_less = 1000\n\
                threads = 2\narrivals = 'poisson'\ndepth = 4\nread_share = 0.5\nfua = 0.5\n\
                flush_every = 9\nlocality = 'zipf(0.9)'\n";
    let base = run("threads", text);
    for (from, to) in [
        ("rate = 4000", "rate = 5000"),
        ("rate = 'workload'\nrate_less = 1000", "rate = 'workload'\nrate_less = 2000"),
        ("rate = 4000\n[classes.a]\nrate = 'workload'\nrate_less = 1000", "[classes.a]\nrate = 9"),
        ("threads = 2", "threads = 3"),
        ("'poisson'", "'fixed'"),
        ("read_share = 0.5", "read_share = 0.4"),
        ("fua = 0.5", "fua = 0.4"),
        ("flush_every = 9", "flush_every = 8"),
        ("'zipf(0.9)'", "'uniform'"),
        ("depth = 4", "depth = 4\nrandom_share = 0.5"),
        ("depth = 4", "depth = 4\nscatter = false"),
        ("depth = 4", "depth = 4\nblock_size = '8KiB'"),
        ("depth = 4", "depth = 4\nfootprint = 0.5"),
    ] {
        let other = text.replace(from, to);
        assert_ne!(other, text);
        assert_ne!(run("threads", &other), base, "{to}");
    }
    // The depth has an effect only if completions take time: see the tests above.
    assert_eq!(run("threads", &text.replace("requests = 200", "requests = 99")), base[..99]);
}

#[test]
fn impossible_settings_are_refused() {
    let one = |keys: &str| format!("[classes.a]\n{keys}");
    for (text, key, problem) in [
        (String::new(), "workload.classes", "at least one class"),
        (format!("requests = 0\n{}", one("")), "workload.requests", "at least 1"),
        (one("threads = 0"), "workload.classes.a.threads", "at least 1"),
        (one("threads = 65537"), "workload.classes.a.threads", "from 1 to 65536"),
        (one("depth = 0"), "workload.classes.a.depth", "at least 1"),
        (one("threads = 600\ndepth = 60000"), "workload.classes.a.depth", "from 1 to 16777216"),
        (one("read_share = 2"), "workload.classes.a.read_share", "2 is not a share"),
        (one("fua = -1"), "workload.classes.a.fua", "-1 is not a share"),
        (one("footprint = '2GiB'"), "workload.classes.a.footprint", "more than the device's"),
        (one("block_size = '5B'"), "workload.classes.a.block_size", "multiple of 512B"),
        (one("rate = 'workload'"), "workload.classes.a.rate", "workload.rate is not given"),
        (format!("rate = 9\n{}", one("")), "workload.rate", "no class has it"),
        (
            format!("rate = 9\n{}", one("rate = 'workload'\nrate_less = 9")),
            "workload.rate",
            "9, less 9, is not above 0",
        ),
        (format!("rate = 0\n{}", one("rate = 'workload'")), "workload.rate", "0 is not a rate"),
        (one("rate = 9\nrate_less = 1"), "workload.classes.a.rate_less", "with a rate of 9"),
        (one("rate_less = -1"), "workload.classes.a.rate_less", "-1 is not a rate from 0 up"),
        ("[classes.'a b']".to_owned(), "workload.classes", "not \"a b\""),
    ] {
        assert_refused("threads", &text, key, problem);
    }
}

#[test]
fn malformed_settings_are_refused() {
    for (text, message) in [
        ("[classes.a]\nrat = 1", "unknown field `rat`, expected one of `threads`, `rate`, "),
        ("[classes.a]\nrate = 0", "expected a number above 0, \"workload\" or \"unlimited\""),
        ("[classes.a]\nrate = 'fast'", "expected a number above 0, \"workload\" or"),
        ("[classes.a]\narrivals = 'poison'", "did you mean \"poisson\"?"),
        ("classes = 3", "invalid type: integer `3`, expected a map"),
    ] {
        let layer: toml::Table = toml::from_str(text).unwrap();
        let Err(ResolveError::Layer { error, .. }) = WorkloadConfig::resolve("threads", [layer])
        else {
            panic!("{text}: not refused")
        };
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
}

#[test]
fn threads_are_written_as_they_were_read() {
    let layer: toml::Table = toml::from_str(PUBLISHED).unwrap();
    let config = WorkloadConfig::resolve("threads", [layer]).unwrap();
    let mut written = toml::Table::try_from(&config).unwrap();
    written.remove("kind");
    let again = WorkloadConfig::resolve("threads", [written]).unwrap();
    assert_eq!(again, config);
    let mut workload = again.build(&context(1 << 21, 42)).unwrap();
    assert_eq!(arrivals(&mut *workload), run("threads", PUBLISHED));
}
