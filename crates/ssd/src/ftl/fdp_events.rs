//! Events of placement handles, caused by the host or by the drive.
//!
//! Event numbers are those of the FDP event log page. The last of each origin are kept, all are
//! counted.

use std::collections::VecDeque;

/// Stored events by origin: the capacity of a log page.
const KEPT_EVENTS: usize = 63;

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A handle was given its next reclaim unit before its unit was full.
    UnitNotFull,
    /// The unit of a handle exceeded its open time.
    TimeLimit,
    /// A reset, which is here a power cut, has closed a unit that was not full.
    ResetChanged,
    /// A write named a handle that there is not.
    InvalidHandle,
    /// The drive has moved data of the host.
    MediaReallocated,
    /// The drive has given a handle another reclaim unit.
    HandleModified,
}

impl EventKind {
    /// All kinds in order of number.
    pub const ALL: [EventKind; 6] = [
        EventKind::UnitNotFull,
        EventKind::TimeLimit,
        EventKind::ResetChanged,
        EventKind::InvalidHandle,
        EventKind::MediaReallocated,
        EventKind::HandleModified,
    ];

    /// Number in a log page.
    pub fn code(self) -> u8 {
        match self {
            EventKind::UnitNotFull => 0,
            EventKind::TimeLimit => 1,
            EventKind::ResetChanged => 2,
            EventKind::InvalidHandle => 3,
            EventKind::MediaReallocated => 0x80,
            EventKind::HandleModified => 0x81,
        }
    }

    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::UnitNotFull => "unit_not_full",
            EventKind::TimeLimit => "time_limit",
            EventKind::ResetChanged => "reset_changed",
            EventKind::InvalidHandle => "invalid_handle",
            EventKind::MediaReallocated => "media_reallocated",
            EventKind::HandleModified => "handle_modified",
        }
    }

    /// True for host events.
    pub fn is_hosts(self) -> bool {
        self.code() < 0x80
    }
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FdpEvent {
    /// Kind.
    pub kind: EventKind,
    /// Handle concerned, if any.
    pub handle: Option<u8>,
    /// The handle that a write named.
    pub named: Option<u8>,
    /// First sector concerned, if known.
    pub sector: Option<u64>,
    /// Number of sectors.
    pub sectors: u32,
    /// Host bytes submitted before, since counts began: the drive's account has no clock.
    pub after_bytes: u64,
}

/// Events: the last of each origin, and how many there were.
#[derive(Debug, Clone, Default)]
pub struct Events {
    hosts: VecDeque<FdpEvent>,
    own: VecDeque<FdpEvent>,
    counts: [u64; EventKind::ALL.len()],
}

impl Events {
    /// Notes an event.
    pub fn note(&mut self, event: FdpEvent) {
        self.counts[event.kind as usize] += 1;
        let ring = if event.kind.is_hosts() { &mut self.hosts } else { &mut self.own };
        if ring.len() == KEPT_EVENTS {
            ring.pop_front();
        }
        ring.push_back(event);
    }

    /// Number of events of each kind.
    pub fn counts(&self) -> [u64; EventKind::ALL.len()] {
        self.counts
    }

    /// Stored events of one origin, oldest first.
    pub fn kept(&self, of_host: bool) -> Vec<FdpEvent> {
        if of_host { &self.hosts } else { &self.own }.iter().copied().collect()
    }

    /// Resets counts and stored events.
    pub fn forget(&mut self) {
        *self = Events::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept_and_all_are_counted() {
        let mut events = Events::default();
        for number in 0..300 {
            let kind = EventKind::ALL[number % 6];
            let sector = Some(number as u64);
            let (handle, named, sectors) = (Some(1), None, 8);
            events.note(FdpEvent { kind, handle, named, sector, sectors, after_bytes: 0 });
        }
        assert_eq!(events.counts(), [50; 6]);
        let (hosts, own) = (events.kept(true), events.kept(false));
        assert_eq!((hosts.len(), own.len()), (KEPT_EVENTS, KEPT_EVENTS));
        assert!(
            hosts.iter().all(|it| it.kind.code() < 0x80)
                && own.iter().all(|it| it.kind.code() >= 0x80)
        );
        assert_eq!(hosts.last().unwrap().sector, Some(297));
        assert!(hosts.windows(2).all(|it| it[0].sector < it[1].sector));
    }

    #[test]
    fn kinds_stand_in_the_order_of_their_numbers() {
        assert!(EventKind::ALL.windows(2).all(|it| it[0].code() < it[1].code()));
        for (place, kind) in EventKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
        }
    }
}
