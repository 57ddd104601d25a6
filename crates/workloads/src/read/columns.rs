//! Roles of a table's columns, or a pattern's groups, as mapped by the user.
//!
//! `time=ts:us,op=opcode:1=write,2=read,offset=slba*4096,size=(nlb+1)*4096`: a role, a column by
//! name or by number (from 1), arithmetic with numbers, and a unit. `names.rs` finds names in a
//! header; only this syntax is evaluated.

use super::fields::{MS, S, US};
use super::roles::Role;
use engine::{Op, SECTOR_BYTES, Time};
use options::nearest;
use std::str::FromStr;

/// Mapped columns, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns(pub(crate) Vec<Part>);

/// One mapped column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) role: Role,
    /// A name or number, with arithmetic.
    pub(crate) value: String,
    /// Unit, if given.
    pub(crate) unit: String,
    pub(crate) directions: Option<Directions>,
}

/// Recognition of reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Directions {
    /// By words and letters.
    Words,
    /// This number is a read; the other of 0 and 1 is a write.
    ReadIs(u8),
    /// The first matching mark decides; a mark without an operation is skipped. If a flush bit also
    /// matches, a flush precedes the operation.
    Marks(Vec<(Mark, Option<Op>)>),
}

/// Recognition of an operation's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    Number(u64),
    /// A bit of a number.
    Bit(u32),
    Text(String),
    /// Any other value.
    Other,
}

/// An arithmetic step, on numbers with nine decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Multiplied by the first number, divided by the second.
    Times(i128, i128),
    Plus(i128),
}

/// One, in fixed point with nine decimals.
pub(crate) const ONE: i128 = 1_000_000_000;

impl Columns {
    /// Description of valid values.
    pub const EXPECTED: &'static str = "columns such as \"time=1:us,op=3,offset=4:bytes,size=5\" or \
        \"time=ts,op=rw,offset=lba*512,size=(nlb+1)*512\"";

    /// The mapped column of a role.
    pub(crate) fn part(&self, role: Role) -> Option<&Part> {
        self.0.iter().find(|part| part.role == role)
    }

    /// Merges these columns, as defaults, into `given`.
    pub(crate) fn under(&self, given: Option<&Columns>) -> Columns {
        let mut all = given.cloned().unwrap_or_default();
        let own = self.0.iter().filter(|part| given.is_none_or(|it| it.part(part.role).is_none()));
        all.0.extend(own.cloned());
        all
    }
}

/// Nanoseconds of a unit of time.
pub(crate) fn time_unit(unit: &str) -> Option<Time> {
    Some(match unit {
        "ns" => 1,
        "filetime" => 100,
        "us" => US,
        "ms" => MS,
        "s" => S,
        _ => return None,
    })
}

/// Bytes of a unit of size.
pub(crate) fn size_unit(unit: &str) -> Option<u64> {
    Some(match unit {
        "bytes" | "B" => 1,
        "sectors" => SECTOR_BYTES,
        "KiB" => 1024,
        _ => return None,
    })
}

/// The bit number in a text such as `bit3`.
pub(crate) fn bit(text: &str) -> Option<u32> {
    text.strip_prefix("bit").and_then(|digits| digits.parse().ok())
}

/// True if a text is a whole number with this bit set.
pub(crate) fn has_bit(text: &[u8], bit: u32) -> bool {
    let whole = fixed(text).filter(|it| it % ONE == 0).map_or(0, |it| it / ONE);
    whole.checked_shr(bit).unwrap_or(0) & 1 == 1
}

fn mark(text: &str) -> Mark {
    if text == "*" {
        return Mark::Other;
    }
    if let Some(bit) = bit(text) {
        return Mark::Bit(bit);
    }
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_or_else(|_| Mark::Text(text.to_owned()), Mark::Number)
}

/// Directions from a map such as `1=write,2=read`. With a single 0 or 1, the other number is the
/// other direction.
fn directions(text: &str) -> Result<Directions, String> {
    let mut marks = Vec::new();
    for entry in text.split([',', ';']).map(str::trim) {
        let (value, word) = entry.split_once('=').unwrap_or((entry, ""));
        let word = word.trim();
        let op = Op::ALL.into_iter().find(|op| op.name() == word);
        if op.is_none() && word != "skip" {
            let hint = nearest(word, Op::ALL.map(Op::name));
            let hint = hint.map_or(String::new(), |near| format!(" (did you mean \"{near}\"?)"));
            return Err(format!("\"{entry}\" of op is not VALUE=OPERATION, such as 1=write{hint}"));
        }
        marks.push((mark(value.trim()), op));
    }
    Ok(match marks[..] {
        [(Mark::Number(digit @ (0 | 1)), Some(Op::Read))] => Directions::ReadIs(digit as u8),
        [(Mark::Number(digit @ (0 | 1)), Some(Op::Write))] => Directions::ReadIs(1 - digit as u8),
        _ => Directions::Marks(marks),
    })
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |problem: String| Err(format!("{problem}; expected {}", Columns::EXPECTED));
        let mut parts: Vec<(Role, String)> = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (name.trim(), value.trim());
            let is_known = |role| parts.iter().any(|(known, _)| *known == role);
            let is_twice = Role::named(name).is_some_and(is_known);
            match (Role::named(name), parts.last_mut()) {
                (Some(_), _) if value.is_empty() => {
                    return refuse(format!("\"{part}\" is no column"));
                }
                (Some(_), _) if is_twice => return refuse(format!("{name} is there twice")),
                (Some(role), _) => parts.push((role, value.to_owned())),
                // The map of an operation contains commas and continues after them.
                (None, Some((Role::Op, map))) if map.contains('=') && !value.is_empty() => {
                    map.push(',');
                    map.push_str(part);
                }
                _ if value.is_empty() => return refuse(format!("\"{part}\" is no column")),
                _ => {
                    let hint = nearest(name, Role::ALL.map(Role::name))
                        .map(|near| format!(" (did you mean \"{near}\"?)"))
                        .unwrap_or_default();
                    return refuse(format!("\"{name}\" is no column's name{hint}"));
                }
            }
        }
        let parts: Result<Vec<Part>, String> =
            parts.into_iter().map(|(role, value)| parse_part(role, &value)).collect();
        parts.map(Columns).or_else(refuse)
    }
}

fn parse_part(role: Role, text: &str) -> Result<Part, String> {
    let is_unit: fn(&str) -> bool = match role {
        Role::Time | Role::End | Role::Latency | Role::Queued => |unit| time_unit(unit).is_some(),
        Role::Offset | Role::Size => |unit| size_unit(unit).is_some(),
        Role::Fua => |unit| bit(unit).is_some(),
        Role::Op => {
            let (value, map) = text.split_once(':').unwrap_or((text, ""));
            let directions = if map.is_empty() { None } else { Some(directions(map)?) };
            let value = value.trim().to_owned();
            return Ok(Part { role, value, unit: String::new(), directions });
        }
        _ => |_| false,
    };
    let (value, unit) = match text.rsplit_once(':') {
        Some((value, unit)) if is_unit(unit) => (value, unit),
        Some((_, unit)) => return Err(format!("\"{unit}\" is no unit of {}", role.name())),
        None => (text, ""),
    };
    let (value, unit) = (value.trim().to_owned(), unit.to_owned());
    if let Some(number) = number_of(&value)
        && !(1..=COLUMN_LIMIT).contains(&number)
    {
        return Err(format!("\"{value}\" is no column number from 1"));
    }
    arithmetic(&value)?;
    Ok(Part { role, value, unit, directions: None })
}

/// Maximum column number, which bounds the search in a line.
const COLUMN_LIMIT: usize = 1000;

/// Column number, if given as a number.
pub(crate) fn number_of(value: &str) -> Option<usize> {
    value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().unwrap_or(0))
}

/// A column and its arithmetic: `(nlb+1)*4096`.
///
/// # Errors
/// When a factor is 0, or `*` follows `+` without parentheses.
pub(crate) fn arithmetic(value: &str) -> Result<(&str, Vec<Step>), String> {
    if let Some(inner) = value.strip_prefix('(')
        && let Some((inner, behind)) = inner.rsplit_once(')')
        && let Some(further) = steps(behind)
    {
        let (name, mut all) = arithmetic(inner.trim())?;
        all.extend(further?);
        return Ok((name, all));
    }
    // The longest possible name: only signs and numbers may follow.
    for (place, _) in value.match_indices(['*', '/', '+', '-']) {
        let (name, behind) = value.split_at(place);
        if let Some(found) = steps(behind).filter(|_| !name.trim().is_empty()) {
            let found = found?;
            let kinds: Vec<bool> = found.iter().map(|it| matches!(it, Step::Plus(_))).collect();
            if kinds.windows(2).any(|pair| pair[0] && !pair[1]) {
                return Err(format!("\"{value}\" needs parentheses, as in (nlb+1)*4096"));
            }
            return Ok((name.trim(), found));
        }
    }
    Ok((value, Vec::new()))
}

/// Operators and numbers up to the end; `None` for any other text.
fn steps(text: &str) -> Option<Result<Vec<Step>, String>> {
    let mut rest = text.trim();
    let mut found = Vec::new();
    while let Some(sign) = rest.chars().next() {
        let behind = rest.strip_prefix(['*', '/', '+', '-'])?.trim_start();
        let end = behind.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(behind.len());
        let number = fixed(&behind.as_bytes()[..end])?;
        match (sign, number) {
            ('*' | '/', 0) => return Some(Err(format!("\"{}\" has a factor of 0", text.trim()))),
            ('*', number) => found.push(Step::Times(number, ONE)),
            ('/', number) => found.push(Step::Times(ONE, number)),
            ('+', number) => found.push(Step::Plus(number)),
            (_, number) => found.push(Step::Plus(-number)),
        }
        rest = behind[end..].trim_start();
    }
    Some(Ok(found))
}

/// A number with nine decimals: decimal, in hex after `0x`, or with an exponent.
pub(crate) fn fixed(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?.trim();
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok().map(|number| i128::from(number) * ONE);
    }
    if text.contains(['e', 'E']) {
        let number: f64 = text.parse().ok().filter(|number: &f64| number.abs() < 1e19)?;
        return Some((number.trunc() as i128) * ONE + (number.fract() * 1e9) as i128);
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && part.is_empty()) || !are_digits(whole) || !are_digits(part) {
        return None;
    }
    let units: i128 = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()?.into() };
    let kept = &part[..part.len().min(9)];
    let decimals = kept.bytes().fold(0_i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    Some(sign * (units * ONE + decimals * 10_i128.pow(9 - kept.len() as u32)))
}

/// A number after all steps; `None` if it exceeds the range of a column.
pub(crate) fn after(mut number: i128, steps: &[Step]) -> Option<i128> {
    for step in steps {
        number = match *step {
            Step::Plus(more) => number.checked_add(more)?,
            Step::Times(factor, divisor) => number.checked_mul(factor)? / divisor,
        };
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str, role: Role) -> Part {
        text.parse::<Columns>().unwrap().part(role).unwrap().clone()
    }

    #[test]
    fn columns_are_declared_with_their_units() {
        let text = "time=1:us, op=3,offset=4:sectors,size=5:bytes";
        let time = part(text, Role::Time);
        assert_eq!((time.value.as_str(), time.unit.as_str()), ("1", "us"));
        assert_eq!(part(text, Role::Offset).unit, "sectors");
        assert_eq!(part(text, Role::Op).directions, None);
        let map = |text: &str| part(text, Role::Op).directions.unwrap();
        assert_eq!(map("op=2:1=read,size=5"), Directions::ReadIs(1));
        assert_eq!(map("op=2:1=write"), Directions::ReadIs(0));
        let expected = vec![
            (Mark::Number(1), Some(Op::Write)),
            (Mark::Number(2), Some(Op::Read)),
            (Mark::Text("Fl".to_owned()), Some(Op::Flush)),
            (Mark::Bit(3), None),
            (Mark::Other, Some(Op::Trim)),
        ];
        let text = "time=a b:us,op=opc:1=write,0x02=read;Fl=flush,bit3=skip,*=trim,size=x";
        assert_eq!(map(text), Directions::Marks(expected));
        assert_eq!(part(text, Role::Time).value, "a b");
    }

    #[test]
    fn arithmetic_goes_from_the_left_and_asks_for_parentheses() {
        let value = |text: &str, number: i128| {
            let (_, steps) = arithmetic(text).unwrap();
            after(number * ONE, &steps).unwrap() / ONE
        };
        assert_eq!(arithmetic("lba").unwrap(), ("lba", Vec::new()));
        assert_eq!(arithmetic("(nlb+1)*4096").unwrap().0, "nlb");
        assert_eq!(value("(nlb+1)*4096", 7), 32_768);
        assert_eq!(value("lba*512", 3), 1536);
        assert_eq!(value("a b / 2 + 1", 10), 6);
        assert_eq!(value("x*1.5", 10), 15);
        // Text that resembles arithmetic but is invalid belongs to the name.
        assert_eq!(arithmetic("I/O size-kb").unwrap(), ("I/O size-kb", Vec::new()));
        assert_eq!(arithmetic("I/O*512").unwrap().0, "I/O");
        assert!(arithmetic("nlb+1*4096").unwrap_err().contains("needs parentheses"));
        assert!(arithmetic("lba*0").unwrap_err().contains("a factor of 0"));
    }

    #[test]
    fn numbers_have_nine_decimals() {
        let rows: [(&[u8], Option<i128>); 9] = [
            (b"1.5", Some(ONE * 3 / 2)),
            (b" 0x10 ", Some(16 * ONE)),
            (b"1e3", Some(1000 * ONE)),
            (b"-2", Some(-2 * ONE)),
            (b".5", Some(ONE / 2)),
            (b"18446744073709551615", Some(i128::from(u64::MAX) * ONE)),
            (b"18446744073709551616", None),
            (b"", None),
            (b"x", None),
        ];
        for (text, expected) in rows {
            assert_eq!(fixed(text), expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn missing_and_unknown_columns_are_named() {
        let rows = [
            ("time=1:us,offset=2:pages,size=3", "\"pages\" is no unit of offset"),
            ("time=0:us", "\"0\" is no column number from 1"),
            ("tim=1:us", "\"tim\" is no column's name (did you mean \"time\"?)"),
            ("time=1:us,time=2:us", "time is there twice"),
            ("time", "\"time\" is no column"),
            (
                "op=3:1=rite",
                "\"1=rite\" of op is not VALUE=OPERATION, such as 1=write (did you mean \"write\"?)",
            ),
        ];
        for (text, problem) in rows {
            let error = text.parse::<Columns>().unwrap_err();
            assert!(error.starts_with(problem) && error.contains("; expected columns"), "{error}");
        }
    }
}
