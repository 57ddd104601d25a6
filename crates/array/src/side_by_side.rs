//! Parallel preparation of members: they share no state, so each thread prepares some of them.

use super::{Array, Body, Layout};
use ssd::device::{Job, Model, Run, Writes};

/// Member of a page, and the page's number there.
#[derive(Clone, Copy)]
pub(super) struct Places {
    layout: Layout,
    members: u64,
    pages_of_each: u64,
}

impl Places {
    #[inline]
    pub(super) fn of(self, page: u64) -> (u64, u64) {
        match self.layout {
            Layout::Striped => (page % self.members, page / self.members),
            Layout::Concatenated => (page / self.pages_of_each, page % self.pages_of_each),
        }
    }
}

/// Some members with their queued pages.
type Share<'a> = Vec<(&'a mut Box<dyn Model>, &'a mut Vec<u64>)>;

impl Array {
    pub(super) fn places(&self) -> Places {
        Places {
            layout: self.layout,
            members: self.members.len() as u64,
            pages_of_each: self.pages_of_each(),
        }
    }

    /// Number of pages per member to prepare: the smallest member's.
    pub(super) fn pages_of_each(&self) -> u64 {
        self.members.in_use().map(|drive| drive.facts().pages).min().unwrap_or(0)
    }

    pub(super) fn divide_members(&mut self, parts: u32) -> Result<u32, &'static str> {
        if matches!(self.body, Body::Raid(_)) {
            return Err("the members of a stripe are written together");
        }
        if self.shares_policy {
            return Err("the members share one user-defined cleaning policy");
        }
        if self.members.len() < 2 {
            return Err("the array has one member");
        }
        if self.pages_of_each() == 0 {
            return Err("the members have no state to precondition");
        }
        self.divided = parts.clamp(1, self.members.len() as u32);
        Ok(self.divided)
    }

    pub(super) fn overwrite_members(&mut self, writes: &dyn Writes, run: &mut Run<'_>) {
        let (places, parts) = (self.places(), u64::from(self.divided));
        let mut shares: Vec<Share<'_>> = (0..parts).map(|_| Vec::new()).collect();
        for (number, member) in (0..).zip(self.members.with_batches()) {
            shares[(number % parts) as usize].push(member);
        }
        let job = |(part, mut share): (u64, Share<'_>)| {
            writes.each(&mut |batch| {
                for page in batch {
                    let (member, place) = places.of(*page);
                    if member % parts == part {
                        share[(member / parts) as usize].1.push(place);
                    }
                }
                for (member, pages) in &mut share {
                    member.overwrite_untimed(pages, 0);
                    pages.clear();
                }
            });
        };
        let jobs = (0..).zip(shares).map(|share| -> Job<'_> { Box::new(move || job(share)) });
        run(jobs.collect());
    }
}
