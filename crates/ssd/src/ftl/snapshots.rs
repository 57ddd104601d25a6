//! Copy-on-write snapshots: the drive's former content without a copy of it.
//!
//! A snapshot is made by noting which pages are there. A page that lies where it did then is
//! shared: Before the host overwrites or trims a shared page, its old copy becomes a page of the
//! newest snapshot, under a separate number after those of the host. To everything else that is a
//! page like others: it is valid, cleaning moves it, and its number is the one in the flash. Older
//! snapshots share the pages of the next newer one.

use super::map::PageMap;
use crate::config::SsdConfig;
use crate::device::{Field, Report};
use crate::flash::Flash;
use crate::ids::{Lpn, PoolId, Ppn};
use crate::shape::Geometry;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// A set of logical pages.
#[derive(Debug, Clone, Default)]
struct Pages(Vec<u64>);

impl Pages {
    fn of(count: u64) -> Pages {
        Pages(memory::zeroed(count.div_ceil(64) as usize))
    }

    fn has(&self, lpn: Lpn) -> bool {
        self.0[(lpn.0 / 64) as usize] >> (lpn.0 % 64) & 1 == 1
    }

    fn add(&mut self, lpn: Lpn) {
        self.0[(lpn.0 / 64) as usize] |= 1 << (lpn.0 % 64);
    }

    /// Removes a page; whether it was there.
    fn take(&mut self, lpn: Lpn) -> bool {
        let was = self.has(lpn);
        self.0[(lpn.0 / 64) as usize] &= !(1 << (lpn.0 % 64));
        was
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// A snapshot.
#[derive(Debug, Clone)]
struct Taken {
    /// Sequence number, from 1 on.
    number: u64,
    /// Host bytes written before it.
    after: u64,
    /// Index of its page numbers after those of the host.
    place: u64,
    /// The pages that were there.
    pages: Pages,
    /// Pages under its own numbers.
    held: u64,
}

/// The snapshots of a drive.
#[derive(Debug, Clone)]
pub struct Snapshots {
    /// Pages of the host.
    exported: u64,
    most: usize,
    every: u64,
    /// Bytes that the host has written, and how many it will have before the next.
    written: u64,
    next: u64,
    /// Oldest first.
    taken: VecDeque<Taken>,
    /// Pages unchanged since the newest snapshot.
    shared: Pages,
    /// Pages of each pool that only snapshots hold, and how many these may be.
    held: Vec<u64>,
    room: u64,
    /// Pages being programmed under another number, with their final one.
    unlabelled: BTreeMap<u64, Lpn>,
    made: u64,
    dropped: u64,
    crowded_out: u64,
    has_orders: bool,
}

/// Summary of a drive's snapshots.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SnapshotsReport {
    /// Snapshots that were made.
    pub made: u64,
    /// Dropped snapshots, and those dropped for space.
    pub dropped: u64,
    /// See `dropped`.
    pub crowded_out: u64,
    /// Pages that only snapshots hold.
    pub pages_held: u64,
    /// Memory of their tables, bytes.
    pub table_bytes: u64,
    /// Existing snapshots, newest first.
    pub kept: Vec<SnapshotReport>,
    /// True if handles of requests order snapshots. Not a figure: it decides about the meaning of
    /// handles.
    #[serde(skip)]
    pub has_orders: bool,
}

/// A snapshot that is there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SnapshotReport {
    /// Sequence number.
    pub number: u64,
    /// Host bytes written before it.
    pub after_bytes: u64,
    /// Pages it holds, and those not shared with a newer state.
    pub pages: u64,
    /// See `pages`.
    pub pages_own: u64,
}

impl SnapshotsReport {
    /// The section `snapshots`.
    pub fn section(&self) -> Report {
        Report::of(self).with("kept", Field::List(self.kept.iter().map(Report::of).collect()))
    }
}

impl Snapshots {
    /// State of a drive before its first snapshot.
    pub fn new(geometry: &Geometry, config: &SsdConfig) -> Option<Box<Snapshots>> {
        let (exported, most) = (geometry.exported_pages(), Geometry::snapshots_kept(config));
        (most > 0).then(|| {
            Box::new(Snapshots {
                exported,
                most: most as usize,
                every: config.snapshots.every.bytes(),
                written: 0,
                next: config.snapshots.every.bytes(),
                taken: VecDeque::new(),
                shared: Pages::of(exported),
                held: memory::zeroed(geometry.pools as usize),
                room: geometry.snapshot_pages,
                unlabelled: BTreeMap::new(),
                made: 0,
                dropped: 0,
                crowded_out: 0,
                has_orders: !config.snapshots.orders.are_none(),
            })
        })
    }

    /// Number of a page held by a snapshot alone.
    fn own(&self, of: &Taken, lpn: Lpn) -> Lpn {
        Lpn(self.exported * (of.place + 1) + lpn.0)
    }

    /// True with a snapshot.
    pub fn are_there(&self) -> bool {
        !self.taken.is_empty()
    }

    /// The host is going to write bytes; whether a snapshot is to be made before.
    pub fn note_written(&mut self, bytes: u64) -> bool {
        let is_due = self.written >= self.next;
        if is_due {
            self.next = self.written + self.every;
        }
        self.written += bytes;
        is_due
    }

    /// True with the maximum number of snapshots.
    pub fn are_full(&self) -> bool {
        self.taken.len() == self.most
    }

    /// Makes a snapshot: it shares the present pages. `bytes` are going to be written.
    pub fn make(&mut self, map: &PageMap, bytes: u64) {
        let mut pages = Pages::of(self.exported);
        for lpn in map.mapped().map(|(lpn, _)| lpn).take_while(|lpn| lpn.0 < self.exported) {
            pages.add(lpn);
        }
        self.shared = pages.clone();
        self.made += 1;
        let is_free = |place: &u64| self.taken.iter().all(|it| it.place != *place);
        let place =
            (0..self.most as u64).find(is_free).expect("there are as many places as snapshots");
        let (number, after) = (self.made, self.written - bytes);
        self.taken.push_back(Taken { number, after, place, pages, held: 0 });
    }

    /// The number under which the newest is to hold a page that the host changes, if it shares that.
    pub fn take_shared(&mut self, lpn: Lpn) -> Option<Lpn> {
        if lpn.0 >= self.exported || !self.shared.take(lpn) {
            return None;
        }
        let newest = self.taken.back_mut().expect("it is shared with one");
        newest.held += 1;
        self.taken.back().map(|newest| self.own(newest, lpn))
    }

    /// True if a page is unchanged since the newest snapshot.
    pub fn is_shared(&self, lpn: Lpn) -> bool {
        lpn.0 < self.exported && self.shared.has(lpn)
    }

    /// A page of a pool is now held only by snapshots, under a separate number, which the flash
    /// stores now or when the page is programmed.
    pub fn hold(
        &mut self,
        (pool, geometry): (PoolId, &Geometry),
        (ppn, own): (Ppn, Lpn),
        flash: &mut Flash,
    ) {
        self.held[pool.at()] += 1;
        let (block, page) = geometry.block_and_page(ppn);
        if page < flash.programmed(block) {
            flash.label(ppn, own);
        } else {
            self.unlabelled.insert(ppn.0, own);
        }
    }

    /// Drops snapshots of a pool above their limit: the oldest is to be dropped.
    pub fn crowd_out(&mut self, pool: PoolId) -> bool {
        let is_crowded = self.held[pool.at()] > self.room;
        self.crowded_out += u64::from(is_crowded);
        is_crowded
    }

    /// True if pages wait for their number.
    #[inline]
    pub fn have_unlabelled(&self) -> bool {
        !self.unlabelled.is_empty()
    }

    /// A page has been programmed: the flash gets its number, if it waits for one and still lies there.
    pub fn label(&mut self, map: &PageMap, ppn: Ppn, flash: &mut Flash) {
        if let Some(own) = self.unlabelled.remove(&ppn.0)
            && map.holds(own, ppn)
        {
            flash.label(ppn, own);
        }
    }

    /// Final number of a page being programmed under another one.
    pub fn number_of(&self, map: &PageMap, ppn: Ppn) -> Option<Lpn> {
        self.unlabelled.get(&ppn.0).copied().filter(|own| map.holds(*own, ppn))
    }

    /// Drops the oldest snapshot; returns numbers and locations of the pages that only it held. The
    /// others share nothing with it.
    pub fn drop_oldest(&mut self, map: &mut PageMap, geometry: &Geometry) -> Vec<(Lpn, Ppn)> {
        let gone = self.taken.pop_front().expect("there is one");
        let mut worthless = Vec::new();
        for lpn in (0..self.exported).map(Lpn) {
            let own = self.own(&gone, lpn);
            if let Some(ppn) = map.get(own).ppn() {
                map.clear(own);
                self.held[geometry.pool_of(lpn).at()] -= 1;
                worthless.push((own, ppn));
            }
        }
        if self.taken.is_empty() {
            self.shared = Pages::of(self.exported);
        }
        self.dropped += 1;
        worthless
    }

    /// Under which number a page of a snapshot is read, the newest being 1; none where it was not
    /// there. `None` if the page was unmapped. Without the snapshot, the drive's page.
    pub fn page(&self, map: &PageMap, back: u32, lpn: Lpn) -> Option<Lpn> {
        let Some(at) = self.taken.len().checked_sub(back as usize) else { return Some(lpn) };
        if !self.taken[at].pages.has(lpn) {
            return None;
        }
        let own = self.taken.iter().skip(at).map(|it| self.own(it, lpn));
        let mut there = own.filter(|own| map.get(*own).ppn().is_some());
        Some(there.next().unwrap_or(lpn))
    }

    /// Checks the snapshots' pages.
    ///
    /// # Errors
    /// Our mistake.
    pub fn check(&self, map: &PageMap, geometry: &Geometry) -> Result<(), String> {
        let mut held = memory::zeroed(geometry.pools as usize);
        let own = map.mapped().filter(|(lpn, _)| lpn.0 >= self.exported);
        own.for_each(|(lpn, _)| held[geometry.pool_of(lpn).at()] += 1);
        if held != self.held {
            return Err(format!(
                "snapshots hold {held:?} pages by pool, and count {:?}",
                self.held
            ));
        }
        let counted: u64 = self.taken.iter().map(|it| it.held).sum();
        if counted != held.iter().sum::<u64>() {
            return Err(format!(
                "snapshots hold {held:?} pages by pool, and {counted} by snapshot"
            ));
        }
        if let Some(pool) = held.iter().position(|held| *held > self.room) {
            return Err(format!("snapshots hold more of pool {pool} than there is room for"));
        }
        for lpn in (0..self.exported).map(Lpn) {
            if self.shared.has(lpn) && map.get(lpn).ppn().is_none() {
                return Err(format!("page {} is shared with a snapshot, and is nowhere", lpn.0));
            }
            // A snapshot's page is its own, or belongs to the next newer one.
            let mut is_newer_there = self.shared.has(lpn);
            for it in self.taken.iter().rev() {
                let own = map.get(self.own(it, lpn)).ppn().is_some();
                let (has, is_there) = (it.pages.has(lpn), own || is_newer_there);
                if has && !is_there || own && !has {
                    let number = it.number;
                    return Err(format!(
                        "page {} of snapshot {number} is nowhere, or was not there",
                        lpn.0
                    ));
                }
                is_newer_there = has && is_there;
            }
        }
        Ok(())
    }

    /// Summary of the snapshots.
    pub fn report(&self) -> SnapshotsReport {
        let each = self.taken.iter().rev().map(|it| SnapshotReport {
            number: it.number,
            after_bytes: it.after,
            pages: it.pages.count(),
            pages_own: it.held,
        });
        // A bit per page, and the number of each own page.
        let bits = self.exported.div_ceil(64) * 8 * (self.taken.len() as u64 + 1);
        let pages_held = self.held.iter().sum();
        SnapshotsReport {
            made: self.made,
            dropped: self.dropped,
            crowded_out: self.crowded_out,
            pages_held,
            table_bytes: bits + 4 * pages_held,
            kept: each.collect(),
            has_orders: self.has_orders,
        }
    }
}
