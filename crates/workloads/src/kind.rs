//! The interface of a kind of workload: options that can be built into a workload for a device.
//!
//! The kinds themselves, and the table of them, are in `kinds/`.

use crate::error::BuildError;
use crate::read::inputs::Inputs;
use engine::Workload;
use options::Setting;
use serde::Serialize;

/// What a workload is built for.
pub struct Context {
    /// Sectors of 512 B that the device has.
    pub capacity_sectors: u64,
    /// Into how many volumes of equal size it is divided; 1 if it is one piece.
    pub volumes: u32,
    /// The seed of the run, from which every random draw derives.
    pub seed: u64,
    /// Opens inputs by the names that the configuration gives them, each time from their start.
    pub inputs: Inputs,
}

/// A kind of workload, implemented by its options.
pub trait WorkloadKind: Setting + Default + Serialize + Clone {
    /// What it does, in one line.
    const SUMMARY: &'static str;

    /// Builds the workload.
    ///
    /// # Errors
    /// When a key's value breaks a rule, or the input behind the workload cannot be read.
    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError>;
}
