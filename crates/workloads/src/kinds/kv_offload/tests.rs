//! Closed-form checks of key-value offloading, without a device.

use super::super::tests::{assert_refused, build};
use super::KvOffload;
use crate::chains::tests::{Asked, against};
use engine::{Op, Request, Time};

/// Three workers with objects of 1, 2 and 4 MiB, prompts of two objects, on 256 MiB.
const SMALL: &str = "workers = 3\nobjects = '1MiB, 2MiB, 4MiB'\nprompt = 2\nfootprint = '256MiB'\nrequests = 100000\n";

fn run(text: &str) -> (Vec<Asked>, impl Fn(&str) -> f64 + use<>) {
    let own: toml::Table = toml::from_str(text).unwrap();
    let kept = SMALL.lines().filter(|line| !own.contains_key(line.split(' ').next().unwrap()));
    let text = format!("{}\n{text}", kept.collect::<Vec<_>>().join("\n"));
    let mut workload = build("kv_offload", &text).unwrap();
    let takes = |request: &Request| -> Time { 1000 + u64::from(request.sectors) };
    let asked = against(&mut *workload, usize::MAX, takes);
    let notices = workload.notices();
    (asked, move |name: &str| notices.iter().find(|(it, _)| *it == name).unwrap().1 as f64)
}

fn bytes(asked: &[Asked], op: Op) -> f64 {
    asked.iter().filter(|it| it.request.op == op).map(|it| it.request.bytes()).sum::<u64>() as f64
}

#[test]
fn chunks_have_the_size_that_the_model_makes_them() {
    // 2 x 32 layers x 8 heads x 128 x 2 B = 128 KiB per token, 32 MiB per chunk of 256; with 80
    // layers 320 KiB and 80 MiB.
    for (layers, token, chunk) in [(32, 128, 32), (80, 320, 80)] {
        let options = KvOffload { layers, objects: String::new(), ..Default::default() };
        assert_eq!(options.token_bytes(), token << 10);
        assert_eq!(options.sizes().unwrap(), [(chunk << 20) / 4096]);
    }
}

#[test]
fn what_is_not_a_hit_is_written() {
    for hit in [0.5, 0.92, 0.0, 1.0] {
        let (asked, count) = run(&format!("hit_share = {hit}"));
        let share = count("kv_hits") / (count("kv_hits") + count("kv_puts"));
        // The first prompt of each worker is always new.
        assert!((share - hit).abs() < 0.01, "{hit}: {share}");
        // Write rate = (1 - hit) x token rate x bytes per token: all writes are puts.
        assert!((bytes(&asked, Op::Write) / count("kv_put_bytes") - 1.0).abs() < 0.02);
        if hit < 1.0 && hit > 0.0 {
            assert!((bytes(&asked, Op::Read) / count("kv_got_bytes") - 1.0).abs() < 0.02);
        }
        assert!(asked.iter().all(|it| it.request.op == Op::Trim || it.request.sectors == 256));
    }
}

#[test]
fn nothing_is_read_that_was_not_written_and_nothing_written_over_that_was_not_trimmed() {
    for text in
        ["", "eviction = 'fifo'", "eviction = 'ttl'\nttl = '50ms'", "hit_share = 0.3\nworkers = 9"]
    {
        let (asked, count) = run(text);
        assert!(count("kv_evicted") > 50.0, "{text}");
        let mut holds = vec![false; 1 << 16];
        let mut events: Vec<(Time, bool, usize)> = Vec::new();
        for (at, it) in asked.iter().enumerate() {
            events.extend([(it.at, true, at), (it.end, false, at)]);
        }
        events.sort_by_key(|(time, begins, at)| (*time, *begins, *at));
        for (_, begins, at) in events {
            for block in asked[at].blocks() {
                let held = &mut holds[block as usize];
                match (asked[at].request.op, begins) {
                    (Op::Read, true) => assert!(*held, "{text}"),
                    (Op::Write, true) => assert!(!*held, "{text}"),
                    (Op::Write, false) => *held = true,
                    (Op::Trim, false) => *held = false,
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn an_object_has_one_size_all_its_life() {
    // Handles by worker: a prompt writes 2 objects of the worker's size, regardless of earlier
    // prompts.
    let (asked, _) = run("placement = 'size'\nhit_share = 0.5\noutstanding = 1");
    let mut bytes_of = [0u64; 3];
    for it in asked.iter().filter(|it| it.request.op == Op::Write) {
        bytes_of[usize::from(it.request.handle.number().unwrap())] += it.request.bytes();
    }
    for (size, bytes) in bytes_of.iter().enumerate() {
        // Whole prompts, except for the last.
        let prompt = 2 << (20 + size);
        assert!(bytes / prompt > 20 && bytes % prompt < prompt, "{size}: {bytes}");
    }
}

/// Bytes written between the write and the trim of each block, in the order of trims.
fn lives(asked: &[Asked]) -> Vec<u64> {
    let mut born = vec![0u64; 1 << 16];
    let (mut now, mut lives) = (0, Vec::new());
    for it in asked {
        for block in it.blocks() {
            match it.request.op {
                Op::Write => {
                    now += 1;
                    born[block as usize] = now;
                }
                Op::Trim => lives.push(now - born[block as usize]),
                _ => {}
            }
        }
    }
    lives
}

#[test]
fn what_was_written_first_goes_first_and_what_is_read_stays() {
    let spread = |text: &str| {
        let (asked, _) = run(&format!("{text}\nhit_share = 0.7\nworkers = 1\nobjects = '1MiB'"));
        let lives = lives(&asked);
        let mean = lives.iter().sum::<u64>() as f64 / lives.len() as f64;
        let squares = lives.iter().map(|it| (*it as f64 - mean).powi(2)).sum::<f64>();
        (squares / lives.len() as f64).sqrt() / mean
    };
    // First in, first out: all blocks live until the space is used up once. With LRU, repeated
    // prompts live longer than others.
    assert!(spread("eviction = 'fifo'") < 0.02, "{}", spread("eviction = 'fifo'"));
    assert!(spread("") > 0.2, "{}", spread(""));
}

#[test]
fn every_option_changes_the_requests() {
    let base = run("requests = 60000").0;
    for text in [
        "requests = 10000",
        "workers = 2",
        "outstanding = 4",
        "objects = '1MiB'",
        "objects = ''\nchunk = 16",
        "prompt = 3",
        "hit_share = 0.8",
        "skew = 2.0",
        "compute = '1ms'",
        "eviction = 'fifo'",
        "eviction = 'ttl'\nttl = '1ms'",
        "request_size = '64KiB'",
        "trim = false",
        "placement = 'worker'",
        "placement = 'size'",
        "footprint = '128MiB'",
    ] {
        let requests = if text.starts_with("requests") { "" } else { "\nrequests = 60000" };
        assert_ne!(run(&format!("{text}{requests}")).0, base, "{text}");
    }
    let model =
        |key: &str| run(&format!("requests = 2000\nobjects = ''\nlayers = 2\nchunk = 64\n{key}")).0;
    for key in ["heads = 4", "head_dimension = 64"] {
        assert_ne!(model(key), model(""), "{key}");
    }
    assert_ne!(run("requests = 2000\nobjects = ''\nlayers = 4\nchunk = 64").0, model(""));
    let ttl = |time: &str| run(&format!("eviction = 'ttl'\nttl = '{time}'")).0;
    assert_ne!(ttl("1ms"), ttl("10ms"));
}

#[test]
fn impossible_settings_are_refused() {
    for (text, key, problem) in [
        ("requests = 0", "workload.requests", "at least 1"),
        ("workers = 0", "workload.workers", "0 is not possible"),
        ("hit_share = 1.1", "workload.hit_share", "1.1 is not a share"),
        ("skew = 11", "workload.skew", "11 is no exponent"),
        ("objects = '1MiB, x'", "workload.objects", "sizes with commas between"),
        ("objects = '1000B'", "workload.objects", "no multiple of 4KiB"),
        ("objects = ''\nlayers = 0", "workload.layers", "an object of 0 bytes is not possible"),
        ("footprint = '512MiB'", "workload.objects", "a prompt of each of 9 workers takes"),
    ] {
        assert_refused("kv_offload", text, key, problem);
    }
}
