//! The rule that gives a handle to writes which name none: by queue, by address or by size.

use engine::{Request, SECTOR_BYTES};
use options::{Size, Values, share};
use std::fmt;
use std::str::FromStr;

/// How one is written, for people.
const EXPECTED: &str = "none, queue, address(0-4%:1, ...) or size(<=4KiB:1, ...)";

/// A part of the address space, of the capacity, and its handle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    from: f64,
    to: f64,
    handle: u8,
}

/// The handle of writes that name none.
#[derive(Debug, Clone, PartialEq)]
pub enum PlaceRule {
    /// Handle 0.
    None,
    /// The number of the submission queue.
    Queue,
    /// By the first address.
    Address(Vec<Region>),
    /// By size: of the first limit that a write does not exceed.
    Size(Vec<(Size, u8)>),
}

impl PlaceRule {
    /// The largest handle that it names, with the words for it.
    pub fn largest(&self) -> Option<u8> {
        match self {
            PlaceRule::None | PlaceRule::Queue => None,
            PlaceRule::Address(parts) => parts.iter().map(|part| part.handle).max(),
            PlaceRule::Size(parts) => parts.iter().map(|part| part.1).max(),
        }
    }

    /// The handle of a request to a drive of that many sectors and handles.
    #[inline]
    pub fn handle(&self, request: &Request, sectors: u64, handles: u32) -> u8 {
        match self {
            PlaceRule::None => 0,
            PlaceRule::Queue => (u32::from(request.queue) % handles) as u8,
            PlaceRule::Address(parts) => {
                let at = request.lba.0 as f64 / sectors as f64;
                let found = parts.iter().find(|part| (part.from..part.to).contains(&at));
                found.map_or(0, |part| part.handle)
            }
            PlaceRule::Size(parts) => {
                let bytes = u64::from(request.sectors) * SECTOR_BYTES;
                let found = parts.iter().find(|(limit, _)| bytes <= limit.bytes());
                found.map_or(0, |part| part.1)
            }
        }
    }
}

impl fmt::Display for PlaceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: f64| format!("{}", (part * 1e8).round() / 1e6);
        match self {
            PlaceRule::None => f.write_str("none"),
            PlaceRule::Queue => f.write_str("queue"),
            PlaceRule::Address(parts) => {
                let one =
                    |it: &Region| format!("{}-{}%:{}", percent(it.from), percent(it.to), it.handle);
                write!(f, "address({})", parts.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            PlaceRule::Size(parts) => {
                let one = |(limit, handle): &(Size, u8)| format!("<={limit}:{handle}");
                write!(f, "size({})", parts.iter().map(one).collect::<Vec<_>>().join(", "))
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
            _ => {}
        }
        let wrong = |why: &str| format!("\"{text}\" {why}; expected {EXPECTED}");
        let Some((word, rest)) = text.split_once('(') else {
            return Err(wrong("is no rule of placement"));
        };
        let Some(inner) = rest.strip_suffix(')') else { return Err(wrong("has no closing )")) };
        let parts = inner.split(',').map(|part| {
            let (what, handle) = part.trim().rsplit_once(':').ok_or_else(|| {
                wrong(&format!("has the part \"{}\" without :HANDLE", part.trim()))
            })?;
            let number = handle.trim().parse::<u8>();
            let number = number.map_err(|_| wrong(&format!("has \"{handle}\" for a handle")))?;
            Ok::<_, String>((what.trim(), number))
        });
        match word.trim() {
            "address" => {
                let mut regions: Vec<Region> = Vec::new();
                for part in parts {
                    let (range, handle) = part?;
                    let ends = range.split_once('-').and_then(|(from, to)| {
                        let with_unit =
                            |end: &str| format!("{}%", end.trim().trim_end_matches('%').trim_end());
                        Some((share(&with_unit(from))?, share(&with_unit(to))?))
                    });
                    let fits = ends.filter(|(from, to)| 0.0 <= *from && from < to && *to <= 1.0);
                    let Some((from, to)) = fits else {
                        return Err(wrong(&format!("has \"{range}\" for a part from 0 to 100%")));
                    };
                    if regions.iter().any(|it| from < it.to && it.from < to) {
                        return Err(wrong(&format!("covers a part of \"{range}\" twice")));
                    }
                    regions.push(Region { from, to, handle });
                }
                Ok(PlaceRule::Address(regions))
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
                Ok(PlaceRule::Size(limits))
            }
            other => Err(wrong(&format!("names \"{other}\""))),
        }
    }
}

/// Rules as a program may check them before it asks.
const PATTERN: &str = r"\s*(none|queue|address\(.*\)|size\(.*\))\s*";

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
