//! Distributions as config values, such as "uniform(0, 1)" and "exponential(0, 8)".
//!
//! Every accepted distribution can be sampled in bounded time, and its text is preserved. Its unit
//! is the unit of the key, which also decides if negative values are valid.

use engine::Distribution;
use options::{NUMBER, Values};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// A distribution that can be written in a config file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistributionSpec(Distribution);

/// Maximum mean of a Poisson distribution: the time of a draw is proportional to the mean.
const POISSON_LIMIT: f64 = 1e6;

impl DistributionSpec {
    /// Form of a value.
    pub const EXPECTED: &'static str = "a distribution: \"constant(value)\", \
         \"uniform(low, high)\", \"exponential(base, mean)\", \"normal(mean, deviation)\" or \
         \"poisson(base, mean)\"";

    /// Uniform distribution from `low` to `high`.
    pub(crate) const fn uniform(low: f64, high: f64) -> Self {
        DistributionSpec(Distribution::Uniform { low, high })
    }

    /// `base` plus an exponential distribution with mean `mean`.
    pub(crate) const fn exponential(base: f64, mean: f64) -> Self {
        DistributionSpec(Distribution::Exponential { base, mean })
    }

    /// The distribution.
    pub fn distribution(&self) -> &Distribution {
        &self.0
    }

    /// Lower bound of the values; the mean for a normal distribution, which is unbounded.
    pub(crate) fn floor(&self) -> f64 {
        match self.0 {
            Distribution::Constant(value) => value,
            Distribution::Uniform { low, .. } => low,
            Distribution::Exponential { base, .. } | Distribution::Poisson { base, .. } => base,
            Distribution::Normal { mean, .. } => mean,
        }
    }
}

impl fmt::Display for DistributionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Distribution::Constant(value) => write!(f, "constant({value})"),
            Distribution::Uniform { low, high } => write!(f, "uniform({low}, {high})"),
            Distribution::Exponential { base, mean } => write!(f, "exponential({base}, {mean})"),
            Distribution::Normal { mean, deviation } => write!(f, "normal({mean}, {deviation})"),
            Distribution::Poisson { base, mean } => write!(f, "poisson({base}, {mean})"),
        }
    }
}

impl FromStr for DistributionSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let not = |why: &str| format!("\"{text}\" is not {}: {why}", Self::EXPECTED);
        let (name, rest) =
            text.trim().split_once('(').ok_or_else(|| not("there is no parenthesis"))?;
        let inner =
            rest.strip_suffix(')').ok_or_else(|| not("the closing parenthesis is missing"))?;
        let mut numbers = Vec::new();
        for part in inner.split(',') {
            match part.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => numbers.push(number),
                _ => return Err(not(&format!("\"{}\" is no finite number", part.trim()))),
            }
        }
        let distribution = match (name.trim(), &numbers[..]) {
            ("constant", &[value]) => Distribution::Constant(value),
            ("uniform", &[low, high]) if low > high => {
                return Err(not("low is above high"));
            }
            ("uniform", &[low, high]) => Distribution::Uniform { low, high },
            ("exponential" | "poisson", &[_, mean]) if mean < 0.0 => {
                return Err(not("the mean above the base is negative"));
            }
            ("poisson", &[_, mean]) if mean > POISSON_LIMIT => {
                return Err(not("a mean above a million takes too long to draw from"));
            }
            ("exponential", &[base, mean]) => Distribution::Exponential { base, mean },
            ("poisson", &[base, mean]) => Distribution::Poisson { base, mean },
            ("normal", &[_, deviation]) if deviation < 0.0 => {
                return Err(not("the deviation is negative"));
            }
            ("normal", &[mean, deviation]) => Distribution::Normal { mean, deviation },
            ("constant" | "uniform" | "exponential" | "normal" | "poisson", _) => {
                return Err(not(&format!("it has {} parameters", numbers.len())));
            }
            _ => return Err(not("the name is unknown")),
        };
        Ok(DistributionSpec(distribution))
    }
}

impl Serialize for DistributionSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DistributionSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = DistributionSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(DistributionSpec::EXPECTED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<DistributionSpec, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl DistributionSpec {
    fn values() -> Values {
        let number = format!(r"\s*{NUMBER}\s*");
        let two = "(?:uniform|exponential|normal|poisson)";
        Values::Pattern(format!(r"\s*(?:constant\s*\({number}\)|{two}\s*\({number},{number}\))\s*"))
    }
}

impl options::Setting for DistributionSpec {
    options::leaf_body!(Self::EXPECTED, Self::values(), |value: &Self| value.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written_back() {
        let rows = [
            "constant(1)",
            "uniform(0, 1)",
            "exponential(0, 8)",
            "normal(8, 2.5)",
            "poisson(0, 4)",
            "uniform(-1, 0.125)",
        ];
        for text in rows {
            assert_eq!(text.parse::<DistributionSpec>().unwrap().to_string(), text);
        }
        let spaced: DistributionSpec = " normal ( 8,2 ) ".parse().unwrap();
        assert_eq!(spaced.distribution(), &Distribution::Normal { mean: 8.0, deviation: 2.0 });
    }

    #[test]
    fn refusals_say_why_and_list_the_forms() {
        let rows = [
            ("5", "there is no parenthesis"),
            ("constant(5", "the closing parenthesis is missing"),
            ("constant()", "\"\" is no finite number"),
            ("constant(NaN)", "\"NaN\" is no finite number"),
            ("constant(inf)", "\"inf\" is no finite number"),
            ("constant(1, 2)", "it has 2 parameters"),
            ("pareto(1, 2)", "the name is unknown"),
            ("uniform(2, 1)", "low is above high"),
            ("exponential(0, -1)", "the mean above the base is negative"),
            ("poisson(0, -1)", "the mean above the base is negative"),
            ("poisson(0, 1e9)", "a mean above a million"),
            ("normal(0, -1)", "the deviation is negative"),
        ];
        for (text, why) in rows {
            let error = text.parse::<DistributionSpec>().unwrap_err();
            assert!(error.contains(why), "{error}");
            assert!(error.contains("uniform(low, high)"), "{error}");
        }
    }

    #[test]
    fn a_bare_number_is_refused_with_the_forms() {
        let error = serde_json::from_str::<DistributionSpec>("5").unwrap_err().to_string();
        assert!(error.contains("expected a distribution"), "{error}");
    }
}
