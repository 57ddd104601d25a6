//! The values that a key accepts, in a form that other programs can check: the schema of experiment
//! files is built from them.

/// A decimal fraction with an optional exponent, as in Rust.
pub const NUMBER: &str = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?";

/// Values of a key, as far as they can be checked singly. A parser may refuse more values, such as
/// too large ones, never fewer.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// True or false.
    Boolean,
    /// Whole numbers from the first to the second.
    Whole(u64, u64),
    /// Any number.
    Number,
    /// A number from 0 to 1, or that in percent.
    Share,
    /// A number above 0, up to 1, or that in percent.
    PositiveShare,
    /// A share as a number or in percent.
    Ratio,
    /// One of several words, each with its meaning.
    Words(Vec<(String, String)>),
    /// A text that this regular expression matches from its beginning to its end. It keeps to what
    /// ECMA 262, Python and Rust read alike.
    Pattern(String),
    /// Any text.
    Text,
    /// Any of several.
    Either(Vec<Values>),
    /// A list of such values.
    List(Box<Values>),
    /// A table of keys that has a reference of its own, by its name.
    Section(&'static str),
}

impl Values {
    /// A choice of words.
    pub fn words(words: &[(&str, &str)]) -> Self {
        let owned = |(word, meaning): &(&str, &str)| {
            let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
            ((*word).to_owned(), meaning)
        };
        Values::Words(words.iter().map(owned).collect())
    }

    /// A text that matches `pattern`, or one of some self-explanatory words.
    pub fn words_or(words: &[&str], pattern: impl Into<String>) -> Self {
        let words = words.iter().map(|word| ((*word).to_owned(), String::new())).collect();
        Values::Either(vec![Values::Words(words), Values::Pattern(pattern.into())])
    }
}
