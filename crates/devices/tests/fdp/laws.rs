//! What holds for handles on every drive.

use super::{Keys, buffered, config, fdp, pages, placed, plane, pooled, shared_load, write};
use crate::common::{Closed, run_closed, run_cut};
use devices::Model;
use devices::ssd::{HandleReport, Ssd, SsdConfig, SsdReport};
use engine::{Device, Handle, Op, Request, Time};
use serde_json::{Value, json};

/// Drives of each kind, with room for three handles.
fn drives() -> Vec<(&'static str, Keys)> {
    let mut by_block = buffered();
    by_block.extend([
        ("device.cleaning.reclaim", json!("block")),
        ("device.blocks_per_plane", json!(128)),
    ]);
    let mut volatile = buffered();
    volatile.extend([
        ("device.buffer.power_loss_protected", json!(false)),
        ("device.spare_factor", json!(0.35)),
    ]);
    let mut two_pass = buffered();
    two_pass.extend([
        ("device.cell.program", json!("two-pass")),
        ("device.buffer.power_loss_protected", json!(true)),
        ("device.buffer.size", json!("16MiB")),
        ("device.blocks_per_plane", json!(128)),
    ]);
    vec![
        ("one plane", plane(96, 32, 0.15)),
        ("a pool of two packages", pooled()),
        ("superblocks", buffered()),
        ("blocks of dies", by_block),
        ("a volatile buffer", volatile),
        ("two passes", two_pass),
    ]
}

/// Drives with more that moves data, or keeps it.
fn with_more() -> Vec<(&'static str, Keys)> {
    let keeping = |mut keys: Keys| {
        keys.extend([
            ("device.snapshots.most", json!(2)),
            ("device.snapshots.every", json!("3MiB")),
            ("device.spare_factor", json!(0.35)),
        ]);
        keys
    };
    let caching = |mut keys: Keys| {
        keys.extend([
            ("device.slc_cache.dynamic", json!(0.3)),
            ("device.slc_cache.program", json!("0.3ms")),
            ("device.slc_cache.read", json!("20us")),
            ("device.buffer.size", json!("8MiB")),
            ("device.spare_factor", json!(0.4)),
        ]);
        keys
    };
    vec![
        ("snapshots of one plane", keeping(plane(96, 32, 0.3))),
        ("snapshots of superblocks", keeping(buffered())),
        ("an SLC cache", caching(buffered())),
        ("snapshots and an SLC cache", keeping(caching(buffered()))),
    ]
}

/// Runs a load in time, or request by request without; the end of a run in time, and when each was answered.
fn run(ssd: &mut Ssd, load: &[Request], timed: bool) -> (Time, Vec<(u64, Time)>) {
    if timed {
        let own = load.to_vec();
        let make = move |id| own[id as usize];
        let (end, mut done) = run_closed(ssd, &mut Closed::new(16, load.len() as u64, make));
        done.sort_by_key(|it| it.request.id);
        return (end, done.iter().map(|it| (it.request.id, it.at)).collect());
    }
    for request in load {
        assert!(ssd.serve_untimed(request).is_ok());
    }
    ssd.check().unwrap();
    (0, Vec::new())
}

/// The same on a new drive, with what it has to report.
fn report(config: &SsdConfig, load: &[Request], timed: bool) -> (Vec<(u64, Time)>, SsdReport) {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let (end, answered) = run(&mut ssd, load, timed);
    (answered, ssd.account(end))
}

/// Three times the capacity, about.
fn load_for(config: &SsdConfig) -> Vec<Request> {
    let pages = pages(&Ssd::new(config, 1).unwrap());
    shared_load(pages * 3 / 2, pages)
}

#[test]
fn one_handle_places_as_a_drive_without_fdp() {
    for (name, keys) in drives() {
        let (without, with) = (config(&keys), placed(keys.clone(), 1, "initial", &[]));
        let load: Vec<Request> = load_for(&without)
            .into_iter()
            .map(|it| {
                if it.handle.number() == Some(0) {
                    it
                } else {
                    Request { handle: Handle::NONE, ..it }
                }
            })
            .collect();
        for timed in [false, true] {
            let (plain, expected) = report(&without, &load, timed);
            let (answered, mut found) = report(&with, &load, timed);
            let handles = found.fdp.take().unwrap().handles;
            assert!(expected.fdp.is_none() && expected == found && plain == answered, "{name}");
            let [only] = handles[..] else { panic!("{handles:?}") };
            assert_eq!(only.host, expected.counts.host_bytes_written);
            assert!(only.moved > 0 && only.media > only.moved, "{name}: {only:?}");
        }
    }
}

#[test]
fn permuting_the_numbers_of_handles_changes_nothing_else() {
    for (name, keys) in drives().into_iter().chain(with_more()) {
        for isolation in ["initial", "persistent"] {
            let config = placed(keys.clone(), 3, isolation, &[]);
            let load = load_for(&config);
            let turned = |it: &Request| {
                let number = it
                    .handle
                    .number()
                    .map_or(Handle::NONE, |it| Handle::new((u64::from(it) + 1) % 3));
                Request { handle: number, ..*it }
            };
            let other: Vec<Request> = load.iter().map(turned).collect();
            for timed in [false, true] {
                let (one, mut first) = report(&config, &load, timed);
                let (two, second) = report(&config, &other, timed);
                let found = first.fdp.as_mut().unwrap();
                found.handles.rotate_right(1);
                for event in found.last.iter_mut().flatten() {
                    event.handle = event.handle.map(|it| (it + 1) % 3);
                }
                assert_eq!(first.counts, second.counts, "{name}, {isolation}, timed: {timed}");
                assert_eq!(first.fdp, second.fdp, "{name}, {isolation}, timed: {timed}");
                assert!(one == two, "{name}, {isolation}: answers come at other times");
            }
        }
    }
}

#[test]
fn what_handles_count_adds_up_to_what_the_drive_counts() {
    for (name, keys) in drives().into_iter().chain(with_more()) {
        for isolation in ["initial", "persistent"] {
            let config = placed(keys.clone(), 3, isolation, &[]);
            let load = load_for(&config);
            for timed in [false, true] {
                let (_, all) = report(&config, &load, timed);
                let found = fdp(&all);
                let sum = |of: fn(&HandleReport) -> u64| found.handles.iter().map(of).sum::<u64>();
                let page = 4096;
                assert_eq!(sum(|it| it.host), all.counts.host_bytes_written, "{name}");
                assert_eq!(sum(|it| it.moved), all.counts.pages_moved * page, "{name}");
                let padded = (all.counts.padding_pages + all.counts.parity_pages) * page;
                assert_eq!(sum(|it| it.media) + padded, all.counts.bytes_programmed, "{name}");
                let because = sum(|it| it.moved_because) + found.moved_from_shared;
                assert_eq!(because, all.counts.victim_pages_moved * page, "{name}, {isolation}");
                if isolation == "persistent" || name == "one plane" {
                    assert_eq!(found.moved_from_shared > 0, isolation == "initial", "{name}");
                }
                assert!(found.handles.iter().all(|it| it.host > 0 && it.opened > 0), "{name}");
                assert!(
                    sum(|it| it.foreign) > 0 && sum(|it| it.foreign) < sum(|it| it.invalidated)
                );
                let asked: u64 =
                    load.iter().filter(|it| it.op == Op::Write).map(Request::bytes).sum();
                assert_eq!(sum(|it| it.host), asked, "{name}");
            }
        }
    }
}

#[test]
fn timed_and_untimed_runs_move_alike() {
    for (name, keys) in drives() {
        for isolation in ["initial", "persistent"] {
            let config = placed(keys.clone(), 3, isolation, &[]);
            let load = load_for(&config);
            let [untimed, timed] = [false, true]
                .map(|timed| report(&config, &load, timed).1.write_amplification.unwrap());
            println!("{name}, {isolation}: {untimed:.3} untimed, {timed:.3} timed");
            assert!(
                (untimed / timed - 1.0).abs() < 0.12,
                "{name}, {isolation}: {untimed} and {timed}"
            );
        }
    }
}

#[test]
fn a_saved_drive_goes_on_as_it_would_have() {
    for (name, keys) in drives() {
        let config = placed(keys, 3, "persistent", &[]);
        let load = load_for(&config);
        let (before, after) = load.split_at(load.len() / 2);
        let mut one = Ssd::new(&config, 1).unwrap();
        run(&mut one, before, false);
        one.overwrite_untimed(&[], 0);
        one.check().unwrap();
        if !one.condition().rests {
            continue;
        }
        let kept = one.save().unwrap();
        let mut two = Ssd::new(&config, 1).unwrap();
        two.restore(kept).unwrap();
        let later: Vec<Request> =
            after.iter().map(|it| Request { id: it.id - before.len() as u64, ..*it }).collect();
        assert!(run(&mut one, &later, true) == run(&mut two, &later, true), "{name}");
        one.check().unwrap();
        two.check().unwrap();
    }
}

#[test]
fn power_cuts_leave_handles_that_go_on() {
    for (name, mut keys) in drives() {
        // What is written anew after a cut needs room.
        keys.push(("device.spare_factor", json!(0.5)));
        let more: [(&str, Value); 1] = [("device.persistence.recovery", json!("spare"))];
        let config = placed(keys, 3, "persistent", &more);
        let load = load_for(&config);
        for at in [3_000_000, 40_000_000, 150_000_000] {
            let mut ssd = Ssd::new(&config, 1).unwrap();
            let own = load.clone();
            let make = move |id| own[id as usize];
            run_cut(&mut ssd, &mut Closed::new(16, load.len() as u64, make), at);
            let asked = fdp(&ssd.account(1)).handles.iter().map(|it| it.host).sum::<u64>();
            assert!(asked > 0, "{name}");
        }
    }
}

#[test]
fn a_handle_that_there_is_not_is_handle_0_and_an_event() {
    let config = placed(plane(96, 32, 0.3), 3, "initial", &[]);
    let mut ssd = Ssd::new(&config, 1).unwrap();
    for (id, handle) in [0, 1, 2, 3, 200, 70_000].into_iter().enumerate() {
        ssd.submit(0, write(id as u64, id as u64, 1, handle));
    }
    let mut done = Vec::new();
    ssd.advance(1_000_000_000, &mut done);
    let all = ssd.account(1_000_000_000);
    let found = fdp(&all);
    assert_eq!(found.events, [0, 0, 0, 3, 0, 0]);
    assert_eq!(
        found.last[0].iter().map(|it| it.named).collect::<Vec<_>>(),
        [3, 200, 254].map(Some)
    );
    assert_eq!(found.handles.iter().map(|it| it.host / 4096).collect::<Vec<_>>(), [4, 1, 1]);
}

#[test]
fn a_rule_places_what_names_no_handle() {
    let of = |rule: &str, load: &[Request]| {
        let more: [(&str, Value); 1] = [("device.fdp.place", json!(rule))];
        let (_, all) = report(&placed(plane(96, 32, 0.3), 3, "initial", &more), load, true);
        fdp(&all).handles.iter().map(|it| it.host / 4096).collect::<Vec<_>>()
    };
    let plain = |id, page, pages, queue| Request {
        handle: Handle::NONE,
        queue,
        ..write(id, page, pages, 0)
    };
    let load = [plain(0, 0, 1, 0), plain(1, 2000, 4, 5), write(2, 100, 2, 1)];
    assert_eq!(of("none", &load), [5, 2, 0]);
    assert_eq!(of("queue", &load), [1, 2, 4]);
    assert_eq!(of("address(0-10%:2)", &load), [4, 2, 1]);
    assert_eq!(of("size(<=4KiB:1, <=16KiB:2)", &load), [0, 3, 4]);
}
