//! Snapshots behind a write buffer against a model that copies everything, in time and without.

#[path = "../../../devices/tests/common/depth.rs"]
mod depth;

use crate::Ssd;
use crate::config::{Cleaning, Fill, Frontiers, Pace, Program, Reclaim, SnapshotKeys, SsdConfig};
use crate::device::Model;
use crate::ftl::SnapshotsReport;
use crate::ids::{Lpn, Ppn};
use engine::{Device, Handle, Lba, Op, Random, Request, Time, Xoshiro256};
use options::Size;
use std::collections::BTreeMap;

/// Expected state of the drive: the version of each page.
type State = BTreeMap<u64, u64>;

/// Sectors of a logical page.
const PAGE: u64 = 8;
/// The queue that reads snapshots, and which these are.
const QUEUE: u16 = 3;
const BACK: u32 = 2;

/// Two dies with groups of four logical pages, in lines of sixteen groups, and a buffer of sixteen groups.
fn small() -> SsdConfig {
    let mut config = SsdConfig {
        channels: 2,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 40,
        pages_per_block: 8,
        page_size: Size::from_bytes(16 << 10),
        logical_page: Some(Size::from_bytes(PAGE * 512)),
        summary_page: false,
        spare_factor: Some(0.5),
        fill: Fill::EMPTY,
        snapshots: SnapshotKeys {
            most: 3,
            space: 0.2,
            every: Size::from_bytes(400 * PAGE * 512),
            orders: "1: make, 2: drop, 3: drop-all".parse().unwrap(),
            queue: Some(QUEUE.into()),
            back: BACK,
        },
        ..SsdConfig::default()
    };
    config.buffer.size = Size::from_bytes(256 << 10);
    config
}

/// A drive and its expected content.
struct Trial {
    ssd: Ssd,
    is_timed: bool,
    now: Time,
    drive: State,
    snapshots: Vec<State>,
    /// First observed position of each version of a page.
    places: BTreeMap<(u64, u64), Ppn>,
    versions: u64,
}

impl Trial {
    fn report(&self) -> SnapshotsReport {
        self.ssd.ftl.snapshots.as_ref().unwrap().report()
    }

    /// Serves a single request on drive and model.
    fn serve(&mut self, request: Request, random: &mut Xoshiro256) {
        let (made, before) = (self.report().made, self.drive.clone());
        let pages =
            request.lba.0 / PAGE..(request.lba.0 + u64::from(request.sectors)).div_ceil(PAGE);
        match request.op {
            Op::Write => pages.for_each(|page| {
                self.versions += 1;
                self.drive.insert(page, self.versions);
            }),
            Op::Trim => pages.for_each(|page| {
                self.drive.remove(&page);
            }),
            Op::Read => return self.read(request),
            _ => {}
        }
        self.pass(request, random);
        self.follow(made, before);
    }

    /// Overwrites pages as in preconditioning: that makes no snapshot.
    fn prepare(&mut self, pages: &[u64]) {
        let (made, before) = (self.report().made, self.drive.clone());
        for page in pages {
            self.versions += 1;
            self.drive.insert(*page, self.versions);
        }
        self.ssd.overwrite_untimed(pages, 0);
        self.follow(made, before);
    }

    /// The snapshots that the drive has now.
    fn follow(&mut self, made: u64, before: State) {
        let report = self.report();
        if report.made > made {
            assert_eq!(report.made, made + 1);
            self.snapshots.push(before);
        }
        while self.snapshots.len() > report.kept.len() {
            self.snapshots.remove(0);
        }
        let there: Vec<usize> = report.kept.iter().rev().map(|it| it.pages as usize).collect();
        assert_eq!(there, self.snapshots.iter().map(State::len).collect::<Vec<_>>());
    }

    /// Compares a read with the state selected by its queue.
    fn read(&mut self, request: Request) {
        let made = self.report().made;
        let counts = |ssd: &Ssd| {
            let it = &ssd.ftl.counters;
            [it.unmapped_reads, it.buffer_hits + it.host_reads]
        };
        let before = counts(&self.ssd);
        let drive = self.drive.clone();
        self.pass(request, &mut Xoshiro256::new(0, 0));
        self.follow(made, drive);
        let back = self.snapshots.len().checked_sub(BACK as usize);
        let back = back.filter(|_| request.queue == QUEUE);
        let read = back.map_or(&self.drive, |at| &self.snapshots[at]);
        let page = request.lba.0 / PAGE;
        let pages = page..page + u64::from(request.sectors) / PAGE;
        let there = pages.clone().filter(|page| read.contains_key(page)).count() as u64;
        let [unmapped, found] = counts(&self.ssd);
        assert_eq!(unmapped - before[0], pages.count() as u64 - there);
        assert_eq!(found - before[1], there);
    }

    /// Serves the request, and perhaps some later events.
    fn pass(&mut self, request: Request, random: &mut Xoshiro256) {
        if !self.is_timed {
            assert!(self.ssd.serve_untimed(&request).is_ok());
            return;
        }
        let mut done = Vec::new();
        self.ssd.submit(self.now, request);
        while done.is_empty() {
            self.now = self.ssd.next_event().expect("it is answered");
            self.ssd.advance(self.now, &mut done);
        }
        assert!(done[0].status.is_ok());
        for _ in 0..random.below(6) {
            let Some(at) = self.ssd.next_event() else { break };
            self.now = at;
            self.ssd.advance(at, &mut done);
        }
    }

    /// Checks that versions and positions match one to one.
    fn check(&mut self, is_roomy: bool) {
        self.ssd.check().unwrap();
        let ftl = &self.ssd.ftl;
        let mut found = BTreeMap::new();
        let states = self.snapshots.iter().rev().zip(1..).map(|(state, back)| (state, Some(back)));
        for (state, back) in states.chain([(&self.drive, None)]) {
            for page in 0..ftl.geometry().exported_pages() {
                let lpn = Lpn(page);
                let number = back.map_or(Some(lpn), |back| ftl.page_of_snapshot(back, lpn));
                let place = number.and_then(|number| ftl.lookup(number));
                let version = state.get(&page);
                assert_eq!(place.is_some(), version.is_some(), "page {page}, {back:?} back");
                if let Some((place, version)) = place.zip(version) {
                    let known = found.insert(place.0, (page, *version));
                    assert!(known.is_none_or(|it| it == (page, *version)), "page {page}, {back:?}");
                    let first = self.places.entry((page, *version)).or_insert(place);
                    assert!(!is_roomy || *first == place, "page {page}, {back:?} back");
                }
            }
        }
        let mut versions: Vec<_> = found.values().collect();
        versions.sort();
        assert!(versions.windows(2).all(|pair| pair[0] != pair[1]), "a version lies twice");
        let held = found.len() - self.drive.len();
        assert_eq!(self.report().pages_held as usize, held);
    }
}

/// Writes, in part too, trims, reads, flushes, makes and drops snapshots at random; what they came to.
fn compare(config: &SsdConfig, is_timed: bool, seed: u64) -> (SnapshotsReport, u64) {
    let ssd = Ssd::new(config, seed).unwrap();
    let pages = ssd.geometry().exported_pages();
    let (drive, places) = (State::new(), BTreeMap::new());
    let mut trial =
        Trial { ssd, is_timed, now: 0, drive, snapshots: Vec::new(), places, versions: 0 };
    let random = &mut Xoshiro256::new(seed, 0);
    let is_roomy = config.blocks_per_plane > 500;
    for id in 0..4_000 {
        let count = 1 + random.below(4);
        // Half of the writes go to a few pages, so that many are overwritten in the buffer.
        let range = if random.below(2) == 0 { 40 } else { pages };
        let first = random.below(range - count);
        let whole = |op| Request::new(id, op, Lba(first * PAGE), (count * PAGE) as u32);
        let handle = match random.below(100) {
            0..4 => Handle::new(1),
            4 => Handle::new(2),
            5 if id % 7 == 0 => Handle::new(3),
            _ => Handle::new(9),
        };
        let request = match random.below(100) {
            0..10 => whole(Op::Trim),
            10..12 => Request::new(id, Op::Flush, Lba(0), 0),
            12..30 => {
                let queue = if random.below(2) == 0 { QUEUE } else { 0 };
                Request { queue, handle, ..whole(Op::Read) }
            }
            30..40 => {
                let part = Request::new(id, Op::Write, Lba(first * PAGE + 3), 2);
                Request { handle, fua: random.below(4) == 0, ..part }
            }
            _ => Request { handle, ..whole(Op::Write) },
        };
        trial.serve(request, random);
        if !is_timed && random.below(50) == 0 {
            let all: Vec<u64> = (0..30).map(|_| random.below(range)).collect();
            trial.prepare(&all);
        }
        if id % depth::depth(40, 40, 20) == 0 {
            trial.check(is_roomy);
        }
    }
    (trial.report(), trial.ssd.ftl.counters.moves)
}

#[test]
fn a_snapshot_is_read_where_its_version_was_written_behind_a_buffer() {
    let mut config = small();
    (config.blocks_per_plane, config.spare_factor) = (1_000, Some(0.98));
    for is_timed in [true, false] {
        let (report, moves) = compare(&config, is_timed, 1);
        assert!(report.made > 100 && report.dropped > 100 && moves == 0, "{report:?}");
    }
}

#[test]
fn every_kind_of_buffered_drive_holds_what_a_model_holds() {
    let with = |change: fn(&mut SsdConfig)| {
        let mut config = small();
        change(&mut config);
        config
    };
    let drives = [
        with(|_| {}),
        with(|it| it.buffer.power_loss_protected = false),
        with(|it| it.cleaning.reclaim = Reclaim::Block),
        with(|it| it.cleaning.frontiers = Frontiers::HotCold),
        with(|it| it.cleaning = Cleaning { frontiers: Frontiers::Single, ..it.cleaning.clone() }),
        with(|it| it.cleaning.pace = Pace::Burst),
        with(|it| it.cell.program = Program::TwoPass),
        with(|it| it.snapshots.space = 0.03),
    ];
    let mut crowded_out = 0;
    for (config, seed) in drives.iter().zip(1..) {
        for is_timed in [true, false] {
            let (report, moves) = compare(config, is_timed, seed);
            assert!(report.made > 100 && moves > 100, "{seed}, {is_timed}: {moves}, {report:?}");
            crowded_out += report.crowded_out;
        }
    }
    assert!(crowded_out > 10, "{crowded_out}");
}
