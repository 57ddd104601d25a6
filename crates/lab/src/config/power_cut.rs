//! Power cuts of a run: the key `run.power_cut`.

use options::{Duration, Values, text_setting};
use std::fmt;
use std::str::FromStr;

/// Times of power cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerCut {
    /// Never.
    None,
    /// Once, at this time.
    At(Duration),
    /// Repeatedly, at this interval after the drive is ready.
    Every(Duration),
    /// This many cuts, at times drawn from the whole run.
    Random(u32),
    /// This many cuts, after events drawn from the whole run.
    Events(u32),
}

/// Maximum number of drawn cuts.
const MOST: u32 = 1_000_000;

const EXPECTED: &str = "\"none\", \"at 1.5s\", \"every 100ms\", \"random:N\" or \"events:N\"";

text_setting!(
    PowerCut: EXPECTED,
    Values::words_or(
        &["none"],
        format!("(?:at|every) +{}|(?:random|events):[0-9]+", Duration::pattern())
    )
);

impl fmt::Display for PowerCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PowerCut::None => f.write_str("none"),
            PowerCut::At(at) => write!(f, "at {at}"),
            PowerCut::Every(every) => write!(f, "every {every}"),
            PowerCut::Random(count) => write!(f, "random:{count}"),
            PowerCut::Events(count) => write!(f, "events:{count}"),
        }
    }
}

impl FromStr for PowerCut {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(PowerCut::None);
        }
        let unknown = || format!("\"{text}\" is not {EXPECTED}");
        if let Some((word, count)) = text.split_once(':') {
            let make = match word {
                "random" => PowerCut::Random,
                "events" => PowerCut::Events,
                _ => return Err(unknown()),
            };
            let count: u32 = count.parse().map_err(|_| unknown())?;
            if !(1..=MOST).contains(&count) {
                return Err(format!("{count} cuts: expected 1 to {MOST}"));
            }
            return Ok(make(count));
        }
        let (word, time) = text.split_once(' ').ok_or_else(unknown)?;
        let time = || time.trim().parse::<Duration>().map_err(|error| error.to_string());
        match word {
            "at" => Ok(PowerCut::At(time()?)),
            "every" => match time()? {
                every if every.ns() == 0 => Err("the interval must be above 0".to_owned()),
                every => Ok(PowerCut::Every(every)),
            },
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PowerCut;

    #[test]
    fn settings_are_read_back_as_written() {
        for text in ["none", "at 1.5s", "every 100ms", "random:3", "events:20"] {
            assert_eq!(text.parse::<PowerCut>().unwrap().to_string(), text);
        }
        for text in ["", "1s", "at", "at 5", "every 0s", "random", "random:0", "events:-1", "often"]
        {
            assert!(text.parse::<PowerCut>().is_err(), "{text}");
        }
    }
}
