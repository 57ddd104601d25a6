//! A host log on a zoned drive, for programs that do not know zones. It appends their writes to
//! open zones and cleans zones with few valid pages, as dm-zoned and zoned file systems do. Its
//! mapping unit is 4 KiB. While too few zones are free, it cleans one zone at a time: it reads the
//! valid pages of the zone with the fewest, writes them to a separate zone, and resets it.

use super::config::LogOptions;
use super::drive::ZonedDrive;
use super::states::State;
use crate::device::latency::UNIT_WAIT;
use crate::device::{Field, Instruction, Model, Report};
use engine::{Breakdown, Completion, Device, Lba, Op, Request, SECTOR_BYTES, Status, Time};
use std::collections::{BTreeMap, VecDeque};

/// Sectors per page of the log.
const PAGE: u64 = 4096 / SECTOR_BYTES;

/// Owner of a drive request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Part of a host request.
    Host(u64),
    /// Reads of a victim, from this drive page.
    Reads { from: u64, pages: u64 },
    /// Writes of copied pages.
    Copy,
    /// Reset of a victim.
    Reset(u32),
}

/// A request of the host.
#[derive(Debug, Clone, Copy)]
struct Asked {
    request: Request,
    submitted: Time,
    left: u32,
    status: Status,
}

/// Write position in an open zone.
#[derive(Debug, Clone, Copy, Default)]
struct Frontier {
    zone: Option<u32>,
    next: u64,
}

/// A zone being cleaned, with its next page to examine.
#[derive(Debug, Clone, Copy)]
struct Victim {
    zone: u32,
    next: u64,
    /// Outstanding reads and copies.
    left: u32,
}

/// Pages written by the host, pages moved by cleaning, and cleaned zones.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    written: u64,
    moved: u64,
    emptied: u64,
}

/// The log: drive, map, zones, and waiting requests.
#[derive(Debug, Clone)]
pub struct HostLog {
    drive: ZonedDrive,
    options: LogOptions,
    /// Number of logical pages, and pages per zone.
    pages: u64,
    zone_pages: u64,
    /// Drive page plus 1 by logical page; and logical page plus 1 by drive page.
    map: Vec<u32>,
    owners: Vec<u32>,
    valid: Vec<u32>,
    free: VecDeque<u32>,
    frontiers: [Frontier; 2],
    victim: Option<Victim>,
    /// True for full zones, the candidates for cleaning.
    closed: Vec<bool>,
    asked: BTreeMap<u64, Asked>,
    waiting: VecDeque<(Request, Time)>,
    owned: BTreeMap<u64, Owner>,
    issued: u64,
    counts: Counts,
    now: Time,
    answers: Vec<Completion>,
}

impl HostLog {
    /// A log on a drive of empty zones.
    pub fn new(drive: ZonedDrive, options: &LogOptions) -> HostLog {
        let limits = *drive.zones().limits();
        let zone_pages = limits.capacity / PAGE;
        let all = zone_pages * u64::from(limits.zones);
        let pages = (all as f64 * (1.0 - options.spare)) as u64;
        let zones = limits.zones as usize;
        let is_empty = |zone: &u32| drive.zones().look(*zone).state == State::Empty;
        HostLog {
            options: options.clone(),
            pages,
            zone_pages,
            // Memory is allocated on the first write.
            map: memory::zeroed(pages as usize),
            owners: memory::zeroed(all as usize),
            valid: memory::zeroed(zones),
            free: (0..limits.zones).filter(is_empty).collect(),
            frontiers: [Frontier::default(); 2],
            victim: None,
            closed: memory::zeroed::<bool>(zones),
            asked: BTreeMap::new(),
            waiting: VecDeque::new(),
            owned: BTreeMap::new(),
            issued: 0,
            counts: Counts::default(),
            now: 0,
            answers: Vec::new(),
            drive,
        }
    }

    /// Results section `zones.host_log`: pages written by the host, pages moved by cleaning, and
    /// free zones.
    fn section(&self) -> Report {
        let Counts { written, moved, emptied } = self.counts;
        section! {
            "user_bytes": written * 4096,
            "moved_bytes": moved * 4096,
            "write_amplification": Field::share(written + moved, written),
            "cleaned_zones": emptied,
            "free_zones": self.free.len() as u64,
        }
    }

    // ---- requests to the drive -----------------------------------------------------------------

    fn ask(&mut self, owner: Owner, op: Op, sector: u64, sectors: u64, fua: bool) {
        let id = self.issued;
        self.issued += 1;
        self.owned.insert(id, owner);
        if let Owner::Host(asked) = owner
            && let Some(asked) = self.asked.get_mut(&asked)
        {
            asked.left += 1;
        }
        let request = Request { fua, ..Request::new(id, op, Lba(sector), sectors as u32) };
        self.drive.submit(self.now, request);
    }

    /// First sector of a drive page.
    fn sector(&self, page: u64) -> u64 {
        let (zone, at) = (page / self.zone_pages, page % self.zone_pages);
        zone * self.drive.zones().limits().size + at * PAGE
    }

    /// Drive page of a logical page.
    fn place(&self, page: u64) -> Option<u64> {
        u64::from(self.map[page as usize]).checked_sub(1)
    }

    fn forget(&mut self, page: u64) {
        if let Some(old) = self.place(page) {
            self.valid[(old / self.zone_pages) as usize] -= 1;
            self.owners[old as usize] = 0;
            self.map[page as usize] = 0;
        }
    }

    /// Appends logical pages at a frontier, in one piece per zone. Returns the index of the first
    /// page that found no room.
    fn append(&mut self, which: usize, owner: Owner, pages: &[u64], fua: bool) -> usize {
        let mut done = 0;
        while done < pages.len() {
            let frontier = &mut self.frontiers[which];
            if frontier.zone.is_none() {
                // The last free zone is reserved for cleaning.
                if self.free.len() < 2 - which {
                    return done;
                }
                (frontier.zone, frontier.next) = (self.free.pop_front(), 0);
            }
            let Frontier { zone: Some(zone), next } = *frontier else { return done };
            let count = (pages.len() - done).min((self.zone_pages - next) as usize);
            frontier.next += count as u64;
            if frontier.next == self.zone_pages {
                frontier.zone = None;
                self.closed[zone as usize] = true;
            }
            let first = u64::from(zone) * self.zone_pages + next;
            for (page, place) in pages[done..done + count].iter().zip(first..) {
                self.forget(*page);
                self.map[*page as usize] = place as u32 + 1;
                self.owners[place as usize] = *page as u32 + 1;
                self.valid[zone as usize] += 1;
            }
            let sector = self.sector(first);
            self.ask(owner, Op::Write, sector, count as u64 * PAGE, fua);
            done += count;
        }
        done
    }

    // ---- programs ask ------------------------------------------------------------------------------

    /// Serves a request. Returns false without room.
    fn serve(&mut self, request: Request, submitted: Time) -> bool {
        let (first, end) =
            (request.lba.0 / PAGE, (request.lba.0 + u64::from(request.sectors)).div_ceil(PAGE));
        if request.op == Op::Write && !self.has_room(end - first) {
            return false;
        }
        let asked = Asked { request, submitted, left: 1, status: Status::Ok };
        self.asked.insert(request.id, asked);
        let owner = Owner::Host(request.id);
        match request.op {
            Op::Write => {
                // Partly covered pages are read first.
                let edges = [
                    (first, !request.lba.0.is_multiple_of(PAGE)),
                    (end - 1, !(request.lba.0 + u64::from(request.sectors)).is_multiple_of(PAGE)),
                ];
                for (page, is_part) in edges {
                    if let Some(place) = self.place(page).filter(|_| is_part) {
                        let sector = self.sector(place);
                        self.ask(owner, Op::Read, sector, PAGE, false);
                    }
                }
                let pages: Vec<u64> = (first..end).collect();
                self.counts.written += pages.len() as u64;
                let done = self.append(0, owner, &pages, request.fua);
                debug_assert_eq!(done, pages.len(), "there was room");
            }
            Op::Read => {
                let mut page = first;
                while page < end {
                    let Some(place) = self.place(page) else {
                        page += 1;
                        continue;
                    };
                    let follows = |more: &u64| {
                        page + more < end && self.place(page + more) == Some(place + more)
                    };
                    let zone_left = self.zone_pages - place % self.zone_pages;
                    let run = (1..zone_left).take_while(follows).count() as u64 + 1;
                    let sector = self.sector(place);
                    self.ask(owner, Op::Read, sector, run * PAGE, false);
                    page += run;
                }
            }
            Op::Flush => self.ask(owner, Op::Flush, 0, 0, false),
            _ => {
                let whole = request.lba.0.div_ceil(PAGE)
                    ..(request.lba.0 + u64::from(request.sectors)) / PAGE;
                whole.for_each(|page| self.forget(page));
            }
        }
        if self.asked[&request.id].left == 1 {
            // A request without effect costs one command.
            self.ask(owner, Op::Trim, 0, 1, false);
        }
        self.host_part_done(request.id, Status::Ok);
        true
    }

    /// True if that many pages fit without the cleaning reserve.
    fn has_room(&self, pages: u64) -> bool {
        let here = self.frontiers[0].zone.map_or(0, |_| self.zone_pages - self.frontiers[0].next);
        let zones = pages.saturating_sub(here).div_ceil(self.zone_pages);
        self.free.len() as u64 > zones || zones == 0
    }

    fn host_part_done(&mut self, id: u64, status: Status) {
        let Some(asked) = self.asked.get_mut(&id) else { return };
        asked.left -= 1;
        asked.status = asked.status.and(status);
        if asked.left > 0 {
            return;
        }
        let Asked { request, submitted, status, .. } = *asked;
        self.asked.remove(&id);
        let breakdown = Breakdown::of(UNIT_WAIT, self.now - submitted);
        self.answers.push(Completion { request, submitted, at: self.now, breakdown, status });
    }

    // ---- cleaning ----------------------------------------------------------------------------------

    /// Starts cleaning if too few zones are free.
    fn clean(&mut self) {
        if self.victim.is_none() && self.free.len() < self.options.free as usize {
            let full = (0..self.closed.len()).filter(|zone| self.closed[*zone]);
            let best = full.min_by_key(|zone| (self.valid[*zone], *zone));
            let Some(zone) = best.filter(|zone| u64::from(self.valid[*zone]) < self.zone_pages)
            else {
                return;
            };
            self.closed[zone] = false;
            self.victim = Some(Victim { zone: zone as u32, next: 0, left: 0 });
        }
        let Some(victim) = self.victim else { return };
        if victim.left > 0 {
            return;
        }
        // The next run of valid pages, up to the batch size.
        let first = u64::from(victim.zone) * self.zone_pages;
        let is_valid = |page: &u64| self.owners[(first + page) as usize] != 0;
        let from = (victim.next..self.zone_pages).find(is_valid);
        let Some(from) = from else {
            let sector = self.sector(first);
            self.set_victim(Victim { next: self.zone_pages, left: 1, ..victim });
            return self.ask(Owner::Reset(victim.zone), Op::Reset, sector, 1, false);
        };
        let batch = self.options.batch.bytes() / 4096;
        let pages = (from..self.zone_pages.min(from + batch)).take_while(is_valid).count() as u64;
        self.set_victim(Victim { next: from + pages, left: 1, ..victim });
        let owner = Owner::Reads { from: first + from, pages };
        let sector = self.sector(first + from);
        self.ask(owner, Op::Read, sector, pages * PAGE, false);
    }

    fn set_victim(&mut self, victim: Victim) {
        self.victim = Some(victim);
    }

    /// Handles a completed read of a victim: writes the pages that are still valid.
    fn copy(&mut self, from: u64, pages: u64) {
        let owners = &self.owners[from as usize..(from + pages) as usize];
        let valid: Vec<u64> =
            owners.iter().filter(|it| **it != 0).map(|it| u64::from(*it) - 1).collect();
        let before = self.issued;
        let done = self.append(1, Owner::Copy, &valid, false);
        debug_assert_eq!(done, valid.len(), "a zone is kept for cleaning");
        self.counts.moved += valid.len() as u64;
        if let Some(victim) = &mut self.victim {
            victim.left = (self.issued - before) as u32;
        }
    }

    // ---- the drive answers -------------------------------------------------------------------------

    fn answered(&mut self, completion: &Completion) {
        let Some(owner) = self.owned.remove(&completion.request.id) else { return };
        match owner {
            Owner::Host(id) => self.host_part_done(id, completion.status),
            Owner::Reads { from, pages } => self.copy(from, pages),
            Owner::Copy => {
                if let Some(victim) = &mut self.victim {
                    victim.left -= 1;
                }
            }
            Owner::Reset(zone) => {
                self.victim = None;
                self.counts.emptied += 1;
                self.free.push_back(zone);
            }
        }
        self.clean();
        while let Some((request, submitted)) = self.waiting.front().copied() {
            if !self.serve(request, submitted) {
                break;
            }
            self.waiting.pop_front();
            self.clean();
        }
    }
}

impl Device for HostLog {
    fn submit(&mut self, now: Time, request: Request) {
        self.now = now;
        if !self.waiting.is_empty() || !self.serve(request, now) {
            self.waiting.push_back((request, now));
        }
        self.clean();
    }

    fn next_event(&self) -> Option<Time> {
        self.answers.first().map(|answer| answer.at).or_else(|| self.drive.next_event())
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        let mut answers = Vec::new();
        while let Some(at) = self.drive.next_event().filter(|at| *at <= to) {
            self.now = at;
            self.drive.advance(at, &mut answers);
            for answer in answers.drain(..) {
                self.answered(&answer);
            }
        }
        self.now = to;
        completions.append(&mut self.answers);
    }

    fn capacity_sectors(&self) -> u64 {
        self.pages * PAGE
    }
}

impl Model for HostLog {
    fn instruct(&mut self, now: Time, instruction: Instruction) -> Result<(), String> {
        match instruction {
            Instruction::ResetCounts | Instruction::BeginAccount => {
                self.counts = Counts::default();
                self.drive.instruct(now, instruction)
            }
            other => other.without_effect(),
        }
    }

    fn copied(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(self.clone()))
    }

    fn audit(&self) -> Result<(), String> {
        self.drive.audit()?;
        for (page, place) in self.map.iter().enumerate().filter(|(_, place)| **place != 0) {
            if u64::from(self.owners[*place as usize - 1]) != page as u64 + 1 {
                return Err(format!("page {page} of the log is not where its map says"));
            }
        }
        let valid: u64 = self.valid.iter().map(|it| u64::from(*it)).sum();
        let mapped = self.map.iter().filter(|place| **place != 0).count() as u64;
        if valid != mapped {
            return Err(format!("{valid} pages are valid in zones, and {mapped} are mapped"));
        }
        if self.next_event().is_none() && !(self.asked.is_empty() && self.waiting.is_empty()) {
            return Err("requests wait and the log has no event".to_owned());
        }
        Ok(())
    }

    fn report(&self, end: Time) -> Report {
        let report = self.drive.report(end);
        let zones = report.section("zones").cloned().unwrap_or_default();
        report.with("zones", Field::own(zones.with("host_log", self.section())))
    }
}
