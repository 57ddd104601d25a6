//! The initial content of a drive.

use super::Ftl;
use super::streams::FrontierId;
use crate::ssd::config::{FillOrder, SsdConfig};
use crate::ssd::flash::Flash;
use crate::ssd::ids::{Block, PoolId};
use crate::ssd::numbers::Numbers;
use engine::{Random, Xoshiro256};

impl Ftl {
    /// Writes the pool's share of the initial content: block by block, the domains in turn.
    pub(super) fn fill_pool(
        &mut self,
        flash: &mut Flash,
        pool: PoolId,
        config: &SsdConfig,
        random: &mut Xoshiro256,
    ) {
        let pages = (self.geometry.pages_per_pool as f64 * config.fill.share()) as u64;
        // In order nothing is listed: the list of a large drive would be half of what the drive needs.
        let shuffled = (config.fill_order == FillOrder::Random).then(|| {
            let mut content = Numbers::new(pages, self.geometry.wide);
            (0..pages).for_each(|page| content.set(page, page));
            for i in (1..pages).rev() {
                content.swap(i, random.below(i + 1));
            }
            content
        });
        let domains = self.geometry.pool_domains[pool.at()].clone();
        let blocks = (0..self.geometry.blocks_per_domain)
            .flat_map(|relative| domains.iter().map(move |domain| (*domain, relative)));
        let data_pages = u64::from(self.geometry.data_pages);
        let mut starts = (0..pages).step_by(data_pages as usize);
        for (domain, relative) in blocks {
            let block = Block(self.geometry.first_block(domain).0 + relative);
            let Some(start) = starts.next() else {
                self.release(domain, block, 0);
                continue;
            };
            let frontier = FrontierId(self.streams.of_domain(domain).start as u32);
            self.open(frontier, block);
            for place in start..pages.min(start.saturating_add(data_pages)) {
                let index = shuffled.as_ref().map_or(place, |content| content.get(place));
                let lpn = self.geometry.lpn_in_pool(pool, index);
                let programming = self.program_on(frontier, domain, lpn);
                self.complete_program(flash, programming);
            }
        }
        for domain in domains {
            let first = self.streams.of_domain(domain).start;
            if self.streams.frontier[first].next == self.geometry.data_pages {
                let block = self.take_free(domain);
                self.open(FrontierId(first as u32), block);
            }
        }
    }
}
