use super::super::tests::{answer, assert_refused, context};
use super::*;
use crate::WorkloadConfig;
use crate::read::inputs::Inputs;
use engine::Op;
use std::io::{Cursor, Read};

/// The workload of a job file on 1 GiB.
pub(super) fn build(job: &str) -> Result<Box<dyn Workload>, BuildError> {
    Fio { job: job.to_owned(), ..Fio::default() }.build(&context(1 << 21, 42))
}

/// Arrivals when every request takes `latency` ns.
pub(super) fn run(job: &str, latency: Time) -> Vec<Arrival> {
    let mut workload = build(job).unwrap();
    let (mut all, mut answers) = (Vec::new(), std::collections::VecDeque::new());
    let mut now = 0;
    loop {
        let arrival = workload.next(now).unwrap();
        let due = answers.front().copied();
        match (arrival, due) {
            (None, None) => return all,
            (None, Some((at, request))) => {
                now = at;
                answers.pop_front();
                workload.completed(&answer(request, at));
            }
            (Some(arrival), _) => {
                // Earlier completions come first, as on a device.
                while let Some((at, request)) = answers.front().copied()
                    && at <= arrival.at
                {
                    answers.pop_front();
                    workload.completed(&answer(request, at));
                }
                now = arrival.at;
                answers.push_back((now + latency, arrival.request));
                all.push(arrival);
            }
        }
    }
}

fn blocks(job: &str, bytes: u64) -> Vec<u64> {
    run(job, 0).iter().map(|a| a.request.lba.0 * 512 / bytes).collect()
}

fn times_us(job: &str, latency_us: Time) -> Vec<Time> {
    run(job, latency_us * 1000).iter().map(|a| a.at / 1000).collect()
}

fn refusal(job: &str) -> String {
    build(job).err().unwrap_or_else(|| panic!("not refused: {job}")).to_string()
}

#[test]
fn sequential_jobs_run_through_their_part() {
    assert_eq!(blocks("[j]\nrw=read\nsize=16k", 4096), [0, 1, 2, 3]);
    assert_eq!(blocks("[j]\nrw=write\nbs=8k\noffset=64k\nsize=32k", 8192), [8, 9, 10, 11]);
    assert_eq!(blocks("[j]\nrw=trim\nsize=8k\nloops=2", 4096), [0, 1, 0, 1]);
    assert_eq!(blocks("[j]\nsize=12k\nio_size=20k", 4096), [0, 1, 2, 0, 1]);
    assert_eq!(blocks("[j]\nsize=1m\nio_size=1%", 4096), [0, 1, 2]);
    assert_eq!(blocks("[j]\nsize=1m\nnumber_ios=2", 4096), [0, 1]);
    assert_eq!(blocks("[j]\noffset=50%\nsize=8k", 4096), [1 << 17, (1 << 17) + 1]);
    // One percent of 1 GiB, rounded down to blocks.
    assert_eq!(blocks("[j]\nsize=1%", 4096).len(), 2621);
    assert_eq!(blocks("[j]\nsize=1m\nnumber_ios=2\nloops=2", 4096), [0, 1, 0, 1]);
    let clones = "[j]\nsize=8k\nnumjobs=2\noffset_increment=16k";
    assert_eq!(blocks(clones, 4096), [0, 4, 1, 5]);
    assert!(run("[j]\nrw=trim\nsize=8k", 0).iter().all(|a| a.request.op == Op::Trim));
}

#[test]
fn random_jobs_ask_every_block_once_before_they_repeat_one() {
    for job in [
        "[j]\nrw=randread\nsize=4000k\nloops=2",
        "[j]\nrw=randrw\nbssplit=4k/50:16k/50\nsize=4000k\nloops=2",
    ] {
        let arrivals = run(job, 0);
        let mut seen = vec![0; 1000];
        let mut order = Vec::new();
        for (index, Arrival { request, .. }) in arrivals.iter().enumerate() {
            for block in 0..u64::from(request.sectors / 8) {
                seen[(request.lba.0 / 8 + block) as usize] += 1;
            }
            order.push(request.lba.0);
            if index == 0 {
                continue;
            }
            let (least, most) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
            assert!(most - least <= 1, "{job}");
        }
        assert!(seen.iter().all(|count| *count == 2), "{job}");
        let half = order.len() / 2;
        assert_eq!(order[..half], order[half..], "a loop repeats itself");
    }
    let timed = blocks("[j]\nrw=randread\nsize=400k\ntime_based\nruntime=3us\nrate=400g", 4096);
    let (first, second) = (&timed[..100], &timed[100..200]);
    assert!(first.iter().all(|block| second.contains(block)) && first != second);
    let mut free = blocks("[j]\nrw=randread\nsize=4000k\nnorandommap", 4096);
    assert_eq!(free.len(), 1000);
    free.sort_unstable();
    free.dedup();
    assert!((600..670).contains(&free.len()), "1 - 1/e of them: {}", free.len());
}

#[test]
fn sizes_and_mixes_follow_their_percentages() {
    let job = "[j]\nrw=randrw\nrwmixread=70\nsize=400m\nnorandommap\n\
               bssplit=4k/20:8k/:16k/,4k/90:64k/10";
    let arrivals = run(job, 0);
    let count = |op, bytes| {
        arrivals.iter().filter(|a| a.request.op == op && a.request.bytes() == bytes).count()
    };
    let reads = arrivals.iter().filter(|a| a.request.op == Op::Read).count();
    let share = |part: usize, of: usize| (part as f64 / of as f64 * 100.0).round() as u64;
    assert!((69..=71).contains(&share(reads, arrivals.len())));
    assert!((19..=21).contains(&share(count(Op::Read, 4096), reads)));
    assert!((39..=41).contains(&share(count(Op::Read, 16384), reads)));
    let writes = arrivals.len() - reads;
    assert!((9..=11).contains(&share(count(Op::Write, 65536), writes)));
    // The later of the two keys counts.
    let later = run("[j]\nrw=rw\nrwmixread=70\nrwmixwrite=100\nsize=1m", 0);
    assert!(later.iter().all(|a| a.request.op == Op::Write));
    // Reads and writes have separate positions.
    let both = run("[j]\nrw=rw\nsize=1m", 0);
    for op in [Op::Read, Op::Write] {
        let positions = both.iter().filter(|a| a.request.op == op).map(|a| a.request.lba.0);
        assert!(positions.enumerate().all(|(index, sector)| sector == index as u64 * 8));
    }
    let triple = run("[j]\nrw=rw\nbs=4k,64k\nsize=1m", 0);
    assert!(
        triple
            .iter()
            .all(|a| a.request.bytes() == if a.request.op == Op::Read { 4096 } else { 65536 })
    );
    let range = run("[j]\nrw=randread\nbsrange=4k-16k\nsize=64m", 0);
    assert!(
        range.iter().all(|a| (8..=32).contains(&a.request.sectors) && a.request.sectors % 8 == 0)
    );
}

#[test]
fn requests_may_be_aligned_otherwise_than_they_are_large() {
    let arrivals = run("[j]\nrw=randread\nbs=512\nba=4k\nsize=64k\nio_size=1m", 0);
    assert!(arrivals.iter().all(|a| a.request.sectors == 1 && a.request.lba.0 % 8 == 0));
    let places: std::collections::BTreeSet<u64> =
        arrivals.iter().map(|a| a.request.lba.0).collect();
    assert_eq!(places.len(), 16);
}

#[test]
fn a_share_may_be_sequential() {
    let job = "[j]\nrw=randread\nsize=400m\nnorandommap\npercentage_random=30";
    let arrivals = run(job, 0);
    let follows =
        arrivals.windows(2).filter(|w| w[1].request.lba.0 == w[0].request.lba.0 + 8).count();
    let share = follows as f64 / arrivals.len() as f64;
    assert!((share - 0.7).abs() < 0.01, "{share}");
}

#[test]
fn depth_rate_and_thinking_set_the_times() {
    assert_eq!(times_us("[j]\nsize=16k", 10), [0, 10, 20, 30]);
    assert_eq!(times_us("[j]\nsize=16k\niodepth=2", 10), [0, 0, 10, 10]);
    // A synchronous engine has one request outstanding.
    let sync = "[j]\nsize=16k\niodepth=2\nioengine=psync";
    assert_eq!(times_us(sync, 10), [0, 10, 20, 30]);
    let notices = build(sync).unwrap().notices();
    assert_eq!(notices, [("fio_iodepth_1_by_synchronous_ioengine", 1)]);
    // 4 KiB at 4 MiB/s are 976 us.
    assert_eq!(times_us("[j]\nsize=12k\nrate=4m\niodepth=8", 10), [0, 976, 1953]);
    assert_eq!(times_us("[j]\nsize=12k\nrate_iops=1k\niodepth=8", 10), [0, 976, 1953]);
    // A job behind its rate catches up.
    assert_eq!(times_us("[j]\nsize=12k\nrate=4m", 2000), [0, 2000, 4000]);
    assert_eq!(times_us("[j]\nsize=16k\nthinktime=5", 10), [0, 15, 30, 45]);
    let pairs = "[j]\nsize=16k\nthinktime=1ms\nthinktime_blocks=2\niodepth=4";
    assert_eq!(times_us(pairs, 10), [0, 0, 1010, 1010]);
    assert_eq!(times_us("[j]\nsize=8k\nstartdelay=1ms", 10), [1000, 1010]);
    assert_eq!(times_us("[j]\nsize=1m\nruntime=25us", 10), [0, 10, 20]);
    let based = times_us("[j]\nsize=8k\nruntime=45us\ntime_based", 10);
    assert_eq!(based, [0, 10, 20, 30, 40]);
}

#[test]
fn a_poisson_rate_has_its_mean() {
    let times = times_us("[j]\nrw=randread\nsize=40m\nrate_iops=1000\nrate_process=poisson", 0);
    let last_ms = times[times.len() - 1] / 1000;
    assert!((9_700..10_800).contains(&last_ms), "10,240 requests in {last_ms} ms");
    let gaps: Vec<u64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let short = gaps.iter().filter(|gap| **gap < 693).count() as f64 / gaps.len() as f64;
    assert!((short - 0.5).abs() < 0.02, "half are below the median: {short}");
}

#[test]
fn a_rated_direction_leaves_its_turns_to_the_other() {
    let arrivals = run("[j]\nrw=randrw\nrate_iops=1000,3000\nsize=40m\niodepth=4", 1000);
    let end = arrivals[arrivals.len() - 1].at as f64 / 1e9;
    for (op, rate) in [(Op::Read, 1000.0), (Op::Write, 3000.0)] {
        let found = arrivals.iter().filter(|a| a.request.op == op).count() as f64 / end;
        assert!((found / rate - 1.0).abs() < 0.02, "{op:?}: {found} a second");
    }
}

#[test]
fn jobs_run_together_until_a_stonewall() {
    let job = "[global]\nsize=8k\n[a]\n[b]\noffset=1m\n[c]\nstonewall\noffset=2m\n[d]\noffset=3m";
    let requests: Vec<(Time, u64)> =
        run(job, 10_000).iter().map(|a| (a.at / 1000, a.request.lba.0 / 8)).collect();
    let expected =
        [(0, 0), (0, 256), (10, 1), (10, 257), (20, 512), (20, 768), (30, 513), (30, 769)];
    assert_eq!(requests, expected);
}

#[test]
fn what_a_stonewall_keeps_apart_has_a_class_and_a_queue_of_its_own() {
    let job = "[global]\nsize=8k\n[a]\n[b]\noffset=1m\n[a]\nstonewall\noffset=2m\n[d]\noffset=3m";
    let found = build(job).unwrap().classes();
    let names: Vec<&str> = found.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["a", "a 2"]);
    assert!(found.iter().all(|class| class.has_own_period));
    let queues: Vec<u16> = run(job, 10_000).iter().map(|a| a.request.queue).collect();
    assert_eq!(queues, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert!(build("[a]\nsize=8k\n[b]\nsize=8k").unwrap().classes().is_empty());
}

#[test]
fn an_answer_brings_the_next_request_of_its_job_forward() {
    let job = "[a]\nsize=8k\nrate_iops=1\niodepth=2\n[b]\noffset=1m\nsize=12k";
    let mut workload = build(job).unwrap();
    let [a, b, later] = std::array::from_fn(|_| workload.next(0).unwrap().unwrap());
    assert_eq!([a.at, b.at, later.at], [0, 0, 1_000_000_000]);
    workload.completed(&answer(b.request, 500));
    assert!(workload.take_back());
    let next = workload.next(500).unwrap().unwrap();
    assert_eq!((next.at, next.request.lba.0, next.request.id), (500, 2048 + 8, 2));
    let again = workload.next(500).unwrap().unwrap();
    assert_eq!((again.at, again.request.lba), (later.at, later.request.lba));
}

#[test]
fn writes_are_flushed_now_and_then() {
    let ops: Vec<Op> =
        run("[j]\nrw=write\nsize=20k\nfsync=2", 10).iter().map(|a| a.request.op).collect();
    let (w, f) = (Op::Write, Op::Flush);
    assert_eq!(ops[..6], [w, w, f, w, w, f]);
    assert_eq!(ops.len(), 7);
}

#[test]
fn a_lifetime_is_a_handle_of_its_own() {
    let handles = |lines: &str| {
        let job = format!("[a]\nrw=write\nsize=16k\n{lines}");
        run(&job, 1_000).iter().map(|it| it.request.handle.number()).collect::<Vec<_>>()
    };
    for (hint, handle) in
        [("none", None), ("not-set", None), ("short", Some(1)), ("extreme", Some(4))]
    {
        assert_eq!(handles(&format!("write_hint={hint}")), [handle; 4], "{hint}");
    }
    assert_eq!(handles(""), [None; 4]);
    assert_eq!(handles("fdp=1\nplids=2,0"), [Some(2), Some(0), Some(2), Some(0)]);
    let both = "[a]\nrw=write\nsize=16k\nfdp=1\nplids=2\nwrite_hint=long";
    assert!(refusal(both).contains("keep one of them"), "{}", refusal(both));
    let unknown = "[a]\nrw=write\nsize=16k\nwrite_hint=forever";
    assert!(
        refusal(unknown).contains("none, short, medium, long, extreme"),
        "{}",
        refusal(unknown)
    );
}

#[test]
fn skewed_distributions_are_skewed() {
    let top = |distribution: &str, blocks: usize| {
        let job = format!("[j]\nrw=randread\nsize=4m\nio_size=400m\n{distribution}");
        let arrivals = run(&job, 0);
        let mut counts = vec![0u32; 1024];
        for arrival in &arrivals {
            counts[(arrival.request.lba.0 / 8) as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        f64::from(counts[..blocks].iter().sum::<u32>()) / arrivals.len() as f64
    };
    let near = |share: f64, expected: f64| assert!((share - expected).abs() < 0.02, "{share}");
    near(top("norandommap", 102), 0.13);
    // zeta(1024, 1.2) is 4.34; the first rank is exact.
    near(top("random_distribution=zipf:1.2", 1), 1.0 / 4.34);
    // Pareto 0.2: 80 % of the requests to 20 % of the blocks.
    near(top("random_distribution=pareto:0.2", 205), 0.8);
    // The mean of twelve uniforms deviates by 1/12 of the range: 68 % within one deviation.
    near(top("random_distribution=normal:0", 171), 0.68);
    near(top("random_distribution=zoned:90/10:10/90\nnorandommap", 102), 0.9);
    let place = |job: &str| run(&format!("[j]\nrw=randread\nnumber_ios=50\n{job}"), 0);
    let skewed = place("random_distribution=zipf:1.2:0.1");
    assert_ne!(skewed, place("random_distribution=zipf:1.2:0.5"));
    assert_ne!(place("random_distribution=normal:10"), place("random_distribution=normal:20"));
}

#[test]
fn the_same_seed_gives_the_same_requests_and_clones_differ() {
    let job = "[j]\nrw=randread\nsize=1m\nnumjobs=2";
    assert_eq!(run(job, 10), run(job, 10));
    let arrivals = run(job, 10);
    let of = |clone: usize| arrivals.iter().skip(clone).step_by(2).map(|a| a.request.lba.0);
    assert!(!of(0).eq(of(1)));
    let other = Fio { job: job.to_owned(), ..Fio::default() };
    let mut other = other.build(&context(1 << 21, 43)).unwrap();
    assert_ne!(other.next(0).unwrap().unwrap(), arrivals[0]);
}

#[test]
fn a_job_file_is_opened_and_limited() {
    let open = |name: &str| -> std::io::Result<Box<dyn Read + Send>> {
        assert_eq!(name, "a.fio");
        Ok(Box::new(Cursor::new(
            b"[j]\nsize=1m\ndirect=1\n[k]\nsize=1m\ndirect=1\nname=x".to_vec(),
        )))
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
    let layer: toml::Table = toml::from_str("path = 'a.fio'\nrequests = 3").unwrap();
    let config = WorkloadConfig::resolve("fio", [layer]).unwrap();
    let mut workload = config.build(&context).unwrap();
    assert_eq!(workload.expected_requests(), Some(3));
    assert_eq!(workload.notices(), [("fio_ignored_direct", 2), ("fio_ignored_name", 1)]);
    assert_eq!(super::super::tests::arrivals(&mut *workload).len(), 3);
}

#[test]
fn impossible_settings_are_refused_with_their_line() {
    for (job, message) in [
        (
            "[j]\nrwmixred=70",
            "workload.job, line 2: unknown key rwmixred (did you mean rwmixread?)",
        ),
        ("[j]\n\nrw=randraed:8", "line 3: rw=randraed:8: it is one of read, write, trim"),
        ("[j]\nrw=read:100", "rw=read:100: 100 is not a multiple of 512 bytes"),
        ("[j]\nsize=8z", "job j: 8z counts the zones of a device of zones"),
        ("[j]\nbs=1000", "line 2: bs=1000: 1000 is not a multiple of 512 bytes"),
        ("[j]\nbs=0", "a request has at least one sector"),
        ("[j]\nbs=4k,4k,4k,4k", "more than 3 values"),
        ("[j]\nbs", "bs needs a value"),
        ("[j]\nbssplit=4k/50:8k/40", "the percentages add up to 90, not to 100"),
        ("[j]\nbsrange=8k-4k", "8192 is more than 4096"),
        ("[j]\nrwmixread=101", "101 is more than 100"),
        ("[j]\nzonemode=zbd", "job j: zonemode=zbd needs a device of zones"),
        ("[j]\nmax_open_zones=4", "job j: keys of zones need zonemode=zbd"),
        ("[j]\nzone_reset_frequency=2", "zone_reset_frequency=2: it is a number from 0 to 1"),
        ("[j]\niodepth=0", "0 is less than 1"),
        (
            "[j]\nioengine=libiao",
            "no engine of fio that reads and writes a device, such as libaio or psync (did you mean libaio?)",
        ),
        ("[j]\noffset=2g", "job j: byte 2147483648, its first, lies beyond the device"),
        ("[j]\nread_iolog=a", "read_iolog: a trace replaces a job: `ssdlab run --trace FILE`"),
        ("[j]\nioengine=net\nport=1", "line 1: ioengine=net: no job of this file reads or writes"),
        ("[j]\nrw_sequencer=random", "it is sequential or identical"),
        (
            "[j]\nrw=randread\nsize=8k\nrandom_distribution=sequence:0,2",
            "block 2 of the sequence is none of the 2",
        ),
        ("[j]\ntime_based=2", "\"2\" is not 0 or 1"),
        ("[j]\nruntime=5x", "\"5x\" is not a time"),
        ("[j]\nrandom_distribution=zipf:1", "zipf:THETA, above 0, below 10 and not 1"),
        ("[j]\nrandom_distribution=zipf:1.2:3", "a centre, the second number, lies from 0 to 1"),
        ("[j]\nrandom_distribution=pareto:2", "pareto:H, between 0 and 1"),
        ("[j]\nrandom_distribution=normal:200", "normal:DEVIATION, from 0 to 100"),
        ("[j]\nrandom_distribution=zoned_abs:5/1g", "zoned_abs is not supported"),
        ("[j]\nrandom_distribution=zoned:50/10:60/90", "the percentages add up to 110"),
        ("[j]\nrate_process=bursty", "it is linear or poisson"),
        ("[j]\nsize=2g", "line 1: job j: 2147483648 bytes from byte 0 end beyond the device"),
        ("[j]\nsize=4k\nbs=8k", "4096 bytes from byte 0 hold no request of 8192"),
        ("[j]\nnumjobs=5000", "the jobs have more than 4096 clones"),
        ("[j]\nrw=randread\nsize=8k\nba=16k", "8192 bytes hold no request at 16384"),
        ("[j]\nrw=randread\nsize=8k\nrandom_distribution=zoned:50/1:50/99", "is no whole block"),
    ] {
        let refused = refusal(job);
        assert!(refused.contains(message), "{job}:\n{refused}");
        assert!(!refused.contains('\n'), "{refused}");
    }
    assert_refused("fio", "", "workload.path", "needs the path of a job file");
    assert_refused("fio", "path = 'a'\njob = 'b'", "workload.path", "exclude each other");
    assert_refused("fio", "requests = 0\njob = 'b'", "workload.requests", "at least 1");
    let missing = super::super::tests::build("fio", "path = 'a.fio'").err().unwrap();
    assert!(missing.to_string().starts_with("cannot open fio job a.fio"), "{missing}");
}

#[test]
fn any_text_is_read_or_refused_without_a_panic() {
    use proptest::prelude::*;
    let keys = "(rw|bs|bssplit|size|offset|rate|iodepth|random_distribution|ba|numjobs|x)";
    let line = format!("{keys}(=[a-z0-9:/,%.-]{{0,12}})?");
    let line = proptest::string::string_regex(&line).unwrap();
    proptest!(|(lines in proptest::collection::vec(line, 0..6), noise in ".{0,40}")| {
        let text = format!("[j]\n{}\n{noise}", lines.join("\n"));
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

/// The jobs of a file on four zones of 512 KiB; each zone has 384 KiB of writable capacity, and the
/// first is full.
fn on_zones(job: &str) -> Result<Vec<Arrival>, String> {
    let zones = engine::ZoneShape { size: 1024, capacity: 768, count: 4, open: 2, full: 1 };
    let context = Context { zones: Some(zones), ..super::super::tests::context(4096, 7) };
    let fio = Fio { job: job.to_owned(), requests: Some(400), ..Fio::default() };
    let mut workload = fio.build(&context).map_err(|error| error.to_string())?;
    let mut waiting = std::collections::VecDeque::new();
    let (mut all, mut now) = (Vec::new(), 0);
    loop {
        while let Some(arrival) = workload.next(now).unwrap() {
            waiting.push_back(arrival.request);
            all.push(arrival);
        }
        let Some(request) = waiting.pop_front() else { return Ok(all) };
        now += 10;
        workload.completed(&super::super::tests::answer(request, now));
    }
}

#[test]
fn jobs_on_zones_write_at_pointers_and_reset_what_is_full() {
    let random =
        "[j]\nzonemode=zbd\nzonesize=512k\nrw=randrw\nbs=16k\niodepth=4\ntime_based\nruntime=10";
    for job in [random, "[j]\nzonemode=zbd\nrw=write\nbs=16k\niodepth=8\ntime_based\nruntime=10"] {
        let mut pointers = [768_u64, 0, 0, 0];
        let mut counts = [0; 3];
        for arrival in on_zones(job).unwrap() {
            let request = arrival.request;
            let (zone, at) = ((request.lba.0 / 1024) as usize, request.lba.0 % 1024);
            match request.op {
                Op::Write => {
                    assert_eq!(at, pointers[zone], "{job}");
                    pointers[zone] += u64::from(request.sectors);
                    counts[0] += 1;
                }
                Op::Read => {
                    assert!(at + u64::from(request.sectors) <= pointers[zone], "{job}");
                    counts[1] += 1;
                }
                op => {
                    assert_eq!((op, at, pointers[zone]), (Op::Reset, 0, 768), "{job}");
                    pointers[zone] = 0;
                    counts[2] += 1;
                }
            }
            let open = pointers.iter().filter(|it| (1..768).contains(*it)).count();
            assert!(open <= 2, "{job}: {pointers:?}");
        }
        assert!(counts[0] > 150 && counts[2] > 2, "{job}: {counts:?}");
    }
    let wrong = on_zones("[j]\nzonemode=zbd\nzonesize=1m\nrw=write").unwrap_err();
    assert!(wrong.contains("zonesize=1048576: the device has 524288"), "{wrong}");
    let none = on_zones("[j]\nzonemode=zbd\nrw=write\nsize=256k").unwrap_err();
    assert!(none.contains("bytes 0 to 262144 hold no whole zone of 524288 bytes"), "{none}");
    let many = on_zones("[j]\nzonemode=zbd\nmax_open_zones=3\nrw=write").unwrap_err();
    assert!(many.contains("3 open zones are more than the device has, 2"), "{many}");
}
