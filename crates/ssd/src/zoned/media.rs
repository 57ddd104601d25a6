//! Flash of the zones: each zone is a block in each plane of its dies, programmed in groups from
//! start to end. There is no map, garbage collection or spare space. It receives the end of each
//! zone's data, and reports completions.

use crate::clock::{Clock, DieEvent};
use crate::device::kit::slots::{Slot, Slots};
use crate::die::{Dies, Ended, Job, Place, ReadFor, Rows, Sight};
use crate::ids::Block;
use crate::page::Spent;
use crate::shape::Groups;
use engine::{Random, SECTOR_BYTES, Time, Xoshiro256};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// Maximum padding programs per die: one in the cells, and one on its way.
const PADS_AT_ONCE: u32 = 2;

/// Purpose of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Parity,
    Pad,
    /// A copy of an incomplete group, because a flush of a volatile buffer needs it in the flash.
    Journal,
}

/// An outstanding program of a die.
#[derive(Debug, Clone, Copy)]
struct Program {
    zone: u32,
    /// Generation of the zone: its number of resets.
    generation: u32,
    group: u64,
    /// Buffer sectors freed by its completion.
    sectors: u64,
    kind: Kind,
    /// Sequence number among all programs.
    number: u64,
}

/// Program progress of a zone.
#[derive(Debug, Clone, Default)]
struct Stream {
    generation: u32,
    /// Received sectors.
    taken: u64,
    /// Programmed groups: all before `first`, and the listed ones after it.
    first: u64,
    done: VecDeque<bool>,
    /// Outstanding programs and erases; remaining padding by die.
    under_way: u32,
    pads: Vec<u32>,
    /// True if the zone must be erased before programming; and its number of erases.
    is_used: bool,
    erases: u32,
    erasing: u32,
    /// True without a partial group in the buffer.
    is_sealed: bool,
    /// End of the data that a flush has made durable.
    durable: u64,
}

/// An event of the flash for the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// A completed read, with its times.
    Read {
        slot: Slot,
        spent: Spent,
    },
    /// The buffer has more room, or a program has completed.
    Programmed,
    /// A zone became idle.
    Quiet(u32),
    /// A program or erase of a zone has failed.
    ProgramFailed(u32),
    EraseFailed(u32),
}

/// Work of the flash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    pub data_groups: u64,
    pub parity_groups: u64,
    pub pad_groups: u64,
    pub journal_groups: u64,
    pub erases: u64,
    pub page_reads: u64,
    pub suspensions: u64,
}

/// Layout of zones on the flash.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub groups: Groups,
    pub group_sectors: u64,
    /// Sectors per zone.
    pub capacity: u64,
    pub blocks: u32,
    pub rated: u32,
    pub failures: f64,
}

impl Layout {
    /// Die of a zone, by index among the zone's dies.
    fn die(&self, zone: u32, local: u32) -> u32 {
        let width = self.groups.width;
        let sets = self.groups.dies / width;
        zone % sets * width + (local + zone / sets) % width
    }

    /// Die of a group, and of the parity that follows it.
    fn place(&self, zone: u32, group: u64) -> (u32, Option<u32>) {
        let place = self.groups.place(0, group as u32);
        let is_last = group + 1 == self.capacity.div_ceil(self.group_sectors);
        let ends = is_last && self.groups.parity_of > 0;
        let parity = place.parity.or_else(|| ends.then(|| (place.die + 1) % self.groups.width));
        (self.die(zone, place.die), parity.map(|local| self.die(zone, local)))
    }
}

/// The flash.
#[derive(Debug, Clone)]
pub(super) struct Media {
    layout: Layout,
    dies: Dies,
    streams: Vec<Stream>,
    programs: Slots<Program>,
    /// Sequence numbers of outstanding data and journal programs.
    outstanding: BTreeSet<u64>,
    given: u64,
    /// Buffered sectors that are not programmed.
    held: u64,
    random: Xoshiro256,
    work: Work,
    told: Vec<Told>,
}

impl Media {
    pub fn new(layout: Layout, dies: Dies, zones: u32, random: Xoshiro256) -> Media {
        Media {
            layout,
            dies,
            streams: memory::filled(Stream::default(), zones as usize),
            programs: Slots::new(),
            outstanding: BTreeSet::new(),
            given: 0,
            held: 0,
            random,
            work: Work::default(),
            told: Vec::new(),
        }
    }

    /// Fills the first zones.
    pub fn fill(&mut self, zones: u32) {
        let Layout { capacity, group_sectors, .. } = self.layout;
        for stream in &mut self.streams[..zones as usize] {
            (stream.taken, stream.first) = (capacity, capacity.div_ceil(group_sectors));
            (stream.is_used, stream.is_sealed, stream.durable) = (true, true, capacity);
        }
    }

    // ---- queries -------------------------------------------------------------------------------

    /// Number of buffered sectors.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// End of a zone's received data, and its number of resets.
    pub fn taken(&self, zone: u32) -> (u64, u32) {
        let stream = &self.streams[zone as usize];
        (stream.taken, stream.generation)
    }

    /// True for an idle zone.
    pub fn is_quiet(&self, zone: u32) -> bool {
        let stream = &self.streams[zone as usize];
        stream.under_way == 0 && stream.pads.iter().all(|pads| *pads == 0)
    }

    /// Sequence number of the next program; a flush waits for all earlier ones.
    pub fn next_program(&self) -> u64 {
        self.given
    }

    /// True if all programs before a sequence number have completed.
    pub fn has_done(&self, number: u64) -> bool {
        self.outstanding.first().is_none_or(|first| *first >= number)
    }

    /// Work of the flash.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Busy share of each die.
    pub fn busy(&self, from: &[Time], time: Time, end: Time) -> Vec<f64> {
        let all = self.busy_ns(end);
        let since = |(die, busy): (usize, &Time)| busy - from.get(die).copied().unwrap_or(0);
        let shares = all.iter().enumerate().map(since);
        shares.map(|ns| if time > 0 { ns as f64 / time as f64 } else { 0.0 }).collect()
    }

    /// Busy time of each die up to `end`.
    pub fn busy_ns(&self, end: Time) -> Vec<Time> {
        self.dies.accounts(end).iter().map(|account| account.busy_ns).collect()
    }

    /// Resets the counters.
    pub fn reset_work(&mut self) {
        self.work = Work::default();
        self.dies.reset_effort();
    }

    /// Takes the events since the last call.
    pub fn take_told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    // ---- commands ------------------------------------------------------------------------------

    /// Handles an event of a die.
    pub fn event(&mut self, event: DieEvent, sight: Sight, clock: &mut Clock) {
        match self.dies.event(event, sight, clock) {
            None | Some(Ended::Row { .. }) => {}
            Some(Ended::Read { die, owner, spent, .. }) => {
                if let ReadFor::Request { slot, .. } = owner {
                    debug_assert_eq!(spent.cleaning, 0, "nothing is cleaned");
                    self.told.push(Told::Read { slot, spent });
                }
                self.dies.run(die, sight, clock);
            }
            Some(Ended::Task { die, job, .. }) => {
                match job {
                    Job::Erase(zone) => self.erased(zone),
                    Job::Program { group, .. } => self.programmed(group, die, sight, clock),
                    Job::Parity { .. } | Job::Own | Job::Map => unreachable!("they are not given"),
                }
                self.dies.run(die, sight, clock);
            }
        }
        self.hear();
    }

    /// Transfers into a die need no handling here.
    fn hear(&mut self) {
        while self.dies.take_begun().is_some() {}
        self.work.suspensions += self.dies.take_suspensions();
    }

    /// Extends a zone's data and programs complete groups; at the end of the zone also the
    /// incomplete one.
    pub fn take(&mut self, zone: u32, to: u64, end: u64, sight: Sight, clock: &mut Clock) {
        let size = self.layout.group_sectors;
        self.erase_before_use(zone, sight, clock);
        let stream = &mut self.streams[zone as usize];
        let from = stream.taken;
        stream.taken = to;
        stream.is_sealed |= to == end;
        self.held += to - from;
        let whole = if to == end { to.div_ceil(size) } else { to / size };
        for group in from / size..whole {
            let sectors = to.min((group + 1) * size) - group * size;
            self.program_group(zone, group, sectors, sight, clock);
        }
    }

    /// Pads an incomplete group of a zone, and the rest of the zone up to `end`.
    pub fn pad(&mut self, zone: u32, end: u64, sight: Sight, clock: &mut Clock) {
        let size = self.layout.group_sectors;
        self.erase_before_use(zone, sight, clock);
        let stream = &mut self.streams[zone as usize];
        let taken = stream.taken;
        let rest = taken % size;
        if rest > 0 && !std::mem::replace(&mut stream.is_sealed, true) {
            self.program_group(zone, taken / size, rest, sight, clock);
        }
        let mut pads = memory::zeroed(self.layout.groups.dies as usize);
        for group in taken.div_ceil(size)..end.div_ceil(size) {
            let (die, parity) = self.layout.place(zone, group);
            pads[die as usize] += 1;
            if let Some(parity) = parity {
                pads[parity as usize] += 1;
            }
        }
        self.streams[zone as usize].pads = pads;
        for die in 0..self.layout.groups.dies {
            for _ in 0..PADS_AT_ONCE {
                self.pad_die(zone, die, sight, clock);
            }
        }
        if self.is_quiet(zone) {
            self.told.push(Told::Quiet(zone));
        }
    }

    /// Handles a reset of a zone: drops its buffered data.
    pub fn reset(&mut self, zone: u32) {
        let size = self.layout.group_sectors;
        let stream = &mut self.streams[zone as usize];
        self.held -= if stream.is_sealed { 0 } else { stream.taken % size };
        stream.generation += 1;
        stream.is_used |= stream.taken > 0;
        (stream.taken, stream.first, stream.durable, stream.is_sealed) = (0, 0, 0, false);
        stream.done.clear();
        stream.pads.clear();
        stream.under_way = stream.erasing;
    }

    /// Closes a zone to writes: drops buffered data that cannot be programmed.
    pub fn give_up(&mut self, zone: u32) {
        let size = self.layout.group_sectors;
        let stream = &mut self.streams[zone as usize];
        if !std::mem::replace(&mut stream.is_sealed, true) {
            self.held -= stream.taken % size;
            stream.taken -= stream.taken % size;
        }
        stream.pads.clear();
    }

    /// Erases a zone, if it was programmed.
    pub fn erase(&mut self, zone: u32, sight: Sight, clock: &mut Clock) {
        let stream = &mut self.streams[zone as usize];
        if !std::mem::take(&mut stream.is_used) {
            return;
        }
        stream.erases += 1;
        let count = self.layout.groups.width * self.layout.blocks;
        stream.under_way += count;
        stream.erasing += count;
        self.work.erases += u64::from(count);
        for local in 0..self.layout.groups.width {
            let die = self.layout.die(zone, local);
            for _ in 0..self.layout.blocks {
                self.dies.give(die, Job::Erase(zone), false, sight, clock);
            }
        }
        self.hear();
    }

    fn erase_before_use(&mut self, zone: u32, sight: Sight, clock: &mut Clock) {
        if self.streams[zone as usize].taken == 0 {
            self.erase(zone, sight, clock);
        }
    }

    // ---- programs --------------------------------------------------------------------------------

    fn program_group(
        &mut self,
        zone: u32,
        group: u64,
        sectors: u64,
        sight: Sight,
        clock: &mut Clock,
    ) {
        let (die, parity) = self.layout.place(zone, group);
        self.give(die, (zone, group, sectors), Kind::Data, sight, clock);
        if let Some(parity) = parity {
            self.give(parity, (zone, group, 0), Kind::Parity, sight, clock);
        }
    }

    fn give(
        &mut self,
        die: u32,
        (zone, group, sectors): (u32, u64, u64),
        kind: Kind,
        sight: Sight,
        clock: &mut Clock,
    ) {
        let number = self.given;
        self.given += 1;
        if kind != Kind::Pad {
            self.outstanding.insert(number);
        }
        let stream = &mut self.streams[zone as usize];
        stream.under_way += 1;
        let generation = stream.generation;
        let program = Program { zone, generation, group, sectors, kind, number };
        let group = self.programs.insert(program);
        let job = Job::Program { group, last: true, slc: false };
        self.dies.give(die, job, false, sight, clock);
        self.hear();
    }

    fn pad_die(&mut self, zone: u32, die: u32, sight: Sight, clock: &mut Clock) {
        let pads = self.streams[zone as usize].pads.get_mut(die as usize);
        let Some(left) = pads.filter(|left| **left > 0) else { return };
        *left -= 1;
        self.give(die, (zone, 0, 0), Kind::Pad, sight, clock);
    }

    fn programmed(&mut self, slot: u32, die: u32, sight: Sight, clock: &mut Clock) {
        let Program { zone, generation, group, sectors, kind, number } = self.programs.remove(slot);
        self.held -= sectors;
        self.outstanding.remove(&number);
        *match kind {
            Kind::Data => &mut self.work.data_groups,
            Kind::Parity => &mut self.work.parity_groups,
            Kind::Pad => &mut self.work.pad_groups,
            Kind::Journal => &mut self.work.journal_groups,
        } += 1;
        self.told.push(Told::Programmed);
        let stream = &mut self.streams[zone as usize];
        if stream.generation != generation {
            return;
        }
        stream.under_way -= 1;
        if kind == Kind::Data {
            stream.note_done(group);
        }
        if kind == Kind::Pad {
            self.pad_die(zone, die, sight, clock);
        }
        let failures = self.layout.failures;
        if failures > 0.0 && self.random.unit() < failures {
            self.told.push(Told::ProgramFailed(zone));
        }
        if self.is_quiet(zone) {
            self.told.push(Told::Quiet(zone));
        }
    }

    fn erased(&mut self, zone: u32) {
        let stream = &mut self.streams[zone as usize];
        stream.under_way -= 1;
        stream.erasing -= 1;
        if stream.erasing == 0 && stream.erases > self.layout.rated {
            self.told.push(Told::EraseFailed(zone));
        }
        if self.is_quiet(zone) {
            self.told.push(Told::Quiet(zone));
        }
    }

    // ---- reads -----------------------------------------------------------------------------------

    /// Reads programmed sectors of a zone from the dies. Returns the number of reads.
    pub fn read(
        &mut self,
        slot: Slot,
        (zone, sectors): (u32, Range<u64>),
        sight: Sight,
        clock: &mut Clock,
    ) -> u32 {
        let Layout { groups, group_sectors: size, .. } = self.layout;
        let unit_sectors = u64::from(groups.unit_bytes) / SECTOR_BYTES;
        let owner = |pages| ReadFor::Request { slot, pages, reads: true };
        let mut rows = Rows::new(groups, u32::MAX);
        let mut count = 0;
        let mut found = Vec::new();
        let units = sectors.start / unit_sectors..sectors.end.div_ceil(unit_sectors);
        for first in units.map(|unit| unit * unit_sectors) {
            let group = first / size;
            if !self.streams[zone as usize].is_done(group) {
                continue;
            }
            let (from, to) = (sectors.start.max(first), sectors.end.min(first + unit_sectors));
            let part = ((from - first) * SECTOR_BYTES, (to - from) * SECTOR_BYTES);
            let unit = (first % size / unit_sectors) as u32;
            let place = Place { block: Block(zone), group: group as u32, unit, slc: false };
            let part = (part.0 as u32, part.1 as u32);
            found.extend(rows.add(place, part, owner, self.dies.costs()));
            self.work.page_reads += 1;
        }
        found.extend(rows.finish(owner, self.dies.costs()));
        for row in found {
            count += 1;
            let row = row.on(|local| self.layout.die(zone, local));
            self.dies.read(&row, sight, clock);
        }
        self.hear();
        count
    }

    // ---- flushes and power cuts of a volatile buffer ---------------------------------------------

    /// Flushes: programs incomplete groups elsewhere as well. Returns the end of durable data of
    /// each zone, valid once the programs complete.
    pub fn journal(&mut self, sight: Sight, clock: &mut Clock) -> Vec<(u32, u32, u64)> {
        let size = self.layout.group_sectors;
        let mut noted = Vec::new();
        for zone in 0..self.streams.len() as u32 {
            let Stream { taken, durable, generation, is_sealed, .. } = self.streams[zone as usize];
            if taken == durable {
                continue;
            }
            noted.push((zone, generation, taken));
            if taken % size > 0 && !is_sealed {
                let (die, _) = self.layout.place(zone, taken / size);
                self.give(die, (zone, taken / size, 0), Kind::Journal, sight, clock);
            }
        }
        noted
    }

    /// Completes a flush.
    pub fn has_flushed(&mut self, noted: &[(u32, u32, u64)]) {
        for (zone, generation, taken) in noted {
            let stream = &mut self.streams[*zone as usize];
            if stream.generation == *generation {
                stream.durable = stream.durable.max(*taken);
            }
        }
    }

    /// Handles a power cut. Returns for each zone the end of its surviving data, and true if a
    /// program was torn. With `protected`, the buffer is programmed during the cut.
    pub fn lose_power(&mut self, protected: bool, now: Time) -> Vec<(u64, bool)> {
        let size = self.layout.group_sectors;
        self.dies.lose_power(now);
        let kept = self.streams.iter_mut().map(|stream| {
            let is_torn = !protected && stream.under_way > stream.erasing;
            let pointer = if protected {
                stream.taken
            } else {
                stream.durable.max(stream.first * size).min(stream.taken)
            };
            (pointer, is_torn)
        });
        let kept: Vec<_> = kept.collect();
        self.programs = Slots::new();
        self.outstanding.clear();
        self.held = 0;
        for (stream, (pointer, is_torn)) in self.streams.iter_mut().zip(&kept) {
            stream.is_sealed |= is_torn;
            (stream.taken, stream.durable) = (*pointer, *pointer);
            stream.is_used |= stream.erasing > 0;
            stream.first = if stream.is_sealed { pointer.div_ceil(size) } else { pointer / size };
            self.held += if stream.is_sealed { 0 } else { pointer % size };
            stream.done.clear();
            stream.pads.clear();
            (stream.under_way, stream.erasing) = (0, 0);
        }
        kept
    }

    /// Receives a zone's data untimed, from the protected buffer after a power cut.
    pub fn take_at_once(&mut self, zone: u32, to: u64, is_whole: bool) {
        let stream = &mut self.streams[zone as usize];
        stream.taken = stream.taken.max(to);
        stream.is_sealed |= is_whole && stream.taken > 0;
    }

    // ---- checked ---------------------------------------------------------------------------------

    /// Checks that the buffer holds the zones' unprogrammed data.
    ///
    /// # Errors
    /// The violated condition.
    pub fn audit(&self) -> Result<(), String> {
        let programs: u64 =
            self.programs.taken().into_iter().map(|slot| self.programs[slot].sectors).sum();
        if programs > self.held {
            return Err(format!("programs of {programs} sectors, of {} in the buffer", self.held));
        }
        for (zone, stream) in self.streams.iter().enumerate() {
            if stream.first * self.layout.group_sectors > stream.taken + self.layout.group_sectors {
                return Err(format!("zone {zone}: more is programmed than was taken up"));
            }
        }
        Ok(())
    }
}

impl Stream {
    fn note_done(&mut self, group: u64) {
        let place = (group - self.first) as usize;
        if place >= self.done.len() {
            self.done.resize(place + 1, false);
        }
        self.done[place] = true;
        while self.done.front() == Some(&true) {
            self.done.pop_front();
            self.first += 1;
        }
    }

    fn is_done(&self, group: u64) -> bool {
        let ahead = |place| self.done.get(place as usize).copied().unwrap_or(false);
        group.checked_sub(self.first).is_none_or(ahead)
    }
}
