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
    /// Bytes of the whole device for one simulated byte; 1 if it is simulated whole.
    pub scale: u32,
    /// Into how many volumes of equal size it is divided; 1 if it is one piece.
    pub volumes: u32,
    /// Its zones, if it has such.
    pub zones: Option<ZoneShape>,
    /// The seed of the run, from which every random draw derives.
    pub seed: u64,
    /// 0 for the run itself; from 1 on the repetitions of the workload that precondition a drive. What is
    /// hot lies where it lies in the run, and what is asked next is drawn anew.
    pub pass: u64,
    /// Opens inputs by the names that the configuration gives them, each time from their start.
    pub inputs: Inputs,
}

impl Context {
    /// The seed of what is drawn request by request; [`seed`](Context::seed) is that of where hot blocks lie.
    pub(crate) fn draws(&self) -> u64 {
        // Parts of a workload are numbered below.
        derived(self.seed, self.pass << 32)
    }
}

/// A kind of workload, implemented by its options.
pub trait WorkloadKind: Setting + Default + Serialize + Clone {
    /// Summary, in one line.
    const SUMMARY: &'static str;

    /// True if each of its writes covers one page of `page_sectors`, and every page of the device is
    /// equally likely: overwriting pages at random gives the same state.
    fn writes_uniformly(&self, _capacity_sectors: u64, _page_sectors: u64) -> bool {
        false
    }

    /// The sectors, from the first on, of which it touches no others on such a device; nothing where that is not known.
    fn reach(&self, _context: &Context) -> Option<u64> {
        None
    }

    /// True if another seed could ask for something else.
    fn draws(&self) -> bool {
        true
    }

    /// The keys whose values are guesses that no publication states, as far as they have their defaults.
    fn guessed(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Builds the workload.
    ///
    /// # Errors
    /// When a key's value breaks a rule, or the input behind the workload cannot be read.
    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError>;
}
