//! `zonemode=zbd`: writes go to write pointers, reads to written data, and full zones are reset
//! before they are rewritten (fio's manual, "zonemode"). The zones belong to the device; all jobs
//! share their state.

use super::units::number;
use engine::{Random, SECTOR_BYTES, Xoshiro256, ZoneShape};

/// A job's keys about zones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ZoneKeys {
    pub is_on: bool,
    /// True for strided zones, which are ignored.
    is_strided: bool,
    size: Option<u64>,
    capacity: Option<u64>,
    most_open: u64,
    most_open_of_job: u64,
    /// Resets: their frequency per write, and the share of written bytes above which they occur.
    frequency: f64,
    threshold: f64,
    ignores_limits: bool,
}

impl ZoneKeys {
    /// `zonemode`.
    pub fn mode(&mut self, text: &str) -> Result<(), String> {
        self.is_on = match text {
            "none" => false,
            "zbd" => true,
            _ => return Err("it is none or zbd".to_owned()),
        };
        Ok(())
    }

    /// Sets one of the other keys.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        let share = || match text.trim().parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
            _ => Err("it is a number from 0 to 1".to_owned()),
        };
        match key {
            "zonesize" => self.size = Some(number(text)?),
            "zonecapacity" => self.capacity = Some(number(text)?),
            "max_open_zones" => self.most_open = number(text)?,
            "job_max_open_zones" => self.most_open_of_job = number(text)?,
            "zone_reset_frequency" => self.frequency = share()?,
            "zone_reset_threshold" => self.threshold = share()?,
            _ => unreachable!("{key} is a key of zones"),
        }
        Ok(())
    }

    /// `zonemode=strided`.
    pub fn stride(&mut self) {
        self.is_strided = true;
    }

    /// Zone size as given, bytes.
    pub fn zone_bytes(&self) -> Option<u64> {
        self.size.filter(|_| self.is_on)
    }

    /// `ignore_zone_limits`.
    pub fn ignore_limits(&mut self, on: bool) {
        self.ignores_limits = on;
    }

    /// Refuses zone keys without a zone mode.
    pub fn check(&self) -> Result<(), String> {
        if !self.is_on && !self.is_strided && *self != ZoneKeys::default() {
            return Err("keys of zones need zonemode=zbd".to_owned());
        }
        Ok(())
    }

    /// Refuses options that contradict the device's zones.
    pub fn check_device(&self, zones: Option<&ZoneShape>) -> Result<(), String> {
        if !self.is_on {
            return Ok(());
        }
        let Some(zones) = zones else {
            return Err(
                "zonemode=zbd needs a device of zones, such as --device wd-zn540".to_owned()
            );
        };
        let stated = [
            ("zonesize", self.size, zones.size * SECTOR_BYTES),
            ("zonecapacity", self.capacity, zones.capacity * SECTOR_BYTES),
        ];
        for (key, stated, own) in stated {
            if let Some(stated) = stated.filter(|it| *it != own && *it != 0) {
                return Err(format!(
                    "{key}={stated}: the device has {own}; a job without the key takes it, and \
                     device.zones sets it"
                ));
            }
        }
        let most = self.most_open.max(self.most_open_of_job);
        if most > zones.open && !self.ignores_limits {
            return Err(format!("{most} open zones are more than the device has, {}", zones.open));
        }
        Ok(())
    }

    /// Refuses a job whose bytes hold no whole zone: it would ask for nothing.
    pub fn check_range(
        &self,
        zones: Option<&ZoneShape>,
        (start, end): (u64, u64),
    ) -> Result<(), String> {
        let size = zones.filter(|_| self.is_on).map_or(1, |zones| zones.size * SECTOR_BYTES);
        if start.div_ceil(size) < end / size {
            return Ok(());
        }
        Err(format!(
            "bytes {start} to {end} hold no whole zone of {size} bytes: size=1z is the least with \
             zonemode=zbd"
        ))
    }

    /// Maximum open zones for a job.
    fn most(&self, zones: &ZoneShape) -> u64 {
        let limits = [self.most_open, self.most_open_of_job, zones.open];
        let used = limits.into_iter().filter(|limit| *limit > 0);
        if self.ignores_limits { zones.count } else { used.min().unwrap_or(zones.open) }
    }
}

/// State of the zones for all jobs: bytes.
pub struct Zbd {
    shape: ZoneShape,
    size: u64,
    capacity: u64,
    /// Write pointer of each zone, relative to its start; also the zones being written by jobs.
    pointers: Vec<u64>,
    open: Vec<u64>,
}

/// A request that replaces a drawn one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    pub at: u64,
    pub bytes: u64,
    /// Start of a zone to reset before the request.
    pub reset: Option<u64>,
}

impl Zbd {
    pub fn new(shape: ZoneShape) -> Zbd {
        let (size, capacity) = (shape.size * SECTOR_BYTES, shape.capacity * SECTOR_BYTES);
        let full = |zone| if zone < shape.full { capacity } else { 0 };
        Zbd {
            shape,
            size,
            capacity,
            pointers: (0..shape.count).map(full).collect(),
            open: Vec::new(),
        }
    }

    /// Range to read instead of the drawn one: the same offset in its zone if written, otherwise in
    /// a later zone.
    pub fn read(&self, (at, bytes): (u64, u64), (start, end): (u64, u64)) -> Option<(u64, u64)> {
        let zones = (start / self.size)..end.div_ceil(self.size).min(self.shape.count);
        let first = at / self.size;
        let from_first = (first..zones.end).chain(zones.start..first);
        let mut found = from_first.filter(|zone| self.pointers[*zone as usize] >= bytes);
        let zone = found.next()?;
        let room = self.pointers[zone as usize] - bytes;
        let within = at % self.size;
        // The offset is folded into the written part, so that it is covered evenly.
        let place = if within <= room { within } else { within % (room + bytes) / bytes * bytes };
        Some((zone * self.size + place.min(room), bytes))
    }

    /// Range to write instead of the drawn one; `None` if no zone in its range is large enough.
    pub fn write(
        &mut self,
        keys: &ZoneKeys,
        (at, bytes): (u64, u64),
        (start, end): (u64, u64),
        random: &mut Xoshiro256,
    ) -> Option<Moved> {
        let zones = start.div_ceil(self.size)..(end / self.size).min(self.shape.count);
        if zones.is_empty() || bytes > self.capacity {
            return None;
        }
        let count = zones.end - zones.start;
        let mut zone = (at / self.size).clamp(zones.start, zones.end - 1);
        let most = keys.most(&self.shape) as usize;
        let pointers = &self.pointers;
        self.open.retain(|it| self.capacity - pointers[*it as usize] >= bytes);
        if !self.open.contains(&zone) {
            let mine: Vec<u64> =
                self.open.iter().filter(|it| zones.contains(it)).copied().collect();
            if self.open.len() >= most
                && let Some(other) =
                    (!mine.is_empty()).then(|| mine[random.below(mine.len() as u64) as usize])
            {
                zone = other;
            } else {
                // Full zones are rewritten only if no other zone fits.
                let fits = |zone: &u64| self.capacity - self.pointers[*zone as usize] >= bytes;
                let next = (0..count).map(|step| zones.start + (zone - zones.start + step) % count);
                zone = next.clone().find(fits).unwrap_or(zone);
                if !self.open.contains(&zone) {
                    self.open.push(zone);
                }
            }
        }
        let resets = self.resets(keys, zone, &zones, bytes, random);
        let pointer = &mut self.pointers[zone as usize];
        if resets {
            *pointer = 0;
        }
        let at = zone * self.size + *pointer;
        *pointer += bytes;
        Some(Moved { at, bytes, reset: resets.then_some(zone * self.size) })
    }

    /// True if a zone is reset before the write: it is full, or the frequency demands a reset.
    fn resets(
        &self,
        keys: &ZoneKeys,
        zone: u64,
        zones: &std::ops::Range<u64>,
        bytes: u64,
        random: &mut Xoshiro256,
    ) -> bool {
        let pointer = self.pointers[zone as usize];
        if self.capacity - pointer < bytes {
            return true;
        }
        if keys.frequency == 0.0 || pointer == 0 {
            return false;
        }
        let all = &self.pointers[zones.start as usize..zones.end as usize];
        let written: u64 = all.iter().sum();
        let share = written as f64 / (all.len() as u64 * self.capacity) as f64;
        share >= keys.threshold && random.unit() < keys.frequency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zones(open: u64) -> Zbd {
        Zbd::new(ZoneShape { size: 64, capacity: 48, count: 4, open, full: 1 })
    }

    const ALL: (u64, u64) = (0, 4 * 64 * 512);

    #[test]
    fn writes_follow_the_pointers_and_full_zones_are_reset() {
        let mut zbd = zones(2);
        let mut random = Xoshiro256::new(1, 0);
        let keys = ZoneKeys { is_on: true, ..ZoneKeys::default() };
        let mut pointers = [48_u64, 0, 0, 0];
        let mut resets = 0;
        for number in 0..2_000 {
            let at = random.below(4) * 64 * 512;
            let moved = zbd.write(&keys, (at, 8 * 512), ALL, &mut random).unwrap();
            let zone = (moved.at / 512 / 64) as usize;
            if let Some(reset) = moved.reset {
                assert_eq!(reset / 512 / 64, zone as u64);
                assert_eq!(pointers[zone], 48, "a full zone is reset, write {number}");
                pointers[zone] = 0;
                resets += 1;
            }
            assert_eq!(moved.at / 512 % 64, pointers[zone], "write {number}");
            pointers[zone] += 8;
            let open = pointers.iter().filter(|it| (1..48).contains(*it)).count();
            assert!(open <= 2, "{pointers:?}");
        }
        assert!(resets > 300, "{resets}");
    }

    #[test]
    fn reads_are_of_what_is_written() {
        let zbd = zones(2);
        let mut random = Xoshiro256::new(1, 0);
        let mut seen = [0; 6];
        for _ in 0..6_000 {
            let at = random.below(32) * 8 * 512;
            let (at, bytes) = zbd.read((at, 8 * 512), ALL).unwrap();
            assert!(at + bytes <= 48 * 512, "{at}");
            seen[(at / 512 / 8) as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count > 300), "{seen:?}");
        assert_eq!(
            zbd.read((64 * 512, 8 * 512), (64 * 512, ALL.1)),
            None,
            "nothing is written there"
        );
    }

    #[test]
    fn zones_are_reset_by_the_frequency_above_the_threshold() {
        let count = |frequency: f64, threshold: f64| {
            let mut zbd =
                Zbd::new(ZoneShape { size: 8192, capacity: 8192, count: 4, open: 4, full: 0 });
            let mut random = Xoshiro256::new(1, 0);
            let keys = ZoneKeys { is_on: true, frequency, threshold, ..ZoneKeys::default() };
            let mut resets = 0;
            for _ in 0..1_000 {
                let at = random.below(4) * 8192 * 512;
                let moved = zbd.write(&keys, (at, 4096), (0, 4 * 8192 * 512), &mut random).unwrap();
                resets += u64::from(moved.reset.is_some());
            }
            resets
        };
        assert_eq!((count(0.0, 0.0), count(0.5, 1.0)), (0, 0));
        assert!((60..140).contains(&count(0.1, 0.0)), "{}", count(0.1, 0.0));
        assert!(count(0.5, 0.1) < count(0.5, 0.0) && count(0.5, 0.1) > 0);
    }
}
