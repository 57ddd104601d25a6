//! The device kind `zoned`: shape, checks, and construction.

use super::automaton::Zones;
use super::config::{Adapt, ZonedConfig};
use super::drive::ZonedDrive;
use super::host_log::HostLog;
use super::media::{Layout, Media};
use super::states::Limits;
use crate::clean::Supplied;
use crate::config::{
    Buffer, Cell, Cleaning, Parity, Planes, Program, Reclaim, SsdConfig, Suspend, Timing,
};
use crate::device::{DeviceKind, Model, Tick, Unbuilt};
use crate::die::Dies;
use crate::shape::Groups;
use engine::{SECTOR_BYTES, Xoshiro256};
use options::{Duration, Invalid, Maybe, Size};

/// Random streams: firmware times, and failures.
const FIRMWARE_TIMES: u64 = 40;
const FAILURES: u64 = 41;

/// Maximum number of zones, for the memory that they take.
const MOST_ZONES: u32 = 1 << 20;

/// Unit of a read: 4 KiB.
const UNIT: Size = Size::from_bytes(4096);

fn refuse<T>(keys: &[&str], problem: String) -> Result<T, Invalid> {
    Err(Invalid::new(keys, problem))
}

impl ZonedConfig {
    fn dies(&self) -> u32 {
        self.channels.saturating_mul(self.dies_per_channel)
    }

    fn width(&self) -> u32 {
        self.zones.width.unwrap_or(self.dies())
    }

    /// Size of a die's program, bytes.
    pub fn group_bytes(&self) -> u64 {
        u64::from(self.planes_per_die) * u64::from(self.bits) * self.page_size.bytes()
    }

    /// Blocks of a zone per plane of its dies: data and parity.
    fn blocks(&self) -> u32 {
        let data = self.zones.capacity_bytes().div_ceil(self.group_bytes());
        let parity = match self.zones.parity_of {
            0 | 1 => 0,
            of => data.div_ceil(u64::from(of) - 1),
        };
        let rounds = (data + parity).div_ceil(u64::from(self.width()));
        let pages = rounds * u64::from(self.bits);
        pages.div_ceil(u64::from(self.pages_per_block)).try_into().unwrap_or(u32::MAX)
    }

    /// A drive with these dies; its other keys do not matter.
    fn with_dies(&self, channels: u32, dies_per_channel: u32) -> SsdConfig {
        let step = self.suspend.step;
        let stops = Maybe(step.ns().map(|_| Duration::from_ns(0)));
        let step = Duration::from_ns(step.ns().unwrap_or(0));
        let base = SsdConfig::default();
        SsdConfig {
            channels,
            packages_per_channel: dies_per_channel,
            dies_per_package: 1,
            planes_per_die: self.planes_per_die,
            pages_per_block: self.pages_per_block.saturating_mul(self.blocks()),
            page_size: self.page_size,
            spare_size: Size::from_bytes(0),
            summary_page: false,
            cache_commands: true,
            logical_page: Some(UNIT),
            timing: Timing {
                read: self.timing.read,
                program: self.timing.program,
                erase: self.timing.erase,
                bus_rate: Some(self.timing.bus_rate),
                ..base.timing.clone()
            },
            cell: Cell {
                bits: self.bits,
                program: Program::OneShot,
                planes: Planes::Shared,
                ..base.cell.clone()
            },
            suspend: Suspend {
                program: stops,
                erase: stops,
                step,
                erase_step: step,
                limit: self.suspend.limit,
                ..base.suspend.clone()
            },
            buffer: Buffer { size: self.buffer.size, ..base.buffer.clone() },
            parity: Parity { of: self.zones.parity_of, ..base.parity.clone() },
            cleaning: Cleaning { reclaim: Reclaim::Superblock, ..base.cleaning.clone() },
            ..base
        }
    }

    /// Checks the counts and times of dies.
    fn check_dies(&self) -> Result<(), Invalid> {
        let counts = [
            ("device.channels", self.channels, 256),
            ("device.dies_per_channel", self.dies_per_channel, 64),
            ("device.planes_per_die", self.planes_per_die, 32),
            ("device.pages_per_block", self.pages_per_block, 1 << 20),
            ("device.bits", self.bits, options::MOST_PAGE_TYPES as u32),
            ("device.zones.count", self.zones.count, MOST_ZONES),
        ];
        for (key, count, most) in counts {
            if !(1..=most).contains(&count) {
                return refuse(&[key], format!("{count} is not possible; 1 to {most}"));
            }
        }
        let width = self.width();
        if width == 0 || !self.dies().is_multiple_of(width) {
            let problem =
                format!("a zone over {width} dies does not divide the {} dies", self.dies());
            return refuse(&["device.zones.width", "device.channels"], problem);
        }
        let page = self.page_size.bytes();
        if page < UNIT.bytes() || !page.is_multiple_of(UNIT.bytes()) {
            let problem = format!("{} is no multiple of 4KiB", self.page_size);
            return refuse(&["device.page_size"], problem);
        }
        let failures = self.wear.program_failures;
        if !(0.0..1.0).contains(&failures) {
            let problem = format!("{failures} is no probability below 1");
            return refuse(&["device.wear.program_failures"], problem);
        }
        if !(0.0..=1.0).contains(&self.zones.fill) {
            let problem = format!("{} is no share from 0 to 1", self.zones.fill);
            return refuse(&["device.zones.fill"], problem);
        }
        Ok(())
    }

    /// Checks sizes and numbers of zones.
    fn check_zones(&self) -> Result<(), Invalid> {
        let zones = &self.zones;
        let (size, capacity) = (zones.size, zones.capacity_bytes());
        let shown = Size::from_bytes(capacity);
        for (key, bytes) in
            [("device.zones.size", size.bytes()), ("device.zones.capacity", capacity)]
        {
            if bytes == 0 || !bytes.is_multiple_of(UNIT.bytes()) {
                let problem =
                    format!("{} is no positive multiple of 4KiB", Size::from_bytes(bytes));
                return refuse(&[key], problem);
            }
        }
        if capacity > size.bytes() {
            let problem = format!("a capacity of {shown} is more than the size of a zone, {size}");
            return refuse(&["device.zones.capacity", "device.zones.size"], problem);
        }
        let keys = ["device.zones.open", "device.zones.active"];
        let (open, active) = (zones.open, zones.active);
        if open > active {
            let problem = format!(
                "{open} open zones are more than {active} active ones, of which they are part"
            );
            return refuse(&keys, problem);
        }
        if open == 0 {
            return refuse(&keys[..1], "0 zones can be open, so none can be written".to_owned());
        }
        let append = zones.append_limit;
        if append.bytes() > capacity || append.bytes() < UNIT.bytes() {
            let problem = format!("{append} is not from 4KiB to the capacity of a zone, {shown}");
            return refuse(&["device.zones.append_limit", "device.zones.capacity"], problem);
        }
        let window = &zones.zrwa;
        if window.resources == 0 {
            return Ok(());
        }
        let granularity = window.granularity.bytes();
        let is_whole = granularity > 0
            && granularity.is_multiple_of(UNIT.bytes())
            && window.size.bytes().is_multiple_of(granularity)
            && window.size.bytes() > 0;
        if !is_whole {
            let problem = format!(
                "a window of {} is no multiple of its granularity, {}, which is one of 4KiB",
                window.size, window.granularity
            );
            return refuse(&["device.zones.zrwa.size", "device.zones.zrwa.granularity"], problem);
        }
        if window.size.bytes() > capacity {
            let problem = format!("a window of {} is more than a zone has, {shown}", window.size);
            return refuse(&["device.zones.zrwa.size", "device.zones.capacity"], problem);
        }
        Ok(())
    }

    /// Groups of a zone.
    fn groups(&self) -> Result<Groups, Invalid> {
        let groups = Groups::new(&self.with_dies(1, self.width())).map_err(|invalid| {
            let own = |key: &String| match key.as_str() {
                "device.cell.bits" => "device.bits".to_owned(),
                "device.parity.of" => "device.zones.parity_of".to_owned(),
                key => key.to_owned(),
            };
            let keys: Vec<String> = invalid.keys.iter().map(own).collect();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            Invalid::new(&keys, invalid.problem)
        })?;
        Ok(groups.on(self.dies(), self.channels))
    }

    /// Sectors of the write buffer without windows.
    fn room(&self) -> Result<u64, Invalid> {
        let zones = &self.zones;
        let windows = u64::from(zones.zrwa.resources) * 2 * zones.zrwa.size.bytes();
        let partial = (u64::from(zones.active) + 1) * self.group_bytes();
        let size = self.buffer.size.bytes();
        if size < windows + partial {
            let problem = format!(
                "{} is too small: {} active zones and one more each hold a group of {}, and windows of random \
                 writes {}; at least {}",
                self.buffer.size,
                zones.active,
                Size::from_bytes(self.group_bytes()),
                Size::from_bytes(windows),
                Size::from_bytes(windows + partial)
            );
            return refuse(&["device.buffer.size", "device.zones.active"], problem);
        }
        Ok((size - windows) / SECTOR_BYTES)
    }

    /// Checks that there are enough zones for the host log: open, cleaning target, and free.
    fn check_log(&self) -> Result<(), Invalid> {
        let (log, zones) = (&self.log, &self.zones);
        if self.adapt == Adapt::None {
            return Ok(());
        }
        if log.free < 2 || log.free >= zones.count {
            let problem =
                format!("{} free zones are not from 2 to less than all {}", log.free, zones.count);
            return refuse(&["device.log.free", "device.zones.count"], problem);
        }
        let spare = log.spare * f64::from(zones.count);
        let least = log.free + 2;
        if !(0.0..1.0).contains(&log.spare) || spare < f64::from(least) {
            let problem = format!(
                "a share of {} of {} zones is {spare:.1} zones, and at least {least} are needed: device.log.free, \
                 and two that are written",
                log.spare, zones.count
            );
            return refuse(&["device.log.spare", "device.log.free"], problem);
        }
        if zones.open < 2 {
            let problem = format!("a log writes to two zones, and {} can be open", zones.open);
            return refuse(&["device.zones.open", "device.adapt"], problem);
        }
        if log.batch.bytes() < UNIT.bytes() {
            return refuse(&["device.log.batch"], format!("{} is less than 4KiB", log.batch));
        }
        if u64::from(zones.count) * (zones.capacity_bytes() / UNIT.bytes()) >= u64::from(u32::MAX) {
            let problem = "a log maps less than 2^32 pages of 4KiB".to_owned();
            return refuse(&["device.zones.count", "device.adapt"], problem);
        }
        Ok(())
    }

    fn checked(&self) -> Result<(Groups, u64), Invalid> {
        self.check_dies()?;
        self.check_zones()?;
        self.check_log()?;
        Ok((self.groups()?, self.room()?))
    }
}

impl DeviceKind for ZonedConfig {
    const SUMMARY: &'static str =
        "A drive of zones (NVMe Zoned Namespaces): each is written in order and reset as a whole.";

    fn check_power_cuts(&self) -> Result<(), Invalid> {
        if self.adapt == Adapt::None {
            return Ok(());
        }
        let problem =
            "the map of the log of the host is not found again after a power cut; use none";
        refuse(&["device.adapt", "run.power_cut"], problem.to_owned())
    }

    fn check_shape(&self) -> Result<(), Invalid> {
        self.checked().map(drop)
    }

    fn build_watched(
        &self,
        seed: u64,
        _: &Supplied,
        _: Tick<'_>,
    ) -> Result<Box<dyn Model>, Unbuilt> {
        let drive = ZonedDrive::with(self, seed)?;
        Ok(match self.adapt {
            Adapt::None => Box::new(drive),
            Adapt::Log => Box::new(HostLog::new(drive, &self.log)),
        })
    }
}

impl ZonedDrive {
    /// A drive for a configuration.
    ///
    /// # Errors
    /// For contradictory keys, which the error names.
    /// When the configuration contradicts itself; the error names the keys.
    pub fn with(config: &ZonedConfig, seed: u64) -> Result<ZonedDrive, Invalid> {
        let (groups, room) = config.checked()?;
        let keys = &config.zones;
        let has_windows = keys.zrwa.resources > 0;
        let windows = |size: Size| if has_windows { size.bytes() / SECTOR_BYTES } else { 0 };
        let limits = Limits {
            zones: keys.count,
            size: keys.size.bytes() / SECTOR_BYTES,
            capacity: keys.capacity_bytes() / SECTOR_BYTES,
            open: keys.open,
            active: keys.active,
            append: keys.append_limit.bytes() / SECTOR_BYTES,
            read_across: keys.read_across,
            windows: keys.zrwa.resources,
            window: windows(keys.zrwa.size),
            granularity: windows(keys.zrwa.granularity).max(1),
        };
        let layout = Layout {
            groups,
            group_sectors: config.group_bytes() / SECTOR_BYTES,
            capacity: limits.capacity,
            blocks: config.blocks(),
            rated: config.wear.rated_cycles,
            failures: config.wear.program_failures,
        };
        let dies = Dies::new(&config.with_dies(config.channels, config.dies_per_channel), groups);
        let dies = if config.timing.cache_reads { dies } else { dies.without_streams() };
        let mut zones = Zones::new(limits);
        let random = Xoshiro256::new(seed, FAILURES);
        let mut media = Media::new(layout, dies, keys.count, random);
        let full = config.full_zones();
        zones.fill(full);
        media.fill(full);
        let random = Xoshiro256::new(seed, FIRMWARE_TIMES);
        Ok(ZonedDrive::new(config, zones, media, room, random))
    }
}
