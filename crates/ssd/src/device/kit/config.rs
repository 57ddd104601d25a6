//! The options that every device with a host link has.

use crate::device::kit::arbitration::{Priorities, Weights};
use options::{Bandwidth, Duration, Invalid, Values, choices, conditions, options, word_or_number};
use std::fmt;

/// The longest time of service that a key may state, ns: longer ones are slips of the unit.
pub const LONGEST_NS: u64 = 1_000_000_000;

choices! {
    /// Order in which waiting requests enter the device when a queue slot becomes free.
    pub enum HostOrder {
        /// In order of arrival.
        Fifo = "fifo",
        /// Ascending addresses from the last request, wrapping (C-LOOK, `DiskSim`'s driver).
        Clook = "clook",
        /// Round-robin over the submission queues, in order of arrival within a queue (NVMe).
        RoundRobin = "round-robin",
        /// Urgent submission queues first, then the classes high, medium and low by weight,
        /// round-robin within a class (NVMe).
        Weighted = "weighted",
    }

    /// Order in which requests are answered.
    pub enum Completions {
        /// In order of completion.
        AsDone = "as-done",
        /// In order of arrival within a submission queue: one that is done waits for those before
        /// it.
        InOrder = "in-order",
    }

    /// Half or full duplex of the host link.
    pub enum Duplex {
        /// One transfer at a time in either direction; completions have priority over new requests.
        Half = "half",
        /// One transfer at a time in each direction, each at the full rate.
        Full = "full",
    }
}

conditions! {
    HostLink:
    LIMITED = "with a limited device.host_link.bandwidth",
        |link| link.bandwidth != Bandwidth::UNLIMITED;
    WAITS = "with a limited device.host_link.queue_depth",
        |link| link.queue_depth != Depth::UNLIMITED;
    IN_TURN = "with device.host_link.order = \"round-robin\" or \"weighted\"",
        |link| matches!(link.order, HostOrder::RoundRobin | HostOrder::Weighted);
    WEIGHS = "with device.host_link.order = \"weighted\"",
        |link| link.order == HostOrder::Weighted;
}

options! {
    /// The connection to the host.
    pub struct HostLink as HostLinkPartial {
        /// Bandwidth of the host link.
        bandwidth: Bandwidth = Bandwidth::UNLIMITED,
        /// Latency of the host link, from sending a request to its arrival at the device.
        latency: Duration = Duration::from_ns(0),
        /// Half duplex (SATA), or reads and writes in both directions at once (SAS, PCI Express).
        duplex: Duplex where LIMITED = Duplex::Half,
        /// Queue depth of the device (NVMe: command slots); further requests wait in the host.
        queue_depth: Depth = Depth::UNLIMITED,
        /// Order in which requests are answered.
        completions: Completions = Completions::AsDone,
        /// Order in which waiting requests are sent.
        order: HostOrder where WAITS = HostOrder::Fifo,
        /// Submission queues of the host, served in turn by `round-robin` and `weighted`. A request of queue n uses
        /// queue n modulo this number.
        queues: u32 where IN_TURN = 1,
        /// Maximum requests of a queue in its turn: 1, 2, 4, ... 64, or `unlimited`, as long as
        /// something waits in it.
        burst: Depth where IN_TURN = Depth::of(1),
        /// The class of each queue in turn.
        priorities: Priorities where WEIGHS = Priorities::medium(),
        /// Weights of these classes: a class may have its weight plus one requests in a round.
        weights: Weights where WEIGHS = Weights([8, 4, 2]),
    }
}

/// Maximum number of queues: an `NVMe` drive has this many besides the admin queue (NVM Express Base
/// Specification, "I/O Submission Queue").
const MOST_QUEUES: u32 = 65_535;

/// The largest burst with a limit: 2^6 (NVM Express Base Specification, "Arbitration").
const MOST_BURST: u32 = 64;

impl HostLink {
    /// Refuses contradictory keys.
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
        let burst = self.burst.requests();
        if self.burst != Depth::UNLIMITED && !(burst <= MOST_BURST && burst.is_power_of_two()) {
            let problem =
                format!("{burst} is no burst; use 1, 2, 4, 8, 16, 32, 64 or \"unlimited\"");
            return Err(Invalid::new(&["device.host_link.burst"], problem));
        }
        if self.priorities.count() > queues as usize {
            let problem = format!(
                "\"{}\" names the classes of {} queues, and there are {queues}",
                self.priorities,
                self.priorities.count()
            );
            return Err(Invalid::new(&["device.host_link.priorities", QUEUES], problem));
        }
        Ok(())
    }
}

/// Most requests in the device: a number, or no limit.
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
