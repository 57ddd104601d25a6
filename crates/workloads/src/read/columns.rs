//! The columns of a table that no format describes, as the user declares them.
//!
//! `time=1:us,op=3,offset=4:bytes,size=5`: a name, the column's number from 1, and its unit where
//! there must be one. A size has the offset's unit unless it says otherwise.

use super::fields::{MS, S, US};
use engine::{SECTOR_BYTES, Time};
use options::nearest;
use std::str::FromStr;

/// Which columns of a table say what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    pub(crate) time: (usize, Time),
    pub(crate) offset: (usize, u64),
    pub(crate) size: (usize, u64),
    pub(crate) op: Option<(usize, Directions)>,
    pub(crate) device: Option<usize>,
    /// The placement handle.
    pub handle: Option<usize>,
    /// Whether a write is forced to the medium.
    pub fua: Option<usize>,
}

/// How a column tells reads from writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directions {
    /// By words and letters.
    Words,
    /// By this number for a read; the other of 0 and 1 is a write.
    ReadIs(u8),
}

/// The largest column number, so that a line is not searched without end.
const COLUMN_LIMIT: usize = 1000;

impl Columns {
    /// What a config value of this type must look like.
    pub const EXPECTED: &'static str = "columns such as \"time=1:us,op=3,offset=4:bytes,size=5\": \
        time with its unit (ns, us, ms, s, filetime), offset and size with theirs (bytes, sectors, \
        KiB), and if there are any op (words, or :0=read or :1=read for numbers), device, handle \
        (of placement) and fua (0 or 1)";

    /// Nanoseconds in the unit of the times.
    pub(crate) fn time_ns(&self) -> Time {
        self.time.1
    }
}

fn time_unit(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "filetime" => 100,
        "us" => US,
        "ms" => MS,
        "s" => S,
        _ => return None,
    })
}

fn size_unit(unit: &str) -> Option<u64> {
    Some(match unit {
        "bytes" | "B" => 1,
        "sectors" => SECTOR_BYTES,
        "KiB" => 1024,
        _ => return None,
    })
}

fn directions(unit: &str) -> Option<Directions> {
    match unit {
        "" => Some(Directions::Words),
        "0=read" => Some(Directions::ReadIs(0)),
        "1=read" => Some(Directions::ReadIs(1)),
        _ => None,
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const NAMES: [&str; 7] = ["time", "op", "offset", "size", "device", "handle", "fua"];
        let refuse = |problem: String| Err(format!("{problem}; expected {}", Columns::EXPECTED));
        let (mut time, mut offset, mut size, mut op) = (None, None, None, None);
        let (mut device, mut handle, mut fua) = (None, None, None);
        for part in text.split(',').map(str::trim) {
            let Some((name, value)) = part.split_once('=') else {
                return refuse(format!("\"{part}\" is no column"));
            };
            let (number, unit) = value.split_once(':').unwrap_or((value, ""));
            let column = number.parse().ok().filter(|n| (1..=COLUMN_LIMIT).contains(n));
            let Some(column) = column else {
                return refuse(format!("\"{number}\" is no column number from 1"));
            };
            let known = match name {
                "time" => time_unit(unit).map(|unit| time.replace((column, unit)).is_some()),
                "offset" => size_unit(unit).map(|unit| offset.replace((column, unit)).is_some()),
                "size" if unit.is_empty() => Some(size.replace((column, None)).is_some()),
                "size" => size_unit(unit).map(|unit| size.replace((column, Some(unit))).is_some()),
                "op" => directions(unit).map(|unit| op.replace((column, unit)).is_some()),
                "device" if unit.is_empty() => Some(device.replace(column).is_some()),
                "handle" if unit.is_empty() => Some(handle.replace(column).is_some()),
                "fua" if unit.is_empty() => Some(fua.replace(column).is_some()),
                "device" | "handle" | "fua" => None,
                _ => {
                    let hint = nearest(name, NAMES)
                        .map(|near| format!(" (did you mean \"{near}\"?)"))
                        .unwrap_or_default();
                    return refuse(format!("\"{name}\" is no column's name{hint}"));
                }
            };
            match known {
                Some(false) => {}
                Some(true) => return refuse(format!("{name} is there twice")),
                None if unit.is_empty() => return refuse(format!("the unit of {name} is missing")),
                None => return refuse(format!("\"{unit}\" is no unit of {name}")),
            }
        }
        let (Some(time), Some(offset), Some((size, unit))) = (time, offset, size) else {
            return refuse(format!("\"{text}\" lacks time, offset or size"));
        };
        let size = (size, unit.unwrap_or(offset.1));
        Ok(Columns { time, offset, size, op, device, handle, fua })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_declared_with_their_units() {
        let columns: Columns = "time=1:us, op=3,offset=4:sectors,size=5:bytes".parse().unwrap();
        assert_eq!((columns.time, columns.offset, columns.size), ((1, 1000), (4, 512), (5, 1)));
        assert_eq!((columns.op, columns.device), (Some((3, Directions::Words)), None));
        let columns: Columns =
            "time=1:s,op=2:1=read,offset=4:KiB,size=5,device=9,handle=7".parse().unwrap();
        assert_eq!((columns.size, columns.device), ((5, 1024), Some(9)));
        assert_eq!(columns.handle, Some(7));
        assert_eq!(columns.op, Some((2, Directions::ReadIs(1))));
    }

    #[test]
    fn missing_and_unknown_columns_are_named() {
        let rows = [
            ("time=1,offset=2:bytes,size=3", "the unit of time is missing"),
            ("time=1:us,offset=2,size=3", "the unit of offset is missing"),
            ("time=1:us,offset=2:pages,size=3", "\"pages\" is no unit of offset"),
            ("time=1:us,size=3", "lacks time, offset or size"),
            ("time=0:us", "\"0\" is no column number from 1"),
            ("tim=1:us", "\"tim\" is no column's name (did you mean \"time\"?)"),
            ("time=1:us,time=2:us", "time is there twice"),
            ("time", "\"time\" is no column"),
        ];
        for (text, problem) in rows {
            let error = text.parse::<Columns>().unwrap_err();
            assert!(error.starts_with(problem) || error.contains(problem), "{text}: {error}");
        }
    }
}
