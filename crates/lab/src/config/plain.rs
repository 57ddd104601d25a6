//! Numbers in common notations, for assignments: `28%`, `100k`, `1e5`, `1_000_000`. Ambiguous ones
//! are refused, such as a size of `4K` or a percentage for a count.

use super::keys::{all_keys, in_reference, of_device};
use options::{KeyInfo, Values};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Entries by key; a key common to several kinds has one entry per kind.
static KEYS: LazyLock<BTreeMap<&str, Vec<&KeyInfo>>> = LazyLock::new(|| {
    let mut known: BTreeMap<&str, Vec<&KeyInfo>> = BTreeMap::new();
    for key in all_keys().iter().flat_map(|section| &section.keys) {
        known.entry(&key.path).or_default().push(key);
    }
    known
});

/// Factors of suffixes after a count.
const TIMES: [(&str, u128); 8] = [
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("", 1),
];

/// Converts a number in common notation to TOML; `None` if it is not such a number, or the key
/// takes no number.
///
/// # Errors
/// When the number is ambiguous or not whole.
pub(super) fn number(path: &str, text: &str) -> Result<Option<String>, String> {
    let reference = in_reference(&of_device(path));
    let Some(known) = KEYS.get(reference.as_str()) else { return Ok(None) };
    let takes = |wanted: fn(&Values) -> bool| known.iter().any(|key| any(&key.values, wanted));
    let whole = takes(|it| matches!(it, Values::Whole(..)));
    let real = takes(|it| matches!(it, Values::Number) || is_part(it));
    let Some(written) = Written::of(text).filter(|_| whole || real) else { return Ok(None) };
    if written.suffix == "%" {
        if !takes(is_part) {
            return Err(format!("{text} is a share, and {path} is none: write a number"));
        }
        return Ok(Some(written.times(1, -2)));
    }
    // A letter after a size belongs to its unit, and parsing the size reports errors.
    if !written.suffix.is_empty() && takes(|it| matches!(it, Values::Pattern(_))) {
        return Ok(None);
    }
    let Some((_, times)) = TIMES.iter().find(|(letter, _)| *letter == written.suffix) else {
        return Ok(None);
    };
    Ok(match written.whole(*times) {
        Some(number) if whole => Some(number.to_string()),
        _ if real => Some(written.times(*times, 0)),
        _ => None,
    })
}

fn any(values: &Values, wanted: fn(&Values) -> bool) -> bool {
    match values {
        Values::Either(several) => several.iter().any(|it| any(it, wanted)),
        one => wanted(one),
    }
}

/// True for a share, which may be given in percent.
fn is_part(values: &Values) -> bool {
    matches!(values, Values::Share | Values::PositiveShare | Values::Ratio)
}

/// A decimal number with its suffix.
struct Written<'a> {
    negative: bool,
    digits: u128,
    /// Power of ten that multiplies the digits.
    exponent: i32,
    suffix: &'a str,
}

impl Written<'_> {
    fn of(text: &str) -> Option<Written<'_>> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit() && !"._".contains(c));
        let (number, mut suffix) = rest.split_at(end.unwrap_or(rest.len()));
        let is_grouped = !number.ends_with('_') && !number.contains("__");
        let number = number.replace('_', "");
        let (before, after) = number.split_once('.').unwrap_or((&number, ""));
        let digits = format!("{before}{after}").parse().ok().filter(|_| is_grouped)?;
        let mut exponent = -i32::try_from(after.len()).ok()?;
        if let Some(power) = suffix.strip_prefix(['e', 'E']) {
            let end = power
                .char_indices()
                .find(|(at, c)| !(c.is_ascii_digit() || *at == 0 && "+-".contains(*c)))
                .map_or(power.len(), |(at, _)| at);
            exponent = exponent.checked_add(power[..end].parse::<i16>().ok()?.into())?;
            suffix = &power[end..];
        }
        Some(Written { negative, digits, exponent, suffix: suffix.trim() })
    }

    /// The number times a factor, if the product is whole.
    fn whole(&self, times: u128) -> Option<i128> {
        let number = self.digits.checked_mul(times)?;
        let power = 10u128.checked_pow(self.exponent.unsigned_abs())?;
        let number = if self.exponent < 0 {
            number.is_multiple_of(power).then(|| number / power)?
        } else {
            number.checked_mul(power)?
        };
        let number = i128::try_from(number).ok()?;
        Some(if self.negative { -number } else { number })
    }

    /// The number times a factor and a power of ten, in TOML notation.
    fn times(&self, times: u128, power: i32) -> String {
        let sign = if self.negative { "-" } else { "" };
        let text = format!("{sign}{}e{}", self.digits.saturating_mul(times), self.exponent + power);
        text.parse::<f64>().map_or(text, |number| format!("{number:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::set::set_layer;

    /// Each kind of value, in common notation and in TOML.
    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (assignment, value) in [
            ("workload.requests=100k", "100000"),
            ("workload.requests=1.5M", "1500000"),
            ("workload.requests=1e5", "100000"),
            ("workload.requests=2.5e3", "2500"),
            ("workload.requests=1_000_000", "1000000"),
            ("workload.requests=64Ki", "65536"),
            ("classes.logs.depth=1k", "1000"),
            ("member.channels=0.01k", "10"),
            ("device.members=0.01k", "10"),
            ("workload.rate=100k", "100000.0"),
            ("workload.rate=1e5", "1e5"),
            ("read_share=28%", "0.28"),
            ("device.fill=70 %", "0.7"),
            ("over_provisioning=28%", "0.28"),
            ("workload.footprint=12.5%", "0.125"),
            ("wear.spread=10%", "0.1"),
            ("device.page_size=4KiB", "\"4KiB\""),
            ("cleaning.policy=greedy", "\"greedy\""),
            ("workload.locality=zipf(0.9)", "\"zipf(0.9)\""),
        ] {
            let layer = set_layer(assignment).unwrap();
            assert_eq!(layer.text.split_once(" = ").unwrap().1, value, "{assignment}");
        }
        let refused = |text: &str| set_layer(text).unwrap_err().to_string();
        assert!(
            refused("workload.requests=28%").ends_with("workload.requests is none: write a number")
        );
        assert!(refused("workload.rate=5%").contains("5% is a share"));
        // The key itself refuses a value that is not a number.
        for text in ["workload.requests=1.5", "workload.requests=10q", "workload.requests=1__0k"] {
            assert!(set_layer(text).is_ok(), "{text}");
        }
    }
}
