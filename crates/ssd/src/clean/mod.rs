//! Garbage collection policies: the choice of the next block to clean.
//!
//! A policy is a pure function from a read-only [`View`] of a domain to an [`Action`]. It changes
//! no state and costs no time: the FTL acts, and the timing model charges. A new policy takes a
//! file in this folder and a row in `config/cleaning.rs`; config key, listing and tests follow. A
//! policy may pick any closed block, and may rest only if no block has a superseded page; the
//! conformance suite (`conformance.rs`) checks this. Its parameters are an `options!` section
//! beside the table, which the view passes on.
//!
//! [`Custom`] is a policy outside the table, such as a Python object, called once per victim. The
//! arrays of its view move into shared ownership for the call and back afterwards. So nothing is
//! copied, and arrays that the policy keeps do not change. The configuration has only its name; the
//! object is supplied when the drive is built ([`Supplied`]).
//!
//! Blocks are indexed by valid pages: sorted (`index.rs`), or searched if they are few and large
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

/// Declares each policy's module, and the dispatch.
macro_rules! dispatch {
    ($($module:ident: $variant:ident = $word:literal, $summary:literal;)+) => {
        $(mod $module;)+

        impl Policy {
            /// The policy's decision for a domain; greedy replaces a failed custom policy.
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
