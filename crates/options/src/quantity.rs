//! Integer quantities, written with a unit.

use crate::{Values, link, unit_hint};
use std::fmt;
use std::str::FromStr;

/// Error of a text that is not the expected quantity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError(String);

impl QuantityError {
    /// An error with the given message.
    pub(crate) fn new(problem: String) -> Self {
        QuantityError(problem)
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for QuantityError {}

/// A unit: its name, and its size in base units.
pub(crate) type Unit = (&'static str, u128);

const TIME_PS: &[Unit] = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
];
pub(crate) const SIZE_BYTES: &[Unit] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

pub(crate) const CAPACITANCE_NF: &[Unit] =
    &[("nF", 1), ("uF", 1_000), ("mF", 1_000_000), ("F", 1_000_000_000)];

/// Splits "1.5ms" into number and unit, and returns the amount in base units.
///
/// The number is read as a decimal fraction, not as floating point: "0.1us" is exactly 100 ns.
pub(crate) fn parse(text: &str, units: &[Unit], what: &str) -> Result<u128, QuantityError> {
    parse_per(text, "", units, what)
}

/// [`parse`] of a text from which `per`, such as "/s", was removed behind the unit.
fn parse_per(text: &str, per: &str, units: &[Unit], what: &str) -> Result<u128, QuantityError> {
    let choices = || units.iter().map(|u| format!("{}{per}", u.0)).collect::<Vec<_>>().join(", ");
    let expected = |problem: &str| {
        QuantityError(format!("\"{text}{per}\" is not {what}: {problem} (units: {})", choices()))
    };
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(expected("it must not be negative"));
    }
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(expected("it must begin with a decimal number"));
    }
    if whole.len() + fraction.len() > 25 {
        return Err(expected("it has too many digits"));
    }
    let unit = unit.trim();
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        let read = |text: &str| parse_per(text, per, units, what).is_ok();
        return Err(expected(&unit_hint::in_other_words(number, unit, per, units, read)));
    };
    let digits: u128 = format!("0{whole}{fraction}").parse().map_err(|_| expected("bad number"))?;
    let divisor = 10u128.pow(fraction.len() as u32);
    let amount = digits.checked_mul(scale).ok_or_else(|| expected("it is too large"))?;
    if amount % divisor != 0 {
        let smallest = units[0].0;
        return Err(expected(&format!("it is not a whole number of {smallest}")));
    }
    Ok(amount / divisor)
}

/// Regular expression of the texts that [`parse`] accepts with these units.
pub(crate) fn pattern(units: &[Unit]) -> String {
    let units: Vec<&str> = units.iter().map(|unit| unit.0).collect();
    format!(r"\s*(?:[0-9]+\.?[0-9]*|\.[0-9]+)\s*(?:{})\s*", units.join("|"))
}

/// Writes `amount` with the largest unit that leaves at most three decimals.
pub(crate) fn show(amount: u128, units: &[Unit], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let exact = |&&(_, scale): &&Unit| {
        amount >= scale
            && amount.is_multiple_of(scale.div_ceil(1000).max(1))
            && (amount * 1000).is_multiple_of(scale)
    };
    let (name, scale) = units.iter().rev().find(exact).unwrap_or(&units[0]);
    let thousandths = amount * 1000 / scale;
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    if rest == 0 {
        write!(f, "{whole}{name}")
    } else {
        write!(f, "{whole}.{}{name}", format!("{rest:03}").trim_end_matches('0'))
    }
}

crate::text_setting!(Duration: "a time with its unit, such as \"25us\" or \"1.5ms\"", Values::Pattern(Duration::pattern()));
crate::text_setting!(PerByte: "a time per byte with its unit, such as \"25ns\" or \"0.625ns\"", Values::Pattern(pattern(&TIME_PS[..3])));
crate::text_setting!(Capacitance: "a capacitance with its unit, such as \"1.2mF\" or \"680uF\"", Values::Pattern(pattern(CAPACITANCE_NF)));
crate::text_setting!(Size: "a size with its unit, such as \"4KiB\" or \"128B\"", Values::Pattern(Size::pattern()));
crate::optional!(Size);
crate::optional!(Capacitance);
crate::text_setting!(Bandwidth: "a rate with its unit, such as \"300MB/s\"; a link by name, such as \"sata-300\"; or \"unlimited\"", Bandwidth::values());

crate::optional!(Duration);

/// A duration in whole nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Duration(u64);

impl Duration {
    /// A duration of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Duration(ns)
    }

    /// Nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Syntax of a value, as a regular expression.
    pub fn pattern() -> String {
        pattern(&NANOSECONDS)
    }
}

impl FromStr for Duration {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let ns = parse(text, &NANOSECONDS, "a time")?;
        let too_long =
            || QuantityError(format!("\"{text}\" is too long a time (at most 500 years)"));
        u64::try_from(ns).map(Duration).map_err(|_| too_long())
    }
}

pub(crate) const NANOSECONDS: [Unit; 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(u128::from(self.0), &NANOSECONDS[..4], f)
    }
}

/// Time per byte in whole picoseconds, because fast buses take fractions of a nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct PerByte(u64);

impl PerByte {
    /// A time of `ps` picoseconds per byte.
    pub const fn from_ps(ps: u64) -> Self {
        PerByte(ps)
    }

    /// Transfer time of `bytes`, rounded to the nearest nanosecond.
    pub fn time_ns(self, bytes: u64) -> u64 {
        (self.0 * bytes + 500) / 1000
    }
}

impl FromStr for PerByte {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let ps = parse(text, &TIME_PS[..3], "a time per byte")?;
        // No bus needs a millisecond per byte; the bound keeps products within 64 bits.
        if ps > 1_000_000_000 {
            return Err(QuantityError(format!(
                "\"{text}\" is too long a time per byte (at most 1ms)"
            )));
        }
        Ok(PerByte(ps as u64))
    }
}

impl fmt::Display for PerByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(u128::from(self.0), &TIME_PS[..3], f)
    }
}

/// A size in whole bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(u64);

impl Size {
    /// A size of `bytes` bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Size(bytes)
    }

    /// Bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Syntax of a value, as a regular expression.
    pub fn pattern() -> String {
        pattern(SIZE_BYTES)
    }
}

impl FromStr for Size {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let bytes = parse(text, SIZE_BYTES, "a size")?;
        let too_large =
            || QuantityError(format!("\"{text}\" is too large a size (at most 8192PiB)"));
        u64::try_from(bytes).ok().filter(|b| *b < 1 << 63).map(Size).ok_or_else(too_large)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = &SIZE_BYTES[..5];
        // Only whole multiples: "4.5KiB" reads worse than "4608B".
        let whole = binary.iter().rev().find(|u| u128::from(self.0) % u.1 == 0 && self.0 > 0);
        let (name, scale) = whole.unwrap_or(&binary[0]);
        write!(f, "{}{name}", u128::from(self.0) / scale)
    }
}

/// A capacitance in whole nanofarads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Capacitance(u64);

impl Capacitance {
    /// The value in farads.
    pub fn farads(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl FromStr for Capacitance {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let amount = parse(text, CAPACITANCE_NF, "a capacitance")?;
        let too_large = || QuantityError(format!("\"{text}\" is too large a capacitance"));
        u64::try_from(amount).map(Capacitance).map_err(|_| too_large())
    }
}

impl fmt::Display for Capacitance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(u128::from(self.0), CAPACITANCE_NF, f)
    }
}

/// A data rate in bytes per second; 0 internally means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bandwidth(u64);

impl Bandwidth {
    /// Transfers take no time.
    pub const UNLIMITED: Bandwidth = Bandwidth(0);

    fn values() -> Values {
        let unlimited = ("unlimited", "Transfers take no time.");
        let links = link::LINKS.iter().map(|link| (link.name, link.source));
        let words: Vec<_> = std::iter::once(unlimited).chain(links).collect();
        let names: Vec<_> = link::LINKS.iter().map(|link| link.name).collect();
        let names = names.join("|");
        let rate = format!(r"{}/s\s*|\s*(?:{names})\s*", pattern(SIZE_BYTES));
        Values::Either(vec![Values::words(&words), Values::Pattern(rate)])
    }

    /// Transfer time of `bytes`, rounded to the nearest nanosecond.
    pub fn time_ns(self, bytes: u64) -> u64 {
        if self.0 == 0 {
            return 0;
        }
        let (billionths, half) = (bytes.checked_mul(1_000_000_000), self.0 / 2);
        // Up to 18 GB a 64-bit division suffices, which is many times faster than a 128-bit one.
        if let Some(sum) = billionths.and_then(|it| it.checked_add(half)) {
            return sum / self.0;
        }
        ((u128::from(bytes) * 1_000_000_000 + u128::from(half)) / u128::from(self.0)) as u64
    }
}

impl FromStr for Bandwidth {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if text == "unlimited" {
            return Ok(Self::UNLIMITED);
        }
        if let Some(link) = link::find(text.trim()) {
            return Ok(Bandwidth(link.bytes_per_second));
        }
        let Some(amount) = text.trim().strip_suffix("/s") else {
            let hint = match link::near(text.trim()) {
                Some(near) => format!(" (did you mean {near}?)"),
                None => String::new(),
            };
            return Err(QuantityError(format!(
                "\"{text}\" is not a rate with its unit, such as \"300MB/s\", nor a link such as \
                 \"sata-300\" (ssdlab list links), nor \"unlimited\"{hint}"
            )));
        };
        match parse_per(amount, "/s", SIZE_BYTES, "a rate")? {
            0 => Err(QuantityError(format!("\"{text}\": a rate of zero never finishes"))),
            rate => u64::try_from(rate)
                .map(Bandwidth)
                .map_err(|_| QuantityError(format!("\"{text}\" is too high a rate"))),
        }
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DECIMAL: [Unit; 4] =
            [("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];
        if self.0 == 0 {
            return f.write_str("unlimited");
        }
        show(u128::from(self.0), &DECIMAL, f)?;
        f.write_str("/s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: FromStr<Err = QuantityError> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err().to_string()
    }

    #[test]
    fn times_are_exact() {
        let cases = [("25us", 25_000), ("1.5ms", 1_500_000), ("0.1us", 100), ("7s", 7_000_000_000)];
        for (text, ns) in cases {
            assert_eq!(text.parse::<Duration>().unwrap().ns(), ns);
            assert_eq!(Duration::from_ns(ns).to_string().parse::<Duration>().unwrap().ns(), ns);
        }
        assert_eq!("2min".parse::<Duration>().unwrap().to_string(), "120s");
    }

    #[test]
    fn every_duration_survives_being_written() {
        for ns in [0, 1, 999, 1_000, 1_001, 105_600, 1_234_567, 61_000_000_001, u64::MAX] {
            assert_eq!(Duration::from_ns(ns).to_string().parse(), Ok(Duration::from_ns(ns)));
        }
        for bytes in [0, 1, 512, 4096, 4224, 5000, 1 << 40, 3_593_678_848] {
            assert_eq!(Size::from_bytes(bytes).to_string().parse(), Ok(Size::from_bytes(bytes)));
        }
        for rate in ["unlimited", "2GB/s", "2147.651MB/s", "1B/s"] {
            assert_eq!(
                rate.parse::<Bandwidth>().unwrap().to_string().parse(),
                rate.parse::<Bandwidth>()
            );
        }
        assert_eq!("0.0625ns".parse::<PerByte>().ok(), None, "62.5 ps is not whole");
        assert_eq!("0.625ns".parse::<PerByte>().unwrap().time_ns(4224), 2640);
    }

    #[test]
    fn sizes_and_rates() {
        assert_eq!("4KiB".parse::<Size>().unwrap().bytes(), 4096);
        assert_eq!("1.5 kB".parse::<Size>().unwrap().bytes(), 1500);
        // Host transfer of the original simulator: 0.2384 us per sector.
        let link: Bandwidth = "2147.651007MB/s".parse().unwrap();
        assert_eq!(link.time_ns(4096), 1907);
        assert_eq!(link.time_ns(512 * 1000), 238_400);
        assert_eq!(Bandwidth::UNLIMITED.time_ns(1 << 40), 0);
    }

    #[test]
    fn links_have_names() {
        let sata: Bandwidth = "sata-300".parse().unwrap();
        assert_eq!(sata, "300MB/s".parse().unwrap());
        assert_eq!(sata.time_ns(4096), 13_653);
        assert_eq!("pcie-x8".parse::<Bandwidth>().unwrap().to_string(), "2GB/s");
        // Published tables state 31.5 GB/s and 121 GB/s.
        assert_eq!("pcie4-x16".parse::<Bandwidth>(), "31507692304B/s".parse());
        assert_eq!("pcie6-x16".parse::<Bandwidth>(), "121GB/s".parse());
        for link in crate::LINKS {
            let rate: Bandwidth = link.name.parse().unwrap();
            assert_eq!(rate.to_string().parse(), Ok(rate), "{}", link.name);
            assert_eq!(crate::LINKS.iter().filter(|other| other.name == link.name).count(), 1);
        }
        assert!(refused::<Bandwidth>("sata-350").contains("did you mean sata-"));
        assert!(
            refused::<Bandwidth>("pcie2").contains("did you mean pcie2-x1, pcie2-x4 or pcie2-x8?")
        );
    }

    #[test]
    fn refusals_name_the_value_and_the_units() {
        assert_eq!(
            refused::<Duration>("25 lightyears"),
            "\"25 lightyears\" is not a time: the unit is unknown (units: ns, us, ms, s, min, h)"
        );
        assert!(refused::<Duration>("25").contains("the unit is missing"));
        assert!(refused::<Duration>("-3us").contains("must not be negative"));
        assert!(refused::<Duration>("0.5ns").contains("not a whole number of ns"));
        assert!(refused::<Duration>("us").contains("must begin with a decimal number"));
        assert!(refused::<Duration>("1.2.3us").contains("decimal number"));
        assert!(refused::<Size>("4XB").contains("KiB"));
        assert!(refused::<Size>("4k").contains("k may mean thousands or 1024s, write 4kB or 4KiB"));
        assert!(refused::<Size>("4M").contains("write 4MB or 4MiB"));
        assert!(refused::<Size>("4Ki").contains("write 4KiB (units"));
        assert!(refused::<Size>("4kib").contains("write 4KiB (units"));
        assert!(refused::<Bandwidth>("3gb/s").contains("write 3GB/s (units: B/s, KiB/s"));
        assert!(refused::<Bandwidth>("300M/s").contains("write 300MB/s or 300MiB/s"));
        assert!(
            refused::<Bandwidth>("6Gb/s").contains("bits or bytes, write 0.75GB/s or 6GB/s (units")
        );
        assert!(refused::<Size>("512Gb").contains("write 64GB or 512GB"));
        assert!(refused::<Duration>("1,000us").contains("digits and a decimal point only"));
        assert!(refused::<Duration>("30\u{b5}s").contains("write 30us"));
        assert!(refused::<Duration>("5MS").contains("write 5ms"));
        assert!(refused::<Size>("99999999999TiB").contains("too large"));
        assert!(refused::<Bandwidth>("0B/s").contains("never finishes"));
        assert!(refused::<Bandwidth>("300MB").contains("unlimited"));
    }
}
