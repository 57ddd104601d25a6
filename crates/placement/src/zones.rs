//! A host log on zones: an FTL in the host, which chooses the stream of each write and the zone to
//! clean next.
//!
//! A zone is written in order and reset as a whole. The drive moves nothing, so its own write
//! amplification is 1, and the host's is measured. Each stream has an open zone, and copies have
//! one more. The code is independent of [`Drive`](crate::Drive), with which it must agree if both
//! clean alike.

use crate::account::{Account, Medium};
use crate::drive::{KEPT, TooFew};
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;
const DEAD: u8 = u8::MAX;

/// Dimensions of the zones, and number of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zoned {
    /// Number of logical pages, all mappable.
    pub pages: u32,
    /// Pages per zone.
    pub zone_pages: u32,
    /// Number of zones.
    pub zones: u32,
    /// Number of host streams, each with an open zone.
    pub streams: u8,
}

/// State of the zones when the host must clean one.
#[derive(Debug)]
pub struct Zones<'a> {
    /// Valid pages of each zone.
    pub valid: &'a [u32],
    /// Host pages written when each zone became full; 0 for zones that are not full.
    pub full_at: &'a [u64],
    /// Zones that may be cleaned: full, with invalid pages.
    pub full: &'a [u32],
    /// Pages per zone.
    pub zone_pages: u32,
    /// Pages written by the host.
    pub now: u64,
}

/// Policy that returns the number of the zone to clean; `None` ends the study.
pub type Victim<'a> = Box<dyn FnMut(&Zones<'_>) -> Option<u32> + 'a>;

/// Zone with the fewest valid pages; ties go to the one that became full first.
pub fn greedy(zones: &Zones<'_>) -> Option<u32> {
    let rank = |zone: &u32| (zones.valid[*zone as usize], zones.full_at[*zone as usize]);
    zones.full.iter().copied().min_by_key(rank)
}

/// An open zone.
#[derive(Debug, Clone, Copy)]
struct Open {
    zone: u32,
    next: u32,
    end: u32,
}

/// The host log.
pub struct HostLog<'a> {
    shape: Zoned,
    victim: Victim<'a>,
    map: Vec<u32>,
    back: Vec<u32>,
    /// Stream with which each page was written; `DEAD` if invalid.
    writer: Vec<u8>,
    valid: Vec<u32>,
    full_at: Vec<u64>,
    is_full: Vec<bool>,
    /// Open zones: one per host stream, then the one for copies.
    open: Vec<Open>,
    free: VecDeque<u32>,
    account: Account,
    resets: u64,
    now: u64,
    /// True if the policy chose no zone, or an invalid one.
    has_ended: bool,
}

impl<'a> HostLog<'a> {
    /// An empty log.
    ///
    /// # Errors
    /// When there are too few zones: cleaning would free less than one page in two hundred.
    pub fn new(shape: Zoned, victim: Victim<'a>) -> Result<HostLog<'a>, TooFew> {
        let open = u32::from(shape.streams) + 1;
        let closed = u64::from(shape.zones.saturating_sub(open + KEPT as u32));
        let closed_pages = closed * u64::from(shape.zone_pages);
        let gained = closed_pages.saturating_sub(u64::from(shape.pages));
        if gained * 200 < closed_pages.max(1) || shape.streams == 0 {
            let spare = shape.zones.saturating_sub(shape.pages.div_ceil(shape.zone_pages));
            return Err(TooFew { open, spare });
        }
        let flash = (u64::from(shape.zones) * u64::from(shape.zone_pages)) as usize;
        let zones = shape.zones as usize;
        let mut log = HostLog {
            shape,
            victim,
            map: vec![NONE; shape.pages as usize],
            back: vec![NONE; flash],
            writer: vec![DEAD; flash],
            valid: vec![0; zones],
            full_at: vec![0; zones],
            is_full: vec![false; zones],
            open: vec![Open { zone: 0, next: 0, end: 0 }; open as usize],
            free: (0..shape.zones).collect(),
            account: Account::default(),
            resets: 0,
            now: 0,
            has_ended: false,
        };
        log.reset_account();
        Ok(log)
    }

    /// Number of zone resets.
    pub fn resets(&self) -> u64 {
        self.resets
    }

    fn supersede(&mut self, old: u32) -> u8 {
        self.valid[(old / self.shape.zone_pages) as usize] -= 1;
        std::mem::replace(&mut self.writer[old as usize], DEAD)
    }

    fn put(&mut self, stream: usize, page: u32, writer: u8) {
        if self.open[stream].next == self.open[stream].end {
            let zone = self.free.pop_front().expect("a zone is kept free for whoever opens one");
            let next = zone * self.shape.zone_pages;
            self.open[stream] = Open { zone, next, end: next + self.shape.zone_pages };
        }
        let open = &mut self.open[stream];
        let (zone, place) = (open.zone as usize, open.next);
        open.next += 1;
        if open.next == open.end {
            self.is_full[zone] = true;
            self.full_at[zone] = self.now;
        }
        self.map[page as usize] = place;
        self.back[place as usize] = page;
        self.writer[place as usize] = writer;
        self.valid[zone] += 1;
    }

    fn clean(&mut self) {
        while self.free.len() < KEPT && !self.has_ended {
            let pages = self.shape.zone_pages;
            let gains =
                |zone: &u32| self.is_full[*zone as usize] && self.valid[*zone as usize] < pages;
            let full: Vec<u32> = (0..self.shape.zones).filter(gains).collect();
            let zones = Zones {
                valid: &self.valid,
                full_at: &self.full_at,
                full: &full,
                zone_pages: pages,
                now: self.now,
            };
            let chosen = (self.victim)(&zones).filter(|zone| full.contains(zone));
            let Some(zone) = chosen else {
                self.has_ended = true;
                return;
            };
            self.clean_zone(zone);
        }
    }

    fn clean_zone(&mut self, zone: u32) {
        let copies = usize::from(self.shape.streams);
        let first = zone * self.shape.zone_pages;
        self.account.cleans(copies, u64::from(self.valid[zone as usize]));
        for place in first..first + self.shape.zone_pages {
            let writer = std::mem::replace(&mut self.writer[place as usize], DEAD);
            if writer == DEAD {
                continue;
            }
            self.valid[zone as usize] -= 1;
            self.account.moves(writer);
            self.put(copies, self.back[place as usize], writer);
        }
        self.is_full[zone as usize] = false;
        self.full_at[zone as usize] = 0;
        self.resets += 1;
        self.free.push_back(zone);
    }
}

impl Medium for HostLog<'_> {
    fn write(&mut self, page: u32, stream: u8) {
        if self.has_ended {
            return;
        }
        let own = usize::from(stream);
        if self.open[own].next == self.open[own].end {
            self.clean();
            if self.has_ended {
                return;
            }
            self.account.opened(own);
        }
        let old = self.map[page as usize];
        if old != NONE {
            let before = self.supersede(old);
            self.account.lost(before, Some(stream));
        }
        self.now += 1;
        self.account.wrote(own);
        self.put(own, page, stream);
    }

    fn trim(&mut self, page: u32) {
        let old = std::mem::replace(&mut self.map[page as usize], NONE);
        if old != NONE {
            let before = self.supersede(old);
            self.account.lost(before, None);
        }
    }

    fn prefetch(&self, page: u32) {
        memory::prefetch(&self.map, page as usize);
    }

    fn prefetch_old(&self, page: u32) {
        if let Some(old) = self.map.get(page as usize) {
            memory::prefetch(&self.writer, *old as usize);
        }
    }

    fn account(&self) -> &Account {
        &self.account
    }

    fn reset_account(&mut self) {
        self.account = Account::new(self.shape.streams);
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Drive, Isolation, Shape};

    struct Random(u64);

    impl Random {
        fn below(&mut self, count: u32) -> u32 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            let mixed = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
            ((u128::from(mixed) * u128::from(count)) >> 64) as u32
        }
    }

    /// Write amplification of a medium under a ring and random writes, each with its stream.
    fn measured(medium: &mut dyn Medium, pages: u32, streams: u8) -> f64 {
        let mut random = Random(5);
        let (small, mut ring) = (pages / 10, 0);
        (0..pages).for_each(|page| medium.write(page, 0));
        for at in 0..8 * u64::from(pages) {
            if at == 4 * u64::from(pages) {
                medium.reset_account();
            }
            if random.below(2) == 0 {
                medium.write(random.below(small), 0);
            } else {
                medium.write(small + ring, u8::from(streams > 1));
                ring = (ring + 1) % (pages - small);
            }
        }
        medium.account().dlwa()
    }

    #[test]
    fn a_host_that_cleans_as_the_drive_does_writes_as_much_as_the_drive() {
        let (unit_pages, units, pages) = (256, 400, 85_000);
        for streams in [1, 2] {
            let shape = Zoned { pages, zone_pages: unit_pages, zones: units, streams };
            let mut log = HostLog::new(shape, Box::new(greedy)).unwrap();
            let host = measured(&mut log, pages, streams);
            let isolation = Isolation::Initial;
            let shape = Shape { pages, unit_pages, units, handles: streams, isolation };
            let drive = measured(&mut Drive::new(shape).unwrap(), pages, streams);
            // One more empty zone is one in 68 of the spare space.
            assert!(
                (host / drive - 1.0).abs() < 0.02,
                "{streams}: host {host:.4}, drive {drive:.4}"
            );
            assert!(log.resets() > 1000 && log.account().moved() > 0);
        }
    }

    #[test]
    fn data_that_are_trimmed_in_order_are_never_moved_by_the_host() {
        let shape = Zoned { pages: 40_000, zone_pages: 256, zones: 180, streams: 1 };
        let mut log = HostLog::new(shape, Box::new(greedy)).unwrap();
        for turn in 0..10 {
            for page in 0..40_000 {
                if turn > 0 {
                    log.trim(page);
                }
                log.write(page, 0);
            }
        }
        assert_eq!((log.account().moved(), log.has_ended()), (0, false));
    }

    #[test]
    fn a_policy_that_chooses_no_zone_that_may_be_cleaned_ends_it() {
        let shape = Zoned { pages: 40_000, zone_pages: 256, zones: 180, streams: 1 };
        let mut log = HostLog::new(shape, Box::new(|_| Some(9999))).unwrap();
        measured(&mut log, 40_000, 1);
        assert!(log.has_ended());
        let few = Zoned { zones: 158, ..shape };
        assert!(HostLog::new(few, Box::new(greedy)).is_err());
    }
}
