//! Tests of sections.

use super::*;
use crate::{self as options, Duration};

choices! {
    /// How.
    pub enum Way {
        /// In order.
        Forward = "forward",
        /// Backward.
        Backward = "backward",
    }
}

options! {
    /// Inner.
    pub struct Inner as InnerPartial {
        /// A span.
        wait: Duration = Duration::from_ns(5),
        /// A maybe.
        limit: Option<u32> = None,
    }

    /// Outer.
    pub struct Outer as OuterPartial {
        /// A count.
        count: u32 = 3,
        /// A way.
        way: Way = Way::Forward,
        /// A section.
        inner: Inner = Inner::default(),
    }
}

fn layer(text: &str) -> OuterPartial {
    toml::from_str(text).unwrap()
}

#[test]
fn later_layers_win_and_defaults_fill() {
    let mut merged = layer("count = 7\n[inner]\nwait = '1us'");
    Outer::overlay(&mut merged, layer("way = 'backward'\n[inner]\nlimit = 2"));
    Outer::overlay(&mut merged, layer("count = 8"));
    let outer = Outer::complete(merged, Outer::default());
    assert_eq!(outer.count, 8);
    assert_eq!(outer.way, Way::Backward);
    assert_eq!(outer.inner, Inner { wait: Duration::from_ns(1000), limit: Some(2) });
}

#[test]
fn a_resolved_section_is_a_layer_that_changes_nothing() {
    let outer = Outer::complete(layer("count = 9\n[inner]\nlimit = 1"), Outer::default());
    let again = Outer::complete(layer(&toml::to_string(&outer).unwrap()), Outer::default());
    assert_eq!(outer, again);
}

#[test]
fn refusals_list_the_choices() {
    let error = toml::from_str::<OuterPartial>("cuont = 1").unwrap_err().to_string();
    assert!(error.contains("unknown field `cuont`, expected one of `count`, `way`"), "{error}");
    let error = toml::from_str::<OuterPartial>("way = 'bakward'").unwrap_err().to_string();
    assert!(error.contains("not one of forward, backward (did you mean \"backward\"?)"), "{error}");
    let error = toml::from_str::<OuterPartial>("inner.wait = 5").unwrap_err().to_string();
    assert!(error.contains("a time with its unit"), "{error}");
}

#[test]
fn the_reference_lists_every_key() {
    let mut rows = Vec::new();
    Outer::describe("o", "", &Outer::default(), &mut rows);
    let paths: Vec<&str> = rows.iter().map(|row| row.path.as_str()).collect();
    assert_eq!(paths, ["o.count", "o.way", "o.inner.wait", "o.inner.limit"]);
    assert_eq!(rows[1].expected, "forward | backward");
    assert_eq!(rows[2].default, "5ns");
    assert_eq!(rows[2].doc, "A span.");
    assert_eq!((&*rows[1].section, &*rows[2].section), ("Outer.", "Inner."));
    let words = [("forward", "In order."), ("backward", "Backward.")];
    assert_eq!(rows[1].values, Values::words(&words));
}
