//! Tests of the trace kind: small traces in memory, and the recorded ones where they are at hand.
//!
//! Each test draws the smallest trace that shows its point. A recorded trace that is absent is
//! named on standard error and left out.

use super::super::tests::arrivals;
use super::*;
use proptest::prelude::*;
use std::fmt::Write;
use std::io::Cursor;

/// Replays `text` on a device of `capacity` sectors.
fn reader(text: &str, options: &Trace, capacity: u64) -> Result<TraceReader, BuildError> {
    let open = || Ok(Box::new(Cursor::new(text.as_bytes().to_vec())) as Box<dyn Read + Send>);
    TraceReader::new(&open, &Trace { path: "t".to_owned(), ..options.clone() }, capacity)
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
    let request = |id, op, sector, sectors| Request { id, op, lba: Lba(sector), sectors };
    let expected = [
        Arrival { at: 1_250_000, request: request(0, Op::Write, 200, 16) },
        Arrival { at: 1_500_000, request: request(1, Op::Read, 100, 8) },
        Arrival { at: 3_500_000, request: request(2, Op::Write, 300, 8) },
    ];
    assert_eq!(all, expected);
    assert_eq!(reader.notices(), [("backward_steps", 1), ("other_device_requests", 1)]);
    assert_eq!((reader.format().name, reader.expected_requests()), ("disksim", None));
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
    assert!(fails(integers, &Trace::default(), 1000).contains("in no known format"));
}

#[test]
fn steps_beyond_the_window_are_refused() {
    let options = Trace { reorder_window: Duration::from_ns(200_000), ..Trace::default() };
    assert_eq!(
        fails(PLAIN, &options, 1000),
        "trace t, line 2: time steps back from 1.5ms to 1.25ms, further than \
         workload.reorder_window = \"200us\"; set it to at least \"250us\" to have such requests \
         put in order"
    );
    let options = Trace { reorder_window: Duration::from_ns(250_000), ..Trace::default() };
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
         1600 sectors (0.00 GiB); workload.beyond = \"error\" refuses that, \"wrap\" takes \
         addresses modulo the capacity, \"scale\" shrinks all addresses to it"
    );
    let (all, reader) = replay(text, &with(Beyond::Wrap), 1600);
    assert_eq!(sectors(&all), [0, 396, 1000, 796]);
    assert_eq!(reader.notices(), [("wrapped_requests", 2)]);
    let (all, reader) = replay(text, &with(Beyond::Scale), 1600);
    // 500 pages on 200: the factor is 0.4, and the place within a page stays.
    assert_eq!(sectors(&all), [0, 796, 400, 1596]);
    assert_eq!(reader.notices(), [("scaled_requests", 4)]);
    assert_eq!(reader.expected_requests(), Some(4));
    let (all, reader) = replay(text, &with(Beyond::Scale), 4000);
    assert_eq!((sectors(&all), reader.notices()), (vec![0, 1996, 1000, 3996], vec![]));
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
fn what_cannot_be_built_says_why() {
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
    let missing = || Err(io::Error::from_raw_os_error(2));
    let error = TraceReader::new(&missing, &Trace { path, ..Trace::default() }, 1).err().unwrap();
    let text = "cannot open trace there: No such file or directory".to_owned();
    assert_eq!(error, BuildError::Input(text));
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let open = || Ok(Box::new(Cursor::new(bytes.clone())) as Box<dyn Read + Send>);
        for beyond in [Beyond::Error, Beyond::Wrap, Beyond::Scale] {
            let format = Some("disksim".to_owned());
            let options = Trace { format, beyond, ..Trace::default() };
            if let Ok(mut reader) = TraceReader::new(&open, &options, 1000) {
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
            // Up to 2 ms ahead of the newest, or up to 1 ms, the window, behind it.
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

/// Traces recorded elsewhere, which are not part of the project.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces");

/// Requests and percentage of reads of a recorded trace; `None`, and a word why, if it is absent.
fn recorded(file: &str) -> Option<(u64, f64)> {
    let path = format!("{RECORDED}/{file}");
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("skipped: {path} is absent");
        return None;
    };
    let open = || Ok(Box::new(Cursor::new(bytes.clone())) as Box<dyn Read + Send>);
    let options = Trace { path, beyond: Beyond::Scale, ..Trace::default() };
    let all = arrivals(&mut TraceReader::new(&open, &options, 1 << 23).unwrap());
    let reads = all.iter().filter(|arrival| arrival.request.op == Op::Read).count();
    Some((all.len() as u64, reads as f64 * 100.0 / all.len() as f64))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its data")]
fn recorded_traces_have_their_published_mix() {
    for file in ["disksim_iozone_aligned2_100K.trace.zst", "disksim_postmark_aligned2.trace.zst"] {
        let Some((requests, read_percent)) = recorded(file) else { continue };
        let table = std::fs::read_to_string(format!("{RECORDED}/EXPECTED.tsv")).unwrap();
        let row = table.lines().find(|row| row.starts_with(file)).unwrap();
        let columns: Vec<&str> = row.split('\t').collect();
        assert_eq!(requests.to_string(), columns[2], "{file}");
        assert!((read_percent - columns[3].parse::<f64>().unwrap()).abs() < 0.01, "{file}");
    }
    // Not in the table: 200,000 requests, 133,523 of them reads.
    if let Some((requests, read_percent)) = recorded("oracle_w_tpcc.trace.zst") {
        assert_eq!(requests, 200_000);
        assert!((read_percent - 66.7615).abs() < 1e-9, "{read_percent}");
    }
}
