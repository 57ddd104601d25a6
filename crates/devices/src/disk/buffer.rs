//! The buffer of a disk: segments of consecutive sectors, and what is read ahead into one of them.
//!
//! Reading ahead has no events. How far it has come is computed when it is needed, which is whenever a
//! request begins: nothing else can tell the difference.

use super::config::ReadAheadTo;
use super::mechanics::{Mechanics, Pass, ToHost};
use engine::Time;

/// Consecutive sectors in the buffer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    /// When it was used last, in uses.
    used: u64,
    /// It holds data that are not on the disk yet.
    pub(super) is_dirty: bool,
}

impl Segment {
    fn overlaps(&self, start: u64, end: u64) -> bool {
        self.start < end && start < self.end
    }
}

/// What is being read ahead.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    segment: usize,
    /// Read-ahead continues up to this sector.
    limit: u64,
    /// When the next sector, the end of the segment, passes or, if it is on another track, when the heads
    /// leave for it.
    from: Time,
    /// The track on which the heads are: the sector after its last, and its sectors.
    track: Option<(u64, u32)>,
}

/// What the buffer has of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// All of it in a segment.
    All(usize),
    /// Its beginning.
    Some(usize),
    /// Nothing.
    Nothing,
}

/// Segments, the one used longest ago first to be taken.
#[derive(Debug, Clone)]
pub(super) struct Buffer {
    pub(super) segments: Vec<Segment>,
    /// Sectors of a segment.
    pub(super) size: u64,
    uses: u64,
    ahead: Option<Ahead>,
    /// Sectors to read ahead at most; 0 when it does not.
    read_ahead: u64,
    to: ReadAheadTo,
    /// Sectors read ahead so far.
    pub(super) sectors_ahead: u64,
}

impl Buffer {
    /// An empty buffer.
    pub(super) fn new(segments: u32, size: u64, read_ahead: u64, to: ReadAheadTo) -> Buffer {
        Buffer {
            segments: vec![Segment::default(); segments as usize],
            size,
            uses: 0,
            ahead: None,
            read_ahead,
            to,
            sectors_ahead: 0,
        }
    }

    /// What it has of a range.
    pub(super) fn find(&self, start: u64, end: u64) -> Found {
        let mut found = Found::Nothing;
        for (number, segment) in self.segments.iter().enumerate() {
            if segment.start <= start && start < segment.end {
                if end <= segment.end {
                    return Found::All(number);
                }
                // Nothing is added behind data that must be written first.
                if found == Found::Nothing && !segment.is_dirty {
                    found = Found::Some(number);
                }
            }
        }
        found
    }

    /// Marks a segment as used last.
    pub(super) fn touch(&mut self, segment: usize) {
        self.uses += 1;
        self.segments[segment].used = self.uses;
    }

    /// Gives a segment to other sectors: one that is empty, else the one used longest ago that is not being
    /// read into; none if all hold data that are not on the disk.
    pub(super) fn take(&mut self, start: u64, end: u64) -> Option<usize> {
        let ahead = self.ahead.map(|ahead| ahead.segment);
        let clean = self.segments.iter().enumerate().filter(|(_, segment)| !segment.is_dirty);
        let key = |number: usize, segment: &Segment| {
            (segment.start < segment.end, ahead == Some(number), segment.used)
        };
        let (number, _) = clean.min_by_key(|(number, segment)| key(*number, segment))?;
        if ahead == Some(number) {
            self.ahead = None;
        }
        self.segments[number] = Segment { start, end, used: 0, is_dirty: false };
        self.touch(number);
        Some(number)
    }

    /// Empties the segments with old data of a range that is written, but not those that are not on the
    /// disk yet.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        for number in 0..self.segments.len() {
            let segment = &mut self.segments[number];
            if !segment.is_dirty && segment.overlaps(start, end) {
                segment.end = segment.start;
                if self.is_ahead(number) {
                    self.ahead = None;
                }
            }
        }
    }

    /// Extends a segment to a sector; it forgets its first ones when it is full.
    pub(super) fn extend(&mut self, segment: usize, end: u64) {
        let segment = &mut self.segments[segment];
        segment.end = segment.end.max(end);
        segment.start = segment.start.max(segment.end.saturating_sub(self.size));
    }

    /// How far is read ahead after a read that ended at `end`.
    fn limit(&self, segment: usize, end: u64, mechanics: &Mechanics) -> u64 {
        let sectors = mechanics.geometry.sectors();
        if self.to == ReadAheadTo::Limit || end >= sectors {
            return (end + self.read_ahead).min(sectors);
        }
        let place = mechanics.geometry.place(end);
        let has_crossed = self.segments[segment].start < place.track.0;
        let next = if has_crossed { u64::from(place.on_track) } else { 0 };
        (place.track.1 + next).min(sectors)
    }

    /// Begins to read ahead behind a segment, whose last sector has passed at `from`.
    pub(super) fn begin_ahead(&mut self, segment: usize, from: Time, mechanics: &Mechanics) {
        let end = self.segments[segment].end;
        let limit = self.limit(segment, end, mechanics);
        self.ahead = None;
        if end < limit && self.read_ahead > 0 {
            let last = mechanics.geometry.place(end - 1);
            let is_there = end < last.track.1;
            let track = is_there.then_some((last.track.1, last.on_track));
            self.ahead = Some(Ahead { segment, limit, from, track });
        }
    }

    /// Begins to read ahead behind a segment from wherever the heads are.
    pub(super) fn return_ahead(&mut self, segment: usize, from: Time, mechanics: &Mechanics) {
        self.begin_ahead(segment, from, mechanics);
        if let Some(ahead) = &mut self.ahead {
            ahead.track = None;
        }
    }

    /// Whether a segment is being read into.
    pub(super) fn is_ahead(&self, segment: usize) -> bool {
        self.ahead.is_some_and(|ahead| ahead.segment == segment)
    }

    /// Ends reading ahead.
    pub(super) fn stop_ahead(&mut self) {
        self.ahead = None;
    }

    /// Moves the limit after a read that the segment being read into answers.
    pub(super) fn go_on(&mut self, end: u64, mechanics: &Mechanics) {
        if let Some(mut ahead) = self.ahead {
            ahead.limit = ahead.limit.max(self.limit(ahead.segment, end, mechanics));
            self.ahead = Some(ahead);
        }
    }

    /// Reads ahead up to an instant.
    pub(super) fn advance(&mut self, now: Time, mechanics: &mut Mechanics) {
        while let Some(mut ahead) = self.ahead {
            let at = self.segments[ahead.segment].end;
            if at >= ahead.limit {
                self.ahead = None;
                return;
            }
            let Some((track_end, on_track)) = ahead.track else {
                if ahead.from >= now {
                    return;
                }
                let arrival = mechanics.go(ahead.from, at, false);
                ahead.from = arrival.begin;
                ahead.track = Some((arrival.place.track.1, arrival.place.on_track));
                self.ahead = Some(ahead);
                continue;
            };
            let left = track_end.min(ahead.limit) - at;
            let time = now.saturating_sub(ahead.from);
            let passed =
                if now < ahead.from { 0 } else { mechanics.spindle.sectors_in(time, on_track) };
            let sectors = left.min(passed);
            if sectors == 0 {
                return;
            }
            ahead.from += mechanics.spindle.pass(sectors, on_track);
            if sectors == left && at + sectors == track_end {
                ahead.track = None;
            }
            self.sectors_ahead += sectors;
            self.ahead = Some(ahead);
            self.extend(ahead.segment, at + sectors);
            if sectors < left {
                return;
            }
        }
    }

    /// Continues to read ahead to a sector that a read wants, and reports the sectors that pass.
    /// Returns the instant after that sector.
    pub(super) fn catch_up(
        &mut self,
        end: u64,
        mechanics: &mut Mechanics,
        to_host: &mut ToHost,
    ) -> Time {
        let mut ahead = self.ahead.expect("it is being read ahead");
        let mut at = self.segments[ahead.segment].end;
        while at < end {
            let (track_end, on_track) = ahead.track.unwrap_or_else(|| {
                let arrival = mechanics.go(ahead.from, at, false);
                ahead.from = arrival.begin;
                (arrival.place.track.1, arrival.place.on_track)
            });
            let sectors = end.min(track_end) - at;
            let after = ahead.from + mechanics.spindle.pass(sectors, on_track);
            let pass = Pass { begin: ahead.from, sectors, on_track, end: after };
            to_host.pass(pass, &mechanics.spindle);
            at += sectors;
            ahead.from = after;
            ahead.track = (at < track_end).then_some((track_end, on_track));
        }
        ahead.limit = ahead.limit.max(at);
        self.extend(ahead.segment, at);
        self.ahead = Some(ahead);
        self.go_on(end, mechanics);
        ahead.from
    }
}
