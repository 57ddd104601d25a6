//! Requests on a drive that keeps snapshots.
//!
//! A snapshot has the pages that have a location in the flash when it is made, programmed or not. A
//! page of a write that waits for its unit, or for room in the write buffer, gets its place later:
//! the snapshot has its former content, and the superseded page is kept before it is placed. So it
//! may have some pages of an unacknowledged write, and has all pages of an acknowledged one.

use crate::config::Order;
use crate::device::kit::slots::Slot;
use crate::executor::{Buffered, cx};
use crate::ftl::Ftl;
use crate::ids::Lpn;
use crate::page::{Feature, Owner, PageRequest};
use crate::{Ssd, front};
use engine::{Op, Request, Status};

impl Ssd {
    /// The controller has processed a read or write, which may trigger or order a snapshot, or read
    /// one.
    pub fn begin_kept(&mut self, slot: Slot, request: &Request) {
        self.snapshot_before(request);
        let back = self.snapshot_read_by(request);
        let (executor, mut cx) = self.executor();
        match back {
            Some(back) => {
                let name = |ftl: &Ftl, lpn| ftl.page_of_snapshot(back, lpn);
                executor.begin_renamed(slot, request, &name, &mut cx);
            }
            None => executor.begin(slot, request, &mut cx),
        }
    }

    /// Executes snapshot orders before a read or write.
    pub fn snapshot_before(&mut self, request: &Request) {
        let order = self.config.snapshots.orders.of(request.handle);
        let bytes = if request.op == Op::Write { request.bytes() } else { 0 };
        match order {
            Some(Order::Drop) => self.ftl.drop_oldest_snapshot(),
            Some(Order::DropAll) => self.ftl.drop_snapshots(),
            Some(Order::Make) | None => {}
        }
        self.ftl.snapshot_before(bytes, order == Some(Order::Make));
    }

    /// Snapshot read by a request, if any.
    fn snapshot_read_by(&self, request: &Request) -> Option<u32> {
        let keys = &self.config.snapshots;
        let reads = request.op == Op::Read && keys.queue == Some(request.queue.into());
        reads.then_some(keys.back)
    }

    /// Untimed form of [`begin_kept`](Ssd::begin_kept).
    pub fn serve_kept_untimed(&mut self, request: &Request) -> Status {
        self.snapshot_before(request);
        let back = self.snapshot_read_by(request);
        let request = &self.ftl.placed(*request);
        let ages = self.features.has(Feature::Ages);
        let name =
            |ftl: &Ftl, page| back.map_or(Some(page), |back| ftl.page_of_snapshot(back, page));
        let mut status = self.buffered.meet_age_untimed(request, name, cx!(self));
        for page in front::touched(self.ftl.geometry(), request).map(Lpn) {
            let asked = front::page_request(self.ftl.geometry(), request, page, Owner::Nobody);
            let Some(lpn) = name(&self.ftl, page) else {
                self.ftl.counters.unmapped_reads += u64::from(asked.touched.1);
                continue;
            };
            let asked = PageRequest { lpn, ..asked };
            status = status.and(self.ftl.serve_untimed(&mut self.flash, &asked));
        }
        if ages && request.op == Op::Write {
            if status.is_ok() {
                Buffered::end_over_losses(request, cx!(self));
            }
            self.buffered.pass_bytes(request.bytes(), cx!(self));
        } else if ages {
            self.buffered.refresh_at_once(cx!(self));
        }
        if request.op == Op::Write && request.fua {
            self.ftl.flush_untimed(&mut self.flash);
        }
        status
    }
}

#[cfg(test)]
#[path = "snapshots_tests.rs"]
mod tests;
