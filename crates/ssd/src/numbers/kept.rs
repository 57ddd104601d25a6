//! Tables of page numbers in a saved drive: nonzero entries, each as its difference from its
//! predecessor plus one, so that consecutive pages compress well.

use super::{LARGEST, Numbers, STEP};
use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, SerializeTuple};
use serde::{Deserializer, Serialize, Serializer};
use std::fmt;

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_tuple(3)?;
        table.serialize_element(&self.is_wide())?;
        table.serialize_element(&self.len())?;
        table.serialize_element(&Steps(self))?;
        table.end()
    }
}

struct Steps<'a>(&'a Numbers);

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = self.0.steps().count();
        let mut steps = serializer.serialize_seq(Some(count))?;
        let mut next = 0;
        for from in self.0.steps() {
            let to = self.0.len().min(from + STEP as u64);
            let mut expected = 0;
            let differences: Vec<i64> = (from..to)
                .map(|at| {
                    let number = self.0.get(at).cast_signed();
                    number - std::mem::replace(&mut expected, number + 1)
                })
                .collect();
            steps.serialize_element(&(from - next, differences))?;
            next = from;
        }
        steps.end()
    }
}

/// Reads a table with a maximum length, and wide numbers only where they are allowed: a file cannot be
/// trusted, and the table takes its memory before its numbers are read.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The most numbers that there may be.
    pub longest: u64,
    /// True for numbers of up to 40 bits.
    pub wide: bool,
}

impl<'de> DeserializeSeed<'de> for Table {
    type Value = Numbers;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Numbers, D::Error> {
        deserializer.deserialize_tuple(3, self)
    }
}

impl<'de> Visitor<'de> for Table {
    type Value = Numbers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of page numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut table: A) -> Result<Numbers, A::Error> {
        let short = || A::Error::custom("a table of page numbers is cut short");
        let wide: bool = table.next_element()?.ok_or_else(short)?;
        let length: u64 = table.next_element()?.ok_or_else(short)?;
        if length > self.longest {
            let longest = self.longest;
            return Err(A::Error::custom(format!(
                "a table of {length} pages, of a drive that has {longest}"
            )));
        }
        if wide && !self.wide {
            return Err(A::Error::custom("page numbers of 40 bits, of a drive that needs 32"));
        }
        let mut numbers = Numbers::new(length, wide);
        table.next_element_seed(Fill(&mut numbers))?.ok_or_else(short)?;
        Ok(numbers)
    }
}

/// Reads the steps into a table.
struct Fill<'a>(&'a mut Numbers);

impl<'de> DeserializeSeed<'de> for Fill<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Fill<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("page numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut steps: A) -> Result<(), A::Error> {
        let largest = if self.0.is_wide() { LARGEST.cast_signed() } else { i64::from(u32::MAX) };
        let mut from = 0u64;
        while let Some((gap, differences)) = steps.next_element::<(u64, Vec<i64>)>()? {
            from = from.saturating_add(gap);
            if from.saturating_add(differences.len() as u64) > self.0.len() {
                return Err(A::Error::custom("page numbers go past the end of their table"));
            }
            let mut expected = 0i64;
            for (at, difference) in (from..).zip(differences) {
                let number = expected.saturating_add(difference);
                if !(0..=largest).contains(&number) {
                    return Err(A::Error::custom(format!("{number} is not the number of a page")));
                }
                if number != 0 {
                    self.0.set(at, number as u64);
                }
                expected = number + 1;
            }
        }
        Ok(())
    }
}
