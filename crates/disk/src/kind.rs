//! The device kind `hdd`: from options to components, with checks for contradictions.

use super::buffer::Buffer;
use super::config::{DiskConfig, WriteCache};
use super::curve::Curve;
use super::device::Disk;
use super::geometry::Geometry;
use super::mechanics::Mechanics;
use super::spindle::Spindle;
use super::standby::Standby;
use engine::{Random, SECTOR_BYTES, Xoshiro256};
use options::{Duration, Invalid, Size};
use ssd::clean::Supplied;
use ssd::device::kit::config::LONGEST_NS;
use ssd::device::{DeviceKind, Model, Tick, Unbuilt};

/// Random stream of the initial angle.
const PHASE_STREAM: u64 = 1;

/// Maximum number of buffer segments.
const MOST_SEGMENTS: u32 = 65_536;

impl DeviceKind for DiskConfig {
    const SUMMARY: &'static str =
        "A hard disk: seeks, rotation, zones, a buffer with read-ahead, and a scheduler.";

    /// As an inner device: the outer one knows the outstanding requests.
    fn check_cuts_within(&self) -> Result<(), Invalid> {
        Ok(())
    }

    /// In an array it must keep what it has answered for.
    fn check_cuts_in_array(&self) -> Result<(), Invalid> {
        if self.keeps_answers() {
            return Ok(());
        }
        let problem = "what members may lose though they answered for it is not followed in an array; use \"off\"";
        Err(Invalid::new(&["device.write_cache", "run.power_cut"], problem))
    }

    /// Data in the buffer are lost.
    fn keeps_answers(&self) -> bool {
        self.write_cache == WriteCache::Off
    }

    fn check_shape(&self) -> Result<(), Invalid> {
        self.mechanics(0)?;
        self.empty_buffer().map(drop)
    }

    fn build_watched(
        &self,
        seed: u64,
        _: &Supplied,
        _: Tick<'_>,
    ) -> Result<Box<dyn Model>, Unbuilt> {
        Ok(Box::new(Disk::new(self, seed)?))
    }
}

impl DiskConfig {
    /// The moving parts.
    pub(super) fn mechanics(&self, seed: u64) -> Result<Mechanics, Invalid> {
        self.check()?;
        let capacity = self.capacity.map(|size| sectors("device.capacity", size)).transpose()?;
        let geometry = Geometry::new(&self.zones, self.cylinders, self.surfaces, capacity)?;
        let drawn = || Xoshiro256::new(seed, PHASE_STREAM).unit();
        let phase = self.angle.unwrap_or_else(drawn);
        if !(0.0..=1.0).contains(&phase) {
            return Err(Invalid::new(
                &["device.angle"],
                format!("{phase} is not a share of a turn"),
            ));
        }
        Ok(Mechanics {
            geometry,
            spindle: Spindle::new(self.rpm, phase),
            curve: Curve::new(&self.seek, self.cylinders)?,
            write_settle: self.seek.write_settle.ns(),
            read_settle: self.seek.read_settle.ns(),
            head_switch: self.seek.head_switch.ns(),
            cylinder: 0,
            surface: 0,
            track: (0, 0, 0),
            known: None,
            standby: Standby::new(self),
        })
    }

    /// The buffer, empty.
    pub(super) fn empty_buffer(&self) -> Result<Buffer, Invalid> {
        let options = &self.buffer;
        let segments = options.segments;
        if segments == 0 || segments > MOST_SEGMENTS {
            let problem = format!("a buffer has 1 to {MOST_SEGMENTS} segments, not {segments}");
            return Err(Invalid::new(&["device.buffer.segments"], problem));
        }
        if options.write_segments == 0 || options.write_segments > segments {
            let problem = format!(
                "1 to {segments} of the {segments} segments may hold data to be written, not {}",
                options.write_segments
            );
            let keys = ["device.buffer.write_segments", "device.buffer.segments"];
            return Err(Invalid::new(&keys, problem));
        }
        if !(0.0..=1.0).contains(&options.send_at) {
            let problem = format!("a share is 0 to 1, not {}", options.send_at);
            return Err(Invalid::new(&["device.buffer.send_at"], problem));
        }
        let size = sectors("device.buffer.segment", options.segment)?;
        if size == 0 {
            let problem = "a segment is at least one sector of 512B";
            return Err(Invalid::new(&["device.buffer.segment"], problem));
        }
        let ahead = sectors("device.buffer.read_ahead", options.read_ahead)?;
        Ok(Buffer::new(segments, size, ahead, options.read_ahead_to))
    }

    fn check(&self) -> Result<(), Invalid> {
        if !(MOST_RPM.0..=MOST_RPM.1).contains(&self.rpm) {
            let problem = format!(
                "expected {} to {} revolutions per minute, not {}",
                MOST_RPM.0, MOST_RPM.1, self.rpm
            );
            return Err(Invalid::new(&["device.rpm"], problem));
        }
        if self.cylinders == 0 {
            return Err(Invalid::new(&["device.cylinders"], "a disk has at least one cylinder"));
        }
        let (seek, overhead) = (&self.seek, &self.overhead);
        let or_none = |time: Option<Duration>| time.unwrap_or_default();
        let times = [
            ("device.seek.single", seek.single),
            ("device.seek.mean", seek.mean),
            ("device.seek.full", seek.full),
            ("device.seek.write_settle", seek.write_settle),
            ("device.seek.read_settle", seek.read_settle),
            ("device.seek.head_switch", seek.head_switch),
            ("device.overhead.read_hit", overhead.read_hit),
            ("device.overhead.read_hit_after_write", or_none(overhead.read_hit_after_write)),
            ("device.overhead.read_miss", overhead.read_miss),
            ("device.overhead.read_miss_after_write", or_none(overhead.read_miss_after_write)),
            ("device.overhead.write", overhead.write),
            ("device.overhead.write_after_write", or_none(overhead.write_after_write)),
            ("device.overhead.read_completion", overhead.read_completion),
            ("device.bus_per_sector", self.bus_per_sector),
        ];
        match times.iter().find(|(_, time)| time.ns() > LONGEST_NS) {
            Some((key, time)) => {
                Err(Invalid::new(&[key], format!("{time} is too long; at most 1s")))
            }
            None => Ok(()),
        }
    }
}

/// Minimum and maximum spindle speed, rpm.
const MOST_RPM: (u32, u32) = (60, 100_000);

/// A size in sectors.
fn sectors(key: &str, size: Size) -> Result<u64, Invalid> {
    if !size.bytes().is_multiple_of(SECTOR_BYTES) {
        let problem = format!("{size} is not a multiple of a sector of 512B");
        return Err(Invalid::new(&[key], problem));
    }
    Ok(size.bytes() / SECTOR_BYTES)
}
