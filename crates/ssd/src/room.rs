//! Maximum sizes of a saved state, from the drive that restores it, because the sizes stated in a
//! file cannot be trusted.

use super::numbers::{Numbers, Table};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Bytes in which a number takes the most room in a file: seven bits each.
const LONGEST_NUMBER: u64 = 10;
/// Bytes for singular data of a drive.
const ONCE: u64 = 1 << 20;
/// Lists of a cache, and how many of them can be as long as the longest.
const MOST_LISTS: usize = 256;
const LISTS_AS_LONG: u64 = 10;

/// Limits of a state.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub(super) drives: usize,
    /// Caches and tiers, and the longest list of one.
    pub(super) caches: usize,
    pub(super) numbers: usize,
    pub(super) table: Table,
    /// Entries of the longest list.
    pub(super) list: usize,
}

impl Room {
    /// The limits for `drives` drives.
    pub fn times(self, drives: usize) -> Room {
        Room { drives: self.drives * drives, caches: self.caches * drives, ..self }
    }

    /// Capacity for a cache or tiers with that list length; without its devices.
    pub fn of_cache(numbers: usize) -> Room {
        let table = Table { longest: 0, wide: false };
        Room { drives: 0, caches: 1, numbers, table, list: 0 }
    }

    /// Limits of two devices together; their tables state whether they are wide.
    #[must_use]
    pub fn beside(self, other: Room) -> Room {
        let longest = self.table.longest.max(other.table.longest);
        Room {
            drives: self.drives + other.drives,
            caches: self.caches + other.caches,
            numbers: self.numbers.max(other.numbers),
            table: Table { longest, wide: self.table.wide || other.table.wide },
            list: self.list.max(other.list),
        }
    }

    /// Drives at any nesting depth.
    pub fn drives(&self) -> usize {
        self.drives
    }

    /// Caches and tiers at any nesting depth.
    pub fn caches(&self) -> usize {
        self.caches
    }

    /// Reader of the lists of caches.
    pub fn of_caches(self) -> impl for<'de> DeserializeSeed<'de, Value = Vec<Vec<Vec<u64>>>> {
        let lists = move || List { longest: self.numbers, each: || PhantomData };
        let cache = move || List { longest: MOST_LISTS, each: lists };
        List { longest: self.caches, each: cache }
    }

    /// Bytes that the state takes at most in its file, before that is compressed: three tables of pages, and of
    /// each block not much more than a dozen numbers.
    pub fn bytes(&self) -> u64 {
        let numbers = 3 * self.table.longest + 16 * self.list as u64;
        let of_caches = LISTS_AS_LONG * self.numbers as u64;
        self.drives as u64 * (numbers * LONGEST_NUMBER + ONCE)
            + self.caches as u64 * (of_caches * LONGEST_NUMBER + ONCE)
    }

    /// Reader of a table of page numbers.
    pub(super) fn table<T: From<Numbers>>(self) -> impl for<'de> DeserializeSeed<'de, Value = T> {
        As(self.table, PhantomData)
    }

    /// Reader of a list.
    pub(super) fn list<T: DeserializeOwned>(
        self,
    ) -> impl for<'de> DeserializeSeed<'de, Value = Vec<T>> {
        List { longest: self.list, each: || PhantomData }
    }

    /// Reader of other values, all small.
    #[expect(clippy::unused_self, reason = "called as the other two are, by name, in one macro")]
    pub(super) fn any<T: DeserializeOwned>(self) -> impl for<'de> DeserializeSeed<'de, Value = T> {
        PhantomData
    }
}

struct As<S, T>(S, PhantomData<T>);

impl<'de, S: DeserializeSeed<'de>, T: From<S::Value>> DeserializeSeed<'de> for As<S, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        self.0.deserialize(deserializer).map(T::from)
    }
}

/// Reads a list with a maximum length.
pub(super) struct List<E> {
    pub(super) longest: usize,
    pub(super) each: E,
}

impl<'de, S: DeserializeSeed<'de>, E: Fn() -> S> DeserializeSeed<'de> for List<E> {
    type Value = Vec<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, S: DeserializeSeed<'de>, E: Fn() -> S> Visitor<'de> for List<E> {
    type Value = Vec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element_seed((self.each)())? {
            if list.len() == self.longest {
                let longest = self.longest;
                return Err(A::Error::custom(format!("a list has more than {longest} entries")));
            }
            list.push(entry);
        }
        Ok(list)
    }
}

/// Reads a structure.
pub(super) struct Fields<T> {
    room: Room,
    of: PhantomData<T>,
}

impl Room {
    /// Reader of a structure that is a field of another.
    pub(super) fn fields<T: ReadWithin>(self) -> Fields<T> {
        Fields { room: self, of: PhantomData }
    }
}

impl<'de, T: ReadWithin> DeserializeSeed<'de> for Fields<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_tuple(T::FIELDS, self)
    }
}

impl<'de, T: ReadWithin> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the state of a drive")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::read(self.room, fields)
    }
}

/// A structure read field by field within limits.
pub(super) trait ReadWithin: Sized {
    /// Number of fields.
    const FIELDS: usize;

    /// Reads the fields in order.
    fn read<'de, A: SeqAccess<'de>>(room: Room, fields: A) -> Result<Self, A::Error>;
}

/// Declares the reading of each field: a `table`, a `list`, the `fields` of another such structure,
/// or `any`thing that is small.
macro_rules! read_within {
    ($name:ident { $($field:ident: $how:ident),* $(,)? }) => {
        impl $crate::room::ReadWithin for $name {
            const FIELDS: usize = [$(stringify!($field)),*].len();

            fn read<'de, A: serde::de::SeqAccess<'de>>(
                room: $crate::room::Room,
                mut fields: A,
            ) -> Result<Self, A::Error> {
                $(let $field = $crate::room::next(&mut fields, room.$how())?;)*
                Ok($name { $($field),* })
            }
        }
    };
}
pub(super) use read_within;

/// Reads the next value.
pub(super) fn next<'de, A: SeqAccess<'de>, S: DeserializeSeed<'de>>(
    fields: &mut A,
    seed: S,
) -> Result<S::Value, A::Error> {
    fields.next_element_seed(seed)?.ok_or_else(|| A::Error::custom("it is cut short"))
}
