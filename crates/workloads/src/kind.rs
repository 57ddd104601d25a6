//! The interface of a workload kind: options from which a workload for a device is built.
//!
//! The kinds and their table are in `kinds/`.

use crate::error::BuildError;
use crate::read::inputs::Inputs;
use crate::streams::derived;
use engine::{Workload, ZoneShape};
use options::Setting;
use serde::Serialize;

/// Context in which a workload is built.
pub struct Context {
    /// Capacity in sectors of 512 B.
    pub capacity_sectors: u64,
    /// Device bytes per simulated byte; 1 if the device is simulated at full size.
    pub scale: u32,
    /// Number of volumes of equal size; 1 for an undivided device.
    pub volumes: u32,
    /// Zones of a zoned device.
    pub zones: Option<ZoneShape>,
    /// Seed of the run, from which all random draws derive.
    pub seed: u64,
    /// 0 for the run itself; from 1 on for the repetitions of the workload that precondition a
    /// drive. Hot data keep their addresses; requests are redrawn.
    pub pass: u64,
    /// Opens inputs by their names in the configuration, each time from the start.
    pub inputs: Inputs,
}

impl Context {
    /// Seed for drawing requests; [`seed`](Context::seed) places the hot blocks.
    pub(crate) fn draws(&self) -> u64 {
        // Parts of a workload use the lower bits.
        derived(self.seed, self.pass << 32)
    }
}

/// A kind of workload, implemented by its options.
pub trait WorkloadKind: Setting + Default + Serialize + Clone {
    /// Summary in one line.
    const SUMMARY: &'static str;

    /// True if any stretch of the load is like any other: rates, sizes and addresses are drawn from distributions that
    /// stay the same.
    const IS_STATIONARY: bool = false;

    /// True if each write covers one page of `page_sectors` and all pages of the device are equally
    /// likely. The state is then equal to random overwrites of pages.
    fn writes_uniformly(&self, _capacity_sectors: u64, _page_sectors: u64) -> bool {
        false
    }

    /// Number of leading sectors that contain all requests to the device; `None` if unknown.
    fn reach(&self, _context: &Context) -> Option<u64> {
        None
    }

    /// True if the seed affects the requests.
    fn draws(&self) -> bool {
        true
    }

    /// Keys with default values that are not from a publication.
    fn guessed(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Builds the workload.
    ///
    /// # Errors
    /// When a key's value is invalid, or an input cannot be read.
    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError>;
}
