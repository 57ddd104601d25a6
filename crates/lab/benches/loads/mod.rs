//! Loads whose instructions are counted: preset devices in steady state. `benches/speed.rs` writes
//! their table, `tests/instructions.rs` enforces budgets.

pub(crate) mod count;

/// A device under a load.
pub(crate) struct Load {
    /// Names of the device and the load in the table.
    pub(crate) device: &'static str,
    pub(crate) name: &'static str,
    /// Settings of the device, including its preparation; a text may contain several, separated by
    /// "; ".
    pub(crate) on: &'static [&'static str],
    pub(crate) workload: &'static str,
    pub(crate) settings: &'static [&'static str],
    /// Number of rounds of 8,192 requests before the count, and counted.
    pub(crate) first: u64,
    pub(crate) rounds: u64,
    /// The budget, and true if every commit is checked against it.
    pub(crate) budget: (Most, bool),
}

impl Load {
    const fn often(self) -> Load {
        Load { budget: (self.budget.0, true), ..self }
    }
}

/// Maximum instructions per request in the build of the tests, which checks for overflow.
#[derive(Clone, Copy)]
pub(crate) enum Most {
    /// Instructions: 9 % above the last measurement.
    Each(u32),
    /// Thousandths above the same load on this device. The goal for a new drive is 30 for a read
    /// and 50 for a write; builds differ by a few.
    Thousandths(Device, u32),
    /// Instructions above the same load on this device.
    Beyond(Device, u32),
}
use Most::{Beyond, Each, Thousandths};

const fn load(
    (device, on): Device,
    name: &'static str,
    workload: &'static str,
    settings: &'static [&'static str],
    most: Most,
) -> Load {
    Load { device, name, on, workload, settings, first: 1, rounds: 2, budget: (most, false) }
}

/// Requests of many pages, of which fewer are counted.
const fn long(on: Device, name: &'static str, workload: &'static str, most: Most) -> Load {
    Load { rounds: 1, ..load(on, name, workload, &[], most) }
}

/// Its name in the table, and its settings.
pub(crate) type Device = (&'static str, &'static [&'static str]);

/// Random overwrites of twice the capacity after the fill: write amplification is then within 1.5 %
/// of its value at the end of `run.precondition=steady`. All loads of a drive start from this
/// state.
const STEADY: &str = "run.precondition=random:2";

const OF_2008: Device = ("agrawal2008", &["device.preset=agrawal2008", STEADY]);
/// Its dies program one plane at a time.
const BUFFERED: Device = (
    "agrawal2008 with a buffer of 16 MiB",
    &["device.preset=agrawal2008", "device.buffer.size=16MiB"],
);
const TLC: Device = ("tlc-enterprise", &["device.preset=tlc-enterprise", STEADY]);
const QLC: Device = ("qlc-enterprise", &["device.preset=qlc-enterprise", STEADY]);
const MICRON: Device = ("micron-7450-pro", &["device.preset=micron-7450-pro", STEADY]);
const SAMSUNG: Device = ("samsung-pm9a3", &["device.preset=samsung-pm9a3", STEADY]);

const AGEING: &str = "device.media.model=tlc-3d";
/// Every page read checks if a retry is needed.
const TLC_AGEING: Device =
    ("tlc-enterprise whose data age", &["device.preset=tlc-enterprise", AGEING, STEADY]);
/// Practically no read is retried.
const TLC_OLDER: Device = (
    "tlc-enterprise, data of 30 min",
    &["device.preset=tlc-enterprise", AGEING, STEADY, "run.age=30min at 30C"],
);
/// Each write checks if the page that it overwrites is lost.
const TLC_OLD: Device = (
    "tlc-enterprise, data of a year",
    &["device.preset=tlc-enterprise", AGEING, STEADY, "run.age=1y at 30C"],
);

const DISK: Device = ("nearline-24tb", &["device.preset=nearline-24tb"]);
const ARRAY: Device =
    ("agrawal2008-array-6", &["device.preset=agrawal2008-array-6", "workload.outstanding=192"]);
const OF_FIVE: &str =
    "device.kind=array; device.members=5; device.redundancy=parity; workload.outstanding=160";
const FIVE: Device =
    ("five of agrawal2008 with parity", &[OF_FIVE, "device.member.preset=agrawal2008", STEADY]);
const FIVE_TLC: Device = (
    "five of tlc-enterprise with parity",
    &[OF_FIVE, "device.member.preset=tlc-enterprise", STEADY],
);
const LAW: Device = ("a law of service times", &["device.kind=law", "device.size=64MiB", NEAR]);
const CACHE: Device = (
    "a cache of that, which is hit",
    &["device.kind=cache; device.fast.kind=law; device.fast.size=64MiB", BEHIND, NEAR],
);
const BEHIND: &str = "device.backing.kind=law; device.backing.size=1GiB";
/// All lines are in the cache when counting starts.
const NEAR: &str = "workload.footprint=4MiB";

const READS: &str = "random reads";
const WRITES: &str = "random writes";
const MIXED: &str = "mixed";
const READS_IN_ORDER: &str = "sequential reads";
const WRITES_IN_ORDER: &str = "sequential writes";

pub(crate) const LOADS: [Load; 42] = [
    load(OF_2008, READS, "random-read", &[], Each(2_500)).often(),
    load(OF_2008, WRITES, "random-write", &[], Each(6_680)).often(),
    INTERLEAVED,
    load(OF_2008, MIXED, "mixed", &[], Each(4_470)),
    long(OF_2008, READS_IN_ORDER, "sequential-read", Each(40_940)),
    long(OF_2008, WRITES_IN_ORDER, "sequential-write", Each(165_040)),
    load(BUFFERED, READS, "random-read", &[], Each(2_940)),
    load(TLC, READS, "random-read", &[], Each(3_670)).often(),
    load(TLC, WRITES, "random-write", &[], Each(9_700)).often(),
    load(TLC, MIXED, "mixed", &[], Each(4_630)),
    long(TLC, READS_IN_ORDER, "sequential-read", Each(70_740)),
    long(TLC, WRITES_IN_ORDER, "sequential-write", Each(192_500)),
    load(TLC_AGEING, READS, "random-read", &[], Thousandths(TLC, 35)),
    load(TLC_AGEING, WRITES, "random-write", &[], Thousandths(TLC, 45)).often(),
    load(TLC_OLDER, READS, "random-read", &[], Thousandths(TLC, 120)),
    load(TLC_OLD, WRITES, "random-write", &[], Thousandths(TLC, 440)),
    load(MICRON, READS, "random-read", &[], Each(3_670)),
    load(MICRON, WRITES, "random-write", &[], Each(8_990)),
    load(SAMSUNG, READS, "random-read", &[], Each(3_640)),
    load(SAMSUNG, WRITES, "random-write", &[], Each(9_670)),
    load(QLC, READS, "random-read", &[], Each(3_530)),
    load(QLC, WRITES, "random-write", &[], Each(18_460)).often(),
    long(QLC, READS_IN_ORDER, "sequential-read", Each(14_470)),
    long(QLC, WRITES_IN_ORDER, "sequential-write", Each(99_240)),
    load(
        DISK,
        "random reads, one at a time",
        "random-read",
        &["workload.outstanding=1"],
        Each(2_830),
    ),
    load(DISK, READS, "random-read", &[], Each(5_200)).often(),
    load(DISK, "random reads by sstf", "random-read", &["device.scheduler=sstf"], Each(4_050)),
    load(DISK, "random reads by scan", "random-read", &["device.scheduler=scan"], Each(4_020)),
    load(DISK, "random reads by c-look", "random-read", &["device.scheduler=c-look"], Each(3_970)),
    load(DISK, "random reads by fcfs", "random-read", &["device.scheduler=fcfs"], Each(3_680)),
    load(DISK, WRITES, "random-write", &[], Each(8_140)),
    load(DISK, READS_IN_ORDER, "sequential-read", &[], Each(4_130)),
    load(DISK, WRITES_IN_ORDER, "sequential-write", &[], Each(3_500)),
    load(ARRAY, READS, "random-read", &[], Each(3_000)).often(),
    load(FIVE, READS, "random-read", &[], Each(3_120)),
    load(FIVE, WRITES, "random-write", &[], Each(27_660)),
    long(FIVE, READS_IN_ORDER, "sequential-read", Each(48_940)),
    load(FIVE_TLC, READS, "random-read", &[], Each(5_530)),
    load(FIVE_TLC, WRITES, "random-write", &[], Each(39_670)),
    long(FIVE_TLC, READS_IN_ORDER, "sequential-read", Each(127_200)),
    load(LAW, READS, "random-read", &[], Each(1_180)),
    load(CACHE, READS, "random-read", &[], Beyond(LAW, 520)).often(),
];
/// The free blocks left by blocking garbage collection last for half a million writes.
const INTERLEAVED: Load = Load {
    first: 90,
    ..load(
        OF_2008,
        "random writes, interleaved cleaning",
        "random-write",
        &["cleaning.time=interleaved"],
        Each(7_190),
    )
};

/// Index of a load in the table.
pub(crate) fn place(device: &str, name: &str) -> usize {
    let found = LOADS.iter().position(|load| load.device == device && load.name == name);
    found.unwrap_or_else(|| panic!("no load {name:?} on {device:?}"))
}
