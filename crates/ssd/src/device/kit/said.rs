//! Orders of the host by placement handle: `1: pin, 2: unpin, 3: flush`.

use engine::Handle;
use options::{Setting, Values, leaf_body};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// An order by handle.
pub trait Saying: fmt::Debug + Copy + PartialEq + 'static {
    /// Accepted words.
    const EXPECTED: &'static str;
    /// Name of the orders in messages.
    const KIND: &'static str;
    /// All words.
    const ALL: &'static [(Self, &'static str)];
}

/// Orders by handle, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said<S>(Vec<(u8, S)>);

impl<S> Default for Said<S> {
    fn default() -> Self {
        Said(Vec::new())
    }
}

impl<S: Saying> Said<S> {
    /// True without hints.
    pub fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Order of a handle.
    pub fn of(&self, handle: Handle) -> Option<S> {
        let number = handle.number()?;
        self.0.iter().find(|(it, _)| *it == number).map(|(_, saying)| *saying)
    }

    /// The form of the text, for programs.
    pub fn pattern() -> String {
        let words: Vec<_> = S::ALL.iter().map(|(_, word)| *word).collect();
        let one = format!(r"\s*\d+\s*:\s*({})\s*", words.join("|"));
        format!("none|{one}(?:,{one})*")
    }
}

impl<S: Saying> fmt::Display for Said<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (place, (number, saying)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            let word = S::ALL.iter().find(|(it, _)| it == saying).map_or("", |(_, word)| word);
            write!(f, "{comma}{number}: {word}")?;
        }
        Ok(())
    }
}

impl<S: Saying> FromStr for Said<S> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Said::default());
        }
        let mut all: Vec<(u8, S)> = Vec::new();
        for words in text.split(',').map(str::trim) {
            let (number, word) = words
                .split_once(':')
                .ok_or_else(|| format!("\"{words}\" is not of the form \"1: {}\"", S::ALL[0].1))?;
            let number: u8 =
                number.trim().parse().ok().filter(|it| *it <= Handle::LARGEST).ok_or_else(
                    || format!("\"{}\" is no handle from 0 to {}", number.trim(), Handle::LARGEST),
                )?;
            let saying = S::ALL.iter().find(|(_, it)| *it == word.trim());
            let (saying, _) = saying.ok_or_else(|| {
                let words: Vec<_> = S::ALL.iter().map(|(_, word)| *word).collect();
                let (last, others) = words.split_last().expect("something can be said");
                let kind = S::KIND;
                format!(
                    "\"{}\" is no {kind}; expected {} or {last}",
                    word.trim(),
                    others.join(", ")
                )
            })?;
            if all.iter().any(|(it, _)| *it == number) {
                return Err(format!("handle {number} has two meanings"));
            }
            all.push((number, *saying));
        }
        Ok(Said(all))
    }
}

impl<S: Saying> Serialize for Said<S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, S: Saying> Deserialize<'de> for Said<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<S>(PhantomData<S>);
        impl<S: Saying> Visitor<'_> for Text<S> {
            type Value = Said<S>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(S::EXPECTED)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Said<S>, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text(PhantomData))
    }
}

impl<S: Saying> Setting for Said<S> {
    leaf_body!(S::EXPECTED, Values::Pattern(Self::pattern()), |value: &Self| value.to_string());
}
