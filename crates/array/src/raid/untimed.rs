//! Untimed array with redundancy: one operation at a time.

use super::Raid;
use super::message::{Kind, NONE, Start};
use super::operation::Operation;
use super::sight::Sight;
use crate::members::Members;
use engine::{Lba, Op, Request, Status};

impl Raid {
    pub fn preparable_pages(&self) -> u64 {
        self.pages.capacity()
    }

    /// Member of a page, and the page's number there.
    pub fn place_of(&self, page: u64) -> (u64, u64) {
        let (stripe_pages, chunk) = (self.pages.stripe_sectors(), self.pages.chunk);
        let (stripe, within) = (page / stripe_pages, page % stripe_pages);
        let member = self.pages.member(stripe, within / chunk);
        (member, self.pages.row(stripe) * chunk + within % chunk)
    }

    /// Writes each page with its copies or parity pages.
    pub fn overwrite_untimed(&self, pages: &[u64], members: &mut Members) {
        let (stripe_pages, chunk) = (self.pages.stripe_sectors(), self.pages.chunk);
        let (data, width) = (self.pages.data, self.pages.width);
        let first_check = if self.pages.is_mirror() { 0 } else { data };
        for page in pages {
            let (stripe, within) = (page / stripe_pages, page % stripe_pages);
            let place = within / chunk;
            let page = self.pages.row(stripe) * chunk + within % chunk;
            let own = (first_check > 0).then_some(place);
            for place in own.into_iter().chain(first_check..width) {
                members.collect(self.pages.member(stripe, place) as usize, page);
            }
        }
        members.overwrite_collected();
    }

    /// Serves any request except a flush.
    pub fn serve_untimed(&mut self, request: &Request, members: &mut Members) -> Status {
        let sectors = self.geometry.stripe_sectors();
        let (mut start, mut end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        if request.op == Op::Trim && !self.geometry.is_mirror() {
            (start, end) = (start.next_multiple_of(sectors), end / sectors * sectors);
        }
        self.count(request);
        let kind = match request.op {
            Op::Read => Kind::Read,
            Op::Trim => Kind::Trim,
            _ => Kind::Write,
        };
        let mut status = Status::Ok;
        while start < end {
            let stripe = start / sectors;
            let (first, next) = (stripe * sectors, end.min((stripe + 1) * sectors));
            let (from, to) = (start - first, next - first);
            let start_of = Start { owner: NONE, kind, stripe, from, to, log: None };
            let operation = Operation::new(start_of, 0);
            status = status.and(self.log_untimed(&operation, members));
            status = status.and(self.serve_stripe(request, &operation, members));
            start = next;
        }
        status
    }

    /// Serves a request's part in one stripe.
    fn serve_stripe(
        &self,
        request: &Request,
        operation: &Operation,
        members: &mut Members,
    ) -> Status {
        let (geometry, stripe) = (&self.geometry, operation.stripe());
        let mut status = Status::Ok;
        for place in 0..geometry.width {
            let (is_mirror, is_read) = (geometry.is_mirror(), request.op == Op::Read);
            let span = match place < geometry.data {
                true => operation.span(place, geometry.chunk),
                false if is_mirror => operation.span(0, geometry.chunk),
                false => operation.hull(geometry.chunk),
            };
            let member = geometry.member(stripe, place) as usize;
            let has = members.holds(member, geometry.row(stripe));
            if span.is_empty() || !has || is_read && place >= geometry.data {
                continue;
            }
            let lba = Lba(geometry.row(stripe) * geometry.chunk + span.from);
            let part = Request { lba, sectors: span.sectors() as u32, ..*request };
            status = status.and(members.serve_untimed(member, &part));
        }
        status
    }

    /// Logs an operation's changes.
    fn log_untimed(&mut self, operation: &Operation, members: &mut Members) -> Status {
        let sight =
            Sight { geometry: &self.geometry, members: &*members, recovery: &self.recovery };
        let Some((log, blocks)) = self.plans.entry(operation, sight) else { return Status::Ok };
        let room = self.log.take(log, blocks).expect("the log of an array at rest has room");
        let requests = self.plans.log_untimed(operation, room, sight);
        let serve = |(member, request): (usize, Request)| members.serve_untimed(member, &request);
        let status = requests.into_iter().map(serve).fold(Status::Ok, Status::and);
        self.log.free(room);
        status
    }
}
