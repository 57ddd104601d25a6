//! Runs a workload on a device: an [`Experiment`] (versioned TOML) in, results (versioned JSON)
//! out.
//!
//! Configuration layers become a resolved experiment, the experiment is run (by the loop of
//! `engine`), and its statistics become results. Wall-clock time never influences a result; the
//! duration of a run is reported separately.

#![expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
// Code used only by the live device is compiled even without it.
#![cfg_attr(not(all(feature = "live", target_os = "linux")), allow(dead_code))]

mod answers;
mod cache;
mod catalogue;
mod commands;
mod config;
mod endless;
mod energy;
mod error;
mod faults;
mod figures;
mod fits;
mod folder;
mod guessed;
mod inputs;
mod keep;
mod lifetime;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live;
mod namespaces;
mod operations;
mod overload;
mod own_load;
mod placed;
mod placement;
mod power;
mod precondition;
mod preparation;
mod quoting;
mod reach;
mod reliability;
mod replayed;
mod requests;
mod results;
mod sampled;
mod session;
mod snapshot;
mod steady;
mod stepped;
mod table;
mod threads;
mod trace;
mod untimed;
mod view;
mod warm_up;
mod warnings;
mod zones;

pub use cache::{
    CacheEntry, CacheSettings, cache_clear, cache_entries, cache_json, cache_make_room,
    take_notices,
};
pub use catalogue::{list, list_categories, operations, request_kinds};
pub use config::{
    Experiment, Layer, Precondition, RunConfig, SYNONYMS, SectionKeys, Synonym, Until, keys, peers,
    preset_layer, preset_text, schema, set_layer, set_layers, synonym, unknown_preset,
};
pub use devices::Supplied;
pub use engine::{Completion, Op, SECTOR_BYTES, Status, Time};
pub use error::{InputError, RunError};
pub use fits::no_memory;
pub use inputs::read_decompressed;
pub use keep::{Keeping, keep, media_forms, retention};
#[cfg(all(feature = "live", target_os = "linux"))]
pub use live::{
    Live, LiveAddress, LiveDoor, LiveNvme, LiveSettings, LiveStatus, LiveTarget, LiveTls, Ready,
};
#[cfg(all(feature = "live", target_os = "linux"))]
pub use nbd::Control as LiveControl;
pub use placement::{PlacementLoad, PlacementSettings, PlacementWatch};
pub use reliability::{FleetSettings, Reliability, ReliabilitySettings, fleet, reliability};
pub use results::SCHEMA;
pub use session::{Progress, RunSettings, run, run_with};
pub use stepped::{HostRequest, StepError, SteppedDrive};
pub use table::{Column, to_parquet};
pub use trace::{
    TraceError, TraceProgress, Watch, trace_convert, trace_head, trace_info, trace_response_times,
    trace_services,
};
pub use view::View;
pub use workloads::known_as;
