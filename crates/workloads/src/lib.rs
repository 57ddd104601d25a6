//! Sources of requests: synthetic generators and trace readers, each an [`engine::Workload`].
//!
//! A workload is configured by a [`WorkloadConfig`] and built for a device's capacity and a seed;
//! equal inputs always give equal requests. This crate opens no files (the caller passes readers),
//! knows no devices, and does not run workloads.
//!
//! Traces pass through five layers, each independent of the later ones: `read/` has the parts of
//! formats, `formats/` a row per format, `records.rs` opens and reads a trace, `replay/` has the
//! keys and their effects, `kinds/` builds. One optional thread reads a trace ahead
//! (`records/ahead.rs`); no request depends on it. The layers exchange the records of `record.rs`,
//! which depends on none of them.

#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod chains;
mod chance;
mod checks;
mod closed_loop;
mod distribution;
mod error;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod extents;
mod file_program;
mod files;
mod footprint;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod formats;
mod generator;
mod in_flight;
mod kind;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod kinds;
mod locality;
mod pattern;
mod permutation;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod read;
mod record;
mod records;
mod replay;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod script;
mod sketch;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod streams;
mod time_scale;
mod units;
mod zipf;

pub use distribution::DistributionSpec;
pub use error::BuildError;
pub use footprint::Footprint;
pub use formats::{FORMATS, Format, Writer, format_named, known_as};
pub use kind::{Context, WorkloadKind};
pub use kinds::mix::stream_keys;
pub use kinds::*;
pub use locality::Locality;
pub use read::columns::Columns;
pub use read::decompress::decompress as decompressed;
pub use read::inputs::{Inputs, Opener, Seekable, SeekableOpener};
pub use read::stated::{BlockEvent, ReadOptions, TimeUnit};
pub use record::{Clock, LineError, Losses, Record};
pub use records::Records;
pub use replay::{Beyond, Combine, Devices, Limit};
pub use sketch::Sketch;
