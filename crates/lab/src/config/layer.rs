//! Layers of configuration: TOML texts from presets, files and the command line, lowest first.
//!
//! A layer remembers the position of each key, so even errors found after merging all layers name
//! the file, the line and the value.

use crate::error::InputError;
use options::{Invalid, nearest};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML text with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Beginning of error messages: a file name, `preset agrawal2008` or `--set device.channels=4`.
    /// For [peers] it has one line per line of the text.
    pub source: String,
    /// The text.
    pub text: String,
    /// True if it may name code to be loaded: allowed for the command line, not for files.
    pub code: bool,
    /// True if keys without effect are dropped, as for a preset, whose keys the user has not
    /// stated. In other layers a key without effect is an error.
    pub gives_way: bool,
}

/// Sections of an experiment, and other top-level keys.
const SECTIONS: [&str; 4] = ["device", "workload", "run", "cost"];
pub(super) const VERSION: &str = "version";
pub(super) const TITLE: &str = "title";

/// A valid TOML layer with known sections.
pub(crate) struct Parsed<'a> {
    pub(super) layer: &'a Layer,
    pub(super) root: Spanned<DeTable<'a>>,
}

/// Key path and value of the first whole number in a table that TOML cannot represent as a signed
/// 64-bit integer.
fn unwritable<'t, 'a>(
    table: &'t DeTable<'a>,
    above: &str,
) -> Option<(String, &'t Spanned<DeValue<'a>>)> {
    table.iter().find_map(|(key, value)| {
        let path = format!("{above}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Integer(it) => {
                i64::from_str_radix(it.as_str(), it.radix()).is_err().then_some((path, value))
            }
            DeValue::Table(below) => unwritable(below, &format!("{path}.")),
            _ => None,
        }
    })
}

impl Layer {
    /// A layer from its source and text, without permission for code.
    pub fn new(source: impl Into<String>, text: impl Into<String>) -> Self {
        Layer { source: source.into(), text: text.into(), code: false, gives_way: false }
    }

    /// `source:line`, or only the source if the text is a single line.
    fn place(&self, span: &Range<usize>) -> String {
        let text = &self.text;
        if !text.contains('\n') {
            return self.source.clone();
        }
        let line = text[..span.start.min(text.len())].matches('\n').count();
        let mut sources = self.source.split('\n');
        if sources.clone().count() == text.split('\n').count() {
            return sources.nth(line).unwrap_or_default().to_owned();
        }
        format!("{}:{}", self.source, line + 1)
    }

    /// The assignments of a layer whose text consists of lines `path = value`.
    fn assignments(&self) -> impl Iterator<Item = Assignment<'_>> {
        self.source.split('\n').zip(self.text.split('\n')).map(|(source, line)| {
            let (path, value) = line.split_once(" = ").unwrap_or((line, ""));
            Assignment { path, source, value, line }
        })
    }

    pub(super) fn error(&self, span: Option<Range<usize>>, problem: &str) -> InputError {
        let place = span.map_or_else(|| self.source.clone(), |span| self.place(&span));
        InputError(format!("{place}: {problem}"))
    }

    /// The error about the value of a key; `with` names other keys involved.
    pub(super) fn error_of(
        &self,
        span: Range<usize>,
        (key, value): (&str, &Spanned<DeValue<'_>>),
        with: &str,
        problem: &str,
    ) -> InputError {
        let place = self.place(&span);
        // An assignment on the command line already contains the key and its value.
        let own = place.strip_prefix("--set ").and_then(|it| it.split('=').next());
        if own.is_some_and(|it| it.trim() == key) {
            return InputError(format!("{place}{with}: {problem}"));
        }
        InputError(format!("{place}: {key} = {}{with}: {problem}", self.raw(value)))
    }

    pub(crate) fn parse(&self) -> Result<Parsed<'_>, InputError> {
        let root = DeTable::parse(&self.text)
            .map_err(|error| self.error(error.span(), error.message()))?;
        if let Some((path, value)) = unwritable(root.get_ref(), "") {
            let problem =
                format!("{path} = {}: a whole number is at most {}", self.raw(value), i64::MAX);
            return Err(self.error(Some(value.span()), &problem));
        }
        for (key, value) in root.get_ref() {
            let word = key.get_ref().as_ref();
            let problem = if word == VERSION {
                match value.get_ref().as_integer().map(toml::de::DeInteger::as_str) {
                    Some("1") => continue,
                    _ => format!("version = {}: this ssdlab reads version 1", self.raw(value)),
                }
            } else if word == TITLE {
                match value.get_ref().as_str() {
                    Some(_) => continue,
                    None => format!("title = {}: a title is text in quotes", self.raw(value)),
                }
            } else if !SECTIONS.contains(&word) {
                let hint = nearest(word, SECTIONS)
                    .map(|near| format!(" (did you mean {near}?)"))
                    .unwrap_or_default();
                let sections = SECTIONS.join(", ");
                format!("unknown section \"{word}\"; the sections are {sections}{hint}")
            } else if !value.get_ref().is_table() {
                format!("{word} = {}: {word} is a section of keys, not a value", self.raw(value))
            } else {
                continue;
            };
            return Err(self.error(Some(key.span()), &problem));
        }
        Ok(Parsed { layer: self, root })
    }

    /// The value as written, on one line and shortened.
    pub(super) fn raw(&self, value: &Spanned<DeValue<'_>>) -> String {
        let text = self.text.get(value.span()).unwrap_or("?").replace('\n', " ");
        if text.chars().count() <= 60 {
            return text;
        }
        text.chars().take(57).chain("...".chars()).collect()
    }
}

/// A line of a layer that consists of assignments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Assignment<'a> {
    path: &'a str,
    source: &'a str,
    value: &'a str,
    line: &'a str,
}

impl Assignment<'_> {
    fn value(&self) -> Option<toml::Table> {
        format!("value = {}", self.value).parse().ok()
    }
}

/// Merges assignments of equal rank into one layer; their order has no effect. Each input layer
/// comes from [`set_layer`](crate::set_layer) or `peers`.
///
/// # Errors
/// When two assignments give a key different values.
pub fn peers(layers: &[Layer]) -> Result<Layer, InputError> {
    let mut lines: Vec<_> = layers.iter().flat_map(Layer::assignments).collect();
    lines.sort_unstable();
    lines.dedup_by(|b, a| a.path == b.path && a.value() == b.value());
    for (place, one) in lines.iter().enumerate() {
        let below = format!("{}.", one.path);
        let same = |it: &&Assignment<'_>| it.path == one.path || it.path.starts_with(&below);
        if let Some(other) = lines[place + 1..].iter().find(same) {
            let (first, second) = (one.source, other.source);
            let path = other.path;
            return Err(InputError(format!(
                "{first} and {second}: {path} is set twice, and their order does not count; keep one"
            )));
        }
    }
    let joined =
        |part: fn(&Assignment<'_>) -> String| lines.iter().map(part).collect::<Vec<_>>().join("\n");
    Ok(Layer {
        source: joined(|it| it.source.to_owned()),
        text: joined(|it| it.line.to_owned()),
        code: layers.iter().all(|layer| layer.code),
        gives_way: false,
    })
}

impl<'a> Parsed<'a> {
    /// Title of the experiment in the layer.
    pub(crate) fn title(&self) -> Option<String> {
        self.root.get_ref().get(TITLE)?.get_ref().as_str().map(str::to_owned)
    }

    /// The permission for the name of code at a full key path, as an error if the layer may not
    /// name code; `None` if the layer does not state the key.
    pub(crate) fn permit_code(&self, path: &str) -> Option<Result<(), InputError>> {
        let value = self.find(path)?;
        if self.layer.code {
            return Some(Ok(()));
        }
        let problem = format!(
            "{path} = {}: this names Python code, which is run only where the command line or the \
             argument `set` names it; --allow-code permits what files name, if you \
             trust them",
            self.layer.raw(value)
        );
        Some(Err(self.layer.error(Some(value.span()), &problem)))
    }

    /// The text of a key if the layer states it, and true if the user stated it rather than a file.
    pub fn stated(&self, path: &str) -> Option<(String, bool)> {
        let value = self.find(path)?.get_ref();
        Some((value.as_str().unwrap_or_default().to_owned(), self.layer.code))
    }

    /// Value of a full key path, such as `device.timing.read`, in this layer.
    fn find(&self, path: &str) -> Option<&Spanned<DeValue<'a>>> {
        let mut words = path.split('.');
        let mut value = self.root.get_ref().get(words.next()?)?;
        for word in words {
            value = value.get_ref().as_table()?.get(word)?;
        }
        Some(value)
    }
}

/// The error for a contradiction between merged layers: blames the topmost layer that states one of
/// the keys, because the last statement is the most likely mistake.
pub(crate) fn blame(invalid: &Invalid, layers: &[Parsed<'_>]) -> InputError {
    let stated = layers.iter().rev().find_map(|parsed| {
        let mut keys = invalid.keys.iter();
        keys.find_map(|key| Some((key, parsed.layer, parsed.find(key)?)))
    });
    let keys = invalid.keys.join(", ");
    let Some((key, layer, value)) = stated else {
        return InputError(format!("{keys}: {}", invalid.problem));
    };
    let others: Vec<_> = invalid.keys.iter().filter(|other| *other != key).cloned().collect();
    let with =
        if others.is_empty() { String::new() } else { format!(" with {}", others.join(", ")) };
    layer.error_of(value.span(), (key, value), &with, &invalid.problem)
}
