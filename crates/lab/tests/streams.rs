//! Sequential streams on every disk reach the media rate of the zone, including track switches,
//! unless the bus and command overhead are slower.

use crate::common::{experiment, outcome};
use lab::RunSettings;

/// A preset with the parameters of a stream: rpm; sectors per outermost track, track and cylinder
/// skew in sectors, surfaces; bus time per sector in ns, and overhead of a read hit in ns.
struct Disk {
    preset: &'static str,
    rpm: f64,
    sectors: f64,
    skews: [f64; 2],
    surfaces: f64,
    bus_ns: f64,
    hit_ns: f64,
}

const NEARLINE: Disk = disk("nearline-24tb", 7200.0, [4640.0, 580.0, 662.0, 20.0], [930.0, 50e3]);
const SATA: Disk = disk("sata-2008", 7200.0, [1300.0, 255.0, 255.0, 4.0], [1707.0, 100e3]);
const SCSI: Disk = disk("scsi-15k", 15_000.0, [500.0, 76.0, 76.0, 4.0], [1600.0, 50e3]);
const CHEETAH: Disk = disk("cheetah9lp", 10_045.0, [254.0, 97.0, 133.0, 12.0], [105e3, 66e3]);
const ATLAS: Disk = disk("atlas10k", 10_025.0, [334.0, 63.0, 113.0, 6.0], [99e3, 184e3]);
const BARRACUDA: Disk = disk("barracuda", 7200.0, [186.0, 37.0, 52.0, 5.0], [134e3, 82e3]);
const HP: Disk = disk("hp-c3323a", 5400.0, [120.0, 17.0, 34.0, 7.0], [143.4e3, 589e3]);

const fn disk(preset: &'static str, rpm: f64, place: [f64; 4], times: [f64; 2]) -> Disk {
    let [sectors, track, cylinder, surfaces] = place;
    let [bus_ns, hit_ns] = times;
    Disk { preset, rpm, sectors, skews: [track, cylinder], surfaces, bus_ns, hit_ns }
}

impl Disk {
    /// Media rate of a zone, MB/s: a cylinder's sectors over the time for these sectors and the
    /// skews.
    fn zone(&self) -> f64 {
        let all = self.surfaces * self.sectors;
        let skipped = (self.surfaces - 1.0) * self.skews[0] + self.skews[1];
        let turn_ns = 60e9 / self.rpm;
        all * 512e3 / ((all + skipped) / self.sectors * turn_ns)
    }

    /// Limit for consecutive commands of a size: overhead and bus.
    fn commands(&self, sectors: u32, overhead_ns: f64) -> f64 {
        f64::from(sectors) * 512e3 / (overhead_ns + f64::from(sectors) * self.bus_ns)
    }

    /// Rate of a stream from the first sector on, MB/s.
    fn rate(&self, is_read: bool, sectors: u32, outstanding: u32, requests: u32) -> f64 {
        let device = format!("[device]\npreset = '{}'", self.preset);
        let workload = format!(
            "[workload]\nkind = 'closed'\nrandom_share = 0.0\nread_share = {:.1}\nrequests = {requests}\n\
             block_size = '{}B'\noutstanding = {outstanding}",
            f64::from(u8::from(is_read)),
            sectors * 512
        );
        let experiment = experiment::<&str>(&[&device, &workload], &[]).expect("it is valid");
        let results = outcome(&experiment, &RunSettings::default()).expect("it runs");
        let all = &results["host"]["all"];
        all["mb_per_s"].as_f64().expect("a rate")
    }
}

#[track_caller]
fn close(disk: &Disk, what: &str, found: f64, expected: f64, share: f64) {
    assert!(
        (found / expected - 1.0).abs() <= share,
        "{} {what}: {found} MB/s, expected {expected}",
        disk.preset
    );
}

#[test]
fn a_sequential_read_joins_what_is_read_ahead() {
    // Tolerances for requests of up to 64 KiB and for longer ones. The Barracuda's largest requests
    // exceed a segment. The Atlas reads ahead to the end of a track, where a stream waits for a
    // revolution.
    let disks = [
        (NEARLINE, 0.03, 0.03),
        (SATA, 0.03, 0.03),
        (SCSI, 0.03, 0.03),
        (CHEETAH, 0.03, 0.03),
        (BARRACUDA, 0.03, 0.035),
        (ATLAS, 0.10, 0.05),
    ];
    for (disk, small, large) in disks {
        for (sectors, share) in [(8, small), (128, small), (512, large), (2048, large)] {
            let expected = disk.zone().min(disk.commands(sectors, disk.hit_ns));
            for outstanding in [1, 8, 32] {
                let requests = (800_000 / sectors).clamp(1_000, 8_000);
                let found = disk.rate(true, sectors, outstanding, requests);
                let what = format!("{sectors} sectors, {outstanding} outstanding");
                close(&disk, &what, found, expected, share);
            }
        }
    }
}

/// The HP disk sends a read once all of it is in a segment of 256 KiB (`send_at`): up to half a
/// segment, bus and media transfer overlap.
#[test]
fn a_disk_that_sends_whole_reads_streams_short_ones() {
    for sectors in [8, 32, 128, 256] {
        let found = HP.rate(true, sectors, 4, 4_000);
        close(&HP, "reads", found, HP.commands(sectors, HP.hit_ns).min(HP.zone()), 0.03);
    }
    assert!(HP.rate(true, 2048, 4, 400) < 0.75 * HP.commands(2048, HP.hit_ns));
}

#[test]
fn sequential_writes_that_are_cached_go_to_the_disk_as_it_turns() {
    for (disk, write_ns) in [(SATA, 100e3), (NEARLINE, 50e3)] {
        for (sectors, outstanding) in [(8, 8), (128, 1), (512, 32)] {
            // Enough requests that the buffer holds a small part of them.
            let buffer = if disk.preset == "sata-2008" { 16_000 } else { 800_000 };
            let requests = (12 * buffer / sectors).clamp(2_000, 100_000);
            if requests * sectors < 10 * buffer {
                continue;
            }
            let expected = disk.zone().min(disk.commands(sectors, write_ns));
            let found = disk.rate(false, sectors, outstanding, requests);
            // Data still in the buffer at the end were not waited for.
            let share = 0.03 + f64::from(buffer) / f64::from(requests * sectors);
            close(&disk, &format!("writes of {sectors} sectors"), found, expected, share);
        }
    }
}

#[test]
fn without_read_ahead_a_stream_waits_for_a_turn_each_time() {
    let device = "[device]\npreset = 'sata-2008'\nbuffer.read_ahead = '0B'";
    let workload = "[workload]\npreset = 'sequential-read'\noutstanding = 1\nrequests = 500";
    let experiment = experiment::<&str>(&[device, workload], &[]).expect("it is valid");
    let results = outcome(&experiment, &RunSettings::default()).expect("it runs");
    let found = results["host"]["all"]["mb_per_s"].as_f64().expect("a rate");
    assert!(found < 16.0, "{found} MB/s: 128 KiB a turn are 15.7");
}
