//! The loads whose work is counted: devices as they ship, in steady state. `benches/speed.rs` writes the table of
//! them, `tests/instructions.rs` holds them to budgets.

pub(crate) mod count;

/// A device under a load.
pub(crate) struct Load {
    /// What the table calls the device and the load.
    pub(crate) device: &'static str,
    pub(crate) name: &'static str,
    /// Settings of the device, and how it is prepared.
    pub(crate) on: &'static [&'static str],
    pub(crate) workload: &'static str,
    pub(crate) settings: &'static [&'static str],
    /// So many times 8,192 requests come first, and so many are counted.
    pub(crate) first: u64,
    pub(crate) rounds: u64,
}

const fn load(
    (device, on): (&'static str, &'static [&'static str]),
    name: &'static str,
    workload: &'static str,
    settings: &'static [&'static str],
) -> Load {
    Load { device, name, on, workload, settings, first: 1, rounds: 2 }
}

/// Requests of many pages, of which fewer are counted.
const fn long(
    (device, on): (&'static str, &'static [&'static str]),
    name: &'static str,
    workload: &'static str,
) -> Load {
    Load { device, name, on, workload, settings: &[], first: 1, rounds: 1 }
}

type Device = (&'static str, &'static [&'static str]);

/// As many pages as the drive has written at random after it was filled, twice: on these drives the write amplification
/// is then within 1.5 % of that where `run.precondition=steady` stops. All loads of a drive begin from this one state.
const STEADY: &str = "run.precondition=random:2";

const OF_2008: Device = ("agrawal2008", &["device.preset=agrawal2008", STEADY]);
/// Its dies program plane by plane.
const BUFFERED: Device = (
    "agrawal2008 with a buffer of 16 MiB",
    &["device.preset=agrawal2008", "device.buffer.size=16MiB"],
);
const TLC: Device = ("tlc-enterprise", &["device.preset=tlc-enterprise", STEADY]);
const QLC: Device = ("qlc-enterprise", &["device.preset=qlc-enterprise", STEADY]);
const MICRON: Device = ("micron-7450-pro", &["device.preset=micron-7450-pro", STEADY]);
const SAMSUNG: Device = ("samsung-pm9a3", &["device.preset=samsung-pm9a3", STEADY]);

const AGEING: &str = "device.media.model=tlc-3d";
/// Every page is asked whether its read must be repeated.
const TLC_AGEING: Device =
    ("tlc-enterprise whose data age", &["device.preset=tlc-enterprise", AGEING, STEADY]);
/// No read in thousands is repeated.
const TLC_OLDER: Device = (
    "tlc-enterprise, data of 30 min",
    &["device.preset=tlc-enterprise", AGEING, STEADY, "run.age=30min at 30C"],
);
/// Each write asks whether the page that it covers is lost.
const TLC_OLD: Device = (
    "tlc-enterprise, data of a year",
    &["device.preset=tlc-enterprise", AGEING, STEADY, "run.age=1y at 30C"],
);

const DISK: Device = ("nearline-24tb", &["device.preset=nearline-24tb"]);
const ARRAY: Device =
    ("agrawal2008-array-6", &["device.preset=agrawal2008-array-6", "workload.outstanding=192"]);
const FIVE: Device = (
    "five of agrawal2008 with parity",
    &[
        "device.kind=array",
        "device.members=5",
        "device.redundancy=parity",
        "device.member.preset=agrawal2008",
        "workload.outstanding=160",
        STEADY,
    ],
);
const FIVE_TLC: Device = (
    "five of tlc-enterprise with parity",
    &[
        "device.kind=array",
        "device.members=5",
        "device.redundancy=parity",
        "device.member.preset=tlc-enterprise",
        "workload.outstanding=160",
        STEADY,
    ],
);
const LAW: Device = ("a law of service times", &["device.kind=law", "device.size=64MiB", NEAR]);
const CACHE: Device = (
    "a cache of that, which is hit",
    &[
        "device.kind=cache",
        "device.fast.kind=law",
        "device.fast.size=64MiB",
        "device.backing.kind=law",
        "device.backing.size=1GiB",
        NEAR,
    ],
);
/// All lines are in the cache when the count begins.
const NEAR: &str = "workload.footprint=4MiB";

/// Names of loads.
pub(crate) const READS: &str = "random reads";
pub(crate) const WRITES: &str = "random writes";
const MIXED: &str = "mixed";
const READS_IN_ORDER: &str = "sequential reads";
const WRITES_IN_ORDER: &str = "sequential writes";

pub(crate) const LOADS: [Load; 42] = [
    load(OF_2008, READS, "random-read", &[]),
    load(OF_2008, WRITES, "random-write", &[]),
    INTERLEAVED,
    load(OF_2008, MIXED, "mixed", &[]),
    long(OF_2008, READS_IN_ORDER, "sequential-read"),
    long(OF_2008, WRITES_IN_ORDER, "sequential-write"),
    load(BUFFERED, READS, "random-read", &[]),
    load(TLC, READS, "random-read", &[]),
    load(TLC, WRITES, "random-write", &[]),
    load(TLC, MIXED, "mixed", &[]),
    long(TLC, READS_IN_ORDER, "sequential-read"),
    long(TLC, WRITES_IN_ORDER, "sequential-write"),
    load(TLC_AGEING, READS, "random-read", &[]),
    load(TLC_AGEING, WRITES, "random-write", &[]),
    load(TLC_OLDER, READS, "random-read", &[]),
    load(TLC_OLD, WRITES, "random-write", &[]),
    load(MICRON, READS, "random-read", &[]),
    load(MICRON, WRITES, "random-write", &[]),
    load(SAMSUNG, READS, "random-read", &[]),
    load(SAMSUNG, WRITES, "random-write", &[]),
    load(QLC, READS, "random-read", &[]),
    load(QLC, WRITES, "random-write", &[]),
    long(QLC, READS_IN_ORDER, "sequential-read"),
    long(QLC, WRITES_IN_ORDER, "sequential-write"),
    load(DISK, "random reads, one at a time", "random-read", &["workload.outstanding=1"]),
    load(DISK, READS, "random-read", &[]),
    load(DISK, "random reads by sstf", "random-read", &["device.scheduler=sstf"]),
    load(DISK, "random reads by scan", "random-read", &["device.scheduler=scan"]),
    load(DISK, "random reads by c-look", "random-read", &["device.scheduler=c-look"]),
    load(DISK, "random reads by fcfs", "random-read", &["device.scheduler=fcfs"]),
    load(DISK, WRITES, "random-write", &[]),
    load(DISK, READS_IN_ORDER, "sequential-read", &[]),
    load(DISK, WRITES_IN_ORDER, "sequential-write", &[]),
    load(ARRAY, READS, "random-read", &[]),
    load(FIVE, READS, "random-read", &[]),
    load(FIVE, WRITES, "random-write", &[]),
    long(FIVE, READS_IN_ORDER, "sequential-read"),
    load(FIVE_TLC, READS, "random-read", &[]),
    load(FIVE_TLC, WRITES, "random-write", &[]),
    long(FIVE_TLC, READS_IN_ORDER, "sequential-read"),
    load(LAW, READS, "random-read", &[]),
    load(CACHE, READS, "random-read", &[]),
];
/// The blocks that cleaning at once has left free last for half a million writes.
const INTERLEAVED: Load = Load {
    first: 90,
    ..load(
        OF_2008,
        "random writes, interleaved cleaning",
        "random-write",
        &["cleaning.time=interleaved"],
    )
};

/// The place of a load in the table.
pub(crate) fn place(device: &str, name: &str) -> usize {
    let found = LOADS.iter().position(|load| load.device == device && load.name == name);
    found.unwrap_or_else(|| panic!("no load {name:?} on {device:?}"))
}
