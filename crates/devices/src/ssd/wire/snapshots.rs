//! Requests on a drive that keeps snapshots.

use crate::kit::slots::Slot;
use crate::ssd::config::Order;
use crate::ssd::ids::Lpn;
use crate::ssd::page::{PageDone, PageRequest, Spent};
use crate::ssd::{Ssd, front};
use engine::{Op, Request, Status};

impl Ssd {
    /// The controller has processed a read or write: a snapshot may be due before or ordered with it, and what a queue
    /// reads may be one.
    pub fn begin_kept(&mut self, slot: Slot, request: &Request) {
        let keys = &self.config.snapshots;
        let order = keys.orders.of(request.handle);
        let bytes = if request.op == Op::Write { request.bytes() } else { 0 };
        match order {
            Some(Order::Drop) => self.ftl.drop_oldest_snapshot(&mut self.flash),
            Some(Order::DropAll) => self.ftl.drop_snapshots(&mut self.flash),
            Some(Order::Make) | None => {}
        }
        self.ftl.snapshot_before(&mut self.flash, bytes, order == Some(Order::Make));
        if request.op != Op::Read || keys.queue != Some(request.queue.into()) {
            return self.begin_on_units(slot, request);
        }
        let back = keys.back;
        let pages = front::touched(self.ftl.geometry(), request);
        self.front.expect(slot, (pages.end - pages.start) as u32);
        for page in pages.map(Lpn) {
            let asked = front::page_request(self.ftl.geometry(), request, page, Some(slot));
            let done = if let Some(lpn) = self.ftl.page_of_snapshot(back, page) {
                self.accept(&PageRequest { lpn, ..asked })
            } else {
                self.ftl.counters.unmapped_reads += u64::from(asked.touched.1);
                Some(PageDone { owner: asked.owner, status: Status::Ok, spent: Spent::NOTHING })
            };
            if let Some(done) = done {
                self.front.page_done(&done, &mut self.clock);
            }
        }
        self.serve_offered();
    }
}
