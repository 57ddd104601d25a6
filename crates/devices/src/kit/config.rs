//! The options that every device with a host link has.

use options::{Bandwidth, Duration, Invalid, Values, choices, options, word_or_number};
use std::fmt;

choices! {
    /// The order in which waiting requests enter the device when a place becomes free.
    pub enum HostOrder {
        /// As they came.
        Fifo = "fifo",
        /// Ascending addresses from the last one sent, wrapping (C-LOOK, `DiskSim`'s driver).
        Clook = "clook",
        /// From the submission queues in turn, one of each; within a queue as they came (NVMe).
        RoundRobin = "round-robin",
    }

    /// Whether the two directions of the link are one way or two.
    pub enum Duplex {
        /// One transfer at a time in either direction; answers go before new requests.
        Half = "half",
        /// A transfer at a time in each direction, each at the full rate.
        Full = "full",
    }
}

options! {
    /// The connection to the host.
    pub struct HostLink as HostLinkPartial {
        /// Rate at which data crosses the link.
        bandwidth: Bandwidth = Bandwidth::UNLIMITED,
        /// Time from the host sending a request to the device seeing it.
        latency: Duration = Duration::from_ns(0),
        /// Whether reads and writes cross the link one at a time (SATA) or in both directions at
        /// once (SAS, PCI Express).
        duplex: Duplex = Duplex::Half,
        /// Requests that the device takes at a time (of an NVMe drive: its command slots); more wait
        /// in the host.
        queue_depth: Depth = Depth::UNLIMITED,
        /// Which waiting request is sent next.
        order: HostOrder = HostOrder::Fifo,
        /// Submission queues of the host, between which `round-robin` takes turns. A request of queue
        /// n waits in queue n modulo this.
        queues: u32 = 1,
    }
}

/// Queues at most: an `NVMe` drive has so many beside the one for administration (NVM Express Base
/// Specification, "I/O Submission Queue").
const MOST_QUEUES: u32 = 65_535;

impl HostLink {
    /// Refuses what contradicts itself.
    ///
    /// # Errors
    /// Names the keys.
    pub fn check(&self) -> Result<(), Invalid> {
        const QUEUES: &str = "device.host_link.queues";
        let queues = self.queues;
        if !(1..=MOST_QUEUES).contains(&queues) {
            let problem = format!("a host has 1 to {MOST_QUEUES} submission queues, not {queues}");
            return Err(Invalid::new(&[QUEUES], problem));
        }
        if queues > 1 && self.order != HostOrder::RoundRobin {
            let (order, turns) = (self.order, HostOrder::RoundRobin);
            let problem = format!(
                "{queues} submission queues have no effect with order \"{order}\"; use order \"{turns}\""
            );
            return Err(Invalid::new(&[QUEUES, "device.host_link.order"], problem));
        }
        Ok(())
    }
}

/// How many requests may be in the device: a number, or no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth(u32);

impl Depth {
    /// Every request enters at once.
    pub const UNLIMITED: Depth = Depth(u32::MAX);

    /// At most `requests`, which must be positive.
    pub const fn of(requests: u32) -> Self {
        Depth(requests)
    }

    /// The number of requests; `u32::MAX` without limit.
    pub const fn requests(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::UNLIMITED { f.write_str("unlimited") } else { write!(f, "{}", self.0) }
    }
}

word_or_number!(
    Depth,
    "a positive whole number, or \"unlimited\"",
    Values::Either(vec![
        Values::Whole(1, u64::from(u32::MAX - 1)),
        Values::words(&[("unlimited", "Every request enters at once.")])
    ]),
    |text| (text == "unlimited").then_some(Depth::UNLIMITED),
    |n: f64| (n >= 1.0 && n < f64::from(u32::MAX) && n.fract() == 0.0).then_some(Depth(n as u32)),
    |depth: Depth, serializer: S| match depth {
        Depth::UNLIMITED => serializer.serialize_str("unlimited"),
        Depth(n) => serializer.serialize_u32(n),
    }
);
