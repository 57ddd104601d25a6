//! How long a drive takes to find its map, against the closed form. With n reads of b bytes on a bus that k
//! units share, `T = max(n t(b), n (t_R + t(b)) / k)`.

use devices::ssd::config::{Interleave, Persistence, Pool, Recovery};
use devices::ssd::{Geometry, Ssd, SsdConfig};
use engine::{Completion, Device, Lba, Op, Request, Time};
use options::Duration;

const SENSE: f64 = 25e-6;
const BYTE: f64 = 25e-9;
/// The two pages that a start writes.
const RECORDS: f64 = 2.0 * 305.6e-6;

/// The baseline with one package for each of its channels, `units` of which work side by side.
fn baseline(units: u32, blocks_per_plane: u32, recovery: Recovery) -> SsdConfig {
    SsdConfig {
        channels: 1,
        dies_per_package: units,
        planes_per_die: 8 / units,
        blocks_per_plane,
        interleave: if units == 1 { Interleave::None } else { Interleave::Die },
        pool: if units == 1 { Pool::Package } else { Pool::Die },
        persistence: Persistence { recovery, ..Persistence::default() },
        ..SsdConfig::default()
    }
}

/// What is left is the record of the start: two pages.
#[test]
fn a_map_that_survives_is_not_read() {
    let kept = |blocks| {
        let mut config = baseline(1, blocks, Recovery::Nvram);
        config.persistence.map_write = Duration::from_ns(2_000);
        recovery(&config, 10)
    };
    let ((small, report), (large, _)) = (kept(64), kept(512));
    assert_eq!((report.pages_read, report.blocks_by_scan), (0, 0));
    assert!((small - large).abs() < 1e-9 && small < 0.001, "{small} s, and {large} s");
}

/// Lets everything happen up to an instant.
fn pass(ssd: &mut Ssd, until: Time) {
    let mut done: Vec<Completion> = Vec::new();
    while let Some(at) = ssd.next_event().filter(|at| *at <= until) {
        ssd.advance(at, &mut done);
    }
}

/// Writes `writes` pages one by one, cuts the power, and returns the recovery time in seconds and the
/// report of the drive.
fn recovery(config: &SsdConfig, writes: u64) -> (f64, devices::ssd::power::PowerReport) {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let sectors = 8;
    let pages = ssd.capacity_sectors() / sectors;
    let mut now = 0;
    for id in 0..writes {
        ssd.submit(now, Request::new(id, Op::Write, Lba(id * 7919 % pages * sectors), 8));
        while let Some(at) = ssd.next_event() {
            let mut done = Vec::new();
            ssd.advance(at, &mut done);
            now = at;
            if !done.is_empty() {
                break;
            }
        }
    }
    ssd.cut(now, &mut Vec::new());
    ssd.power_on(now);
    pass(&mut ssd, Time::MAX);
    let report = ssd.power_report().unwrap().clone();
    assert_eq!(report.durable_lost, 0);
    (report.recoveries_ns[0] as f64 / 1e9, report)
}

fn form(reads: f64, bytes: f64, units: f64) -> f64 {
    let bus = bytes * BYTE;
    (reads * bus).max(reads * (SENSE + bus) / units)
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.01, "{found} s, and {expected} s expected");
}

/// Spare areas: 28.2 us a page of one package at a time.
#[test]
fn spare_areas_take_as_long_as_the_closed_form_says() {
    for units in [1, 2, 4] {
        let config = baseline(units, 64, Recovery::Spare);
        let (found, report) = recovery(&config, 0);
        let pages = 8.0 * 64.0 * 64.0;
        near(found, form(pages, 128.0, f64::from(units)));
        assert_eq!(report.pages_read, pages as u64);
    }
}

/// Summaries: 38.2 us a block; with four units the bus decides.
#[test]
fn summaries_take_as_long_as_the_closed_form_says() {
    for units in [1, 2, 4] {
        let config = baseline(units, 512, Recovery::Summary);
        let (found, report) = recovery(&config, 0);
        let blocks = 8.0 * 512.0;
        // Blocks without a summary: erased ones, and those that were open, page by page.
        let rest = report.pages_read as f64 - blocks;
        let k = f64::from(units);
        near(found, form(blocks, 528.0, k) + form(rest, 128.0, k) + RECORDS);
    }
}

/// The package of the baseline in full: 0.626 s by summaries and 23.1 ms for a twentieth of the blocks
/// without one, 29.57 s by spare areas.
#[test]
#[ignore = "a package of a million pages: make prove"]
fn the_full_package_of_the_baseline_recovers_in_the_time_of_the_closed_form() {
    for (units, by_spare, by_summary) in [(1, 29.57, 0.626), (2, 14.78, 0.313), (4, 7.39, 0.216)] {
        let (found, _) = recovery(&baseline(units, 2048, Recovery::Spare), 0);
        near(found, by_spare);
        let (found, report) = recovery(&baseline(units, 2048, Recovery::Summary), 0);
        let others = report.pages_read as f64 - 16_384.0;
        let rest = form(others, 128.0, f64::from(units));
        println!(
            "{units}: {by_spare} s, and {found:.4} s of which {rest:.4} s for {others} spare areas"
        );
        near(found - rest, by_summary);
    }
}

/// A checkpoint: the pages of the map, and the summaries of blocks opened since.
#[test]
fn a_checkpoint_takes_its_pages_and_the_blocks_opened_since() {
    let mut config = baseline(1, 64, Recovery::Checkpoint);
    config.persistence.checkpoint = Duration::from_ns(1_000_000_000);
    let geometry = Geometry::new(&config).unwrap();
    let pages = (geometry.exported_pages() * 4).div_ceil(4096) as f64;
    // The first checkpoint is complete after 1.01 s, and the cut comes before the second is.
    let (found, report) = recovery(&config, 6_000);
    let opened = report.blocks_by_summary as f64;
    assert!(opened > 3.0 && report.checkpoint_programs > 0, "{report:?}");
    let map = pages * (SENSE + 4224.0 * BYTE);
    let scanned = (report.pages_read as f64 - pages - opened) * (SENSE + 128.0 * BYTE);
    near(found, map + opened * (SENSE + 528.0 * BYTE) + scanned + RECORDS);
}

/// A drive that is written page by page: when it wrote its checkpoints, and what a cut at an instant costs.
struct Written {
    ssd: Ssd,
    now: Time,
    writes: u64,
}

impl Written {
    fn new(config: &SsdConfig) -> Written {
        Written { ssd: Ssd::new(config, 1).unwrap(), now: 0, writes: 0 }
    }

    /// Writes until something is so.
    fn until(&mut self, reached: impl Fn(&Written) -> bool) {
        let pages = self.ssd.capacity_sectors() / 8;
        let mut done = Vec::new();
        while !reached(self) {
            let lba = Lba(self.writes * 7919 % pages * 8);
            self.ssd.submit(self.now, Request::new(self.writes, Op::Write, lba, 8));
            self.writes += 1;
            while done.is_empty() {
                self.now = self.ssd.next_event().expect("it is being served");
                self.ssd.advance(self.now, &mut done);
            }
            done.clear();
        }
    }

    fn checkpoint_programs(&self) -> u64 {
        self.ssd.power_report().unwrap().checkpoint_programs
    }

    fn seconds(&self) -> f64 {
        self.now as f64 / 1e9
    }
}

/// With cuts at a rate c, checkpoints of P pages each I seconds and r blocks opened in a second, what both take,
/// `P t_P / I + c (P t_read + r I / 2 t_S)`, is least at `I = sqrt(2 P t_P / (c r t_S))`.
///
/// I is from one checkpoint to the next, and what was opened while the last was written counts too: its pages
/// take turns with the host's. Nothing is cleaned here.
#[test]
fn the_best_interval_is_the_derived_one() {
    const CUTS_PER_SECOND: f64 = 2.0;
    let (program, map_page) = (305.6e-6, SENSE + 4224.0 * BYTE);
    let (summary, spare) = (SENSE + 528.0 * BYTE, SENSE + 128.0 * BYTE);
    let with = |interval: f64| {
        let mut config = baseline(1, 512, Recovery::Checkpoint);
        config.spare_factor = Some(0.9);
        config.persistence.checkpoint = Duration::from_ns((interval * 1e9) as u64);
        config
    };
    let exported = Geometry::new(&with(1.0)).unwrap().exported_pages();
    let count = (exported * 4).div_ceil(4096);
    let pages = count as f64;
    // Blocks of 63 pages and a summary, as long as no checkpoint is written.
    let opened = 1.0 / (63.0 * program + 305.6e-6);
    let derived = (2.0 * pages * program / (CUTS_PER_SECOND * opened * summary)).sqrt();
    let mut sums = Vec::new();
    for step in 0..9 {
        let interval = derived * [0.25, 0.354, 0.5, 0.707, 1.0, 1.414, 2.0, 2.828, 4.0][step];
        // What checkpoints take, over two of them.
        let mut written = Written::new(&with(interval));
        written.until(|it| it.checkpoint_programs() >= count);
        let (first, before) = (written.seconds(), written.writes);
        written.until(|it| it.checkpoint_programs() >= 3 * count);
        let period = (written.seconds() - first) / 2.0;
        let blocks = (written.writes - before) as f64 / 63.0 / (2.0 * period);
        let takes = 2.0 * pages * program / (2.0 * period);
        // Cuts at eight phases between the ends of two checkpoints.
        let mut recoveries = 0.0;
        for phase in 0..8 {
            let mut written = Written::new(&with(interval));
            let at = first + (f64::from(phase) + 0.5) / 8.0 * period;
            written.until(|it| it.seconds() >= at);
            written.ssd.cut(written.now, &mut Vec::new());
            written.ssd.power_on(written.now);
            pass(&mut written.ssd, Time::MAX);
            let report = written.ssd.power_report().unwrap();
            assert_eq!((report.durable_lost, report.recoveries_ns.len()), (0, 1));
            // Of the open block it reads what there is, which is a matter of chance: half of it is taken.
            let others = report.pages_read - count - report.blocks_by_summary;
            recoveries += report.recoveries_ns[0] as f64 / 1e9 + (32.0 - others as f64) * spare;
        }
        let measured = takes + CUTS_PER_SECOND * recoveries / 8.0;
        let since = period / 2.0 + (period - interval);
        let recovery = pages * map_page + blocks * since * summary + 32.0 * spare + RECORDS;
        let formula = pages * program / period + CUTS_PER_SECOND * recovery;
        println!("{interval:.3} s: {measured:.5} measured, {formula:.5} by the formula");
        assert!((measured / formula - 1.0).abs() < 0.02, "{measured} and {formula}");
        sums.push(measured);
    }
    let best = (0..sums.len()).min_by(|a, b| sums[*a].total_cmp(&sums[*b])).unwrap();
    println!("derived {derived:.3} s; measured least at place {best} of 0 to 8");
    assert!(
        (3..=5).contains(&best),
        "the derived interval is the best of those tried, or next to it"
    );
    assert!(sums[0] > 1.2 * sums[best] && sums[8] > 1.2 * sums[best], "{sums:?}");
}
