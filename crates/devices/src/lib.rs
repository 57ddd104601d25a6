//! Everything that answers: the simulated devices.
//!
//! A device is an [`engine::Device`]: a state machine that gets the time as input. It reads no
//! clock, opens no file and knows nothing of workloads. Each kind is one module with its own config
//! section and one row in the table below.

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

/// Declares name, variant and options of each kind; and other words for it, with the defaults for
/// which each stands.
macro_rules! devices {
    ($(
        $word:ident: $Variant:ident($Options:ty) $(or { $($other:ident: $default:expr),* $(,)? })?
    ),* $(,)?) => {
        /// A device as configured: its kind and all its options, written with the word `kind`.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum DeviceConfig {
            $(
                #[doc = concat!("Kind `", stringify!($word), "`.")]
                $Variant(Box<$Options>),
            )*
        }

        impl DeviceConfig {
            /// The kind of that name with what the layers say, later ones over earlier ones, and
            /// defaults for the rest. A layer must not contain the word `kind` itself.
            ///
            /// # Errors
            /// `None` when the kind is unknown; else which layer has an unknown key or an
            /// ill-formed value, and what its deserializer says.
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

            /// The word of the kind.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$Variant(_) => stringify!($word),)* }
            }

            /// Keys without effect under the other values, not the keys of devices within it.
            pub fn idle(&self) -> Vec<Idle> {
                match self { $(Self::$Variant(own) => options::idle("", &**own),)* }
            }

            /// This configuration with the default of each key that has no effect.
            #[must_use]
            pub fn settled(self) -> Self {
                match self {
                    $(Self::$Variant(own) => Self::$Variant(Box::new(options::settled(*own))),)*
                }
            }

            /// True if there is simulated flash inside: a state that can be prepared, saved and
            /// found out without time, and operations that can be recorded.
            pub fn has_flash(&self) -> bool {
                match self { $(Self::$Variant(options) => options.has_flash(),)* }
            }

            /// True if any request takes time, judging by the configuration alone.
            pub fn takes_time(&self) -> bool {
                match self { $(Self::$Variant(options) => options.takes_time(),)* }
            }

            /// Checks that devices of this kind support power cuts.
            ///
            /// # Errors
            /// Why not, with the keys to blame.
            pub fn check_power_cuts(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(options) => options.check_power_cuts(),)* }
            }

            /// Checks that they can be cut as members of another device.
            ///
            /// # Errors
            /// Why not, with the keys to blame.
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
            /// Why not, with the keys to blame.
            pub fn check_age(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(options) => options.check_age(),)* }
            }

            /// Bytes of the whole device for one simulated byte.
            pub fn scale(&self) -> u32 {
                match self { $(Self::$Variant(options) => options.scale(),)* }
            }

            /// Checks that untimed writes may have a pace, at which data age.
            ///
            /// # Errors
            /// Why not, with the keys to blame.
            pub fn check_pace(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(options) => options.check_pace(),)* }
            }

            /// True if it must have one.
            pub fn needs_pace(&self) -> bool {
                match self { $(Self::$Variant(options) => options.needs_pace(),)* }
            }

            /// Refuses contradictory keys, without building the device: as far as its shape shows
            /// it.
            ///
            /// # Errors
            /// The error names the keys.
            pub fn check_shape(&self) -> Result<(), Invalid> {
                match self { $(Self::$Variant(options) => options.check_shape(),)* }
            }

            /// The name of the cleaning policy that must be [supplied](Supplied), if it has one.
            pub fn policy_name(&self) -> Option<&PolicyName> {
                match self { $(Self::$Variant(options) => options.policy_name(),)* }
            }

            /// Memory for the initial content, bytes, as far as it grows with the content.
            pub fn first_memory(&self) -> u64 {
                match self { $(Self::$Variant(options) => options.first_memory(),)* }
            }

            /// This device without a written page: quick to build, to take up a state.
            #[must_use]
            pub fn unfilled(&self) -> Self {
                match self {
                    $(Self::$Variant(own) => Self::$Variant(Box::new(own.unfilled())),)*
                }
            }

            /// This device simulated whole; nothing where it is.
            pub fn whole(&self) -> Option<Self> {
                match self {
                    $(Self::$Variant(own) => own.whole().map(|it| Self::$Variant(Box::new(it))),)*
                }
            }

            /// Builds the device with supplied objects.
            ///
            /// # Errors
            /// For contradictory keys, or for objects that are not supplied; the error
            /// names the keys.
            pub fn build_with(
                &self,
                seed: u64,
                supplied: &Supplied,
            ) -> Result<Box<dyn Model>, Invalid> {
                match self { $(Self::$Variant(options) => options.build_with(seed, supplied),)* }
            }

            /// Builds the device with progress reports: `tick` is called now and then, and may end
            /// this.
            ///
            /// # Errors
            /// Also when it was ended.
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

            /// Builds a device whose configuration is all there is to it.
            ///
            /// # Errors
            /// As [`build_with`](Self::build_with).
            pub fn build(&self, seed: u64) -> Result<Box<dyn Model>, Invalid> {
                self.build_with(seed, &Supplied::default())
            }
        }

        /// Appends the reference of the keys of a kind, with their defaults.
        pub fn describe(kind: &str, rows: &mut Vec<KeyInfo>) {
            match kind {
                $(stringify!($word) => {
                    <$Options>::describe("device", "", &<$Options>::default(), rows);
                })*
                _ => {}
            }
        }

        /// Every kind: its word and what it is.
        pub fn kinds() -> &'static [(&'static str, &'static str)] {
            &[$((stringify!($word), <$Options>::SUMMARY)),*]
        }

        /// Every other word for a kind, and that kind.
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

/// The names of sections in which devices stand that others are made of.
pub const SECTIONS_WITHIN: [&str; 4] = ["member", "each", "fast", "backing"];

/// The kind that a word means, if it means one.
pub fn kind_of(word: &str) -> Option<&'static str> {
    let own = kinds().iter().map(|(kind, _)| (*kind, *kind));
    own.chain(other_words().iter().copied()).find_map(|(it, kind)| (it == word).then_some(kind))
}

impl DeviceConfig {
    /// Where the members of an array stand that are unlike the others.
    pub fn each_mut(&mut self) -> Option<&mut array::Each> {
        match self {
            Self::Array(array) => Some(&mut array.each),
            _ => None,
        }
    }

    /// True if a part of it, and not all, holds data at the start.
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

    /// The devices that this one is made of, with the names of their sections.
    pub fn within(&self) -> Vec<(&'static str, &DeviceConfig)> {
        match self {
            Self::Array(array) => vec![("member", &array.member)],
            Self::Cache(cache) => cache.both().into(),
            _ => Vec::new(),
        }
    }

    /// The sections, to be changed.
    pub fn within_mut(&mut self) -> Vec<(&'static str, &mut DeviceConfig)> {
        match self {
            Self::Array(array) => vec![("member", &mut array.member)],
            Self::Cache(cache) => cache.both_mut().into(),
            _ => Vec::new(),
        }
    }
}

/// A device within a device: a section with a kind of its own. [`DeviceConfig::resolve`] skips it; the
/// reader of layers resolves it separately and puts it in its [place](DeviceConfig::within_mut).
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
