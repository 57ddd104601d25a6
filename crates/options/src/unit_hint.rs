//! Hints for messages about invalid units.

/// Message about an unknown unit, with a suggestion. `read` accepts the suggested text, which keeps
/// the written value; if two values are possible, it lists both. `per`, such as "/s", follows each
/// unit.
pub(crate) fn in_other_words(
    number: &str,
    unit: &str,
    per: &str,
    units: &[(&str, u128)],
    read: impl Fn(&str) -> bool,
) -> String {
    if unit.is_empty() {
        return "the unit is missing".to_owned();
    }
    if unit.starts_with([',', '_']) {
        return "a number has digits and a decimal point only".to_owned();
    }
    let (problem, meant) = meant(number, unit, units);
    let hints: Vec<String> =
        meant.into_iter().filter(|text| read(text)).map(|text| format!("{text}{per}")).collect();
    if hints.is_empty() { problem } else { format!("{problem}, write {}", hints.join(" or ")) }
}

/// Message, and guesses at the intended unit.
fn meant(number: &str, unit: &str, units: &[(&str, u128)]) -> (String, Vec<String>) {
    let is_unknown = || "the unit is unknown".to_owned();
    let has = |name: &str| units.iter().any(|(it, _)| *it == name);
    let micro = unit.replace(['\u{b5}', '\u{3bc}'], "u");
    if micro != unit && has(&micro) {
        return (is_unknown(), vec![format!("{number}{micro}")]);
    }
    // Data sheets of links and dies state bits.
    let bytes = unit.strip_suffix('b').map(|prefix| format!("{prefix}B"));
    if let Some(bytes) = bytes.filter(|bytes| has(bytes)) {
        let meant = [eighth(number), number.to_owned()].map(|number| format!("{number}{bytes}"));
        return (format!("{unit} may mean bits or bytes"), meant.into());
    }
    let letter = unit.to_ascii_uppercase();
    let (binary, decimal) = (format!("{letter}iB"), format!("{letter}B").replace("KB", "kB"));
    if letter.len() == 1 && has(&binary) {
        let meant = [decimal, binary].map(|unit| format!("{number}{unit}"));
        return (format!("{unit} may mean thousands or 1024s"), meant.into());
    }
    // Mega is not milli: "5MW" does not mean 5mW.
    let is_million = |name: &str| {
        unit.strip_prefix('M').is_some_and(|rest| name.strip_prefix('m') == Some(rest))
    };
    let is_alike = |name: &str| {
        (name.eq_ignore_ascii_case(unit) || name.eq_ignore_ascii_case(&format!("{unit}B")))
            && !is_million(name)
    };
    let alike = units.iter().find(|(name, _)| is_alike(name));
    (is_unknown(), alike.map(|(name, _)| format!("{number}{name}")).into_iter().collect())
}

/// One eighth of a decimal number, in digits: "0.75" for "6".
fn eighth(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // A number has at most 25 digits.
    let thousandths = format!("0{whole}{fraction}").parse::<u128>().unwrap_or_default() * 125;
    let places = fraction.len() + 3;
    let digits = format!("{thousandths:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{CAPACITANCE_NF, NANOSECONDS, SIZE_BYTES, Unit};
    use crate::{Bandwidth, Capacitance, Duration, Size};
    use std::fmt::Debug;
    use std::str::FromStr;

    /// Suggestions in the message about a text.
    fn hints<T: FromStr<Err = crate::QuantityError>>(text: &str) -> Vec<String> {
        let Err(error) = text.parse::<T>() else { return Vec::new() };
        let message = error.to_string();
        let Some((_, rest)) = message.split_once(", write ") else { return Vec::new() };
        let said = rest.split_once(" (units").map_or(rest, |(said, _)| said);
        said.split(" or ").map(str::to_owned).collect()
    }

    /// Common misspellings of a unit.
    fn mistaken(name: &str) -> Vec<String> {
        let (short, first) = (&name[..name.len() - 1], &name[..1]);
        vec![
            name.to_lowercase(),
            name.to_uppercase(),
            short.to_owned(),
            short.to_lowercase(),
            short.to_uppercase(),
            format!("{short}b"),
            format!(" {}", name.replace('u', "\u{3bc}")),
            format!("{}{}", first.to_uppercase(), &name[1..]),
        ]
    }

    /// A unit in lower case, without the i of binary prefixes and the B of bytes.
    fn plain(unit: &str) -> String {
        let unit = unit.trim().to_lowercase().replace('\u{3bc}', "u");
        unit.replace('i', "").trim_end_matches('b').to_owned()
    }

    fn check<T>(units: &[Unit], per: &str) -> usize
    where
        T: FromStr<Err = crate::QuantityError> + Debug + PartialEq,
    {
        let mut checked = 0;
        for unit in units.iter().flat_map(|(name, _)| mistaken(name)) {
            for (number, eighth) in [("6", "0.75"), ("1.5", "0.1875"), ("800", "100")] {
                for hint in hints::<T>(&format!("{number}{unit}{per}")) {
                    let read = hint.parse::<T>().unwrap_or_else(|error| panic!("{error}"));
                    let meant = hint.trim_start_matches(|c: char| !c.is_alphabetic());
                    let same = |number: &str| format!("{number}{meant}").parse::<T>().ok();
                    let in_bytes = unit.ends_with('b') && same(eighth).as_ref() == Some(&read);
                    assert!(in_bytes || same(number) == Some(read), "{number}{unit}: {hint}");
                    let meant = meant.strip_suffix(per).unwrap();
                    assert_eq!(plain(meant), plain(&unit), "{hint}");
                    let is_million = |it: &str| it.trim().starts_with('M');
                    let shouted = *unit == unit.to_uppercase() || *unit == unit.to_lowercase();
                    assert!(shouted || is_million(&unit) == is_million(meant), "{unit}: {hint}");
                    checked += 1;
                }
            }
        }
        checked
    }

    /// Suggestions are accepted and keep the number, whatever is wrong with the unit.
    #[test]
    fn hints_are_accepted_and_mean_the_same_number() {
        let checked = [
            check::<Duration>(&NANOSECONDS, ""),
            check::<Size>(SIZE_BYTES, ""),
            check::<Bandwidth>(SIZE_BYTES, "/s"),
            check::<Capacitance>(CAPACITANCE_NF, ""),
        ];
        let least = [10, 100, 100, 10];
        assert!(checked.iter().zip(least).all(|(it, least)| *it >= least), "{checked:?}");
        assert_eq!(["6", "0.8", "16"].map(eighth), ["0.75", "0.1", "2"]);
        assert_eq!(hints::<Capacitance>("5MF"), [""; 0]);
        assert_eq!(hints::<Size>("3b"), ["3B"]);
    }
}
