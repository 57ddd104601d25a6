//! The interface of a kind of device: its options, and how a device is built from them.

use crate::clean::Supplied;
use crate::config::PolicyName;
use crate::device::Model;
use crate::device::building::{Tick, Unbuilt, proceed};
use options::{Invalid, Setting};
use serde::Serialize;
use std::fmt::Debug;

/// A kind of device, implemented by its options.
pub trait DeviceKind: Setting + Default + Serialize + Clone + Debug + 'static {
    /// Summary in one line.
    const SUMMARY: &'static str;

    /// Overrides one layer of configuration by another.
    fn overlay(under: &mut Self::Partial, over: Self::Partial) {
        <Self as Setting>::overlay(under, over);
    }

    /// True if there is simulated flash inside: a state that can be prepared, saved and found out
    /// without time, and operations that can be recorded.
    fn has_flash(&self) -> bool {
        false
    }

    /// True if any request takes time, judging by the configuration alone.
    fn takes_time(&self) -> bool {
        true
    }

    /// Checks that devices of this kind support power cuts.
    ///
    /// # Errors
    /// Why not, with the keys to blame.
    fn check_power_cuts(&self) -> Result<(), Invalid> {
        let problem = "this kind of device has no flash to find its map in again; only a device of kind \
                       \"ssd\" recovers from power cuts";
        Err(Invalid::new(&["run.power_cut", "device.kind"], problem))
    }

    /// Checks that devices of this kind can be cut as members of another.
    ///
    /// # Errors
    /// Why not, with the keys to blame.
    fn check_cuts_within(&self) -> Result<(), Invalid> {
        self.check_power_cuts()
    }

    /// Checks that devices of this kind can be cut as members of an array.
    ///
    /// # Errors
    /// Why not, with the keys to blame.
    fn check_cuts_in_array(&self) -> Result<(), Invalid> {
        self.check_power_cuts()
    }

    /// True if only part of the device holds data at the start.
    fn is_partly_filled(&self) -> bool {
        false
    }

    /// True if completed writes of such a device survive a power cut without a flush.
    fn keeps_answers(&self) -> bool {
        false
    }

    /// Checks that data of this device age (`run.age`).
    ///
    /// # Errors
    /// Why not, with the keys to blame.
    fn check_age(&self) -> Result<(), Invalid> {
        let problem =
            "data of this kind of device do not age; only those of a device of kind \"ssd\" do";
        Err(Invalid::new(&["run.age", "device.kind"], problem))
    }

    /// Bytes of the whole device per simulated byte.
    fn scale(&self) -> u32 {
        1
    }

    /// Checks that untimed writes may have a pace (`run.pace`), at which data age.
    ///
    /// # Errors
    /// Why not, with the keys to blame.
    fn check_pace(&self) -> Result<(), Invalid> {
        let problem = "only data written to a device of kind \"ssd\" has a pace";
        Err(Invalid::new(&["run.pace", "device.kind"], problem))
    }

    /// True if untimed writes need a pace.
    fn needs_pace(&self) -> bool {
        false
    }

    /// Refuses contradictory keys, without building the device: as far as its shape shows it.
    ///
    /// # Errors
    /// The error names the keys.
    fn check_shape(&self) -> Result<(), Invalid> {
        Ok(())
    }

    /// The name of the cleaning policy that must be [supplied](Supplied), if it has one.
    fn policy_name(&self) -> Option<&PolicyName> {
        None
    }

    /// Memory for the initial content, bytes, as far as it grows with the content.
    fn first_memory(&self) -> u64 {
        0
    }

    /// The device without written pages, which is fast to build before a state is restored.
    #[must_use]
    fn unfilled(&self) -> Self {
        self.clone()
    }

    /// The device without scaling; nothing where it is.
    fn whole(&self) -> Option<Self> {
        None
    }

    /// Builds the device with supplied objects.
    ///
    /// # Errors
    /// For contradictory keys, or for objects that are not supplied; the error names the
    /// keys.
    fn build_with(&self, seed: u64, supplied: &Supplied) -> Result<Box<dyn Model>, Invalid> {
        self.build_watched(seed, supplied, &mut proceed).map_err(Unbuilt::invalid)
    }

    /// Builds the device with progress reports: `tick` is called now and then, and may end this.
    ///
    /// # Errors
    /// Also when it was ended.
    fn build_watched(
        &self,
        seed: u64,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Box<dyn Model>, Unbuilt>;

    /// Builds a device that needs no supplied objects.
    ///
    /// # Errors
    /// As [`build_with`](DeviceKind::build_with).
    fn build(&self, seed: u64) -> Result<Box<dyn Model>, Invalid> {
        self.build_with(seed, &Supplied::default())
    }
}
