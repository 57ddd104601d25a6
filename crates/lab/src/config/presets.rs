//! Built-in devices and workloads: data, each a TOML file of this crate.

use super::layer::Layer;
use crate::error::InputError;
use options::nearest;

/// A named text.
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    text: &'static str,
}

macro_rules! presets {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(Preset {
            name: $name,
            text: include_str!(concat!("../../presets/", $folder, "/", $name, ".toml")),
        }),*]
    };
}

const DEVICES: &[Preset] = presets!(
    "devices":
    "agrawal2008",
    "agrawal2008-array-6",
    "agrawal2008-array-10",
    "atlas10k",
    "barracuda",
    "cheetah9lp",
    "disksim-ssd",
    "enterprise-ssd",
    "hp-c3323a",
    "hybrid-disk",
    "intel-p4800x",
    "iops-optimised",
    "iodrive",
    "laptop-ssd",
    "micron-5210-ion",
    "micron-5400-pro",
    "micron-7450-max",
    "micron-7450-pro",
    "micron-9550-max",
    "mlc-2008",
    "mtron",
    "nearline-24tb",
    "null",
    "nvram-raid5",
    "qlc-enterprise",
    "samsung-2007",
    "samsung-870evo",
    "samsung-970pro",
    "samsung-980pro",
    "samsung-983zet",
    "samsung-990pro",
    "samsung-bm1743",
    "samsung-pm1743",
    "samsung-pm9a3",
    "sata-2008",
    "scsi-15k",
    "tlc-client",
    "tlc-enterprise",
    "usb-stick",
    "wd-sn580",
    "wd-sn850x",
    "wd-zn540",
    "zeus-linear",
);

const WORKLOADS: &[Preset] = presets!(
    "workloads":
    "ann",
    "bursts",
    "cache",
    "checkpoint",
    "gnn",
    "hot-cold-write",
    "iozone",
    "jesd219",
    "kv-offload",
    "lsm",
    "mixed",
    "paper-exchange",
    "paper-iozone",
    "paper-postmark",
    "paper-tpcc",
    "paper-tpcc-skewed",
    "postmark",
    "random-read",
    "random-write",
    "reads-and-log",
    "sequential-read",
    "sequential-write",
    "ssdiq-load",
    "training",
    "zipf-mixed",
);

/// Maximum number of presets suggested for a partial name.
const MANY: usize = 4;

/// Default presets by section.
pub(crate) const DEFAULTS: [(&str, &str); 2] = [("device", "agrawal2008"), ("workload", "mixed")];

/// The default preset of `device` or `workload`.
pub(crate) fn default_of(section: &str) -> &'static Preset {
    let default = DEFAULTS.iter().find(|(name, _)| *name == section);
    default.and_then(|(name, preset)| find(name, preset)).expect("the default is a preset")
}

impl Preset {
    /// Summary: the comment at the head of its file.
    pub(crate) fn summary(&self) -> String {
        let head = self.text.lines().take_while(|line| line.starts_with('#'));
        head.map(|line| line.trim_start_matches('#').trim()).collect::<Vec<_>>().join(" ")
    }

    /// Kind of device or workload (`section`) that the preset refines.
    pub(crate) fn kind(&self, section: &str) -> &'static str {
        let mut lines = self.text.lines().filter_map(|line| line.split_once('='));
        let kind = lines.find(|(key, _)| key.trim() == "kind");
        kind.map_or(default_kind(section), |(_, word)| word.trim().trim_matches('"'))
    }

    /// Layers of `section`, above those of the preset that this one refines, if any.
    pub(crate) fn layers(&self, section: &str) -> Vec<Layer> {
        let own = Layer::new(format!("preset {}", self.name), self.text);
        let own = Layer { gives_way: true, ..own };
        let begins = own.parse().ok().and_then(|parsed| {
            let keys = parsed.root.get_ref().get(section)?.get_ref().as_table()?;
            keys.get("preset")?.get_ref().as_str().map(str::to_owned)
        });
        let below = begins.and_then(|name| find(section, &name));
        let below = below.into_iter().flat_map(|preset| preset.layers(section));
        below.chain([own.clone()]).collect()
    }
}

/// Default kind of a `device` or `workload`.
pub(crate) fn default_kind(section: &str) -> &'static str {
    if section == "device" { "ssd" } else { "closed" }
}

/// The presets of `device` or `workload`.
pub(crate) fn of(section: &str) -> &'static [Preset] {
    if section == "device" { DEVICES } else { WORKLOADS }
}

pub(crate) fn find(section: &str, name: &str) -> Option<&'static Preset> {
    of(section).iter().find(|preset| preset.name == name)
}

/// The layer that selects a preset by name (`section` is `device` or `workload`); `None` if there
/// is no preset of that name.
pub fn preset_layer(section: &str, name: &str) -> Option<Layer> {
    find(section, name).map(|_| {
        Layer::new(format!("--{section} {name}"), format!("{section}.preset = \"{name}\""))
    })
}

/// File of a preset of `section`, with comments; `None` if there is no such preset.
pub fn preset_text(section: &str, name: &str) -> Option<&'static str> {
    find(section, name).map(|preset| preset.text)
}

/// The error for a name that is neither a preset nor a file.
pub fn unknown_preset(section: &str, name: &str) -> InputError {
    InputError(format!("--{section} {name}: {}", unknown(section, name)))
}

pub(crate) fn unknown(section: &str, name: &str) -> String {
    let names = || of(section).iter().map(|preset| preset.name);
    let part = name.to_lowercase();
    let having: Vec<&str> = names().filter(|it| it.contains(&part)).collect();
    let meant = match nearest(name, names()) {
        Some(near) => near.to_owned(),
        None if (1..=MANY).contains(&having.len()) => having.join(" or "),
        None => String::new(),
    };
    let hint = if meant.is_empty() { meant } else { format!(" (did you mean {meant}?)") };
    format!(
        "there is no {section} preset or file of that name{hint}; `ssdlab list {section}s` shows the presets"
    )
}
