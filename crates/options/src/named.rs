//! Sections of the same kind, each under a name chosen by the user.

use crate::{Idle, KeyInfo, Setting};
use serde::{Deserialize, Deserializer, Serialize};
use std::any::Any;
use std::collections::BTreeMap;

/// Placeholder for the name in the reference of keys: `workload.classes.*.rate`.
pub const ANY_NAME: &str = "*";

/// Sections ordered by name. Layers that name the same section refine it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Named<T>(pub BTreeMap<String, T>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named(BTreeMap::new())
    }
}

/// Keys of named sections in a layer.
#[derive(Debug, Clone)]
pub struct NamedPartial<P>(BTreeMap<String, P>);

impl<P> Default for NamedPartial<P> {
    fn default() -> Self {
        NamedPartial(BTreeMap::new())
    }
}

impl<'de, P: Deserialize<'de>> Deserialize<'de> for NamedPartial<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(NamedPartial)
    }
}

impl<T: Setting + Default> Setting for Named<T> {
    type Partial = NamedPartial<T::Partial>;

    fn overlay(under: &mut Self::Partial, over: Self::Partial) {
        for (name, over) in over.0 {
            T::overlay(under.0.entry(name).or_default(), over);
        }
    }

    fn complete(partial: Self::Partial, mut default: Self) -> Self {
        for (name, partial) in partial.0 {
            let below = default.0.remove(&name).unwrap_or_default();
            default.0.insert(name, T::complete(partial, below));
        }
        default
    }

    fn describe(path: &str, doc: &str, _default: &Self, rows: &mut Vec<KeyInfo>) {
        T::describe(&format!("{path}.{ANY_NAME}"), doc, &T::default(), rows);
    }

    fn idle(
        &self,
        _default: &Self,
        path: &str,
        applies: Option<&'static str>,
        whole: &dyn Any,
        found: &mut Vec<Idle>,
    ) {
        for (name, one) in &self.0 {
            one.idle(&T::default(), &format!("{path}.{name}"), applies, whole, found);
        }
    }

    fn settle(self, _default: Self, whole: &dyn Any) -> Self {
        let all = self.0.into_iter();
        Named(all.map(|(name, one)| (name, one.settle(T::default(), whole))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate as options;

    crate::options! {
        /// One section.
        pub struct One as OnePartial {
            /// A count.
            count: u32 = 3,
            /// Another.
            other: u32 = 4,
        }

        /// All.
        pub struct All as AllPartial {
            /// Sections by name.
            ones: Named<One> = Named::default(),
        }
    }

    #[test]
    fn layers_refine_what_they_name() {
        let layer = |text: &str| toml::from_str::<AllPartial>(text).unwrap();
        let mut merged = layer("[ones.b]\ncount = 7\n[ones.a]");
        All::overlay(&mut merged, layer("ones.b.other = 9\nones.c.count = 1"));
        let all = All::complete(merged, All::default());
        let found = all.ones.0.iter().map(|(name, one)| (name.as_str(), one.count, one.other));
        assert_eq!(found.collect::<Vec<_>>(), [("a", 3, 4), ("b", 7, 9), ("c", 1, 4)]);
        let written = layer(&toml::to_string(&all).unwrap());
        assert_eq!(All::complete(written, All::default()), all);
    }

    #[test]
    fn the_reference_and_refusals_know_the_keys_of_each() {
        let mut rows = Vec::new();
        All::describe("all", "", &All::default(), &mut rows);
        let paths: Vec<&str> = rows.iter().map(|row| row.path.as_str()).collect();
        assert_eq!(paths, ["all.ones.*.count", "all.ones.*.other"]);
        let error = toml::from_str::<AllPartial>("ones.b.cuont = 1").unwrap_err().to_string();
        assert!(error.contains("unknown field `cuont`, expected `count` or `other`"), "{error}");
    }
}
