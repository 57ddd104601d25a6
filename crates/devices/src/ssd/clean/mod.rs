//! Cleaning policies: which block is cleaned next.
//!
//! A policy is one pure function from a read-only [`View`] of a domain to an [`Action`]. It changes
//! nothing and charges nothing: the FTL acts, the timing charges. Adding a policy is one file in
//! this folder and one row of the table in `config/cleaning.rs`; the config key, the listing and the
//! tests follow.

mod age;
mod custom;
mod few;
mod index;
#[cfg(test)]
mod pictures;
mod view;

pub use age::AgeOrder;
pub use custom::{Answer, Cleaner, Custom, DomainState, Supplied};
pub use index::VictimIndex;
pub use view::{Action, View};

use crate::ssd::config::{Policy, cleaners};
use engine::Xoshiro256;

/// Makes the module of each policy, and what calls it.
macro_rules! dispatch {
    ($($module:ident: $variant:ident = $word:literal, $summary:literal;)+) => {
        $(mod $module;)+

        impl Policy {
            /// The policy's decision for a domain. Greedy stands in for a policy from outside that
            /// has failed.
            #[inline]
            pub fn step(&self, view: &View<'_>, random: &mut Xoshiro256) -> Action {
                match self {
                    $(Policy::$variant => $module::step(view, random),)+
                    Policy::Named(_) => greedy::step(view, random),
                }
            }
        }
    };
}

cleaners!(dispatch);
