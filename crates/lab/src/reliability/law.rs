//! Distributions of lifetimes, repairs and defects: three-parameter Weibull.

use engine::Random;

/// Hours of a day and of a year.
const DAY: f64 = 24.0;
pub(super) const YEAR: f64 = 365.0 * DAY;
/// Truncation of times in units of the cumulative hazard, at a probability of e^-40.
const LONGEST: f64 = 40.0;
const FORMS: &str = "\"exponential(1000000h)\", \"weibull(SCALE, SHAPE)\", \"constant(12h)\" or \
                     \"weibull(SCALE, SHAPE, LOCATION)\", with times in h, d or y";

/// A distribution of times in hours: `location + scale (-ln u)^(1 / shape)`. With shape 1 it is
/// exponential; with scale 0 it is constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Law {
    location: f64,
    scale: f64,
    shape: f64,
}

impl Law {
    /// Parses a text such as "weibull(461386h, 1.12)"; a plain time is the mean of an exponential
    /// distribution.
    pub(super) fn parse(option: &str, text: &str) -> Result<Law, String> {
        let refused = |problem: String| format!("{option} \"{text}\": {problem}; it takes {FORMS}");
        let (word, inside) = match text.split_once('(') {
            None => ("exponential", text),
            Some((word, rest)) => {
                let inside = rest.trim_end().strip_suffix(')');
                (word.trim(), inside.ok_or_else(|| refused("the last \")\" is missing".into()))?)
            }
        };
        let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
        let hours = |place: usize| hours(parts[place]).map_err(refused);
        let law = match (word, parts.len()) {
            ("exponential", 1) => Law { location: 0.0, scale: hours(0)?, shape: 1.0 },
            ("constant", 1) => Law { location: hours(0)?, scale: 0.0, shape: 1.0 },
            ("weibull", 2 | 3) => Law {
                location: if parts.len() == 3 { hours(2)? } else { 0.0 },
                scale: hours(0)?,
                shape: number(parts[1]).map_err(refused)?,
            },
            ("exponential" | "constant" | "weibull", count) => {
                return Err(refused(format!("{word} does not take {count} values")));
            }
            _ => return Err(refused(format!("there is no distribution \"{word}\""))),
        };
        if law.mean() <= 0.0 || !(0.1..=100.0).contains(&law.shape) {
            let problem = "times are above 0 and shapes from 0.1 to 100";
            return Err(refused(problem.to_owned()));
        }
        Ok(law)
    }

    /// True if the time is random, so that the hazard is defined at every age.
    pub(super) fn has_hazard(&self) -> bool {
        self.scale > 0.0
    }

    pub(super) fn mean(&self) -> f64 {
        self.location + self.scale * libm::tgamma(1.0 + 1.0 / self.shape)
    }

    /// An upper bound that is rarely exceeded.
    pub(super) fn most(&self) -> f64 {
        self.location + self.scale * libm::pow(LONGEST, 1.0 / self.shape)
    }

    pub(super) fn sample(&self, random: &mut impl Random) -> f64 {
        self.location + self.scale * libm::pow(-libm::log(1.0 - random.unit()), 1.0 / self.shape)
    }

    /// The hazard integrated up to this age.
    pub(super) fn hazard(&self, age: f64) -> f64 {
        libm::pow((age - self.location).max(0.0) / self.scale, self.shape)
    }

    /// Remaining time at this age, with the hazard multiplied by `faster`.
    pub(super) fn left(&self, age: f64, faster: f64, random: &mut impl Random) -> f64 {
        let hazard = self.hazard(age) - libm::log(1.0 - random.unit()) / faster;
        (self.location + self.scale * libm::pow(hazard, 1.0 / self.shape) - age).max(0.0)
    }
}

fn hours(text: &str) -> Result<f64, String> {
    let units = [('h', 1.0), ('d', DAY), ('y', YEAR)];
    let found = units.iter().find_map(|(unit, each)| Some((text.strip_suffix(*unit)?, each)));
    let (digits, each) = found.ok_or_else(|| format!("\"{text}\" has no unit"))?;
    Ok(number(digits.trim_end())? * each)
}

fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    if number.is_finite() && (0.0..=1e12).contains(&number) {
        return Ok(number);
    }
    Err(format!("{text} is not from 0 to 1e12"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Xoshiro256;

    #[test]
    fn samples_have_the_mean_of_the_law_at_every_age() {
        for text in ["1000h", "weibull(1000h, 1.12)", "weibull(168h, 3, 6h)", "constant(12h)"] {
            let law = Law::parse("--life", text).unwrap();
            let mut random = Xoshiro256::new(1, 2);
            let count = 200_000;
            let mean = (0..count).map(|_| law.sample(&mut random)).sum::<f64>() / f64::from(count);
            assert!((mean / law.mean() - 1.0).abs() < 0.01, "{text}: {mean}");
        }
        // An exponential time is memoryless; other distributions age.
        let mut random = Xoshiro256::new(1, 2);
        let mut left = |text: &str, faster: f64| {
            let law = Law::parse("--life", text).unwrap();
            (0..200_000).map(|_| law.left(500.0, faster, &mut random)).sum::<f64>() / 200_000.0
        };
        assert!((left("1000h", 1.0) / 1000.0 - 1.0).abs() < 0.01);
        assert!((left("1000h", 10.0) / 100.0 - 1.0).abs() < 0.01);
        assert!(left("weibull(1000h, 3)", 1.0) < 600.0);
    }

    #[test]
    fn wrong_laws_are_refused_with_the_reason() {
        for (text, problem) in [
            ("12", "has no unit"),
            ("weibull(12h)", "does not take 1 values"),
            ("normal(12h, 3h)", "no distribution \"normal\""),
            ("weibull(12h, x)", "\"x\" is not a number"),
            ("weibull(12h, 0)", "shapes from 0.1 to 100"),
            ("constant(0h)", "times are above 0"),
            ("weibull(12h, 2", "the last \")\" is missing"),
            ("-3h", "is not from 0"),
        ] {
            let said = Law::parse("--repair", text).unwrap_err();
            assert!(said.contains(problem) && said.starts_with("--repair"), "{said}");
        }
    }
}
