//! Options of an array, and error messages about its members.

use super::redundancy::{
    Failures, HoleRule, ReadCopy, Rebuild, Redundancy, Rotation, Shares, WriteRule,
};
use options::{
    Bandwidth, Duration, Invalid, KeyInfo, Setting, Size, Values, choices, conditions, options,
};
use serde::de::IgnoredAny;
use serde::{Serialize, Serializer};
use ssd::device::DeviceKind;
use ssd::device::kit::config::Duplex;
use ssd::snapshot::ARRAY_KEY;

/// Maximum number of members: more than any controller has ports.
pub(super) const MOST_MEMBERS: u32 = 1024;

choices! {
    /// Mapping of addresses to members.
    pub enum Layout {
        /// In stripe units, round-robin (RAID-0).
        Striped = "striped",
        /// Concatenated; each member is a volume.
        Concatenated = "concatenated",
    }

    /// When members clean.
    pub enum CleaningTogether {
        /// Unlike member cleans on its own.
        Free = "free",
        /// When one member must clean, all that soon must clean with it.
        Synchronized = "synchronized",
        /// One member at a time, while the others can postpone; its data are reconstructed from the
        /// others.
        Staggered = "staggered",
    }
}

conditions! {
    ControllerLink:
    LIMITED = "with a limited device.host_link.bandwidth",
        |link| link.bandwidth != Bandwidth::UNLIMITED;
}

options! {
    /// The link between the host and the controller of an array.
    pub struct ControllerLink as ControllerLinkPartial {
        /// Bandwidth of the host link.
        bandwidth: Bandwidth = Bandwidth::UNLIMITED,
        /// Latency of the host link, from sending a request to its arrival at the controller.
        latency: Duration = Duration::from_ns(0),
        /// Half duplex (SATA), or reads and writes in both directions at once (SAS, PCI Express).
        duplex: Duplex where LIMITED = Duplex::Half,
    }

    /// Identical devices behind one controller. It has as many fields as there are keys directly under
    /// `[device]`.
    pub struct ArrayOptions<D: DeviceKind> as ArrayPartial {
        /// Number of member devices.
        members: u32 = 6,
        /// Mapping of addresses to members.
        layout: Layout = Layout::Striped,
        /// Chunk size: consecutive addresses on one member before the next.
        stripe: Size = Size::from_bytes(64 << 10),
        /// Redundancy against the failure of a member.
        redundancy: Redundancy = Redundancy::None,
        /// Number of copies of a mirror.
        copies: u32 = 2,
        /// Copy of a mirror that serves reads.
        read_copy: ReadCopy = ReadCopy::ShortestQueue,
        /// Rotation of parity over the members.
        parity_rotation: Rotation = Rotation::LeftSymmetric,
        /// Share of the parity on each member, in percent; members with more parity wear out sooner
        /// (Diff-RAID).
        parity_share: Shares = Shares::default(),
        /// Method of updating parity.
        write: WriteRule = WriteRule::Auto,
        /// Start the writes of a stripe only after all reads of its update.
        writes_together: bool = false,
        /// Maximum number of contiguous waiting writes to a stripe that are merged with the first: small
        /// sequential writes become large ones.
        stripe_cache: u32 = 0,
        /// Handling of torn stripes, those being written at a power cut (`run.power_cut`): the
        /// write hole.
        hole: HoleRule = HoleRule::Resync,
        /// Failing members, with their times.
        failed: Failures = Failures::default(),
        /// Hot spares: idle devices that replace failed members.
        spares: u32 = 0,
        /// Source of the content of a failed member's spare.
        rebuild: Rebuild = Rebuild::default(),
        /// When members clean: independently, all together (Harmonia, MSST 2011), or in turn. For SSDs.
        cleaning_together: CleaningTogether = CleaningTogether::Free,
        /// The link between the host and the controller, which all members share.
        host_link: ControllerLink = ControllerLink::default(),
        /// The device of each member.
        member: D = D::default(),
        /// Keys of single members that differ from the others. The smallest member sets the
        /// capacity used of each.
        each: Unlike<D> = Unlike::default(),
    }
}

/// Members whose configuration differs from `member`, by number.
#[derive(Debug, Clone, PartialEq)]
pub struct Unlike<D>(pub Vec<(u32, D)>);

impl<D> Default for Unlike<D> {
    fn default() -> Self {
        Unlike(Vec::new())
    }
}

impl<D: Serialize> Serialize for Unlike<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct One<'a, D> {
            member: u32,
            #[serde(flatten)]
            device: &'a D,
        }
        serializer
            .collect_seq(self.0.iter().map(|(member, device)| One { member: *member, device }))
    }
}

/// The reader of layers resolves it separately, as it does for `member`.
impl<D: DeviceKind> Setting for Unlike<D> {
    type Partial = IgnoredAny;

    fn overlay(_under: &mut IgnoredAny, _over: IgnoredAny) {}

    fn complete(_partial: IgnoredAny, default: Self) -> Self {
        default
    }

    fn describe(path: &str, doc: &str, _default: &Self, rows: &mut Vec<KeyInfo>) {
        rows.push(KeyInfo {
            path: path.to_owned(),
            doc: doc.trim().to_owned(),
            expected: "tables, each with the number of a `member` and keys of a device".to_owned(),
            values: Values::List(Box::new(Values::Section("each"))),
            default: String::new(),
            section: String::new(),
        });
    }
}

/// A member's error, with the key of its section.
pub(super) fn of_member(invalid: Invalid) -> Invalid {
    let keys = invalid.keys.iter().map(|key| in_member(key));
    Invalid { keys: keys.collect(), problem: invalid.problem }
}

/// Key of a member's option.
pub(super) fn in_member(key: &str) -> String {
    key.replacen("device.", "device.member.", 1)
}

/// Keys that a saved state must share with the restoring array: the data layout.
pub(super) fn shape(config: &ArrayOptions<impl DeviceKind>) -> Vec<(String, String)> {
    let pair = |key: &str, value: String| (key.to_owned(), value);
    let mut pairs = vec![
        pair(ARRAY_KEY, config.members.to_string()),
        pair("device.layout", config.layout.to_string()),
    ];
    if config.layout == Layout::Striped {
        pairs.push(pair("device.stripe", config.stripe.to_string()));
    }
    if config.redundancy != Redundancy::None {
        pairs.extend([
            pair("device.redundancy", config.redundancy.to_string()),
            pair("device.copies", config.copies.to_string()),
            pair("device.parity_rotation", config.parity_rotation.to_string()),
            pair("device.parity_share", config.parity_share.to_string()),
        ]);
        if config.hole.has_log() {
            // The log takes space on the members.
            pairs.push(pair("device.hole", config.hole.to_string()));
        }
    }
    pairs
}
