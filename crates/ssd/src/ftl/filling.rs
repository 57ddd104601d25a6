//! The initial content of a drive.

use super::Ftl;
use super::streams::{Frontier, FrontierId};
use crate::config::{FillOrder, SsdConfig};
use crate::device::building::Asking;
use crate::flash::Flash;
use crate::ids::{Block, Domain, Lpn, PoolId, Ppn};
use crate::numbers::Numbers;
use engine::{Random, Xoshiro256};
use std::ops::ControlFlow;

/// Pages that are programmed at once.
const RUN: usize = 1 << 9;

impl Ftl {
    /// Writes the pool's share of the initial content block by block, the domains round robin. It
    /// calls back at intervals.
    pub(super) fn fill_pool(
        &mut self,
        flash: &mut Flash,
        pool: PoolId,
        config: &SsdConfig,
        random: &mut Xoshiro256,
        asking: &mut Asking<'_>,
    ) -> ControlFlow<()> {
        let pages = (self.geometry.pages_per_pool as f64 * config.fill.share()) as u64;
        // The sequential order needs no list, which would take half as much memory as the drive.
        let shuffled = match config.fill_order {
            FillOrder::Sequential => None,
            FillOrder::Random => Some(shuffled(pages, self.geometry.wide, random, asking)?),
        };
        let domains = self.geometry.pool_domains[pool.at()].clone();
        let blocks = (0..self.geometry.blocks_per_domain)
            .flat_map(|relative| domains.iter().map(move |domain| (*domain, relative)));
        let data_pages = u64::from(self.geometry.data_pages);
        let mut starts = (0..pages).step_by(data_pages as usize);
        for (domain, relative) in blocks {
            let block = Block(self.geometry.first_block(domain).0 + relative);
            let behind = self.geometry.blocks_per_domain - relative;
            if self.bad.as_ref().is_some_and(|bad| bad.takes(domain, block, behind)) {
                self.leave_out(flash, domain, block);
                asking.done(1)?;
                continue;
            }
            let Some(start) = starts.next() else {
                self.release(domain, block, 0);
                asking.done(1)?;
                continue;
            };
            let frontier = self.fill_frontier(domain);
            self.open(frontier, block);
            let end = pages.min(start.saturating_add(data_pages));
            for first in (start..end).step_by(RUN) {
                let run = &mut [0; RUN][..(end - first).min(RUN as u64) as usize];
                match &shuffled {
                    None => self.geometry.lpns_in_pool(pool, first, run),
                    Some(content) => {
                        content.read(first, run);
                        for it in run.iter_mut() {
                            *it = self.geometry.lpn_in_pool(pool, *it).0;
                        }
                    }
                }
                self.fill_run(flash, frontier, domain, run);
                asking.done(run.len() as u64)?;
            }
        }
        if self.logs.is_some() || self.tells_handles() {
            // Writers open their block.
            return ControlFlow::Continue(());
        }
        for domain in domains {
            let first = self.streams.of_domain(domain).start;
            if self.streams.frontier[first].next == self.geometry.data_pages {
                let block = self.take_free(domain);
                self.open(FrontierId(first as u32), block);
            }
        }
        ControlFlow::Continue(())
    }

    /// Frontier of the initial data: with log blocks the merge frontier, because initial data are
    /// no logs.
    fn fill_frontier(&self, domain: Domain) -> FrontierId {
        if self.logs.is_some() {
            return self.merge_frontier(domain);
        }
        FrontierId(self.streams.of_domain(domain).start as u32)
    }

    /// Programs unmapped logical pages on a frontier with room in its block: returns the operation
    /// of each.
    fn fill_run(&mut self, flash: &mut Flash, frontier: FrontierId, domain: Domain, lpns: &[u64]) {
        let mut rest = lpns;
        while let Some((first, others)) = rest.split_first() {
            let Frontier { block, next } = self.streams.frontier[frontier.at()];
            let room = self.geometry.data_pages - next;
            // The first page of a block carries its header, and behind the last it is closed.
            if next == 0 || room == 1 {
                let programming = self.program_on(frontier, domain, Lpn(*first));
                self.complete_program(flash, programming);
                rest = others;
                continue;
            }
            let block = block.expect("a block is being filled");
            let (run, later) = rest.split_at(rest.len().min(room as usize - 1));
            let base = self.geometry.ppn(block, next);
            for (ppn, lpn) in (base.0..).zip(run) {
                self.map.set(Lpn(*lpn), Ppn(ppn));
            }
            let count = run.len() as u32;
            let order = self.programs as u32;
            self.programs = self.programs.wrapping_add(u64::from(count));
            self.unmapped -= u64::from(count);
            self.blocks.valid[block.at()] += count;
            if self.placement.counts_reclaimable {
                self.placement.reclaimable[self.geometry.unit_of(domain).at()] -= u64::from(count);
            }
            self.streams.frontier[frontier.at()].next = next + count;
            flash.program_run(base, block, run, order);
            rest = later;
        }
    }
}

/// Page numbers in random order.
fn shuffled(
    pages: u64,
    wide: bool,
    random: &mut Xoshiro256,
    asking: &mut Asking<'_>,
) -> ControlFlow<(), Numbers> {
    let mut content = Numbers::new(pages, wide);
    for page in 0..pages {
        content.set(page, page);
        asking.done(1)?;
    }
    for i in (1..pages).rev() {
        content.swap(i, random.below(i + 1));
        asking.done(1)?;
    }
    ControlFlow::Continue(content)
}
