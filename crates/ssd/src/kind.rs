//! The device kind `ssd`: how its configuration is layered, and how it is built.

use super::blocks::BlockBuffer;
use super::cache::{MapReads, untimed_room};
use super::clean::Supplied;
use super::config::{CellName, Fill, MediaModel, Policy, PolicyName, SsdConfig, SsdPartial};
use super::executor::{Buffered, Direct};
use super::front::Front;
use super::ftl::Ftl;
use super::page::{Feature, Features};
use super::power::Power;
use super::{Clock, Geometry, Ssd};
use crate::device::building::proceed;
use crate::device::{DeviceKind, Model, Tick, Unbuilt};
use options::{Invalid, Setting};
use std::ops::ControlFlow;

impl DeviceKind for SsdConfig {
    const SUMMARY: &'static str = "A solid-state drive: flash packages, an FTL, cleaning (garbage \
        collection).";

    fn has_flash(&self) -> bool {
        true
    }

    /// A layer that states the spare space in one way replaces what lower layers stated in another.
    fn overlay(under: &mut SsdPartial, over: SsdPartial) {
        let stated = over.spare_factor.is_some()
            || over.over_provisioning.is_some()
            || over.spare_blocks_per_plane.is_some()
            || over.capacity.is_some();
        if stated {
            under.spare_factor = None;
            under.over_provisioning = None;
            under.spare_blocks_per_plane = None;
            under.capacity = None;
        }
        // So does one that states the bus; one that names a part states all keys of the part.
        if over.timing.bus_per_byte.is_some() {
            under.timing.bus_rate = None;
        }
        if let Some(part) = over.cell.preset.and_then(CellName::part) {
            part.lay_on(under);
        }
        <Self as Setting>::overlay(under, over);
    }

    fn keeps_answers(&self) -> bool {
        !self.is_volatile()
    }

    fn check_power_cuts(&self) -> Result<(), Invalid> {
        if self.persistence.recovers() {
            return Ok(());
        }
        if self.map.may_cost() {
            let problem = "a power cut empties the map cache, and the map is found again only by a drive that recovers; \
                           use recovery = \"spare\", \"summary\" or \"checkpoint\"";
            let keys = ["device.persistence.recovery", "device.map.memory", "run.power_cut"];
            return Err(Invalid::new(&keys, problem));
        }
        let problem = "a drive that does not recover cannot lose its power; use recovery = \"spare\", \
                       \"summary\", \"checkpoint\" or \"nvram\"";
        Err(Invalid::new(&["device.persistence.recovery", "run.power_cut"], problem))
    }

    fn check_cuts_in_array(&self) -> Result<(), Invalid> {
        if !self.is_volatile() {
            return self.check_power_cuts();
        }
        let key = if self.is_buffered() {
            "device.buffer.power_loss_protected"
        } else {
            "device.block_buffer.power_loss_protected"
        };
        let problem = "what members may lose though they answered for it is not followed in an array; use true";
        Err(Invalid::new(&[key, "run.power_cut"], problem))
    }

    fn is_partly_filled(&self) -> bool {
        (f64::MIN_POSITIVE..1.0).contains(&self.fill.share())
    }

    fn check_age(&self) -> Result<(), Invalid> {
        if self.media.model != MediaModel::None {
            return Ok(());
        }
        let problem = "drives age by writes, not by days, unless device.media.model is set; use \"tlc-3d\" or \
                       \"qlc-3d\"";
        Err(Invalid::new(&["run.age", "device.media.model"], problem))
    }

    fn scale(&self) -> u32 {
        self.scale.max(1)
    }

    fn check_pace(&self) -> Result<(), Invalid> {
        if self.ages() {
            return Ok(());
        }
        let problem =
            "data of this drive do not age, so that a pace changes nothing; set device.media.model";
        Err(Invalid::new(&["run.pace", "device.media.model"], problem))
    }

    fn needs_pace(&self) -> bool {
        self.ages() && self.scrub.period.0.is_some()
    }

    fn check_shape(&self) -> Result<(), Invalid> {
        Geometry::new(self).map(drop)
    }

    fn policy_name(&self) -> Option<&PolicyName> {
        match &self.cleaning.policy {
            Policy::Named(name) => Some(name),
            _ => None,
        }
    }

    fn first_memory(&self) -> u64 {
        Geometry::new(self).map_or(0, |it| it.memory(self, self.fill.share()))
    }

    fn unfilled(&self) -> Self {
        SsdConfig { fill: Fill::EMPTY, ..self.clone() }
    }

    fn whole(&self) -> Option<Self> {
        (self.scale > 1).then(|| SsdConfig { scale: 1, ..self.clone() })
    }

    fn build_watched(
        &self,
        seed: u64,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Box<dyn Model>, Unbuilt> {
        Ok(Box::new(Ssd::shaped(self, &Geometry::new(self)?, seed, supplied, tick)?))
    }
}

impl Ssd {
    /// A drive in its initial state, which depends on `seed` if it is filled in random order.
    ///
    /// # Errors
    /// When the configuration contradicts itself; the error names the keys.
    pub fn new(config: &SsdConfig, seed: u64) -> Result<Ssd, Invalid> {
        Ssd::with(config, seed, &Supplied::default())
    }

    /// `new` with supplied objects.
    ///
    /// # Errors
    /// Also when a policy is named that is not supplied.
    pub fn with(config: &SsdConfig, seed: u64, supplied: &Supplied) -> Result<Ssd, Invalid> {
        let geometry = Geometry::new(config)?;
        Ssd::shaped(config, &geometry, seed, supplied, &mut proceed).map_err(Unbuilt::invalid)
    }

    /// `with` for a derived shape; `tick` may end it.
    pub(super) fn shaped(
        config: &SsdConfig,
        geometry: &Geometry,
        seed: u64,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Ssd, Unbuilt> {
        let policy = supplied.policy_for(&config.cleaning.policy)?;
        let ControlFlow::Continue(filled) = Ftl::new(config, geometry, seed, tick) else {
            return Err(Unbuilt::Interrupted);
        };
        let (mut ftl, flash) = filled;
        ftl.supply(policy);
        if let Some(shape) = &geometry.groups {
            ftl.write_through(untimed_room(config, shape));
        }
        let shape = geometry.program_groups();
        let ages = flash.media().is_some();
        let features = Features::new(&[
            (Feature::Buffers, geometry.groups.is_some()),
            (Feature::Shares, ftl.snapshots.is_some()),
            (Feature::Ages, ages),
            (Feature::LooksUp, ftl.caches_map()),
        ]);
        let places = geometry.groups.map_or(geometry.units, |groups| groups.dies);
        let map = ftl.caches_map().then(|| Box::new(MapReads::new(config, places)));
        Ok(Ssd {
            front: Front::new(config),
            direct: Direct::new(config, geometry, ftl.pools_span_units()),
            buffered: Buffered::new(config, geometry, shape, ages),
            ftl,
            flash,
            features,
            blocks: BlockBuffer::new(config, geometry),
            map,
            answers: Vec::new(),
            recorder: None,
            clock: Clock::default(),
            config: config.clone(),
            before: None,
            power: Power::new(config, geometry, seed),
            parts: None,
        })
    }
}
