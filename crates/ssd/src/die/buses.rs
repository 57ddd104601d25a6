//! The buses between controller and dies: each moves one page at a time, first come first served.

use engine::Time;
use std::collections::VecDeque;

/// Transfer on a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cargo {
    /// Data of a read.
    Read(u32),
    /// A page of a group being loaded into a die.
    Load(u32),
}

#[derive(Debug, Clone, Default)]
struct Bus {
    waiting: VecDeque<(Cargo, Time)>,
    current: Option<(Cargo, Time)>,
    busy_ns: Time,
}

/// All buses.
#[derive(Debug, Clone)]
pub(super) struct Buses(Vec<Bus>);

impl Buses {
    pub(super) fn new(count: u32) -> Buses {
        Buses(memory::filled(Bus::default(), count as usize))
    }

    /// Queues a transfer; when it has crossed, if its turn is now.
    #[inline]
    pub(super) fn send(&mut self, bus: u32, cargo: Cargo, ns: Time, now: Time) -> Option<Time> {
        let bus = &mut self.0[bus as usize];
        if bus.current.is_some() {
            bus.waiting.push_back((cargo, ns));
            return None;
        }
        bus.current = Some((cargo, now));
        Some(now + ns)
    }

    /// Ends a transfer, and returns the end of the next one, if one waits.
    #[inline]
    pub(super) fn crossed(&mut self, bus: u32, now: Time) -> (Cargo, Option<Time>) {
        let bus = &mut self.0[bus as usize];
        let (cargo, since) = bus.current.take().expect("something was crossing");
        bus.busy_ns += now - since;
        let next = bus.waiting.pop_front().map(|(cargo, ns)| {
            bus.current = Some((cargo, now));
            now + ns
        });
        (cargo, next)
    }

    /// Transfers under way or waiting are lost.
    pub(super) fn lose_power(&mut self, now: Time) {
        for bus in &mut self.0 {
            let busy = bus.current.map_or(0, |(_, since)| now - since);
            *bus = Bus { busy_ns: bus.busy_ns + busy, ..Bus::default() };
        }
    }

    /// Time for which each bus was in use up to `end`.
    pub(super) fn busy_ns(&self, end: Time) -> Vec<Time> {
        let busy =
            |bus: &Bus| bus.busy_ns + bus.current.map_or(0, |(_, since)| end.saturating_sub(since));
        self.0.iter().map(busy).collect()
    }
}
