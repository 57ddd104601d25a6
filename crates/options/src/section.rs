//! Config sections: declared once, read in layers, merged, resolved, documented.

use crate::{Idle, Values};
use serde::de::DeserializeOwned;
use std::any::Any;
use std::fmt;
use std::str::FromStr;

/// A config value: a single value, or a section of keys.
///
/// Each layer (preset, file, command line) yields a [`Partial`](Setting::Partial). Overlaid and
/// completed with defaults they yield the setting.
pub trait Setting: Sized + PartialEq {
    /// Keys of the section in one layer; may be empty.
    type Partial: Default + DeserializeOwned + Clone + fmt::Debug;

    /// Overlays `under` with `over`, which takes precedence.
    fn overlay(under: &mut Self::Partial, over: Self::Partial);

    /// Fills keys missing in all layers from `default`.
    fn complete(partial: Self::Partial, default: Self) -> Self;

    /// Appends a row for this key, or for each key of this section, to the reference.
    fn describe(path: &str, doc: &str, default: &Self, rows: &mut Vec<KeyInfo>);

    /// Appends this key, or this section's keys, if they have no effect in `whole`. With `applies`
    /// a condition outside already rules out all of them; otherwise each row's condition decides.
    fn idle(
        &self,
        _default: &Self,
        _path: &str,
        _applies: Option<&'static str>,
        _whole: &dyn Any,
        _found: &mut Vec<Idle>,
    ) {
    }

    /// This section, with defaults for keys that have no effect in `whole`.
    #[must_use]
    fn settle(self, _default: Self, _whole: &dyn Any) -> Self {
        self
    }

    /// Facts that conditions test, if not the section itself.
    fn facts(&self) -> Option<Box<dyn Any>> {
        None
    }
}

/// A row of the key reference: description of a key for documentation, listings, messages and the
/// schema.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyInfo {
    /// Full path, such as `device.timing.read`.
    pub path: String,
    /// Description of the key.
    pub doc: String,
    /// Syntax of a value, for people.
    pub expected: String,
    /// Accepted values, for programs.
    pub values: Values,
    /// Default in TOML syntax; empty without a default.
    pub default: String,
    /// Description of the key's table.
    pub section: String,
}

impl KeyInfo {
    /// Replaces the accepted values.
    pub(crate) fn takes(&mut self, values: Values, expected: &str) {
        self.values = values;
        expected.clone_into(&mut self.expected);
    }

    /// Adds a condition, in words.
    pub(crate) fn applies(&mut self, when: &str) {
        self.doc = format!("{}\nApplies {when}.", self.doc);
    }
}

/// An enumeration whose values are words, made by [`choices!`](crate::choices).
pub trait Choice: FromStr<Err = String> + fmt::Display + 'static {
    /// All words, with their descriptions.
    const WORDS: &'static [(&'static str, &'static str)];
}

/// Minimum share of a word's letters that a typo must match.
const LEAST_RIGHT: f64 = 0.6;

/// The word that `typo` probably means, if one is near: a completion, or a misspelling by a few
/// letters. A common beginning alone does not count.
pub fn nearest<'a>(typo: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    words
        .into_iter()
        .map(|word| (strsim::jaro_winkler(typo, word), word))
        .filter(|(score, _)| *score > 0.75)
        .filter(|(_, word)| {
            word.starts_with(typo)
                || strsim::normalized_damerau_levenshtein(typo, word) >= LEAST_RIGHT
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

/// Implements [`Setting`] for a plain value.
#[doc(hidden)]
#[macro_export]
macro_rules! leaf_body {
    ($expected:expr, $values:expr, $show:expr) => {
        type Partial = Option<Self>;
        fn overlay(under: &mut Self::Partial, over: Self::Partial) {
            if over.is_some() {
                *under = over;
            }
        }
        fn complete(partial: Self::Partial, default: Self) -> Self {
            partial.unwrap_or(default)
        }
        fn describe(path: &str, doc: &str, default: &Self, rows: &mut Vec<$crate::KeyInfo>) {
            rows.push($crate::KeyInfo {
                path: path.to_owned(),
                doc: doc.trim().to_owned(),
                expected: ($expected).to_string(),
                values: $values,
                default: ($show)(default),
                section: String::new(),
            });
        }
        $crate::idle_leaf!();
    };
}

/// Checks that a plain value has no effect.
#[doc(hidden)]
#[macro_export]
macro_rules! idle_leaf {
    () => {
        fn idle(
            &self,
            default: &Self,
            path: &str,
            applies: Option<&'static str>,
            _whole: &dyn ::std::any::Any,
            found: &mut Vec<$crate::Idle>,
        ) {
            let is_default = PartialEq::eq(self, default);
            found.extend(applies.map(|applies| $crate::Idle {
                path: path.to_owned(),
                applies,
                is_default,
            }));
        }
    };
}

/// Implements [`Setting`] for a type written as text: it needs mutually inverse `FromStr` and
/// `Display`. Other TOML types are rejected with `$expected`; `$values` describes the accepted
/// texts ([`Values`](crate::Values)).
#[macro_export]
macro_rules! text_setting {
    ($name:ty: $expected:expr, $values:expr) => {
        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                struct Visitor;
                impl $crate::serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: $crate::serde::de::Error>(
                        self,
                        text: &str,
                    ) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl $crate::Setting for $name {
            $crate::leaf_body!($expected, $values, |value: &Self| value.to_string());
        }
    };
}

/// Implements Serde and [`Setting`] for a type that is a word or a number.
#[macro_export]
macro_rules! word_or_number {
    ($name:ident, $expected:literal, $values:expr, $words:expr, $number:expr, $write:expr) => {
        impl $crate::Setting for $name {
            $crate::leaf_body!($expected, $values, |value: &Self| value.to_string());
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                ($write)(*self, serializer)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                struct Visitor;
                impl $crate::serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: $crate::serde::de::Error>(
                        self,
                        text: &str,
                    ) -> Result<$name, E> {
                        ($words)(text).ok_or_else(|| {
                            E::invalid_value($crate::serde::de::Unexpected::Str(text), &self)
                        })
                    }
                    fn visit_f64<E: $crate::serde::de::Error>(
                        self,
                        number: f64,
                    ) -> Result<$name, E> {
                        ($number)(number).ok_or_else(|| {
                            E::invalid_value($crate::serde::de::Unexpected::Float(number), &self)
                        })
                    }
                    fn visit_u64<E: $crate::serde::de::Error>(
                        self,
                        number: u64,
                    ) -> Result<$name, E> {
                        ($number)(number as f64).ok_or_else(|| {
                            E::invalid_value($crate::serde::de::Unexpected::Unsigned(number), &self)
                        })
                    }
                    fn visit_i64<E: $crate::serde::de::Error>(
                        self,
                        number: i64,
                    ) -> Result<$name, E> {
                        ($number)(number as f64).ok_or_else(|| {
                            E::invalid_value($crate::serde::de::Unexpected::Signed(number), &self)
                        })
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }
    };
}

/// Implements [`Setting`] for an optional value: a key that may be omitted.
#[macro_export]
macro_rules! optional {
    ($type:ty) => {
        impl $crate::Setting for Option<$type> {
            type Partial = Option<$type>;
            fn overlay(under: &mut Self::Partial, over: Self::Partial) {
                <$type as $crate::Setting>::overlay(under, over);
            }
            fn complete(partial: Self::Partial, default: Self) -> Self {
                partial.or(default)
            }
            fn describe(path: &str, doc: &str, default: &Self, rows: &mut Vec<$crate::KeyInfo>) {
                <$type as $crate::Setting>::describe(path, doc, &<$type>::default(), rows);
                let row = rows.last_mut().expect("a value has a row");
                row.default = default.as_ref().map(ToString::to_string).unwrap_or_default();
            }
            $crate::idle_leaf!();
        }
    };
}
macro_rules! leaves {
    ($($type:ty: $expected:expr, $values:expr);* $(;)?) => {$(
        impl Setting for $type {
            leaf_body!($expected, $values, |value: &Self| value.to_string());
        }
        optional!($type);
    )*};
}

leaves! {
    bool: "true or false", Values::Boolean;
    u32: "a whole number", Values::Whole(0, u64::from(u32::MAX));
    // The largest integer of TOML.
    u64: "a whole number", Values::Whole(0, i64::MAX.cast_unsigned());
    f64: "a number", Values::Number;
    String: "text", Values::Text;
}

/// Declares a config section: a table of keys with type, default and meaning.
///
/// `pub struct Timing as TimingPartial { /// doc \n read: Duration = Duration::from_ns(25_000), }`
/// makes the resolved `Timing` (with `Default` and `Serialize`) and the layer `TimingPartial` (with
/// `Deserialize` that refuses unknown keys). A key may itself be a section. A number that is a part of
/// something says so, `spare: f64 as Ratio = 0.1`, and is read in percent too; and one that does not
/// always apply says where it does, `limit: u32 where SUSPENDS = 8`, with a [`When`](crate::When). A whole of
/// which the conditions of its sections need not know the type says what they ask, `with Facts`, which is `From` it.
#[macro_export]
macro_rules! options {
    ($(
        $(#[doc = $section_doc:literal])+
        pub struct $name:ident $(<$device:ident: $bound:path>)? as $partial:ident $(with $facts:ident)? {
            $( $(#[doc = $doc:literal])+ $key:ident : $type:ty $(as $share:ident)? $(where $when:ident)? = $default:expr, )*
        }
    )+) => {$(
        $(#[doc = $section_doc])+
        #[derive(Debug, Clone, PartialEq, $crate::serde::Serialize)]
        #[serde(crate = "options::serde")]
        pub struct $name $(<$device: $bound>)? {
            $(
                $(#[doc = $doc])+
                pub $key: $type,
            )*
        }

        impl $(<$device: $bound>)? Default for $name $(<$device>)? {
            fn default() -> Self {
                $name { $( $key: $default, )* }
            }
        }

        #[doc = concat!("One layer of [`", stringify!($name), "`]: what a file or an override says.")]
        #[derive(Debug, Clone, Default, $crate::serde::Deserialize)]
        #[serde(crate = "options::serde", deny_unknown_fields, default, bound = "")]
        pub struct $partial $(<$device: $bound>)? {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $(
                    #[doc = concat!("A ", stringify!($share), ".")]
                    #[serde(deserialize_with = "options::read_share")]
                )?
                pub $key: <$type as $crate::Setting>::Partial,
            )*
        }

        impl $(<$device: $bound>)? $crate::Setting for $name $(<$device>)? {
            type Partial = $partial $(<$device>)?;
            fn overlay(under: &mut Self::Partial, over: Self::Partial) {
                $( <$type as $crate::Setting>::overlay(&mut under.$key, over.$key); )*
            }
            fn complete(partial: Self::Partial, default: Self) -> Self {
                $name { $( $key: <$type as $crate::Setting>::complete(partial.$key, default.$key), )* }
            }
            fn describe(
                path: &str,
                _doc: &str,
                default: &Self,
                rows: &mut Vec<$crate::KeyInfo>,
            ) {
                let first = rows.len();
                $(
                    let doc = concat!($($doc, "\n"),+);
                    let key = format!("{path}.{}", stringify!($key).trim_start_matches("r#"));
                    let row = rows.len();
                    <$type as $crate::Setting>::describe(&key, doc, &default.$key, rows);
                    $( $crate::describe_share(rows, $crate::Values::$share); )?
                    $crate::describe_when(&mut rows[row..], &[$( $when )?]);
                )*
                for row in rows[first..].iter_mut().filter(|row| row.section.is_empty()) {
                    row.section = concat!($($section_doc, "\n"),+).trim().to_owned();
                }
            }
            fn idle(
                &self,
                default: &Self,
                path: &str,
                applies: Option<&'static str>,
                whole: &dyn ::std::any::Any,
                found: &mut Vec<$crate::Idle>,
            ) {
                $(
                    let why = [applies, $( $when.fails(self, whole) )?];
                    let why = why.into_iter().flatten().next();
                    let dot = if path.is_empty() { "" } else { "." };
                    let key = format!("{path}{dot}{}", stringify!($key).trim_start_matches("r#"));
                    $crate::Setting::idle(&self.$key, &default.$key, &key, why, whole, found);
                )*
            }
            fn settle(self, default: Self, whole: &dyn ::std::any::Any) -> Self {
                $(
                    let fails: &[Option<&str>] = &[$( $when.fails(&self, whole) )?];
                    let $key = fails.iter().all(Option::is_none);
                )*
                $name {
                    $(
                        $key: if $key {
                            $crate::Setting::settle(self.$key, default.$key, whole)
                        } else {
                            default.$key
                        },
                    )*
                }
            }
            $(
                fn facts(&self) -> Option<Box<dyn ::std::any::Any>> {
                    Some(Box::new($facts::from(self)))
                }
            )?
        }
    )+};
}

/// Declares an enumeration whose config values are words.
///
/// `pub enum Order { /// doc \n Fifo = "fifo", }` makes the enum, its parsing with an error that lists
/// the words, and its place in a config section.
#[macro_export]
macro_rules! choices {
    ($(
        $(#[doc = $enum_doc:literal])+
        pub enum $name:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal, )+
        }
    )+) => {$(
        $(#[doc = $enum_doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl $crate::Choice for $name {
            const WORDS: &'static [(&'static str, &'static str)] =
                &[$( ($word, concat!($($doc),+)) ),+];
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(match self { $( $name::$variant => $word, )+ })
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $( $word => Ok($name::$variant), )+
                    _ => {
                        let words = [$($word),+];
                        let hint = $crate::nearest(text, words)
                            .map(|word| format!(" (did you mean \"{word}\"?)"))
                            .unwrap_or_default();
                        Err(format!("\"{text}\" is not one of {}{hint}", words.join(", ")))
                    }
                }
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as $crate::serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err($crate::serde::de::Error::custom)
            }
        }

        impl $crate::Setting for $name {
            $crate::leaf_body!(
                [$($word),+].join(" | "),
                $crate::Values::words(<$name as $crate::Choice>::WORDS),
                |value: &Self| value.to_string()
            );
        }
    )+};
}

#[cfg(test)]
#[path = "section_tests.rs"]
mod tests;
