//! Accepted values of keys in machine-readable form, from which the schema of experiment files is
//! built.

/// A decimal number with optional exponent, as in Rust.
pub const NUMBER: &str = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?";

/// Accepted values of a key, as far as each can be checked alone. The parser may reject more values
/// (such as too large ones), never fewer.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// True or false.
    Boolean,
    /// Whole numbers in a range, both ends included.
    Whole(u64, u64),
    /// Any number.
    Number,
    /// A number from 0 to 1, or a percentage.
    Share,
    /// A number above 0 and up to 1, or a percentage.
    PositiveShare,
    /// A share as a number or in percent.
    Ratio,
    /// One of several words, with their descriptions.
    Words(Vec<(String, String)>),
    /// A text that matches this regular expression completely. Its syntax is common to ECMA 262,
    /// Python and Rust.
    Pattern(String),
    /// Any text.
    Text,
    /// Any of several alternatives.
    Either(Vec<Values>),
    /// A list of these values.
    List(Box<Values>),
    /// A table of keys with a reference of its own, by its name.
    Section(&'static str),
}

impl Values {
    /// One of several words.
    pub fn words(words: &[(&str, &str)]) -> Self {
        let owned = |(word, meaning): &(&str, &str)| {
            let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
            ((*word).to_owned(), meaning)
        };
        Values::Words(words.iter().map(owned).collect())
    }

    /// A text that matches `pattern`, or one of the self-explanatory words.
    pub fn words_or(words: &[&str], pattern: impl Into<String>) -> Self {
        let words = words.iter().map(|word| ((*word).to_owned(), String::new())).collect();
        Values::Either(vec![Values::Words(words), Values::Pattern(pattern.into())])
    }
}
