//! The options of an array, and the words in which its members' refusals are said.

use super::redundancy::{
    Failures, HoleRule, ReadCopy, Rebuild, Redundancy, Rotation, Shares, WriteRule,
};
use crate::DeviceConfig;
use crate::kit::config::Duplex;
use crate::ssd::snapshot::ARRAY_KEY;
use options::{Bandwidth, Duration, Invalid, KeyInfo, Setting, Size, Values, choices, options};
use serde::de::IgnoredAny;
use serde::{Serialize, Serializer};

/// Members at most: more than any controller has ports.
pub(super) const MOST_MEMBERS: u32 = 1024;

choices! {
    /// How the members share the addresses.
    pub enum Layout {
        /// In stripe units, taken in turn (RAID-0).
        Striped = "striped",
        /// One behind the other, each a volume of its own.
        Concatenated = "concatenated",
    }

    /// When members clean.
    pub enum CleaningTogether {
        /// Each when it has to.
        Free = "free",
        /// As soon as one has to, all that would have to soon.
        Synchronized = "synchronized",
        /// One at a time, as long as the others can wait; what it holds is read from the others.
        Staggered = "staggered",
    }
}

options! {
    /// The link between the host and the controller of an array.
    pub struct ControllerLink as ControllerLinkPartial {
        /// Rate at which data crosses the link.
        bandwidth: Bandwidth = Bandwidth::UNLIMITED,
        /// Time from the host sending a request to the controller seeing it.
        latency: Duration = Duration::from_ns(0),
        /// Whether reads and writes cross the link one at a time (SATA) or in both directions at
        /// once (SAS, PCI Express).
        duplex: Duplex = Duplex::Half,
    }

    /// Identical devices behind one controller. It has as many fields as there are keys directly under
    /// `[device]`.
    pub struct ArrayConfig as ArrayPartial {
        /// How many devices.
        members: u32 = 6,
        /// How they share the addresses.
        layout: Layout = Layout::Striped,
        /// What a member holds of consecutive addresses before the next one's turn: a chunk.
        stripe: Size = Size::from_bytes(64 << 10),
        /// What outlives the failure of a member.
        redundancy: Redundancy = Redundancy::None,
        /// Copies of a mirror.
        copies: u32 = 2,
        /// Which copy a mirror reads.
        read_copy: ReadCopy = ReadCopy::ShortestQueue,
        /// How parity goes round the members.
        parity_rotation: Rotation = Rotation::LeftSymmetric,
        /// The share of the parity that each member holds, percent, which add up to 100. Members with
        /// more parity wear out sooner (Diff-RAID, EuroSys 2010).
        parity_share: Shares = Shares::default(),
        /// What is read before parity is written.
        write: WriteRule = WriteRule::Auto,
        /// Nothing of a stripe is written before all that has to be read of it has been read.
        writes_together: bool = false,
        /// Writes that wait for a stripe and go on from one another are done together, at most so many
        /// with the first: small sequential writes become large ones.
        stripe_cache: u32 = 0,
        /// What is done about stripes that were being written when the power went (`run.power_cut`).
        hole: HoleRule = HoleRule::Resync,
        /// Members that fail, and when.
        failed: Failures = Failures::default(),
        /// Idle devices, each of which takes the place of a member that fails.
        spares: u32 = 0,
        /// How the content of a failed member comes to a spare.
        rebuild: Rebuild = Rebuild::default(),
        /// When members clean: each by itself, all together (Harmonia, MSST 2011), or by turns. Of SSDs
        /// without a write buffer.
        cleaning_together: CleaningTogether = CleaningTogether::Free,
        /// The link between the host and the controller, which all members share.
        host_link: ControllerLink = ControllerLink::default(),
        /// Each of the devices.
        member: DeviceConfig = DeviceConfig::Ssd(Box::default()),
        /// Members unlike the others: what they have of their own. The smallest decides what is used of
        /// each.
        each: Each = Each::default(),
    }
}

/// The members that are not as the key `member` says, by their numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Each(pub Vec<(u32, DeviceConfig)>);

impl Serialize for Each {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            member: u32,
            #[serde(flatten)]
            device: &'a DeviceConfig,
        }
        serializer
            .collect_seq(self.0.iter().map(|(member, device)| One { member: *member, device }))
    }
}

/// Like a member, which whoever reads layers resolves by itself.
impl Setting for Each {
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

/// The error of a member, in the keys of its section.
pub(super) fn of_member(invalid: Invalid) -> Invalid {
    let keys = invalid.keys.iter().map(|key| in_member(key));
    Invalid { keys: keys.collect(), problem: invalid.problem }
}

/// A key of a device, of one that is a member.
pub(super) fn in_member(key: &str) -> String {
    key.replacen("device.", "device.member.", 1)
}

/// The keys that an array must share with the one whose state it takes up: where data lie.
pub(super) fn shape(config: &ArrayConfig) -> Vec<(String, String)> {
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
            // It takes room of the members.
            pairs.push(pair("device.hole", config.hole.to_string()));
        }
    }
    pairs
}
