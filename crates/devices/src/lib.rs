//! The simulated devices.
//!
//! A device is an [`engine::Device`]: a state machine with the time as input. It reads no clock,
//! opens no file and knows no workloads. Each kind is a crate with a config section and a row in
//! the table below.

pub use ssd::clean::Supplied;
pub use ssd::device::*;
pub use {disk, service_law as law, ssd};

/// Arrays of devices of any kind.
pub mod array {
    pub use ::array::*;

    /// Options of an array of devices of any kind.
    pub type ArrayConfig = ::array::ArrayOptions<crate::DeviceConfig>;
}

/// Caches of devices of any kind.
pub mod cache {
    pub use cache_device::*;

    /// Options of a cache made of two devices of any kind.
    pub type CacheConfig = cache_device::CacheOptions<crate::DeviceConfig>;
}

use self::array::ArrayConfig;
use self::cache::{CacheConfig, Halves};
use disk::DiskConfig;
use law::LawConfig;
use options::{Idle, Invalid, KeyInfo, Setting, Size, Values};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use ssd::SsdConfig;
use ssd::config::PolicyName;
use ssd::zoned::ZonedConfig;

/// Declares name, variant and options of each kind; and alternative words, with the kind and
/// defaults for which each stands.
macro_rules! devices {
    ($(
        $word:ident: $Variant:ident($Options:ty) $(or { $($other:ident: $default:expr),* $(,)? })?
    ),* $(,)?) => {
        /// A configured device: its kind and all options, serialised with the word `kind`.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum DeviceConfig {
            $(
                #[doc = concat!("Kind `", stringify!($word), "`.")]
                $Variant(Box<$Options>),
            )*
        }

        impl DeviceConfig {
            /// The kind with the given name, with the options of the layers (later ones override
            /// earlier ones) and defaults for the rest. A layer must not contain the word `kind`.
            ///
            /// # Errors
            /// `None` for an unknown kind; otherwise the layer with an unknown key or an invalid
            /// value, and the deserializer's error.
            pub fn resolve<'de, D: Deserializer<'de>>(
                kind: &str,
                layers: impl IntoIterator<Item = D>,
            ) -> Result<Self, Option<(usize, D::Error)>> {
                match kind {
                    $(stringify!($word) => {
                        let options = merged(layers, <$Options>::default()).map_err(Some)?;
                        Ok(Self::$Variant(Box::new(options)))
                    })*
                    $($($(stringify!($other) => {
                        let options = merged(layers, $default).map_err(Some)?;
                        Ok(Self::$Variant(Box::new(options)))
                    })*)?)*
                    _ => Err(None),
                }
            }

            /// Name of the kind.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$Variant(_) => stringify!($word),)* }
            }

            /// Keys that have no effect with the other values, without the keys of inner devices.
            pub fn idle(&self) -> Vec<Idle> {
                match self { $(Self::$Variant(own) => options::idle("", &**own),)* }
            }

            /// This configuration, with defaults for all keys that have no effect.
            #[must_use]
            pub fn settled(self) -> Self {
                match self {
                    $(Self::$Variant(own) => Self::$Variant(Box::new(options::settled(*own))),)*
                }
            }
        }

        impl DeviceKind for DeviceConfig {
            const SUMMARY: &'static str = "A device of any kind.";

            fn has_flash(&self) -> bool {
                match self { $(Self::$Variant(own) => own.has_flash(),)* }
            }

            fn takes_time(&self) -> bool {
                match self { $(Self::$Variant(own) => own.takes_time(),)* }
            }

            fn check_power_cuts(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(own) => own.check_power_cuts(),)* }
            }

            fn check_cuts_within(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(own) => own.check_cuts_within(),)* }
            }

            fn check_cuts_in_array(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(own) => own.check_cuts_in_array(),)* }
            }

            fn is_partly_filled(&self) -> bool {
                match self { $(Self::$Variant(own) => own.is_partly_filled(),)* }
            }

            fn keeps_answers(&self) -> bool {
                match self { $(Self::$Variant(own) => own.keeps_answers(),)* }
            }

            fn check_age(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(own) => own.check_age(),)* }
            }

            fn scale(&self) -> u32 {
                match self { $(Self::$Variant(own) => own.scale(),)* }
            }

            fn check_pace(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(own) => own.check_pace(),)* }
            }

            fn needs_pace(&self) -> bool {
                match self { $(Self::$Variant(own) => own.needs_pace(),)* }
            }

            fn check_shape(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(own) => own.check_shape(),)* }
            }

            fn policy_name(&self) -> Option<&PolicyName> {
                match self { $(Self::$Variant(own) => own.policy_name(),)* }
            }

            fn first_memory(&self) -> u64 {
                match self { $(Self::$Variant(own) => own.first_memory(),)* }
            }

            fn unfilled(&self) -> Self {
                match self {
                    $(Self::$Variant(own) => Self::$Variant(Box::new(own.unfilled())),)*
                }
            }

            fn whole(&self) -> Option<Self> {
                match self {
                    $(Self::$Variant(own) => own.whole().map(|it| Self::$Variant(Box::new(it))),)*
                }
            }

            fn build_watched(
                &self,
                seed: u64,
                supplied: &Supplied,
                tick: Tick<'_>,
            ) -> Result<Box<dyn Model>, Unbuilt> {
                match self { $(Self::$Variant(own) => own.build_watched(seed, supplied, tick),)* }
            }
        }

        /// Appends the reference of a kind's keys, with their defaults.
        pub fn describe(kind: &str, rows: &mut Vec<KeyInfo>) {
            match kind {
                $(stringify!($word) => {
                    <$Options>::describe("device", "", &<$Options>::default(), rows);
                })*
                _ => {}
            }
        }

        /// All kinds with their descriptions.
        pub fn kinds() -> &'static [(&'static str, &'static str)] {
            &[$((stringify!($word), <$Options>::SUMMARY)),*]
        }

        /// All alternative words, with their kinds.
        pub fn other_words() -> &'static [(&'static str, &'static str)] {
            &[$($($((stringify!($other), stringify!($word)),)*)?)*]
        }
    };
}

devices! {
    ssd: Ssd(SsdConfig),
    law: Law(LawConfig) or {
        linear: LawConfig::default(),
        piecewise: LawConfig::by_size(),
        parallel: LawConfig::default(),
    },
    array: Array(ArrayConfig),
    disk: Disk(DiskConfig),
    zoned: Zoned(ZonedConfig),
    cache: Cache(CacheConfig),
}

/// Names of the sections of inner devices.
pub const SECTIONS_WITHIN: [&str; 4] = ["member", "each", "fast", "backing"];

/// The kind for a word, if any.
pub fn kind_of(word: &str) -> Option<&'static str> {
    let own = kinds().iter().map(|(kind, _)| (*kind, *kind));
    own.chain(other_words().iter().copied()).find_map(|(it, kind)| (it == word).then_some(kind))
}

impl DeviceConfig {
    /// The configurations of an array's unlike members.
    pub fn each_mut(&mut self) -> Option<&mut array::Unlike<DeviceConfig>> {
        match self {
            Self::Array(array) => Some(&mut array.each),
            _ => None,
        }
    }

    /// Inner devices, with the names of their sections.
    pub fn within(&self) -> Vec<(&'static str, &DeviceConfig)> {
        match self {
            Self::Array(array) => vec![("member", &array.member)],
            Self::Cache(cache) => cache.both().into(),
            _ => Vec::new(),
        }
    }

    /// Inner devices, mutable.
    pub fn within_mut(&mut self) -> Vec<(&'static str, &mut DeviceConfig)> {
        match self {
            Self::Array(array) => vec![("member", &mut array.member)],
            Self::Cache(cache) => cache.both_mut().into(),
            _ => Vec::new(),
        }
    }
}

/// The device of an array's members, unless they name another.
impl Default for DeviceConfig {
    fn default() -> Self {
        DeviceConfig::Ssd(Box::default())
    }
}

impl Halves for DeviceConfig {
    /// 1 GiB of battery-backed memory, as in array controllers.
    fn fast() -> Self {
        let law = LawConfig { size: Size::from_bytes(1 << 30), ..LawConfig::default() };
        DeviceConfig::Law(Box::new(law))
    }

    fn backing() -> Self {
        DeviceConfig::Disk(Box::default())
    }
}

/// An inner device: a section with its own kind. [`DeviceConfig::resolve`] skips it; the reader of
/// layers resolves it separately and puts it in its [place](DeviceConfig::within_mut).
impl Setting for DeviceConfig {
    type Partial = IgnoredAny;

    fn overlay(_under: &mut IgnoredAny, _over: IgnoredAny) {}

    fn complete(_partial: IgnoredAny, default: Self) -> Self {
        default
    }

    fn describe(path: &str, doc: &str, _default: &Self, rows: &mut Vec<KeyInfo>) {
        rows.push(KeyInfo {
            path: path.to_owned(),
            doc: doc.trim().to_owned(),
            expected: "a section like device itself, with its own kind or preset".to_owned(),
            values: Values::Section("device"),
            default: String::new(),
            section: String::new(),
        });
    }
}

fn merged<'de, T: DeviceKind, D: Deserializer<'de>>(
    layers: impl IntoIterator<Item = D>,
    default: T,
) -> Result<T, (usize, D::Error)> {
    let mut partial = T::Partial::default();
    for (index, layer) in layers.into_iter().enumerate() {
        let over = T::Partial::deserialize(layer).map_err(|error| (index, error))?;
        <T as DeviceKind>::overlay(&mut partial, over);
    }
    Ok(<T as Setting>::complete(partial, default))
}
