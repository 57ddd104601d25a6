//! Heads and media: when a range of sectors is read or written.

use super::curve::Curve;
use super::geometry::{Geometry, Place};
use super::spindle::Spindle;
use super::standby::Standby;
use engine::Time;

/// The moving parts of a disk.
#[derive(Debug, Clone)]
pub(super) struct Mechanics {
    pub(super) geometry: Geometry,
    pub(super) spindle: Spindle,
    pub(super) curve: Curve,
    /// Additional settle time of a seek before a write.
    pub(super) write_settle: Time,
    /// Additional settle time of a seek before a read.
    pub(super) read_settle: Time,
    /// Head switch time.
    pub(super) head_switch: Time,
    /// Cylinder of the heads.
    pub(super) cylinder: u32,
    pub(super) surface: u32,
    /// Track of the heads after the seek: first sector, end sector, sectors per track.
    pub(super) track: (u64, u64, u32),
    /// Cached position of one sector.
    pub known: Option<(u64, Place)>,
    /// State of the spindle.
    pub standby: Standby,
}

/// Arrival of the heads at a sector.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub place: Place,
    /// End of the seek.
    pub settled: Time,
    /// Time at which the sector begins to pass.
    pub begin: Time,
}

/// Consecutive sectors of one track passing the heads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    pub(super) begin: Time,
    pub(super) sectors: u64,
    /// Sectors per track.
    pub(super) on_track: u32,
    pub(super) end: Time,
}

impl Mechanics {
    /// Seek time to a place.
    pub(super) fn seek(&self, place: &Place, is_write: bool) -> Time {
        let seek = self.curve.time(self.cylinder.abs_diff(place.cylinder));
        self.with_switch(seek, place.surface, is_write)
    }

    /// Seek time including a head switch.
    pub fn with_switch(&self, seek: Time, surface: u32, is_write: bool) -> Time {
        let time = if self.surface == surface { seek } else { seek.max(self.head_switch) };
        let settle = if is_write { self.write_settle } else { self.read_settle };
        if time > 0 { time + settle } else { time }
    }

    /// Arrival at a sector, for heads that are free from `at`.
    pub(super) fn estimate(&self, at: Time, sector: u64, is_write: bool) -> Arrival {
        let place = match self.known {
            Some((known, place)) if known == sector => place,
            _ => self.geometry.place(sector),
        };
        let settled = at + self.seek(&place, is_write);
        let begin = settled + self.spindle.wait(settled, place.turn, place.on_track);
        Arrival { place, settled, begin }
    }

    /// Caches the position of a sector that may be served next.
    #[inline]
    pub fn note_place(&mut self, sector: u64, place: Place) {
        self.known = Some((sector, place));
    }

    /// Moves the heads to a sector.
    pub(super) fn go(&mut self, at: Time, sector: u64, is_write: bool) -> Arrival {
        let arrival = self.estimate(at, sector, is_write);
        let Place { cylinder, surface, track, on_track, .. } = arrival.place;
        (self.cylinder, self.surface) = (cylinder, surface);
        self.track = (track.0, track.1, on_track);
        arrival
    }

    /// Track of a sector: end sector, and sectors per track.
    pub fn track_of(&self, sector: u64) -> (u64, u32) {
        let (first, end, on_track) = self.track;
        if (first..end).contains(&sector) {
            return (end, on_track);
        }
        let place = self.geometry.place(sector);
        (place.track.1, place.on_track)
    }

    /// Reads or writes sectors up to `end`, starting at the arrival; reports each stretch of a
    /// track. Returns the time after the last sector.
    pub(super) fn transfer(
        &mut self,
        arrival: Arrival,
        mut sector: u64,
        end: u64,
        is_write: bool,
        mut tell: impl FnMut(Pass),
    ) -> Time {
        let Arrival { mut place, mut begin, .. } = arrival;
        loop {
            let sectors = end.min(place.track.1) - sector;
            let after = begin + self.spindle.pass(sectors, place.on_track);
            tell(Pass { begin, sectors, on_track: place.on_track, end: after });
            sector += sectors;
            if sector >= end {
                return after;
            }
            let next = self.go(after, sector, is_write);
            (place, begin) = (next.place, next.begin);
        }
    }
}

/// Transfer of read data from the media through the buffer to the host.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToHost {
    /// Bus time per sector.
    bus: Time,
    /// Requested sectors, sectors reported so far, and sectors needed before the transfer starts.
    wanted: u64,
    told: u64,
    enough: u64,
    /// Time at which the last reported sector is sent.
    sent: Time,
    /// Earliest start of the transfer.
    enough_at: Time,
}

impl ToHost {
    /// A transfer that starts no earlier than `from`, once the share `send_at` is buffered.
    pub(super) fn new(bus: Time, from: Time, wanted: u64, send_at: f64) -> ToHost {
        let enough = (wanted as f64 * send_at).ceil() as u64;
        ToHost { bus, wanted, told: 0, enough, sent: from, enough_at: from }
    }

    /// Reports sectors that are buffered from the start.
    pub(super) fn held(&mut self, sectors: u64) {
        self.told += sectors;
        self.sent += sectors * self.bus;
    }

    /// Reports sectors that pass the heads.
    pub(super) fn pass(&mut self, pass: Pass, spindle: &Spindle) {
        let one = spindle.pass(1, pass.on_track);
        self.sent = if self.bus >= one {
            self.sent.max(pass.begin + one) + pass.sectors * self.bus
        } else {
            (self.sent + pass.sectors * self.bus).max(pass.end + self.bus)
        };
        if self.told < self.enough && self.enough <= self.told + pass.sectors {
            let of_pass = spindle.pass(self.enough - self.told, pass.on_track);
            self.enough_at = self.enough_at.max(pass.begin + of_pass);
        }
        self.told += pass.sectors;
    }

    /// Time at which the last sector is sent.
    pub(super) fn end(&self) -> Time {
        self.sent.max(self.enough_at + self.wanted * self.bus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference model, sector by sector: each sector is sent once it is available and its
    /// predecessor is sent, and none before `enough` are available. Buffered sectors are available
    /// from the start; the rest passes in stretches.
    fn one_by_one(bus: Time, from: Time, enough: u64, held: u64, passes: &[Pass]) -> Time {
        let spindle = Spindle::new(7_200, 0.0);
        let mut there = vec![from; held as usize];
        for pass in passes {
            there.extend((1..=pass.sectors).map(|it| pass.begin + spindle.pass(it, pass.on_track)));
        }
        let start = enough.checked_sub(1).map_or(from, |last| there[last as usize]).max(from);
        there.iter().fold(start, |sent, there| sent.max(*there) + bus)
    }

    /// For all reads, with any buffered part and number of tracks: the last sector crosses the bus
    /// after it has been read.
    #[test]
    fn data_reach_the_host_when_sending_them_sector_by_sector_would_end() {
        let spindle = Spindle::new(7_200, 0.0);
        let sector = spindle.pass(1, 500);
        for bus in [0, 1, sector / 3, sector - 9, sector, sector + 1, 3 * sector] {
            for (held, first, second) in [
                (0, 1, 0),
                (0, 2, 0),
                (0, 64, 0),
                (0, 100, 28),
                (0, 1, 1),
                (5, 1, 0),
                (40, 24, 60),
                (8, 0, 0),
            ] {
                for (from, share) in [(0, 0.0), (9_000, 0.5), (0, 1.0), (3_000_000, 0.3)] {
                    let begin = 1_000_000;
                    let next = begin + spindle.pass(first, 500) + 700_000;
                    let passes = [(begin, first, 500), (next, second, 400)].map(|it| {
                        let (begin, sectors, on_track) = it;
                        Pass {
                            begin,
                            sectors,
                            on_track,
                            end: begin + spindle.pass(sectors, on_track),
                        }
                    });
                    let passes: Vec<Pass> =
                        passes.into_iter().filter(|it| it.sectors > 0).collect();
                    let wanted = held + first + second;
                    let mut to_host = ToHost::new(bus, from, wanted, share);
                    to_host.held(held);
                    for pass in &passes {
                        to_host.pass(*pass, &spindle);
                    }
                    let enough = (wanted as f64 * share).ceil() as u64;
                    let exact = one_by_one(bus, from, enough, held, &passes);
                    let found = to_host.end();
                    // With a bus as fast as the media, each sector is rounded down.
                    let rounding = if bus == sector { wanted } else { 2 };
                    assert!(
                        found.abs_diff(exact) <= rounding,
                        "{wanted} sectors, {held} held, {bus} ns each, {share} of them from {from}: \
                         {found}, not {exact}"
                    );
                }
            }
        }
    }
}
