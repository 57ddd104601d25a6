//! Reads: of the host, of pages that a write covers in part, and of victims.

use super::asked::{Asked, Spent};
use super::events::{Happens, event};
use super::read::{Owner, Read};
use super::victims::Batch;
use super::{Buffered, Cargo};
use crate::kit::slots::Slot;
use crate::ssd::clock::Clock;
use crate::ssd::config::ReadOrder;
use crate::ssd::flash::Finished;
use crate::ssd::host;
use crate::ssd::ids::{Block, Lpn};
use crate::ssd::page::PageWork;
use crate::ssd::timeline::Word;
use engine::{Op, SECTOR_BYTES, Status, Time};

/// A read of a row that is being put together, page by page; its kind is the row's number.
#[derive(Debug, Clone, Copy)]
struct Row {
    block: Block,
    group: u32,
    kind: u32,
    planes: u32,
    /// The plane that is being added to, and the bytes of its page.
    plane: u32,
    bytes: u32,
    bus_ns: Time,
    whole: bool,
    pages: u32,
}

impl Buffered {
    /// A read of the host begins: pages in the buffer and unmapped pages are available at once, the rest
    /// is read from the dies, pages of a row together.
    pub(super) fn begin_reads(&mut self, slot: Slot, clock: &mut Clock) {
        let Asked { request, next, end, .. } = *self.asked(slot);
        let mut row: Option<Row> = None;
        for lpn in (next..end).map(Lpn) {
            let page = host::page_request(self.ftl.geometry(), &request, lpn, Some(slot));
            if let Some(place) = self.place_in_flash(lpn, page.touched.1) {
                self.ftl.counters.page_read(
                    PageWork::Read,
                    page.touched.1,
                    self.ftl.geometry().granule,
                );
                let start = lpn.0 * u64::from(self.ftl.geometry().sectors_per_page);
                let skipped = request.lba.0.saturating_sub(start) * SECTOR_BYTES;
                row = Some(self.add_to_row(row, place, (skipped as u32, page.bytes), slot, clock));
            }
        }
        if let Some(row) = row {
            self.queue_row(row, slot, clock);
        }
        if self.asked(slot).reads_left == 0 {
            self.answer(slot, Status::Ok, clock.now);
        }
    }

    /// Where a logical page must be read: the block, the group and the page in it; nothing where it is in
    /// the buffer or was never written, which is counted.
    fn place_in_flash(&mut self, lpn: Lpn, pages: u32) -> Option<(Block, u32, u32)> {
        let Some(ppn) = self.ftl.lookup(lpn) else {
            self.ftl.counters.unmapped_reads += u64::from(pages);
            return None;
        };
        if self.gather.holding(ppn).is_some() {
            self.ftl.counters.buffer_hits += u64::from(pages);
            return None;
        }
        let geometry = self.ftl.geometry();
        let block = geometry.block_of(ppn);
        let page = geometry.page_in_block(ppn);
        Some((block, page / self.shape.units, page % self.shape.units))
    }

    /// Adds a logical page, given by its place and the bytes that are read of it, to a row; another row
    /// begins where it is of none before.
    fn add_to_row(
        &mut self,
        row: Option<Row>,
        (block, group, unit): (Block, u32, u32),
        (skipped, bytes): (u32, u32),
        slot: Slot,
        clock: &mut Clock,
    ) -> Row {
        let span = self.shape.span(unit);
        let mut row = match row {
            Some(row) if (row.block, row.group, row.kind) == (block, group, span.row) => row,
            other => {
                if let Some(other) = other {
                    self.queue_row(other, slot, clock);
                }
                let plane = u32::MAX;
                let (planes, bytes, bus_ns, whole, pages) = (0, 0, 0, false, 0);
                Row { block, group, kind: span.row, planes, plane, bytes, bus_ns, whole, pages }
            }
        };
        row.pages += 1;
        let (mut at, mut left) = (skipped, bytes);
        while left > 0 {
            let plane = span.plane + at / self.shape.page_bytes;
            let part = left.min(self.shape.page_bytes - at % self.shape.page_bytes);
            if plane != row.plane {
                row = self.close_page(row);
                row.plane = plane;
                row.planes |= 1 << plane;
            }
            row.bytes += part;
            at += part;
            left -= part;
        }
        row
    }

    /// The page that is being added to is complete.
    fn close_page(&self, mut row: Row) -> Row {
        if row.bytes > 0 {
            row.bus_ns += self.costs.transfer(row.bytes);
            row.whole |= row.bytes == self.shape.page_bytes;
            row.bytes = 0;
        }
        row
    }

    fn queue_row(&mut self, row: Row, slot: Slot, clock: &mut Clock) {
        let row = self.close_page(row);
        let first = self.shape.first_die(row.block, self.ftl.geometry().blocks_per_domain);
        self.asked(slot).reads_left += 1;
        let read = Read {
            owner: Owner::Request(slot, row.pages),
            die: self.shape.place(first, row.group).die,
            planes: row.planes,
            sense_ns: self.costs.sense(row.kind, row.whole),
            bus_ns: row.bus_ns,
            queued: 0,
            marks: [0; 2],
            started: 0,
            sensed: 0,
        };
        self.queue_read(read, clock);
    }

    /// Reads the rest of a logical page that a write covers in part; whether that is needed.
    pub(super) fn begin_merge(&mut self, slot: Slot, lpn: Lpn, clock: &mut Clock) -> bool {
        let Some((block, group, unit)) = self.place_in_flash(lpn, 0) else { return false };
        let geometry = self.ftl.geometry();
        let request = self.asked[slot as usize].expect("it was asked").request;
        let page = host::page_request(geometry, &request, lpn, None);
        let granule = geometry.granule;
        self.ftl.counters.page_read(PageWork::ReadForWrite, page.whole.1, granule);
        let unit_bytes = self.shape.unit_bytes;
        let row = self.add_to_row(None, (block, group, unit), (0, unit_bytes), slot, clock);
        self.queue_row(row, slot, clock);
        true
    }

    /// Reads a batch of rows of a victim.
    pub(super) fn queue_batch(&mut self, batch: Batch, die: u32, clock: &mut Clock) {
        let (sense_ns, bus_ns) = self.next_row(&batch);
        let planes = self.all_planes();
        let owner = Owner::Copies(batch);
        let (queued, started, sensed) = (0, 0, 0);
        let marks = [0; 2];
        let read = Read { owner, die, planes, sense_ns, bus_ns, queued, marks, started, sensed };
        self.queue_read(read, clock);
    }

    pub(super) fn all_planes(&self) -> u32 {
        u32::MAX >> (32 - self.shape.planes)
    }

    fn queue_read(&mut self, mut read: Read, clock: &mut Clock) {
        let now = clock.now;
        let host_first = self.config.cleaning.read_order == ReadOrder::HostFirst;
        self.count_read(&read);
        let die = &mut self.dies[read.die as usize];
        read.queued = now;
        read.marks = [die.account.cleaning_ns(now), die.account.stopping_ns(now)];
        let (number, id) = (read.die, self.reads.insert(read));
        match read.owner {
            Owner::Copies(_) if host_first => die.later_reads.push_back(id),
            _ => die.reads.push_back(id),
        }
        self.run(number, clock);
    }

    /// The next read of a die that can begin, if one can.
    pub(super) fn next_read(&mut self, number: u32) -> Option<u32> {
        let shared = self.config.cell.planes == crate::ssd::config::Planes::Shared;
        let die = &mut self.dies[number as usize];
        if die.busy != 0 && shared {
            return None;
        }
        let (reads, busy) = (&self.reads, die.busy);
        for queue in [&mut die.reads, &mut die.later_reads] {
            // Reads of other planes may go past one that waits for its own, not past one of all.
            let mut place = 0;
            while let Some(id) = queue.get(place).copied() {
                let read = &reads[id];
                if read.planes & busy == 0 {
                    queue.remove(place);
                    return Some(id);
                }
                if shared || matches!(read.owner, Owner::Copies(_)) {
                    return None;
                }
                place += 1;
            }
        }
        None
    }

    /// A die begins a read.
    pub(super) fn start_read(&mut self, id: u32, clock: &mut Clock) {
        let now = clock.now;
        let read = &mut self.reads[id];
        read.started = now;
        let cleans = matches!(read.owner, Owner::Copies(_));
        let die = &mut self.dies[read.die as usize];
        if !cleans {
            die.account.waited_ns += now - read.queued;
        }
        // What it waited for is known before it itself counts.
        let wait = now - read.queued;
        let suspend = (die.account.stopping_ns(now) - read.marks[1]).min(wait);
        let cleaning = (die.account.cleaning_ns(now) - read.marks[0]).min(wait - suspend);
        read.marks = [cleaning, suspend];
        die.busy |= read.planes;
        die.account.begin(cleans, now);
        if die.has_waiting_task() {
            die.passed += 1;
        }
        let end = now + read.sense_ns;
        clock.call(end, event(Happens::Sensed, self.sensing.insert(id)));
    }

    /// A read has its data in the registers.
    pub(super) fn sensed(&mut self, id: u32, clock: &mut Clock) {
        let read = &mut self.reads[id];
        read.sensed = clock.now;
        let (number, planes) = (read.die, read.planes);
        let streams = self.config.cache_commands && matches!(read.owner, Owner::Request(..));
        if !streams {
            let ns = read.bus_ns;
            self.send(number, Cargo::Read(id), ns, clock);
            return;
        }
        let die = &mut self.dies[number as usize];
        if die.leaving & planes != 0 {
            die.sensed.push_back(id);
            return;
        }
        self.leave(id, clock);
    }

    /// Data that were sensed leave by the cache registers, and the planes are free.
    fn leave(&mut self, id: u32, clock: &mut Clock) {
        let Read { die: number, planes, bus_ns, .. } = self.reads[id];
        let die = &mut self.dies[number as usize];
        die.busy &= !planes;
        die.leaving |= planes;
        self.send(number, Cargo::Read(id), bus_ns, clock);
        self.run(number, clock);
    }

    /// The data of a read have crossed the bus.
    pub(super) fn read_crossed(&mut self, id: u32, clock: &mut Clock) {
        let now = clock.now;
        let read = self.reads[id];
        if let Owner::Copies(mut batch) = read.owner
            && batch.next()
        {
            let (sense_ns, bus_ns) = self.next_row(&batch);
            let read = &mut self.reads[id];
            (read.owner, read.sense_ns, read.bus_ns) = (Owner::Copies(batch), sense_ns, bus_ns);
            let read = *read;
            self.count_read(&read);
            clock.call(now + sense_ns, event(Happens::Sensed, self.sensing.insert(id)));
            return;
        }
        self.reads.remove(id);
        let cleans = matches!(read.owner, Owner::Copies(_));
        let die = &mut self.dies[read.die as usize];
        die.account.end(cleans, now);
        if die.leaving & read.planes == read.planes {
            die.leaving &= !read.planes;
            let free = |id: &u32| self.reads[*id].planes & die.leaving == 0;
            if let Some(place) = die.sensed.iter().position(free) {
                let next = die.sensed.remove(place).expect("it was found");
                self.leave(next, clock);
            }
        } else {
            die.busy &= !read.planes;
        }
        let word = if cleans { Word::Move } else { Word::Read };
        let bus_ns = now - read.sensed;
        self.record(read.die, word, Finished { started: read.started, cell_ns: 0, bus_ns }, now);
        match read.owner {
            Owner::Copies(batch) => self.batch_read(batch, read.die, clock),
            Owner::Request(slot, pages) => {
                self.dies[read.die as usize].account.served += u64::from(pages);
                let [cleaning, suspend] = read.marks;
                let cell = read.sensed - read.started;
                let asked = self.asked(slot);
                asked.spent = Spent { cleaning, suspend, bus: bus_ns, cell };
                asked.reads_left -= 1;
                if asked.reads_left == 0 {
                    if asked.request.op == Op::Read {
                        self.answer(slot, Status::Ok, now);
                    } else {
                        self.join_queue(slot, clock);
                    }
                }
            }
        }
        self.run(read.die, clock);
    }

    /// Notes an operation of a die, if that was asked for.
    pub(super) fn record(&mut self, die: u32, word: Word, finished: Finished, now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(die, word, finished, now);
        }
    }
}
