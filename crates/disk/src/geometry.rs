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
    /// Spare sectors at the end of the zone, without address.
    pub spare: u32,
}

/// Zones of a disk, outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zones(pub(super) Vec<Zone>);

text_setting!(
    Zones: "sectors of a track by cylinders, and if there are any skews of tracks and cylinders in sectors and \
            spare sectors at the end, such as \"0-846: 254 skew 97 133 spare 1270, 848-1643: 245\"",
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
        };
        Zones(vec![zone((0, 154_999), 1_800), zone((155_000, 309_999), 1_350)])
    }
}

impl Zones {
    /// Syntax of the value, as a regular expression.
    fn pattern() -> String {
        let number = r"\s*[0-9]+\s*";
        let skew = r"(?:\s+skew\s+[0-9]+\s+[0-9]+)?(?:\s+spare\s+[0-9]+)?";
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
            let form = "\"0-846: 254\" or \"0-846: 254 skew 97 133 spare 1270\"";
            format!("\"{text}\" is not of the form {form}")
        };
        let number = |word: &str| word.trim().parse::<u32>().map_err(|_| form());
        let (cylinders, tracks) = text.split_once(':').ok_or_else(form)?;
        let (first, last) = cylinders.split_once('-').ok_or_else(form)?;
        let (first, last) = (number(first)?, number(last)?);
        let mut words: Vec<&str> = tracks.split_whitespace().collect();
        let mut spare = 0;
        if let [.., "spare", count] = words[..] {
            spare = number(count)?;
            words.truncate(words.len() - 2);
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
        if track_skew >= sectors || cylinder_skew >= sectors {
            return Err(format!(
                "\"{text}\": a skew is less than the {sectors} sectors of a track"
            ));
        }
        Ok(Zone { cylinders: (first, last), sectors, track_skew, cylinder_skew, spare })
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
            let tracks = u64::from(last - first + 1) * u64::from(surfaces);
            let (all, spare) = (tracks * u64::from(zone.sectors), u64::from(zone.spare));
            if spare >= all {
                let problem = format!(
                    "the zone of cylinders {first} to {last} has {all} sectors, and {spare} are spare"
                );
                return Err(Invalid::new(&["device.zones"], problem));
            }
            let end = sectors + all - spare;
            spans.push(Span { first: sectors, end, zone: *zone });
            sectors = end;
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
        let Span { first, end, zone } = &self.spans[number];
        let (first, end) = (*first, *end);
        let on_track = u64::from(zone.sectors);
        let (track, index) = ((sector - first) / on_track, (sector - first) % on_track);
        let surfaces = u64::from(self.surfaces);
        let (cylinder, surface) = (track / surfaces, track % surfaces);
        let round = (surfaces - 1) * u64::from(zone.track_skew) + u64::from(zone.cylinder_skew);
        let skew = cylinder * round + surface * u64::from(zone.track_skew);
        let begin = sector - index;
        Place {
            cylinder: zone.cylinders.0 + cylinder as u32,
            surface: surface as u32,
            on_track: zone.sectors,
            turn: ((index + skew) % on_track) as u32,
            track: (begin, (begin + on_track).min(end).min(self.sectors)),
        }
    }
}

/// Binary logarithm of the number of address parts in `near`.
const NEAR_BITS: u32 = 6;

/// Maximum number of surfaces; current disks have 22.
const MOST_SURFACES: u32 = 256;
