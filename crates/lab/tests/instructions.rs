//! Budgets of instructions per request. Counts are reproducible regardless of other load on the
//! machine. `make test-valgrind`; all rows with `SSDLAB_DEPTH=nightly`. `docs/speed.md` has the
//! counts of the release build.

use crate::depth::depth;
use crate::loads::Most::{Beyond, Each, Thousandths};
use crate::loads::count::{be_counted, instructions, prepare};
use crate::loads::{LOADS, Load, place};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// The environment variable for the run under valgrind: index of its load, and the folder of
/// states.
const ASKED: &str = "SSDLAB_TEST_RUN";

/// Instructions per request of the loads at these indices; several are counted in parallel.
fn counts(folder: &Path, places: Vec<usize>) -> BTreeMap<usize, f64> {
    // Loads of one device share its state, which is prepared once.
    let left = Mutex::new(places);
    let counted = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(place) = { left.lock().expect("none panics").pop() } {
            prepare(folder, &LOADS[place]);
            let asked = format!("{place} {}", folder.display());
            let child =
                ["--ignored", "--exact", "instructions::the_run_that_is_counted", "--nocapture"];
            let each = instructions(&child, (ASKED, &asked)).unwrap_or_else(|why| panic!("{why}"));
            counted.lock().expect("none panics").insert(place, each);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    counted.into_inner().expect("none panics")
}

#[test]
#[ignore = "needs valgrind"]
fn a_request_keeps_within_its_budget() {
    let every = depth(0, 0, 1) == 1;
    let budgets: Vec<&Load> = LOADS.iter().filter(|load| load.budget.1 || every).collect();
    let mut places = Vec::new();
    for load in &budgets {
        places.push(place(load.device, load.name));
        if let Thousandths((other, _), _) | Beyond((other, _), _) = load.budget.0 {
            places.push(place(other, load.name));
        }
    }
    places.sort_unstable_by(|one, other| other.cmp(one));
    places.dedup();
    let folder = tempfile::tempdir().expect("a folder");
    let counts = counts(folder.path(), places);
    let mut over = Vec::new();
    for Load { device, name, budget, .. } in budgets {
        let of = |device| counts[&place(device, name)];
        let each = of(device);
        // A request with far fewer instructions was not counted, and a feature without any
        // additional ones was not active.
        let (least, most) = match budget.0 {
            Each(most) => (f64::from(most) / 2.0, f64::from(most)),
            Thousandths((other, _), most) => (of(other), of(other) * (1.0 + f64::from(most) / 1e3)),
            Beyond((other, _), most) => (of(other), of(other) + f64::from(most)),
        };
        let line = format!("{device}, {name}: {each:.0} instructions a request, {most:.0} at most");
        println!("{line}");
        if each <= least || each > most {
            over.push(line);
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

#[test]
#[ignore = "is run by a_request_keeps_within_its_budget"]
fn the_run_that_is_counted() {
    let Ok(asked) = std::env::var(ASKED) else { return };
    let (place, folder) = asked.split_once(' ').expect("a place and a folder");
    be_counted(Path::new(folder), &LOADS[place.parse::<usize>().expect("a place")]);
}
