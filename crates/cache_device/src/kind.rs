//! The device kind `cache`.

use super::config::{CacheOptions, Halves, Mode, Recovery};
use super::device::Cache;
use super::tiers::Tiers;
use options::Invalid;
use ssd::clean::Supplied;
use ssd::config::PolicyName;
use ssd::device::{DeviceKind, Model, Tick, Unbuilt};

/// An inner device's error, with the key of its section.
fn within(name: &str) -> impl Fn(Invalid) -> Invalid {
    let section = format!("device.{name}.");
    move |invalid| Invalid {
        keys: invalid.keys.iter().map(|key| key.replacen("device.", &section, 1)).collect(),
        problem: invalid.problem,
    }
}

impl<D: Halves> DeviceKind for CacheOptions<D> {
    const SUMMARY: &'static str = "A cache: a fast device in front of another one, such as flash or NVRAM before a disk or an array.";

    fn has_flash(&self) -> bool {
        self.fast.has_flash() && self.backing.has_flash()
    }

    fn keeps_answers(&self) -> bool {
        self.fast.keeps_answers() && self.backing.keeps_answers()
    }

    fn check_power_cuts(&self) -> Result<(), Invalid> {
        if self.restart == Recovery::None {
            let problem = "\"none\" says that the power of this cache does not go; use \"warm\", or where nothing waits \
                           in it \"cold\"";
            return Err(Invalid::new(&["device.restart", "run.power_cut"], problem));
        }
        self.both()
            .into_iter()
            .try_for_each(|(name, device)| device.check_cuts_within().map_err(within(name)))
    }

    fn check_cuts_within(&self) -> Result<(), Invalid> {
        self.check_power_cuts()
    }

    fn is_partly_filled(&self) -> bool {
        self.both().into_iter().any(|(_, device)| device.is_partly_filled())
    }

    fn check_age(&self) -> Result<(), Invalid> {
        let problem = "data of a cache do not age: what its devices cannot read is not fetched from the other one";
        Err(Invalid::new(&["run.age", "device.kind"], problem))
    }

    fn policy_name(&self) -> Option<&PolicyName> {
        self.fast.policy_name().or_else(|| self.backing.policy_name())
    }

    fn check_shape(&self) -> Result<(), Invalid> {
        self.check()?;
        self.both()
            .into_iter()
            .try_for_each(|(name, device)| device.check_shape().map_err(within(name)))
    }

    fn first_memory(&self) -> u64 {
        self.both().into_iter().map(|(_, device)| device.first_memory()).sum()
    }

    fn unfilled(&self) -> Self {
        CacheOptions {
            fast: self.fast.unfilled(),
            backing: self.backing.unfilled(),
            ..self.clone()
        }
    }

    fn build_watched(
        &self,
        seed: u64,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Box<dyn Model>, Unbuilt> {
        self.check()?;
        let mut devices = memory::with_capacity(2);
        for (number, (name, device)) in self.both().into_iter().enumerate() {
            // The fast device equals a single device; each device has its own random seed.
            let seed = seed.wrapping_add((number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let built = device.build_watched(seed, supplied, tick);
            let built = built.map_err(|unbuilt| unbuilt.map(within(name)))?;
            if built.facts().zones.is_some() {
                let problem = format!(
                    "a cache writes anywhere, which zones do not take; put a log of the host between them \
                     (device.{name}.adapt = \"log\")"
                );
                let key = format!("device.{name}.adapt");
                return Err(Invalid::new(&[&key, "device.kind"], problem).into());
            }
            devices.push(built);
        }
        let keeps = [self.fast.keeps_answers(), self.backing.keeps_answers()];
        let devices: [Box<dyn Model>; 2] =
            devices.try_into().unwrap_or_else(|_| unreachable!("there are two"));
        if self.mode == Mode::Tiered {
            return Ok(Box::new(Tiers::of(self, seed, devices, keeps)?));
        }
        Ok(Box::new(Cache::of(self, seed, devices, keeps)?))
    }
}
