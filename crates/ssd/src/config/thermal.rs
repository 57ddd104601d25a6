//! Temperature and throttling: the options under `device.thermal`.

use super::Celsius;
use options::{Duration, Values, choices, conditions, options, text_setting};
use std::fmt;
use std::str::FromStr;

choices! {
    /// Actions of a drive that is too hot.
    pub enum ThermalAction {
        /// Stop writes until it has cooled.
        Stop = "stop",
        /// Admit a share of the writes.
        Slow = "slow",
    }
}

conditions! {
    Thermal:
    HEATS = "with a limit (device.thermal.limit)", |c| c.limit.0.is_some();
    SLOWS = "with a limit (device.thermal.limit) and device.thermal.action = \"slow\"",
        |c| c.limit.0.is_some() && c.action == ThermalAction::Slow;
}

options! {
    /// Heat of a drive with known power (`device.energy`), and throttling.
    pub struct Thermal as ThermalPartial {
        /// Temperature above which writes are held or slowed.
        limit: HeatLimit = HeatLimit(None),
        /// Temperature at which writes resume.
        resume: Celsius where HEATS = Celsius::of_degrees(65),
        /// Kelvin above the ambient temperature for each watt. A guess.
        resistance: f64 where HEATS = 10.0,
        /// Time constant of the temperature. A guess.
        time_constant: Duration where HEATS = Duration::from_ns(60_000_000_000),
        /// Temperature around the drive.
        ambient: Celsius where HEATS = Celsius::of_degrees(25),
        /// Action above the limit.
        action: ThermalAction where HEATS = ThermalAction::Stop,
        /// Program speed above the limit, as a share of the full speed.
        floor: f64 as Ratio where SLOWS = 0.25,
    }
}

/// A temperature limit, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeatLimit(pub Option<Celsius>);

impl FromStr for HeatLimit {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(HeatLimit(None)),
            limit => limit.parse().map(|limit| HeatLimit(Some(limit))),
        }
    }
}

impl fmt::Display for HeatLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("none"),
            Some(limit) => limit.fmt(f),
        }
    }
}

text_setting!(
    HeatLimit: "\"none\", or a temperature with its unit, such as \"70C\"",
    Values::words_or(&["none"], Celsius::pattern())
);
