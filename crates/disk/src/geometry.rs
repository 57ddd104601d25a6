//! Layout of a disk's sectors: zones of cylinders with equal sectors per track.

use options::{Invalid, Values, text_setting};
use std::fmt;
use std::str::FromStr;

/// A zone: cylinders with equal sectors per track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// First and last cylinder.
    pub cylinders: (u32, u32),
    /// Sectors per track.
    pub sectors: u32,
    /// Track skew in sectors, relative to the cylinder's preceding track.
    pub track_skew: u32,
    /// Cylinder skew in sectors, relative to the preceding cylinder's last track.
    pub cylinder_skew: u32,
    /// Spare sectors without address, at the end of each group of tracks.
    pub spare: u32,
    /// Tracks that share spare sectors.
    pub per: SparesPer,
    /// Sectors without address at the start of the zone.
    pub empty: u32,
    /// Rotational position of the zone's first sector, in sectors.
    pub at: u32,
}

/// Tracks of a zone that share spare sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparesPer {
    /// All tracks of the zone.
    Zone,
    /// Each track has its own.
    Track,
    /// The tracks of this many cylinders.
    Cylinders(u32),
}

/// Zones of a disk, outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zones(pub(super) Vec<Zone>);

text_setting!(
    Zones: "sectors of a track by cylinders, with skews of tracks and cylinders, spare sectors (\"per \
            track\", \"per 6 cylinders\" or of the zone), empty sectors and an angle of the first, such as \
            \"0-846: 254 skew 97 133 spare 1270, 848-1643: 245 spare 1 per track empty 230 at 14\"",
    Values::Pattern(Zones::pattern())
);

/// The outer half of the cylinders has 1,800 sectors per track, the inner half 1,350.
impl Default for Zones {
    fn default() -> Self {
        let zone = |cylinders, sectors| Zone {
            cylinders,
            sectors,
            track_skew: sectors / 16,
            cylinder_skew: sectors / 10,
            spare: 0,
            per: SparesPer::Zone,
            empty: 0,
            at: 0,
        };
        Zones(vec![zone((0, 154_999), 1_800), zone((155_000, 309_999), 1_350)])
    }
}

impl Zones {
    /// Syntax of the value, as a regular expression.
    fn pattern() -> String {
        let number = r"\s*[0-9]+\s*";
        let per = r"(?:\s+per\s+(?:track|[0-9]+\s+cylinders))?";
        let spare =
            format!(r"(?:\s+spare\s+[0-9]+{per})?(?:\s+empty\s+[0-9]+)?(?:\s+at\s+[0-9]+)?");
        let skew = format!(r"(?:\s+skew\s+[0-9]+\s+[0-9]+)?{spare}");
        let zone = format!(r"{number}-{number}:\s*[0-9]+{skew}\s*");
        format!("{zone}(?:,{zone})*")
    }
}

impl FromStr for Zones {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut zones: Vec<Zone> = Vec::new();
        for entry in text.split(',') {
            let zone = entry.parse::<Zone>()?;
            if zones.last().is_some_and(|last| last.cylinders.1 >= zone.cylinders.0) {
                return Err(format!(
                    "the cylinders must rise, and \"{}\" begins before the zone before it ends",
                    entry.trim()
                ));
            }
            zones.push(zone);
        }
        Ok(Zones(zones))
    }
}

impl FromStr for Zone {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let form = || {
            let form = "\"0-846: 254\" or \"0-846: 254 skew 97 133 spare 1 per track empty 230\"";
            format!("\"{text}\" is not of the form {form}")
        };
        let number = |word: &str| word.trim().parse::<u32>().map_err(|_| form());
        let (cylinders, tracks) = text.split_once(':').ok_or_else(form)?;
        let (first, last) = cylinders.split_once('-').ok_or_else(form)?;
        let (first, last) = (number(first)?, number(last)?);
        let mut words: Vec<&str> = tracks.split_whitespace().collect();
        let (mut spare, mut per, mut empty, mut at) = (0, SparesPer::Zone, 0, 0);
        if let [.., "at", angle] = words[..] {
            at = number(angle)?;
            words.truncate(words.len() - 2);
        }
        if let [.., "empty", count] = words[..] {
            empty = number(count)?;
            words.truncate(words.len() - 2);
        }
        if let [.., "per", "track"] = words[..] {
            per = SparesPer::Track;
            words.truncate(words.len() - 2);
        } else if let [.., "per", count, "cylinders"] = words[..] {
            per = SparesPer::Cylinders(number(count)?);
            words.truncate(words.len() - 3);
        }
        if let [.., "spare", count] = words[..] {
            spare = number(count)?;
            words.truncate(words.len() - 2);
        } else if per != SparesPer::Zone {
            return Err(form());
        }
        let (sectors, track_skew, cylinder_skew) = match words[..] {
            [sectors] => (number(sectors)?, 0, 0),
            [sectors, "skew", track, cylinder] => {
                (number(sectors)?, number(track)?, number(cylinder)?)
            }
            _ => return Err(form()),
        };
        if first > last {
            return Err(format!("\"{text}\": cylinder {first} comes after cylinder {last}"));
        }
        if sectors == 0 || sectors > MOST_SECTORS {
            return Err(format!("\"{text}\": a track has 1 to {MOST_SECTORS} sectors"));
        }
        if track_skew >= sectors || cylinder_skew >= sectors || at >= sectors {
            return Err(format!(
                "\"{text}\": skews and the start are less than the {sectors} sectors of a track"
            ));
        }
        if per == SparesPer::Cylinders(0) {
            return Err(format!("\"{text}\": spare sectors are per 1 cylinder or more"));
        }
        let cylinders = (first, last);
        Ok(Zone { cylinders, sectors, track_skew, cylinder_skew, spare, per, empty, at })
    }
}

/// Maximum sectors per track; current disks have about 5,000.
const MOST_SECTORS: u32 = 1_000_000;

impl fmt::Display for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, zone) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            let (first, last) = zone.cylinders;
            write!(f, "{comma}{first}-{last}: {}", zone.sectors)?;
            if (zone.track_skew, zone.cylinder_skew) != (0, 0) {
                write!(f, " skew {} {}", zone.track_skew, zone.cylinder_skew)?;
            }
            if zone.spare > 0 {
                write!(f, " spare {}", zone.spare)?;
                match zone.per {
                    SparesPer::Zone => {}
                    SparesPer::Track => f.write_str(" per track")?,
                    SparesPer::Cylinders(count) => write!(f, " per {count} cylinders")?,
                }
            }
            if zone.empty > 0 {
                write!(f, " empty {}", zone.empty)?;
            }
            if zone.at > 0 {
                write!(f, " at {}", zone.at)?;
            }
        }
        Ok(())
    }
}

/// Position of a sector, and its track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) cylinder: u32,
    pub(super) surface: u32,
    /// Sectors per track.
    pub(super) on_track: u32,
    /// Rotational position of the sector's start, in sectors of the track.
    pub(super) turn: u32,
    /// First and end sector of the track.
    pub(super) track: (u64, u64),
}

/// A zone with its first and end sector.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: u64,
    end: u64,
    zone: Zone,
    /// Sectors of a group of tracks with common spare sectors: with address, and all of them.
    group: (u64, u64),
}

impl Span {
    /// A zone whose addresses start at `first`; `None` if its spare and empty sectors fill it.
    fn new(zone: Zone, first: u64, surfaces: u32) -> Option<Span> {
        let (begin, last) = zone.cylinders;
        let cylinder = u64::from(surfaces) * u64::from(zone.sectors);
        let all = u64::from(last - begin + 1) * cylinder;
        let size = match zone.per {
            SparesPer::Zone => all,
            SparesPer::Track => u64::from(zone.sectors),
            SparesPer::Cylinders(count) => (u64::from(count) * cylinder).min(all),
        };
        let addressed = size.checked_sub(u64::from(zone.spare)).filter(|sectors| *sectors > 0)?;
        // The last group may be smaller.
        let sectors = all / size * addressed + (all % size).saturating_sub(u64::from(zone.spare));
        let sectors = sectors.checked_sub(u64::from(zone.empty)).filter(|sectors| *sectors > 0)?;
        Some(Span { first, end: first + sectors, zone, group: (addressed, size) })
    }
}

/// Sectors of a disk in address order: tracks of a cylinder, cylinders, zones.
#[derive(Debug, Clone)]
pub(super) struct Geometry {
    spans: Vec<Span>,
    /// For each of equal parts of the addresses (2^`near_shift` sectors), the first span that it
    /// touches.
    near: Vec<usize>,
    near_shift: u32,
    surfaces: u32,
    sectors: u64,
}

impl Geometry {
    /// Geometry of a disk with these cylinders and surfaces. The host sees `capacity` sectors, by
    /// default all.
    ///
    /// # Errors
    /// When the zones do not fit the disk, or hold less than the capacity.
    pub(super) fn new(
        zones: &Zones,
        cylinders: u32,
        surfaces: u32,
        capacity: Option<u64>,
    ) -> Result<Geometry, Invalid> {
        if surfaces == 0 || surfaces > MOST_SURFACES {
            let problem = format!("a disk has 1 to {MOST_SURFACES} surfaces, not {surfaces}");
            return Err(Invalid::new(&["device.surfaces"], problem));
        }
        let mut spans = memory::with_capacity(zones.0.len());
        let mut sectors = 0;
        for zone in &zones.0 {
            let (first, last) = zone.cylinders;
            if last >= cylinders {
                let problem = format!(
                    "the zone of cylinders {first} to {last} lies beyond the {cylinders} cylinders \
                     of the disk, which are 0 to {}",
                    i64::from(cylinders) - 1
                );
                return Err(Invalid::new(&["device.zones", "device.cylinders"], problem));
            }
            let Some(span) = Span::new(*zone, sectors, surfaces) else {
                let all =
                    u64::from(last - first + 1) * u64::from(surfaces) * u64::from(zone.sectors);
                let Zone { spare, empty, .. } = zone;
                let empty = if *empty > 0 { format!(", and {empty} empty") } else { String::new() };
                let problem = format!(
                    "the zone of cylinders {first} to {last} has {all} sectors, and {spare} are spare{empty}"
                );
                return Err(Invalid::new(&["device.zones"], problem));
            };
            sectors = span.end;
            spans.push(span);
        }
        if let Some(capacity) = capacity {
            if capacity == 0 || capacity > sectors {
                let problem = format!(
                    "{capacity} sectors of 512B are wanted, and the zones hold {sectors}, from 1 on"
                );
                return Err(Invalid::new(&["device.capacity", "device.zones"], problem));
            }
            sectors = capacity;
        }
        let near_shift = (64 - sectors.leading_zeros()).saturating_sub(NEAR_BITS);
        let parts = (0..=(sectors - 1) >> near_shift).map(|part| part << near_shift);
        let span_of = |sector| spans.partition_point(|span| span.first <= sector) - 1;
        let near = parts.map(span_of).collect();
        Ok(Geometry { spans, near, near_shift, surfaces, sectors })
    }

    /// Capacity for the host, sectors.
    pub(super) fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Position of a sector.
    pub(super) fn place(&self, sector: u64) -> Place {
        let mut number = self.near[(sector >> self.near_shift) as usize];
        while self.spans.get(number + 1).is_some_and(|next| next.first <= sector) {
            number += 1;
        }
        let Span { first, end, zone, group } = &self.spans[number];
        let (first, mut end) = (*first, *end);
        let on_track = u64::from(zone.sectors);
        let mut place = sector - first + u64::from(zone.empty);
        if zone.per != SparesPer::Zone {
            let (before, within) = (place / group.0, place % group.0);
            end = end.min(sector - within + group.0);
            place = before * group.1 + within;
        }
        let (track, index) = (place / on_track, place % on_track);
        let surfaces = u64::from(self.surfaces);
        let (cylinder, surface) = (track / surfaces, track % surfaces);
        let round = (surfaces - 1) * u64::from(zone.track_skew) + u64::from(zone.cylinder_skew);
        let skew = cylinder * round + surface * u64::from(zone.track_skew);
        let begin = sector - index.min(sector - first);
        Place {
            cylinder: zone.cylinders.0 + cylinder as u32,
            surface: surface as u32,
            on_track: zone.sectors,
            turn: ((index + skew + u64::from(zone.at)) % on_track) as u32,
            track: (begin, (sector + on_track - index).min(end).min(self.sectors)),
        }
    }
}

/// Binary logarithm of the number of address parts in `near`.
const NEAR_BITS: u32 = 6;

/// Maximum number of surfaces; current disks have 22.
const MOST_SURFACES: u32 = 256;
