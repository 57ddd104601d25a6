//! Configuration of an experiment: layers of TOML become one [`Experiment`], which is data.
//!
//! A layer knows the positions of its keys (`layer.rs`, `section.rs`); the reference of the keys
//! (`keys.rs`) is built from the tables of options. This module runs nothing.

mod age;
mod cost;
mod depends;
mod experiment;
mod flash;
mod idle;
mod keys;
mod layer;
mod pace;
mod plain;
mod power_cut;
mod precondition;
mod presets;
mod run;
mod sample;
mod schema;
mod section;
mod set;
mod steady;
mod synonyms;
mod value;
mod whole;
mod window;

pub use experiment::Experiment;
pub use keys::{SectionKeys, keys};
pub use layer::{Layer, peers};
pub use power_cut::PowerCut;
pub use precondition::Precondition;
pub(crate) use presets::of as presets_of;
pub use presets::{preset_layer, preset_text, unknown_preset};
pub use run::{RunConfig, Until};
pub(crate) use sample::Sample;
pub use schema::schema;
pub use set::{set_layer, set_layers};
pub(crate) use steady::{Metric, Steady};
pub use synonyms::{SYNONYMS, Synonym, synonym};
