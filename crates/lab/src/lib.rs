//! Puts a workload on a device: an [`Experiment`] (versioned TOML) in, results (versioned JSON) out.
//!
//! This is where configuration layers become one resolved experiment, where the next instant of
//! simulated time is chosen, and where statistics are collected. Wall-clock time never influences a
//! result; how long a run took is reported apart from it.

mod catalogue;
mod error;
mod experiment;
mod inputs;
mod keys;
mod layer;
mod live;
mod precondition;
mod presets;
mod requests;
mod results;
mod run;
mod snapshot;
mod steady;
mod table;
mod timeline;
mod trace;
mod untimed;
mod warnings;

pub use catalogue::{list, list_categories};
pub use error::{InputError, RunError};
pub use experiment::{Experiment, RunConfig, Until};
pub use inputs::read_decompressed;
pub use keys::{SectionKeys, keys, set_layer, set_layers};
pub use layer::{Layer, peers};
pub use live::{Live, LiveAddress, LiveSettings, LiveStatus, Ready};
pub use precondition::Precondition;
pub use presets::{preset_layer, unknown_preset};
pub use run::{Progress, RunSettings, run, run_with};
pub use table::{Column, to_parquet};
pub use trace::{
    TraceError, TraceProgress, Watch, trace_convert, trace_head, trace_info, trace_services,
};
