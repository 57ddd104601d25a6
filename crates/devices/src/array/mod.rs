//! An array: devices behind one controller, striped (RAID-0) or one behind the other.
//!
//! A request is cut into one part for each member that it touches: the stripe units that a member
//! holds of a range lie side by side in it. The request is answered when its last part is. Time
//! belongs to the members; the array's next event is the earliest of theirs and its own link's.

mod active;
mod apart;
mod config;
mod device;
mod each;
mod kind;
mod layout;
mod model;
mod parts;
mod raid;
mod redundancy;
mod report;
mod side_by_side;
mod sides;
mod steering;

pub use config::{
    ArrayConfig, ArrayPartial, CleaningTogether, ControllerLink, ControllerLinkPartial, Each,
    Layout,
};
pub use raid::Raid;
pub use redundancy::{
    Failures, HoleRule, ReadCopy, Rebuild, RebuildPartial, Redundancy, Rotation, Shares, WriteRule,
};

use crate::kit::config::HostLink;
use crate::kit::link::Link;
use crate::kit::slots::Slots;
use crate::{Model, Supplied, Tick, Unbuilt};
use active::Active;
use config::MOST_MEMBERS;
use engine::{Completion, EventQueue, Time};
use layout::Stripes;
use options::Invalid;
use steering::Steering;

/// Devices behind one controller. Its fields are what it does, and two ways of doing it in parts.
pub struct Array {
    members: Vec<Box<dyn Model>>,
    /// When the next event of each member is; the end of time where it has none.
    due: Vec<Time>,
    stripes: Stripes,
    layout: Layout,
    /// No member is unlike the others.
    alike: bool,
    /// What of the configuration its state depends on, beside that of its members.
    shape: Vec<(String, String)>,
    link: Link,
    steering: Steering,
    events: EventQueue,
    active: Slots<Active>,
    /// Parts that a member has completed; empty between calls.
    parts: Vec<Completion>,
    /// Answered outside of [`Device::advance`].
    done: Vec<Completion>,
    /// Pages on their way to each member; empty between calls.
    batches: Vec<Vec<u64>>,
    /// Its members ask one and the same policy, which is none of ours.
    shares_policy: bool,
    /// Into how many parts it is divided.
    divided: u32,
    /// Its sides, while they are driven by themselves; then its members are there.
    in_sides: Option<sides::InSides>,
    /// Parts of requests that each member had not answered when they came back; none else.
    outstanding: Vec<u64>,
}

impl Array {
    /// An array of devices in their initial state.
    ///
    /// # Errors
    /// When the configuration contradicts itself, the error names the keys; or when `tick` ended it.
    pub fn new(
        config: &ArrayConfig,
        seed: u64,
        supplied: &Supplied,
        tick: Tick<'_>,
    ) -> Result<Array, Unbuilt> {
        let count = config.members;
        if count == 0 || count > MOST_MEMBERS {
            let problem = format!("an array has 1 to {MOST_MEMBERS} members, not {count}");
            return Err(Invalid::new(&["device.members"], problem).into());
        }
        let mut members = config.build_drives(0, seed, supplied, tick)?;
        refuse_idle(config)?;
        let stripes = Stripes::new(config, smallest(&members))?;
        let steering = Steering::new(config, &mut members)?;
        let link = HostLink {
            bandwidth: config.host_link.bandwidth,
            latency: config.host_link.latency,
            duplex: config.host_link.duplex,
            ..HostLink::default()
        };
        Ok(Array {
            batches: vec![Vec::new(); members.len()],
            shares_policy: config.member.policy_name().is_some(),
            divided: 1,
            in_sides: None,
            outstanding: Vec::new(),
            due: all_due(&members),
            members,
            stripes,
            steering,
            layout: config.layout,
            alike: config.each.0.is_empty(),
            shape: config::shape(config),
            link: Link::new(&link),
            events: EventQueue::new(),
            active: Slots::new(),
            parts: Vec::new(),
            done: Vec::new(),
        })
    }
}

/// When the next event of each drive is.
fn all_due(drives: &[Box<dyn Model>]) -> Vec<Time> {
    drives.iter().map(|drive| drive.next_event().unwrap_or(Time::MAX)).collect()
}

/// What the smallest of some drives holds, sectors: nothing is used of the others beyond.
fn smallest(drives: &[Box<dyn Model>]) -> u64 {
    drives.iter().map(|drive| drive.capacity_sectors()).min().unwrap_or(0)
}

/// Refuses what an array without redundancy has no use for.
fn refuse_idle(config: &ArrayConfig) -> Result<(), Invalid> {
    let default = ArrayConfig::default();
    let key = match config {
        _ if config.failed != default.failed => "device.failed",
        _ if config.spares > 0 => "device.spares",
        _ if config.hole != default.hole => "device.hole",
        _ if config.parity_share != default.parity_share => "device.parity_share",
        _ => return Ok(()),
    };
    let problem =
        "failing a member of an array without redundancy loses its data; set device.redundancy";
    Err(Invalid::new(&[key, "device.redundancy"], problem))
}
