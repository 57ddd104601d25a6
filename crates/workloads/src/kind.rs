//! The interface of a kind of workload: options that can be built into a workload for a device.
//!
//! The kinds themselves, and the table of them, are in `kinds/`.

use crate::error::BuildError;
use crate::read::inputs::Inputs;
use crate::streams::derived;
use engine::{Workload, ZoneShape};
use options::Setting;
use serde::Serialize;

/// Context in which a workload is built.
pub struct Context {
    /// Sectors of 512 B that the device has.
    pub capacity_sectors: u64,
    /// Device bytes per simulated byte; 1 if it is simulated whole.
    pub scale: u32,
    /// Number of volumes of equal size; 1 if it is one piece.
    pub volumes: u32,
    /// Zones of a zoned device.
    pub zones: Option<ZoneShape>,
    /// The seed of the run, from which every random draw derives.
    pub seed: u64,
    /// 0 for the run itself; from 1 on the repetitions of the workload that precondition a drive.
    /// Hot data keep their places, and requests are redrawn.
    pub pass: u64,
    /// Opens inputs by the names that the configuration gives them, each time from their start.
    pub inputs: Inputs,
}

impl Context {
    /// Seed for drawing requests; [`seed`](Context::seed) places the hot blocks.
    pub(crate) fn draws(&self) -> u64 {
        // Parts of a workload are numbered below.
        derived(self.seed, self.pass << 32)
    }
}

/// A kind of workload, implemented by its options.
pub trait WorkloadKind: Setting + Default + Serialize + Clone {
    /// Summary in one line.
    const SUMMARY: &'static str;

    /// True if each of its writes covers one page of `page_sectors`, and every page of the device is
    /// equally likely: overwriting pages at random gives the same state.
    fn writes_uniformly(&self, _capacity_sectors: u64, _page_sectors: u64) -> bool {
        false
    }

    /// Number of leading sectors that contain all requests to such a device; nothing where that is
    /// not known.
    fn reach(&self, _context: &Context) -> Option<u64> {
        None
    }

    /// True if the seed affects the requests.
    fn draws(&self) -> bool {
        true
    }

    /// Keys at default values that no publication states.
    fn guessed(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Builds the workload.
    ///
    /// # Errors
    /// When a key's value breaks a rule, or the input behind the workload cannot be read.
    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError>;
}
