//! The kind of device that an array is.

use super::{Array, ArrayConfig, Raid, Redundancy};
use crate::ssd::config::PolicyName;
use crate::{DeviceConfig, DeviceKind, Model, Supplied};
use options::Invalid;

impl DeviceKind for ArrayConfig {
    const SUMMARY: &'static str =
        "Devices behind one controller: RAID-0, volumes, mirrors or parity.";

    fn has_flash(&self) -> bool {
        self.all_members().all(DeviceConfig::has_flash)
    }

    fn check_power_cuts(&self) -> Result<(), Invalid> {
        let problem = "the power of an array cannot go: what its controller knows of its drives is not \
                       modelled; cut a single drive";
        Err(Invalid::new(&["run.power_cut", "device.kind"], problem))
    }

    fn policy_name(&self) -> Option<&PolicyName> {
        self.member.policy_name()
    }

    fn build_with(&self, seed: u64, supplied: &Supplied) -> Result<Box<dyn Model>, Invalid> {
        if self.redundancy == Redundancy::None {
            return Ok(Box::new(Array::new(self, seed, supplied)?));
        }
        Ok(Box::new(Raid::new(self, seed, supplied)?))
    }
}
