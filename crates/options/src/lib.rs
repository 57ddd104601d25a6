//! Quantities with units ("25us", "4KiB"), and the table from which every config section is made.
//!
//! A section is declared once, with [`options!`]: name, type, default and meaning of each key. From
//! that row come the resolved struct that the program uses, the partial struct that a file or an
//! override is read into, how layers of them are merged, and the reference of all keys. Devices and
//! workloads both declare sections, which is why this is a room of its own.

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
