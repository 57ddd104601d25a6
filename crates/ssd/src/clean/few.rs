//! Closed blocks of domains with few large ones: valid page counts, searched when the block with
//! the fewest leaves.
//!
//! A superblock has thousands of pages per block in its domain. Keeping the blocks sorted would
//! cost work per superseded page; searching all blocks when one leaves costs almost nothing per
//! page.

use crate::config::TieBreak;
use crate::sets::drawn;
use engine::Xoshiro256;

/// Minimum number of pages per block and per block of the domain.
const PAGES_PER_BLOCK: u32 = 8;

/// Marks unlisted blocks.
const NONE: u32 = u32::MAX;

/// The closed blocks of every domain.
#[derive(Debug, Clone)]
pub struct Few {
    blocks_per_domain: u32,
    /// Valid pages of each closed block; `NONE` for others.
    valid: Vec<u32>,
    /// Minimum valid pages by domain.
    least: Vec<u32>,
}

impl Few {
    /// No closed blocks; `None` if blocks are too small or too many for searching.
    pub fn new(domains: u32, blocks_per_domain: u32, data_pages: u32) -> Option<Few> {
        let are_large = data_pages / PAGES_PER_BLOCK >= blocks_per_domain;
        are_large.then(|| Few {
            blocks_per_domain,
            valid: memory::filled(NONE, domains as usize * blocks_per_domain as usize),
            least: memory::filled(NONE, domains as usize),
        })
    }

    #[inline]
    fn of(&self, domain: u32) -> &[u32] {
        let count = self.blocks_per_domain as usize;
        &self.valid[domain as usize * count..][..count]
    }

    #[inline]
    fn of_block(&mut self, domain: u32, block: u32) -> &mut u32 {
        &mut self.valid[domain as usize * self.blocks_per_domain as usize + block as usize]
    }

    pub fn take_part(&mut self, other: &Few, domains: std::ops::Range<usize>) {
        let count = self.blocks_per_domain as usize;
        let blocks = domains.start * count..domains.end * count;
        self.valid[blocks.clone()].copy_from_slice(&other.valid[blocks]);
        self.least[domains.clone()].copy_from_slice(&other.least[domains]);
    }

    pub fn insert(&mut self, domain: u32, block: u32, valid: u32) {
        *self.of_block(domain, block) = valid;
        let least = &mut self.least[domain as usize];
        *least = (*least).min(valid);
    }

    pub fn remove(&mut self, domain: u32, block: u32) {
        let valid = std::mem::replace(self.of_block(domain, block), NONE);
        if valid == self.least[domain as usize] {
            self.least[domain as usize] = self.of(domain).iter().copied().min().unwrap_or(NONE);
        }
    }

    #[inline]
    pub fn superseded(&mut self, domain: u32, block: u32) {
        let valid = self.of_block(domain, block);
        *valid -= 1;
        let valid = *valid;
        let least = &mut self.least[domain as usize];
        *least = (*least).min(valid);
    }

    pub fn least(&self, domain: u32) -> Option<u32> {
        let least = self.least[domain as usize];
        (least != NONE).then_some(least)
    }

    pub fn last_of_least(&self, domain: u32) -> Option<u32> {
        let least = self.least(domain)?;
        self.of(domain).iter().rposition(|valid| *valid == least).map(|block| block as u32)
    }

    fn first_of_least(&self, domain: u32, from: u32) -> Option<u32> {
        let least = self.least(domain)?;
        let blocks = self.of(domain).iter().skip(from as usize);
        blocks.zip(from..).find(|(valid, _)| **valid == least).map(|(_, block)| block)
    }

    pub fn emptiest(
        &self,
        domain: u32,
        tie_break: TieBreak,
        random: &mut Xoshiro256,
    ) -> Option<u32> {
        let least = self.least(domain)?;
        match tie_break {
            TieBreak::Highest => self.last_of_least(domain),
            TieBreak::Lowest => self.first_of_least(domain, 0),
            TieBreak::Random => drawn(
                self.blocks_per_domain,
                random,
                |block| self.of(domain)[block as usize] == least,
                |from| {
                    let next = self.first_of_least(domain, from);
                    next.or_else(|| self.first_of_least(domain, 0))
                },
            ),
        }
    }

    /// See [`VictimIndex::emptiest_first`](super::VictimIndex::emptiest_first).
    pub fn emptiest_first(&self, domain: u32, data_pages: u32) -> Vec<u32> {
        let all = self.of(domain).iter().zip(0..).filter(|(valid, _)| **valid < data_pages);
        let mut blocks: Vec<(u32, u32)> = all.map(|(valid, block)| (*valid, block)).collect();
        blocks.sort_unstable();
        blocks.into_iter().map(|(_, block)| block).collect()
    }

    pub fn contains(&self, domain: u32, block: u32, valid: u32) -> bool {
        self.of(domain)[block as usize] == valid
    }
}
