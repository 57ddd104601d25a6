//! Buffer of a disk: segments of consecutive sectors, and read-ahead into one of them.
//!
//! Read-ahead has no events: its progress is computed when the next request begins, because nothing
//! else depends on it.

use super::config::ReadAheadTo;
use super::mechanics::{Mechanics, Pass, ToHost};
use super::segments::{Found, Segments};
use engine::Time;

/// State of the read-ahead.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    segment: usize,
    /// Read-ahead ends at this sector.
    limit: u64,
    /// Time at which the sector behind the segment passes the heads; if it is on another track,
    /// time at which the heads depart.
    from: Time,
    /// Track below the heads: end sector, and sectors per track.
    track: Option<(u64, u32)>,
}

/// Segments, and read-ahead into one of them.
#[derive(Debug, Clone)]
pub struct Buffer {
    segments: Segments,
    ahead: Option<Ahead>,
    /// Segment whose read-ahead reached its limit; the heads have not moved since.
    paused: Option<usize>,
    /// Maximum read-ahead in sectors; 0 without read-ahead.
    read_ahead: u64,
    to: ReadAheadTo,
    /// Number of sectors read ahead.
    pub sectors_ahead: u64,
    /// Time of the last update without progress; the end of time after any change.
    looked: Time,
}

impl Buffer {
    /// An empty buffer.
    pub fn new(segments: u32, size: u64, read_ahead: u64, to: ReadAheadTo) -> Buffer {
        Buffer {
            segments: Segments::new(segments, size),
            ahead: None,
            paused: None,
            read_ahead,
            to,
            sectors_ahead: 0,
            looked: Time::MAX,
        }
    }

    /// Buffered part of a range. A range that starts where read-ahead has arrived counts as partly
    /// buffered, because the heads are there.
    pub fn find(&self, start: u64, end: u64) -> Found {
        match (self.segments.find(start, end), self.ahead) {
            (Found::Nothing, Some(ahead)) if self.range(ahead.segment).1 == start => {
                Found::Some(ahead.segment)
            }
            (found, _) => found,
        }
    }

    /// True if a read needs no seek: the buffer holds all data, or read-ahead is reading them.
    pub fn is_free(&self, start: u64, end: u64) -> bool {
        match self.find(start, end) {
            Found::All(_) => true,
            Found::Some(segment) => self.is_ahead(segment),
            Found::Nothing => false,
        }
    }

    /// Sectors of a segment.
    pub fn size(&self) -> u64 {
        self.segments.size()
    }

    /// First and end sector of a segment.
    pub fn range(&self, segment: usize) -> (u64, u64) {
        self.segments.range(segment)
    }

    /// True if a segment holds data not yet on the media.
    pub fn is_dirty(&self, segment: usize) -> bool {
        self.segments.is_dirty(segment)
    }

    /// Number of segments with data not yet on the media.
    pub fn dirty(&self) -> usize {
        self.segments.dirty()
    }

    /// Marks a segment's data as not yet on the media, or as written.
    pub fn set_dirty(&mut self, segment: usize, is_dirty: bool) {
        self.segments.set_dirty(segment, is_dirty);
    }

    /// Next range of sectors whose buffering has changed.
    pub fn next_change(&mut self) -> Option<(u64, u64)> {
        self.segments.next_change()
    }

    /// Clears the record of changes.
    pub fn forget_changes(&mut self) {
        self.segments.forget_changes();
    }

    /// Marks a segment as most recently used.
    pub fn touch(&mut self, segment: usize) {
        self.segments.touch(segment);
    }

    /// Clears a segment for new sectors: an empty one, or else the least recently used one without
    /// read-ahead. `None` if all hold data not yet on the media.
    pub fn take(&mut self, sector: u64) -> Option<usize> {
        let number = self.take_for_read()?;
        self.segments.set(number, sector, sector);
        Some(number)
    }

    /// `take` for a segment that keeps its content until [`Buffer::read_anew`].
    pub fn take_for_read(&mut self) -> Option<usize> {
        let ahead = self.ahead.map(|ahead| ahead.segment);
        let number = self.segments.next(ahead)?;
        self.segments.touch(number);
        if ahead == Some(number) {
            self.stop_ahead();
        }
        self.paused = self.paused.filter(|paused| *paused != number);
        Some(number)
    }

    /// Drops clean segments that overlap a written range.
    pub fn forget(&mut self, start: u64, end: u64) {
        let Buffer { segments, ahead, paused, .. } = self;
        segments.forget(start, end, |number| {
            *ahead = ahead.filter(|ahead| ahead.segment != number);
            *paused = paused.filter(|paused| *paused != number);
        });
    }

    /// Extends a segment to a sector; a full segment drops its first sectors.
    pub fn extend(&mut self, segment: usize, to: u64) {
        let (start, end) = self.range(segment);
        let end = end.max(to);
        self.segments.set(segment, start.max(end.saturating_sub(self.size())), end);
    }

    /// Starts a read into a taken segment, including `passed` sectors before the wanted one.
    pub fn read_anew(&mut self, segment: usize, sector: u64, end: u64, passed: u64) {
        let start = sector - passed.min(self.size());
        self.segments.set(segment, start.max(end.saturating_sub(self.size())), end);
    }

    /// Notes a write to the media: it ends read-ahead, and its data may be kept in a segment.
    pub fn written(&mut self, sector: u64, end: u64, keeps: bool) {
        self.stop_ahead();
        if keeps
            && end - sector <= self.size()
            && let Some(segment) = self.take(sector)
        {
            self.extend(segment, end);
        }
    }

    /// Notes that a segment holds a write's data up to sector `end`.
    pub fn fill(&mut self, segment: usize, end: u64) {
        self.set_dirty(segment, true);
        let (start, _) = self.range(segment);
        self.segments.set(segment, start, end);
    }

    /// End of the read-ahead after a read that ended at `end`.
    fn limit(&self, segment: usize, end: u64, mechanics: &Mechanics) -> u64 {
        let sectors = mechanics.geometry.sectors();
        if self.to == ReadAheadTo::Limit || end >= sectors {
            return (end + self.read_ahead).min(sectors);
        }
        if self.to == ReadAheadTo::OwnTrack {
            return mechanics.geometry.place(end - 1).track.1;
        }
        let place = mechanics.geometry.place(end);
        let has_crossed = self.range(segment).0 < place.track.0;
        let next = if has_crossed { u64::from(place.on_track) } else { 0 };
        (place.track.1 + next).min(sectors)
    }

    /// Starts read-ahead behind a segment, whose last sector passed the heads at `from`.
    pub fn begin_ahead(&mut self, segment: usize, from: Time, mechanics: &Mechanics) {
        let end = self.range(segment).1;
        let limit = self.limit(segment, end, mechanics);
        self.stop_ahead();
        if end < limit && self.read_ahead > 0 {
            let (track_end, on_track) = mechanics.track_of(end - 1);
            let track = (end < track_end).then_some((track_end, on_track));
            self.set_ahead(Ahead { segment, limit, from, track });
        }
    }

    /// Resumes read-ahead that stopped at its limit, if a read that ended at `end` moves the limit.
    pub fn resume(&mut self, end: u64, from: Time, mechanics: &Mechanics) {
        if let Some(segment) = self.paused {
            let limit = self.limit(segment, end, mechanics);
            if limit > self.range(segment).1 {
                self.set_ahead(Ahead { segment, limit, from, track: None });
            }
        }
    }

    /// True if a segment's read-ahead reached its limit, and the heads have not moved since.
    pub fn is_paused(&self, segment: usize) -> bool {
        self.paused == Some(segment)
    }

    /// Sets the read-ahead; its position decides which reads need no seek.
    fn set_ahead(&mut self, ahead: Ahead) {
        self.stop_ahead();
        self.segments.note_at(ahead.segment);
        self.begin(ahead);
    }

    /// Starts read-ahead.
    fn begin(&mut self, ahead: Ahead) {
        self.ahead = Some(ahead);
        self.looked = Time::MAX;
    }

    /// Resumes read-ahead behind a segment, with the heads on its track.
    pub fn return_ahead(&mut self, segment: usize, from: Time, mechanics: &Mechanics) {
        self.begin_ahead(segment, from, mechanics);
        if let Some(ahead) = &mut self.ahead {
            ahead.track = None;
        }
    }

    /// True if read-ahead fills this segment.
    pub fn is_ahead(&self, segment: usize) -> bool {
        self.ahead.is_some_and(|ahead| ahead.segment == segment)
    }

    /// Stops read-ahead.
    #[inline]
    pub fn stop_ahead(&mut self) {
        self.paused = None;
        if let Some(ahead) = self.ahead.take() {
            self.segments.note_at(ahead.segment);
        }
    }

    /// Moves the read-ahead limit after a read hit in its segment.
    pub fn go_on(&mut self, end: u64, mechanics: &Mechanics) {
        if let Some(mut ahead) = self.ahead {
            ahead.limit = ahead.limit.max(self.limit(ahead.segment, end, mechanics));
            self.begin(ahead);
        }
    }

    /// Advances read-ahead to a point in time.
    #[inline]
    pub fn advance(&mut self, now: Time, mechanics: &mut Mechanics) {
        if self.ahead.is_some() && self.looked != now {
            self.go_ahead(now, mechanics);
        }
    }

    fn go_ahead(&mut self, now: Time, mechanics: &mut Mechanics) {
        while let Some(mut ahead) = self.ahead {
            let at = self.range(ahead.segment).1;
            if at >= ahead.limit {
                self.stop_ahead();
                self.paused = Some(ahead.segment);
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
                self.looked = now;
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

    /// Continues read-ahead to the end sector of a read, and reports the passing sectors. Returns
    /// the time after the last one.
    pub fn catch_up(&mut self, end: u64, mechanics: &mut Mechanics, to_host: &mut ToHost) -> Time {
        let mut ahead = self.ahead.expect("it is being read ahead");
        let mut at = self.range(ahead.segment).1;
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
        self.begin(ahead);
        self.go_on(end, mechanics);
        ahead.from
    }
}
