//! A fully resolved experiment: a device, a workload, and the parameters of the run.

use super::cost::{Cost, CostPartial};
use super::keys::CHOOSING;
use super::layer::{Layer, Parsed, blame};
use super::power_cut::PowerCut;
use super::presets;
use super::run::{RunConfig, RunPartial};
use super::section::Section;
use super::value::Value;
use super::window::TimelineWindow;
use super::{depends, flash, idle, whole};
use crate::error::{InputError, RunError};
use crate::fits;
use devices::ssd::clean::{Cleaner, Custom};
use devices::ssd::zoned::Zones;
use devices::{DeviceConfig, DeviceKind as _, Model, Supplied, Tick, Unbuilt};
use engine::SECTOR_BYTES;
use options::{Invalid, Setting};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use workloads::{ResolveError, WorkloadConfig};

/// A device, a workload, and parameters of the run; every key has a value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Experiment {
    version: u32,
    /// Title; by default device and workload.
    pub title: String,
    /// The device.
    pub device: DeviceConfig,
    /// The workload.
    pub workload: WorkloadConfig,
    /// Parameters of the run.
    pub run: RunConfig,
    /// Prices, if any are given.
    #[serde(skip_serializing_if = "Cost::is_empty")]
    pub cost: Cost,
    /// Source layers, for line numbers in late errors.
    #[serde(skip)]
    layers: Vec<Layer>,
}

impl Experiment {
    /// Resolves layers, the lowest first. A layer that names a `kind` or a `preset` replaces that
    /// section of all lower layers.
    ///
    /// # Errors
    /// Unknown keys, ill-formed values, unknown presets and contradictions, each with its position.
    pub fn from_layers(layers: &[Layer]) -> Result<Experiment, InputError> {
        let presets = presets_below(layers)?;
        let own = presets.len();
        let layers = [presets, layers.to_vec()].concat();
        let parsed = layers.iter().map(Layer::parse).collect::<Result<Vec<_>, _>>()?;
        let device = device(&sections(&parsed, own, "device"), "device")?;
        let workload = workload(&sections(&parsed, own, "workload"), &parsed)?;
        let run = run_config(&sections(&parsed, own, "run"))?;
        let stated = sections(&parsed, own, "device");
        let device = whole::of_trace(device, &stated, &workload, &run);
        let cost = cost(&sections(&parsed, own, "cost"))?;
        if i64::try_from(run.seed).is_err() {
            let problem =
                format!("a seed is at most {}, the largest whole number of TOML", i64::MAX);
            return Err(blame(&Invalid::new(&["run.seed"], problem), &parsed));
        }
        let checked = run.steady.check().and_then(|()| run.check_warm_up());
        let checked = checked.and_then(|()| run.check_power_cut());
        let checked = checked.and_then(|()| run.check_faults());
        let checked = checked.and_then(|()| run.check_sample());
        let checked = checked.and_then(|()| match run.power_cut {
            PowerCut::None => Ok(()),
            _ => device.check_power_cuts(),
        });
        let checked = checked.and_then(|()| run.age.0.map_or(Ok(()), |_| device.check_age()));
        let checked = checked.and_then(|()| run.check_pace(&device));
        let checked = checked.and_then(|()| cost.check());
        checked.map_err(|invalid| blame(&invalid, &parsed))?;
        if !run.timed && !device.has_flash() {
            let problem =
                format!("a device of kind \"{}\" cannot run untimed (run.timed)", device.kind());
            return Err(blame(&Invalid::new(&["run.timed"], problem), &parsed));
        }
        if run.timeline != TimelineWindow::None && !(run.timed && device.has_flash()) {
            let kind = device.kind();
            let problem = if run.timed {
                format!("a device of kind \"{kind}\" has no flash operations to record")
            } else {
                "an untimed run (run.timed) has no timeline".to_owned()
            };
            return Err(blame(&Invalid::new(&["run.timeline"], problem), &parsed));
        }
        let title = parsed.iter().rev().find_map(Parsed::title).unwrap_or_else(|| {
            let device = label(&layers[..own], "device").unwrap_or(device.kind());
            let workload = label(&layers[..own], "workload").unwrap_or(workload.kind());
            format!("{device} under {workload}")
        });
        drop(parsed);
        Ok(Experiment { version: 1, title, device, workload, run, cost, layers })
    }

    /// The experiment as a reproducible file.
    ///
    /// # Panics
    /// Never: every experiment can be serialised.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.in_force()).expect("experiments are plain tables")
    }

    /// The experiment as JSON, without the keys that have no value.
    ///
    /// # Panics
    /// Never: every experiment can be serialised.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self.in_force()).expect("tables are JSON")
    }

    /// The experiment as a table of the keys that have an effect.
    fn in_force(&self) -> toml::Table {
        let mut table = toml::Table::try_from(self).expect("experiments are plain tables");
        idle::leave_out(&mut table, &self.device, &self.workload);
        table
    }

    /// Creates the external cleaning policy that the device names, if any, like
    /// [`supply_policy`](Self::supply_policy), provided that the name is trusted.
    ///
    /// # Errors
    /// See [`permit_code`](Self::permit_code), which is checked first; errors of `make`.
    pub fn load_policy(
        &self,
        make: impl FnOnce(&str) -> Result<Box<dyn Cleaner>, String>,
    ) -> Result<Supplied, InputError> {
        self.permit_code()?;
        self.supply_policy(make)
    }

    /// Checks that an external cleaning policy may be loaded: it is code, so only a layer that [may
    /// name code](Layer::code) can request it.
    ///
    /// # Errors
    /// When another layer names it, with the position.
    pub fn permit_code(&self) -> Result<(), InputError> {
        if self.device.policy_name().is_none() {
            return Ok(());
        }
        let path = self.policy_path();
        let parsed = self.layers.iter().map(Layer::parse).collect::<Result<Vec<_>, _>>()?;
        let stated = parsed.iter().rev().find_map(|layer| layer.permit_code(&path));
        stated.unwrap_or_else(|| Err(InputError(format!("{path}: no layer sets it"))))
    }

    /// Key path of the cleaning policy, of the device itself or of an inner device.
    fn policy_path(&self) -> String {
        let (mut path, mut device) = ("device".to_owned(), &self.device);
        let names_one = |it: &(&str, &DeviceConfig)| it.1.policy_name().is_some();
        while let Some((name, within)) = device.within().into_iter().find(names_one) {
            path = format!("{path}.{name}");
            device = within;
        }
        path + ".cleaning.policy"
    }

    /// Supplies objects that a configuration can only name: the external cleaning policy, if it
    /// names one. `make` gets the name, and returns the policy or an error.
    ///
    /// # Errors
    /// The error of `make`, with the position of the name.
    pub fn supply_policy(
        &self,
        make: impl FnOnce(&str) -> Result<Box<dyn Cleaner>, String>,
    ) -> Result<Supplied, InputError> {
        let Some(name) = self.device.policy_name() else { return Ok(Supplied::default()) };
        match make(name.as_str()) {
            Ok(cleaner) => Ok(Supplied { policy: Some(Custom::new(cleaner)) }),
            Err(problem) => Err(self.blame(&Invalid::new(&[&self.policy_path()], problem))),
        }
    }

    /// Refuses contradictory keys, without building the device.
    ///
    /// # Errors
    /// The contradiction, with the position of the offending key.
    pub fn check_device(&self) -> Result<(), InputError> {
        self.device.check_shape().map_err(|invalid| self.blame(&invalid))
    }

    /// Exported capacity, bytes; `tick` is called at intervals and may end the computation.
    ///
    /// # Errors
    /// A contradiction only detected when the device is built, or an interruption.
    pub fn capacity_bytes(
        &self,
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<u64, RunError> {
        let unasked = Supplied { policy: Some(Custom::absent()) };
        let device = self.build_unfilled(&unasked, tick)?;
        // Some addresses of a zone are not writable.
        let of_zones =
            device.facts().zones.map(Zones::shape).map(|zones| zones.count * zones.capacity);
        Ok(of_zones.unwrap_or_else(|| device.capacity_sectors()) * SECTOR_BYTES)
    }

    /// Builds the device, with a supplied policy; `tick` is called at intervals and may end it.
    pub(crate) fn build_device(
        &self,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Box<dyn Model>, RunError> {
        self.build(&self.device, supplied, tick)
    }

    /// Builds the device without written pages, for a restored state.
    ///
    /// # Errors
    /// See `build_device`.
    pub fn build_unfilled(
        &self,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Box<dyn Model>, RunError> {
        self.build(&self.device.unfilled(), supplied, tick)
    }

    fn build(
        &self,
        device: &DeviceConfig,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Box<dyn Model>, RunError> {
        let build = || device.build_watched(self.run.seed, supplied, tick);
        let built = fits::built(device.kind(), device.first_memory(), build);
        built.unwrap_or_else(|invalid| Err(invalid.into())).map_err(|unbuilt| match unbuilt {
            Unbuilt::Invalid(invalid) => self.blame(&invalid).into(),
            Unbuilt::Interrupted => RunError::Interrupted { requests: 0 },
        })
    }

    /// The value of a key stated by the user on the command line; `None` if it comes from a file or
    /// is not set.
    pub fn named_by_user(&self, path: &str) -> Option<String> {
        let mut parsed = self.layers.iter().rev().filter_map(|layer| layer.parse().ok());
        let (text, is_of_user) = parsed.find_map(|layer| layer.stated(path))?;
        is_of_user.then_some(text)
    }

    /// The error for a contradiction, with the position of the offending key.
    pub(crate) fn blame(&self, invalid: &Invalid) -> InputError {
        let parsed = self.layers.iter().filter_map(|layer| layer.parse().ok()).collect::<Vec<_>>();
        let mut error = blame(invalid, &parsed);
        if invalid.keys.iter().eq(["device.capacity", "device.blocks_per_plane"]) {
            let presets = parsed.iter().filter_map(|it| Section::of(it, "device"));
            let presets: Vec<_> = presets.filter(Section::gives_way).collect();
            let own = device(&presets, "device").ok();
            error.0 += &own
                .and_then(|it| flash::kept(&self.device, &it, &self.layers))
                .unwrap_or_default();
        }
        error
    }
}

/// The presets below the layers: named ones, or the defaults.
fn presets_below(layers: &[Layer]) -> Result<Vec<Layer>, InputError> {
    let parsed = layers.iter().map(Layer::parse).collect::<Result<Vec<_>, _>>()?;
    let mut presets = Vec::new();
    for (name, _) in presets::DEFAULTS {
        let top = sections(&parsed, 0, name).first().copied();
        presets.extend(preset_of(name, name, top)?.into_iter().flat_map(|it| it.layers(name)));
    }
    Ok(presets)
}

/// The preset below the layers of a device or workload: the one named by the lowest layer, the
/// default, or none if that layer names a kind. A layer without either refines the default.
fn preset_of(
    section: &str,
    path: &str,
    lowest: Option<Section<'_, '_>>,
) -> Result<Option<&'static presets::Preset>, InputError> {
    let default = || presets::default_of(section);
    let Some(lowest) = lowest else { return Ok(Some(default())) };
    match (lowest.word("kind")?, lowest.word("preset")?) {
        (Some(kind), Some(preset)) => {
            let problem = format!(
                "{path}.kind = \"{kind}\" with {path}.preset = \"{preset}\": {path} has both a kind and \
                 a preset; a preset has its kind"
            );
            Err(lowest.error_at("kind", &problem))
        }
        (Some(_), None) => Ok(None),
        (None, Some(word)) => presets::find(section, &word).map(Some).ok_or_else(|| {
            let unknown = presets::unknown(section, &word);
            lowest.error_at("preset", &format!("{path}.preset = \"{word}\": {unknown}"))
        }),
        (None, None) => Ok(Some(default())),
    }
}

/// The preset that affects a section.
fn label<'a>(presets: &'a [Layer], section: &str) -> Option<&'a str> {
    let heading = format!("[{section}]");
    let preset = presets.iter().rfind(|layer| layer.text.lines().any(|line| line == heading))?;
    preset.source.strip_prefix("preset ")
}

/// The layers' sections with this name: from the first `presets` layers, then from the topmost
/// layer that names a kind or a preset, and from the layers above it.
fn sections<'p, 'a>(layers: &'p [Parsed<'a>], presets: usize, name: &str) -> Vec<Section<'p, 'a>> {
    let (below, own) = layers.split_at(presets);
    let own: Vec<_> = own.iter().filter_map(|layer| Section::of(layer, name)).collect();
    let top = own.iter().rposition(|s| s.has("kind") || s.has("preset")).unwrap_or(0);
    let below = below.iter().filter_map(|layer| Section::of(layer, name));
    below.chain(own[top..].iter().copied()).collect()
}

/// The kind named by the lowest of the sections called `name`.
fn kind_of(sections: &[Section<'_, '_>], name: &str) -> Result<String, InputError> {
    let kind = sections.first().map(|section| section.word("kind")).transpose()?.flatten();
    Ok(kind.unwrap_or_else(|| presets::default_kind(name).to_owned()))
}

fn values<'a>(sections: &[Section<'_, 'a>]) -> Vec<Value<'a>> {
    sections.iter().map(|section| section.without(&CHOOSING)).collect()
}

fn device(sections: &[Section<'_, '_>], path: &str) -> Result<DeviceConfig, InputError> {
    let kind = kind_of(sections, "device")?;
    let config = DeviceConfig::resolve(&kind, values(sections)).map_err(|error| {
        if let Some((index, error)) = error {
            let known = devices::kind_of(&kind).unwrap_or(&kind);
            return sections[index].blame(&error, path, known);
        }
        let words: Vec<&str> = devices::kinds().iter().map(|(word, _)| *word).collect();
        let others = devices::other_words().iter().map(|(word, _)| *word);
        let hint = options::nearest(&kind, words.iter().copied().chain(others))
            .map(|near| format!(" (did you mean \"{near}\"?)"))
            .unwrap_or_default();
        let list = words.join(", ");
        let problem = format!("{path}.kind = \"{kind}\": the kinds are {list}{hint}");
        sections[0].error_at("kind", &problem)
    })?;
    let below = |count: usize| DeviceConfig::resolve(&kind, values(&sections[..count])).ok();
    idle::refuse(sections, path, |count| below(count).map_or_else(Vec::new, |it| it.idle()))?;
    depends::refuse(sections, path, &config, below)?;
    let mut config = config.settled();
    for (name, place) in config.within_mut() {
        if let Some(device) = within(sections, name, &format!("{path}.{name}"), None)? {
            *place = device;
        }
    }
    if let Some(place) = config.each_mut() {
        place.0 = each(sections, path)?;
    }
    Ok(config)
}

/// Members with their own keys, which override the common ones. The topmost list applies.
fn each(sections: &[Section<'_, '_>], path: &str) -> Result<Vec<(u32, DeviceConfig)>, InputError> {
    let mut lists = sections.iter().rev().map(|section| section.tables("each"));
    let tables = lists.find_map(Result::transpose).transpose()?.unwrap_or_default();
    let of = |table: Section<'_, '_>| {
        let Some(number) = table.number("member") else {
            let problem =
                format!("{path}.each: each table needs the number of its member: member = 0");
            return Err(table.error_at("member", &problem));
        };
        let keys = table.without(&["member"]);
        let own = Some(table.with(&keys.0));
        let device = within(sections, "member", &format!("{path}.each"), own)?
            .expect("its own section states something");
        if matches!(device, DeviceConfig::Array(_)) {
            let problem = format!("{path}.each: an array cannot be a member beside unlike ones");
            return Err(table.error_at("kind", &problem));
        }
        Ok((number, device))
    };
    tables.into_iter().map(of).collect()
}

/// Configuration of an inner device: its keys in the layers, from the topmost layer with a kind or
/// preset (by default the default device), and above them its own keys. `None` if the outer device
/// has a default for it and no layer states it.
fn within(
    sections: &[Section<'_, '_>],
    name: &str,
    path: &str,
    own: Option<Section<'_, '_>>,
) -> Result<Option<DeviceConfig>, InputError> {
    let stated = sections.iter().map(|section| section.section(name));
    let mut stated = stated.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
    stated.extend(own);
    if stated.is_empty() && name != "member" {
        return Ok(None);
    }
    let chooses = |section: &Section<'_, '_>| section.has("kind") || section.has("preset");
    let stated = &stated[stated.iter().rposition(chooses).unwrap_or(0)..];
    let Some(preset) = preset_of("device", path, stated.first().copied())? else {
        return device(stated, path).map(Some);
    };
    let layers = preset.layers("device");
    let presets = layers.iter().map(Layer::parse).collect::<Result<Vec<_>, _>>()?;
    let below = presets.iter().filter_map(|preset| Section::of(preset, "device"));
    device(&below.chain(stated.iter().copied()).collect::<Vec<_>>(), path).map(Some)
}

fn workload(
    sections: &[Section<'_, '_>],
    layers: &[Parsed<'_>],
) -> Result<WorkloadConfig, InputError> {
    let kind = kind_of(sections, "workload")?;
    let resolve = |count: usize| WorkloadConfig::resolve(&kind, values(&sections[..count]));
    let config = resolve(sections.len()).map_err(|error| match error {
        ResolveError::Layer { index, error } => sections[index].blame(&error, "workload", &kind),
        ResolveError::Kind(invalid) => blame(&invalid, layers),
    })?;
    idle::refuse(sections, "workload", |count| {
        resolve(count).map_or_else(|_| Vec::new(), |config| config.idle())
    })?;
    Ok(config.settled())
}

fn run_config(sections: &[Section<'_, '_>]) -> Result<RunConfig, InputError> {
    let mut partial = RunPartial::default();
    for section in sections {
        let over = RunPartial::deserialize(section.without(&[]))
            .map_err(|error| section.blame(&error, "run", ""))?;
        RunConfig::overlay(&mut partial, over);
    }
    Ok(RunConfig::complete(partial, RunConfig::default()))
}

fn cost(sections: &[Section<'_, '_>]) -> Result<Cost, InputError> {
    let mut partial = CostPartial::default();
    for section in sections {
        let over = CostPartial::deserialize(section.without(&[]))
            .map_err(|error| section.blame(&error, "cost", ""))?;
        Cost::overlay(&mut partial, over);
    }
    Ok(Cost::complete(partial, Cost::default()))
}
