//! Requests on a drive with a partly cached map: missing map pages are read first.

use crate::Ssd;
use crate::cache::MapReads;
use crate::clock::Event;
use crate::device::kit::slots::Slot;
use crate::front;
use crate::ftl::Found;
use crate::ftl::planted::Slip;
use engine::{Op, Request};

impl Ssd {
    fn map_reads(&mut self) -> &mut MapReads {
        self.map.as_mut().expect("the drive has a map cache")
    }

    /// The controller has processed a read or write, which begins once all its map pages are
    /// cached.
    pub fn begin_mapped(&mut self, slot: Slot, request: &Request) {
        let pages = front::touched(self.ftl.geometry(), request);
        let reads = self.map.as_mut().expect("the drive has a map cache");
        let (cache, counters) = self.ftl.map_cache().expect("the drive has a map cache");
        cache.keep_time(true);
        let mut misses = reads.lend_misses();
        let (mut waits, mut is_far) = (0, false);
        for page in cache.pages_of(&pages) {
            let found = cache.look_up(page, request.op == Op::Write, counters);
            if Slip::MissIsFree.is_planted() {
                continue;
            }
            if reads.joins(page.0, slot) {
                counters.map_joins += 1;
                waits += 1;
            } else if found == Found::Missing {
                reads.ask(page.0, slot);
                misses.push(page.0);
                waits += 1;
            } else {
                is_far |= found == Found::Far;
            }
        }
        let host_ns = reads.host_ns();
        if is_far {
            reads.delay(slot);
            waits += 1;
        }
        if waits > 0 {
            self.front.await_map(slot, waits, self.clock.now);
        }
        if is_far {
            self.clock.call(self.clock.now + host_ns, Event::MapLookedUp);
        }
        self.do_map_work();
        for page in &misses {
            self.read_map(*page);
        }
        self.map_reads().return_misses(misses);
        if waits == 0 {
            self.begin_looked_up(slot, request);
        }
    }

    /// Starts a request whose look-ups are complete.
    fn begin_looked_up(&mut self, slot: Slot, request: &Request) {
        self.watch(request);
        let (executor, mut cx) = self.executor();
        executor.begin(slot, request, &mut cx);
    }

    /// Ends a look-up of a request.
    fn map_came(&mut self, slot: Slot) {
        if let Some(request) = self.front.map_came(slot, self.clock.now) {
            self.begin_looked_up(slot, &request);
        }
    }

    /// A look-up in memory of the host has ended.
    pub fn map_looked_up(&mut self) {
        if let Some(slot) = self.map_reads().next_delayed() {
            self.map_came(slot);
        }
        self.settle();
    }

    /// A page of the map has been read.
    pub fn map_read(&mut self, page: u32) {
        for slot in self.map_reads().came(page) {
            self.map_came(slot);
        }
    }

    /// Executes flash operations of the map for cleaning, trims and evictions.
    fn do_map_work(&mut self) {
        let Some((cache, _)) = self.ftl.map_cache() else { return };
        let work = cache.take_work();
        for page in work.reads {
            self.read_map(page);
            if let Some((_, counters)) = self.ftl.map_cache() {
                // It was counted when cleaning moved the page.
                counters.map_reads -= 1;
            }
        }
        for _ in 0..work.programs {
            self.program_map();
        }
    }

    fn read_map(&mut self, page: u32) {
        self.ftl.counters.map_reads += 1;
        let place = self.map_reads().place(page);
        let (executor, mut cx) = self.executor();
        executor.read_map(page, place, &mut cx);
    }

    fn program_map(&mut self) {
        let unit = self.map_reads().next_unit();
        let (executor, mut cx) = self.executor();
        executor.program_map(unit, &mut cx);
    }
}
