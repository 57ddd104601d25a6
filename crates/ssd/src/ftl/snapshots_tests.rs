//! Snapshots against a model that copies everything.

use super::Ftl;
use crate::config::{Fill, SnapshotKeys, SsdConfig};
use crate::flash::Flash;
use crate::ids::Lpn;
use crate::shape::Geometry;
use engine::{Random, Xoshiro256};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Expected state of the drive: the version of each page.
type State = BTreeMap<u64, u64>;

/// Two packages with ample room, so that few pages move.
fn drive(blocks_per_plane: u32, space: f64) -> (Ftl, Flash) {
    let config = SsdConfig {
        channels: 2,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane,
        pages_per_block: 16,
        spare_factor: Some(if blocks_per_plane > 100 { 0.98 } else { 0.4 }),
        fill: Fill::EMPTY,
        snapshots: SnapshotKeys { most: 3, space, ..SnapshotKeys::default() },
        ..SsdConfig::default()
    };
    let geometry = Geometry::new(&config).unwrap();
    match Ftl::new(&config, &geometry, 0, &mut || ControlFlow::Continue(())) {
        ControlFlow::Continue(drive) => drive,
        ControlFlow::Break(()) => unreachable!("nothing ends it"),
    }
}

/// Pages that snapshots have in versions that the drive has not.
fn held(drive: &State, snapshots: &[State]) -> usize {
    let all: BTreeSet<(u64, u64)> =
        snapshots.iter().flatten().map(|(page, version)| (*page, *version)).collect();
    all.iter().filter(|(page, version)| drive.get(page) != Some(version)).count()
}

/// Writes, trims and makes snapshots at random, and compares with a model that copies everything.
fn compare(blocks_per_plane: u32, space: f64, watches: bool) -> u64 {
    let (mut ftl, mut flash) = drive(blocks_per_plane, space);
    let random = &mut Xoshiro256::new(6, 0);
    let (mut model, mut snapshots) = (State::new(), Vec::<State>::new());
    // Position of each version; where nothing moves it stays there.
    let mut places = BTreeMap::new();
    let pages = ftl.geometry.exported_pages();
    for version in 0..6_000 {
        let page = random.below(pages);
        match random.below(200) {
            0 => {
                ftl.make_snapshot(0);
                if snapshots.len() == 3 {
                    snapshots.remove(0);
                }
                snapshots.push(model.clone());
            }
            1..20 => {
                if model.remove(&page).is_some() {
                    ftl.trim_all(&mut flash, page..page + 1);
                }
            }
            _ => {
                ftl.overwrite_untimed(&mut flash, &[page]);
                model.insert(page, version);
                places.insert(version, ftl.lookup(Lpn(page)).unwrap());
            }
        }
        let report = ftl.snapshots.as_ref().unwrap().report();
        while snapshots.len() > report.kept.len() {
            // The oldest took too much space.
            snapshots.remove(0);
        }
        assert_eq!(report.pages_held as usize, held(&model, &snapshots), "{version}");
        let there: Vec<usize> = report.kept.iter().rev().map(|it| it.pages as usize).collect();
        assert_eq!(there, snapshots.iter().map(State::len).collect::<Vec<_>>());
        if version % 50 > 0 {
            continue;
        }
        ftl.check_snapshots().unwrap();
        for (back, snapshot) in (1..).zip(snapshots.iter().rev()) {
            for page in 0..pages {
                let found = ftl.page_of_snapshot(back, Lpn(page));
                let found = found.map(|number| ftl.lookup(number).expect("it lies somewhere"));
                let expected = snapshot.get(&page).map(|version| places[version]);
                assert_eq!(found.is_some(), expected.is_some(), "page {page}, {back} back");
                assert!(!watches || found == expected, "page {page}, {back} back");
            }
        }
    }
    assert_eq!(watches, ftl.counters.moves == 0);
    ftl.snapshots.as_ref().unwrap().report().crowded_out
}

#[test]
fn a_snapshot_is_read_where_its_version_was_written() {
    compare(1_000, 1.0, true);
}

#[test]
fn cleaning_moves_what_snapshots_hold_and_the_oldest_goes_where_there_is_no_room() {
    assert!(compare(32, 0.3, false) > 0);
}
