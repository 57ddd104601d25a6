//! Keys of a job, with their meanings and fio's defaults.

use super::distribution::{RandomPlaces, distribution, shared_rest};
use super::keys::{HONOURED, IGNORED, synchronous, unknown};
use super::parse::JobSection;
use super::placement::Placement;
use super::units::{
    Amount, DIRECTIONS, amount, block, count, flag, number, percentage, sectors_in_bytes, three,
    time_ns,
};
use super::zbd::ZoneKeys;
use crate::script::BadLine;
use engine::Op;

/// Directions in fio's order.
pub(super) const OPS: [Op; DIRECTIONS] = [Op::Read, Op::Write, Op::Trim];
pub(super) const READ: usize = 0;
pub(super) const WRITE: usize = 1;
pub(super) const TRIM: usize = 2;

/// Sizes of the requests of one direction, bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sizes {
    /// A single size.
    One(u64),
    /// Multiples of the first size, up to the second.
    Range(u64, u64),
    /// Sizes and their percentages, which add up to 100.
    Split(Vec<(u64, u64)>),
}

impl Sizes {
    pub(super) fn least(&self) -> u64 {
        match self {
            Sizes::One(size) | Sizes::Range(size, _) => *size,
            Sizes::Split(sizes) => sizes.iter().map(|(size, _)| *size).min().unwrap_or(0),
        }
    }

    pub(super) fn largest(&self) -> u64 {
        match self {
            Sizes::One(size) | Sizes::Range(_, size) => *size,
            Sizes::Split(sizes) => sizes.iter().map(|(size, _)| *size).max().unwrap_or(0),
        }
    }
}

/// A job of a job file, with fio's defaults.
///
/// It has one field per key that affects requests; each field is set by its key alone.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "fio has as many flags")]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) line: usize,
    /// Enabled directions; reads and writes together are a mix.
    pub(super) directions: [bool; DIRECTIONS],
    pub(super) random: bool,
    /// Gap between consecutive sequential requests.
    pub(super) step: i64,
    /// Number of requests per random position: the first is at the position, the others follow or
    /// repeat it.
    pub(super) run: u64,
    pub(super) repeats: bool,
    /// Each trim is followed by a write of the same blocks.
    pub(super) rewrites: bool,
    pub(super) sizes: [Sizes; DIRECTIONS],
    pub(super) align: [Option<u64>; DIRECTIONS],
    pub(super) read_percent: u64,
    pub(super) depth: u64,
    pub(super) synchronous: bool,
    pub(super) clones: u64,
    pub(super) size: Option<Amount>,
    pub(super) offset: Amount,
    pub(super) offset_increment: Amount,
    pub(super) io_size: Option<Amount>,
    pub(super) most_requests: Option<u64>,
    pub(super) loops: u64,
    pub(super) runtime_ns: Option<u64>,
    pub(super) time_based: bool,
    pub(super) delay_ns: u64,
    /// Bytes a second.
    pub(super) rate: [Option<u64>; DIRECTIONS],
    pub(super) rate_iops: [Option<u64>; DIRECTIONS],
    pub(super) poisson: bool,
    pub(super) distribution: RandomPlaces,
    /// True if each pass starts at the end of the preceding one.
    pub(super) moves_on: bool,
    pub(super) random_percent: [u64; DIRECTIONS],
    pub(super) map: bool,
    pub(super) think_ns: u64,
    pub(super) think_after: u64,
    pub(super) stonewall: bool,
    /// Flush after this many writes; 0 is never.
    pub(super) flush_after: u64,
    /// Commands for writes and trims.
    pub sent: super::commands::Sent,
    /// Placement handles of writes.
    pub placement: Placement,
    /// Use of zones.
    pub zones: ZoneKeys,
    /// Ignored keys, as indices of [`IGNORED`].
    pub(super) ignored: Vec<usize>,
}

impl Job {
    fn new(section: &JobSection) -> Self {
        Job {
            name: section.name.clone(),
            line: section.line,
            directions: [true, false, false],
            random: false,
            step: 0,
            run: 1,
            repeats: false,
            rewrites: false,
            sizes: [const { Sizes::One(4096) }; DIRECTIONS],
            align: [None; DIRECTIONS],
            read_percent: 50,
            depth: 1,
            synchronous: false,
            clones: 1,
            size: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            io_size: None,
            most_requests: None,
            loops: 1,
            runtime_ns: None,
            time_based: false,
            delay_ns: 0,
            rate: [None; DIRECTIONS],
            rate_iops: [None; DIRECTIONS],
            poisson: false,
            distribution: RandomPlaces::Uniform,
            moves_on: false,
            random_percent: [100; DIRECTIONS],
            map: true,
            think_ns: 0,
            think_after: 1,
            stonewall: false,
            flush_after: 0,
            sent: super::commands::Sent::default(),
            placement: Placement::default(),
            zones: ZoneKeys::default(),
            ignored: Vec::new(),
        }
    }

    /// The job described by a section.
    pub(super) fn read(section: &JobSection) -> Result<Self, BadLine> {
        let mut job = Job::new(section);
        let engine = section.entries.iter().rposition(|entry| entry.key == "ioengine");
        for (index, entry) in section.entries.iter().enumerate() {
            // A job may override an engine in [global] that accesses no device.
            if entry.key == "ioengine" && Some(index) != engine {
                continue;
            }
            job.set(&entry.key, entry.value.as_deref())
                .map_err(|problem| BadLine::new(entry.line, problem))?;
        }
        let checked = job.placement.check().and_then(|()| job.zones.check());
        checked
            .map_err(|problem| BadLine::new(job.line, format!("job {}: {problem}", job.name)))?;
        if job.time_based && job.runtime_ns.is_none() {
            // As in fio, which prints a warning.
            job.time_based = false;
            job.note("time_based_without_runtime");
        }
        Ok(job)
    }

    /// Notes a deviation.
    fn note(&mut self, what: &str) {
        self.ignored.extend(IGNORED.iter().position(|(name, _)| *name == what));
    }

    /// Converts sizes in zones to bytes.
    pub(super) fn count_zones(&mut self, zone_bytes: Option<u64>) -> Result<(), String> {
        let amounts = [self.size.as_mut(), Some(&mut self.offset), self.io_size.as_mut()];
        let amounts = amounts.into_iter().chain([Some(&mut self.offset_increment)]);
        for amount in amounts.flatten() {
            if let Amount::Zones(zones) = *amount {
                let bytes = zone_bytes.and_then(|bytes| bytes.checked_mul(zones));
                let counts = || format!("{zones}z counts the zones of a device of zones");
                *amount = Amount::Bytes(bytes.ok_or_else(counts)?);
            }
        }
        Ok(())
    }

    /// Sets one key.
    fn set(&mut self, key: &str, value: Option<&str>) -> Result<(), String> {
        if let Some(index) = IGNORED.iter().position(|(name, _)| *name == key) {
            self.ignored.push(index);
            if key == "filename" && value.is_some_and(|names| names.contains(':')) {
                self.note("several_files");
            }
            return Ok(());
        }
        if value.is_some_and(|value| value.contains('$')) {
            // The variable is undefined, so the key keeps its default.
            self.note("unset_variable");
            return Ok(());
        }
        match key {
            "time_based" => self.time_based = flag(value)?,
            "norandommap" => self.map = !flag(value)?,
            "fdp" => self.placement.turn(flag(value)?),
            "writefua" => self.sent.writefua(flag(value)?),
            "ignore_zone_limits" => self.zones.ignore_limits(flag(value)?),
            "stonewall" | "wait_for_previous" => self.stonewall = flag(value)?,
            "random_sequence_stride" => self.moves_on = flag(value)?,
            "read_iolog" => {
                let problem = "a trace replaces a job: `ssdlab run --trace FILE` replays it";
                return Err(format!("read_iolog: {problem}"));
            }
            _ if !HONOURED.contains(&key) => return Err(unknown(key)),
            _ => {
                let text = value.ok_or_else(|| format!("{key} needs a value: {key}=..."))?;
                self.set_value(key, text).map_err(|problem| format!("{key}={text}: {problem}"))?;
            }
        }
        Ok(())
    }

    fn set_value(&mut self, key: &str, text: &str) -> Result<(), String> {
        match key {
            "rw" | "readwrite" => self.set_pattern(text)?,
            "wait_for" => self.stonewall = true,
            "rw_sequencer" => {
                self.repeats = match text {
                    "sequential" => false,
                    "identical" => true,
                    _ => return Err("it is sequential or identical".to_owned()),
                }
            }
            "filesize" if self.size.is_none() => self.size = Some(file_size(text)?),
            "filesize" => {}
            "bs" | "blocksize" => {
                if text.split(',').any(|it| with_protection(it).is_some()) {
                    self.note("extended_blocks");
                }
                overlay(&mut self.sizes, three(text, one_size)?);
            }
            "bsrange" | "blocksize_range" => overlay(&mut self.sizes, three(text, size_range)?),
            "bssplit" => overlay(&mut self.sizes, three(text, size_split)?),
            "ba" | "blockalign" => {
                let aligns = three(text, block)?;
                overlay(&mut self.align, aligns.map(|align| align.map(Some)));
            }
            "rwmixread" => self.read_percent = percentage(text)?,
            "rwmixwrite" => self.read_percent = 100 - percentage(text)?,
            "random_distribution" => self.distribution = distribution(text)?,
            "percentage_random" => overlay(&mut self.random_percent, three(text, percentage)?),
            "size" => self.size = Some(amount(text)?),
            "offset" | "fileoffset" => self.offset = amount(text)?,
            "offset_increment" => self.offset_increment = amount(text)?,
            "io_size" | "io_limit" => self.io_size = Some(total(text)?),
            "fdp_pli" | "plids" => self.placement.list(text)?,
            "fdp_pli_select" | "plid_select" => self.placement.select(text)?,
            "dataplacement" | "data_placement" => self.placement.kind(text)?,
            "write_hint" => self.placement.hint(text)?,
            "write_mode" if text.contains(['/', ':']) || text == "zone_append" => {
                self.note("split_write_mode");
            }
            "write_mode" => self.sent.write_mode(text)?,
            "sync" => self.sent.sync(text)?,
            "num_range" => self.sent.ranges(count(text, 1)?)?,
            "zonemode" if text == "strided" => {
                self.zones.stride();
                self.note("strided_zones");
            }
            "zonemode" => self.zones.mode(text)?,
            "zonesize"
            | "zonecapacity"
            | "max_open_zones"
            | "job_max_open_zones"
            | "zone_reset_frequency"
            | "zone_reset_threshold" => self.zones.set(key, text)?,
            _ => return self.set_pace(key, text),
        }
        Ok(())
    }

    /// Keys about timing and repetition.
    fn set_pace(&mut self, key: &str, text: &str) -> Result<(), String> {
        const SECOND: u64 = 1_000_000_000;
        match key {
            "iodepth" => self.depth = count(text, 1)?,
            "ioengine" => self.synchronous = synchronous(text)?,
            "numjobs" => self.clones = count(text, 1)?,
            "number_ios" => self.most_requests = Some(count(text, 1)?),
            "loops" => self.loops = count(text, 1)?,
            "runtime" | "timeout" => {
                self.runtime_ns = Some(time_ns(text, SECOND)?).filter(|runtime| *runtime > 0);
            }
            "startdelay" => self.delay_ns = time_ns(text, SECOND)?,
            "rate" => {
                let rates = three(text, |text| count(text, 1))?;
                overlay(&mut self.rate, rates.map(|rate| rate.map(Some)));
            }
            "rate_iops" => {
                let rates = three(text, |text| count(text, 1))?;
                overlay(&mut self.rate_iops, rates.map(|rate| rate.map(Some)));
            }
            "rate_process" => {
                self.poisson = match text {
                    "linear" => false,
                    "poisson" => true,
                    _ => return Err("it is linear or poisson".to_owned()),
                }
            }
            "thinktime" => self.think_ns = time_ns(text, 1_000)?,
            "thinktime_blocks" => self.think_after = count(text, 1)?,
            "fsync" | "fdatasync" => self.flush_after = number(text)?,
            _ => unreachable!("{key} is in the list of keys"),
        }
        Ok(())
    }

    /// Directions, and the suffix after a colon: the gap of sequential requests, or the number of
    /// consecutive requests per random position.
    fn set_pattern(&mut self, text: &str) -> Result<(), String> {
        let (name, behind) = text.split_once(':').unwrap_or((text, ""));
        (self.directions, self.random) = pattern(name)?;
        self.rewrites = name.ends_with("trimwrite");
        if behind.is_empty() {
            return Ok(());
        }
        if self.random {
            self.run = count(behind, 1)?;
        } else {
            let bytes = sectors_in_bytes(behind.trim_start_matches('-'))?;
            let bytes = i64::try_from(bytes).map_err(|_| format!("\"{behind}\" is too far"))?;
            self.step = if behind.starts_with('-') { -bytes } else { bytes };
        }
        Ok(())
    }

    /// True for mixed reads and writes.
    pub(super) fn mixed(&self) -> bool {
        self.directions[READ] && self.directions[WRITE]
    }

    /// Rate of a direction, if limited.
    pub(super) fn bytes_per_s(&self, direction: usize) -> Option<u64> {
        let least = self.sizes[direction].least();
        let by_requests = self.rate_iops[direction].map(|rate| rate.saturating_mul(least));
        self.rate[direction].or(by_requests)
    }

    /// True if an enabled direction has a rate.
    pub(super) fn has_rate(&self) -> bool {
        self.used().any(|direction| self.bytes_per_s(direction).is_some())
    }

    /// True if requests are issued on each completion until the time is over.
    pub fn needs_time(&self) -> bool {
        let is_paced = |direction| self.bytes_per_s(direction).is_some();
        self.time_based && self.think_ns == 0 && !self.used().all(is_paced)
    }

    /// Enabled directions.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> + '_ {
        (0..DIRECTIONS).filter(|direction| self.directions[*direction])
    }
}

fn overlay<T, const N: usize>(under: &mut [T; N], over: [Option<T>; N]) {
    for (under, over) in under.iter_mut().zip(over) {
        if let Some(over) = over {
            *under = over;
        }
    }
}

fn pattern(text: &str) -> Result<([bool; DIRECTIONS], bool), String> {
    let of = |directions: &[usize]| std::array::from_fn(|i| directions.contains(&i));
    Ok(match text {
        "read" => (of(&[READ]), false),
        "write" => (of(&[WRITE]), false),
        "trim" | "trimwrite" => (of(&[TRIM]), false),
        "rw" | "readwrite" => (of(&[READ, WRITE]), false),
        "randread" => (of(&[READ]), true),
        "randwrite" => (of(&[WRITE]), true),
        "randtrim" | "randtrimwrite" => (of(&[TRIM]), true),
        "randrw" => (of(&[READ, WRITE]), true),
        _ => {
            return Err("it is one of read, write, trim, rw, readwrite, trimwrite, randread, \
                        randwrite, randtrim, randrw, randtrimwrite"
                .to_owned());
        }
    })
}

/// Size of a file; for a range of sizes the largest.
fn file_size(text: &str) -> Result<Amount, String> {
    amount(text.split_once('-').map_or(text, |(_, most)| most))
}

fn one_size(text: &str) -> Result<Sizes, String> {
    with_protection(text).map_or_else(|| block(text), Ok).map(Sizes::One)
}

/// Data bytes of a request whose blocks include protection information (extended LBA): 8 or 16
/// bytes per 512, 8 or 64 per 4096.
fn with_protection(text: &str) -> Option<u64> {
    let bytes =
        number(text).ok().filter(|bytes| *bytes > 0 && bytes % engine::SECTOR_BYTES != 0)?;
    let kinds = [(4096, 8), (4096, 64), (512, 8), (512, 16)];
    let fits = kinds.iter().find(|(data, more)| bytes.is_multiple_of(data + more));
    fits.map(|(data, more)| bytes / (data + more) * data)
}

fn size_range(text: &str) -> Result<Sizes, String> {
    let (least, most) = text.split_once('-').ok_or("a range is written 1k-4k")?;
    let (least, most) = (block(least)?, block(most)?);
    if least > most {
        return Err(format!("{least} is more than {most}"));
    }
    Ok(if least == most { Sizes::One(least) } else { Sizes::Range(least, most) })
}

/// Sizes with percentages; sizes without a percentage share the rest.
fn size_split(text: &str) -> Result<Sizes, String> {
    let part = |part: &str| {
        let (size, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = Some(percent).filter(|percent| !percent.is_empty());
        Ok((block(size)?, percent.map(percentage).transpose()?))
    };
    let parts = text.split(':').map(part).collect::<Result<Vec<_>, String>>()?;
    let percents = shared_rest(parts.iter().map(|(_, percent)| *percent))?;
    let sizes = parts.iter().zip(percents).map(|((size, _), percent)| (*size, percent));
    let sizes: Vec<_> = sizes.filter(|(_, percent)| *percent > 0).collect();
    Ok(if let [(size, _)] = sizes[..] { Sizes::One(size) } else { Sizes::Split(sizes) })
}

fn total(text: &str) -> Result<Amount, String> {
    match text.trim().strip_suffix('%') {
        Some(percent) => number(percent).map(Amount::Percent),
        None => sectors_in_bytes(text).map(Amount::Bytes),
    }
}
