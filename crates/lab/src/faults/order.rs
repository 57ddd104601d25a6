//! Syntax of orders to a running device: one per line.

use devices::ssd::media::Age;
use engine::{Op, SECTOR_BYTES, Time};
use options::{Duration, Size};
use std::fmt;
use std::str::FromStr;

/// Syntax of all orders, for messages.
const FORMS: &str = "slow X; latency add TIME [p=SHARE]; latency none; stall TIME; \
     fail read|write|trim|flush all|FIRST..END [COUNT|rate=SHARE]; readonly [off]; end-of-life; \
     cut [off TIME]; age TIME [at TEMPERATURE]; age steady; age N writes; \
     next-unit HANDLE; reset";

/// Requests that must fail.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fail {
    pub(crate) op: Op,
    /// Range of sectors; `None` for a flush.
    pub(crate) sectors: Option<(u64, u64)>,
    /// Remaining failures; `None` without a limit.
    pub(crate) left: Option<u64>,
    /// Share of the matching requests that fails.
    pub(crate) share: f64,
}

/// One order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    /// Multiplies the duration of every operation.
    Slow(f64),
    /// Adds this latency to this share of the requests.
    Latency(Time, f64),
    /// No request completes for this time.
    Stall(Time),
    /// Some requests end with an error.
    Fail(Fail),
    /// Makes the device read-only, or writable again.
    ReadOnly(bool),
    /// The device becomes permanently read-only.
    EndOfLife,
    /// A power cut; power returns after this time.
    Cut(Time),
    /// Overwrites the drive at random until write amplification settles.
    AgeSteady,
    /// Overwrites this number of random pages.
    Age(u64),
    /// Lets data age without requests.
    Lie(Age),
    /// Starts a new reclaim unit for a placement handle.
    NextUnit(u32),
    /// Ends all faults, except wear and end of life.
    Reset,
}

impl Order {
    /// True for ageing.
    pub(crate) fn is_age(&self) -> bool {
        matches!(self, Order::Age(_) | Order::AgeSteady | Order::Lie(_))
    }

    /// True if the order overwrites the drive, and therefore waits until it is idle.
    pub(crate) fn waits_for_rest(&self) -> bool {
        matches!(self, Order::Age(_) | Order::AgeSteady)
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["slow", factor] => match factor.parse::<f64>() {
                Ok(factor) if (1.0..=1e6).contains(&factor) => Ok(Order::Slow(factor)),
                _ => Err(format!("slow {factor}: expected a factor from 1 to 1000000")),
            },
            ["latency", "none"] => Ok(Order::Latency(0, 1.0)),
            ["latency", "add", more] => Ok(Order::Latency(time(more)?, 1.0)),
            ["latency", "add", more, share] => {
                Ok(Order::Latency(time(more)?, share_of(share, "p=")?))
            }
            ["stall", long] => Ok(Order::Stall(time(long)?)),
            ["fail", op, range] => fail(op, range, None),
            ["fail", op, range, often] => fail(op, range, Some(often)),
            ["fail", "flush"] => fail("flush", "all", None),
            ["readonly"] => Ok(Order::ReadOnly(true)),
            ["readonly", "off"] => Ok(Order::ReadOnly(false)),
            ["end-of-life"] => Ok(Order::EndOfLife),
            ["cut"] => Ok(Order::Cut(1_000_000_000)),
            ["cut", "off", long] => Ok(Order::Cut(time(long)?)),
            ["age", "steady"] => Ok(Order::AgeSteady),
            ["age", number, "writes"] => {
                number.parse().map(Order::Age).map_err(|_| format!("age {number} writes: a number"))
            }
            ["age", time] => time.parse().map(Order::Lie),
            ["age", time, "at", at] => format!("{time} at {at}").parse().map(Order::Lie),
            ["age", ..] => {
                let forms = "age 90d at 40C, age 1y, age steady or age N writes";
                Err(format!("{line}: {forms}"))
            }
            ["next-unit", handle] => match handle.parse() {
                Ok(handle) => Ok(Order::NextUnit(handle)),
                Err(_) => Err(format!("next-unit {handle}: the number of a placement handle")),
            },
            ["reset"] => Ok(Order::Reset),
            _ => Err(unknown(line)),
        }
    }
}

/// Message about a line that is not an order: the order probably meant, or all orders.
fn unknown(line: &str) -> String {
    let word = |form: &'static str| form.split(' ').next().unwrap_or_default();
    let near =
        options::nearest(line.split(' ').next().unwrap_or_default(), FORMS.split("; ").map(word));
    match near.and_then(|near| FORMS.split("; ").find(|form| word(form) == near)) {
        Some(form) => format!("\"{line}\" is not an order (did you mean {form}?)"),
        None => format!("\"{line}\" is not an order; the orders are: {FORMS}"),
    }
}

/// Maximum time in an order or a script: a year, so that sums of times never overflow the clock.
const LONGEST_NS: Time = 365 * 24 * 3600 * 1_000_000_000;

fn time(text: &str) -> Result<Time, String> {
    match text.parse::<Duration>().map(Duration::ns) {
        Ok(ns) if ns > LONGEST_NS => Err(format!("{text}: a time of at most 8760h, a year")),
        Ok(ns) => Ok(ns),
        Err(error) => Err(format!("{error}")),
    }
}

fn share_of(text: &str, prefix: &str) -> Result<f64, String> {
    let share = text.strip_prefix(prefix).and_then(|it| it.parse::<f64>().ok());
    let share = share.filter(|it| (0.0..=1.0).contains(it));
    share.ok_or_else(|| format!("{text}: {prefix} and a share from 0 to 1"))
}

fn fail(op: &str, range: &str, often: Option<&str>) -> Result<Order, String> {
    // The range of a flush is optional.
    let (range, often) = match (op, range.parse::<u64>().is_ok() || range.starts_with("rate=")) {
        ("flush", true) => ("all", Some(range)),
        _ => (range, often),
    };
    let found = Op::BLOCK.into_iter().find(|it| it.name() == op);
    let op = found.ok_or_else(|| format!("fail {op}: read, write, trim or flush"))?;
    let bytes = |text: &str| text.parse::<Size>().map(Size::bytes).map_err(|e| format!("{e}"));
    let sectors = match range.split_once("..") {
        _ if range == "all" => None,
        Some((first, end)) => {
            let first = if first == "0" { 0 } else { bytes(first)? };
            let (first, end) = (first / SECTOR_BYTES, bytes(end)?.div_ceil(SECTOR_BYTES));
            if first >= end {
                return Err(format!("fail {range}: it ends before it begins"));
            }
            Some((first, end))
        }
        None => return Err(format!("fail {range}: all, or a range such as 0..1MiB")),
    };
    if op == Op::Flush && sectors.is_some() {
        return Err("a flush has no range: fail flush [COUNT|rate=SHARE]".to_owned());
    }
    let (left, share) = match often {
        None => (None, 1.0),
        Some(text) if text.starts_with("rate=") => (None, share_of(text, "rate=")?),
        Some(text) => match text.parse::<u64>() {
            Ok(count) if count > 0 => (Some(count), 1.0),
            _ => return Err(format!("fail ... {text}: how often, or rate=SHARE")),
        },
    };
    Ok(Order::Fail(Fail { op, sectors, left, share }))
}

/// A line of a script: time after the first request, and order.
fn script_line(line: &str) -> Result<(Time, Order), String> {
    let (at, order) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let at = time(at).map_err(|error| format!("{error}; a line is a time and an order"))?;
    Ok((at, order.trim().parse()?))
}

/// The orders of a script. Empty lines and text after `#` are ignored.
pub(crate) fn script(text: &str) -> Result<Vec<(Time, Order)>, String> {
    let mut orders: Vec<(Time, Order)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let refuse = |problem: String| format!("line {}: {problem}", number + 1);
        let (at, order) = script_line(line).map_err(refuse)?;
        if orders.last().is_some_and(|(before, _)| *before > at) {
            return Err(refuse("its time is earlier than the time of the line above".to_owned()));
        }
        orders.push((at, order));
    }
    Ok(orders)
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Slow(factor) => write!(f, "slow {factor}"),
            Order::Latency(0, _) => write!(f, "latency none"),
            Order::Latency(more, share) => write!(f, "latency add {more}ns p={share}"),
            Order::Stall(long) => write!(f, "stall {long}ns"),
            Order::Fail(Fail { op, sectors, left, share }) => {
                write!(f, "fail {}", op.name())?;
                match sectors {
                    Some((first, end)) => {
                        write!(f, " {}B..{}B", first * SECTOR_BYTES, end * SECTOR_BYTES)?;
                    }
                    None => write!(f, " all")?,
                }
                match left {
                    Some(count) => write!(f, " {count}"),
                    None => write!(f, " rate={share}"),
                }
            }
            Order::ReadOnly(true) => write!(f, "readonly"),
            Order::ReadOnly(false) => write!(f, "readonly off"),
            Order::EndOfLife => write!(f, "end-of-life"),
            Order::Cut(off) => write!(f, "cut off {off}ns"),
            Order::AgeSteady => write!(f, "age steady"),
            Order::Age(writes) => write!(f, "age {writes} writes"),
            Order::Lie(age) => write!(f, "age {age}"),
            Order::NextUnit(handle) => write!(f, "next-unit {handle}"),
            Order::Reset => write!(f, "reset"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_back_as_written() {
        for line in [
            "slow 2.5",
            "latency add 2000000ns p=0.01",
            "latency none",
            "stall 5ns",
            "fail read 0B..1048576B 3",
            "fail write all rate=0.25",
            "fail flush all 1",
            "readonly",
            "readonly off",
            "end-of-life",
            "cut off 2000000000ns",
            "age steady",
            "age 100 writes",
            "age 90d at 40C",
            "age 1y",
            "next-unit 3",
            "reset",
        ] {
            assert_eq!(line.parse::<Order>().unwrap().to_string(), line);
        }
        assert_eq!("fail flush 1".parse::<Order>(), "fail flush all 1".parse());
        assert_eq!("latency add 2ms".parse::<Order>(), Ok(Order::Latency(2_000_000, 1.0)));
    }

    #[test]
    fn what_is_no_order_is_refused_with_what_there_is() {
        for (line, part) in [
            ("slow 0.5", "from 1 to"),
            ("fail all", "not an order"),
            ("fail sync all", "read, write, trim or flush"),
            ("fail read 1..2 0", "line"),
            ("fail read 1MiB..1KiB", "ends before"),
            ("fail flush 0..1MiB", "has no range"),
            ("latency add 2ms p=2", "from 0 to 1"),
            ("age 90 days", "age 90d at 40C"),
            ("age 90d at 40", "with its unit"),
            ("age 90d at 200C", "from -40C to 125C"),
            ("next-unit hot", "the number of a placement handle"),
            ("age 90d off", "age 90d at 40C"),
            ("stall 8761h", "at most 8760h"),
            ("dance", "slow X"),
        ] {
            let text = script(&format!("1s {line}")).unwrap_err();
            assert!(text.contains(part) || part == "line", "{line}: {text}");
        }
        assert!(script("2s slow 2\n1s slow 3").unwrap_err().contains("line 2"));
        assert_eq!(script("\n# nothing\n1s slow 2 # half\n").unwrap().len(), 1);
    }
}
