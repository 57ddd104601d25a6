//! The account of a drive: what was asked of its pages and what was done to them.
//!
//! Everything is counted here, once, and by the same calls whether the drive runs in time or without:
//! the host's pages and bytes when the page that holds them is programmed, reads when they end. What
//! a drive reports is derived from it.

use crate::ssd::page::PageWork;
use crate::ssd::shape::Granule;

/// Counts since the start or the last reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Flash pages read for the host.
    pub host_reads: u64,
    /// Flash pages that a synchronous gang read along with those.
    pub idle_reads: u64,
    /// Flash pages asked for that were never written.
    pub unmapped_reads: u64,
    /// Flash pages read because a write covered only part of a logical page.
    pub merge_reads: u64,
    /// Flash pages trimmed.
    pub trims: u64,
    /// Flash pages that an ended drive did not take, whole or in part.
    pub refused_pages: u64,
    /// Bytes of the host in them.
    pub refused_bytes: u64,
    /// Flash pages that the host wrote, whole or in part.
    pub host_pages: u64,
    /// Bytes that the host wrote in them.
    pub host_bytes: u64,
    /// Logical pages programmed for the host.
    pub host_programs: u64,
    /// Logical pages moved by cleaning.
    pub moves: u64,
    /// Logical pages moved to level wear.
    pub migrations: u64,
    /// Blocks of cold data that were moved into worn ones.
    pub migrated_blocks: u64,
    /// Logical pages that were moved out of the victims that have been erased.
    pub victim_moves: u64,
    /// Summary pages programmed.
    pub summaries: u64,
    /// Blocks erased, each after cleaning or migration.
    pub erases: u64,
}

impl Counters {
    /// A read for the host of `pages` flash pages of a logical page, or the read half of a merge, has
    /// ended; `pages` is then what need not be read.
    pub(super) fn page_read(&mut self, work: PageWork, pages: u32, granule: Granule) {
        let (pages, logical) = (u64::from(pages), u64::from(granule.flash_pages));
        match work {
            PageWork::Read => {
                self.host_reads += pages;
                self.idle_reads += if granule.synchronous { logical - pages } else { 0 };
            }
            PageWork::ReadForWrite => self.merge_reads += logical - pages,
            PageWork::Merge | PageWork::MergeAcross => self.merge_reads += logical,
            PageWork::Write => {}
        }
    }

    /// A logical page was programmed for the host, who wrote `bytes` to `pages` flash pages of it.
    #[inline]
    pub(super) fn page_written(&mut self, pages: u32, bytes: u64) {
        self.host_programs += 1;
        self.host_pages += u64::from(pages);
        self.host_bytes += bytes;
    }

    /// An ended drive did not take `bytes` in `pages` flash pages.
    pub(super) fn page_refused(&mut self, pages: u32, bytes: u64) {
        self.refused_pages += u64::from(pages);
        self.refused_bytes += bytes;
    }

    /// Data pages programmed, for the host, to clean and to level wear, in flash pages.
    pub(super) fn programs(&self, granule: Granule) -> u64 {
        let logical = self.host_programs + self.moves + self.migrations;
        logical * u64::from(granule.flash_pages)
    }

    /// Blocks cleaned, without those whose cold data went into a worn one.
    pub(super) fn cleaned(&self) -> u64 {
        self.erases - self.migrated_blocks
    }
}
