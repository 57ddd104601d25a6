use super::super::tests::{answer, assert_refused, context};
use super::*;
use crate::WorkloadConfig;
use crate::read::inputs::Inputs;
use engine::Op;
use std::collections::VecDeque;
use std::io::{Cursor, Read};

/// Capacity of the device, bytes.
const CAPACITY: u64 = 1 << 30;

fn build(text: &str) -> Result<Box<dyn Workload>, BuildError> {
    Diskspd { command: text.to_owned(), ..Diskspd::default() }.build(&context(1 << 21, 42))
}

/// The first `most` arrivals when every request takes `latency` ns.
fn run(text: &str, latency: Time, most: usize) -> Vec<Arrival> {
    let mut workload = build(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (mut all, mut answers) = (Vec::new(), VecDeque::new());
    let mut now = 0;
    while all.len() < most {
        let arrival = workload.next(now).unwrap();
        let due: Option<(Time, Request)> = answers.front().copied();
        match (arrival, due) {
            (None, None) => break,
            (None, Some((at, request))) => {
                now = at;
                answers.pop_front();
                workload.completed(&answer(request, at));
            }
            // As on a device, the earlier completion is reported first.
            (Some(arrival), Some((at, request))) if at < arrival.at => {
                assert!(workload.take_back());
                now = at;
                answers.pop_front();
                workload.completed(&answer(request, at));
            }
            (Some(arrival), _) => {
                now = arrival.at;
                answers.push_back((now + latency, arrival.request));
                all.push(arrival);
            }
        }
    }
    all
}

/// The first `most` positions, in KiB, of "diskspd OPTIONS a.dat".
fn kib(options: &str, most: usize) -> Vec<u64> {
    let all = run(&format!("diskspd {options} a.dat"), 1000, most);
    all.iter().map(|a| a.request.lba.0 / 2).collect()
}

/// Arrival of the first `most` requests, us, if each takes 10 us.
fn us(options: &str, most: usize) -> Vec<Time> {
    let all = run(&format!("diskspd {options} a.dat"), 10_000, most);
    all.iter().map(|a| a.at / 1000).collect()
}

fn refusal(text: &str) -> String {
    build(text).err().unwrap_or_else(|| panic!("not refused: {text}")).to_string()
}

#[test]
fn without_options_two_reads_of_64_kib_follow_each_other() {
    let all = run("diskspd a.dat", 1000, 6);
    let (ops, sizes): (Vec<Op>, Vec<u64>) =
        all.iter().map(|a| (a.request.op, a.request.bytes())).unzip();
    assert_eq!((ops, sizes), (vec![Op::Read; 6], vec![65536; 6]));
    assert_eq!(all.iter().map(|a| a.at).collect::<Vec<_>>(), [0, 0, 1000, 1000, 2000, 2000]);
    assert_eq!(kib("", 4), [0, 64, 128, 192]);
}

#[test]
fn places_in_a_row_are_those_of_diskspd() {
    assert_eq!(kib("-b4K", 4), [0, 4, 8, 12]);
    assert_eq!(kib("-b4096 -s64K", 4), [0, 64, 128, 192]);
    assert_eq!(kib("-b4K -s2b", 3), [0, 8, 16]);
    assert_eq!(kib("-b4K -B1M", 3), [1024, 1028, 1032]);
    assert_eq!(kib("-b4K -B2b -f16K", 4), [8, 12, 8, 12]);
    assert_eq!(kib("-b4K -c12K", 5), [0, 4, 8, 0, 4]);
    assert_eq!(kib("-b4K -c12K -s8K", 4), [0, 8, 0, 8]);
    assert_eq!(kib("-b4K -c1M -f8K", 3), [0, 4, 0]);
    // A slash also begins an option.
    assert_eq!(kib("/b4K", 2), [0, 4]);
}

#[test]
fn threads_have_places_of_their_own_or_share_one() {
    assert_eq!(kib("-b4K -t2 -o1", 4), [0, 0, 4, 4]);
    assert_eq!(kib("-b4K -t2 -o1 -T1M", 4), [0, 1024, 4, 1028]);
    assert_eq!(kib("-b4K -t2 -o1 -si", 4), [0, 4, 8, 12]);
    assert_eq!(kib("-b4K -t2 -o1 -si8K -c20K", 5), [0, 8, 16, 0, 8]);
    // Beyond the end a thread wraps to the base, not to its own start.
    assert_eq!(kib("-b4K -t2 -o1 -T8K -c16K", 8), [0, 8, 4, 12, 8, 0, 12, 4]);
    assert_eq!(kib("-b4K -t2 -o1 -T6K -c16K", 4), [0, 6, 4, 10]);
}

#[test]
fn depth_counts_for_each_thread_on_each_target() {
    let at_once = |text: &str| run(text, 1000, 500).iter().filter(|a| a.at == 0).count();
    assert_eq!(at_once("diskspd a"), 2);
    assert_eq!(at_once("diskspd -o32 a"), 32);
    assert_eq!(at_once("diskspd -o32 -t4 a"), 128);
    assert_eq!(at_once("diskspd -o8 -t4 a b"), 64);
    assert_eq!(at_once("diskspd -o8 -F4 a b"), 64);
    assert_eq!(at_once("diskspd -o8 -F4 a"), 32);
}

#[test]
fn targets_are_parts_of_the_device() {
    let gib = |options: &str| -> Vec<u64> {
        let all = run(&format!("diskspd -b4K -o1 {options}"), 1000, 4);
        all.iter().map(|a| a.request.lba.0 * 512).collect()
    };
    let half = CAPACITY / 2;
    assert_eq!(gib("-t2 a b"), [0, 0, half, half]);
    assert_eq!(gib("-F2 a b"), [0, half, 0, half]);
    assert_eq!(gib("-c5K a b")[..2], [0, 8192]);
    assert_eq!(gib("-B1M a b")[..2], [1 << 20, half + (1 << 20)]);
    // A target named twice counts once.
    assert_eq!(gib("#1 #2 #1"), [0, half, 0, 4096]);
}

#[test]
fn random_places_cover_what_may_be_asked_and_nothing_else() {
    let seen =
        |options: &str| kib(options, 4000).into_iter().collect::<std::collections::BTreeSet<u64>>();
    let all: Vec<u64> = seen("-b4K -r -c64K").into_iter().collect();
    assert_eq!(all, (0..16).map(|it| it * 4).collect::<Vec<_>>());
    assert_eq!(
        seen("-b4K -r8K -c64K").into_iter().collect::<Vec<_>>(),
        [0, 8, 16, 24, 32, 40, 48, 56]
    );
    assert_eq!(seen("-b8K -r4K -c16K").into_iter().collect::<Vec<_>>(), [0, 4, 8]);
    assert_eq!(seen("-b4K -r -B32K -f48K").into_iter().collect::<Vec<_>>(), [32, 36, 40, 44]);
    let follows = |options: &str| {
        let all = kib(options, 4000);
        all.windows(2).filter(|pair| pair[1] == pair[0] + 4).count() as f64 / 4000.0
    };
    assert!(follows("-b4K -r") < 0.01);
    assert!(follows("-b4K -rs100") < 0.01);
    assert!((follows("-b4K -rs30") - 0.7).abs() < 0.03);
    assert_eq!(kib("-b4K -rs0", 3), [0, 4, 8]);
}

#[test]
fn seeds_choose_places_and_threads_differ() {
    let base = kib("-b4K -r", 50);
    assert_eq!(base, kib("-b4K -r", 50));
    assert_eq!(base, kib("-b4K -r -z0", 50));
    assert_ne!(base, kib("-b4K -r -z1", 50));
    assert_ne!(kib("-b4K -r -z1", 50), kib("-b4K -r -z2", 50));
    let two = kib("-b4K -r -t2 -o1", 100);
    let of = |thread: usize| two.iter().skip(thread).step_by(2);
    assert!(!of(0).eq(of(1)));
}

#[test]
fn a_share_writes_and_caching_makes_writes_durable() {
    let counts = |options: &str| {
        let all = run(&format!("diskspd {options} a"), 1000, 4000);
        let writes = all.iter().filter(|a| a.request.op == Op::Write).count();
        (writes, all.iter().filter(|a| a.request.fua).count())
    };
    assert_eq!(counts("-w0"), (0, 0));
    assert_eq!(counts("-w"), (0, 0));
    assert_eq!(counts("-w100"), (4000, 0));
    let (writes, durable) = counts("-w30 -Sh");
    assert!((1100..1300).contains(&writes) && durable == writes);
    for (options, is_durable) in
        [("-Sw", true), ("-Suw", true), ("-h", true), ("-Su", false), ("-S", false), ("-Sb", false)]
    {
        let expected = if is_durable { 4000 } else { 0 };
        assert_eq!(counts(&format!("-w100 {options}")), (4000, expected), "{options}");
    }
}

#[test]
fn rates_and_bursts_set_the_times() {
    // 4 KiB at 4,096 bytes per millisecond; the first request waits until its own bytes are
    // allowed.
    assert_eq!(us("-b4K -g4096", 4), [1000, 2000, 3000, 4000]);
    assert_eq!(us("-b4K -g1000i", 4), [1000, 2000, 3000, 4000]);
    assert_eq!(us("-b8K -g4096 -t2", 4), [2000, 2000, 4000, 4000]);
    assert_eq!(us("-b4K -i3 -j2", 6), [0, 0, 10, 2010, 2010, 2020]);
    assert_eq!(us("-b4K -o1 -i1 -j1", 3), [0, 1000, 2000]);
    assert!(build("diskspd -g100 a").unwrap().has_rate());
    assert!(!build("diskspd a").unwrap().has_rate());
}

#[test]
fn what_a_rate_makes_due_is_held_back_while_answers_are_missing() {
    let mut workload = build("diskspd -b4K -o1 -g1000i a").unwrap();
    assert_eq!(workload.next(0).unwrap().unwrap().at, 1_000_000);
    assert!(workload.next(1_000_000).unwrap().is_none());
    assert_eq!(workload.held_back(10_500_000), 9);
    assert_eq!(workload.held_back(Time::MAX), 14_999);
}

#[test]
fn times_have_classes_of_their_own() {
    let ends = |options: &str| {
        let text = format!("diskspd -b4K -o1 -g1i {options} a");
        let names: Vec<String> =
            build(&text).unwrap().classes().into_iter().map(|it| it.name).collect();
        let mut counts = vec![0; build(&text).unwrap().queues() as usize];
        for answered in &run(&text, 0, 1000) {
            counts[usize::from(answered.request.queue)] += 1;
        }
        (names.join(" "), counts)
    };
    // One request per second, starting at the first second, and none at the end.
    assert_eq!(ends(""), ("warm-up measured".to_owned(), vec![4, 10]));
    assert_eq!(ends("-W2 -d3"), ("warm-up measured".to_owned(), vec![1, 3]));
    assert_eq!(ends("-W0 -d3"), (String::new(), vec![2]));
    assert_eq!(ends("-W2 -d3 -C4"), ("warm-up measured cool-down".to_owned(), vec![1, 3, 4]));
}

#[test]
fn command_lines_run_one_after_another() {
    let text = "diskspd -b4K -o1 -g1i -W0 -d3 a\nrem and\ndiskspd -b8K -o1 -g1i -W1 -d2 -w100 a";
    let all: Vec<(Time, Op, u64, u16)> = run(text, 0, 100)
        .iter()
        .map(|a| (a.at / 1_000_000_000, a.request.op, a.request.bytes(), a.request.queue))
        .collect();
    let (r, w) = (Op::Read, Op::Write);
    // The second one begins at the last completion of the first.
    assert_eq!(all, [(1, r, 4096, 0), (2, r, 4096, 0), (3, w, 8192, 2), (4, w, 8192, 2)]);
    let classes = build(text).unwrap().classes();
    let names: Vec<&str> = classes.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["line 1 measured", "line 3 warm-up", "line 3 measured"]);
}

#[test]
fn a_request_that_was_taken_back_is_asked_again() {
    let mut workload = build("diskspd -b4K -t2 -o1 -i1 -j5 a").unwrap();
    let [first, second] = std::array::from_fn(|_| workload.next(0).unwrap().unwrap());
    assert!(workload.next(0).unwrap().is_none());
    workload.completed(&answer(first.request, 100));
    let later = workload.next(100).unwrap().unwrap();
    assert_eq!((later.at, later.request.lba.0), (5_000_000, 8));
    assert!(workload.take_back());
    workload.completed(&answer(second.request, 200));
    let again = workload.next(200).unwrap().unwrap();
    assert_eq!((again.at, again.request), (later.at, later.request));
}

#[test]
fn a_file_is_opened_limited_and_what_is_read_over_is_named() {
    let open = |name: &str| -> std::io::Result<Box<dyn Read + Send>> {
        assert_eq!(name, "load.cmd");
        let text = b"@echo off\r\ndiskspd -b4K -L -D100 -Rxml -a0,1 a.dat > out.xml\r\n\
                     diskspd -b4K -L -Sh a.dat\r\n";
        Ok(Box::new(Cursor::new(text.to_vec())))
    };
    let inputs = Inputs::streams(open);
    let context = Context {
        capacity_sectors: 1 << 21,
        scale: 1,
        volumes: 1,
        zones: None,
        seed: 1,
        pass: 0,
        inputs,
    };
    let layer: toml::Table = toml::from_str("path = 'load.cmd'\nrequests = 3").unwrap();
    let config = WorkloadConfig::resolve("diskspd", [layer]).unwrap();
    let mut workload = config.build(&context).unwrap();
    assert_eq!(workload.expected_requests(), Some(3));
    let expected = [
        ("diskspd_ignored_L", 2),
        ("diskspd_ignored_D", 1),
        ("diskspd_ignored_R", 1),
        ("diskspd_ignored_a", 1),
        ("diskspd_ignored_output_file", 1),
        ("diskspd_os_cache_not_simulated", 1),
    ];
    assert_eq!(workload.notices(), expected);
    assert_eq!(super::super::tests::arrivals(&mut *workload).len(), 3);
}

#[test]
fn impossible_command_lines_are_refused_with_their_line() {
    for (options, message) in [
        ("-q a", "workload.command, line 2: -q: unknown option; requests are decided by -b -B "),
        ("-H a", "-H: unknown option (did you mean -h?)"),
        ("-b4X a", "-b4X: \"4X\" is not a size such as 4096, 4K"),
        ("-b 4K a", "-b: its size stands right behind it, such as 4K"),
        ("-o a", "-o: its number stands right behind it"),
        ("-b1000 a", "-b: 1000 is not a positive multiple of 512 bytes"),
        ("-b0 a", "-b: 0 is not a positive multiple"),
        ("-b2G a", "are more than 1G"),
        ("-b2b a", "a block is not measured in blocks"),
        ("-r100 a", "-r: 100 is not a positive multiple"),
        ("-o0 a", "-o0: 0 is not from 1 to 65536"),
        ("-w101 a", "-w101: 101 is not from 0 to 100"),
        ("-rs101 a", "101 is not from 0 to 100"),
        ("-dten a", "-dten: \"ten\" is not a whole number"),
        ("-d0 a", "0 is not from 1"),
        ("-t2", "there is no target"),
        ("a -t2", "-t2: options stand before the targets"),
        ("-t2 -t4 a", "-t4: -t is given twice"),
        ("-t2 -F4 a", "-t and -F exclude each other"),
        ("-r -s a", "-r and -s exclude each other"),
        ("-r -T1M a", "-T has no effect with -r or -si"),
        ("-si -T1M a", "-T has no effect with -r or -si"),
        ("-i5 a", "-i and -j need each other"),
        ("-i5 -j5 -g5 a", "-g excludes -i and -j"),
        ("-c2G a", "1 targets of 2147483648 bytes do not fit"),
        ("-c600M a b", "2 targets of 629145600 bytes do not fit"),
        ("-f2G a", "-f: 2147483648 bytes are more than the 1073741824 of a target"),
        ("-b64K -c4K a", "no request of 65536 fits"),
        ("-B1G a", "no request of 65536 fits"),
        ("-t3 -T512M a", "-T: the last thread would begin beyond"),
        ("-t5000 a", "there are more than 4096 threads"),
        ("-Sq a", "q is not one of -S's letters"),
        ("-Su -Sh a", "-Sh: -S is given twice"),
        ("-Su -h a", "only one of -Sb, -Sh"),
        ("-Sm a", "mapped memory (-Sm) is not simulated"),
        ("-rdpct10/90 a", "distributions (-rd) are not supported"),
        ("-p a", "parallel sequential requests from one offset are not supported"),
        ("-O4 -F2 a", "use -o, those of each target"),
        ("-Xa.xml a", "profiles in XML are not read"),
        ("-yrgo a", "runs that wait for an event"),
        ("-z a", "write -z<seed>"),
        ("-B1M:2M a", "use -B and -f"),
        ("-Lx a", "-L has no value"),
        ("- a", "unknown option"),
    ] {
        let refused = refusal(&format!("rem first\ndiskspd {options}"));
        assert!(refused.contains(message), "{options}:\n{refused}");
        assert!(refused.starts_with("workload.command, line 2: ") && !refused.contains('\n'));
    }
    assert_refused("diskspd", "", "workload.path", "needs the path of a file");
    assert_refused("diskspd", "path = 'a'\ncommand = 'b'", "workload.path", "exclude each other");
    assert_refused("diskspd", "requests = 0\ncommand = 'b'", "workload.requests", "at least 1");
    let missing = super::super::tests::build("diskspd", "path = 'a.cmd'").err().unwrap();
    assert!(missing.to_string().starts_with("cannot open DiskSpd file a.cmd"), "{missing}");
}

#[test]
fn any_text_is_read_or_refused_without_a_panic() {
    use proptest::prelude::*;
    let word = "(-[bBcCdfFghijorsStTwWzLRy][a-z0-9KMGb]{0,6}|a|#1|.{0,4})";
    let word = proptest::string::string_regex(word).unwrap();
    proptest!(|(words in proptest::collection::vec(word, 0..7), noise in ".{0,20}")| {
        let text = format!("diskspd {} a\n{noise}", words.join(" "));
        if let Ok(mut workload) = build(&text) {
            for _ in 0..20 {
                let Some(arrival) = workload.next(0).unwrap() else { break };
                let Request { lba, sectors, .. } = arrival.request;
                prop_assert!(sectors > 0 && lba.0 + u64::from(sectors) <= 1 << 21);
                workload.completed(&answer(arrival.request, arrival.at));
            }
        }
    });
}
