//! Quantities with units ("25us", "4KiB"), and the macro that declares config sections.
//!
//! A section is declared once, with [`options!`]: name, type, default and description of each key.
//! `where` states the condition under which the key has an effect (`when.rs`). The declaration
//! generates the resolved struct, the partial struct of a file or override, the merging of layers,
//! and the keys' reference and schema. It also rejects keys stated where they have no effect.
//! Devices and workloads both declare sections, so this is a crate of its own, which the engine
//! does not need.

#![cfg_attr(
    test,
    allow(unreachable_pub, reason = "types that a table makes are pub, those of tests too")
)]

mod electric;
mod flash;
mod link;
mod named;
mod quantity;
mod refusal;
mod section;
mod share;
mod unit_hint;
mod values;
mod when;

pub use electric::{Current, Electric, Energy, OrPlain, Power, Voltage};
pub use flash::{BusRate, MOST_PAGE_TYPES, Maybe, PageTimes};
pub use link::{LINKS, Link};
pub use named::{ANY_NAME, Named};
pub use quantity::{Bandwidth, Capacitance, Duration, PerByte, QuantityError, Size};
pub use refusal::{Idle, Invalid};
pub use section::{Choice, KeyInfo, Setting, nearest};
pub use share::{PERCENT, percent_meant, share};
pub use values::{NUMBER, Values};
pub use when::{When, idle, settled};

#[doc(hidden)]
pub use serde;
#[doc(hidden)]
pub use share::{describe_share, read_share};
#[doc(hidden)]
pub use when::describe_when;
