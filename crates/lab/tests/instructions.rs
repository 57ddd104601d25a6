//! Budgets of instructions a request. Counts are the same in every run, whatever else the machine does.
//! `make test-valgrind`; all rows with `SSDLAB_DEPTH=nightly`. What the release build takes is in `docs/speed.md`.

use crate::depth::depth;
use crate::loads::count::{be_counted, instructions, prepare};
use crate::loads::{LOADS, READS, WRITES, place};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// What the run under valgrind is asked, by the name of the variable: the place of its load and the folder of states.
const ASKED: &str = "SSDLAB_TEST_RUN";

/// The most that a request may take in the build of the tests, which checks every sum.
enum Most {
    /// 9 % above what it took last.
    Instructions(u32),
    /// So many thousandths more than the same load on this device. Wanted of a new drive are 30 for a read and 50 for
    /// a write; builds differ by a few.
    Thousandths(&'static str, u32),
    /// So many instructions more than the same load on this device.
    Beyond(&'static str, u32),
}
use Most::{Beyond, Instructions, Thousandths};

/// Device, load, whether it is counted in every commit.
type Budget = (&'static str, &'static str, bool, Most);

const BUDGETS: [Budget; 42] = [
    ("agrawal2008", READS, true, Instructions(2_500)),
    ("agrawal2008", WRITES, true, Instructions(6_680)),
    ("agrawal2008", "random writes, interleaved cleaning", false, Instructions(7_190)),
    ("agrawal2008", "mixed", false, Instructions(4_470)),
    ("agrawal2008", "sequential reads", false, Instructions(40_940)),
    ("agrawal2008", "sequential writes", false, Instructions(165_040)),
    ("agrawal2008 with a buffer of 16 MiB", READS, false, Instructions(2_940)),
    ("tlc-enterprise", READS, true, Instructions(3_670)),
    ("tlc-enterprise", WRITES, true, Instructions(9_700)),
    ("tlc-enterprise", "mixed", false, Instructions(4_630)),
    ("tlc-enterprise", "sequential reads", false, Instructions(70_740)),
    ("tlc-enterprise", "sequential writes", false, Instructions(192_500)),
    ("tlc-enterprise whose data age", READS, false, Thousandths("tlc-enterprise", 35)),
    ("tlc-enterprise whose data age", WRITES, true, Thousandths("tlc-enterprise", 45)),
    ("tlc-enterprise, data of 30 min", READS, false, Thousandths("tlc-enterprise", 120)),
    ("tlc-enterprise, data of a year", WRITES, false, Thousandths("tlc-enterprise", 440)),
    ("micron-7450-pro", READS, false, Instructions(3_670)),
    ("micron-7450-pro", WRITES, false, Instructions(8_990)),
    ("samsung-pm9a3", READS, false, Instructions(3_640)),
    ("samsung-pm9a3", WRITES, false, Instructions(9_670)),
    ("qlc-enterprise", READS, false, Instructions(3_530)),
    ("qlc-enterprise", WRITES, true, Instructions(18_460)),
    ("qlc-enterprise", "sequential reads", false, Instructions(14_470)),
    ("qlc-enterprise", "sequential writes", false, Instructions(99_240)),
    ("nearline-24tb", "random reads, one at a time", false, Instructions(2_830)),
    ("nearline-24tb", READS, true, Instructions(5_200)),
    ("nearline-24tb", "random reads by sstf", false, Instructions(4_050)),
    ("nearline-24tb", "random reads by scan", false, Instructions(4_020)),
    ("nearline-24tb", "random reads by c-look", false, Instructions(3_970)),
    ("nearline-24tb", "random reads by fcfs", false, Instructions(3_680)),
    ("nearline-24tb", WRITES, false, Instructions(8_140)),
    ("nearline-24tb", "sequential reads", false, Instructions(4_130)),
    ("nearline-24tb", "sequential writes", false, Instructions(3_500)),
    ("agrawal2008-array-6", READS, true, Instructions(3_000)),
    ("five of agrawal2008 with parity", READS, false, Instructions(3_120)),
    ("five of agrawal2008 with parity", WRITES, false, Instructions(27_660)),
    ("five of agrawal2008 with parity", "sequential reads", false, Instructions(48_940)),
    ("five of tlc-enterprise with parity", READS, false, Instructions(5_530)),
    ("five of tlc-enterprise with parity", WRITES, false, Instructions(39_670)),
    ("five of tlc-enterprise with parity", "sequential reads", false, Instructions(127_200)),
    ("a law of service times", READS, false, Instructions(1_180)),
    ("a cache of that, which is hit", READS, true, Beyond("a law of service times", 520)),
];

/// Instructions a request of the loads at these places; several are counted at once.
fn counts(folder: &Path, places: Vec<usize>) -> BTreeMap<usize, f64> {
    // Those of one device wait for its state, which is prepared once.
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
    let budgets: Vec<&Budget> = BUDGETS.iter().filter(|(_, _, often, _)| *often || every).collect();
    let mut places = Vec::new();
    for (device, name, _, most) in &budgets {
        places.push(place(device, name));
        if let Thousandths(other, _) | Beyond(other, _) = most {
            places.push(place(other, name));
        }
    }
    places.sort_unstable_by(|one, other| other.cmp(one));
    places.dedup();
    let folder = tempfile::tempdir().expect("a folder");
    let counts = counts(folder.path(), places);
    let mut over = Vec::new();
    for (device, name, _, most) in budgets {
        let each = counts[&place(device, name)];
        // A request that costs next to nothing was not counted, and what adds nothing was not there.
        let (least, most) = match most {
            Instructions(most) => (f64::from(*most) / 2.0, f64::from(*most)),
            Thousandths(other, most) => {
                let without = counts[&place(other, name)];
                (without, without * (1.0 + f64::from(*most) / 1e3))
            }
            Beyond(other, most) => {
                let without = counts[&place(other, name)];
                (without, without + f64::from(*most))
            }
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
fn every_load_of_the_table_has_a_budget() {
    let held: Vec<usize> = BUDGETS.iter().map(|(device, name, ..)| place(device, name)).collect();
    for (number, load) in LOADS.iter().enumerate() {
        let times = held.iter().filter(|it| **it == number).count();
        assert_eq!(times, 1, "{}, {}", load.device, load.name);
    }
}

#[test]
#[ignore = "is run by a_request_keeps_within_its_budget"]
fn the_run_that_is_counted() {
    let Ok(asked) = std::env::var(ASKED) else { return };
    let (place, folder) = asked.split_once(' ').expect("a place and a folder");
    be_counted(Path::new(folder), &LOADS[place.parse::<usize>().expect("a place")]);
}
