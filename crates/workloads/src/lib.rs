//! Everything that asks: synthetic generators and trace readers, each an [`engine::Workload`].
//!
//! A workload is chosen and configured by a [`WorkloadConfig`] and built for a device's capacity
//! and a seed; the same three always give the same requests. This crate opens no files (it is
//! handed readers), knows no devices, and leaves it to the caller to run what it builds.

mod block_events;
mod chance;
mod checks;
mod columns;
mod decompress;
mod distribution;
mod fields;
mod files;
mod footprint;
mod formats;
mod head;
mod in_flight;
mod kinds;
mod lines;
mod locality;
mod pattern;
mod permutation;
mod placement;
mod reading;
mod records;
mod reorder;
mod replay;
mod scsi;
mod selection;
mod siblings;
mod source;
mod spread;
mod streams;
mod time_scale;
mod timeline;
mod zipf;

pub use columns::Columns;
pub use decompress::decompress as decompressed;
pub use distribution::DistributionSpec;
pub use footprint::Footprint;
pub use formats::{Clock, FORMATS, Format, LineError, Losses, Record, Writer, format_named};
pub use kinds::*;
pub use locality::Locality;
pub use reading::{
    BlockEvent, Inputs, Limit, Opener, ReadOptions, Seekable, SeekableOpener, TimeUnit,
};
pub use records::Records;
pub use selection::{Combine, Devices};
