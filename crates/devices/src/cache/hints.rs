//! What the host says of lines with a request, by its placement handle: `1: pin, 2: unpin, 3: flush`.
//!
//! These are the commands of ATA's non-volatile cache: lines are added to the pinned set or removed from it, and what is
//! dirty is written back.

use engine::Handle;
use options::{Values, text_setting};
use std::fmt;
use std::str::FromStr;

/// What a request says of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Its lines never leave the cache from now on.
    Pin,
    /// They may leave again.
    Unpin,
    /// All dirty lines are written back.
    Flush,
}

impl Hint {
    const ALL: [(Hint, &str); 3] =
        [(Hint::Pin, "pin"), (Hint::Unpin, "unpin"), (Hint::Flush, "flush")];

    fn word(self) -> &'static str {
        Hint::ALL.into_iter().find(|(hint, _)| *hint == self).map_or("", |(_, word)| word)
    }
}

/// What handles mean, by number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hints(Vec<(u8, Hint)>);

text_setting!(
    Hints: "handles and what they say, such as \"1: pin, 2: unpin, 3: flush\"; or \"none\"",
    Values::Pattern(r"none|\s*\d+\s*:\s*(pin|unpin|flush)\s*(?:,\s*\d+\s*:\s*(pin|unpin|flush)\s*)*".to_owned())
);

impl Hints {
    /// Whether there are none.
    pub fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// What a handle says.
    pub fn of(&self, handle: Handle) -> Option<Hint> {
        let number = handle.number()?;
        self.0.iter().find(|(it, _)| *it == number).map(|(_, hint)| *hint)
    }
}

impl fmt::Display for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (place, (number, hint)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{number}: {}", hint.word())?;
        }
        Ok(())
    }
}

impl FromStr for Hints {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Hints::default());
        }
        let mut all: Vec<(u8, Hint)> = Vec::new();
        for words in text.split(',').map(str::trim) {
            let (number, word) = words
                .split_once(':')
                .ok_or_else(|| format!("\"{words}\" is not of the form \"1: pin\""))?;
            let number: u8 =
                number.trim().parse().ok().filter(|it| *it <= Handle::LARGEST).ok_or_else(
                    || format!("\"{}\" is no handle from 0 to {}", number.trim(), Handle::LARGEST),
                )?;
            let hint = Hint::ALL.into_iter().find(|(_, it)| *it == word.trim());
            let (hint, _) = hint.ok_or_else(|| {
                format!("\"{}\" is no hint; expected pin, unpin or flush", word.trim())
            })?;
            if all.iter().any(|(it, _)| *it == number) {
                return Err(format!("handle {number} has two meanings"));
            }
            all.push((number, hint));
        }
        Ok(Hints(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_read_as_they_are_written() {
        let text = "1: pin, 2: unpin, 7: flush";
        let hints: Hints = text.parse().unwrap();
        assert_eq!(hints.to_string(), text);
        assert_eq!(
            [1, 2, 7, 3].map(|it| hints.of(Handle::new(it))),
            [Some(Hint::Pin), Some(Hint::Unpin), Some(Hint::Flush), None]
        );
        assert_eq!(hints.of(Handle::NONE), None);
        assert_eq!("none".parse::<Hints>().unwrap().to_string(), "none");
        for (text, words) in [
            ("1 pin", "not of the form"),
            ("300: pin", "no handle from 0 to 254"),
            ("1: keep", "no hint"),
            ("1: pin, 1: flush", "two meanings"),
        ] {
            let error = text.parse::<Hints>().unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
