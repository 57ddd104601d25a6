//! Electrical values of a data sheet: volts, amperes, watts and joules.

use crate::quantity::{QuantityError, Unit, parse, pattern, show};
use crate::{Setting, Values};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// Declares a quantity: name, units, largest accepted value, and number of smallest units per base
/// unit.
macro_rules! quantities {
    ($(
        $(#[$doc:meta])*
        $Name:ident: $what:literal, $example:literal, $getter:ident, $per:literal, $most:literal, $units:ident;
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
        pub struct $Name(u64);

        impl $Name {
            #[doc = concat!("From the smallest unit in which it is written; 10^", stringify!($per), " of it are one of ", stringify!($getter), ".")]
            pub const fn from_smallest(amount: u64) -> Self {
                $Name(amount)
            }

            #[doc = concat!("The amount in ", stringify!($getter), ".")]
            pub fn $getter(self) -> f64 {
                self.0 as f64 / 10f64.powi($per)
            }
        }

        impl FromStr for $Name {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                let amount = parse(text, $units, $what)?;
                let most = $Name($most * 10u64.pow($per));
                match u64::try_from(amount).map($Name) {
                    Ok(amount) if amount <= most => Ok(amount),
                    _ => Err(QuantityError::new(format!("\"{text}\" is too much for {} (at most {most})", $what))),
                }
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                show(u128::from(self.0), $units, f)
            }
        }

        impl Electric for $Name {
            const EXPECTED: &'static str = concat!(
                $what, " with its unit, such as \"", $example, "\", or a number of ", stringify!($getter)
            );

            fn pattern() -> String {
                pattern($units)
            }

            fn of_plain(number: f64) -> Option<Self> {
                let amount = (number * 10f64.powi($per)).round();
                let most = f64::from($most) * 10f64.powi($per);
                (0.0..=most).contains(&amount).then_some($Name(amount as u64))
            }
        }

        crate::text_setting!($Name: concat!($what, " with its unit, such as \"", $example, "\""), Values::Pattern(pattern($units)));
        crate::optional!($Name);
    )*};
}

const VOLTS: &[Unit] = &[("uV", 1), ("mV", 1_000), ("V", 1_000_000)];
const AMPERES: &[Unit] = &[("nA", 1), ("uA", 1_000), ("mA", 1_000_000), ("A", 1_000_000_000)];
const WATTS: &[Unit] = &[("uW", 1), ("mW", 1_000), ("W", 1_000_000), ("kW", 1_000_000_000)];
const JOULES: &[Unit] =
    &[("pJ", 1), ("nJ", 1_000), ("uJ", 1_000_000), ("mJ", 1_000_000_000), ("J", 1_000_000_000_000)];

quantities! {
    /// A supply voltage: whole microvolts.
    Voltage: "a voltage", "3.3V", volts, 6, 1_000, VOLTS;
    /// An electric current: whole nanoamperes.
    Current: "a current", "25mA", amperes, 9, 1_000, AMPERES;
    /// Power: whole microwatts.
    Power: "a power", "0.9W", watts, 6, 1_000_000, WATTS;
    /// Energy: whole picojoules.
    Energy: "an energy", "16.5uJ", joules, 12, 1_000_000, JOULES;
}

/// A quantity whose unit is optional.
pub trait Electric:
    PartialEq + fmt::Debug + FromStr<Err = QuantityError> + fmt::Display + Copy + 'static
{
    /// Syntax of a value, for people.
    const EXPECTED: &'static str;

    /// Syntax of a value with its unit, as a regular expression.
    fn pattern() -> String;

    /// Value of a number without a unit, if valid.
    fn of_plain(number: f64) -> Option<Self>;
}

/// A quantity whose key used to be a plain number, which it still accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrPlain<T>(pub T);

impl<T: Electric> fmt::Display for OrPlain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<T: Electric> Serialize for OrPlain<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T: Electric> Deserialize<'de> for OrPlain<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrNumber(PhantomData))
    }
}

struct OrNumber<T>(PhantomData<T>);

impl<T: Electric> Visitor<'_> for OrNumber<T> {
    type Value = OrPlain<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<OrPlain<T>, E> {
        text.parse().map(OrPlain).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<OrPlain<T>, E> {
        let value = T::of_plain(number).map(OrPlain);
        value.ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<OrPlain<T>, E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<OrPlain<T>, E> {
        self.visit_f64(number as f64)
    }
}

impl<T: Electric> Setting for OrPlain<T> {
    crate::leaf_body!(
        T::EXPECTED,
        Values::Either(vec![Values::Pattern(T::pattern()), Values::Number]),
        |value: &Self| value.to_string()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_back_as_written() {
        for text in ["3.3V", "1.8V", "250mV", "0uV"] {
            assert_eq!(text.parse::<Voltage>().unwrap().to_string(), text);
        }
        assert!(("25mA".parse::<Current>().unwrap().amperes() / 0.025 - 1.0).abs() < 1e-12);
        assert_eq!("0.9W".parse::<Power>().unwrap().to_string(), "900mW");
        assert!(("1.3kW".parse::<Power>().unwrap().watts() / 1300.0 - 1.0).abs() < 1e-12);
        assert!(("16.5uJ".parse::<Energy>().unwrap().joules() / 16.5e-6 - 1.0).abs() < 1e-12);
        for amount in [0, 1, 999, 1_000, 82_500, 1_234_567, 61_000_000_001] {
            let current = Current::from_smallest(amount);
            assert_eq!(current.to_string().parse(), Ok(current));
        }
    }

    #[test]
    fn quantities_without_a_unit_are_still_read() {
        #[derive(serde::Deserialize)]
        struct Keys {
            voltage: OrPlain<Voltage>,
            watts: OrPlain<Power>,
        }
        let read = |text: &str| toml::from_str::<Keys>(text).map_err(|error| error.to_string());
        for text in ["voltage = 12\nwatts = 6.5", "voltage = '12V'\nwatts = '6500mW'"] {
            let keys = read(text).unwrap();
            assert_eq!((keys.voltage.0.volts(), keys.watts.0.watts()), (12.0, 6.5));
            assert_eq!(
                (keys.voltage.to_string(), keys.watts.to_string()),
                ("12V".to_owned(), "6.5W".to_owned())
            );
        }
        for text in
            ["voltage = -1", "voltage = 1e9", "voltage = nan", "voltage = '12'", "voltage = true"]
        {
            let refusal = read(&format!("{text}\nwatts = 6")).err().unwrap();
            assert!(refusal.contains("voltage"), "{refusal}");
        }
    }

    #[test]
    fn refusals_name_the_value_and_the_units() {
        let refused = |text: &str| text.parse::<Power>().unwrap_err().to_string();
        assert_eq!(
            refused("9 horses"),
            "\"9 horses\" is not a power: the unit is unknown (units: uW, mW, W, kW)"
        );
        assert!(refused("9").contains("the unit is missing"));
        assert!(refused("-9W").contains("must not be negative"));
        assert_eq!(refused("2000kW"), "\"2000kW\" is too much for a power (at most 1000kW)");
        assert!("2000V".parse::<Voltage>().unwrap_err().to_string().contains("at most 1000V"));
    }
}
