//! The simulated devices.
//!
//! A device is an [`engine::Device`]: a state machine with the time as input. It reads no clock,
//! opens no file and knows no workloads. Each kind is a module with a config section and a row in
//! the table below.

#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
pub mod array;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
pub mod cache;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
pub mod commands;

pub use ssd::clean::Supplied;
pub use ssd::device::*;
pub use {disk, service_law as law, ssd};

use array::ArrayConfig;
use cache::CacheConfig;
use disk::DiskConfig;
use law::LawConfig;
use options::{Idle, Invalid, KeyInfo, Setting, Values};
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

            /// True with simulated flash inside: the device can be prepared, saved and inspected
            /// untimed, and its operations can be recorded.
            pub fn has_flash(&self) -> bool {
                match self { $(Self::$Variant(options) => options.has_flash(),)* }
            }

            /// True if some request takes time, as far as the configuration shows.
            pub fn takes_time(&self) -> bool {
                match self { $(Self::$Variant(options) => options.takes_time(),)* }
            }

            /// Checks that devices of this kind support power cuts.
            ///
            /// # Errors
            /// The reason, with the keys.
            pub fn check_power_cuts(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(options) => options.check_power_cuts(),)* }
            }

            /// Checks that devices of this kind support power cuts as inner devices.
            ///
            /// # Errors
            /// The reason, with the keys.
            pub fn check_cuts_within(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(options) => options.check_cuts_within(),)* }
            }

            /// True if completed writes survive a power cut without a flush.
            pub fn keeps_answers(&self) -> bool {
                match self { $(Self::$Variant(options) => options.keeps_answers(),)* }
            }

            /// Checks that data of this device age.
            ///
            /// # Errors
            /// The reason, with the keys.
            pub fn check_age(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(options) => options.check_age(),)* }
            }

            /// Bytes of the whole device per simulated byte.
            pub fn scale(&self) -> u32 {
                match self { $(Self::$Variant(options) => options.scale(),)* }
            }

            /// Checks that untimed writes may have a pace, during which data age.
            ///
            /// # Errors
            /// The reason, with the keys.
            pub fn check_pace(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(options) => options.check_pace(),)* }
            }

            /// True if untimed writes need a pace.
            pub fn needs_pace(&self) -> bool {
                match self { $(Self::$Variant(options) => options.needs_pace(),)* }
            }

            /// Rejects contradictory keys without building the device, as far as its shape shows
            /// them.
            ///
            /// # Errors
            /// The error names the keys.
            pub fn check_shape(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(options) => options.check_shape(),)* }
            }

            /// Name of the garbage collection policy that must be [supplied](Supplied), if any.
            pub fn policy_name(&self) -> Option<&PolicyName> {
                match self { $(Self::$Variant(options) => options.policy_name(),)* }
            }

            /// Memory for the initial content, bytes, as far as it grows with the content.
            pub fn first_memory(&self) -> u64 {
                match self { $(Self::$Variant(options) => options.first_memory(),)* }
            }

            /// This device without a written page: quick to build, for restoring a state.
            #[must_use]
            pub fn unfilled(&self) -> Self {
                match self {
                    $(Self::$Variant(own) => Self::$Variant(Box::new(own.unfilled())),)*
                }
            }

            /// This device at full scale; `None` if it is at full scale already.
            pub fn whole(&self) -> Option<Self> {
                match self {
                    $(Self::$Variant(own) => own.whole().map(|it| Self::$Variant(Box::new(it))),)*
                }
            }

            /// Builds the device with supplied objects.
            ///
            /// # Errors
            /// For contradictory keys, or missing supplied objects; the error names the keys.
            pub fn build_with(
                &self,
                seed: u64,
                supplied: &Supplied,
            ) -> Result<Box<dyn Model>, Invalid> {
                match self { $(Self::$Variant(options) => options.build_with(seed, supplied),)* }
            }

            /// Builds the device with progress reports: `tick` is called now and then, and may stop
            /// the construction.
            ///
            /// # Errors
            /// Also when `tick` stopped it.
            pub fn build_watched(
                &self,
                seed: u64,
                supplied: &Supplied,
                tick: Tick<'_>,
            ) -> Result<Box<dyn Model>, Unbuilt> {
                match self {
                    $(Self::$Variant(options) => options.build_watched(seed, supplied, tick),)*
                }
            }

            /// Builds a device that needs no supplied objects.
            ///
            /// # Errors
            /// As [`build_with`](Self::build_with).
            pub fn build(&self, seed: u64) -> Result<Box<dyn Model>, Invalid> {
                self.build_with(seed, &Supplied::default())
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
    pub fn each_mut(&mut self) -> Option<&mut array::Each> {
        match self {
            Self::Array(array) => Some(&mut array.each),
            _ => None,
        }
    }

    /// True if only part of the device holds data at the start.
    pub fn is_partly_filled(&self) -> bool {
        match self {
            Self::Ssd(ssd) => (f64::MIN_POSITIVE..1.0).contains(&ssd.fill.share()),
            Self::Array(array) => {
                let mut each = array.each.0.iter().map(|(_, member)| member);
                array.member.is_partly_filled() || each.any(DeviceConfig::is_partly_filled)
            }
            _ => self.within().iter().any(|(_, device)| device.is_partly_filled()),
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
