//! The device kind `array`.

use super::config::of_member;
use super::{Array, ArrayOptions, CleaningTogether, Redundancy};
use options::Invalid;
use ssd::clean::Supplied;
use ssd::config::PolicyName;
use ssd::device::{DeviceKind, Model, Tick, Unbuilt};

/// Reason why data in a redundant array do not age: the array would return, and rebuild from, data
/// that its members lost.
pub const NOT_RECONSTRUCTED: &str =
    "an array with redundancy does not age: what its members cannot read is not reconstructed yet";

impl<D: DeviceKind> DeviceKind for ArrayOptions<D> {
    const SUMMARY: &'static str =
        "An array of devices behind one controller: RAID-0, concatenation, mirrors or parity.";

    fn has_flash(&self) -> bool {
        self.all_members().all(D::has_flash)
    }

    fn check_age(&self) -> Result<(), Invalid> {
        self.all_members().try_for_each(D::check_age)?;
        if self.redundancy == Redundancy::None {
            return Ok(());
        }
        let problem = format!("{NOT_RECONSTRUCTED}; use redundancy = \"none\"");
        Err(Invalid::new(&["device.redundancy", "run.age"], problem))
    }

    fn first_memory(&self) -> u64 {
        let own: u64 = self.each.0.iter().map(|it| it.1.first_memory()).sum();
        let alike = u64::from(self.members).saturating_sub(self.each.0.len() as u64);
        alike.saturating_mul(self.member.first_memory()).saturating_add(own)
    }

    /// Scale of the members, if they are equal.
    fn scale(&self) -> u32 {
        let scale = self.member.scale();
        if self.all_members().all(|it| it.scale() == scale) { scale } else { 1 }
    }

    fn needs_pace(&self) -> bool {
        self.all_members().any(D::needs_pace)
    }

    fn keeps_answers(&self) -> bool {
        self.all_members().all(D::keeps_answers)
    }

    /// With redundancy, power cuts need SSD members that recover and whose completions are durable.
    fn check_power_cuts(&self) -> Result<(), Invalid> {
        let refuse = |key: &str, problem: &str| Err(Invalid::new(&[key, "run.power_cut"], problem));
        if self.redundancy == Redundancy::None {
            let problem = "the power of an array without redundancy cannot go: nothing of it depends on its \
                           members together; cut a single drive";
            return refuse("device.redundancy", problem);
        }
        if self.cleaning_together != CleaningTogether::Free {
            let problem =
                "members that hear of each other's cleaning cannot lose their power; use free";
            return refuse("device.cleaning_together", problem);
        }
        for number in 0..self.members {
            self.check_cuts_of(number)?;
        }
        Ok(())
    }

    fn check_cuts_in_array(&self) -> Result<(), Invalid> {
        let problem = "the power of an array of arrays cannot go";
        Err(Invalid::new(&["device.kind", "run.power_cut"], problem))
    }

    fn is_partly_filled(&self) -> bool {
        self.member.is_partly_filled() || self.each.0.iter().any(|it| it.1.is_partly_filled())
    }

    fn policy_name(&self) -> Option<&PolicyName> {
        self.member.policy_name()
    }

    fn check_shape(&self) -> Result<(), Invalid> {
        self.member.check_shape().map_err(of_member)
    }

    fn unfilled(&self) -> Self {
        ArrayOptions { member: self.member.unfilled(), ..self.clone() }
    }

    fn whole(&self) -> Option<Self> {
        let member = self.member.whole().filter(|_| self.each.0.is_empty())?;
        Some(ArrayOptions { member, ..self.clone() })
    }

    fn build_watched(
        &self,
        seed: u64,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Box<dyn Model>, Unbuilt> {
        Ok(Box::new(Array::new(self, seed, supplied, tick)?))
    }
}
