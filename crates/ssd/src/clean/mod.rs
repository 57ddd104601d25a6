//! Cleaning (garbage collection) policies: which block is cleaned next.
//!
//! A policy is a pure function from a read-only [`View`] of a domain to an [`Action`]. It changes nothing and
//! charges nothing: the FTL acts, the timing charges. Adding one takes a file in this folder and a row of the table
//! in `config/cleaning.rs`; config key, listing and tests follow. A policy may pick any closed block, and may pick
//! none only if no block has a superseded page; the conformance suite (`conformance.rs`) checks this. Its
//! parameters are an `options!` section beside the table, which the view passes on.
//!
//! [`Custom`] is a policy from outside the table, such as a Python object. It is asked once per victim. The arrays
//! of its view are moved into shared ownership for the call and back afterwards, so nothing is copied, and arrays
//! that the policy keeps do not change. The configuration has only its name; the object is handed in when the drive
//! is built ([`Supplied`]).
//!
//! Victims are indexed by valid pages: sorted (`index.rs`), or searched for few large blocks
//! (`few.rs`).

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

use crate::config::{Policy, cleaners};
use engine::Xoshiro256;

/// Declares the module of each policy, and its dispatch.
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
