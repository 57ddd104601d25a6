//! Conditions under which keys have an effect, declared with each key.
//!
//! The declarations feed the reference and the schema, the rejection of keys stated where they have
//! no effect, and the listing of a resolved configuration.

use crate::{Idle, KeyInfo, Setting};
use std::any::Any;
use std::fmt;

/// A condition on a key, made by [`conditions!`](crate::conditions). It tests the section of the
/// key or the whole device or workload, by type or by [facts](Setting::facts).
#[derive(Clone, Copy)]
pub struct When {
    /// The condition, completing "applies ..".
    pub words: &'static str,
    /// True if the condition holds; `None` if it does not concern this type.
    #[doc(hidden)]
    pub test: fn(&dyn Any) -> Option<bool>,
}

impl When {
    /// The condition in words, if the section does not meet it.
    #[doc(hidden)]
    pub fn fails(&self, own: &dyn Any, whole: &dyn Any) -> Option<&'static str> {
        let holds = (self.test)(own).or_else(|| (self.test)(whole));
        (holds == Some(false)).then_some(self.words)
    }
}

impl fmt::Debug for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words)
    }
}

/// Declares conditions on keys, written for options of one type: `conditions! { Options: NAME =
/// "with a buffer", |it| it.buffer; }`.
#[macro_export]
macro_rules! conditions {
    ($of:ty: $($(#[doc = $doc:literal])* $vis:vis $name:ident = $words:expr, $test:expr;)+) => {$(
        $(#[doc = $doc])*
        $vis const $name: $crate::When = $crate::When {
            words: $words,
            test: |it| {
                let test: fn(&$of) -> bool = $test;
                it.downcast_ref::<$of>().map(test)
            },
        };
    )+};
}

/// Full paths of keys that have no effect with the other values.
pub fn idle<T: Setting + Default + Clone + Any>(path: &str, whole: &T) -> Vec<Idle> {
    let of = |whole: &T| {
        let mut found = Vec::new();
        let facts = whole.facts();
        whole.idle(&T::default(), path, None, facts.as_deref().unwrap_or(whole), &mut found);
        found
    };
    let mut found = of(whole);
    // Includes keys whose condition depends on a key without effect.
    let settled = settled(whole.clone());
    if settled != *whole {
        let known: Vec<String> = found.iter().map(|it| it.path.clone()).collect();
        found.extend(of(&settled).into_iter().filter(|it| !known.contains(&it.path)));
    }
    found
}

/// The section with defaults for all keys that have no effect, as if they were not stated.
#[must_use]
pub fn settled<T: Setting + Default + Clone + Any>(mut whole: T) -> T {
    loop {
        // A key may lose its effect because another one did.
        let facts = whole.facts();
        let next = whole.clone().settle(T::default(), facts.as_deref().unwrap_or(&whole));
        // A NaN is unequal to itself and would loop forever; its key rejects it later.
        #[expect(clippy::eq_op, reason = "a NaN is what differs from itself")]
        if next == whole || next != next {
            return next;
        }
        whole = next;
    }
}

/// Adds the conditions to the described rows.
#[doc(hidden)]
pub fn describe_when(rows: &mut [KeyInfo], conditions: &[When]) {
    for row in rows {
        for when in conditions {
            row.applies(when.words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate as options;

    options::conditions! {
        All:
        BUFFERED = "with a buffer (all.buffer)", |all| all.buffer > 0;
    }
    options::conditions! {
        Inner:
        /// A condition on the section itself.
        TWO = "where mode is 2", |inner| inner.mode == 2;
    }

    options::options! {
        /// A section that does not always apply.
        pub struct Inner as InnerPartial {
            /// How.
            mode: u32 = 1,
            /// A key of mode 2.
            deep: u32 where TWO = 7,
            /// A share.
            part: f64 as Ratio where TWO = 0.5,
        }

        /// A whole.
        pub struct All as AllPartial {
            /// A buffer.
            buffer: u32 = 0,
            /// Inside.
            inner: Inner where BUFFERED = Inner::default(),
            /// Another key.
            other: u32 = 3,
        }
    }

    fn read(text: &str) -> All {
        All::complete(toml::from_str(text).unwrap(), All::default())
    }

    #[test]
    fn a_key_has_no_effect_where_its_row_or_that_of_its_section_says_so() {
        let paths = |text: &str| -> Vec<(String, bool)> {
            idle("all", &read(text)).into_iter().map(|it| (it.path, it.is_default)).collect()
        };
        let own = |path: &str, is_default| (format!("all.inner.{path}"), is_default);
        let none = [own("mode", true), own("deep", true), own("part", true)];
        assert_eq!(paths(""), none);
        assert_eq!(
            paths("inner.mode = 2\ninner.deep = 9"),
            [own("mode", false), own("deep", false), own("part", true)]
        );
        assert_eq!(paths("buffer = 1\ninner.deep = 9"), [own("deep", false), own("part", true)]);
        assert_eq!(paths("buffer = 1\ninner.mode = 2\ninner.deep = 9"), []);
        assert_eq!(idle("all", &read("buffer = 1"))[0].applies, "where mode is 2");
        assert_eq!(idle("all", &read(""))[1].applies, "with a buffer (all.buffer)");
    }

    #[test]
    fn what_has_no_effect_gets_its_default() {
        assert_eq!(settled(read("inner.mode = 2\ninner.deep = 9\nother = 5")), read("other = 5"));
        let in_force = read("buffer = 1\ninner.mode = 2\ninner.deep = 9");
        assert_eq!(settled(in_force.clone()), in_force);
        assert_eq!(settled(read("buffer = 1\ninner.deep = 9")), read("buffer = 1"));
    }

    #[test]
    fn the_reference_says_where_a_key_applies() {
        let mut rows = Vec::new();
        All::describe("all", "", &All::default(), &mut rows);
        assert_eq!(rows[0].doc, "A buffer.");
        assert_eq!(rows[1].doc, "How.\nApplies with a buffer (all.buffer).");
        let deep =
            "A key of mode 2.\nApplies where mode is 2.\nApplies with a buffer (all.buffer).";
        assert_eq!(rows[2].doc, deep);
    }
}
