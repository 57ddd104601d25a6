//! Expected and actual data after a power cut. For each line the ledger knows where its versions
//! are: in the fast device's slots and on the backing device, durable or volatile. It observes the
//! requests to both devices and decides nothing. It exists only if power cuts are possible.

use super::Side;
use engine::{Random, Xoshiro256};
use serde::Serialize;
use ssd::device::Report;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Effects of power cuts on both devices together, in lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CachePower {
    /// Number of power cuts.
    cuts: u64,
    /// Durable lines that were lost.
    durable_lost: u64,
    /// Acknowledged lines that were lost before a flush.
    acknowledged_lost: u64,
    /// Unacknowledged writes that survived.
    unacknowledged_kept: u64,
    /// Unacknowledged writes that were lost.
    unacknowledged_lost: u64,
    /// Cached copies that differ from the backing device.
    stale: u64,
    /// Lines in the cache after the last cut.
    lines_kept: u64,
}

/// Random stream: survival of outstanding writes.
const CUT_STREAM: u64 = 50;

/// A version of a line. Version numbers are shared by all lines; 0 is the initial content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    pub line: u64,
    pub number: u64,
}

/// Content of a slot that was never written.
const GARBAGE: Version = Version { line: u64::MAX, number: 0 };

/// A write to a place that may still be lost.
#[derive(Debug, Clone, Copy)]
struct Later {
    job: u32,
    version: Version,
    /// Sequence number of its completion.
    answered: Option<u64>,
}

/// A place on a device: its durable content, and later volatile writes.
#[derive(Debug, Clone)]
struct Place {
    sure: Version,
    later: Vec<Later>,
}

/// State of a line: last version written, last version acknowledged, and version guaranteed to
/// survive.
/// that must be there.
#[derive(Debug, Clone, Copy, Default)]
struct Truth {
    newest: u64,
    answered: u64,
    owed: u64,
}

/// Position of a line according to the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Only on the backing device.
    Backing,
    /// In this slot, with an equal copy on the backing device.
    Clean(u32),
    /// Only in this slot.
    Dirty(u32),
    /// At another line's place on the backing device.
    Moved(u64),
    /// In non-volatile memory, being moved.
    InMemory,
}

/// The ledger: jobs, the lines that each of them holds, and counts.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// True for each device whose completions are durable.
    keeps: [bool; 2],
    places: [BTreeMap<u64, Place>; 2],
    /// Places with volatile writes.
    open: [BTreeSet<u64>; 2],
    jobs: BTreeMap<u32, (Side, bool, Vec<u64>)>,
    truths: BTreeMap<u64, Truth>,
    /// Content read from lines being written back.
    taken: BTreeMap<u64, Version>,
    /// Requests of the host, with their lines and versions.
    asked: BTreeMap<u32, (Range<u64>, u64)>,
    /// Acknowledged writes without guarantee, in order: sequence number, line, version. And
    /// flushes, with the last write that each covers.
    unpromised: Vec<(u64, u64, u64)>,
    flushes: BTreeMap<u32, u64>,
    flush_jobs: BTreeMap<u32, u64>,
    versions: u64,
    answers: u64,
    random: Xoshiro256,
    report: CachePower,
}

impl Ledger {
    pub fn new(keeps: [bool; 2], seed: u64) -> Ledger {
        Ledger {
            keeps,
            places: [BTreeMap::new(), BTreeMap::new()],
            open: [BTreeSet::new(), BTreeSet::new()],
            jobs: BTreeMap::new(),
            truths: BTreeMap::new(),
            taken: BTreeMap::new(),
            asked: BTreeMap::new(),
            unpromised: Vec::new(),
            flushes: BTreeMap::new(),
            flush_jobs: BTreeMap::new(),
            versions: 0,
            answers: 0,
            random: Xoshiro256::new(seed, CUT_STREAM),
            report: CachePower::default(),
        }
    }

    /// Report section `cache.power`; `None` without a power cut.
    pub fn report(&self) -> Option<Report> {
        (self.report.cuts > 0).then(|| Report::of(&self.report))
    }

    pub fn reset(&mut self) {
        self.report = CachePower::default();
    }

    fn initial(side: Side, place: u64) -> Version {
        match side {
            Side::Fast => GARBAGE,
            Side::Backing => Version { line: place, number: 0 },
        }
    }

    /// Newest content of a place.
    pub fn newest(&self, side: Side, place: u64) -> Version {
        let Some(known) = self.places[side as usize].get(&place) else {
            return Ledger::initial(side, place);
        };
        let answered = known.later.iter().rfind(|it| it.answered.is_some());
        answered.map_or(known.sure, |it| it.version)
    }

    /// Durable content of a place.
    fn sure(&self, side: Side, place: u64) -> Version {
        let known = self.places[side as usize].get(&place);
        known.map_or_else(|| Ledger::initial(side, place), |it| it.sure)
    }

    /// Sets the initial content of a slot.
    pub fn loaded(&mut self, slot: u32, line: u64) {
        let place = Place { sure: Version { line, number: 0 }, later: Vec::new() };
        self.places[Side::Fast as usize].insert(u64::from(slot), place);
    }

    /// Sets the initial content of another line's place on the backing device.
    pub fn loaded_behind(&mut self, place: u64, line: u64) {
        let known = Place { sure: Version { line, number: 0 }, later: Vec::new() };
        self.places[Side::Backing as usize].insert(place, known);
    }

    /// Notes a read of a line that will be written to another place.
    pub fn take_from(&mut self, side: Side, place: u64, line: u64) {
        self.taken.insert(line, self.newest(side, place));
    }

    /// Notes a read of lines in consecutive slots, for write-back.
    pub fn take(&mut self, lines: Range<u64>, slot: u32) {
        for (line, slot) in lines.zip(u64::from(slot)..) {
            self.taken.insert(line, self.newest(Side::Fast, slot));
        }
    }

    /// Content of a line as read for write-back.
    pub fn taken(&self, line: u64) -> Version {
        self.taken.get(&line).copied().unwrap_or(GARBAGE)
    }

    // ---- the devices ---------------------------------------------------------------------------------

    /// Notes the start of a write to a device, with places and contents.
    pub fn begin(&mut self, job: u32, side: Side, forced: bool, what: &[(u64, Version)]) {
        for (at, version) in what {
            let place = self.places[side as usize]
                .entry(*at)
                .or_insert_with(|| Place { sure: Ledger::initial(side, *at), later: Vec::new() });
            place.later.push(Later { job, version: *version, answered: None });
            self.open[side as usize].insert(*at);
        }
        self.jobs.insert(job, (side, forced, what.iter().map(|it| it.0).collect()));
    }

    /// Completes a write.
    pub fn end(&mut self, job: u32) {
        let Some((side, forced, what)) = self.jobs.remove(&job) else { return };
        self.answers += 1;
        let keeps = forced || self.keeps[side as usize];
        for at in what {
            let Some(place) = self.places[side as usize].get_mut(&at) else { continue };
            // Job numbers are reused.
            let is_it = |it: &Later| it.job == job && it.answered.is_none();
            let Some(number) = place.later.iter().position(is_it) else { continue };
            place.later[number].answered = Some(self.answers);
            if keeps {
                place.sure = place.later[number].version;
                place.later.drain(..=number);
            }
            if place.later.is_empty() {
                self.open[side as usize].remove(&at);
            }
        }
    }

    /// Notes the start of a flush of the backing device, or of a tier.
    pub fn flush_begins(&mut self, job: u32) {
        self.flush_jobs.insert(job, self.answers);
    }

    /// Completes the flush.
    pub fn flush_ends(&mut self, job: u32) {
        self.flush_ends_on(job, Side::Backing);
    }

    /// Completes a flush of one device.
    pub fn flush_ends_on(&mut self, job: u32, side: Side) {
        let Some(from) = self.flush_jobs.remove(&job) else { return };
        let side = side as usize;
        let open: Vec<u64> = self.open[side].iter().copied().collect();
        for at in open {
            let Some(place) = self.places[side].get_mut(&at) else { continue };
            let flushed = |it: &Later| it.answered.is_some_and(|answered| answered <= from);
            if let Some(last) = place.later.iter().rposition(flushed) {
                place.sure = place.later[last].version;
                place.later.drain(..=last);
            }
            if place.later.is_empty() {
                self.open[side].remove(&at);
            }
        }
    }

    // ---- the host ------------------------------------------------------------------------------------

    /// Notes a host write of lines, which get a new version.
    pub fn written(&mut self, asked: u32, lines: Range<u64>) {
        self.versions += 1;
        for line in lines.clone() {
            self.truths.entry(line).or_default().newest = self.versions;
        }
        self.asked.insert(asked, (lines, self.versions));
    }

    /// The version that a request writes.
    pub fn version(&self, asked: u32) -> u64 {
        self.asked.get(&asked).map_or(0, |it| it.1)
    }

    /// Trims lines.
    pub fn trimmed(&mut self, lines: Range<u64>) {
        for line in lines {
            self.truths.remove(&line);
        }
    }

    /// Acknowledges a write; it survives a power cut if `promised`, and otherwise after a flush.
    pub fn answered(&mut self, asked: u32, promised: bool) {
        let Some((lines, version)) = self.asked.remove(&asked) else { return };
        self.answers += 1;
        for line in lines {
            let Some(truth) = self.truths.get_mut(&line) else { continue };
            truth.answered = truth.answered.max(version);
            if promised {
                truth.owed = truth.owed.max(version);
            } else {
                self.unpromised.push((self.answers, line, version));
            }
        }
    }

    /// Notes a failed write: the content of its lines is unknown.
    pub fn failed(&mut self, asked: u32) {
        if let Some((lines, _)) = self.asked.remove(&asked) {
            self.trimmed(lines);
        }
    }

    /// Notes a host flush whose preceding writes are complete.
    pub fn host_flush_begins(&mut self, asked: u32) {
        self.flushes.insert(asked, self.answers);
    }

    pub fn host_flush_ends(&mut self, asked: u32) {
        let Some(from) = self.flushes.remove(&asked) else { return };
        let promised = self.unpromised.partition_point(|it| it.0 <= from);
        for (_, line, version) in self.unpromised.drain(..promised) {
            if let Some(truth) = self.truths.get_mut(&line) {
                truth.owed = truth.owed.max(version);
            }
        }
    }

    // ---- the power -----------------------------------------------------------------------------------

    /// Handles a power cut: draws the surviving content of each place.
    pub fn cut(&mut self) {
        for side in 0..2 {
            for at in std::mem::take(&mut self.open[side]) {
                let Some(place) = self.places[side].get_mut(&at) else { continue };
                let left = self.random.below(place.later.len() as u64 + 1) as usize;
                if let Some(number) = left.checked_sub(1) {
                    place.sure = place.later[number].version;
                }
                place.later.clear();
            }
        }
        self.jobs.clear();
        self.asked.clear();
        self.unpromised.clear();
        self.flushes.clear();
        self.flush_jobs.clear();
        self.report.cuts += 1;
    }

    /// Version of a line according to the map, if the content belongs to the line; and true if the
    /// copies differ.
    fn look(
        &self,
        line: u64,
        found: Found,
        at: impl Fn(Side, u64) -> Version,
    ) -> (Option<u64>, bool) {
        let own = |version: Version| (version.line == line).then_some(version.number);
        match found {
            Found::Backing => (own(at(Side::Backing, line)), false),
            Found::Moved(place) => (own(at(Side::Backing, place)), false),
            Found::InMemory => (own(self.taken(line)), false),
            Found::Dirty(slot) => (own(at(Side::Fast, u64::from(slot))), false),
            Found::Clean(slot) => {
                let copy = at(Side::Fast, u64::from(slot));
                let is = at(Side::Backing, line);
                (own(is), copy != is)
            }
        }
    }

    /// Counts lost and surviving data after a cut, according to the map.
    pub fn judge(&mut self, find: impl Fn(u64) -> Found) {
        let mut truths = std::mem::take(&mut self.truths);
        for (line, truth) in &mut truths {
            let (found, is_stale) = self.look(*line, find(*line), |side, at| self.sure(side, at));
            self.report.stale += u64::from(is_stale);
            let version = found.unwrap_or(0);
            if found.is_none() || version < truth.owed {
                self.report.durable_lost += 1;
            } else if version < truth.answered {
                self.report.acknowledged_lost += 1;
            }
            if truth.newest > truth.answered {
                let kept = version > truth.answered;
                self.report.unacknowledged_kept += u64::from(kept);
                self.report.unacknowledged_lost += u64::from(!kept);
            }
            *truth = Truth { newest: version, answered: version, owed: version };
        }
        self.truths = truths;
    }

    pub fn note_kept(&mut self, lines: u64) {
        self.report.lines_kept = lines;
    }

    /// Checks that the map leads to the last written version of each line; the cache must be idle.
    ///
    /// # Errors
    /// On an inconsistency, which is a bug of this program.
    pub fn audit(&self, find: impl Fn(u64) -> Found) -> Result<(), String> {
        for (line, truth) in &self.truths {
            let (found, is_stale) = self.look(*line, find(*line), |side, at| self.newest(side, at));
            if found != Some(truth.newest) || is_stale {
                return Err(format!(
                    "line {line} was written as version {}, and {:?} leads to {found:?}{}",
                    truth.newest,
                    find(*line),
                    if is_stale { ", of which the copy differs" } else { "" }
                ));
            }
        }
        Ok(())
    }
}
