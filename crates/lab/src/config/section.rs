//! A section of a layer: its content, and the positions of errors.

use super::keys;
use super::layer::Parsed;
use super::value::{self, Value};
use crate::error::InputError;
use options::Idle;
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

/// A section of a layer.
#[derive(Clone, Copy)]
pub(crate) struct Section<'p, 'a> {
    parsed: &'p Parsed<'a>,
    value: &'p Spanned<DeValue<'a>>,
}

impl<'p, 'a> Section<'p, 'a> {
    /// The layer's section with this name, if present.
    pub(crate) fn of(parsed: &'p Parsed<'a>, name: &str) -> Option<Self> {
        let value = parsed.root.get_ref().get(name)?;
        Some(Section { parsed, value })
    }

    /// A named inner section, if present.
    pub(crate) fn section(&self, name: &str) -> Result<Option<Section<'p, 'a>>, InputError> {
        let table = self.value.get_ref().as_table();
        let Some(value) = table.and_then(|table| table.get(name)) else { return Ok(None) };
        if value.get_ref().is_table() {
            return Ok(Some(Section { parsed: self.parsed, value }));
        }
        let layer = self.parsed.layer;
        let problem = format!("{name} = {}: {name} is a section of keys", layer.raw(value));
        Err(layer.error(Some(value.span()), &problem))
    }

    /// The tables of a named list, if present.
    pub(crate) fn tables(&self, name: &str) -> Result<Option<Vec<Section<'p, 'a>>>, InputError> {
        let table = self.value.get_ref().as_table();
        let Some(value) = table.and_then(|table| table.get(name)) else { return Ok(None) };
        let list = value.get_ref().as_array().map(|list| list.iter().collect::<Vec<_>>());
        let list = list.filter(|list| list.iter().all(|it| it.get_ref().is_table()));
        let one = |value| Section { parsed: self.parsed, value };
        if let Some(list) = list {
            return Ok(Some(list.into_iter().map(one).collect()));
        }
        let layer = self.parsed.layer;
        let problem = format!("{name} = {}: {name} is a list of tables", layer.raw(value));
        Err(layer.error(Some(value.span()), &problem))
    }

    /// The whole number of a key.
    pub(crate) fn number(&self, key: &str) -> Option<u32> {
        let value = self.value.get_ref().as_table()?.get(key)?;
        value.get_ref().as_integer()?.as_str().parse().ok()
    }

    /// The section with replaced keys.
    pub(crate) fn with<'q>(&self, value: &'q Spanned<DeValue<'a>>) -> Section<'q, 'a>
    where
        'p: 'q,
    {
        Section { parsed: self.parsed, value }
    }

    /// The text of a key that must be a string.
    pub(crate) fn word(&self, key: &str) -> Result<Option<String>, InputError> {
        let table = self.value.get_ref().as_table();
        let Some(value) = table.and_then(|table| table.get(key)) else { return Ok(None) };
        if let Some(text) = value.get_ref().as_str() {
            return Ok(Some(text.to_owned()));
        }
        let layer = self.parsed.layer;
        let problem = format!("{key} = {}: {key} is a name in quotes", layer.raw(value));
        Err(layer.error(Some(value.span()), &problem))
    }

    /// True if keys without effect are dropped.
    pub(crate) fn gives_way(&self) -> bool {
        self.parsed.layer.gives_way
    }

    /// Position of a key of this section, by its relative path, if stated.
    fn find(&self, path: &str) -> Option<&'p Spanned<DeValue<'a>>> {
        let step = |value: &'p Spanned<DeValue<'a>>, word| value.get_ref().as_table()?.get(word);
        path.split('.').try_fold(self.value, step)
    }

    /// True if the section states a key, by its relative path.
    pub(crate) fn states(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    /// The error for ineffective keys of this section, given by their relative paths; `name` is the
    /// section's name.
    pub(crate) fn refuse_idle(&self, name: &str, idle: &[&Idle]) -> InputError {
        let layer = self.parsed.layer;
        let (first, others) = idle.split_first().expect("there is one");
        let value = self.find(&first.path);
        let raw = value.map(|value| layer.raw(value)).unwrap_or_default();
        let others: Vec<_> = others.iter().map(|other| format!("{name}.{}", other.path)).collect();
        let others = match others.as_slice() {
            [] => String::new(),
            more => format!("; nor have {} an effect", more.join(", ")),
        };
        let problem = format!(
            "{name}.{} = {raw}: this has no effect here, the key applies {}{others}",
            first.path, first.applies
        );
        layer.error(value.map(Spanned::span), &problem)
    }

    /// The error for a key of this section, given by its relative path; `name` is the section's
    /// name.
    pub(crate) fn refuse(&self, key: &str, name: &str, problem: &str) -> InputError {
        let layer = self.parsed.layer;
        let value = self.find(key);
        let raw = value.map(|value| layer.raw(value)).unwrap_or_default();
        layer.error(value.map(Spanned::span), &format!("{name}.{key} = {raw}: {problem}"))
    }

    /// True if the section has a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.value.get_ref().as_table().is_some_and(|table| table.contains_key(key))
    }

    /// An error about a key of this section.
    pub(crate) fn error_at(&self, key: &str, problem: &str) -> InputError {
        let table = self.value.get_ref().as_table();
        let span = table.and_then(|table| table.get(key)).map(Spanned::span);
        self.parsed.layer.error(span, problem)
    }

    /// The section without the keys that choose its kind, ready for deserialisation.
    pub(crate) fn without(&self, words: &[&str]) -> Value<'a> {
        let mut value = self.value.clone();
        if let DeValue::Table(table) = value.get_mut() {
            for word in words {
                table.remove(*word);
            }
        }
        Value(value)
    }

    /// The error of deserialising this section, which is of the given kind, with position and key.
    pub(crate) fn blame(&self, error: &value::Error, section: &str, kind: &str) -> InputError {
        let layer = self.parsed.layer;
        let message = &error.message;
        let Some(span) = error.span.clone() else {
            return layer.error(None, &format!("{section}: {message}"));
        };
        let Some((path, value)) = path_at(self.value, section, &span) else {
            return layer.error(Some(span), &format!("{section}: {message}"));
        };
        // Serde lists all keys of the table; the nearest one is more useful.
        if let Some(rest) = message.strip_prefix("unknown field `") {
            let word = rest.split('`').next().unwrap_or_default();
            let parent = path.rsplit_once('.').map_or(section, |(parent, _)| parent);
            return layer.error(Some(span), &keys::unknown_key(parent, word, kind));
        }
        layer.error_of(span, (&path, value), "", &in_words(message))
    }
}

/// Serde's message with Rust types replaced by user terms.
fn in_words(message: &str) -> String {
    let words = [
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected f64", "expected a number"),
        ("expected a boolean", "expected true or false"),
        ("expected struct", "expected the section"),
    ];
    words.iter().fold(message.to_owned(), |text, (rust, plain)| text.replace(rust, plain))
}

/// The innermost key whose name or value covers a span, with its full path.
fn path_at<'v, 'a>(
    value: &'v Spanned<DeValue<'a>>,
    path: &str,
    span: &Range<usize>,
) -> Option<(String, &'v Spanned<DeValue<'a>>)> {
    let table = value.get_ref().as_table()?;
    table.iter().find_map(|(key, inner)| {
        let inner_path = format!("{path}.{}", key.get_ref());
        let covers = |outer: Range<usize>| outer.start <= span.start && span.end <= outer.end;
        path_at(inner, &inner_path, span)
            .or_else(|| (covers(key.span()) || covers(inner.span())).then_some((inner_path, inner)))
    })
}
