//! Configuration and construction of members that differ.

use super::ArrayOptions;
use options::Invalid;
use ssd::clean::Supplied;
use ssd::device::{DeviceKind, Model, Tick, Unbuilt};

impl<D: DeviceKind> ArrayOptions<D> {
    /// Configuration of a member by number; spares are configured by `member`.
    pub(super) fn member_of(&self, number: u32) -> &D {
        let own = self.each.0.iter().find(|it| it.0 == number);
        own.map_or(&self.member, |it| &it.1)
    }

    /// Configurations of the members.
    pub(super) fn all_members(&self) -> impl Iterator<Item = &D> {
        (0..self.members).map(|number| self.member_of(number))
    }

    /// Builds the members, then the spares.
    pub(super) fn build_drives(
        &self,
        spares: u32,
        seed: u64,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Vec<Box<dyn Model>>, Unbuilt> {
        self.check_each()?;
        let mut drives = memory::with_capacity((self.members + spares) as usize);
        for number in 0..self.members + spares {
            // The first member equals a single device; every member has its own random seed.
            let seed = seed.wrapping_add(u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let own = self.each.0.iter().any(|it| it.0 == number);
            let device = self.member_of(number).build_watched(seed, supplied, tick);
            let blamed = |invalid: Invalid| {
                if own { of_each(&invalid, number) } else { super::config::of_member(invalid) }
            };
            drives.push(device.map_err(|unbuilt| unbuilt.map(blamed))?);
        }
        Ok(drives)
    }

    /// Rejects a member that does not support power cuts.
    pub(super) fn check_cuts_of(&self, number: u32) -> Result<(), Invalid> {
        let own = self.each.0.iter().any(|it| it.0 == number);
        let checked = self.member_of(number).check_cuts_in_array();
        checked.map_err(|invalid| {
            if own { of_each(&invalid, number) } else { super::config::of_member(invalid) }
        })
    }

    fn check_each(&self) -> Result<(), Invalid> {
        let each = &self.each.0;
        for (place, (number, device)) in each.iter().enumerate() {
            let refuse = |keys: &[&str], problem| Err(Invalid::new(keys, problem));
            if *number >= self.members {
                let last = self.members.saturating_sub(1);
                let problem = format!("there is no member {number}; they are 0 to {last}");
                return refuse(&["device.each", "device.members"], problem);
            }
            if each[..place].iter().any(|it| it.0 == *number) {
                return refuse(&["device.each"], format!("member {number} stands there twice"));
            }
            if device.policy_name().is_some() {
                let problem = format!(
                    "member {number}: a cleaning policy of your own is one of all members; name it in \
                     device.member"
                );
                return refuse(&["device.each"], problem);
            }
        }
        Ok(())
    }
}

/// Error of a member with its own configuration.
fn of_each(invalid: &Invalid, number: u32) -> Invalid {
    let keys = invalid.keys.join(", ").replace("device.", "");
    Invalid::new(&["device.each"], format!("member {number}, {keys}: {}", invalid.problem))
}
