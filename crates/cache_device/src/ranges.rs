//! Ranges of addresses, as text: `0B-1GiB, 10GiB-11GiB`.

use engine::SECTOR_BYTES;
use options::{Size, Values, text_setting};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Disjoint address ranges in bytes, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranges(Vec<(Size, Size)>);

text_setting!(
    Ranges: "ranges of addresses such as \"0B-1GiB, 10GiB-11GiB\"; or \"none\"",
    Values::Pattern(Ranges::pattern())
);

impl Ranges {
    fn pattern() -> String {
        let one = format!(r"\s*{0}\s*-\s*{0}\s*", Size::pattern());
        format!("none|{one}(?:,{one})*")
    }

    /// End of the last range, bytes.
    pub fn end(&self) -> Option<u64> {
        self.0.last().map(|(_, end)| end.bytes())
    }

    /// Lines of `line` sectors that the ranges touch, each once.
    pub fn lines(&self, line: u64) -> Vec<Range<u64>> {
        let mut all: Vec<Range<u64>> = Vec::new();
        for (from, end) in &self.0 {
            let (from, end) = (from.bytes() / SECTOR_BYTES, end.bytes().div_ceil(SECTOR_BYTES));
            let own = from / line..end.div_ceil(line);
            match all.last_mut().filter(|last| last.end >= own.start) {
                Some(last) => *last = last.start..last.end.max(own.end),
                None => all.push(own),
            }
        }
        all
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (place, (from, end)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{from}-{end}")?;
        }
        Ok(())
    }
}

impl FromStr for Ranges {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Ranges::default());
        }
        let one = |words: &str| -> Result<(Size, Size), String> {
            let (from, end) = words
                .split_once('-')
                .ok_or_else(|| format!("\"{}\" is not of the form \"0B-1GiB\"", words.trim()))?;
            let size =
                |text: &str| text.trim().parse::<Size>().map_err(|problem| problem.to_string());
            let (from, end) = (size(from)?, size(end)?);
            if from >= end {
                return Err(format!("\"{}\" is empty: it must end after it begins", words.trim()));
            }
            Ok((from, end))
        };
        let mut all = text.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
        all.sort_unstable_by_key(|(from, _)| from.bytes());
        match all.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            Some(pair) => {
                Err(format!("{}-{} and {}-{} overlap", pair[0].0, pair[0].1, pair[1].0, pair[1].1))
            }
            None => Ok(Ranges(all)),
        }
    }
}
