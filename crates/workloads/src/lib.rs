//! Everything that asks: synthetic generators and trace readers, each an [`engine::Workload`].
//!
//! A workload is chosen and configured by a [`WorkloadConfig`] and built for a device's capacity
//! and a seed; the same three always give the same requests. This crate opens no files (it is
//! handed readers), knows no devices, and leaves it to the caller to run what it builds.

mod chance;
mod checks;
mod decompress;
mod distribution;
mod files;
mod footprint;
mod formats;
mod in_flight;
mod kinds;
mod locality;
mod pattern;
mod permutation;
mod placement;
mod records;
mod reorder;
mod streams;
mod time_scale;
mod zipf;

pub use distribution::DistributionSpec;
pub use footprint::Footprint;
pub use formats::{FORMATS, Format, LineError, Record, format_named};
pub use kinds::*;
pub use locality::Locality;
pub use records::Records;
