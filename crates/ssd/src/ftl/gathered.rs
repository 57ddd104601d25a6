//! Fast-forward through a write buffer: the run of writes within a group, between two groups of a victim.
//!
//! Like [`plain`](super::plain): writes that take the next page of the open group, or replace a
//! page of the buffer, are done here; at the borders of groups and blocks, and before cleaning,
//! [`untimed`](super::untimed) takes over.

use super::Ftl;
use super::fast_forward::BATCH;
use super::streams::Frontier;
use super::window::NONE;
use crate::flash::Flash;
use crate::ids::{Block, Domain, Lpn, Ppn, Stream};

/// Outcome of a run of writes: programmed pages, and pages replaced in the buffer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gathered {
    pub programmed: u64,
    pub replaced: u64,
}

impl Ftl {
    /// True if all pages of the host gather on one frontier that nothing else is written to, and no snapshot shares any.
    pub fn gathers_in_one_place(&self) -> bool {
        let alone = self.streams.apart() && !self.tells_handles();
        self.window.is_some() && alone && !self.placement.pools_span_units && self.is_all_hosts()
    }

    /// Host writes that the open group takes until it is full or cleaning must run. Its domain is
    /// returned too.
    fn writes_before_change(&self) -> Option<(Domain, u32)> {
        let window = self.window.as_ref()?;
        let block = window.filling[Stream::FIRST.0 as usize];
        if block == NONE || self.has_ended() {
            return None;
        }
        let domain = self.geometry.domain_of(Block(block));
        let until_due = match &window.victims[domain.at()] {
            Some(victim) => victim.writes_before_due(window.shape.units, self.geometry.data_pages),
            None if self.needs_cleaning(self.geometry.unit_of(domain)) => return None,
            None => u64::MAX,
        };
        let Frontier { block: open, next } =
            self.streams.frontier[self.streams.of(domain, Stream::FIRST).at()];
        // The group's last page ends it.
        let left = window.end_of(next / window.shape.units).saturating_sub(next + 1);
        let count = u64::from(left).min(until_due) as u32;
        (open == Some(Block(block)) && count > 0).then_some((domain, count))
    }

    /// Writes pages as long as they only fill the current group; returns their effect.
    pub fn write_gathering(&mut self, flash: &mut Flash, pages: &[u64]) -> Gathered {
        let mut done = Gathered::default();
        let Some((domain, most)) = self.writes_before_change() else { return done };
        let frontier = self.streams.of(domain, Stream::FIRST);
        let Frontier { block: Some(block), next } = self.streams.frontier[frontier.at()] else {
            return done;
        };
        let base = self.geometry.ppn(block, next);
        // The block's fields change once for all of them.
        let (mut run, mut count) = ([0; BATCH as usize], 0);
        let most = run.len().min(most as usize);
        for (at, page) in pages.iter().enumerate() {
            if count == most {
                break;
            }
            self.prefetch_ahead(pages, at);
            self.fetch_some(flash);
            let lpn = Lpn(*page);
            let old = self.map.get(lpn);
            if self.is_place_waiting(old) {
                done.replaced += 1;
                continue;
            }
            self.map.set(lpn, Ppn(base.0 + count as u64));
            // Not a page of this run: those are all in the buffer.
            self.supersede(old);
            run[count] = *page;
            count += 1;
        }
        if count > 0 {
            debug_assert!(!self.placement.counts_reclaimable, "there is one place for all");
            let order = self.take_run(frontier, block, count as u32);
            flash.program_run(base, block, &run[..count], order);
        }
        done.programmed = count as u64;
        if let Some(window) = &mut self.window {
            window.note_written(domain, done.programmed);
        }
        done
    }
}
