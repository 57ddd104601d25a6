//! Numbers in fio's notation: 4k, 1m, 128kb, 0x1000, 50%, 10ms, and lists of up to three.

/// The three directions, in fio's order.
pub(super) const DIRECTIONS: usize = 3;

/// A size in bytes, in percent or in zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    Bytes(u64),
    Percent(u64),
    /// Zones of the device.
    Zones(u64),
}

/// A whole number with an optional unit; prefixes count in 1024, with an `i` in 1000. This is fio's
/// `kb_base=1024`, "opposite from those specified in the SI", which keeps old job files valid.
pub(super) fn number(text: &str) -> Result<u64, String> {
    let refuse = || format!("\"{text}\" is not a whole number such as 4096, 4k, 1m or 0x1000");
    let lower = text.trim().to_ascii_lowercase();
    if let Some(hexadecimal) = lower.strip_prefix("0x") {
        return u64::from_str_radix(hexadecimal, 16).map_err(|_| refuse());
    }
    let split = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(split);
    let number: u64 = digits.parse().map_err(|_| refuse())?;
    let prefix = unit.strip_suffix('b').unwrap_or(unit);
    let (letter, base) = match prefix.strip_suffix('i') {
        Some(letter) => (letter, 1000_u64),
        None => (prefix, 1024),
    };
    let power = match letter {
        "" if prefix.is_empty() => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(refuse()),
    };
    number.checked_mul(base.pow(power)).ok_or_else(|| format!("\"{text}\" is too large"))
}

/// A whole number that is at least `least`.
pub(super) fn count(text: &str, least: u64) -> Result<u64, String> {
    match number(text)? {
        value if value < least => Err(format!("{value} is less than {least}")),
        value => Ok(value),
    }
}

/// A size in bytes, a multiple of the sector size.
pub(super) fn sectors_in_bytes(text: &str) -> Result<u64, String> {
    let bytes = number(text)?;
    if bytes % engine::SECTOR_BYTES != 0 {
        return Err(format!("{bytes} is not a multiple of {} bytes", engine::SECTOR_BYTES));
    }
    Ok(bytes)
}

/// The size of a request.
pub(super) fn block(text: &str) -> Result<u64, String> {
    match sectors_in_bytes(text)? {
        0 => Err("a request has at least one sector".to_owned()),
        bytes if bytes > 1 << 30 => Err(format!("\"{text}\" is more than 1g")),
        bytes => Ok(bytes),
    }
}

/// A size or a percentage from 1 to 100.
pub(super) fn amount(text: &str) -> Result<Amount, String> {
    match text.trim().strip_suffix('%') {
        Some(percent) => match number(percent)? {
            percent @ 0..=100 => Ok(Amount::Percent(percent)),
            percent => Err(format!("{percent}% is more than 100%")),
        },
        None => match text.trim().strip_suffix('z').map(str::parse) {
            Some(Ok(zones)) => Ok(Amount::Zones(zones)),
            _ => sectors_in_bytes(text).map(Amount::Bytes),
        },
    }
}

/// A percentage from 0 to 100.
pub(super) fn percentage(text: &str) -> Result<u64, String> {
    match number(text)? {
        percent @ 0..=100 => Ok(percent),
        percent => Err(format!("{percent} is more than 100")),
    }
}

/// A time in nanoseconds; `unit_ns` is the default unit.
pub(super) fn time_ns(text: &str, unit_ns: u64) -> Result<u64, String> {
    let refuse = || format!("\"{text}\" is not a time such as 10, 10ms, 5m or 1h");
    let lower = text.trim().to_ascii_lowercase();
    let split = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(split);
    let number: u64 = digits.parse().map_err(|_| refuse())?;
    let unit_ns = match unit {
        "" => unit_ns,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return Err(refuse()),
    };
    number.checked_mul(unit_ns).ok_or_else(|| format!("\"{text}\" is too long"))
}

/// Up to three values for reads, writes and trims. `None` keeps the default: the value is empty, or
/// the list ended before with a comma.
pub(super) fn three<T: Clone>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<[Option<T>; DIRECTIONS], String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    // A trailing comma means that the values do not apply to the remaining directions.
    if parts.len() > DIRECTIONS + usize::from(parts.last() == Some(&"")) {
        return Err(format!("\"{text}\" has more than {DIRECTIONS} values"));
    }
    let mut values = [const { None }; DIRECTIONS];
    for (index, value) in values.iter_mut().enumerate() {
        let part = parts.get(index).or(parts.last()).copied().unwrap_or_default();
        if !part.is_empty() {
            *value = Some(parse(part)?);
        }
    }
    Ok(values)
}

/// `yes` for a key without a value.
pub(super) fn flag(text: Option<&str>) -> Result<bool, String> {
    match text {
        None | Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(other) => Err(format!("\"{other}\" is not 0 or 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_fio_s_units() {
        for (text, value) in [
            ("512", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4kB", 4096),
            ("4ki", 4000),
            ("4kib", 4000),
            ("1m", 1 << 20),
            ("2G", 2 << 30),
            ("1t", 1 << 40),
            ("100b", 100),
            ("0x1000", 4096),
        ] {
            assert_eq!(number(text), Ok(value), "{text}");
        }
        for text in ["", "k", "4x", "4.5k", "-1", "4kk", "4i", "99999999999999999999", "9999999p"] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_and_amounts() {
        assert_eq!(time_ns("10", 1_000), Ok(10_000));
        assert_eq!(time_ns("10ms", 1_000), Ok(10_000_000));
        assert_eq!(time_ns("2m", 1_000), Ok(120_000_000_000));
        assert!(time_ns("10 parsec", 1).is_err());
        assert_eq!(amount("20%"), Ok(Amount::Percent(20)));
        assert_eq!(amount("1g"), Ok(Amount::Bytes(1 << 30)));
        assert_eq!(amount("8z"), Ok(Amount::Zones(8)));
        assert!(amount("101%").is_err());
        assert_eq!(amount("1000"), Err("1000 is not a multiple of 512 bytes".to_owned()));
    }

    #[test]
    fn lists_fill_up_unless_they_end_with_a_comma() {
        let three = |text| three(text, number).unwrap();
        assert_eq!(three("8k"), [Some(8192); 3]);
        assert_eq!(three("8k,32k"), [Some(8192), Some(32768), Some(32768)]);
        assert_eq!(three("8k,32k,"), [Some(8192), Some(32768), None]);
        assert_eq!(three(",8k"), [None, Some(8192), Some(8192)]);
        assert_eq!(three(",8k,"), [None, Some(8192), None]);
        assert_eq!(three("1,2,3"), [Some(1), Some(2), Some(3)]);
        assert!(super::three("1,2,3,4", number).is_err());
    }
}
