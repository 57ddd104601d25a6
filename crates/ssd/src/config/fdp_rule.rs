//! Handles of writes without one: by queue, address, size, or forced unit access.
//!
//! `ssdlab placement` prints such rules: their borders are sizes, and their last part extends to
//! the end.

use engine::{Request, SECTOR_BYTES};
use options::{Size, Values, share};
use std::fmt;
use std::str::FromStr;

/// Syntax of the value, for people.
const EXPECTED: &str = "none, queue, fua, address(0-4%:1, ...), address(0-1GiB:1, 1GiB-:0) or size(<=4KiB:1, ..., else 0)";

/// An address range, as a share of the capacity or in bytes, and its handle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    from: f64,
    to: f64,
    handle: u8,
}

/// Rule for the handle of writes without one.
#[derive(Debug, Clone, PartialEq)]
pub enum PlaceRule {
    /// Handle 0.
    None,
    /// The number of the submission queue.
    Queue,
    /// 1 for writes with FUA, 0 for others.
    Fua,
    /// By the first address as a share of the capacity.
    Address(Vec<Region>),
    /// By the first address in bytes.
    Offset(Vec<Region>),
    /// By size: the handle of the first limit that the write does not exceed, else the last handle.
    Size(Vec<(Size, u8)>, u8),
}

impl PlaceRule {
    /// Largest handle in the rule, with its text.
    pub fn largest(&self) -> Option<u8> {
        match self {
            PlaceRule::None | PlaceRule::Queue => None,
            PlaceRule::Fua => Some(1),
            PlaceRule::Address(parts) | PlaceRule::Offset(parts) => {
                parts.iter().map(|part| part.handle).max()
            }
            PlaceRule::Size(parts, other) => {
                parts.iter().map(|part| part.1).max().max(Some(*other))
            }
        }
    }

    /// Handle of a request to a drive with `sectors` sectors and `handles` handles.
    #[inline]
    pub fn handle(&self, request: &Request, sectors: u64, handles: u32) -> u8 {
        match self {
            PlaceRule::None => 0,
            PlaceRule::Queue => (u32::from(request.queue) % handles) as u8,
            PlaceRule::Fua => u8::from(request.fua),
            PlaceRule::Address(parts) => within(parts, request.lba.0 as f64 / sectors as f64),
            PlaceRule::Offset(parts) => within(parts, (request.lba.0 * SECTOR_BYTES) as f64),
            PlaceRule::Size(parts, other) => {
                let bytes = u64::from(request.sectors) * SECTOR_BYTES;
                let found = parts.iter().find(|(limit, _)| bytes <= limit.bytes());
                found.map_or(*other, |part| part.1)
            }
        }
    }
}

/// Handle of the range that contains an address; 0 without one.
#[inline]
fn within(parts: &[Region], at: f64) -> u8 {
    parts.iter().find(|part| (part.from..part.to).contains(&at)).map_or(0, |part| part.handle)
}

/// Bounds of a range in bytes, if either is a size; an omitted end is the end of the device.
fn sizes(range: &str) -> Option<(f64, f64)> {
    let (from, to) = range.split_once('-')?;
    let size = |text: &str| text.trim().parse::<Size>().ok().map(|size| size.bytes() as f64);
    let begin = if from.trim() == "0" { Some(0.0) } else { size(from) };
    let end = if to.trim().is_empty() { Some(f64::INFINITY) } else { size(to) };
    Some((begin?, end?)).filter(|(from, to)| from < to)
}

/// Bounds of a range as shares of the capacity.
fn shares(range: &str) -> Option<(f64, f64)> {
    let (from, to) = range.split_once('-')?;
    let with_unit = |end: &str| format!("{}%", end.trim().trim_end_matches('%').trim_end());
    let ends = (share(&with_unit(from))?, share(&with_unit(to))?);
    Some(ends).filter(|(from, to)| 0.0 <= *from && from < to && *to <= 1.0)
}

impl fmt::Display for PlaceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: f64| format!("{}", (part * 1e8).round() / 1e6);
        match self {
            PlaceRule::None => f.write_str("none"),
            PlaceRule::Queue => f.write_str("queue"),
            PlaceRule::Fua => f.write_str("fua"),
            PlaceRule::Offset(parts) => {
                let size = |bytes: f64| match bytes {
                    f64::INFINITY => String::new(),
                    0.0 => "0".to_owned(),
                    bytes => Size::from_bytes(bytes as u64).to_string(),
                };
                let one = |it: &Region| format!("{}-{}:{}", size(it.from), size(it.to), it.handle);
                write!(f, "address({})", parts.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            PlaceRule::Address(parts) => {
                let one =
                    |it: &Region| format!("{}-{}%:{}", percent(it.from), percent(it.to), it.handle);
                write!(f, "address({})", parts.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            PlaceRule::Size(parts, other) => {
                let one = |(limit, handle): &(Size, u8)| format!("<={limit}:{handle}");
                let mut parts: Vec<String> = parts.iter().map(one).collect();
                if *other > 0 {
                    parts.push(format!("else {other}"));
                }
                write!(f, "size({})", parts.join(", "))
            }
        }
    }
}

impl FromStr for PlaceRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text {
            "none" => return Ok(PlaceRule::None),
            "queue" => return Ok(PlaceRule::Queue),
            "fua" => return Ok(PlaceRule::Fua),
            _ => {}
        }
        let wrong = |why: &str| format!("\"{text}\" {why}; expected {EXPECTED}");
        let Some((word, rest)) = text.split_once('(') else {
            return Err(wrong("is no rule of placement"));
        };
        let Some(inner) = rest.strip_suffix(')') else { return Err(wrong("has no closing )")) };
        let (inner, other) = match inner.rsplit_once(',') {
            Some((before, last)) if last.trim().starts_with("else") => {
                let handle = last.trim().trim_start_matches("else").trim();
                let number = handle.parse::<u8>();
                (
                    before,
                    Some(number.map_err(|_| wrong(&format!("has \"{handle}\" for a handle")))?),
                )
            }
            _ => (inner, None),
        };
        let parts = inner.split(',').map(|part| {
            let (what, handle) = part.trim().rsplit_once(':').ok_or_else(|| {
                wrong(&format!("has the part \"{}\" without :HANDLE", part.trim()))
            })?;
            let number = handle.trim().parse::<u8>();
            let number = number.map_err(|_| wrong(&format!("has \"{handle}\" for a handle")))?;
            Ok::<_, String>((what.trim(), number))
        });
        match word.trim() {
            "address" if other.is_some() => Err(wrong("has else, which is of sizes")),
            "address" => {
                let mut regions: Vec<Region> = Vec::new();
                let mut in_bytes = None;
                for part in parts {
                    let (range, handle) = part?;
                    let own = sizes(range);
                    let Some((from, to)) = own.or_else(|| shares(range)) else {
                        return Err(wrong(&format!("has \"{range}\" for a part from 0 to 100%")));
                    };
                    if in_bytes.replace(own.is_some()).is_some_and(|other| other != own.is_some()) {
                        return Err(wrong("has parts in percent and in bytes"));
                    }
                    if regions.iter().any(|it| from < it.to && it.from < to) {
                        return Err(wrong(&format!("covers a part of \"{range}\" twice")));
                    }
                    regions.push(Region { from, to, handle });
                }
                Ok(match in_bytes {
                    Some(true) => PlaceRule::Offset(regions),
                    _ => PlaceRule::Address(regions),
                })
            }
            "size" => {
                let mut limits: Vec<(Size, u8)> = Vec::new();
                for part in parts {
                    let (limit, handle) = part?;
                    let size =
                        limit.strip_prefix("<=").and_then(|it| it.trim().parse::<Size>().ok());
                    let Some(size) = size.filter(|it| it.bytes() > 0) else {
                        return Err(wrong(&format!("has \"{limit}\" for a size such as <=4KiB")));
                    };
                    if limits.last().is_some_and(|(last, _)| *last >= size) {
                        return Err(wrong("names sizes that do not ascend"));
                    }
                    limits.push((size, handle));
                }
                Ok(PlaceRule::Size(limits, other.unwrap_or(0)))
            }
            other => Err(wrong(&format!("names \"{other}\""))),
        }
    }
}

/// Syntax of rules, for checks by other programs.
const PATTERN: &str = r"\s*(none|queue|fua|address\(.*\)|size\(.*\))\s*";

options::text_setting!(PlaceRule: EXPECTED, Values::Pattern(PATTERN.to_owned()));

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Lba, Op};

    fn write(lba: u64, sectors: u32, queue: u16) -> Request {
        Request { queue, ..Request::new(0, Op::Write, Lba(lba), sectors) }
    }

    #[test]
    fn a_rule_gives_a_handle_and_is_written_as_it_is_read() {
        let rule = |text: &str| text.parse::<PlaceRule>().unwrap();
        let address = rule("address(0-4%:1, 50%-75.5%:2)");
        assert_eq!(address.to_string(), "address(0-4%:1, 50-75.5%:2)");
        let of = |lba| address.handle(&write(lba, 8, 0), 1000, 3);
        assert_eq!([of(0), of(39), of(40), of(500), of(754), of(755)], [1, 1, 0, 2, 2, 0]);
        let size = rule("size(<=4KiB:1, <=64KiB:2)");
        assert_eq!(size.to_string(), "size(<=4KiB:1, <=64KiB:2)");
        let of = |sectors| size.handle(&write(0, sectors, 0), 1000, 3);
        assert_eq!([of(1), of(8), of(9), of(128), of(129)], [1, 1, 2, 2, 0]);
        let or_else = rule("size(<=4KiB:0, <=64KiB:1, else 2)");
        assert_eq!(or_else.to_string(), "size(<=4KiB:0, <=64KiB:1, else 2)");
        let of = |sectors| or_else.handle(&write(0, sectors, 0), 1000, 3);
        assert_eq!([of(8), of(9), of(129)], [0, 1, 2]);
        assert_eq!(or_else.largest(), Some(2));
        let offset = rule("address(0-40KiB:1, 40KiB-1MiB:0, 1MiB-:2)");
        assert_eq!(offset.to_string(), "address(0-40KiB:1, 40KiB-1MiB:0, 1MiB-:2)");
        let of = |lba| offset.handle(&write(lba, 8, 0), 1 << 40, 3);
        assert_eq!([of(0), of(79), of(80), of(2047), of(2048), of(1 << 39)], [1, 1, 0, 0, 2, 2]);
        let forced = |fua| rule("fua").handle(&Request { fua, ..write(0, 8, 0) }, 1000, 3);
        assert_eq!([forced(false), forced(true)], [0, 1]);
        assert_eq!(rule("queue").handle(&write(0, 8, 7), 1000, 3), 1);
        assert_eq!((address.largest(), rule("none").largest()), (Some(2), None));
    }

    #[test]
    fn what_is_no_rule_is_refused_with_what_would_be() {
        for (text, why) in [
            ("adress(0-4%:1)", "names \"adress\""),
            ("address(0-4%)", "without :HANDLE"),
            ("address(4-2%:1)", "for a part from 0 to 100%"),
            ("address(0-4%:1, 3-5%:2)", "twice"),
            ("address(0-4%:1, 1GiB-2GiB:2)", "in percent and in bytes"),
            ("address(0-1GiB:1, 4KiB-:2)", "twice"),
            ("address(0-4%:1, else 2)", "which is of sizes"),
            ("size(<=4KiB:1, else x)", "for a handle"),
            ("size(4KiB:1)", "for a size such as <=4KiB"),
            ("size(<=8KiB:1, <=4KiB:2)", "do not ascend"),
            ("address(0-4%:999)", "for a handle"),
            ("address(0-4%:1", "no closing )"),
            ("hot", "is no rule of placement"),
        ] {
            let error = text.parse::<PlaceRule>().unwrap_err();
            assert!(error.contains(why) && error.contains(EXPECTED), "{error}");
        }
    }
}
