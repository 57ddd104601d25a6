//! Tests of the preserved span of a trace.

use super::moves::LoopPlaces;
use super::*;
use crate::kind::WorkloadKind;
use crate::read::inputs::Inputs;

/// The first sectors of the requests of `text` on a device of `capacity_sectors`, simulated at
/// 1/`scale`.
fn places(text: &str, capacity_sectors: u64, scale: u32) -> (Vec<u64>, Replayed) {
    let inputs = Inputs::memory("t", text.as_bytes());
    replayed(capacity_sectors, scale, inputs).unwrap()
}

fn replayed(
    capacity_sectors: u64,
    scale: u32,
    inputs: Inputs,
) -> Result<(Vec<u64>, Replayed), String> {
    looped(capacity_sectors, scale, inputs, 0, Trace::default())
}

fn looped(
    capacity_sectors: u64,
    scale: u32,
    inputs: Inputs,
    pass: u64,
    options: Trace,
) -> Result<(Vec<u64>, Replayed), String> {
    let context =
        Context { capacity_sectors, scale, volumes: 1, zones: None, seed: 1, pass, inputs };
    let options = Trace { path: "t".to_owned(), ..options };
    let mut reader = options.build(&context).map_err(|error| error.to_string())?;
    let mut sectors = Vec::new();
    while let Some(arrival) = reader.next(0).map_err(|error| error.to_string())? {
        sectors.push(arrival.request.lba.0);
    }
    Ok((sectors, reader.replayed().unwrap()))
}

/// A line of a trace: a write of 8 sectors.
fn line(number: usize, sector: u64) -> String {
    format!("{number}.5 0 {sector} 8 0\n")
}

#[test]
fn what_fits_a_whole_drive_stays_where_it_is() {
    let (sectors, replayed) = places(&[line(0, 0), line(1, 992)].concat(), 1000, 1);
    assert_eq!(sectors, [0, 992]);
    assert_eq!((replayed.mapping, replayed.span_bytes), ("recorded", 512_000));
    assert_eq!((replayed.touched_bytes, replayed.volumes), (8192, vec![(0, 2)]));
}

#[test]
fn on_a_part_of_a_drive_a_trace_has_its_share_of_the_whole() {
    // 1,024 chunks of 16 pages; the full-size drive is four times as large.
    let capacity = 1024 * 16 * 8;
    let quarter: Vec<String> = (0..1024).map(|it| line(it, it as u64 * 128)).collect();
    let (sectors, replayed) = places(&quarter.concat(), capacity, 4);
    let last = sectors.iter().max().unwrap();
    assert!((capacity / 4 - 128..=capacity / 4).contains(last), "{last} of {capacity}");
    assert_eq!((replayed.mapping, replayed.chunk_bytes), ("scaled", Some(65_536)));
    // The end of the drive is preserved.
    assert_eq!(places(&line(0, 4 * capacity - 8), capacity, 4).0, [capacity - 8]);
}

#[test]
fn what_is_sequential_stays_so_within_chunks() {
    let capacity = 1024 * 16 * 8;
    let lines: Vec<String> = (0..16 * 64).map(|it| line(it, it as u64 * 8)).collect();
    let (sectors, _) = places(&lines.concat(), capacity, 64);
    let breaks = sectors.windows(2).filter(|pair| pair[1] != pair[0] + 8).count();
    assert_eq!(breaks, 63);
    // Chunks mapped to one page range use its pages in turn.
    assert!(sectors.iter().all(|it| *it < 128), "{sectors:?}");
}

#[test]
fn beyond_the_whole_drive_the_trace_itself_is_the_span() {
    let (sectors, replayed) = places(&[line(0, 3992), line(1, 2000)].concat(), 1000, 2);
    assert_eq!(sectors, [992, 496]);
    assert_eq!(replayed.mapping, "scaled");
    // A trace that can be read only once is not surveyed first.
    let once = |text: &str| {
        let text = text.to_owned();
        Inputs::streams(move |_| Ok(Box::new(std::io::Cursor::new(text.clone()))))
    };
    assert_eq!(replayed_at(once(&line(0, 1992))), Ok(vec![992]));
    let error = replayed_at(once(&line(0, 3992))).unwrap_err();
    assert!(error.contains("ends beyond"), "{error}");
}

fn replayed_at(inputs: Inputs) -> Result<Vec<u64>, String> {
    replayed(1000, 2, inputs).map(|it| it.0)
}

#[test]
fn replays_of_a_sample_come_to_cover_its_span() {
    // 100 of 8,192 pages, and the last one.
    let mut lines: Vec<String> = (0..100).map(|it| line(it, it as u64 * 8)).collect();
    lines.push(line(100, 65_528));
    let text = lines.concat();
    let distinct = |loop_places, loops, pass| {
        let inputs = Inputs::memory("t", text.as_bytes());
        let options = Trace { loops, loop_places, ..Trace::default() };
        let (sectors, replayed) = looped(65_536, 1, inputs, pass, options).unwrap();
        assert_eq!(sectors.len() as u64, 101 * loops);
        assert!(sectors.iter().all(|it| it + 8 <= 65_536), "{sectors:?}");
        assert_eq!(replayed.span_bytes, 65_536 * 512, "as recorded");
        sectors.into_iter().collect::<std::collections::BTreeSet<_>>()
    };
    let once = distinct(LoopPlaces::Same, 1, 0);
    assert_eq!(distinct(LoopPlaces::Same, 400, 0), once);
    assert_eq!(distinct(LoopPlaces::Moved, 1, 0), once, "the first stays");
    assert!(distinct(LoopPlaces::Moved, 400, 0).len() > 8_000);
    // A preconditioning pass has numbers above the loops.
    assert_ne!(distinct(LoopPlaces::Moved, 1, 1), once);
}

#[test]
fn pages_that_are_renumbered_are_not_moved() {
    let inputs = Inputs::memory("t", line(0, 8).as_bytes());
    let options =
        Trace { loop_places: LoopPlaces::Moved, beyond: Beyond::Dense, ..Trace::default() };
    let error = looped(1000, 1, inputs, 0, options).unwrap_err();
    assert!(error.contains("workload.loop_places"), "{error}");
}
