//! What every device has: the traits that the lab knows, the host link, the slots of requests, and what reports share.

mod array_report;
pub mod building;
mod cache_report;
mod device_kind;
mod disk_report;
pub mod energy;
#[macro_use]
pub mod kit;
pub mod latency;
mod looks;
mod model;
mod together;

pub use array_report::{ArrayReport, HoleReport, RebuildReport, StripeWrites};
pub use building::{Tick, Unbuilt};
pub use cache_report::{CachePower, CacheReport, HintsReport, Latencies, Means};
pub use device_kind::DeviceKind;
pub use disk_report::DiskReport;
pub use energy::EnergyReport;
pub use kit::arbitration::{QueueAccount, QueueClass};
pub use kit::memory::MOST_MEMORY;
pub use looks::{BlockLook, DriveLook, Looks, UNKNOWN_STREAM, UNREADABLE};
pub use model::{Cleans, Examine, Model, Persist, Prepare};
pub use together::{Job, Run, Writes};
