//! Times in tables and captures: numbers with a unit, dates, and times of day.

use super::columns::{ONE, Step, after, fixed};
use super::fields::{Fault, S, decimal};
use engine::Time;

/// Form of a time column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Numbers in units of this many ns.
    Unit(Time),
    /// Dates such as `2026-01-15 10:30:45.123456`, with or without a zone.
    Date,
    /// Times of day such as `10:15:01.000001100`.
    Day,
}

const MINUTE: i128 = 60;
const HOUR: i128 = 3600;
const DAY: i128 = 86_400;
/// Range of epoch times in s, 2000 to 2100, in which no two units overlap. Windows counts 100 ns
/// ticks from 1601.
const EPOCH: std::ops::Range<i128> = 946_684_800..4_102_444_800;
const SINCE_1601: i128 = 11_644_473_600;

impl Form {
    /// The form of a time that is not a plain number, if recognised.
    pub(crate) fn of(text: &[u8]) -> Option<Form> {
        let is = |form: Form| form.ns(text, &[]).is_ok();
        [Form::Date, Form::Day].into_iter().find(|form| is(*form))
    }

    /// The unit of a number, if in that unit it is a time between 2000 and 2100.
    pub(crate) fn of_epoch(number: i128) -> Option<Form> {
        let within = |per_second: i128| EPOCH.contains(&(number / per_second));
        let unit = [1, 1_000, 1_000_000, 1_000_000_000].into_iter().find(|it| within(*it));
        let windows = EPOCH.contains(&(number / 10_000_000 - SINCE_1601)).then_some(100);
        unit.map(|per_second| (1_000_000_000 / per_second) as Time).or(windows).map(Form::Unit)
    }

    /// Time in ns, with the arithmetic applied.
    pub(crate) fn ns(self, text: &[u8], steps: &[Step]) -> Result<Time, Fault> {
        let ns = match self {
            Form::Unit(unit) if steps.is_empty() => match decimal(text, unit) {
                Err(Fault::Bad) => fixed(text).map(|number| number * i128::from(unit) / ONE),
                other => return other,
            },
            Form::Unit(unit) => {
                let number = fixed(text).ok_or(Fault::Bad)?;
                let number = after(number, steps).ok_or(Fault::TooLarge)?;
                number.checked_mul(i128::from(unit)).map(|ns| ns / ONE)
            }
            Form::Date => date(text),
            Form::Day => day(text),
        };
        match ns {
            None => Err(Fault::Bad),
            Some(ns) if ns < 0 => Err(Fault::Negative),
            Some(ns) => Time::try_from(ns).map_err(|_| Fault::TooLarge),
        }
    }
}

/// A number of at most two digits.
fn two(text: &str) -> Option<i128> {
    let fits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

/// Hours, minutes and seconds, in ns.
fn day(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (hour, rest) = text.split_once(':')?;
    let (minute, second) = rest.split_once(':').unwrap_or((rest, "0"));
    let (hour, minute) = (two(hour)?, two(minute)?);
    let second = Form::Unit(S).ns(second.as_bytes(), &[]).ok()?;
    let is_one = hour < 24 && minute < 60 && second < 61 * S;
    is_one.then(|| (hour * HOUR + minute * MINUTE) * ONE + i128::from(second))
}

/// A date and a time of day, in ns since 1970.
fn date(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let mut numbers = date.split(['-', '/']);
    let (year, month, of_month) = (numbers.next()?, two(numbers.next()?)?, two(numbers.next()?)?);
    let year: i128 = year.parse().ok().filter(|it| (1..10_000).contains(it))?;
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&of_month) {
        return None;
    }
    // Days since 1970 in the Gregorian calendar, with years beginning in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + of_month;
    let days = days - 719_469;
    let mut clock = rest.trim_start_matches(['T', 't', ' ']);
    let mut zone = 0;
    if let Some(plain) = clock.strip_suffix(['Z', 'z']).or_else(|| clock.strip_suffix(" UTC")) {
        clock = plain;
    } else if let Some(place) = clock.rfind(['+', '-']) {
        let (sign, digits) = clock[place..].split_at(1);
        let (hours, minutes) = match digits.split_once(':') {
            Some(pair) => pair,
            None if digits.len() == 4 => digits.split_at(2),
            None => (digits, "0"),
        };
        zone = (two(hours)? * HOUR + two(minutes)? * MINUTE) * if sign == "-" { -1 } else { 1 };
        clock = &clock[..place];
    }
    let time = if clock.trim().is_empty() { 0 } else { day(clock.as_bytes())? };
    Some((days * DAY - zone) * ONE + time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_of_day_are_exact() {
        let rows: [(&[u8], Form, Time); 9] = [
            (b"1970-01-01T00:00:00Z", Form::Date, 0),
            (b"2000-03-01 00:00:00", Form::Date, 951_868_800 * S),
            (b"2024-02-29T23:59:59.999999999Z", Form::Date, 1_709_251_199_999_999_999),
            (b"2026-01-15 10:30:45.123456", Form::Date, 1_768_473_045_123_456_000),
            (b"2026-01-15T10:30:45+02:00", Form::Date, 1_768_465_845 * S),
            (b"2026-01-15T10:30:45-0130", Form::Date, 1_768_478_445 * S),
            (b"2026-01-15", Form::Date, 1_768_435_200 * S),
            (b"10:15:01.000001100", Form::Day, 36_901_000_001_100),
            (b"1.5e3", Form::Unit(1), 1500),
        ];
        for (text, form, ns) in rows {
            assert_eq!(form.ns(text, &[]), Ok(ns), "{}", text.escape_ascii());
        }
        assert_eq!(
            (Form::of(b"10:15:01"), Form::of(b"2026-01-15")),
            (Some(Form::Day), Some(Form::Date))
        );
        for text in
            [&b"15:99:01"[..], b"2026-13-15", b"15", b"a:b", b"1969-01-01", b"", b"2026-01-15T"]
        {
            assert_eq!(
                Form::of(text).filter(|_| text != b"2026-01-15T"),
                None,
                "{}",
                text.escape_ascii()
            );
        }
    }

    #[test]
    fn the_size_of_an_instant_says_its_unit() {
        let now = 1_768_473_045_i128;
        for (number, ns) in [(now, S), (now * 1000, 1_000_000), (now * 1_000_000_000, 1)] {
            assert_eq!(Form::of_epoch(number), Some(Form::Unit(ns)));
        }
        assert_eq!(Form::of_epoch((now + SINCE_1601) * 10_000_000), Some(Form::Unit(100)));
        assert_eq!(Form::of_epoch(500), None);
    }
}
