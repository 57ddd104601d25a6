//! Tests of the trace kind: each draws the smallest trace, in memory, that shows its point.

use super::super::tests::arrivals;
use super::*;
use crate::WorkloadConfig;
use crate::read::inputs::Inputs;
use engine::{Arrival, Lba, Op, Request};
use proptest::prelude::*;
use std::fmt::Write;
use std::io;

/// Replays `text` on a device of `capacity` sectors.
fn reader(text: &str, options: &Trace, capacity: u64) -> Result<TraceReader, BuildError> {
    let path = if options.path.is_empty() { "t" } else { &options.path[..] };
    let options = Trace { path: path.to_owned(), ..options.clone() };
    TraceReader::new(&options, &on(capacity, 1, Inputs::memory("t", text.as_bytes())))
}

fn on(capacity_sectors: u64, volumes: u32, inputs: Inputs) -> Context {
    Context { capacity_sectors, scale: 1, volumes, zones: None, seed: 1, pass: 0, inputs }
}

fn replay(text: &str, options: &Trace, capacity: u64) -> (Vec<Arrival>, TraceReader) {
    let mut reader = reader(text, options, capacity).unwrap();
    let all = arrivals(&mut reader);
    (all, reader)
}

/// The first error of a replay.
fn fails(text: &str, options: &Trace, capacity: u64) -> String {
    let mut reader = match reader(text, options, capacity) {
        Ok(reader) => reader,
        Err(error) => return error.to_string(),
    };
    loop {
        match reader.next(0) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("no error in {text}"),
            Err(error) => return error.0,
        }
    }
}

fn sectors(arrivals: &[Arrival]) -> Vec<u64> {
    arrivals.iter().map(|arrival| arrival.request.lba.0).collect()
}

const PLAIN: &str = "1.5 0 100 8 1\n1.25 0 200 16 0\n3.5 1 300 8 0\n";

#[test]
fn requests_leave_in_order_of_time_with_absolute_times() {
    let (all, reader) = replay(PLAIN, &Trace::default(), 1000);
    let request = |id, op, sector, sectors| Request::new(id, op, Lba(sector), sectors);
    let expected = [
        Arrival { at: 1_250_000, request: request(0, Op::Write, 200, 16) },
        Arrival { at: 1_500_000, request: request(1, Op::Read, 100, 8) },
        Arrival { at: 3_500_000, request: request(2, Op::Write, 300, 8) },
    ];
    assert_eq!(all, expected);
    let notices = [("backward_steps", 1), ("other_device_requests", 1), ("misaligned_requests", 2)];
    assert_eq!(reader.notices(), notices);
    assert_eq!((reader.format().name, reader.expected_requests()), ("disksim", Some(3)));
}

#[test]
fn options_change_the_requests() {
    let (all, _) = replay(PLAIN, &Trace { time_scale: 0.5, ..Trace::default() }, 1000);
    assert_eq!(all.iter().map(|a| a.at).collect::<Vec<_>>(), [625_000, 750_000, 1_750_000]);
    let (all, _) = replay(PLAIN, &Trace { requests: Some(1), ..Trace::default() }, 1000);
    assert_eq!(sectors(&all), [100]);
    let integers = "1 0 100 8 1\n";
    let named = Trace { format: Some("disksim".to_owned()), ..Trace::default() };
    assert_eq!(sectors(&replay(integers, &named, 1000).0), [100]);
    assert!(
        fails(integers, &Trace::default(), 1000).starts_with("trace t: workload.time_unit: MQSim")
    );
}

#[test]
fn steps_beyond_the_window_are_refused() {
    let options = Trace { reorder_window: Limit::from_ns(200_000), ..Trace::default() };
    assert_eq!(
        fails(PLAIN, &options, 1000),
        "trace t, line 2: time steps back from 1.5ms to 1.25ms, further than \
         workload.reorder_window = \"200us\"; set it to at least \"250us\" to have such requests \
         put in order"
    );
    let options = Trace { reorder_window: Limit::from_ns(250_000), ..Trace::default() };
    assert_eq!(replay(PLAIN, &options, 1000).0.len(), 3);
    let crowd = "1.5 0 0 8 1\n".repeat(70_000) + "1.4 0 0 8 1\n";
    let error = fails(&crowd, &Trace::default(), 1000);
    assert!(error.contains("line 70001: time steps back to 1.4ms") && error.contains("65536"));
}

#[test]
fn beyond_the_device_there_are_three_choices() {
    let text = "1.0 0 0 8 1\n2.0 0 1996 4 1\n3.0 0 1000 8 0\n4.0 0 3996 4 0\n";
    let with = |beyond| Trace { beyond, ..Trace::default() };
    assert_eq!(
        fails(text, &with(Beyond::Error), 1600),
        "trace t, line 2: the request of 4 sectors from sector 1996 ends beyond the device's \
         1600 sectors (0.00 GiB); workload.beyond = \"span\" scales its addresses to the device, \"wrap\" \
         takes them modulo the capacity, \"dense\" renumbers the pages touched"
    );
    let (all, reader) = replay(text, &with(Beyond::Wrap), 1600);
    assert_eq!(sectors(&all), [0, 396, 1000, 796]);
    assert_eq!(reader.notices(), [("misaligned_requests", 2), ("wrapped_requests", 2)]);
    let (all, reader) = replay(text, &with(Beyond::Scale), 1600);
    // 500 pages on 200: the factor is 0.4, and the offset within a page is kept.
    assert_eq!(sectors(&all), [0, 796, 400, 1596]);
    assert_eq!(reader.notices(), [("misaligned_requests", 2), ("scaled_requests", 4)]);
    assert_eq!(reader.expected_requests(), Some(4));
    let (all, reader) = replay(text, &with(Beyond::Scale), 4000);
    assert_eq!(
        (sectors(&all), reader.notices()),
        (vec![0, 1996, 1000, 3996], vec![("misaligned_requests", 2)])
    );
    let large = "1.0 0 0 8 1\n2.0 0 5 32 1\n";
    for beyond in [Beyond::Wrap, Beyond::Scale] {
        let error = fails(large, &with(beyond), 16);
        assert!(error.contains("line 2: the request of 32 sectors exceeds the device's 16"));
    }
}

#[test]
fn only_the_requests_that_are_replayed_decide_the_scale() {
    let text = "1.0 0 1592 8 1\n2.0 0 100000 8 1\n";
    let options = Trace { beyond: Beyond::Scale, requests: Some(1), ..Trace::default() };
    let (all, reader) = replay(text, &options, 800);
    assert_eq!((sectors(&all), reader.expected_requests()), (vec![792], Some(1)));
}

#[test]
fn times_that_scale_beyond_the_clock_are_refused() {
    let options = Trace { time_scale: 1e30, ..Trace::default() };
    let error = fails(PLAIN, &options, 1000);
    assert!(error.contains("times workload.time_scale is more than 500 years"), "{error}");
}

#[test]
fn settings_that_do_not_fit_a_trace_are_refused_with_the_reason() {
    let context = super::super::tests::context(1000, 1);
    let with = |options: Trace| options.build(&context).err().unwrap();
    let path = "there".to_owned();
    assert!(
        matches!(with(Trace::default()), BuildError::Invalid(e) if e.keys[0] == "workload.path")
    );
    let rows = [
        (Trace { requests: Some(0), path: path.clone(), ..Trace::default() }, "workload.requests"),
        (Trace { time_scale: -1.0, path: path.clone(), ..Trace::default() }, "workload.time_scale"),
        (
            Trace { format: Some("x".to_owned()), path: path.clone(), ..Trace::default() },
            "workload.format",
        ),
    ];
    for (options, key) in rows {
        assert!(matches!(with(options), BuildError::Invalid(error) if error.keys[0] == key));
    }
    let missing = Inputs::streams(|_| Err(io::Error::from_raw_os_error(2)));
    let options = Trace { path, ..Trace::default() };
    let error = TraceReader::new(&options, &on(1, 1, missing)).err().unwrap();
    let text = "cannot open trace there: No such file or directory".to_owned();
    assert_eq!(error, BuildError::Input(text));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let context = on(1000, 1, Inputs::memory("", bytes));
        for beyond in [Beyond::Span, Beyond::Error, Beyond::Wrap, Beyond::Scale, Beyond::Dense] {
            let format = Some("disksim".to_owned());
            let options = Trace { format, beyond, ..Trace::default() };
            if let Ok(mut reader) = TraceReader::new(&options, &context) {
                while let Ok(Some(_)) = reader.next(0) {}
            }
        }
    }

    #[test]
    fn arrivals_are_in_order_and_inside(
        lines in proptest::collection::vec((0..3000_u64, 0..9999_u64, 1..64_u32), 1..100),
        wrap in any::<bool>(),
    ) {
        let mut newest = 0;
        let mut text = String::new();
        for (shift, sector, size) in &lines {
            // Up to 2 ms ahead of the newest record, or up to the window of 1 ms behind.
            let at = (newest + shift).saturating_sub(1000);
            newest = newest.max(at);
            writeln!(text, "{}.{:03} 0 {sector} {size} 0", at / 1000, at % 1000).unwrap();
        }
        let beyond = if wrap { Beyond::Wrap } else { Beyond::Scale };
        let (all, _) = replay(&text, &Trace { beyond, ..Trace::default() }, 1000);
        prop_assert_eq!(all.len(), lines.len());
        prop_assert!(all.is_sorted_by_key(|arrival| arrival.at));
        for (id, Arrival { request, .. }) in all.iter().enumerate() {
            prop_assert_eq!(request.id, id as u64);
            prop_assert!(request.lba.0 + u64::from(request.sectors) <= 1000);
        }
    }
}

#[test]
fn devices_are_selected_and_combined() {
    let text = "1.0 5 0 8 1\n2.0 2 8 8 1\n3.0 5 96 8 0\n4.0 9 16 8 0\n";
    let with = |devices: &str, combine| Trace {
        devices: devices.parse().unwrap(),
        combine,
        beyond: Beyond::Error,
        ..Trace::default()
    };
    let notices = |options: &Trace| {
        let (all, reader) = replay(text, options, 1000);
        (sectors(&all), reader.notices())
    };
    let (overlay, concatenate) = (Combine::Overlay, Combine::Concatenate);
    assert_eq!(
        notices(&with("all", overlay)),
        (vec![0, 8, 96, 16], vec![("other_device_requests", 2)])
    );
    assert_eq!(
        notices(&with("first", overlay)),
        (vec![0, 96], vec![("left_out_device_requests", 2)])
    );
    assert_eq!(sectors(&replay(text, &with("9,2", overlay), 1000).0), [8, 16]);
    // Device 2 spans 16 sectors, 5 spans 104, 9 spans 24.
    let (all, reader) = replay(text, &with("all", concatenate), 1000);
    assert_eq!((sectors(&all), reader.expected_requests()), (vec![16, 8, 112, 136], Some(4)));
    assert_eq!(sectors(&replay(text, &with("2,9", concatenate), 40).0), [8, 32]);
    let error = fails(text, &with("2,9", concatenate), 32);
    assert!(error.contains("line 4: ") && error.contains("ends beyond"), "{error}");
}

#[test]
fn each_device_can_have_a_volume_of_its_own() {
    let text = "1.0 5 0 8 1\n2.0 2 8 8 1\n3.0 5 96 8 0\n4.0 9 16 8 0\n";
    let replayed = |beyond, volumes, capacity| {
        let options =
            Trace { combine: Combine::Separate, beyond, path: "t".to_owned(), ..Trace::default() };
        let context = on(capacity, volumes, Inputs::memory("t", text.as_bytes()));
        TraceReader::new(&options, &context)
    };
    let places = |beyond, volumes, capacity| {
        sectors(&arrivals(&mut replayed(beyond, volumes, capacity).unwrap()))
    };
    // Devices 2, 5 and 9 in order; a volume has 200 sectors, or 50, less than device 5 spans.
    assert_eq!(places(Beyond::Error, 3, 600), [200, 8, 296, 416]);
    assert_eq!(places(Beyond::Error, 4, 800), [200, 8, 296, 416]);
    assert_eq!(places(Beyond::Wrap, 3, 144), [48, 8, 48, 112]);
    assert_eq!(places(Beyond::Scale, 3, 144), [48, 0, 88, 96]);
    assert_eq!(places(Beyond::Dense, 3, 144), [48, 0, 56, 96]);
    let mut small = replayed(Beyond::Error, 3, 144).unwrap();
    let error = (0..4).find_map(|_| small.next(0).err()).unwrap().0;
    assert!(error.contains("line 3: ") && error.contains("the volume's 48 sectors"), "{error}");
    for (volumes, has) in [(1, "is one piece"), (2, "has 2 volumes")] {
        let error = replayed(Beyond::Error, volumes, 1000).err().unwrap();
        let BuildError::Invalid(invalid) = error else { panic!("{error}") };
        assert_eq!(invalid.keys[0], "workload.combine");
        assert!(invalid.problem.contains("the trace has 3 devices"), "{invalid}");
        assert!(invalid.problem.contains(has), "{invalid}");
    }
}

#[test]
fn a_shift_aligns_and_misaligned_requests_are_counted() {
    let text = "1.0 0 63 8 1\n2.0 0 71 16 1\n3.0 0 64 8 1\n";
    let (_, reader) = replay(text, &Trace::default(), 1000);
    assert_eq!(reader.notices(), [("misaligned_requests", 2)]);
    let options = Trace { align_shift: 1, beyond: Beyond::Error, ..Trace::default() };
    let (all, reader) = replay(text, &options, 1000);
    assert_eq!(sectors(&all), [64, 72, 65]);
    assert_eq!(reader.notices(), [("shifted_requests", 3), ("misaligned_requests", 1)]);
    let options = Trace { format: Some("disksim".to_owned()), ..options };
    let error = fails("1.0 0 18446744073709551615 8 1\n", &options, 1000);
    assert!(error.contains("ends beyond"), "{error}");
}

#[test]
fn dense_closes_gaps_and_splits_what_ends_up_apart() {
    let text = "1.0 0 800000 8 1\n2.0 0 80 8 1\n3.0 0 800000 16 0\n4.0 0 900000 8 0\n";
    let options = Trace { beyond: Beyond::Dense, ..Trace::default() };
    let (all, reader) = replay(text, &options, 32);
    let requests: Vec<_> = all.iter().map(|a| (a.at, a.request.lba.0, a.request.sectors)).collect();
    let ms = |ms: u64| ms * 1_000_000;
    let expected = [(ms(1), 0, 8), (ms(2), 8, 8), (ms(3), 0, 8), (ms(3), 16, 8), (ms(4), 24, 8)];
    assert_eq!(requests, expected);
    let notices = [("compacted_requests", 4), ("split_requests", 1)];
    assert_eq!(reader.notices(), notices);
    let error = fails(text, &options, 24);
    assert!(error.contains("line 4: the pages touched up to here are more than"), "{error}");
}

#[test]
fn time_can_begin_at_zero_skip_gaps_end_and_repeat() {
    let text = "1.0 0 0 8 1\n2.0 0 8 8 1\n9.0 0 16 8 1\n11.0 0 24 8 1\n";
    let times = |options: Trace| {
        let (all, reader) = replay(text, &options, 1000);
        let times: Vec<u64> = all.iter().map(|arrival| arrival.at / 500_000).collect();
        (times, reader.notices())
    };
    let with = Trace::default;
    assert_eq!(times(Trace { start: Start::Zero, ..with() }).0, [0, 2, 16, 20]);
    assert_eq!(times(Trace { start: Start::Recorded, ..with() }).0, [2, 4, 18, 22]);
    let max_gap = Limit::from_ns(3_000_000);
    assert_eq!(
        times(Trace { max_gap, ..with() }),
        (vec![2, 4, 10, 14], vec![("shortened_gaps", 1)])
    );
    let duration = Limit::from_ns(8_000_000);
    assert_eq!(times(Trace { duration, ..with() }).0, [2, 4]);
    assert_eq!(times(Trace { max_gap, duration, ..with() }).0, [2, 4, 10, 14]);
    // The mean gap of 1 and 7 ms is 4 ms.
    let options = Trace { loops: 2, requests: Some(3), ..with() };
    assert_eq!(times(options).0, [2, 4, 18, 26, 28, 42]);
    let scaled = Trace { loops: 3, beyond: Beyond::Scale, duration, ..with() };
    assert_eq!(times(scaled).0, [2, 4, 6, 8, 10, 12]);
}

#[test]
fn repetitions_count_everything_and_are_expected() {
    let text = "1.0 0 0 8 1\n0.5 0 8 8 1\nx\n";
    let options = Trace { loops: 3, skip_bad: 1, beyond: Beyond::Scale, ..Trace::default() };
    let (all, reader) = replay(text, &options, 1000);
    assert_eq!((all.len(), reader.expected_requests()), (6, Some(6)));
    assert_eq!(reader.notices(), [("backward_steps", 3), ("unreadable_lines", 3)]);
}

#[test]
fn whole_seconds_are_spread_unless_told_otherwise() {
    let text = "1538323200,0,8,0,1\n1538323200,8,8,1,1\n1538323201,16,8,0,1\n";
    let times = |spread| {
        let (all, reader) = replay(text, &Trace { spread, ..Trace::default() }, 1000);
        (all.iter().map(|arrival| arrival.at / 1_000_000).collect(), reader.notices())
    };
    let even: (Vec<u64>, _) = (vec![0, 500, 1000], vec![("spread_requests", 1)]);
    assert_eq!(times(Spreading::Format), even);
    assert_eq!(times(Spreading::Even), even);
    assert_eq!(times(Spreading::None), (vec![0, 0, 1000], vec![]));
    let fine = Trace { spread: Spreading::Even, ..Trace::default() };
    assert!(fails(PLAIN, &fine, 1000).starts_with("workload.spread: the clock of format disksim"));
}

#[test]
fn standard_input_is_read_once_only() {
    let context = super::super::tests::context(1000, 1);
    let path = "-".to_owned();
    let with = |options: Trace| options.build(&context).err().unwrap().to_string();
    let rows = [
        Trace { beyond: Beyond::Scale, path: path.clone(), ..Trace::default() },
        Trace { combine: Combine::Concatenate, path: path.clone(), ..Trace::default() },
        Trace { loops: 2, path, ..Trace::default() },
    ];
    for options in rows {
        assert!(with(options).contains("more than once, which standard input does not allow"));
    }
}

/// Requests of a trace in TOML on 1000 sectors, or the error.
fn asked(text: &str, toml: &str) -> Result<Vec<(u64, Op, u64, u32)>, String> {
    let layer: toml::Table = toml::from_str(toml).unwrap();
    let Ok(WorkloadConfig::Trace(options)) = WorkloadConfig::resolve("trace", [layer]) else {
        return Err(format!("refused: {toml}"));
    };
    let mut reader = reader(text, &options, 1000).map_err(|error| error.to_string())?;
    std::iter::from_fn(|| reader.next(0).transpose())
        .map(|arrival| {
            let Arrival { at, request } = arrival.map_err(|error| error.0)?;
            Ok((at, request.op, request.lba.0, request.sectors))
        })
        .collect()
}

#[test]
fn every_key_changes_what_is_asked() {
    let plain = "1.0 0 0 8 1\n2.0 1 16 8 0\n1.5 0 8 8 1\n6.0 0 900 8 0\n";
    let far = "1.0 0 0 8 1\n2.0 0 4000 8 1\n";
    let tencent = "1538323200,0,8,0,1\n1538323200,8,8,1,1\n";
    let table = "1,r,0,1\n2,w,8,1\n";
    let linux = "8,0 0 1 1.000000000 7 Q R 8 + 8 [a]\n8,0 0 2 2.000000000 0 C R 8 + 16 [0]\n";
    let columns = "columns = 'time=1:s,op=2,offset=3:sectors,size=4'";
    let drawn = "columns = 'time=1:s,offset=3:sectors,size=4'\nread_share";
    let pattern = |first: &str| {
        format!(r"pattern = '^{first} (?<time_us>\d) (?<op>.) (?<sector>\d) (?<sectors>\d)'")
    };
    let rows = [
        ("path", plain, "", "path = 'other'"),
        ("format", plain, "", "format = 'flashsim'"),
        ("time_unit", "1 0 8 8 1\n", "time_unit = 'ns'", "time_unit = 's'"),
        ("columns", table, columns, "columns = 'time=1:ms,op=2,offset=3:sectors,size=4'"),
        ("pattern", "a 1 r 0 8\nb 2 w 8 8\n", &pattern("a"), &pattern("b")),
        ("layout", linux, "", "layout = '%D %c %s %T.%t %p %a %d %S + %N'"),
        ("event", linux, "", "event = 'complete'"),
        ("read_share", table, &format!("{drawn} = 0.0"), &format!("{drawn} = 1.0")),
        ("skip_bad", "1.0 0 0 8 1\nx\n2.0 0 0 8 1\n", "", "skip_bad = 1"),
        ("devices", plain, "", "devices = 'first'"),
        ("combine", plain, "", "combine = 'concatenate'"),
        ("align_shift", plain, "", "align_shift = 1"),
        ("commands", "1,zeroes,0,1\n2,w,8,1\n", columns, &format!("{columns}\ncommands = true")),
        ("beyond", far, "", "beyond = 'wrap'"),
        ("beyond", far, "beyond = 'scale'", "beyond = 'dense'"),
        ("start", plain, "", "start = 'zero'"),
        ("gaps", plain, "", "gaps = 'answer'"),
        ("spread", tencent, "", "spread = 'none'"),
        ("max_gap", plain, "", "max_gap = '1ms'"),
        ("time_scale", plain, "", "time_scale = 2.0"),
        ("reorder_window", plain, "", "reorder_window = '1us'"),
        ("requests", plain, "", "requests = 2"),
        ("duration", plain, "", "duration = '2ms'"),
        ("loops", plain, "", "loops = 2"),
        ("loop_places", plain, "loops = 2", "loops = 2\nloop_places = 'moved'"),
    ];
    for (key, text, one, other) in &rows {
        let (one, other) = (asked(text, one), asked(text, other));
        assert_ne!(one, other, "{key}");
    }
    let mut keys = Vec::new();
    WorkloadConfig::of_kind("trace").unwrap().describe(&mut keys);
    for key in keys {
        let name = key.path.strip_prefix("workload.").unwrap();
        assert!(rows.iter().any(|row| row.0 == name), "no test of {}", key.path);
    }
}

#[test]
fn gaps_may_be_from_an_answer_to_the_next_request() {
    let at = |text: &str, gaps, latency| {
        let mut reader = reader(text, &Trace { gaps, ..Trace::default() }, 1000).unwrap();
        let mut all = Vec::new();
        let mut now = 0;
        while let Some(arrival) = reader.next(now).unwrap() {
            assert_eq!(reader.next(now).unwrap(), None, "the next one waits for an answer");
            all.push(arrival.at);
            now = arrival.at + latency;
            let answer = super::super::tests::answer(arrival.request, arrival.at);
            reader.completed(&engine::Completion { at: now, ..answer });
        }
        all
    };
    let plain = "1.0 0 0 8 1\n2.0 1 16 8 0\n6.0 0 900 8 0\n";
    assert_eq!(at(plain, Gaps::Answer, 0), [1_000_000, 2_000_000, 6_000_000]);
    assert_eq!(at(plain, Gaps::Answer, 250_000), [1_000_000, 2_250_000, 6_500_000]);
    // A drive under test had queue depth 1: its traces state the host's gap after each completion.
    let tested = "R Miss 0 4 9.0 100.0\nW Hit 4 4 9.0 50.0\nR Doub 8 8 9.0 1.0\n";
    assert_eq!(at(tested, Gaps::Format, 30_000), [0, 130_000, 210_000]);
    let (all, _) = replay(tested, &Trace { gaps: Gaps::Arrival, ..Trace::default() }, 1000);
    assert_eq!(all.iter().map(|it| it.at).collect::<Vec<_>>(), [0, 100_000, 150_000]);
}

#[test]
fn flushes_pass_wherever_they_come_from() {
    let text = "fio version 3 iolog\n1 a write 0 512\n2 a sync\n3 a trim 0 512\n";
    for beyond in [Beyond::Span, Beyond::Error, Beyond::Wrap, Beyond::Scale, Beyond::Dense] {
        let (all, _) = replay(text, &Trace { beyond, ..Trace::default() }, 8);
        let ops: Vec<Op> = all.iter().map(|arrival| arrival.request.op).collect();
        assert_eq!(ops, [Op::Write, Op::Flush, Op::Trim]);
    }
}

#[test]
fn writes_that_must_be_durable_stay_so() {
    let line = |at: u64, what: &str, sector: u64| {
        format!("8,0 0 {at} {at}.000000000 7 D {what} {sector} + 8 [a]\n")
    };
    let text = [line(1, "W", 0), line(2, "WF", 8), line(3, "R", 0)].concat();
    let (all, _) = replay(&text, &Trace::default(), 100);
    let durable: Vec<bool> = all.iter().map(|arrival| arrival.request.fua).collect();
    assert_eq!(durable, [false, true, false]);
}
