//! Quantities with units ("25us", "4KiB"), and the table from which every config section is made.
//!
//! A section is declared once, with [`options!`]: name, type, default and meaning of each key, and with `where` the
//! condition under which it has an effect (`when.rs`). From a row follow the resolved struct that the program uses,
//! the partial struct of a file or an override, the merging of layers, the reference and schema of the keys, and
//! the refusal of a key that is stated where it has no effect. Devices and workloads both declare sections, so this
//! is a crate of its own, which the engine does not need.

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
