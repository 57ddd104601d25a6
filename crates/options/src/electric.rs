//! Volts, amperes, watts and joules: what a datasheet says of power.

use crate::Values;
use crate::quantity::{QuantityError, Unit, parse, pattern, show};
use std::fmt;
use std::str::FromStr;

/// Declares a quantity: what it is called, its units, the most that is believed, and how many of the
/// smallest unit make one of the name that the program reckons with.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
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
