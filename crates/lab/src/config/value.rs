//! Deserialises a parsed TOML value.
//!
//! `toml`'s own deserialiser of values also handles dates and position-aware types, for every
//! deserialised type. That would be half of this crate's machine code, and sections need neither.

use std::fmt::{self, Display};
use std::ops::Range;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

/// A deserializer of a value.
pub(crate) struct Value<'de>(pub(crate) Spanned<DeValue<'de>>);

/// An error with its position in the text.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) message: String,
    pub(crate) span: Option<Range<usize>>,
}

impl Error {
    /// Error at a position, unless it has a more precise one.
    #[cold]
    fn at(mut self, span: Range<usize>) -> Self {
        self.span.get_or_insert(span);
        self
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), span: None }
    }
}

/// A value to pass to a visitor. It is not generic, because the compiler duplicates generic code
/// for about a hundred types.
enum Shown<'de> {
    Borrowed(&'de str),
    Owned(String),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Boolean(bool),
    Items(Items<'de>),
    Entries(Entries<'de>),
}

impl<'de> Shown<'de> {
    #[inline(never)]
    fn new(value: DeValue<'de>) -> Result<Self, Error> {
        Ok(match value {
            DeValue::String(DeString::Borrowed(text)) => Self::Borrowed(text),
            DeValue::String(DeString::Owned(text)) => Self::Owned(text),
            DeValue::Integer(number) => whole(number.as_str(), number.radix())?,
            DeValue::Float(number) => {
                Self::Float(number.as_str().parse().map_err(de::Error::custom)?)
            }
            DeValue::Boolean(is_true) => Self::Boolean(is_true),
            DeValue::Datetime(date) => Self::Owned(date.to_string()),
            DeValue::Array(array) => Self::Items(Items(array.into_iter())),
            DeValue::Table(table) => Self::Entries(Entries::new(table)),
        })
    }

    fn to<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Borrowed(text) => visitor.visit_borrowed_str(text),
            Self::Owned(text) => visitor.visit_string(text),
            Self::Signed(number) => visitor.visit_i64(number),
            Self::Unsigned(number) => visitor.visit_u64(number),
            Self::Float(number) => visitor.visit_f64(number),
            Self::Boolean(is_true) => visitor.visit_bool(is_true),
            Self::Items(items) => visitor.visit_seq(items),
            Self::Entries(entries) => visitor.visit_map(entries),
        }
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let span = self.0.span();
        Shown::new(self.0.into_inner())
            .and_then(|shown| shown.to(visitor))
            .map_err(|error| error.at(span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let span = self.0.span();
        visitor.visit_some(self).map_err(|error| error.at(span))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let span = self.0.span();
        visitor.visit_newtype_struct(self).map_err(|error| error.at(span))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let span = self.0.span();
        let shown = match self.0.into_inner() {
            DeValue::String(word) => visitor.visit_enum(word.into_deserializer()),
            DeValue::Table(table) => {
                visitor.visit_enum(MapAccessDeserializer::new(Entries::new(table)))
            }
            other => Shown::new(other).and_then(|shown| shown.to(visitor)),
        };
        shown.map_err(|error| error.at(span))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// An integer from its digits.
fn whole<'de>(digits: &str, radix: u32) -> Result<Shown<'de>, Error> {
    let signed = i64::from_str_radix(digits, radix).map(Shown::Signed);
    signed.or_else(|_| u64::from_str_radix(digits, radix).map(Shown::Unsigned)).map_err(|_| {
        de::Error::custom(format_args!("{digits} is beyond all whole numbers that a key takes"))
    })
}

struct Items<'de>(<DeArray<'de> as IntoIterator>::IntoIter);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|item| seed.deserialize(Value(item))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Entries<'de> {
    rest: <DeTable<'de> as IntoIterator>::IntoIter,
    value: Option<Spanned<DeValue<'de>>>,
}

impl<'de> Entries<'de> {
    fn new(table: DeTable<'de>) -> Self {
        Self { rest: table.into_iter(), value: None }
    }

    fn next_key(&mut self) -> Option<(Range<usize>, DeString<'de>)> {
        let (key, value) = self.rest.next()?;
        let span = key.span();
        self.value = Some(value);
        Some((span, key.into_inner()))
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((span, key)) = self.next_key() else { return Ok(None) };
        let key: de::value::CowStrDeserializer<'_, Error> = key.into_deserializer();
        seed.deserialize(key).map(Some).map_err(|error| error.at(span))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Value(self.value.take().expect("a key comes before its value")))
    }
}
