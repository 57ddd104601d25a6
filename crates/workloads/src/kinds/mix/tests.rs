use super::super::tests::{answer, arrivals, assert_refused, build, context, run};
use super::*;
use engine::Op;

const HALVES: &str = "
[[streams]]
kind = 'closed'
requests = 30000
read_share = 0.0
weight = 3
to = 0.5
[[streams]]
kind = 'closed'
requests = 10000
block_size = '8KiB'
weight = 1
from = 0.5
";

#[test]
fn streams_stay_on_their_parts_and_keep_their_weights() {
    let arrivals = run("mix", HALVES);
    assert_eq!(arrivals.len(), 40_000);
    assert!(arrivals.iter().enumerate().all(|(id, a)| a.request.id == id as u64));
    let middle = 1 << 20;
    for Arrival { request, .. } in &arrivals {
        let first = request.op == Op::Write;
        assert_eq!(first, request.lba.0 < middle);
        assert_eq!(request.sectors, if first { 8 } else { 16 });
        assert!(request.lba.0 + u64::from(request.sectors) <= 1 << 21);
    }
    let writes = arrivals[..10_000].iter().filter(|a| a.request.op == Op::Write).count();
    assert!((7_280..7_720).contains(&writes), "{writes}");
}

#[test]
fn a_stream_asks_what_it_would_ask_alone() {
    let alone = run("closed", "requests = 50\nfootprint = '512MiB'");
    let text = "[[streams]]\nkind = 'closed'\nrequests = 50\nto = 0.5\n\
                [[streams]]\nkind = 'closed'\nrequests = 50\nread_share = 0.0\nfrom = '512MiB'";
    let mixed = run("mix", text);
    let reads = mixed.iter().filter(|a| a.request.op == Op::Read);
    assert!(reads.map(|a| a.request.lba).eq(alone.iter().map(|a| a.request.lba)));
    // The second stream has its own random source.
    let writes: Vec<u64> = mixed
        .iter()
        .filter(|a| a.request.op == Op::Write)
        .map(|a| a.request.lba.0 - (1 << 20))
        .collect();
    assert!(!writes.iter().eq(alone.iter().map(|a| &a.request.lba.0)));
}

#[test]
fn a_turn_waits_for_its_stream() {
    // The second stream has queue depth 1 and gets half of the turns.
    let text = "[[streams]]\nkind = 'closed'\nrequests = 1000\nweight = 1.0\noutstanding = 64\n\
                [[streams]]\nkind = 'closed'\nrequests = 1000\nweight = 1.0\noutstanding = 1\n\
                read_share = 0.0";
    let mut workload = build("mix", text).unwrap();
    let mut single = None;
    while let Some(arrival) = workload.next(0).unwrap() {
        if arrival.request.op == Op::Write {
            assert_eq!(single.replace(arrival.request), None, "one outstanding");
        }
    }
    workload.completed(&answer(single.unwrap(), 9));
    let next = workload.next(9).unwrap().unwrap();
    assert_eq!((next.at, next.request.op), (9, Op::Write), "it was its turn");
}

#[test]
fn clocks_and_loops_keep_their_own_pace() {
    let text = "[[streams]]\nkind = 'open'\nrequests = 5\ninterarrival = 'constant(1)'\n\
                size = 'constant(8)'\n[[streams]]\nkind = 'closed'\nrequests = 3\n\
                read_share = 0.0\noutstanding = 1\nthink_time = '1500us'";
    let times: Vec<(Time, Op)> = run("mix", text).iter().map(|a| (a.at, a.request.op)).collect();
    let (r, w) = (Op::Read, Op::Write);
    let expected =
        [(0, w), (1000, r), (1500, w), (2000, r), (3000, r), (3000, w), (4000, r), (5000, r)];
    assert!(times.iter().copied().eq(expected.map(|(us, op)| (us * 1000, op))), "{times:?}");
}

#[test]
fn an_answer_brings_the_next_request_of_its_stream_forward() {
    let text = "[[streams]]\nkind = 'open'\nrequests = 2\ninterarrival = 'constant(1)'\n\
                size = 'constant(8)'\n[[streams]]\nkind = 'closed'\nrequests = 3\nread_share = 0.0\n\
                outstanding = 1";
    let mut workload = build("mix", text).unwrap();
    let first = workload.next(0).unwrap().unwrap();
    let clock = workload.next(0).unwrap().unwrap();
    assert_eq!((first.at, clock.at), (0, 1_000_000));
    workload.completed(&answer(first.request, 300));
    assert!(workload.take_back());
    let second = workload.next(300).unwrap().unwrap();
    assert_eq!((second.at, second.request.op, second.request.id), (300, Op::Write, 1));
    let clock = workload.next(300).unwrap().unwrap();
    assert_eq!((clock.at, clock.request.op, clock.request.id), (1_000_000, Op::Read, 2));
}

#[test]
fn every_stream_has_its_own_queues_and_its_classes() {
    let text = "[[streams]]\nkind = 'closed'\nrequests = 9\n\
                [[streams]]\nkind = 'threads'\nrequests = 900\nfrom = 0.5\n\
                classes.a.threads = 2\nclasses.b.rate = 50000\n\
                [[streams]]\nkind = 'mix'\n[[streams.streams]]\nkind = 'closed'\nrequests = 5\n\
                [[streams.streams]]\nkind = 'closed'\nrequests = 5\n\
                [[streams]]\nkind = 'threads'\nrequests = 9\nclasses.a.depth = 3";
    let mut workload = build("mix", text).unwrap();
    let found: Vec<_> = workload.classes().into_iter().map(|it| (it.name, it.queues)).collect();
    let named = |name: &str, queues| (name.to_owned(), queues);
    let expected =
        [named("stream 2 a", 1..3), named("stream 2 b", 3..4), named("stream 4 a", 6..7)];
    assert_eq!(found, expected);
    // Each stream sees its own completions.
    let all = arrivals(&mut *workload);
    assert_eq!(all.len(), 928);
    let of = |queue| all.iter().filter(|it| it.request.queue == queue).count();
    assert_eq!([0, 4, 5, 6].map(of), [9, 5, 5, 9]);
    assert_eq!((1..4).map(of).sum::<usize>(), 900);
}

#[test]
fn a_mix_of_mixes_is_a_mix() {
    let text = "[[streams]]\nkind = 'mix'\nfrom = 0.5\n[[streams.streams]]\nkind = 'closed'\n\
                requests = 9\nfrom = 0.5";
    let arrivals = run("mix", text);
    assert_eq!(arrivals.len(), 9);
    assert!(arrivals.iter().all(|a| a.request.lba.0 >= (1 << 20) + (1 << 19)));
}

#[test]
fn the_limit_holds_and_is_expected() {
    let expected = |text: &str| build("mix", text).unwrap().expected_requests();
    assert_eq!(expected(HALVES), Some(40_000));
    let limited = format!("requests = 7\n{HALVES}");
    assert_eq!(expected(&limited), Some(7));
    assert_eq!(run("mix", &limited), run("mix", HALVES)[..7]);
}

#[test]
fn a_mix_is_written_as_it_was_read() {
    let layer: toml::Table = toml::from_str(HALVES).unwrap();
    let config = WorkloadConfig::resolve("mix", [layer]).unwrap();
    let mut written = toml::Table::try_from(&config).unwrap();
    let text = toml::to_string(&config).unwrap();
    assert!(text.contains("[[streams]]\nkind = \"closed\""), "{text}");
    written.remove("kind");
    let again = WorkloadConfig::resolve("mix", [written]).unwrap();
    assert_eq!(again, config);
    let mut workload = again.build(&context(1 << 21, 42)).unwrap();
    assert_eq!(arrivals(&mut *workload), run("mix", HALVES));
}

#[test]
fn every_key_of_a_stream_changes_the_requests() {
    let base = run("mix", HALVES);
    for (from, to) in [
        ("weight = 3", "weight = 2"),
        ("to = 0.5", "to = 0.25"),
        ("from = 0.5", "from = 0.25"),
        ("weight = 1\n", ""),
        ("kind = 'closed'\nrequests = 10000\nblock_size = '8KiB'", "kind = 'jesd219'"),
    ] {
        assert_ne!(run("mix", &HALVES.replace(from, to)), base, "{to}");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let one = |keys: &str| format!("[[streams]]\nkind = 'closed'\n{keys}");
    for (text, key, problem) in [
        (String::new(), "workload.streams", "here are 0"),
        (format!("requests = 0\n{HALVES}"), "workload.requests", "at least 1"),
        (one("weight = 0"), "workload.streams[0].weight", "0 is not a number above 0"),
        (one("read_share = 2"), "workload.streams[0].read_share", "2 is not a share"),
        (one("from = '2GiB'"), "workload.streams[0].from", "2GiB is more than the device's 1GiB"),
        (one("from = 0.5\nto = 0.25"), "workload.streams[0].from", "from 512MiB to 256MiB"),
        (
            "[[streams]]\nkind = 'threads'\nclasses.a.threads = 65536\n[[streams]]\nkind = 'closed'"
                .to_owned(),
            "workload.streams",
            "more than 65536 submission queues",
        ),
        (one("to = 0.5\nfootprint = '1GiB'"), "workload.streams[0].footprint", "device's 512MiB"),
        (
            "[[streams]]\nkind = 'open'\nweight = 1".to_owned(),
            "workload.streams[0].weight",
            "open asks by the clock",
        ),
    ] {
        assert_refused("mix", &text, key, problem);
    }
}

#[test]
fn malformed_settings_are_refused_with_their_stream() {
    for (text, message) in [
        (
            "[[streams]]\nkind = 'closed'\n[[streams]]\nkind = 'closed'\noutstandig = 1",
            "stream 2: unknown field `outstandig`, expected one of `requests`, ",
        ),
        ("[[streams]]\nkind = 'closed'\noutstandig = 1", "(did you mean outstanding?)"),
        ("[[streams]]\nkind = 'closd'", "stream 1: workload.kind: \"closd\" is not one of"),
        ("[[streams]]\nread_share = 1", "stream 1: it has no `kind`"),
        ("streams = [1]", "stream 1: it is not a table of keys"),
        ("[[streams]]\nkind = 'closed'\nblock_size = 5", "stream 1: invalid type: integer `5`"),
        ("[[streams]]\nkind = 'closed'\nfrom = 5", "stream 1: 5 is not a share of the device"),
        ("[[streams]]\nkind = 'closed'\nweight = 'x'", "stream 1: invalid type: string \"x\", exp"),
        ("[[streams]]\nkind = 5", "stream 1: invalid type: integer `5`, expected a string"),
        (
            "[[streams]]\nkind = 'mix'\n[[streams.streams]]\nkind = 'closed'\nreads = 1",
            "stream 1: stream 1: unknown field `reads`, expected one of `requests`, ",
        ),
        ("[[streams]]\nkind = 'closed'\nrequests = -1", "stream 1: invalid value: integer `-1`"),
    ] {
        let layer: toml::Table = toml::from_str(text).unwrap();
        let error = WorkloadConfig::resolve("mix", [layer]).unwrap_err().to_string();
        // The message's first line names the problem; the position of the streams follows.
        assert!(error.lines().next().unwrap().contains(message), "{text}: {error}");
    }
}
