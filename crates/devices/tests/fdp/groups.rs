//! Reclaim groups: copies stay in theirs, each is a drive by itself, and a full one refuses.

use super::{Keys, buffered, fdp, near, pages, placed, write};
use crate::common::{Closed, run_closed, run_cut};
use devices::ssd::{HandleReport, Ssd, SsdConfig, SsdReport};
use devices::{Instruction, Model};
use engine::{Completion, Handle, Lba, Op, Random, Request, Status, Time, Xoshiro256};
use serde_json::{Value, json};

/// Handles of each group.
const HANDLES: u64 = 3;

/// Drives of each kind with reclaim groups.
fn drives() -> Vec<(&'static str, u32, Keys)> {
    let with = |more: &[(&'static str, Value)]| {
        let mut keys = buffered();
        keys.push(("device.blocks_per_plane", json!(96)));
        keys.push(("device.buffer.size", json!("16MiB")));
        keys.extend(more.iter().cloned());
        keys
    };
    let by_block =
        [("device.cleaning.reclaim", json!("block")), ("device.blocks_per_plane", json!(128))];
    let volatile = [
        ("device.buffer.power_loss_protected", json!(false)),
        ("device.pages_per_block", json!(48)),
        ("device.spare_factor", json!(0.4)),
    ];
    let two_pass = [
        ("device.cell.program", json!("two-pass")),
        ("device.blocks_per_plane", json!(128)),
        ("device.spare_factor", json!(0.35)),
    ];
    vec![
        ("two groups", 2, with(&[])),
        ("a group of each die", 8, with(&[("device.blocks_per_plane", json!(192))])),
        ("two groups of dies that are cleaned apart", 2, with(&by_block)),
        ("a volatile buffer", 2, with(&volatile)),
        ("two passes", 2, with(&two_pass)),
    ]
}

fn grouped(keys: &Keys, groups: u32, isolation: &'static str) -> SsdConfig {
    placed(keys.clone(), HANDLES as u32, isolation, &[("device.fdp.groups", json!(groups))])
}

/// Hosts with a part of the addresses each, that write it with the handles of their group; now and then one trims.
fn load(requests: u64, pages: u64, groups: u32) -> Vec<Request> {
    let random = &mut Xoshiro256::new(7, 4);
    let part = pages / u64::from(groups);
    let one = |id| {
        let group = random.below(groups.into());
        let page = group * part + random.below(part - 2);
        if random.below(50) == 0 {
            return Request::new(id, Op::Trim, Lba(page * 8), 16);
        }
        write(id, page, 2, group * HANDLES + random.below(HANDLES))
    };
    (0..requests).map(one).collect()
}

fn run(ssd: &mut Ssd, load: &[Request], timed: bool) -> Time {
    if timed {
        let own = load.to_vec();
        let make = move |id| own[id as usize];
        let (end, done) = run_closed(ssd, &mut Closed::new(16, load.len() as u64, make));
        assert!(done.iter().all(|it| it.status.is_ok()));
        return end;
    }
    for request in load {
        assert!(ssd.serve_untimed(request).is_ok());
    }
    ssd.check().unwrap();
    0
}

fn report(config: &SsdConfig, load: &[Request], timed: bool) -> SsdReport {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let end = run(&mut ssd, load, timed);
    ssd.account(end)
}

fn load_for(config: &SsdConfig, groups: u32) -> Vec<Request> {
    let pages = pages(&Ssd::new(config, 1).unwrap());
    load(pages * 3 / 2, pages, groups)
}

#[test]
fn copies_stay_in_their_group_and_what_placements_count_adds_up() {
    for (name, groups, keys) in drives() {
        for (isolation, timed) in [("initial", true), ("persistent", false)] {
            let config = grouped(&keys, groups, isolation);
            // The audit behind it looks where each page lies.
            let all = report(&config, &load_for(&config, groups), timed);
            let found = fdp(&all);
            assert_eq!(found.handles.len(), (groups * HANDLES as u32) as usize);
            let sum = |of: fn(&HandleReport) -> u64| found.handles.iter().map(of).sum::<u64>();
            assert_eq!(sum(|it| it.host), all.counts.host_bytes_written, "{name}");
            assert_eq!(sum(|it| it.moved), all.counts.pages_moved * 4096, "{name}");
            let padded = (all.counts.padding_pages + all.counts.parity_pages) * 4096;
            assert_eq!(sum(|it| it.media) + padded, all.counts.bytes_programmed, "{name}");
            let because = sum(|it| it.moved_because) + found.moved_from_shared;
            assert_eq!(because, all.counts.victim_pages_moved * 4096, "{name}");
            for part in found.handles.chunks(HANDLES as usize) {
                assert!(part.iter().map(|it| it.moved).sum::<u64>() > 0, "{name}: {part:?}");
            }
        }
    }
}

#[test]
fn permuting_the_numbers_of_groups_changes_nothing_else() {
    for (name, groups, keys) in drives() {
        let config = grouped(&keys, groups, "persistent");
        let load = load_for(&config, groups);
        let turned = |it: &Request| {
            let placements = u64::from(groups) * HANDLES;
            let number = it.handle.number().map(|it| (u64::from(it) + HANDLES) % placements);
            Request { handle: number.map_or(Handle::NONE, Handle::new), ..*it }
        };
        let other: Vec<Request> = load.iter().map(turned).collect();
        let mut first = report(&config, &load, false);
        let second = report(&config, &other, false);
        let found = first.fdp.as_mut().unwrap();
        found.handles.rotate_right(HANDLES as usize);
        for event in found.last.iter_mut().flatten() {
            let turned = |it: u8| (u32::from(it) + HANDLES as u32) % (groups * HANDLES as u32);
            event.handle = event.handle.map(|it| turned(it) as u8);
        }
        assert_eq!(first.counts, second.counts, "{name}");
        assert_eq!(first.fdp, second.fdp, "{name}");
    }
}

#[test]
fn groups_that_are_written_evenly_have_the_amplification_of_a_drive_of_their_size() {
    let part = |channels: u32, groups: u32| {
        let mut keys = buffered();
        keys.extend([
            ("device.blocks_per_plane", json!(160)),
            ("device.channels", json!(channels)),
            ("device.buffer.size", json!("4MiB")),
            ("device.spare_factor", json!(0.25)),
        ]);
        let config = placed(keys, 2, "initial", &[("device.fdp.groups", json!(groups))]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let random = &mut Xoshiro256::new(3, u64::from(groups));
        let all = pages(&ssd);
        let size = all / u64::from(groups);
        let mut write_all = |ssd: &mut Ssd, count: u64| {
            for id in 0..count {
                let (group, handle) = (random.below(groups.into()), random.below(2));
                let page = group * size + handle * (size / 2) + random.below(size / 2);
                assert!(ssd.serve_untimed(&write(id, page, 1, 2 * group + handle)).is_ok());
            }
        };
        write_all(&mut ssd, 4 * all);
        ssd.instruct(0, Instruction::ResetCounts).unwrap();
        write_all(&mut ssd, 3 * all);
        ssd.account(1).write_amplification.unwrap()
    };
    near(part(4, 2), part(2, 1), 0.02, "two groups");
    near(part(4, 4), part(1, 1), 0.02, "four groups");
}

/// Writes pages of a range in order until one is refused; how many were taken.
fn fill(ssd: &mut Ssd, range: std::ops::Range<u64>, handle: u64) -> Option<u64> {
    let first = range.start;
    for page in range {
        match ssd.serve_untimed(&write(page, page, 1, handle)) {
            Status::Ok => {}
            Status::CapacityExceeded => return Some(page - first),
            other => panic!("{other:?}"),
        }
    }
    None
}

#[test]
fn a_full_group_refuses_and_the_others_go_on() {
    for (name, groups, keys) in drives() {
        let config = grouped(&keys, groups, "initial");
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let all = pages(&ssd);
        let share = all / u64::from(groups);
        let taken = fill(&mut ssd, 0..all, 0).unwrap_or_else(|| panic!("{name}: all in one"));
        assert!((share..2 * share).contains(&taken), "{name}: {taken} of {share}");
        // What lies there is written over, again and again, and cleaning goes on.
        let random = &mut Xoshiro256::new(3, 1);
        for id in 0..2 * share {
            let page = random.below(taken);
            assert!(ssd.serve_untimed(&write(id, page, 1, id % HANDLES)).is_ok(), "{name}");
        }
        // What is not, has room in another group, and here when something is given back.
        assert_eq!(fill(&mut ssd, taken..taken + 1, 1), Some(0), "{name}");
        assert_eq!(fill(&mut ssd, taken..taken + 9, HANDLES), None, "{name}");
        assert!(ssd.serve_untimed(&Request::new(0, Op::Trim, Lba(0), 8)).is_ok());
        assert_eq!(fill(&mut ssd, 0..1, 2), None, "{name}");
        ssd.check().unwrap();
        let report = ssd.account(1);
        let refused: Vec<u64> = fdp(&report).handles.iter().map(|it| it.refused / 4096).collect();
        assert_eq!((refused[0], refused[1], refused.iter().sum::<u64>()), (1, 1, 2), "{name}");
        assert_eq!(report.counts.refused_pages, 2);
    }
}

#[test]
fn a_full_group_refuses_in_time_and_keeps_nobody_waiting() {
    for (name, groups, keys) in drives() {
        let config = grouped(&keys, groups, "initial");
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let share = pages(&ssd) / u64::from(groups);
        // Every fifth write goes to the last group.
        let last = u64::from(groups - 1) * HANDLES;
        let make = move |id: u64| {
            if id % 5 == 4 {
                return write(id, 2 * share - 1 - id / 5 % (share / 4), 1, last);
            }
            write(id, id * 4 / 5 % (7 * share / 4), 1, 0)
        };
        let (end, done) = run_closed(&mut ssd, &mut Closed::new(16, 3 * share, make));
        let count = |of: fn(&Completion) -> bool| done.iter().filter(|it| of(it)).count() as u64;
        let refused = count(|it| it.status == Status::CapacityExceeded);
        assert!(refused > 0 && count(|it| it.status.is_ok()) + refused == 3 * share, "{name}");
        assert!(
            done.iter()
                .filter(|it| !it.status.is_ok())
                .all(|it| it.request.handle.number() == Some(0))
        );
        let report = ssd.account(end);
        assert_eq!(fdp(&report).handles[0].refused, refused * 4096, "{name}");
        assert!(!report.wear.ended, "{name}");
    }
}

#[test]
fn what_names_no_placement_stays_where_it_lies() {
    for (name, groups, mut keys) in drives() {
        keys.push(("device.fill", json!("full")));
        let config = grouped(&keys, groups, "initial");
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let all = pages(&ssd);
        let random = &mut Xoshiro256::new(3, 1);
        let drawn: Vec<u64> = (0..all).map(|_| random.below(all)).collect();
        ssd.overwrite_untimed(&drawn, 0);
        assert_eq!(ssd.account(1).counts.refused_pages, 0, "{name}");
        for id in 0..all {
            let free = Request { handle: Handle::NONE, ..write(id, random.below(all), 1, 0) };
            assert!(ssd.serve_untimed(&free).is_ok(), "{name}");
        }
        ssd.check().unwrap();
        let report = ssd.account(1);
        let hosts: Vec<u64> =
            fdp(&report).handles.chunks(HANDLES as usize).map(|it| it[0].host).collect();
        let mean = hosts.iter().sum::<u64>() as f64 / hosts.len() as f64;
        for host in hosts {
            near(host as f64, mean, 0.1, name);
        }
    }
}

#[test]
fn a_saved_drive_with_groups_goes_on_as_it_would_have() {
    for (name, groups, keys) in drives() {
        let config = grouped(&keys, groups, "persistent");
        let load = load_for(&config, groups);
        let (before, after) = load.split_at(load.len() / 2);
        let mut one = Ssd::new(&config, 1).unwrap();
        run(&mut one, before, false);
        one.overwrite_untimed(&[], 0);
        if !one.condition().rests {
            continue;
        }
        let kept = one.save().unwrap();
        let mut two = Ssd::new(&config, 1).unwrap();
        two.restore(kept.clone()).unwrap();
        let later: Vec<Request> =
            after.iter().map(|it| Request { id: it.id - before.len() as u64, ..*it }).collect();
        let ends = [&mut one, &mut two].map(|ssd| run(ssd, &later, true));
        assert_eq!(ends[0], ends[1], "{name}");
        let other = grouped(&keys, 1, "persistent");
        assert!(Ssd::new(&other, 1).unwrap().restore(kept).is_err(), "{name}: of another shape");
    }
}

#[test]
fn power_cuts_leave_every_page_in_the_group_of_its_handle() {
    for (name, groups, mut keys) in drives() {
        keys.push(("device.spare_factor", json!(0.5)));
        keys.push(("device.persistence.recovery", json!("spare")));
        let config = grouped(&keys, groups, "persistent");
        let load = load_for(&config, groups);
        // Pages change their group, too.
        let load: Vec<Request> = load
            .iter()
            .map(|it| match it.id % 9 {
                0 if it.op == Op::Write => Request { handle: Handle::new(HANDLES), ..*it },
                _ => *it,
            })
            .collect();
        for at in [3_000_000, 40_000_000] {
            let mut ssd = Ssd::new(&config, 1).unwrap();
            let own = load.clone();
            let make = move |id| own[id as usize];
            run_cut(&mut ssd, &mut Closed::new(16, load.len() as u64, make), at);
            let asked = fdp(&ssd.account(1)).handles.iter().map(|it| it.host).sum::<u64>();
            assert!(asked > 0, "{name}");
        }
    }
}
